"""Initialisers: distributions, shapes, dtypes, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.nn import initializers as init

KEY = jax.random.key(7)
SCALED = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform",
          "lecun_normal", "lecun_uniform", "xavier_normal", "xavier_uniform"]


@pytest.mark.parametrize("name", SCALED)
def test_variance(name):
    fan_in, fan_out = 60, 140
    x = np.asarray(getattr(init, name)()(KEY, (fan_in, fan_out)))
    n = (fan_in + fan_out) / 2 if name.startswith(("glorot", "xavier")) else fan_in
    scale = 2 if name.startswith(("he", "kaiming")) else 1
    np.testing.assert_allclose(x.var(), scale / n, rtol=0.05)
    np.testing.assert_allclose(x.mean(), 0, atol=4 * math.sqrt(scale / n / x.size))
    if name.endswith("uniform"):
        assert np.abs(x).max() <= math.sqrt(3 * scale / n)
    else:
        assert np.abs(x).max() <= 2.001 / 0.8796 * math.sqrt(scale / n)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
def test_complex_variance(distribution):
    x = np.asarray(init.variance_scaling(1.0, "fan_in", distribution)(KEY, (100, 200), jnp.complex64))
    assert x.dtype == np.complex64
    np.testing.assert_allclose(np.mean(np.abs(x) ** 2), 0.01, rtol=0.05)
    np.testing.assert_allclose(x.real.var(), x.imag.var(), rtol=0.1)


def test_fans_of_kernels():
    kernel = (3, 3, 4, 8)  # 9 places, 4 inputs, 8 outputs
    for mode, n in (("fan_in", 36), ("fan_out", 72), ("fan_avg", 54), ("fan_geo_avg", math.sqrt(36 * 72))):
        ours = init.variance_scaling(1.0, mode, "uniform")(KEY, kernel)
        plain = jax.random.uniform(KEY, kernel, minval=-1) * np.float32(math.sqrt(3 / n))
        np.testing.assert_allclose(ours, plain, rtol=1e-6)
    swapped = init.variance_scaling(1.0, "fan_in", "uniform", in_axis=3, out_axis=2)(KEY, kernel)
    np.testing.assert_allclose(swapped, jax.random.uniform(KEY, kernel, minval=-1) * np.float32(math.sqrt(3 / 72)),
                               rtol=1e-6)
    batched = init.variance_scaling(1.0, "fan_in", "uniform", batch_axis=0)(KEY, (3, 5, 4, 8))
    np.testing.assert_allclose(batched, jax.random.uniform(KEY, (3, 5, 4, 8), minval=-1) * np.float32(math.sqrt(3 / 20)),
                               rtol=1e-6)


def test_streams_are_those_of_random():
    np.testing.assert_array_equal(init.normal(2.0)(KEY, (3, 4)), jax.random.normal(KEY, (3, 4)) * np.float32(2))
    np.testing.assert_array_equal(init.uniform(0.5)(KEY, (3, 4)), jax.random.uniform(KEY, (3, 4)) * np.float32(0.5))
    np.testing.assert_array_equal(init.truncated_normal(3.0, lower=-1.0, upper=0.5)(KEY, (3, 4)),
                                  jax.random.truncated_normal(KEY, -1.0, 0.5, (3, 4)) * np.float32(3))


def test_constants():
    assert init.zeros(KEY, (2, 3)).tolist() == [[0.0] * 3] * 2
    assert init.ones(KEY, (2,), jnp.int32).tolist() == [1, 1]
    assert init.constant(3)(KEY, (2,)).dtype == jnp.float32
    assert init.constant(jnp.arange(3.0))(KEY, (2, 3), jnp.bfloat16).tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_orthogonal(dtype):
    tall = np.asarray(init.orthogonal(2.0, dtype=dtype)(KEY, (3, 4, 5)))
    assert tall.shape == (3, 4, 5)
    flat = tall.reshape(12, 5)
    np.testing.assert_allclose(flat.conj().T @ flat, 4 * np.eye(5), atol=1e-5)
    wide = np.asarray(init.orthogonal(dtype=dtype)(KEY, (2, 6)))
    np.testing.assert_allclose(wide @ wide.conj().T, np.eye(2), atol=1e-6)
    first = np.asarray(init.orthogonal(column_axis=0, dtype=dtype)(KEY, (3, 4, 5))).reshape(3, 20)
    np.testing.assert_allclose(first @ first.conj().T, np.eye(3), atol=1e-6)


def test_delta_orthogonal():
    kernel = np.array(init.delta_orthogonal()(KEY, (3, 3, 4, 5)))
    centre = kernel[1, 1].copy()
    np.testing.assert_allclose(centre @ centre.T, np.eye(4), atol=1e-6)
    kernel[1, 1] = 0
    assert not kernel.any()
    with pytest.raises(ValueError, match="3, 4 or 5"):
        init.delta_orthogonal()(KEY, (4, 5))
    with pytest.raises(ValueError, match="more input channels"):
        init.delta_orthogonal()(KEY, (3, 5, 4))


def test_dtypes():
    for make in (init.glorot_normal, init.he_uniform, init.normal, init.uniform, init.truncated_normal):
        assert make()(KEY, (3, 4)).dtype == jnp.float32
        assert make(dtype=jnp.bfloat16)(KEY, (3, 4)).dtype == jnp.bfloat16
        assert make(dtype=jnp.bfloat16)(KEY, (3, 4), jnp.float16).dtype == jnp.float16


def test_refusals():
    with pytest.raises(ValueError, match="mode"):
        init.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(ValueError, match="distribution"):
        init.variance_scaling(1.0, "fan_in", "cauchy")
    with pytest.raises(ValueError, match="input and an output axis"):
        init.glorot_normal()(KEY, (3,))
    with pytest.raises(ValueError, match="two axes"):
        init.orthogonal()(KEY, (3,))
    with pytest.raises(ValueError, match="float"):
        init.normal()(KEY, (3,), jnp.int32)


def test_protocol_and_jit():
    assert isinstance(init.zeros, init.Initializer)
    assert isinstance(init.glorot_normal(), init.Initializer)
    eager = init.he_normal()(KEY, (3, 4))
    np.testing.assert_array_equal(jax.jit(lambda k: init.he_normal()(k, (3, 4)))(KEY), eager)
    many = jax.vmap(lambda k: init.he_normal()(k, (3, 4)))(jax.random.split(KEY, 3))
    assert many.shape == (3, 3, 4)
