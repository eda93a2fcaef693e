"""Products of operands rounded to narrow formats in blocks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import nn

_rng = np.random.default_rng(0)
X = jnp.asarray(_rng.normal(size=(2, 32, 64)), jnp.float32)
Y = jnp.asarray(_rng.normal(size=(2, 64, 64)), jnp.float32)
STACKED = (((2,), (2,)), ((0,), (0,)))


def rounded(x, mode, global_scale=1.0):
    """``x`` rounded in blocks of its last axis, by the definition of the formats."""
    size, data, largest = (32, ml_dtypes.float8_e4m3fn, 448) if mode == "mxfp8" else (16, ml_dtypes.float4_e2m1fn, 6)
    blocks = (np.asarray(x, np.float32) / np.float32(global_scale)).reshape(*x.shape[:-1], -1, size)
    scale = np.abs(blocks).max(-1, keepdims=True) / np.float32(largest)
    if mode == "mxfp8":
        scale = (2.0 ** np.ceil(np.log2(scale))).astype(np.float32)
    else:
        scale = np.minimum(scale, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    values = np.clip(blocks / scale, -largest, largest).astype(data).astype(np.float32)
    return (values * scale * np.float32(global_scale)).reshape(x.shape)


def turned(x):
    return np.swapaxes(x, 1, 2)


@pytest.mark.parametrize(("mode", "global_scale"), [("mxfp8", None), ("nvfp4", None), ("nvfp4", 0.5)])
def test_scaled_dot_general(mode, global_scale):
    config = nn.get_scaled_dot_general_config(mode, None if global_scale is None else jnp.float32(global_scale))

    def product(x, y):
        return nn.scaled_dot_general(x, y, STACKED, configs=[config] * 3)

    def q(x):
        return rounded(x, mode, global_scale or 1.0)

    want = q(X) @ turned(q(Y))
    out = jax.jit(product)(X, Y)
    np.testing.assert_allclose(out, want, atol=1e-4)
    of_x, of_y = jax.grad(lambda x, y: jnp.sum(product(x, y) ** 2), (0, 1))(X, Y)
    ct = 2 * np.asarray(out)
    if mode == "mxfp8":
        want_x, want_y = q(ct) @ turned(q(turned(Y))), q(turned(ct)) @ turned(q(turned(X)))
    else:
        want_x, want_y = ct @ np.asarray(Y), turned(ct) @ np.asarray(X)
    np.testing.assert_allclose(of_x, want_x, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(of_y, want_y, rtol=1e-4, atol=1e-3)


def test_dimension_numbers():
    config = nn.get_scaled_dot_general_config("mxfp8")
    want = nn.scaled_dot_general(X, Y, STACKED, configs=[config] * 3)
    moved = nn.scaled_dot_general(X.transpose(1, 2, 0), Y.transpose(2, 1, 0), (((1,), (0,)), ((2,), (2,))), jnp.bfloat16,
                                  [config] * 3)
    assert moved.dtype == jnp.bfloat16
    np.testing.assert_allclose(moved.astype(jnp.float32), want, rtol=1e-2, atol=0.1)
    plain = nn.scaled_dot_general(X[0], Y[0], (((1,), (1,)), ((), ())))
    np.testing.assert_allclose(plain, X[0] @ Y[0].T, rtol=1e-5, atol=1e-4)


def test_scaled_matmul():
    narrow = ml_dtypes.float8_e4m3fn
    a, b = X.astype(narrow), Y.astype(narrow)
    scales_a = jnp.asarray(2.0 ** _rng.integers(-2, 3, (2, 32, 2)), ml_dtypes.float8_e8m0fnu)
    scales_b = jnp.asarray(2.0 ** _rng.integers(-2, 3, (2, 64, 2)), ml_dtypes.float8_e8m0fnu)
    out = nn.scaled_matmul(a, b, scales_a, scales_b)
    wide = [np.asarray(x, np.float32) * np.repeat(np.asarray(s, np.float32), 32, -1)
            for x, s in ((a, scales_a), (b, scales_b))]
    np.testing.assert_allclose(out, wide[0] @ turned(wide[1]), rtol=1e-4, atol=1e-3)
    assert nn.scaled_matmul(a, b, scales_a, scales_b, jnp.bfloat16).dtype == jnp.bfloat16


def test_refusals():
    ones = jnp.ones((2, 3, 2))
    with pytest.raises(ValueError, match="mode"):
        nn.get_scaled_dot_general_config("fp5")
    with pytest.raises(ValueError, match="three axes"):
        nn.scaled_matmul(X[0], Y, ones, ones)
    with pytest.raises(ValueError, match="first and last axes"):
        nn.scaled_matmul(X, Y[:1], ones, ones)
    with pytest.raises(ValueError, match="scales"):
        nn.scaled_matmul(X, Y, ones, ones)
    config = nn.get_scaled_dot_general_config("mxfp8")
    with pytest.raises(ValueError, match="multiple of the block size"):
        nn.scaled_dot_general(X[0, :, :40], Y[0, :, :40], (((1,), (1,)), ((), ())), configs=[config] * 3)
    with pytest.raises(ValueError, match="implementation"):
        nn.scaled_dot_general(X, Y, STACKED, implementation="x")
