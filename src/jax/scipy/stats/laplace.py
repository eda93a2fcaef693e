"""``jax.scipy.stats.laplace``: the Laplace distribution, ``exp(-abs(z)) / (2 scale)`` at ``z = (x - loc) / scale``.

    >>> from jax.scipy.stats import laplace
    >>> float(laplace.cdf(0.0))
    0.5
"""

from __future__ import annotations

import math
from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    valid = scale > 0
    out = -jnp.abs((x - loc) / scale) - math.log(2) - jnp.log(keep(valid, scale, 1))
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
    z = (x - loc) / scale
    low = z < 0
    tail, rest = 0.5 * jnp.exp(keep(low, z, 0)), 1 - 0.5 * jnp.exp(-keep(~low, z, 0))
    return cases(jnp.where(low, tail, rest), scale > 0)
