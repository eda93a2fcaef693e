"""What is refused, and what messages say."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

B, S = pl.BlockSpec, jax.ShapeDtypeStruct
F32 = jnp.float32
X = jnp.arange(8.)
OUT = S((8,), F32)


def copy(x, out):
    out[...] = x[...]


def spec(*block, index_map=lambda i: i, **more):
    return {"grid": 2, "in_specs": [B(block, index_map, **more)], "out_specs": B((4,), lambda i: i)}


SETTINGS = [
    (dict(grid=2.0), ValueError, "the grid must be an integer or a tuple of integers"),
    (dict(grid=(2, True)), ValueError, "the grid must be an integer"),
    (dict(grid=-1), ValueError, "cannot be negative"),
    (dict(grid=(2**16, 2**16)), ValueError, r"the grid \(65536, 65536\) has 4294967296 programs, .* at most 2147483647"),
    (dict(grid_spec=pl.GridSpec(2), grid=2, scratch_shapes=[pl.ANY((), F32)]), ValueError,
     "with grid_spec, grid and scratch_shapes must not be given"),
    (dict(grid_spec=2), TypeError, "grid_spec must be a pl.GridSpec, got 2"),
    (dict(interpret="yes"), TypeError, "interpret must be True or False, got 'yes'"),
    (dict(name=3), TypeError, "name must be a string"),
    (dict(cost_estimate=3), TypeError, "must be a pl.CostEstimate"),
    (dict(compiler_params={}), TypeError, "compiler_params must be an object that can be hashed"),
    (dict(metadata={"a": 1}), TypeError, "metadata must be a dict from strings to strings"),
    (dict(scratch_shapes=[S((2,), F32)]), TypeError, r"needs a type of memory, such as pl.ANY\(shape, dtype\)"),
    (dict(input_output_aliases={1: 0}), ValueError, "has 1: 0, and there is no operand 1; there are 1"),
    (dict(input_output_aliases={0: 2}), ValueError, "has 0: 2, and there is no result 2"),
    (dict(input_output_aliases=[0]), TypeError, r"must be a dict \{operand: result\} of positions, got \[0\]"),
    (dict(in_specs=B()), TypeError, "in_specs must be a tuple or a list with an entry for each operand"),
    (dict(in_specs=[B(), B()]), ValueError, "(?s)in_specs must be a tree like the operands.*a tuple of length 2"),
    (dict(in_specs=[3]), TypeError, "must be a tree of pl.BlockSpec, and 3 of type int"),
    (dict(out_specs=[B()]), ValueError, "out_specs must be a tree like out_shape"),
    (spec(4, 4), ValueError, r"block shape \(4, 4\) for operands\[0\] has 2 axes, and the array, of type f32\[8\], has 1"),
    (spec(0), ValueError, "cannot have 0 elements along an axis of size 8"),
    (spec(-1), ValueError, "cannot have -1 elements"),
    (spec(2.5), TypeError, "has the entry 2.5 of type float"),
    (spec(pl.Element(1.5)), TypeError, "sizes of blocks are integers known while tracing"),
    (spec(4, index_map=lambda i: (i, 0)), ValueError, r"one value for each axis of the block shape \(4,\).*it returned 2"),
    (spec(4, index_map=lambda i, j: (i, j)), TypeError,
     r"index map .* for operands\[0\] is called with one index for each axis of the grid \(2,\), so 1: .*missing 1"),
    (spec(4, index_map=lambda i: i + np.arange(2)[i]), TypeError, r"(?s)The value depends on the argument program_id\(0\)"),
    (spec(4, index_map=lambda i: i * 1.), ValueError, "must return an integer scalar for axis 0, got a value of type f32"),
    (spec(4, index_map=lambda i: "a"), TypeError, "must return integers, and for axis 0 it returned 'a'"),
    (spec(4, index_map=lambda i: jnp.array([1, 0])[i]), ValueError, r"the index map .* closes over arrays: i32\[2\]"),
    (spec(pl.BoundedSlice(4)), TypeError, r"must return pl.ds\(start, size\) for axis 0"),
    (spec(pl.BoundedSlice(4), index_map=lambda i: pl.ds(i, 2, 2)), ValueError, "without a stride"),
    (spec(pl.BoundedSlice(4), index_map=None), ValueError, r"has BoundedSlice\(4\), which needs an index map"),
    (spec(pl.Indirect(4)), ValueError, "must return a vector of 4 integers for axis 0"),
]


@pytest.mark.parametrize("settings, error, message", SETTINGS)
def test_settings(settings, error, message):
    with pytest.raises(error, match=message):
        pl.pallas_call(copy, OUT, **{"interpret": True, **settings})(X)


KERNELS = [
    (lambda x, out: x[...], ValueError, r"must return None, and it returned a value of structure PyTreeDef\(\*\)"),
    (lambda x, out: out.set(x[...] + X), ValueError, r"the kernel .* closes over arrays .*: f32\[8\]\. Pass them"),
    (lambda x, out: out.set(x[...] + np.arange(8, dtype="f")), ValueError, "closes over arrays"),
    (lambda x, out: out.set(x + 1), TypeError, r"a reference.*Read its array first: ref\[\.\.\.\]"),
    (lambda x, out: out.set(x[:4]), ValueError, "cannot be broadcast"),
    (lambda x, out: out.set(x[9]), IndexError, "index 9 is out of bounds"),
    (lambda x, out: out.set(x[pl.ds(0, x[0].astype(int))]), TypeError, "pl.ds: the size must be known while tracing in an"),
    (lambda x, out: pl.empty_ref_like(pl.ANY(4, F32)), TypeError, "shapes must be sequences of integers .* got 4"),
    (lambda x, out: out.set(x[pl.ds(1, 8)]), IndexError, "is out of bounds for axis 0 of a reference, which has size 8"),
    (lambda x: None, TypeError, r"operands \(1\), results \(1\), scratch memory \(0\): .* takes 1 positional argument"),
    (lambda x, out: len(3), TypeError, "^object of type 'int' has no len"),
    (lambda x, out: pl.program_id(0), ValueError, r"pl.program_id: axis 0 is out of bounds for the grid \(\)"),
    (lambda x, out: pl.num_programs("i"), TypeError, "takes an axis of the grid"),
    (lambda x, out: pl.when(x[...] > 1)(lambda: None), TypeError, "pred must be a scalar"),
    (lambda x, out: pl.when(x[0] > 1)(lambda: 3), TypeError, "under pl.when must return nothing, and it returned 3"),
    (lambda x, out: pl.loop(0, 3)(lambda i: 3), TypeError, "under pl.loop must return nothing"),
    (lambda x, out: pl.loop(0, 3.)(lambda i: None), TypeError, "upper must be an integer scalar"),
    (lambda x, out: pl.loop(0, 3, step=0)(lambda i: None), ValueError, "the step must not be zero"),
    (lambda x, out: pl.loop(0, x[0].astype(int), unroll=2)(lambda i: None), ValueError, "unroll needs bounds"),
    (lambda x, out: pl.run_scoped(lambda r: r, pl.ANY((), F32)), TypeError, "the function returned a reference"),
    (lambda x, out: pl.run_scoped(lambda r: None, 3), TypeError, "pl.run_scoped needs a type of memory"),
    (lambda x, out: pl.run_scoped(lambda: None, collective_axes="i"), NotImplementedError, "pl.get_global"),
    (lambda x, out: pl.empty_ref_like(3), TypeError, "something with a shape and a dtype, got 3"),
    (lambda x, out: pl.get_global(F32), TypeError, "pl.get_global needs a type of memory"),
    (lambda x, out: pl.select_ref(0, x), ValueError, "among at least two references, got 1"),
    (lambda x, out: pl.select_ref(0, x, out[...]), TypeError, "chooses among references"),
    (lambda x, out: pl.select_ref(0, x, out.at[:2]), ValueError, r"equal shapes and dtypes, got float32\[8\] and f"),
    (lambda x, out: pl.select_ref(1., x, out), TypeError, "idx must be an integer scalar"),
    (lambda x, out: pl.semaphore_read(x), TypeError, "needs a reference to a semaphore"),
    (lambda x, out: pl.debug_print(3), TypeError, "a template, a string"),
    (lambda x, out: pl.debug_check(True, 3), TypeError, "the message must be a string"),
    (lambda x, out: pl.delay(1.5), TypeError, "a number of nanoseconds"),
]


@pytest.mark.parametrize("kernel, error, message", KERNELS)
def test_kernels(kernel, error, message):
    with pytest.raises(error, match=message):
        pl.pallas_call(kernel, OUT, interpret=True)(X)


SEMAPHORES = [
    (lambda s: pl.semaphore_read(s), ValueError, r"an array of them of shape \(2,\); choose one with sem.at\[index\]"),
    (lambda s: pl.semaphore_signal(s.at[0], -1), ValueError, "inc must not be negative"),
    (lambda s: pl.semaphore_wait(s.at[0], 1.), TypeError, "value must be an integer scalar"),
    (lambda s: pl.semaphore_signal(s.at[0], device_id=1), NotImplementedError, "device_id=1 names a semaphore of another"),
    (lambda s: pl.semaphore_signal(s.at[0], core_index=1), NotImplementedError, "core_index=1"),
    (lambda s: pl.semaphore_signal(s.at[0], device_id_type="mesh"), TypeError, "must be a pl.DeviceIdType"),
    (lambda s: s[0], ValueError, "treats a semaphore as an array"),
    (lambda s: pl.when(pl.program_id(0) > 0)(lambda: s.set(1, 0)), ValueError, "treats a semaphore as an array"),
]


@pytest.mark.parametrize("use, error, message", SEMAPHORES)
def test_semaphores(use, error, message):
    def kernel(out, sem):
        use(sem)

    with pytest.raises(error, match=message):
        pl.pallas_call(kernel, OUT, grid=1, scratch_shapes=[pl.ANY((2,), pl.semaphore)], interpret=True)()


def test_operands_results_and_platforms():
    ref = jax.new_ref(X)
    with pytest.raises(TypeError, match=r"an operand is a reference, of type Ref\{f32\[8\]\}"):
        pl.pallas_call(copy, OUT, interpret=True)(ref)
    with pytest.raises(ValueError, match="closes over arrays"):
        pl.pallas_call(lambda out: copy(ref, out), OUT, interpret=True)()
    with pytest.raises(TypeError, match=r"pallas_call: operand \[0\].*'a'"):
        pl.pallas_call(copy, OUT, interpret=True)("a")
    with pytest.raises(TypeError, match=r"negative sizes, got \(-8,\)"):
        pl.pallas_call(copy, S((-8,), F32), interpret=True)
    with pytest.raises(TypeError, match="out_shape must be a tree of jax.ShapeDtypeStruct or arrays, and 8"):
        pl.pallas_call(copy, (8,), interpret=True)(X)
    with pytest.raises(TypeError, match="pallas_call takes a function"):
        pl.pallas_call(3, OUT)
    with pytest.raises(ValueError, match="operand 0 is of type f32.8. and result 0 of type i32.8.; they must be the same"):
        pl.pallas_call(copy, S((8,), jnp.int32), interpret=True, input_output_aliases={0: 0})(X)
    with pytest.raises(NotImplementedError, match="traced size.*pl.when"):
        jax.jit(lambda n: pl.pallas_call(copy, OUT, grid=n, interpret=True)(X))(2)
    call = pl.pallas_call(copy, OUT)
    assert jax.eval_shape(call, X) == OUT
    with pytest.raises(ValueError, match=r"Only interpret mode is supported on CPU backend. Call .*interpret=True"):
        call(X)
    with pytest.raises(NotImplementedError, match="kernels are not compiled for cuda yet.*interpret=True"):
        jax.jit(call).trace(X).lower(lowering_platforms=("cuda",))
    with pytest.raises(ValueError, match="closes over arrays"):  # as are traced values from outside
        jax.jit(lambda y: pl.pallas_call(lambda x, out: out.set(x[...] + y), OUT, interpret=True)(X))(2.)


def test_outside_of_kernels():
    for f in (pl.program_id, pl.num_programs):
        with pytest.raises(ValueError, match="has a meaning only in kernels and index maps"):
            f(0)
    with pytest.raises(ValueError, match="pl.get_global has a meaning only in kernels"):
        pl.get_global(pl.ANY((), F32))
    with pytest.raises(TypeError, match="index_map must be a function"):
        B((8,), (0,))
    with pytest.raises(TypeError, match="block_shape is a function; the order is"):
        B(lambda i: i)
    with pytest.raises(TypeError, match="mesh must have named axes of cores"):
        pl.kernel(copy, OUT, mesh=3)
    with pytest.raises(NotImplementedError, match="several bodies"):
        pl.kernel([copy], OUT, mesh=jax.sharding.AbstractMesh((1,), ("i",)))
    with pytest.raises(ValueError, match="buffer_count must be a positive integer"):
        pl.Buffered(0)
    with pytest.raises(ValueError, match="prefetched_count must be between 0 and buffer_count"):
        pl.Buffered(2, prefetched_count=3)


@pytest.mark.quick
def test_it_is_loaded_when_it_is_used(run_python):
    code = ("import sys, jax, jax.numpy\nassert not any('pallas' in m for m in sys.modules)\n"
            "jax.experimental.pallas.pallas_call")
    run_python(code)
