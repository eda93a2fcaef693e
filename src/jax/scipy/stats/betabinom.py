"""``jax.scipy.stats.betabinom``: ``n`` trials whose probability of success has the distribution ``beta(a, b)``.

    >>> from jax.scipy.stats import betabinom
    >>> round(float(betabinom.pmf(1, 3, 1.0, 1.0)), 6)
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.special._gamma import _betaln
from jax.scipy.stats._common import cases, elementwise, is_count, keep


def _log_mass(k: Any, n: Any, a: Any, b: Any, loc: Any) -> Any:
    z = k - loc
    valid = is_count(n) & (a > 0) & (b > 0)
    outside = ~is_count(z) | (z > n)
    fine = valid & ~outside
    y, m, c, d = keep(fine, z, 0), keep(fine, n, 1), keep(valid, a, 1), keep(valid, b, 1)
    out = _betaln(y + c, m - y + d) - _betaln(m - y + 1, y + 1) - _betaln(c, d) - jnp.log1p(m)
    return cases(out, valid & ~jnp.isnan(z) & ~jnp.isnan(n), (outside, -jnp.inf))


@elementwise
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of ``comb(n, k) beta(k + a, n - k + b) / beta(a, b)`` at ``k - loc``.

    -inf unless that is an integer of ``0 ... n``; NaN unless ``n`` is one and ``a, b > 0``. Operands are broadcast and
    of one floating dtype, which is the result's.
    """
    return _log_mass(k, n, a, b, loc)


@elementwise
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    return jnp.exp(_log_mass(k, n, a, b, loc))
