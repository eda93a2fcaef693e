"""``jax.scipy.stats.norm``: the normal distribution with mean ``loc`` and standard deviation ``scale``.

    >>> from jax.scipy.stats import norm
    >>> float(norm.cdf(0.0))
    0.5
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.special import log_ndtr, ndtr, ndtri
from jax.scipy.stats._common import HALF_LOG_TAU, cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid = scale > 0
    z = (x - loc) / scale
    return cases(-0.5 * z * z - (HALF_LOG_TAU + jnp.log(keep(valid, scale, 1))), valid)


@elementwise
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density. Operands are broadcast and of one floating dtype, which is
    the result's; NaN unless ``scale > 0``."""
    return _log_density(x, loc, scale)


@elementwise
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, loc, scale))


@elementwise
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return cases(ndtr((x - loc) / scale), scale > 0)


@elementwise
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`, accurate in both tails."""
    return cases(log_ndtr((x - loc) / scale), scale > 0)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``; as :func:`logpdf`."""
    return cases(ndtr((loc - x) / scale), scale > 0)


@elementwise
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`, accurate in both tails."""
    return cases(log_ndtr((loc - x) / scale), scale > 0)


@elementwise
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`; infinite at 0 and 1, NaN beyond."""
    return cases(ndtri(q) * scale + loc, scale > 0)


@elementwise
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`sf`; infinite at 0 and 1, NaN beyond."""
    return cases(loc - ndtri(q) * scale, scale > 0)
