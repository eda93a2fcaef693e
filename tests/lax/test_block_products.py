"""Ragged and scaled products against loops over groups and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax

rng = np.random.default_rng(0)
rows, matrices = rng.normal(size=(7, 4)).astype(np.float32), rng.normal(size=(3, 4, 5)).astype(np.float32)
sizes = np.array([2, 0, 4])  # the last row belongs to no group


def group_slices(group_sizes):
    ends = np.cumsum(group_sizes)
    return [slice(e - n, e) for n, e in zip(group_sizes, ends, strict=True)]


def model(x, w, group_sizes):
    out = np.zeros((x.shape[0], w.shape[2]), x.dtype)
    for s, m in zip(group_slices(group_sizes), w, strict=True):
        out[s] = x[s] @ m
    return out


def test_ragged_dot():
    np.testing.assert_allclose(lax.ragged_dot(rows, matrices, sizes), model(rows, matrices, sizes), rtol=1e-5, atol=1e-6)


def test_ragged_dot_has_derivatives():
    def f(x, w):
        return lax.ragged_dot(x, w, sizes)
    ct = rng.normal(size=(7, 5)).astype(np.float32)
    of_rows, of_matrices = jax.vjp(f, rows, matrices)[1](ct)
    np.testing.assert_allclose(of_rows, model(ct, matrices.transpose(0, 2, 1), sizes), rtol=1e-4, atol=1e-5)
    expected = [rows[s].T @ ct[s] for s in group_slices(sizes)]
    np.testing.assert_allclose(of_matrices, expected, rtol=1e-4, atol=1e-5)


def test_ragged_contraction():
    y = rng.normal(size=(7, 5)).astype(np.float32)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    out = lax.ragged_dot_general(rows, y, sizes, numbers)
    np.testing.assert_allclose(out, [rows[s].T @ y[s] for s in group_slices(sizes)], rtol=1e-4, atol=1e-5)


def test_ragged_batches_of_products():
    x, y = rng.normal(size=(2, 7, 4)).astype(np.float32), rng.normal(size=(2, 7, 5)).astype(np.float32)
    each = np.array([[1, 2, 3], [4, 0, 2]])
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), (1,), ())
    out = lax.ragged_dot_general(x, y, each, numbers)
    assert out.shape == (3, 2, 4, 5)
    for b in range(2):
        expected = [x[b, s].T @ y[b, s] for s in group_slices(each[b])]
        np.testing.assert_allclose(out[:, b], expected, rtol=1e-4, atol=1e-5)
    batch = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), (0,), ())
    np.testing.assert_allclose(lax.ragged_dot_general(x, y, sizes, batch), np.einsum("bij,bik->bjk", x, y), rtol=1e-4,
                               atol=1e-5)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: lax.ragged_dot(rows, matrices, sizes[:2]), TypeError, "for 2 groups.*has 3"),
    (lambda: lax.ragged_dot(rows, matrices, sizes * 1.0), TypeError, "must be integers"),
    (lambda: lax.ragged_dot(rows, matrices, sizes, group_offset=0), NotImplementedError, "group_offset")])
def test_ragged_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_scaled_dot():
    x, y = rng.normal(size=(3, 8)).astype(np.float32), rng.normal(size=(8, 4)).astype(np.float32)
    x_scale, y_scale = np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.ones((4, 4), np.float32) * 0.5
    out = lax.scaled_dot(x, y, lhs_scale=x_scale, rhs_scale=y_scale, preferred_element_type=np.float32)
    np.testing.assert_allclose(out, (x * np.repeat(x_scale, 4, 1)) @ (y / 2), rtol=1e-5, atol=1e-6)
    assert lax.scaled_dot(x[None], y[None]).dtype == "bfloat16"
    with pytest.raises(TypeError, match="cannot be divided in the 3 blocks"):
        lax.scaled_dot(x, y, lhs_scale=np.ones((3, 3)))
    with pytest.raises(TypeError, match="dimension 0 is not contracted"):
        lax.scaled_dot(x, y, lhs_scale=np.ones((1, 2)))
