"""Shapes, joining, padding: values against NumPy, derivatives, mapping, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_arrays import JOIN, PAD, SHAPE

OPS = SHAPE + JOIN + PAD
X = jnp.arange(6.0)
M = X.reshape(2, 3)


@pytest.mark.parametrize("op, dtype", cases(SHAPE + JOIN))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype("float32"), id=op.name) for op in PAD])
def test_padding(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(OPS))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype("float32"), id=op.name) for op in SHAPE + JOIN])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


# --- shapes -----------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_reshape_of_empty_arrays_and_scalars():
    assert jnp.reshape(jnp.zeros((0, 3)), (3, -1)).shape == (3, 0)
    assert jnp.reshape(7, (1, 1)).shape == (1, 1)
    assert X.reshape(2, 3).shape == X.reshape((2, 3)).shape == X.reshape(-1, 3).shape == (2, 3)
    assert jnp.reshape(X, jnp.array([3, 2])).shape == (3, 2)


@pytest.mark.quick
@pytest.mark.parametrize("call, error, match", [
    (lambda: jnp.reshape(X, (4, -1)), TypeError, r"shape \(6,\) \(size 6\)"),
    (lambda: jnp.reshape(X, (4, 2)), TypeError, "cannot reshape"),
    (lambda: jnp.reshape(X, (-1, -1)), ValueError, "only one"),
    (lambda: jnp.reshape(X, (2, 3), order="Z"), ValueError, "order"),
    (lambda: jnp.reshape([1, 2], (2, 1)), TypeError, "jnp.array"),
    (lambda: jax.jit(lambda n: jnp.reshape(X, (n, 3)))(2), TypeError, "static"),
    (lambda: jnp.transpose(M, (0,)), TypeError, "once"),
    (lambda: jnp.transpose(M, (0, 0)), TypeError, "twice"),
    (lambda: jnp.moveaxis(M, (0, 1), 0), ValueError, "as many"),
    (lambda: jnp.moveaxis(M, 4, 0), ValueError, "source 4"),
    (lambda: jnp.squeeze(M, 0), ValueError, "size 1"),
    (lambda: jnp.expand_dims(M, (0, 0)), ValueError, "twice"),
    (lambda: jnp.broadcast_to(M, (3, 3)), ValueError, r"\(2, 3\)"),
    (lambda: jnp.broadcast_to(M, (3,)), ValueError, "cannot be broadcast"),
    (lambda: jnp.fliplr(X), ValueError, "2 dimensions"),
    (lambda: jnp.rot90(M, 1, (0, 0)), ValueError, "twice"),
    (lambda: jnp.concatenate([X, M]), TypeError, r"\(6,\), \(2, 3\)"),
    (lambda: jnp.concatenate([]), ValueError, "at least one"),
    (lambda: jnp.concatenate([1.0, 2.0]), ValueError, "jnp.stack"),
    (lambda: jnp.concatenate([[1.0], [2.0]]), TypeError, "jnp.array"),
    (lambda: jnp.stack([X, M]), ValueError, "same shape"),
    (lambda: jnp.stack([]), ValueError, "at least one"),
    (lambda: jnp.split(X, 4), ValueError, "array_split"),
    (lambda: jax.jit(lambda n: jnp.split(X, n))(2), jax.errors.ConcretizationTypeError, "jnp.split"),
    (lambda: jnp.block([[X], X]), ValueError, "same depth"),
    (lambda: jnp.repeat(M, jnp.array([1, 2, 3]), 0), ValueError, "length 3"),
    (lambda: jnp.repeat(M, -1, 0), ValueError, "negative"),
    (lambda: jax.jit(lambda r: jnp.repeat(X, r))(2), jax.errors.ConcretizationTypeError, "total_repeat_length"),
    (lambda: jnp.pad(M, -1), ValueError, "negative"),
    (lambda: jnp.pad(M, ((1, 1), (1, 1), (1, 1))), ValueError, "2 axes"),
    (lambda: jnp.pad(M, 1, mode="nearest"), ValueError, "modes are"),
    (lambda: jnp.pad(M, 1, mode="edge", end_values=1), ValueError, "end_values"),
    (lambda: jnp.pad(jnp.zeros((0,)), 1, mode="edge"), ValueError, "empty"),
    (lambda: jnp.insert(X, 9, 1), IndexError, "size 6"),
    (lambda: jnp.delete(X, 9), IndexError, "size 6"),
    (lambda: jnp.atleast_1d([1, 2]), TypeError, "jnp.array"),
    (lambda: jnp.roll(X, (1, 2), (0, 0, 0)), ValueError, "as many"),
])
def test_errors_name_shapes_and_remedies(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.quick
def test_weak_types_survive_joining_only_among_weak():
    weak, strong = jnp.asarray(1.0), jnp.float32(1.0)
    assert jnp.stack([weak, weak]).weak_type
    assert not jnp.stack([weak, strong]).weak_type
    assert jnp.stack([strong, jnp.asarray(1)]).dtype == jnp.float32
    assert jnp.concatenate([jnp.ones(1, "bfloat16"), jnp.ones(1, "float16")]).dtype == jnp.float32
    assert jnp.concatenate([X, X], dtype="int8").dtype == jnp.int8


@pytest.mark.quick
def test_arrays_of_arrays_are_taken_apart():
    np.testing.assert_array_equal(jnp.concatenate(M), X)
    np.testing.assert_array_equal(jnp.stack(M, axis=1), M.T)
    np.testing.assert_array_equal(jnp.vstack(M), M)


@pytest.mark.quick
def test_traced_shifts_and_repeats():
    m = np.arange(12).reshape(3, 4)
    roll = jax.jit(jnp.roll, static_argnums=2)
    for shift in (-13, -1, 0, 3, 11):
        np.testing.assert_array_equal(roll(m, shift, None), np.roll(m, shift))
        np.testing.assert_array_equal(roll(m, shift, 1), np.roll(m, shift, 1))
    np.testing.assert_array_equal(roll(m, jnp.array([1, -2]), (0, 1)), np.roll(m, (1, -2), (0, 1)))
    repeat = jax.jit(lambda a, r: jnp.repeat(a, r, 0, total_repeat_length=5))
    for counts in ([2, 0, 3], [0, 0, 5], [1, 4, 0]):
        np.testing.assert_array_equal(repeat(m, jnp.array(counts)), np.repeat(m, counts, 0))
    np.testing.assert_array_equal(repeat(m, jnp.array([1, 0, 1])), m[[0, 2, 2, 2, 2]])
    np.testing.assert_array_equal(repeat(m, jnp.array([4, 4, 4])), np.repeat(m, 4, 0)[:5])


@pytest.mark.quick
def test_pad_by_a_function_and_by_axis():
    m = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(jnp.pad(m, {1: (0, 2)}), np.pad(m, ((0, 0), (0, 2))))
    np.testing.assert_array_equal(jnp.pad(m, 1, lambda v, width, axis, kw: v + kw["by"], by=3).shape, (4, 5))
    np.testing.assert_array_equal(jnp.pad(m, ((1, 2), (3, 4))), np.pad(m, ((1, 2), (3, 4))))


@pytest.mark.quick
def test_trim_zeros_and_resize():
    x = np.array([0, 0, 1, 0, 2, 0])
    for trim in ("f", "b", "fb"):
        np.testing.assert_array_equal(jnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    assert jnp.trim_zeros(jnp.zeros(3)).shape == (0,)
    np.testing.assert_array_equal(jnp.resize(x, (2, 4)), np.resize(x, (2, 4)))
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(jnp.trim_zeros)(x)


@pytest.mark.quick
def test_delete_with_traced_places():
    delete = jax.jit(lambda x, i: jnp.delete(x, i, axis=1, assume_unique_indices=True))
    m = np.arange(12).reshape(3, 4)
    for places in (0, -1, [2, 0], [-1, 1]):
        np.testing.assert_array_equal(delete(m, jnp.array(places)), np.delete(m, places, 1))


@pytest.mark.quick
def test_several_arrays_come_as_a_tuple():
    assert type(jnp.meshgrid(np.arange(2), np.arange(3))) is type(jnp.broadcast_arrays(np.arange(2), 1)) is tuple
    assert jnp.meshgrid() == jnp.broadcast_arrays() == ()


@pytest.mark.quick
def test_rolling_along_no_axes():
    assert jnp.fft.fftshift(jnp.array(1.0)) == jnp.roll(jnp.array(1.0), (), ()) == 1
    np.testing.assert_array_equal(jnp.roll(jnp.arange(3), (), ()), [0, 1, 2])


@pytest.mark.quick
def test_trim_zeros_of_a_scalar():
    assert jnp.trim_zeros(jnp.array(0)).shape == () and jnp.trim_zeros(3) == 3
