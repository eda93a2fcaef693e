"""``jax.scipy.stats.gennorm``: the generalised normal distribution, ``beta exp(-abs(x)**beta) / (2 gamma(1/beta))``.

    >>> from jax.scipy.stats import gennorm
    >>> float(gennorm.cdf(0.0, 2.0))
    0.5
"""

from __future__ import annotations

import math
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, beta: Any) -> Any:
    valid = beta > 0
    b, size = keep(valid, beta, 1), jnp.abs(x)
    out = jnp.log(b) - math.log(2) - lax.lgamma(1 / b) - jnp.power(size, b)
    return cases(out, valid)


@elementwise
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density, NaN unless ``beta > 0``.

    Operands are broadcast and of one floating dtype, which is the result's. For location and scale use
    ``logpdf((x - loc) / scale, beta) - log(scale)``.
    """
    return _log_density(x, beta)


@elementwise
def pdf(x: Any, beta: Any) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, beta))


@elementwise
def cdf(x: Any, beta: Any) -> Any:
    """The probability of values up to ``x``, accurate in the lower tail; as :func:`logpdf`."""
    valid = beta > 0
    b = keep(valid, beta, 1)
    zero = x == 0
    power = jnp.power(jnp.abs(keep(~zero, x, 1)), b)
    centre = zero | (power == 0)  # the incomplete gamma function has no slope there, the result has: the density
    s = keep(~centre, power, 1)
    tail = 0.5 * lax.igammac(1 / b, s)
    out = jnp.where(x < 0, tail, 0.5 + 0.5 * lax.igamma(1 / b, s))
    linear = 0.5 + x * jnp.exp(_log_density(jnp.zeros_like(x), b))
    return cases(jnp.where(centre, linear, out), valid)
