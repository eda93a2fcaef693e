"""``jax.scipy.stats.binom``: successes of ``n`` trials, each with probability ``p``.

    >>> from jax.scipy.stats import binom
    >>> round(float(binom.pmf(1, 2, 0.5)), 6)
    0.5
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, is_count, keep, log_beta_density


def _log_mass(k: Any, n: Any, p: Any, loc: Any) -> Any:
    z = k - loc
    valid = is_count(n) & (p >= 0) & (p <= 1)
    outside = ~is_count(z) | (z > n)
    fine = valid & ~outside
    y, m = keep(fine, z, 0), keep(fine, n, 1)
    out = log_beta_density(y + 1, m - y + 1, keep(fine, p, 0.5)) - jnp.log1p(m)
    return cases(out, valid & ~jnp.isnan(z) & ~jnp.isnan(n), (outside, -jnp.inf))


@elementwise
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of ``comb(n, k) p**k (1 - p)**(n - k)`` at ``k - loc``.

    -inf unless that is an integer of ``0 ... n``; NaN unless ``n`` is one and ``0 <= p <= 1``. Operands are broadcast
    and of one floating dtype, which is the result's. Large ``n`` costs no digits (Loader's saddle-point form, 2000).
    """
    return _log_mass(k, n, p, loc)


@elementwise
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    z = k - loc
    # At 0 and 1 the mass is not differentiable through its logarithm.
    certain = ((p == 0) | (p == 1)) & is_count(n) & ~jnp.isnan(n) & ~jnp.isnan(z)
    rare, hits = jnp.where(p == 1, 1 - p, p), jnp.where(p == 1, n - z, z)
    edge = jnp.where(hits == 0, 1 - n * rare, jnp.where(hits == 1, n * rare, jnp.zeros_like(p)))
    edge = jnp.where((z >= 0) & (z <= n), edge, jnp.zeros_like(p))
    return jnp.where(certain, edge, jnp.exp(_log_mass(k, n, keep(~certain, p, 0.5), loc)))
