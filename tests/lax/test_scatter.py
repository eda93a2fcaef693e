"""Scatter: values against a model, derivatives, vmap, modes, parameters, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jax
from jax import lax
from jax.lax import GatherScatterMode
from jax.lax import ScatterDimensionNumbers as S
from tests import gather_model, harness
from tests.lax.test_gather import gathers
from tests.ops import cases, derivative_cases
from tests.ops_gather import COMBINE, SCATTER

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = S((1,), (0,), (0,))
I = np.array([[0], [2]], np.int32)  # noqa: E741
U = np.ones((2, 4), np.float32)


@pytest.mark.parametrize(("op", "dtype"), cases(SCATTER))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(SCATTER))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", [op for op in SCATTER if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


@st.composite
def scatters(draw):
    """(operand shape, shape of the indices, shape of the updates, dimension numbers), all of them valid."""
    shape, indices_shape, g, sizes = draw(gathers())
    window = iter([n for d, n in enumerate(sizes) if d not in (*g.collapsed_slice_dims, *g.operand_batching_dims)])
    batch = iter(indices_shape[:-1])
    rank = len(g.offset_dims) + len(indices_shape) - 1
    updates = tuple(next(window) if d in g.offset_dims else next(batch) for d in range(rank))
    return shape, indices_shape, updates, S(*g)


@settings(max_examples=30)
@given(scatters(), st.sampled_from(sorted(COMBINE)), st.booleans(), st.integers(0, 100))
def test_any_dimension_numbers(case, name, clip, seed):
    shape, indices_shape, update_shape, numbers = case
    rng = np.random.default_rng(seed)
    x, indices = rng.integers(0, 9, shape), rng.integers(-2, 5, indices_shape)
    updates = np.full(update_shape, 5) if name == "scatter" else rng.integers(0, 4, update_shape)
    got = getattr(lax, name)(x, indices, updates, numbers, mode="clip" if clip else None)
    np.testing.assert_array_equal(got, gather_model.scatter(x, indices, updates, numbers, COMBINE[name], clip=clip))


@settings(max_examples=15)
@given(scatters(), st.booleans(), st.data())
def test_vmap_of_any_dimension_numbers(case, clip, data):
    rng = np.random.default_rng(0)
    args = [rng.integers(*span, (3, *shape)) for span, shape in zip([(0, 9), (-2, 5), (0, 4)], case[:3], strict=True)]
    mapped = data.draw(st.sampled_from([(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]))
    at = [data.draw(st.integers(0, a.ndim - 1)) if m else None for a, m in zip(args, mapped, strict=True)]
    got = jax.vmap(lambda *a: lax.scatter_add(*a, case[3], mode="clip" if clip else None), at)(
        *[a[0] if d is None else np.moveaxis(a, 0, d) for a, d in zip(args, at, strict=True)])
    want = [gather_model.scatter(*[a[k if m else 0] for a, m in zip(args, mapped, strict=True)], case[3],
                                 COMBINE["scatter_add"], clip=clip) for k in range(3)]
    np.testing.assert_array_equal(got, np.stack(want))


# --- derivatives of special cases -----------------------------------------------------------------------------------

def test_derivative_follows_the_update_that_won():
    x, u = np.zeros(3), np.array([1.0, 2.0, 3.0])
    indices = np.array([[1], [1], [2]])
    out, pull = jax.vjp(lambda x, u: lax.scatter(x, indices, u, S((), (0,), (0,))), x, u)
    ct_x, ct_u = pull(np.array([10.0, 20.0, 30.0], np.float32))
    won = u == np.asarray(out)[indices[:, 0]]
    assert won.tolist() in ([True, False, True], [False, True, True])
    np.testing.assert_array_equal(ct_u, np.where(won, [20.0, 20.0, 30.0], 0))
    np.testing.assert_array_equal(ct_x, [10.0, 0, 0])


def test_ties_share_the_derivative_of_an_extremum():
    x, u, indices = np.array([2.0, 5.0, np.nan]), np.array([2.0, 2.0, 7.0]), np.array([[0], [0], [1]])
    for fn, want_x, want_u in ((lax.scatter_max, [1 / 3, 0, 1], [1 / 3, 1 / 3, 1]),
                               (lax.scatter_min, [1 / 3, 1, 1], [1 / 3, 1 / 3, 0])):
        _, pull = jax.vjp(lambda x, u, fn=fn: fn(x, indices, u, S((), (0,), (0,))), x, u)
        ct_x, ct_u = pull(np.ones(3, np.float32))
        np.testing.assert_allclose(ct_x, want_x, rtol=1e-6)
        np.testing.assert_allclose(ct_u, want_u, rtol=1e-6)


def test_what_has_no_derivative_says_so():
    with pytest.raises(NotImplementedError, match="scatter_mul: derivatives .* need unique_indices=True"):
        jax.grad(lambda u: lax.reduce_sum_p.bind(lax.scatter_mul(X, I, u, ROWS), axes=(0, 1), out_sharding=None))(U)
    with pytest.raises(NotImplementedError, match="scatter_apply has no derivatives"):
        jax.jvp(lambda x: lax.scatter_apply(x, I, lax.neg, ROWS, update_shape=(2, 4)), (X,), (X,))


def test_adding_needs_no_scatter_for_constant_updates():
    jaxpr = jax.make_jaxpr(lambda x, t: jax.jvp(lambda x: lax.scatter_add(x, I, U, ROWS), (x,), (t,)))(X, X)
    assert sum(e.primitive is lax.scatter_add_p for e in jaxpr.eqns) == 1


# --- programs -------------------------------------------------------------------------------------------------------

def test_parameters():
    (eqn,) = jax.make_jaxpr(lambda x: lax.scatter(x, I, U, ROWS))(X).eqns
    assert eqn.primitive.name == "scatter"
    assert eqn.params == {"dimension_numbers": ROWS, "indices_are_sorted": False, "unique_indices": False,
                          "mode": GatherScatterMode.FILL_OR_DROP, "update_jaxpr": None, "update_consts": ()}
    for name, inner in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("min", "min"), ("max", "max")):
        fn = getattr(lax, f"scatter_{name}")
        (eqn,) = jax.make_jaxpr(lambda x, fn=fn: fn(x, I, U, ROWS, mode="clip", unique_indices=True))(X).eqns
        assert eqn.primitive.name == f"scatter-{name}" and eqn.params["mode"] is GatherScatterMode.CLIP
        assert [e.primitive.name for e in eqn.params["update_jaxpr"].eqns] == [inner]


def test_narrow_indices_of_a_long_axis():
    for mode, want in (("clip", [0, 127]), ("drop", [127])):
        out = np.asarray(lax.scatter_add(np.zeros(1000), np.array([[-1], [127]], np.int8), np.ones(2, np.float32),
                                         S((), (0,), (0,)), mode=mode))
        assert np.flatnonzero(out).tolist() == want


def test_scatter_apply_with_constants():
    table = np.arange(10, dtype=np.float32)

    def shift(v):
        return lax.add(v, lax.reduce_max_p.bind(table, axes=(0,), out_sharding=None))
    got = lax.scatter_apply(X, I, shift, ROWS, update_shape=(2, 4))
    np.testing.assert_array_equal(got, X + 9 * np.array([[1], [0], [1]]))


def test_no_examples():
    x, i, u = np.zeros((0, 3, 4), np.float32), np.zeros((0, 2, 1), np.int32), np.zeros((0, 2, 4), np.float32)
    assert jax.vmap(lambda x, i, u: lax.scatter_add(x, i, u, ROWS))(x, i, u).shape == (0, 3, 4)


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = [
    (S((2,), (0,), (0,)), I, U, TypeError, r"update_window_dims must be axes of the updates.*\[0, 2\)"),
    (S((1,), (0, 1), (0,)), I, U, TypeError, "update_window_dims=.* must name one axis of the updates"),
    (S((1,), (0,), (0, 1)), I, U, TypeError, "scatter_dims_to_operand_dims has 2 entries"),
    (ROWS, I, np.ones((2, 5), np.float32), TypeError, r"axis 1 of the updates of shape \(2, 5\) is longer than axis 1"),
    (ROWS, I, np.ones((3, 4), np.float32), TypeError, r"have sizes \(3,\), those of the indices of"),
    (ROWS, I, U.astype(int), TypeError, "one dtype, got float32 and int32"),
    (ROWS, I.astype(np.float32), U, ValueError, "integer dtype, got float32"),
    (ROWS, I, U[0], TypeError, "must have rank 2"),
    (S((1,), (0,), (5,)), I, U, TypeError, "scatter_dims_to_operand_dims must be axes of the operand"),
    (S((1,), (5,), (0,)), I, U, TypeError, "inserted_window_dims must be axes of the operand"),
    (S((1, 0), (), (0,)), I, np.ones((2, 1, 4), np.float32), TypeError, "update_window_dims must be sorted"),
]


@pytest.mark.parametrize(("numbers", "indices", "updates", "error", "match"), ERRORS,
                         ids=[str(i) for i in range(len(ERRORS))])
def test_errors_name_what_does_not_fit(numbers, indices, updates, error, match):
    with pytest.raises(error, match=match):
        lax.scatter(X, indices, updates, numbers)


def test_other_errors():
    with pytest.raises(ValueError, match="unknown gather/scatter mode"):
        lax.scatter(X, I, U, ROWS, mode="wrap")
    with pytest.raises(NotImplementedError, match="ONE_HOT"):
        lax.scatter_add(X, I, U, ROWS, mode="one_hot")
    with pytest.raises(TypeError, match="must map a scalar of dtype float32 to one"):
        lax.scatter_apply(X, I, lambda v: lax.convert_element_type(v, np.int32), ROWS, update_shape=(2, 4))
    with pytest.raises(NotImplementedError, match="closes over a traced value"):
        jax.jit(lambda x, y: lax.scatter_apply(x, I, lambda v: lax.add(v, y), ROWS, update_shape=(2, 4)))(X, X[0, 0])


def test_scatter_apply_traces_a_function_once():
    traced = []

    def fn(v):
        traced.append(v)
        return lax.neg(v)
    for _ in range(3):
        lax.scatter_apply(X, I, fn, ROWS, update_shape=(2, 4))
    assert len(traced) == 1


def test_scalar_operand_takes_all_updates():
    got = lax.scatter_add(np.float32(1), np.zeros((2, 0), np.int32), np.array([3, 4], np.float32), S((), (), ()))
    assert got.tolist() == 8.0
