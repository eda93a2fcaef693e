"""A residual multi-layer perceptron with layer normalisation: value and gradient of a regression loss."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def build(depth: int = 32, width: int = 128, rows: int = 256):
    """The gradient step and its arguments."""
    rng = np.random.default_rng(0)

    def block():
        return {
            "up": (rng.standard_normal((width, width)) * width**-0.5).astype(np.float32),
            "down": (rng.standard_normal((width, width)) * width**-0.5 * 0.1).astype(np.float32),
            "bias": np.zeros(width, np.float32),
            "scale": np.ones(width, np.float32),
        }

    params = [block() for _ in range(depth)]
    x = rng.standard_normal((rows, width)).astype(np.float32)
    y = np.tanh(x[:, ::-1]).copy()

    def loss(params, x, y):
        h = x
        for p in params:
            centred = h - jnp.mean(h, axis=-1, keepdims=True)
            unit = centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * p["scale"]
            h = h + jax.nn.silu(unit @ p["up"] + p["bias"]) @ p["down"]
        return jnp.mean((h - y) ** 2)

    def step(params, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return value, jax.tree.map(lambda p, g: p - 1e-2 * g, params, gradients)

    return step, (params, x, y)
