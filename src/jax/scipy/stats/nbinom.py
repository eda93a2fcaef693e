"""``jax.scipy.stats.nbinom``: failures before the ``n``-th success, of trials with probability of success ``p``.

    >>> from jax.scipy.stats import nbinom
    >>> round(float(nbinom.pmf(1, 1, 0.5)), 6)
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, is_count, keep, log_beta_density


def _log_mass(k: Any, n: Any, p: Any, loc: Any) -> Any:
    z = k - loc
    valid = (n > 0) & (p > 0) & (p <= 1)
    outside = ~is_count(z)
    m, q, y = keep(valid, n, 1), keep(valid, p, 0.5), keep(~outside, z, 0)
    out = log_beta_density(m, y + 1, q) + jnp.log(q) - jnp.log(m + y)
    return cases(out, valid, (outside, -jnp.inf))


@elementwise
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of ``gamma(k + n) / (gamma(n) k!) p**n (1 - p)**k`` at ``k - loc``.

    -inf unless that is one of 0, 1, ...; NaN unless ``n > 0`` (not only integers) and ``0 < p <= 1``. Operands are
    broadcast and of one floating dtype, which is the result's.
    """
    return _log_mass(k, n, p, loc)


@elementwise
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    z = k - loc
    sure = (p == 1) & (n > 0) & ~jnp.isnan(z)  # there the mass is not differentiable through its logarithm
    edge = jnp.where(z == 0, 1 - n * (1 - p), jnp.where(z == 1, n * (1 - p), jnp.zeros_like(p)))
    return jnp.where(sure, edge, jnp.exp(_log_mass(k, n, keep(~sure, p, 0.5), loc)))
