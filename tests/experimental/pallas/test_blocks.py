"""How arrays are cut into blocks: against a model in NumPy that goes element by element."""

import ml_dtypes
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from tests.experimental.pallas import model

B, S = pl.BlockSpec, jax.ShapeDtypeStruct


def call(kernel, outs, grid, in_specs, out_specs, operands, aliases=()):
    return pl.pallas_call(kernel, [S(*o) for o in outs], grid=grid, in_specs=in_specs, out_specs=out_specs,
                          input_output_aliases=dict(aliases), interpret=True)(*operands)


def check(kernel, outs, grid, in_specs, out_specs, operands, aliases=()):
    given = kernel, outs, grid, in_specs, out_specs, operands, aliases
    for got, want in zip(call(*given), model.run(*given), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(got), want)


def copy(x, out):
    out[...] = x[...]


def add(x, out):
    out[...] = out[...] + x[...]


X = np.arange(1, 71, dtype=np.float32).reshape(10, 7)

CUTS = {
    "blocks": ((4, 3), lambda i, j: (i, j), (3, 3)),
    "all of one axis": ((4, 7), lambda i: (i, 0), (3,)),
    "squeezed": ((None, 3), lambda i, j: (i, j), (10, 3)),
    "both squeezed": ((pl.squeezed, None), lambda i, j: (i, j), (10, 7)),
    "blocks backwards": ((4, 3), lambda i, j: (2 - i, 2 - j), (3, 3)),
    "beyond the end": ((4, 3), lambda i, j: (i + 1, 2 * j), (3, 2)),
    "before the start": ((4, 3), lambda i, j: (i - 1, j), (3, 3)),
    "far away": ((4, 3), lambda i, j: (5 * i - 5, 3 * j), (3, 2)),
    "map without known bounds": ((4, 3), lambda i, j: (i * i - 1, jnp.bitwise_count(i)), (3, 3)),
    "divisions": ((4, 3), lambda i, j: ((i - 1) // 2 + i % 2, (3 * i - j) % 4), (3, 3)),
    "larger than the array": ((16, 3), lambda i: (0, i), (3,)),
    "elements": ((pl.Element(4), 7), lambda i: (2 * i, 0), (4,)),
    "elements beyond": ((pl.Element(4), 7), lambda i: (3 * i, 0), (4,)),
    "padded elements": ((pl.Element(4, (1, 2)), pl.Blocked(3)), lambda i, j: (3 * i, j), (4, 3)),
    "bounded": ((pl.BoundedSlice(5), None), lambda i, j: (pl.ds(2 * i, 3 + i), j), (4, 7)),
    "indirect": ((pl.Indirect(3), 7), lambda i: (jnp.arange(3) * 2 + i, 0), (4,)),
    "indirect beyond": ((pl.Indirect(3), pl.Indirect(2)), lambda i: ((jnp.arange(3) - 1) * 4 + i, jnp.arange(2) * 5 + i),
                        (4,)),
    "indirect and bounded": ((pl.BoundedSlice(2), pl.Indirect(3)), lambda i: (pl.ds(i, 1 + i % 2), jnp.arange(3) + i), (4,)),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.quick) if n in ("blocks", "beyond the end") else n
                                  for n in CUTS])
def test_cuts_of_operands_and_results(name):
    shape, index_map, grid = CUTS[name]
    block = [d.block_size if hasattr(d, "block_size") else d for d in shape if d is not None and d != pl.squeezed]
    steps = len(grid)
    rows = B((*(None,) * steps, *block), lambda *i: (*i, *(0,) * len(block)))
    check(copy, [((*grid, *block), np.float32)], grid, [B(shape, index_map)], [rows], [X])  # cutting
    values = np.arange(np.prod((*grid, *block)), dtype=np.float32).reshape(*grid, *block)
    check(copy, [(X.shape, np.float32)], grid, [rows], [B(shape, index_map)], [values])  # putting back
    check(lambda x, old, out: add(x, out), [(X.shape, np.float32)], grid, [rows, B()], [B(shape, index_map)],
          [values, X], {1: 0})  # reading results


