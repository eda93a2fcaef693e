"""``jax.scipy.stats.chi2``: the chi-squared distribution, of a sum of ``df`` squared standard normal values.

It is the gamma distribution of shape ``df / 2`` and scale 2.

    >>> from jax.scipy.stats import chi2
    >>> round(float(chi2.logpdf(2.0, 2.0)), 4)
    -1.6931
"""

from __future__ import annotations

from typing import Any

from jax.scipy.stats import gamma
from jax.scipy.stats._common import elementwise, log_probability


@elementwise
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below ``loc``, NaN unless ``df > 0`` and ``scale > 0``.

    Operands are broadcast and of one floating dtype, which is the result's.
    """
    return gamma.log_density(x, df / 2, loc, 2 * scale)


@elementwise
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return gamma.density(x, df / 2, loc, 2 * scale)


@elementwise
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return gamma.lower(x, df / 2, loc, 2 * scale)


@elementwise
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return log_probability(gamma.lower(x, df / 2, loc, 2 * scale))


@elementwise
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return gamma.upper(x, df / 2, loc, 2 * scale)


@elementwise
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return log_probability(gamma.upper(x, df / 2, loc, 2 * scale))
