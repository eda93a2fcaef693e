"""``jax.scipy.stats.beta``: the beta distribution on ``[loc, loc + scale]``.

Its density at ``u = (x - loc) / scale`` is ``u**(a-1) (1-u)**(b-1) / (beta(a, b) scale)``.

    >>> from jax.scipy.stats import beta
    >>> round(float(beta.cdf(0.5, 2.0, 2.0)), 4)
    0.5
"""

from __future__ import annotations

from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.special._gamma import _betaln
from jax.scipy.stats._common import cases, elementwise, keep, log_beta_density, log_probability


def _valid(a: Any, b: Any, scale: Any) -> Any:
    return (a > 0) & (b > 0) & (scale > 0)


def _parameters(a: Any, b: Any, valid: Any) -> tuple[Any, Any]:
    return keep(valid, a, 1), keep(valid, b, 1)


def _log_density(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    valid, u = _valid(a, b, scale), (x - loc) / scale
    outside = (u < 0) | (u > 1)
    out = log_beta_density(*_parameters(a, b, valid), keep(~outside, u, 0.5)) - jnp.log(keep(valid, scale, 1))
    return cases(out, valid, (outside, -jnp.inf))


def _lower(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    valid, u = _valid(a, b, scale), (x - loc) / scale
    below, above = u <= 0, u >= 1
    out = lax.betainc(*_parameters(a, b, valid), keep(~(below | above), u, 0.5))
    return cases(out, valid, (below, 0), (above, 1))


def _upper(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return _lower(loc + scale - x, b, a, jnp.zeros_like(loc), scale)


@elementwise
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf outside of ``[loc, loc + scale]``, NaN unless ``a``, ``b``, ``scale > 0``.

    Operands are broadcast and of one floating dtype, which is the result's. Large parameters cost no digits (Loader's
    saddle-point form, 2000).
    """
    return _log_density(x, a, b, loc, scale)


@elementwise
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    valid, u = _valid(a, b, scale), (x - loc) / scale
    low, high = valid & (u == 0), valid & (u == 1)
    p, q = _parameters(a, b, valid)
    p, q = jnp.where(high, q, p), jnp.where(high, p, q)
    # 0, whatever the scale
    v = jnp.where(high, loc + scale - x, x - loc) / lax.stop_gradient(keep(valid, scale, 1))
    # At an end the slope of the logarithm may be infinite where that of the density is not.
    edge = jnp.power(keep(low | high, v, 1), p - 1) * (1 - (q - 1) * v) * jnp.exp(-_betaln(p, q))
    inner = jnp.exp(_log_density(jnp.where(low | high, loc + 0.5 * scale, x), a, b, loc, scale))
    return jnp.where(low | high, edge / keep(valid, scale, 1), inner)


@elementwise
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``: the regularised incomplete beta function. As :func:`logpdf`."""
    return _lower(x, a, b, loc, scale)


@elementwise
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return log_probability(_lower(x, a, b, loc, scale))


@elementwise
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return _upper(x, a, b, loc, scale)


@elementwise
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return log_probability(_upper(x, a, b, loc, scale))
