"""``jax.scipy.stats.multivariate_normal``: the normal distribution in several dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg import cholesky
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density at ``x``.

    Args:
      x: points of shape ``(..., n)``; scalars in one dimension.
      mean: of shape ``(n,)``, more generally ``(..., n)``, or a scalar.
      cov: the covariance matrix of shape ``(..., n, n)``, or a scalar for a multiple of the identity. Leading
        dimensions of all three are broadcast.
      allow_singular: not supported.

    Returns:
      An array of shape ``(...)``; NaN for matrices that are not positive definite.

    Raises:
      NotImplementedError: when ``allow_singular`` is given.
      ValueError: for shapes that do not fit.
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular= is not supported; add a small multiple of "
                                  "the identity to cov")
    return _logpdf(x, mean, cov)


@composite
def _logpdf(x: Any, mean: Any, cov: Any) -> Any:
    check_arraylike("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = (jnp.asarray(v) for v in promote_dtypes_inexact(*map(unwrap, (x, mean, cov))))
    if not mean.shape and not cov.shape:  # independent components of any number: each point is a scalar
        z = x - mean
        return -0.5 * z * z / cov - 0.5 * (math.log(2 * math.pi) + jnp.log(cov))
    n = mean.shape[-1] if mean.shape else cov.shape[-1]
    mean = mean if mean.shape else jnp.broadcast_to(mean, (n,))
    if not cov.shape:
        cov = cov * jnp.eye(n, dtype=cov.dtype)
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal.logpdf: with a mean of {n} components cov must have shape (..., {n}, {n}), "
                         f"got {cov.shape}")
    x = jnp.broadcast_to(x, (n,)) if not x.shape else x
    if x.shape[-1] != n:
        raise ValueError(f"multivariate_normal.logpdf: points of {n} components are needed, got shape {x.shape}")
    lead = np.broadcast_shapes(x.shape[:-1], mean.shape[:-1])
    gap = jnp.broadcast_to(x, (*lead, n)) - jnp.broadcast_to(mean, (*lead, n))
    factor = cholesky(cov)
    half_log_det = jnp.sum(jnp.log(mat.diagonal(factor)), axis=-1)
    distance = _squared_distance(factor, gap)
    shape = np.broadcast_shapes(distance.shape, half_log_det.shape)
    return (-0.5 * jnp.broadcast_to(distance, shape) - jnp.broadcast_to(half_log_det, shape)
            - 0.5 * n * math.log(2 * math.pi))


def _squared_distance(factor: Any, gap: Any) -> Any:
    """``gap^T (l l^T)^-1 gap``; with one matrix all points are columns of one right-hand side."""
    n = gap.shape[-1]
    if factor.ndim == 2:
        flat = gap.reshape(math.prod(gap.shape[:-1]), n)
        y = triangular(factor, mat.t(flat), left=True, lower=True)
        return jnp.sum(y * y, axis=0).reshape(gap.shape[:-1])
    lead = np.broadcast_shapes(factor.shape[:-2], gap.shape[:-1])
    factor, gap = jnp.broadcast_to(factor, (*lead, n, n)), jnp.broadcast_to(gap, (*lead, n))
    y = triangular(factor, mat.columns(gap), left=True, lower=True)[..., 0]
    return jnp.sum(y * y, axis=-1)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at ``x``; arguments and errors as for :func:`logpdf`."""
    return jnp.exp(logpdf(x, mean, cov))
