"""``jax.scipy.stats.geom``: the number of trials up to the first success, each with probability ``p``.

    >>> from jax.scipy.stats import geom
    >>> float(geom.pmf(2, 0.5))
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.special._elementary import _xlog1py
from jax.scipy.stats._common import cases, elementwise, is_count, keep


def _log_mass(k: Any, p: Any, loc: Any) -> Any:
    z = k - loc - 1
    valid = (p > 0) & (p <= 1)
    outside = ~is_count(z)
    q = keep(valid, p, 1)
    return cases(_xlog1py(keep(~outside, z, 0), -q) + jnp.log(q), valid, (outside, -jnp.inf))


@elementwise
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of ``p (1 - p)**(k - 1)`` at ``k - loc``.

    -inf unless that is one of 1, 2, ...; NaN unless ``0 < p <= 1``. Operands are broadcast and of one floating dtype,
    which is the result's.
    """
    return _log_mass(k, p, loc)


@elementwise
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    z = k - loc
    sure = p == 1  # there the mass is not differentiable through its logarithm
    edge = jnp.where(z == 1, p, jnp.where(z == 2, 1 - p, jnp.zeros_like(p)))
    return jnp.where(sure & ~jnp.isnan(z), edge, jnp.exp(_log_mass(k, keep(~sure, p, 0.5), loc)))
