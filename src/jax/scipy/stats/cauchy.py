"""``jax.scipy.stats.cauchy``: the Cauchy distribution, ``1 / (pi scale (1 + z**2))`` at ``z = (x - loc) / scale``.

    >>> from jax.scipy.stats import cauchy
    >>> float(cauchy.cdf(0.0))
    0.5
"""

from __future__ import annotations

import math
from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid = scale > 0
    z = jnp.abs((x - loc) / keep(valid, scale, 1))
    far = z > 1e3  # where the square might overflow
    w = keep(far, z, 1)
    near = keep(~far, z, 0)
    out = -jnp.where(far, 2 * jnp.log(w) + jnp.log1p(1 / w / w), jnp.log1p(near * near))
    return cases(out - math.log(math.pi) - jnp.log(keep(valid, scale, 1)), valid)


def _lower(x: Any, loc: Any, scale: Any) -> Any:
    valid = scale > 0
    z = (x - loc) / keep(valid, scale, 1)
    return cases(jnp.arctan2(jnp.ones_like(z), -z) / math.pi, valid)


def _log_lower(x: Any, loc: Any, scale: Any) -> Any:
    lower, upper = _lower(x, loc, scale), _lower(-x, -loc, scale)
    small = lower < 0.5
    return jnp.where(small, jnp.log(keep(small, lower, 1)), jnp.log1p(-keep(~small, upper, 0)))


def _quantile(q: Any) -> Any:
    """Of the standard distribution; by the cotangent of the smaller tail but in the middle."""
    middle = jnp.abs(q - 0.5) < 0.25
    tail = keep(~middle, jnp.minimum(q, 1 - q), 0.25)
    edge = tail == 0
    far = jnp.where(edge, jnp.inf, 1 / jnp.tan(math.pi * keep(~edge, tail, 0.25)))
    out = jnp.where(middle, jnp.tan(math.pi * (keep(middle, q, 0.5) - 0.5)), jnp.where(q < 0.5, -far, far))
    return cases(out, (q >= 0) & (q <= 1))


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
    """The probability of values up to ``x``, ``1/2 + arctan(z) / pi``, accurate in the lower tail too."""
    return _lower(x, loc, scale)


@elementwise
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`, accurate in both tails."""
    return _log_lower(x, loc, scale)


@elementwise
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate in both tails."""
    return _lower(-x, -loc, scale)


@elementwise
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`, accurate in both tails."""
    return _log_lower(-x, -loc, scale)


@elementwise
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`; infinite at 0 and 1, NaN beyond."""
    return cases(loc + scale * _quantile(q), scale > 0)


@elementwise
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`sf`; infinite at 0 and 1, NaN beyond."""
    return cases(loc - scale * _quantile(q), scale > 0)
