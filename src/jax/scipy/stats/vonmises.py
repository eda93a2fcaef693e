"""``jax.scipy.stats.vonmises``: the von Mises distribution of angles, ``exp(kappa cos(x)) / (2 pi I0(kappa))``.

    >>> from jax.scipy.stats import vonmises
    >>> round(float(vonmises.pdf(0.0, 1.0)), 4)
    0.3417
"""

from __future__ import annotations

import math
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise


def _log_density(x: Any, kappa: Any) -> Any:
    half = jnp.sin(0.5 * x)  # cos(x) - 1 = -2 sin(x/2)**2 does not cancel near 0
    out = -2 * kappa * half * half - math.log(2 * math.pi) - jnp.log(lax.bessel_i0e(kappa))
    return cases(out, kappa >= 0)


@elementwise
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density, which has period ``2 pi``; NaN unless ``kappa >= 0`` (0 is the uniform one).

    Operands are broadcast and of one floating dtype, which is the result's. For a location use ``x - loc``.
    """
    return _log_density(x, kappa)


@elementwise
def pdf(x: Any, kappa: Any) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, kappa))
