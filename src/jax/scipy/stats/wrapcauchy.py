"""``jax.scipy.stats.wrapcauchy``: the Cauchy distribution wrapped around the circle, on ``[0, 2 pi]``.

Its density is ``(1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x)))``.

    >>> from jax.scipy.stats import wrapcauchy
    >>> round(float(wrapcauchy.pdf(0.0, 0.5)), 4)
    0.4775
"""

from __future__ import annotations

import math
from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _log_density(x: Any, c: Any) -> Any:
    valid = (c > 0) & (c < 1)
    d, half = keep(valid, c, 0.5), jnp.sin(0.5 * x)
    gap = 1 - d
    # 1 + c**2 - 2 c cos(x) as a sum of squares
    out = jnp.log(gap * (1 + d)) - math.log(2 * math.pi) - jnp.log(gap * gap + 4 * d * half * half)
    return cases(out, valid, ((x < 0) | (x > 2 * math.pi), -jnp.inf))


@elementwise
def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density; -inf outside of ``[0, 2 pi]``, NaN unless ``0 < c < 1``.

    Operands are broadcast and of one floating dtype, which is the result's.
    """
    return _log_density(x, c)


@elementwise
def pdf(x: Any, c: Any) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, c))
