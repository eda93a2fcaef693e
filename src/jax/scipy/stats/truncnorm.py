"""``jax.scipy.stats.truncnorm``: the standard normal distribution confined to ``[a, b]``, then scaled and shifted.

At ``z = (x - loc) / scale`` its density is that of the normal distribution, divided by the probability of ``[a, b]``.
Everything is computed with logarithms of tail probabilities, so that intervals far out in a tail work.

    >>> from jax.scipy.stats import truncnorm
    >>> round(float(truncnorm.cdf(0.0, -1.0, 1.0)), 4)
    0.5
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.nn import log1mexp
from jax.scipy.special._normal import _log_ndtr, ndtr
from jax.scipy.stats._common import HALF_LOG_TAU, cases, elementwise, keep


def _log_interval(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability of ``[a, b]``, where ``a < b``."""
    right = a > 0  # reflect, so that only intervals to the left and about 0 are left
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    left = high <= 0
    h, g = keep(left, high, 0), keep(left & (low > -jnp.inf), low, -1)
    gap = jnp.where(g < h, _log_ndtr(h) - _log_ndtr(g), jnp.ones_like(g))
    unbounded = low == -jnp.inf
    tail = _log_ndtr(h) + jnp.where(unbounded, jnp.zeros_like(gap), log1mexp(gap))
    middle = jnp.log1p(-ndtr(keep(~left, low, -1)) - ndtr(-keep(~left, high, 1)))
    return jnp.where(left, tail, middle)


def _part(low: Any, high: Any, whole_low: Any, whole_high: Any) -> Any:
    """The logarithm of the probability of ``[low, high]`` given ``[whole_low, whole_high]``; -inf if empty."""
    some = low < high
    out = _log_interval(keep(some, low, -1), keep(some, high, 1)) - _log_interval(whole_low, whole_high)
    return cases(out, ~(jnp.isnan(low) | jnp.isnan(high)), (~some, -jnp.inf))


def _standard(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    """``z``, which parameters are valid, and an interval that always is."""
    valid = (a < b) & (scale > 0)
    return (x - loc) / keep(scale > 0, scale, 1), valid, keep(valid, a, -1), keep(valid, b, 1)


def _log_density(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    z, valid, low, high = _standard(x, a, b, loc, scale)
    outside = (z < a) | (z > b) | jnp.isinf(z)
    y = keep(~outside, z, 0)
    out = -0.5 * y * y - HALF_LOG_TAU - _log_interval(low, high) - jnp.log(keep(valid, scale, 1))
    return cases(out, valid, (outside, -jnp.inf))


def _log_lower(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    z, valid, low, high = _standard(x, a, b, loc, scale)
    above = z >= high
    return cases(_part(low, keep(~above, z, 0), low, high), valid, (above, 0))


def _log_upper(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return _log_lower(-x, -b, -a, -loc, scale)


@elementwise
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf outside of ``[loc + a scale, loc + b scale]``.

    NaN unless ``a < b`` (infinite ones are allowed) and ``scale > 0``. Operands are broadcast and of one floating dtype,
    which is the result's.
    """
    return _log_density(x, a, b, loc, scale)


@elementwise
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, a, b, loc, scale))


@elementwise
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return jnp.exp(_log_lower(x, a, b, loc, scale))


@elementwise
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return _log_lower(x, a, b, loc, scale)


@elementwise
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return jnp.exp(_log_upper(x, a, b, loc, scale))


@elementwise
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return _log_upper(x, a, b, loc, scale)
