"""Log likelihood of a Gaussian process with a sum of kernels, and its gradient by their parameters."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def build(points: int = 256):
    """The value and gradient, and its arguments."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, points)).astype(np.float32)
    y = (np.sin(2 * x) + 0.1 * rng.standard_normal(points)).astype(np.float32)
    params = {name: np.float32(value) for name, value in
              [("scale", 0.1), ("length", 0.2), ("period", 1.0), ("roughness", 0.3), ("matern", 0.5), ("noise", -1.0)]}

    def kernel(p, a, b):
        apart = jnp.abs(a[:, None] - b[None, :])
        smooth = jnp.exp(-0.5 * (apart / jnp.exp(p["length"])) ** 2)
        wave = jnp.exp(-2 * (jnp.sin(jnp.pi * apart / jnp.exp(p["period"])) / jnp.exp(p["roughness"])) ** 2)
        r = jnp.sqrt(3.0) * apart / jnp.exp(p["matern"])
        return jnp.exp(p["scale"]) * (smooth * wave + (1 + r) * jnp.exp(-r))

    def negative_log_likelihood(p, x, y):
        covariance = kernel(p, x, x) + (jnp.exp(2 * p["noise"]) + 1e-4) * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(covariance)
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * white @ white + jnp.sum(jnp.log(jnp.diagonal(factor)))

    return jax.value_and_grad(negative_log_likelihood), (params, x, y)
