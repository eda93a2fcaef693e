"""``jax.scipy.stats.gamma``: the gamma distribution of shape ``a`` on ``[loc, inf)``.

Its density at ``z = (x - loc) / scale`` is ``z**(a-1) exp(-z) / (gamma(a) scale)``.

    >>> from jax.scipy.stats import gamma
    >>> round(float(gamma.logpdf(2.0, 1.0)), 6)
    -2.0
"""

from __future__ import annotations

from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep, log_gamma_density, log_probability


def log_density(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    """As :func:`logpdf`, of operands in one dtype and shape."""
    valid, z = (a > 0) & (scale > 0), (x - loc) / scale
    outside = (z < 0) | (z == jnp.inf)
    out = log_gamma_density(keep(valid, a, 1), keep(~outside, z, 1)) - jnp.log(keep(valid, scale, 1))
    return cases(out, valid, (outside, -jnp.inf))


def density(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    """As :func:`pdf`, of operands in one dtype and shape."""
    valid, z = (a > 0) & (scale > 0), (x - loc) / scale
    low, shape = valid & (z == 0), keep(valid, a, 1)
    # There the slope of the logarithm may be infinite where that of the density is not.
    at = (x - loc) / lax.stop_gradient(keep(valid, scale, 1))  # 0, whatever the scale
    edge = jnp.power(keep(low, at, 1), shape - 1) * (1 - z) * jnp.exp(-lax.lgamma(shape)) / keep(valid, scale, 1)
    return jnp.where(low, edge, jnp.exp(log_density(jnp.where(low, loc + scale, x), a, loc, scale)))


def lower(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    """As :func:`cdf`, of operands in one dtype and shape."""
    valid, z = (a > 0) & (scale > 0), (x - loc) / scale
    below = z <= 0
    return cases(lax.igamma(keep(valid, a, 1), keep(~below, z, 1)), valid, (below, 0))


def upper(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    """As :func:`sf`, of operands in one dtype and shape."""
    valid, z = (a > 0) & (scale > 0), (x - loc) / scale
    below = z <= 0
    return cases(lax.igammac(keep(valid, a, 1), keep(~below, z, 1)), valid, (below, 1))


@elementwise
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below ``loc``, NaN unless ``a > 0`` and ``scale > 0``.

    Operands are broadcast and of one floating dtype, which is the result's. Large ``a`` costs no digits (Loader's
    saddle-point form, 2000).
    """
    return log_density(x, a, loc, scale)


@elementwise
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return density(x, a, loc, scale)


@elementwise
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return lower(x, a, loc, scale)


@elementwise
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return log_probability(lower(x, a, loc, scale))


@elementwise
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return upper(x, a, loc, scale)


@elementwise
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return log_probability(upper(x, a, loc, scale))
