"""One step of Adam with weight decay and clipping by the global norm, over many parameters."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def build(parameters: int = 120, shape: tuple[int, int] = (64, 64)):
    """The step and its arguments: parameters, gradients, moments and the count."""
    rng = np.random.default_rng(0)

    def arrays(scale):
        return [(scale * rng.standard_normal(shape)).astype(np.float32) for _ in range(parameters)]

    def step(params, gradients, first, second, count):
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradients))
        gradients = [g * jnp.minimum(1.0, 1.0 / norm) for g in gradients]
        first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients, strict=True)]
        second = [0.999 * v + 0.001 * g**2 for v, g in zip(second, gradients, strict=True)]
        count = count + 1
        unbiased1, unbiased2 = 1 - 0.9**count, 1 - 0.999**count
        params = [
            p - 1e-3 * (m / unbiased1 / (jnp.sqrt(v / unbiased2) + 1e-8) + 1e-2 * p)
            for p, m, v in zip(params, first, second, strict=True)
        ]
        return params, first, second, count

    zeros = [np.zeros(shape, np.float32) for _ in range(parameters)]
    return step, (arrays(0.1), arrays(1.0), zeros, jax.tree.map(np.copy, zeros), np.float32(0))
