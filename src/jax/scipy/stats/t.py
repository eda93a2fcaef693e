"""``jax.scipy.stats.t``: Student's distribution with ``df`` degrees of freedom.

Its density at ``z = (x - loc) / scale`` is ``(1 + z**2 / df)**(-(df+1)/2) / (sqrt(df) beta(df/2, 1/2) scale)``.

    >>> from jax.scipy.stats import t
    >>> round(float(t.pdf(0.0, 1.0)), 4)
    0.3183
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.special._gamma import _betaln
from jax.scipy.stats._common import HALF_LOG_TAU, cases, elementwise, keep


def _log_density(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    valid, normal = (df > 0) & (scale > 0), df == jnp.inf
    n, z = keep(valid & ~normal, df, 1), (x - loc) / scale
    ratio = jnp.abs(z) / jnp.sqrt(n)
    far = ratio > 1e3  # where the square might overflow
    near, w = keep(~far, ratio, 0), keep(far, ratio, 1)
    square = jnp.where(far, 2 * jnp.log(w) + jnp.log1p(1 / w / w), jnp.log1p(near * near))
    out = -0.5 * (n + 1) * square - 0.5 * jnp.log(n) - _betaln(0.5 * n, jnp.full_like(n, 0.5))
    out = jnp.where(normal, -0.5 * z * z - HALF_LOG_TAU, out)
    return cases(out - jnp.log(keep(valid, scale, 1)), valid)


@elementwise
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; ``df = inf`` is the normal distribution.

    Operands are broadcast and of one floating dtype, which is the result's; NaN unless ``df > 0`` and ``scale > 0``.
    """
    return _log_density(x, df, loc, scale)


@elementwise
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density; as :func:`logpdf`."""
    return jnp.exp(_log_density(x, df, loc, scale))
