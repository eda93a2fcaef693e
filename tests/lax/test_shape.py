"""Shape operations and joining: values, derivatives, vmap; what they leave in programs; errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jax
import jax.numpy as jnp
from jax import lax
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_shape import JOIN, SHAPE

OPS = SHAPE + JOIN
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(("op", "dtype"), cases(OPS))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(OPS))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


# --- what is left in programs ---------------------------------------------------------------------------------------

NOTHING = [
    lambda x: lax.reshape(x, (2, 3)), lambda x: lax.squeeze(x, ()), lambda x: lax.expand_dims(x, ()),
    lambda x: lax.broadcast(x, ()), lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)),
    lambda x: lax.transpose(x, (0, 1)), lambda x: lax.concatenate([x], 0),
    lambda x: lax.broadcast_to_rank(x, 1), lambda x: lax.collapse(x, 0, 1),
]


@pytest.mark.parametrize("fn", NOTHING)
def test_no_equation_for_nothing(fn):
    assert jax.make_jaxpr(fn)(X).eqns == []


PARAMS = [
    (lambda x: lax.reshape(x, np.array([3, 2])), "reshape",
     {"new_sizes": (3, 2), "dimensions": None, "sharding": None}),
    (lambda x: lax.squeeze(lax.expand_dims(x, (0, 2)), (-2, 0)), "squeeze", {"dimensions": (0, 2)}),
    (lambda x: lax.expand_dims(x, (0, -1)), "broadcast_in_dim",
     {"shape": (1, 2, 3, 1), "broadcast_dimensions": (1, 2), "sharding": None}),
    (lambda x: lax.transpose(x, (-1, 0)), "transpose", {"permutation": (1, 0)}),
    (lambda x: lax.rev(x, (-1,)), "rev", {"dimensions": (1,)}),
    (lambda x: lax.concatenate([x, x], -1), "concatenate", {"dimension": 1}),
    (lambda x: lax.split(x, (np.int64(1), 2), -1), "split", {"sizes": (1, 2), "axis": 1}),
    (lambda x: lax.stack([x, x], -1), "stack", {"axis": 2}),
    (lambda x: lax.unstack(x, -1), "unstack", {"axis": 1}),
    (lambda x: lax.tile(x, [2, 1]), "tile", {"reps": (2, 1)}),
    (lambda x: lax.optimization_barrier([x]), "optimization_barrier", {}),
    (lax.copy_p.bind, "copy", {}),
]


@pytest.mark.parametrize(("fn", "name", "params"), PARAMS, ids=[p[1] for p in PARAMS])
def test_parameters_are_canonical(fn, name, params):
    eqn = jax.make_jaxpr(fn)(X).eqns[-1]
    assert (eqn.primitive.name, eqn.params) == (name, params)
    assert all(type(d) is int for v in eqn.params.values() if isinstance(v, tuple) for d in v)


def test_weak_types():
    weak = lax.broadcast_in_dim(1.0, (2,), ())
    assert weak.weak_type
    for fn in (lambda x: lax.reshape(x, (1, 2)), lambda x: lax.concatenate([x, x], 0), lambda x: lax.tile(x, (2,)),
               lambda x: lax.split(x, (1, 1))[0], lambda x: lax.rev(x, (0,)), lambda x: lax.stack([x, x])):
        assert jax.eval_shape(fn, weak).weak_type
    assert not lax.concatenate([weak, np.zeros(1, np.float32)], 0).weak_type


def test_copy_is_another_buffer():
    x = jax.jit(lambda x: x)(X)
    y = lax.copy_p.bind(x)
    assert x.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()


def test_barrier_is_in_the_compiled_program():
    text = jax.jit(lambda x: lax.optimization_barrier((lax.neg(x), x))).lower(X).as_text()
    assert "stablehlo.optimization_barrier" in text


def test_concatenate_of_an_array_joins_its_rows():
    np.testing.assert_array_equal(lax.concatenate(jax.jit(lambda x: x)(X), 0), X.reshape(-1))


def test_operands_need_not_be_jax_arrays():
    assert isinstance(lax.reshape(X, (2, 3)), jax.Array)
    assert lax.broadcast(2, (3,)).tolist() == [2, 2, 2]
    assert lax.concatenate([X, X], 0).shape == (4, 3)


# --- properties -----------------------------------------------------------------------------------------------------

sizes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(st.lists(sizes, min_size=1, max_size=3))
def test_broadcast_shapes_is_numpys(shapes):
    try:
        want = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            lax.broadcast_shapes(*shapes)
    else:
        assert lax.broadcast_shapes(*shapes) == want


@given(sizes, st.data())
def test_squeeze_undoes_expand_dims(shape, data):
    rank = len(shape) + 2
    axes = data.draw(st.lists(st.integers(-rank, rank - 1), min_size=2, max_size=2, unique_by=lambda a: a % rank))
    out = jax.eval_shape(lambda x: lax.expand_dims(x, axes), jax.ShapeDtypeStruct(shape, np.float32))
    assert np.expand_dims(np.zeros(shape), axes).shape == out.shape
    back = jax.eval_shape(lambda x: lax.squeeze(x, axes), out)
    assert back.shape == shape


@given(st.permutations(range(4)), st.integers(0, 4))
def test_vmap_of_reshape_with_an_order(order, src):
    x = np.arange(2 * 3 * 2 * 1 * 4).reshape(2, 3, 2, 1, 4)
    got = jax.vmap(lambda x: lax.reshape(x, (6, 2), order), src, 0)(np.moveaxis(x, 4, src))
    np.testing.assert_array_equal(got, np.stack([x[..., i].transpose(order).reshape(6, 2) for i in range(4)]))


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: lax.reshape(X, (4, 2)), TypeError, r"operand of shape \(2, 3\) has 6 elements.*\(4, 2\) has 8"),
    (lambda: lax.reshape(X, (-1,)), TypeError, "must not be negative.*jnp.reshape"),
    (lambda: lax.reshape(X, (6.0,)), TypeError, "new_sizes must consist of integers, got 6.0"),
    (lambda: lax.reshape(X, (6,), (0, 0)), TypeError, "permutation of the axes"),
    (lambda: lax.reshape([1, 2], (2,)), TypeError, r"jnp.array"),
    (lambda: jax.jit(lambda x, n: lax.reshape(x, (n,)))(X, 6), TypeError, "static_argnums"),
    (lambda: lax.squeeze(X, (0,)), ValueError, r"axis 0 of an operand of shape \(2, 3\) has size 2"),
    (lambda: lax.squeeze(X, (5,)), ValueError, r"squeeze: dimensions 5 must lie in \[-2, 2\)"),
    (lambda: lax.squeeze(X[None], (0, -3)), ValueError, "name an axis twice"),
    (lambda: lax.expand_dims(X, (0, -4)), ValueError, "name an axis twice"),
    (lambda: lax.broadcast_in_dim(X, (2, 4), (0, 1)), TypeError, "dimension 1 has size 3"),
    (lambda: lax.broadcast_in_dim(X, (2, 3), (0,)), TypeError, "broadcast_dimensions"),
    (lambda: lax.broadcast(X, (-1,)), TypeError, r"must not be negative, got \(-1, 2, 3\)"),
    (lambda: lax.broadcast_like(X, X[0]), ValueError, "lower rank"),
    (lambda: lax.transpose(X, (0, 0)), TypeError, "does not rearrange"),
    (lambda: lax.transpose(X, (0, 2)), TypeError, "does not rearrange"),
    (lambda: lax.rev(X, (2,)), ValueError, "rev: dimensions 2"),
    (lambda: lax.collapse(X, 1, 0), ValueError, "ends before it starts"),
    (lambda: lax.concatenate([], 0), ValueError, "at least one"),
    (lambda: lax.concatenate([X, X[:, :2]], 0), TypeError, r"sizes differ along axis 1: got shapes \(2, 3\), \(2, 2\)"),
    (lambda: lax.concatenate([X, X[0]], 0), TypeError, "ranks differ"),
    (lambda: lax.concatenate([X, X.astype(int)], 0), TypeError, "one dtype, got float32, int32.*jnp.concatenate"),
    (lambda: lax.concatenate([X, X], 2), ValueError, "concatenate: dimension 2"),
    (lambda: lax.split(X, (1, 1), 1), ValueError, "sum to 2, and axis 1"),
    (lambda: lax.split(X, (-1, 4), 1), ValueError, "negative"),
    (lambda: lax.stack([X, X[:1]]), TypeError, "one shape"),
    (lambda: lax.stack([]), ValueError, "at least one"),
    (lambda: lax.unstack(X, 2), ValueError, "unstack: axis 2"),
    (lambda: lax.tile(X, (2,)), TypeError, "jnp.tile"),
    (lambda: lax.tile(X, (2, -1)), TypeError, "negative"),
]


@pytest.mark.parametrize(("call", "error", "match"), ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_name_operation_shapes_and_remedy(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.quick
@pytest.mark.parametrize("shape, broadcast_dimensions", [((2, 3), (1, 0)), ((2, 2), (1, 0)), ((2,), (5,)), ((2, 2), (0, 0))])
def test_broadcast_in_dim_checks_what_changes_nothing(shape, broadcast_dimensions):
    with pytest.raises(TypeError, match="broadcast_dimensions must increase"):
        lax.broadcast_in_dim(jnp.ones(shape), shape, broadcast_dimensions)
    x = jnp.ones(shape)
    assert lax.broadcast_in_dim(x, shape, range(len(shape))) is x


@pytest.mark.quick
def test_full_takes_an_integer_for_a_shape():
    np.testing.assert_array_equal(lax.full(3, 2), [2, 2, 2])
