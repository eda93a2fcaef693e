"""Gather: values against a model, derivatives, vmap, modes, parameters, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jax
from jax import lax
from jax.lax import GatherDimensionNumbers as G
from jax.lax import GatherScatterMode
from tests import gather_model, harness
from tests.ops import cases, derivative_cases
from tests.ops_gather import GATHER

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = G((1,), (0,), (0,))
I = np.array([[0], [2]], np.int32)  # noqa: E741


@pytest.mark.parametrize(("op", "dtype"), cases(GATHER))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(GATHER))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", GATHER, ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


@st.composite
def gathers(draw):
    """(operand shape, shape of the indices, dimension numbers, slice sizes), all of them valid."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    index_map = tuple(draw(st.permutations(range(rank)))[:draw(st.integers(0, rank))])
    batch_shape = draw(st.lists(st.integers(0, 3), max_size=2))
    rest = [d for d in range(rank) if d not in index_map]
    pairs = draw(st.integers(0, min(len(rest), len(batch_shape))))
    operand_batching = tuple(sorted(draw(st.permutations(rest))[:pairs]))
    indices_batching = tuple(draw(st.permutations(range(len(batch_shape))))[:len(operand_batching)])
    for d, b in zip(operand_batching, indices_batching, strict=True):
        batch_shape[b] = shape[d]
    sizes = tuple(1 if d in operand_batching else draw(st.integers(0, n)) for d, n in enumerate(shape))
    collapsed = tuple(d for d, n in enumerate(sizes) if n == 1 and d not in operand_batching and draw(st.booleans()))
    window = rank - len(collapsed) - len(operand_batching)
    offsets = tuple(sorted(draw(st.permutations(range(window + len(batch_shape))))[:window]))
    numbers = G(offsets, collapsed, index_map, operand_batching, indices_batching)
    return shape, (*batch_shape, len(index_map)), numbers, sizes


@settings(max_examples=40)
@given(gathers(), st.sampled_from(["clip", "fill"]), st.integers(0, 100))
def test_any_dimension_numbers(case, mode, seed):
    shape, indices_shape, numbers, sizes = case
    rng = np.random.default_rng(seed)
    x, indices = rng.normal(size=shape).astype(np.float32), rng.integers(-2, 5, indices_shape).astype(np.int32)
    got = lax.gather(x, indices, numbers, sizes, mode=mode)
    want = gather_model.gather(x, indices, numbers, sizes, clip=mode == "clip", fill=np.nan)
    np.testing.assert_array_equal(got, want)


@settings(max_examples=15)
@given(gathers(), st.sampled_from(["clip", "fill"]), st.data())
def test_vmap_of_any_dimension_numbers(case, mode, data):
    shape, indices_shape, numbers, sizes = case
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, *shape)).astype(np.float32)
    indices = rng.integers(-2, 5, (3, *indices_shape)).astype(np.int32)
    axes = data.draw(st.sampled_from([(0, 0), (0, None), (None, 0)]))
    at = [None if a is None else data.draw(st.integers(0, n.ndim - 1)) for a, n in zip(axes, (x, indices), strict=True)]
    got = jax.vmap(lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode), at)(
        *[n[0] if a is None else np.moveaxis(n, 0, a) for n, a in zip((x, indices), at, strict=True)])
    want = [gather_model.gather(x[k * (at[0] is not None)], indices[k * (at[1] is not None)], numbers, sizes,
                                clip=mode == "clip", fill=np.nan) for k in range(3)]
    np.testing.assert_array_equal(got, np.stack(want))


# --- modes ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("dtype", "want"), [("float32", np.nan), ("float16", np.nan), ("complex64", np.nan),
                                             ("int8", -128), ("int32", -2**31), ("uint8", 255), ("bool", True)])
def test_default_fill_value(dtype, want):
    got = np.asarray(lax.gather(np.zeros(2, dtype), np.array([[5]]), G((), (0,), (0,)), (1,), mode="fill"))
    np.testing.assert_array_equal(got, np.asarray([want]).astype(dtype))


def test_modes_by_name():
    assert GatherScatterMode.from_any("drop") is GatherScatterMode.from_any("fill") is GatherScatterMode.FILL_OR_DROP
    assert GatherScatterMode.from_any(None) is GatherScatterMode.FILL_OR_DROP
    assert [m.value for m in GatherScatterMode] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="unknown gather/scatter mode 'wrap'"):
        lax.gather(X, I, ROWS, (1, 4), mode="wrap")
    with pytest.raises(NotImplementedError, match="ONE_HOT is not supported"):
        lax.gather(X, I, ROWS, (1, 4), mode="one_hot")


