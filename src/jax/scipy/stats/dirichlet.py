"""``jax.scipy.stats.dirichlet``: probabilities of ``k`` classes, with density proportional to ``prod(x**(alpha-1))``.

    >>> import jax.numpy as jnp
    >>> from jax.scipy.stats import dirichlet
    >>> round(float(dirichlet.pdf(jnp.array([0.2, 0.3, 0.5]), jnp.ones(3))), 5)
    2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap
from jax.scipy.special._elementary import _xlogy
from jax.scipy.stats._common import cases, constant


@composite
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at ``x``.

    Args:
      x: points on the simplex, of shape ``(k, ...)``: classes come first. With ``k - 1`` of them the last one is what is
        left to 1.
      alpha: positive concentrations, of shape ``(k,)``.

    Returns:
      An array of shape ``(...)``: -inf beyond the simplex (where SciPy raises), NaN for concentrations that are not
      positive.

    Raises:
      ValueError: for shapes that do not fit.
    """
    check_arraylike("dirichlet.logpdf", x, alpha)
    x, alpha = (jnp.asarray(v) for v in promote_dtypes_inexact(unwrap(x), unwrap(alpha)))
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet.logpdf: alpha must have one axis, got shape {alpha.shape}; use jax.vmap over others")
    if not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(f"dirichlet.logpdf: with {alpha.shape[0]} concentrations x must have {alpha.shape[0]} or "
                         f"{alpha.shape[0] - 1} rows (classes come first), got shape {x.shape}")
    dtype = x.dtype
    if dtype.itemsize < 4:
        x, alpha = x.astype(np.float32), alpha.astype(np.float32)
    return _log_density(x, alpha).astype(dtype)


def _log_density(x: Any, alpha: Any) -> Any:
    slack = constant(x, 64 * float(np.finfo(x.dtype).eps) * alpha.shape[0])
    if x.shape[0] < alpha.shape[0]:
        rest = 1 - jnp.sum(x, axis=0, keepdims=True)
        x = jnp.concatenate([x, jnp.where((rest < 0) & (rest > -slack), jnp.zeros_like(rest), rest)])
    valid = jnp.all(alpha > 0)
    beyond = jnp.any(x < 0, axis=0) | (jnp.abs(jnp.sum(x, axis=0) - 1) > slack)
    a = jnp.where(alpha > 0, alpha, jnp.ones_like(alpha))
    log_norm = jnp.sum(lax.lgamma(a)) - lax.lgamma(jnp.sum(a))
    beyond_all = jnp.broadcast_to(beyond, x.shape)
    power = jnp.broadcast_to((a - 1).reshape((-1, *[1] * (x.ndim - 1))), x.shape)
    out = jnp.sum(_xlogy(power, jnp.where(beyond_all, constant(x, 1), x)), axis=0) - log_norm
    return cases(out, valid, (beyond, -jnp.inf))


def pdf(x: Any, alpha: Any) -> Any:
    """The density at ``x``; arguments and errors as for :func:`logpdf`."""
    return jnp.exp(logpdf(x, alpha))
