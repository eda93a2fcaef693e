"""``jax.scipy.stats.uniform``: the uniform distribution on ``[loc, loc + scale]``.

    >>> from jax.scipy.stats import uniform
    >>> float(uniform.cdf(1.0, 0.0, 4.0))
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid, z = scale > 0, (x - loc) / scale
    return cases(-jnp.log(keep(valid, scale, 1)), valid & ~jnp.isnan(z), ((z < 0) | (z > 1), -jnp.inf))


@elementwise
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: ``-log(scale)`` on the closed interval, -inf elsewhere.

    Operands are broadcast and of one floating dtype, which is
    the result's; NaN unless ``scale > 0``.
    """
    return _log_density(x, loc, scale)


@elementwise
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, loc, scale))


@elementwise
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to ``x``; as :func:`logpdf`."""
    z = (x - loc) / scale
    return cases(z, scale > 0, (z <= 0, 0), (z >= 1, 1))


@elementwise
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of :func:`cdf`, ``loc + scale q``; NaN unless ``0 <= q <= 1``."""
    return cases(loc + scale * q, (scale > 0) & (q >= 0) & (q <= 1))