def test_parameters():
    (eqn,) = jax.make_jaxpr(lambda x: lax.gather(x, I, ROWS, [1, 4], mode="fill"))(X).eqns
    assert eqn.params == {"dimension_numbers": ROWS, "slice_sizes": (1, 4), "unique_indices": False,
                          "indices_are_sorted": False, "mode": GatherScatterMode.FILL_OR_DROP, "fill_value": eqn.params[
                              "fill_value"]}
    assert np.isnan(eqn.params["fill_value"])
    (eqn,) = jax.make_jaxpr(lambda x: lax.gather(x, I, ROWS, (1, 4), fill_value=3))(X).eqns
    assert (eqn.params["mode"], eqn.params["fill_value"]) == (GatherScatterMode.PROMISE_IN_BOUNDS, None)


def test_narrow_indices_of_a_long_axis():
    x = np.arange(1000)
    for mode in ("clip", "fill"):
        got = lax.gather(x, np.array([[-1], [127]], np.int8), G((), (0,), (0,)), (1,), mode=mode, fill_value=-7)
        np.testing.assert_array_equal(got, [0 if mode == "clip" else -7, 127])


def test_transpose_is_a_scatter_add_with_the_same_promises():
    fn = lambda x: lax.gather(x, I, ROWS, (1, 4), unique_indices=True, indices_are_sorted=True, mode="clip")  # noqa: E731
    jaxpr = jax.make_jaxpr(lambda x: jax.vjp(fn, x)[1](np.ones((2, 4), np.float32)))(X)
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is lax.scatter_add_p]
    assert (eqn.params["unique_indices"], eqn.params["indices_are_sorted"], eqn.params["mode"]) == \
        (True, True, GatherScatterMode.CLIP)


def test_no_examples():
    x, i = np.zeros((0, 3, 4), np.float32), np.zeros((0, 2, 1), np.int32)
    assert jax.vmap(lambda x, i: lax.gather(x, i, ROWS, (1, 4)))(x, i).shape == (0, 2, 4)


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = [
    (G((2,), (0,), (0,)), (1, 4), I, TypeError, r"offset_dims must be axes of the result, which lie in \[0, 2\)"),
    (G((1,), (0, 1), (0,)), (1, 4), I, TypeError, "axis 1 is collapsed or batched, so its slice size must be 1, got 4"),
    (G((0, 1), (0,), (0,)), (1, 4), I, TypeError, "offset_dims=.* must name one axis of the result"),
    (G((1,), (0,), (0, 1)), (1, 4), I, TypeError, "start_index_map has 2 entries, and the index vectors"),
    (ROWS, (1, 5), I, TypeError, r"slice size 5 along axis 1 is not in \[0, 4\]"),
    (ROWS, (2, 4), I, TypeError, "axis 0 is collapsed or batched, so its slice size must be 1, got 2"),
    (ROWS, (4,), I, TypeError, "slice_sizes must have one entry for each axis"),
    (ROWS, (1, 4), I.astype(np.float32), ValueError, "integer dtype, got float32"),
    (ROWS, (1, 4), np.int32(0), TypeError, r"give them the shape \(1,\)"),
    (G((1, 0), (), (0,)), (1, 4), I[0], TypeError, "offset_dims must be sorted"),
    (G((1,), (3,), (0,)), (1, 4), I, TypeError, r"collapsed_slice_dims must be axes of the operand.*got 3"),
    (G((1,), (0,), (7,)), (1, 4), I, TypeError, "start_index_map must be axes of the operand"),
    (G((1,), (), (0,), (0,), (0,)), (1, 4), I, TypeError, "axis 0 is both in start_index_map and"),
    (G((1,), (), (1,), (0,), (0,)), (1, 4), I, TypeError, r"operand have sizes \(3,\) and those of the indices \(2,\)"),
    (G((1,), (0,), (1,), (0,), (0,)), (1, 4), np.zeros((3, 1), int), TypeError, "both in collapsed_slice_dims"),
]


@pytest.mark.parametrize(("numbers", "sizes", "indices", "error", "match"), ERRORS,
                         ids=[str(i) for i in range(len(ERRORS))])
def test_errors_name_what_does_not_fit(numbers, sizes, indices, error, match):
    with pytest.raises(error, match=match):
        lax.gather(X, indices, numbers, sizes)
