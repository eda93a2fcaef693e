"""``jax.scipy.stats.gumbel_r``: the Gumbel distribution of largest values.

Its density at ``z = (x - loc) / scale`` is ``exp(-z - exp(-z)) / scale``.

    >>> from jax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.cdf(0.0)), 4)
    0.3679
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.nn import log1mexp
from jax.scipy.stats._common import cases, elementwise, keep


def log_density(x: Any, loc: Any, scale: Any) -> Any:
    """As :func:`logpdf`, of operands in one dtype and shape."""
    valid, z = scale > 0, (x - loc) / scale
    outside = jnp.isinf(z)
    z = keep(~outside, z, 0)
    return cases(-z - jnp.exp(-z) - jnp.log(keep(valid, scale, 1)), valid, (outside, -jnp.inf))


def log_lower(x: Any, loc: Any, scale: Any) -> Any:
    """As :func:`logcdf`, of operands in one dtype and shape."""
    return cases(-jnp.exp(-(x - loc) / scale), scale > 0)


def upper(x: Any, loc: Any, scale: Any) -> Any:
    """As :func:`sf`, of operands in one dtype and shape."""
    return cases(-jnp.expm1(-jnp.exp(-(x - loc) / scale)), scale > 0)


def log_upper(x: Any, loc: Any, scale: Any) -> Any:
    """As :func:`logsf`, of operands in one dtype and shape."""
    z = (x - loc) / scale
    far = z > 40  # exp(-z) would vanish before its logarithm does
    return cases(jnp.where(far, -z, log1mexp(jnp.exp(-keep(~far, z, 0)))), scale > 0)


def quantile(q: Any, loc: Any, scale: Any) -> Any:
    """As :func:`ppf`, of operands in one dtype and shape."""
    p = keep((q > 0) & (q < 1), q, 0.5)
    return cases(loc - scale * jnp.log(-jnp.log(p)), (q >= 0) & (q <= 1) & (scale > 0) & ~jnp.isnan(loc),
                 (q == 0, -jnp.inf), (q == 1, jnp.inf))


@elementwise
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density. Operands are broadcast and of one floating dtype, which is the result's;
    NaN unless ``scale > 0``."""
    return log_density(x, loc, scale)


@elementwise
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(log_density(x, loc, scale))


@elementwise
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return jnp.exp(log_lower(x, loc, scale))


@elementwise
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return log_lower(x, loc, scale)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return upper(x, loc, scale)


@elementwise
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return log_upper(x, loc, scale)


@elementwise
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`, ``loc - scale log(-log(p))``; infinite at 0 and 1, NaN beyond."""
    return quantile(p, loc, scale)
