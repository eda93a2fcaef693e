"""A normalising flow of affine coupling layers: gradient of the negative log likelihood."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def build(layers: int = 16, features: int = 32, width: int = 64, rows: int = 512):
    """The value and gradient, and its arguments."""
    rng = np.random.default_rng(0)
    half = features // 2

    def layer():
        return {
            "first": (rng.standard_normal((half, width)) * half**-0.5).astype(np.float32),
            "bias": np.zeros(width, np.float32),
            "second": (rng.standard_normal((width, 2 * half)) * 0.1 * width**-0.5).astype(np.float32),
        }

    params = [layer() for _ in range(layers)]
    x = rng.standard_normal((rows, features)).astype(np.float32)

    def loss(params, x):
        log_volume = 0.0
        a, b = x[:, :half], x[:, half:]
        for p in params:
            hidden = jnp.tanh(a @ p["first"] + p["bias"]) @ p["second"]
            scale, shift = 2 * jnp.tanh(hidden[:, :half] / 2), hidden[:, half:]
            a, b = b * jnp.exp(scale) + shift, a
            log_volume = log_volume + jnp.sum(scale, axis=-1)
        energy = 0.5 * (jnp.sum(a**2, axis=-1) + jnp.sum(b**2, axis=-1))
        return jnp.mean(energy - log_volume)

    return jax.value_and_grad(loss), (params, x)
