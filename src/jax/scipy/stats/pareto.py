"""``jax.scipy.stats.pareto``: the Pareto distribution, ``b z**-(b+1) / scale`` for ``z = (x - loc) / scale >= 1``.

    >>> from jax.scipy.stats import pareto
    >>> float(pareto.sf(2.0, 2.0))
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.nn import log1mexp
from jax.scipy.stats._common import cases, elementwise, keep


def _standard(x: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
    """``log(z)`` (0 below 1), which parameters are valid, and where ``z < 1``."""
    z = (x - loc) / scale
    below = z < 1
    return jnp.log(keep(~below, z, 1)), (b > 0) & (scale > 0), below


def _log_density(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    log_z, valid, below = _standard(x, b, loc, scale)
    out = jnp.log(keep(valid, b, 1)) - jnp.log(keep(valid, scale, 1)) - (b + 1) * log_z
    return cases(out, valid, (below, -jnp.inf))


def _lower(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    log_z, valid, _ = _standard(x, b, loc, scale)
    return cases(-jnp.expm1(-b * log_z), valid)


def _log_lower(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    log_z, valid, _ = _standard(x, b, loc, scale)
    size = b * log_z
    edge = size <= 0
    return cases(log1mexp(keep(~edge, size, 1)), valid, (edge, -jnp.inf))


def _upper(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    return jnp.exp(_log_upper(x, b, loc, scale))


def _log_upper(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    log_z, valid, _ = _standard(x, b, loc, scale)
    return cases(-b * log_z, valid)


@elementwise
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below ``loc + scale``, NaN unless ``b > 0`` and ``scale > 0``.

    Operands are broadcast and of one floating dtype, which is the result's.
    """
    return _log_density(x, b, loc, scale)


@elementwise
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, b, loc, scale))


@elementwise
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    return _lower(x, b, loc, scale)


@elementwise
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return _log_lower(x, b, loc, scale)


@elementwise
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above ``x``, accurate where it is small."""
    return _upper(x, b, loc, scale)


@elementwise
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return _log_upper(x, b, loc, scale)


@elementwise
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`, ``loc + scale (1 - q)**(-1/b)``; NaN unless ``0 <= q <= 1``."""
    return cases(loc + scale * jnp.exp(-jnp.log1p(-q) / b), (q >= 0) & (q <= 1) & (b > 0) & (scale > 0))
