"""Types that users write, costs, arithmetic about sizes, programs as text."""

import json

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental import roofline as rl

S = jax.ShapeDtypeStruct
F32 = jnp.float32
X = S((4, 8), F32)


def test_types_of_memory():
    memory = pl.MemorySpace.ANY((2, 3), np.int8)
    assert memory == pl.ANY((2, 3), jnp.int8) and memory.shape == (2, 3) and memory.dtype == np.int8
    assert memory.get_array_aval() == jax.typeof(jnp.ones((2, 3), np.int8))
    assert str(memory.get_ref_aval()) == "Ref{int8[2,3] in any}"
    assert pl.MemoryRef(memory.inner_aval, pl.ANY) == memory != pl.MemorySpace.DEFAULT((2, 3), np.int8)
    assert pl.ANY((), pl.semaphore).dtype is pl.semaphore and issubclass(pl.semaphore, jax.dtypes.extended)
    assert [m.value for m in pl.MemorySpace] == ["any", "default", "error", "index", "key"] and str(pl.ANY) == "any"
    assert [m.value for m in pl.DeviceIdType] == ["mesh", "logical"]


def test_specs():
    spec = pl.BlockSpec((2, None), lambda i: (i, 0), pl.Buffered(2), memory_space=pl.ANY)
    assert spec.replace(block_shape=(4,)).block_shape == (4,) and spec.replace(index_map=None).memory_space is pl.ANY
    mapping = spec.to_block_mapping("x", jax.typeof(jnp.ones((4, 3))), grid=(2,))
    assert str(mapping.ref_aval) == "Ref{float32[2] in any}" and mapping.block_shape == (pl.Blocked(2), pl.squeezed)
    grid = pl.GridSpec(3, [spec], spec, [pl.ANY((), F32)])
    assert grid.grid == (3,) and grid.in_specs == (spec,) and len(grid.scratch_shapes) == 1
    assert repr(pl.GridSpec().in_specs) == repr(pl.no_block_spec) == "NoBlockSpec"
    assert pl.Element(3) == pl.Element(3, (0, 0)) and repr(pl.BoundedSlice(2)) == "BoundedSlice(2)"
    assert pl.Buffered(2, revisit=pl.RevisitMode.ANY).revisit.value == "any" and isinstance(pl.Indirect(1), pl.BlockDim)
    assert isinstance(object(), pl.CompilerParams)
    with pytest.raises(TypeError):
        pl.CompilerParams()


@pytest.mark.quick
def test_arithmetic():
    assert [pl.cdiv(a, b) for a, b in ((7, 2), (8, 2), (0, 3), (-7, 2))] == [4, 4, 0, -3]
    assert pl.cdiv(jnp.arange(5), 2).tolist() == [0, 1, 1, 2, 2] and pl.cdiv(jnp.int8(7), jnp.int8(2)).dtype == np.int8
    assert [pl.align_to(a, 4) for a in (0, 1, 4, 5)] == [0, 4, 4, 8]
    assert [pl.next_power_of_2(n) for n in (0, 1, 2, 3, 17, 64)] == [1, 1, 2, 4, 32, 64]
    assert pl.strides_from_shape((2, 3, 4)) == (12, 4, 1) and pl.strides_from_shape(()) == ()
    assert jax.jit(lambda n: pl.multiple_of(n, (2, 4)))(8) == 8 and pl.multiple_of(8, 4) == 8
    like = pl.empty_like({"a": jnp.ones(2, np.int8), "b": X})
    assert like["a"].dtype == np.int8 and like["b"].shape == (4, 8)
    for f, error in ((lambda: pl.cdiv(1.5, 2), TypeError), (lambda: pl.next_power_of_2(-1), ValueError),
                     (lambda: pl.cdiv(1, 0), ZeroDivisionError), (lambda: pl.multiple_of(7, 2), ValueError),
                     (lambda: pl.multiple_of(8, 0), TypeError), (lambda: pl.multiple_of(8., 2), TypeError)):
        with pytest.raises(error):
            f()


