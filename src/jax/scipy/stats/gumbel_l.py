"""``jax.scipy.stats.gumbel_l``: the Gumbel distribution of smallest values.

Its density at ``z = (x - loc) / scale`` is ``exp(z - exp(z)) / scale``: that of :mod:`gumbel_r`, reflected.

    >>> from jax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.sf(0.0)), 4)
    0.3679
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.stats import gumbel_r as reflected
from jax.scipy.stats._common import cases, elementwise, keep


@elementwise
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density. Operands are broadcast and of one floating dtype, which is the result's;
    NaN unless ``scale > 0``."""
    return reflected.log_density(-x, -loc, scale)


@elementwise
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(reflected.log_density(-x, -loc, scale))


@elementwise
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return reflected.upper(-x, -loc, scale)


@elementwise
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return reflected.log_upper(-x, -loc, scale)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return jnp.exp(reflected.log_lower(-x, -loc, scale))


@elementwise
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return reflected.log_lower(-x, -loc, scale)


@elementwise
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`, ``loc + scale log(-log(1 - p))``; infinite at 0 and 1, NaN beyond."""
    q = keep((p > 0) & (p < 1), p, 0.5)
    return cases(loc + scale * jnp.log(-jnp.log1p(-q)), (p >= 0) & (p <= 1) & (scale > 0) & ~jnp.isnan(loc),
                 (p == 0, -jnp.inf), (p == 1, jnp.inf))