def test_an_index_map_for_one_axis_may_return_a_slice_without_a_tuple():
    given = [((3, 4), np.float32)], (3,), [B((pl.BoundedSlice(4),), lambda i: pl.ds(2 * i, i + 1))]
    check(copy, *given, [B((None, 4), lambda i: (i, 0))], [X[0]])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "bool", "float16", "bfloat16", "complex64"])
def test_what_is_outside_is_the_least_or_nan(dtype):
    x = np.ones(5).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    spec = B((4,), lambda i: i)
    (got,) = call(copy, [((8,), dtype)], (2,), [spec], [spec], [x])
    (never,) = call(lambda out: None, [((2,), dtype)], (), [], [B()], [])
    for rest in (np.asarray(got)[5:], np.asarray(never)):
        if got.dtype.kind in "iub":
            assert (rest == (0 if dtype == "bool" else jnp.iinfo(dtype).min)).all()
        else:
            assert np.isnan(rest.astype(np.complex64).real).all()
    np.testing.assert_array_equal(np.asarray(got)[:5], x)


def test_grids_without_programs_or_axes_and_empty_arrays():
    spec = B((2,), lambda i: i)
    assert np.isnan(call(copy, [((4,), np.float32)], (0,), [spec], [spec], [np.ones(4, np.float32)])[0]).all()
    check(copy, [((), np.float32)], (), [B()], [B()], [np.float32(3)])
    check(copy, [((0, 4), np.float32)], (2,), [B()], [B()], [np.zeros((0, 4), np.float32)])
    check(copy, [((0, 4), np.float32)], (2,), [B((0, 2), lambda i: (0, i))], [B((0, 2), lambda i: (0, i))],
          [np.zeros((0, 4), np.float32)])


def test_programs_run_in_order_and_see_what_earlier_ones_wrote():
    def sums(x, total, out):
        total[...] = total[...] + x[...]
        out[...] = total[...]

    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    specs = [B((None, 2), lambda i, j: (i, j)), B()]
    check(sums, [((6, 2), np.int32)], (3, 2), specs, [B((None, 2), lambda i, j: (2 * i + j, 0))],
          [x, np.zeros(2, np.int32)])  # what is written to an operand is seen by later programs, too


def test_an_operand_does_not_change_and_a_result_can_start_as_one():
    x = jnp.arange(4.)

    def kernel(x, out):
        x[0] = 9.
        out[1] = 5.

    out = pl.pallas_call(kernel, S((4,), jnp.float32), input_output_aliases={0: 0}, interpret=True)(x)
    assert out.tolist() == [0., 5., 2., 3.] and x.tolist() == [0., 1., 2., 3.]


def test_blocks_that_are_known_to_be_inside_cost_no_copies():
    spec = B((4,), lambda i: i)

    def loop(index_map, n=2):
        f = pl.pallas_call(copy, S((8,), jnp.float32), grid=n, in_specs=[B((4,), index_map)], out_specs=spec, interpret=True)
        return jax.jit(f).lower(S((4 * n,), jnp.float32)).as_text()

    assert "stablehlo.pad" not in loop(lambda i: i)
    assert "stablehlo.pad" not in loop(lambda i: pl.num_programs(0) - 1 - i)
    assert "stablehlo.pad" not in loop(lambda i: jax.lax.div(i * 2, 2))
    assert "stablehlo.pad" in loop(lambda i: i + 1)
    assert "stablehlo.pad" not in loop(lambda i: i, 2**28)  # without an array of all indices
    assert "stablehlo.pad" in loop(lambda i: (i + 1) // 2, 2**28)
    assert "stablehlo.pad" not in loop(lambda i: (i + 3) // 2 % 2)
    assert "stablehlo.pad" not in loop(lambda i: jnp.where(i, 0, 1))
    assert "stablehlo.clamp" in loop(lambda i: jnp.bitwise_count(i)) and "stablehlo.clamp" not in loop(lambda i: i ^ 1)
