"""``jax.scipy.stats.norm``: the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import promote_args_inexact
from jax.scipy.special import log_ndtr, ndtr, ndtri

_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def _scaled(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    x, loc, scale = (jnp.asarray(v) for v in promote_args_inexact(f"norm.{name}", x, loc, scale))
    return (x - loc) / scale, scale


@composite
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at ``x`` with mean ``loc`` and standard deviation ``scale``."""
    z, scale = _scaled("logpdf", x, loc, scale)
    return -0.5 * z * z - (_LOG_ROOT + jnp.log(scale))


@composite
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at ``x``; arguments as for :func:`logpdf`."""
    return jnp.exp(logpdf(x, loc, scale))


@composite
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; arguments as for :func:`logpdf`."""
    return ndtr(_scaled("cdf", x, loc, scale)[0])


@composite
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`, accurate in both tails."""
    return log_ndtr(_scaled("logcdf", x, loc, scale)[0])


@composite
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``; arguments as for :func:`logpdf`."""
    return ndtr(-_scaled("sf", x, loc, scale)[0])


@composite
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`, accurate in both tails."""
    return log_ndtr(-_scaled("logsf", x, loc, scale)[0])


@composite
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`."""
    q, loc, scale = (jnp.asarray(v) for v in promote_args_inexact("norm.ppf", q, loc, scale))
    return ndtri(q) * scale + loc


@composite
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`sf`."""
    q, loc, scale = (jnp.asarray(v) for v in promote_args_inexact("norm.isf", q, loc, scale))
    return loc - ndtri(q) * scale
