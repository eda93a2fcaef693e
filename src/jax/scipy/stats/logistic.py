"""``jax.scipy.stats.logistic``: the logistic distribution, whose distribution function is ``1 / (1 + exp(-z))``.

Here ``z = (x - loc) / scale``.

    >>> from jax.scipy.stats import logistic
    >>> float(logistic.pdf(0.0))
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid, z = scale > 0, (x - loc) / scale
    # a sum of two smooth terms: with abs(z) second derivatives at 0 would be wrong
    out = -jnp.logaddexp(z, jnp.zeros_like(z)) - jnp.logaddexp(-z, jnp.zeros_like(z)) - jnp.log(keep(valid, scale, 1))
    return cases(out, valid)


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
    return cases(lax.logistic((x - loc) / scale), scale > 0)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``; as :func:`logpdf`."""
    return cases(lax.logistic((loc - x) / scale), scale > 0)


@elementwise
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf` at the probability ``x``; infinite at 0 and 1, NaN beyond."""
    return cases(loc + scale * (jnp.log(x) - jnp.log1p(-x)), scale > 0)


@elementwise
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`sf` at the probability ``x``; infinite at 0 and 1, NaN beyond."""
    return cases(loc - scale * (jnp.log(x) - jnp.log1p(-x)), scale > 0)
