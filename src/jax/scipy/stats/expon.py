"""``jax.scipy.stats.expon``: the exponential distribution, ``exp(-z) / scale`` for ``z = (x - loc) / scale >= 0``.

    >>> from jax.scipy.stats import expon
    >>> round(float(expon.sf(1.0)), 4)
    0.3679
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.nn import log1mexp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid = scale > 0
    z = (x - loc) / scale
    return cases(-z - jnp.log(keep(valid, scale, 1)), valid, (z < 0, -jnp.inf))


def _lower(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    below = z < 0
    return cases(-jnp.expm1(-keep(~below, z, 0)), scale > 0, (below, 0))


def _log_lower(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    below = z <= 0
    return cases(log1mexp(keep(~below, z, 1)), scale > 0, (below, -jnp.inf))


def _upper(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.exp(_log_upper(x, loc, scale))


def _log_upper(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    return cases(-z, scale > 0, (z < 0, 0))


@elementwise
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below ``loc``. Operands are broadcast and of one floating dtype, which is
    the result's; NaN unless ``scale > 0``."""
    return _log_density(x, loc, scale)


@elementwise
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, loc, scale))


@elementwise
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return _lower(x, loc, scale)


@elementwise
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return _log_lower(x, loc, scale)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return _upper(x, loc, scale)


@elementwise
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return _log_upper(x, loc, scale)


@elementwise
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`, ``loc - scale log(1 - q)``; NaN unless ``0 <= q <= 1``."""
    return cases(loc - scale * jnp.log1p(-q), (q >= 0) & (q <= 1) & (scale > 0))
