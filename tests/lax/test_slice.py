"""Slices, static and dynamic, and padding: values, derivatives, vmap; what they leave in programs; errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jax
from jax import lax
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_shape import DYNAMIC, SLICE, at, padded

OPS = SLICE + DYNAMIC
X = np.arange(12, dtype=np.float32).reshape(3, 4)


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


# --- properties -----------------------------------------------------------------------------------------------------

@given(st.integers(0, 5), st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 3))
def test_pad_and_its_transpose(n, low, high, interior):
    size = n + max(0, n - 1) * interior + low + high
    x, value = np.arange(1.0, n + 1, dtype=np.float32), np.float32(-1)
    config = [(low, high, interior)]
    if size < 0:
        with pytest.raises(ValueError, match=f"would give it the size {size}"):
            lax.pad(x, value, config)
        return
    want = padded(config)(x, value)
    got, pull = jax.vjp(lambda x, v: lax.pad(x, v, config), x, value)
    np.testing.assert_array_equal(got, want)
    ct = np.arange(10.0, 10 + size, dtype=np.float32)
    ct_x, ct_value = pull(ct)
    assert (np.sum(x * np.asarray(ct_x)) - np.asarray(ct_value)) == pytest.approx(np.sum(want * ct))


@given(st.integers(0, 6), st.data())
def test_slice_and_its_transpose(n, data):
    start = data.draw(st.integers(0, n))
    limit = data.draw(st.integers(start, n))
    stride = data.draw(st.integers(1, 4))
    x = np.arange(1.0, n + 1, dtype=np.float32)
    got, pull = jax.vjp(lambda x: lax.slice(x, (start,), (limit,), (stride,)), x)
    np.testing.assert_array_equal(got, x[start:limit:stride])
    want = np.zeros(n, np.float32)
    want[start:limit:stride] = x[start:limit:stride]
    np.testing.assert_array_equal(pull(got)[0], want)


@given(st.sampled_from(["int8", "uint8", "int16", "uint32", "int32"]), st.integers(-200, 400), st.booleans())
def test_indices_of_every_dtype(dtype, start, negative):
    info = np.iinfo(dtype)
    start = max(info.min, min(info.max, start))
    x = np.arange(300)
    want = x[at(x, (start,), (5,))] if negative or start >= 0 else x[:5]
    index = np.asarray(start, dtype)
    got = lax.dynamic_slice(x, (jax.jit(lambda i: i)(index),), (5,), allow_negative_indices=negative)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(lax.dynamic_slice(x, (start,), (5,), allow_negative_indices=negative), want)


def test_known_indices_need_no_arithmetic():
    eqns = jax.make_jaxpr(lambda x: lax.dynamic_slice(x, (-1, 2**40), (2, 2)))(X).eqns
    assert [e.primitive.name for e in eqns] == ["dynamic_slice"]
    np.testing.assert_array_equal(lax.dynamic_slice(X, (-1, 2**40), (2, 2)), X[1:3, 2:4])


def test_negative_indices_can_be_ruled_out():
    def names(negative):
        fn = lambda x, i: lax.dynamic_slice(x, (i, i), (1, 1), allow_negative_indices=negative)  # noqa: E731
        return [e.primitive.name for e in jax.make_jaxpr(fn)(X, 1).eqns]
    assert names(False) == ["dynamic_slice"]
    assert names((False, True)) == ["lt", "add", "select_n", "dynamic_slice"]


def test_parameters_are_canonical():
    (eqn,) = jax.make_jaxpr(lambda x: lax.slice(x, np.array([0, 1]), [2, 4]))(X).eqns
    assert eqn.params == {"start_indices": (0, 1), "limit_indices": (2, 4), "strides": None}
    (eqn,) = jax.make_jaxpr(lambda x: lax.pad(x, np.float32(0), [(1, np.int64(2), 0), [0, 0, 1]]))(X).eqns
    assert eqn.params == {"padding_config": ((1, 2, 0), (0, 0, 1))}
    (eqn,) = jax.make_jaxpr(lambda x: lax.slice_in_dim(x, 0, -1))(X).eqns
    assert eqn.params == {"start_indices": (0, 0), "limit_indices": (2, 4), "strides": (1, 1)}


def test_vmap_of_unmapped_indices_stays_a_slice():
    def names(fn, *args):
        return [e.primitive.name for e in jax.make_jaxpr(fn)(*args).eqns]
    batch, new = np.zeros((5, 3, 4), np.float32), np.zeros((5, 1, 1), np.float32)
    assert names(jax.vmap(lambda x: lax.dynamic_slice(x, (1, 1), (2, 2))), batch) == ["dynamic_slice"]
    update = jax.vmap(lambda x, u: lax.dynamic_update_slice(x, u, (1, 1)))
    assert names(update, batch, new) == ["dynamic_update_slice"]


def test_vmap_indexes_only_axes_that_slices_do_not_fill():
    eqns = jax.make_jaxpr(jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 4), allow_negative_indices=False)))(
        np.zeros((5, 3, 4), np.float32), np.arange(5)).eqns
    numbers = eqns[-1].params["dimension_numbers"]
    assert (numbers.start_index_map, numbers.operand_batching_dims) == ((1,), (0,))


@pytest.mark.parametrize("size", [0, 1])
def test_vmap_over_few_examples(size):
    x, i = np.zeros((size, 3, 4), np.float32), np.zeros(size, np.int32)
    assert jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)))(x, i).shape == (size, 2, 2)
    update = jax.vmap(lambda x, i: lax.dynamic_update_slice(x, np.ones((2, 2), np.float32), (i, i)))
    assert update(x, i).shape == x.shape


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: lax.slice(X, (0, -1), (2, 4)), TypeError, r"along axis 1 .*\(3, 4\) the start index -1 is negative"),
    (lambda: lax.slice(X, (0, 0), (2, 5)), TypeError, "limit index 5 is beyond the size 4"),
    (lambda: lax.slice(X, (0, 3), (2, 2)), TypeError, "limit index 2 is less than the start index 3"),
    (lambda: lax.slice(X, (0,), (2,)), TypeError, "one entry for each axis"),
    (lambda: lax.slice(X, (0, 0), (2, 2), (1, 0)), TypeError, "strides must be positive.*lax.rev"),
    (lambda: lax.index_in_dim(X, 4, 1), IndexError, "index 4 is out of bounds for axis 1 of size 4"),
    (lambda: lax.index_in_dim(X, -5, 1), IndexError, "index -5"),
    (lambda: lax.slice_in_dim(X, 0, 1, axis=2), ValueError, "slice_in_dim: axis 2"),
    (lambda: jax.jit(lambda i: lax.slice(X, (i, 0), (3, 4)))(1), TypeError, "start_indices must consist of concrete"),
    (lambda: lax.pad(X, np.int32(0), [(0, 0, 0)] * 2), TypeError, "one dtype, got float32 and int32"),
    (lambda: lax.pad(X, X, [(0, 0, 0)] * 2), TypeError, "must be a scalar"),
    (lambda: lax.pad(X, np.float32(0), [(0, 0, 0)]), ValueError, "for each axis"),
    (lambda: lax.pad(X, np.float32(0), [(0, 0, -1), (0, 0, 0)]), ValueError, "interior.*lax.slice"),
    (lambda: lax.dynamic_slice(X, (0,), (1, 1)), ValueError, "one start index for each axis"),
    (lambda: lax.dynamic_slice(X, (0, 0), (4, 1)), TypeError, r"slice size 4 along axis 0 is not in \[0, 3\]"),
    (lambda: lax.dynamic_slice(X, (0, 0), (1,)), TypeError, "slice_sizes must have one entry for each axis"),
    (lambda: lax.dynamic_slice(X, (0.0, 0), (1, 1)), TypeError, "integers of one dtype, got float32"),
    (lambda: lax.dynamic_slice(X, (np.array([0]), 0), (1, 1)), TypeError, "must be scalars"),
    (lambda: lax.dynamic_slice(X, np.array([[0, 0]]), (1, 1)), ValueError, "rank 1"),
    (lambda: lax.dynamic_slice(X, (np.array(0, np.uint8), np.array(0)), (1, 1)), TypeError, "one dtype, got uint8"),
    (lambda: lax.dynamic_slice(X, (0, 0), (1, 1), allow_negative_indices=(True,)), ValueError, "one for each axis"),
    (lambda: lax.dynamic_update_slice(X, X[0], (0, 0)), TypeError, "rank of the operand.*lax.expand_dims"),
    (lambda: lax.dynamic_update_slice(X, X.astype(int), (0, 0)), TypeError, "one dtype"),
    (lambda: lax.dynamic_update_slice(X, np.zeros((4, 1), np.float32), (0, 0)), TypeError, "larger along axis 0"),
]


@pytest.mark.parametrize(("call", "error", "match"), ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_name_operation_shapes_and_remedy(call, error, match):
    with pytest.raises(error, match=match):
        call()