def test_costs():
    def cost(f, *args, **kwargs):
        c = pl.estimate_cost(f, *args, **kwargs)
        return c.flops, c.transcendentals, c.bytes_accessed

    y = S((8, 16), F32)
    assert cost(lambda x, y: x @ y, X, y) == (2 * 4 * 8 * 16, 0, 4 * (32 + 128 + 64))  # as the reference counts
    assert cost(lambda x: jnp.sin(x) @ x.T + 1, X) == (256 + 16, 32, 4 * (32 + 16))
    assert cost(lambda x: jnp.exp(x) + x * 2 - jnp.tanh(x) / 3, X) == (4 * 32, 64, 256)
    assert cost(lambda x: jnp.concatenate([x.T, x.T]), S((4, 8), jnp.bfloat16))[2] == 2 * (32 + 64)
    assert cost(lambda x: x.sum(), X) == (31, 0, 4 * 33)
    assert cost(lambda x, n: lax.fori_loop(0, n, lambda i, c: jnp.sqrt(c), x), X, n=5)[1] == 5 * 32
    assert cost(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, lambda x: x, x), X)[1] == 32
    assert cost(jax.jit(lambda x: x + x), X)[0] == 32

    def square(x, out):
        out[...] = jnp.exp(x[...] * x[...])

    spec = pl.BlockSpec((1, 8), lambda i: (i, 0))
    call = lambda **more: pl.pallas_call(square, X, grid=4, in_specs=[spec], out_specs=spec, **more)  # noqa: E731
    assert cost(call(), X) == (32, 32, 256)
    estimate = pl.CostEstimate(flops=7, transcendentals=5, bytes_accessed=3, remote_bytes_transferred=2)
    assert pl.estimate_cost(call(cost_estimate=estimate), X) == pl.CostEstimate(7, 5, 256, 2)
    assert pl.estimate_cost(jax.vmap(call(cost_estimate=estimate)), S((3, 4, 8), F32)) == pl.CostEstimate(21, 15, 768, 6)
    found = rl.roofline(call())(X)[1]
    assert (found.unfused_flops, found.hbm_bytes) == (64, 256)
    assert rl.roofline(call(cost_estimate=estimate))(X)[1].hbm_bytes == 3
    assert json.loads(estimate.to_json()) == {"flops": 7, "transcendentals": 5, "bytes_accessed": 3,
                                              "remote_bytes_transferred": 2}


def test_programs_as_text():
    text = pl.lower_as_mlir(lambda x, *, n: x + n, X, n=3, static_argnames="n")
    assert "stablehlo.add" in text and "test_interface.py" in text and "tensor<4x8xf32>" in text
    assert "stablehlo.add" in pl.lower_as_mlir(lambda x: x + 1, X, platforms=["cuda"])
    assert "stablehlo.add" in pl.lower_as_mlir(lambda x: x + 1, X, device=jax.devices()[0])
    kernel = pl.pallas_call(lambda x, out: out.set(x[...]), X)
    with pytest.raises(ValueError, match="interpret"):
        pl.lower_as_mlir(kernel, X)
    with pytest.raises(TypeError, match="dynamic_shapes must be True or False"):
        pl.lower_as_mlir(kernel, X, dynamic_shapes="a")
    with pytest.raises(NotImplementedError, match="lower_as_mlir: symbolic dimensions are not supported"):
        pl.lower_as_mlir(lambda x: x + 1, X, dynamic_shapes=True)
    interpreted = pl.pallas_call(lambda x, out: out.set(x[...]), X, interpret=True, name="mine")
    assert interpreted.eval_shape(X).shape == (4, 8) and "mine" in repr(interpreted)
    assert interpreted.trace(X).jaxpr.eqns[0].primitive is pl.pallas_call_p
    assert interpreted.lower(X).compile()(jnp.ones((4, 8))).sum() == 32
    with pl.pallas_export_experimental(False):
        assert jax.export.export(jax.jit(lambda x: x))(X).out_avals[0].shape == (4, 8)
    with pytest.raises(NotImplementedError, match="symbolic dimensions"):
        with pl.pallas_export_experimental(True):
            pass
