"""``jax.scipy.stats.bernoulli``: one trial, 1 with probability ``p`` and 0 otherwise.

    >>> from jax.scipy.stats import bernoulli
    >>> float(bernoulli.pmf(1, 0.25))
    0.25
"""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax.scipy.stats._common import cases, elementwise, keep


def _valid(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


@elementwise
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of ``k``: ``log(p)`` at ``loc + 1``, ``log(1 - p)`` at ``loc``, else -inf.

    NaN unless ``0 <= p <= 1``. Operands are broadcast and of one floating dtype, which is the result's.
    """
    z = k - loc
    one = z == 1
    out = jnp.where(one, jnp.log(keep(one, p, 1)), jnp.log1p(-keep(z == 0, p, 0)))
    return cases(out, _valid(p) & ~jnp.isnan(z), (~one & (z != 0), -jnp.inf))


@elementwise
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    z = k - loc
    return cases(jnp.where(z == 1, p, 1 - p), _valid(p) & ~jnp.isnan(z), ((z != 0) & (z != 1), 0))


@elementwise
def cdf(k: Any, p: Any) -> Any:
    """The probability of values up to ``k``: 0 below 0, ``1 - p`` below 1, 1 from there on."""
    return cases(1 - p, _valid(p) & ~jnp.isnan(k), (k < 0, 0), (k >= 1, 1))


@elementwise
def ppf(q: Any, p: Any) -> Any:
    """The least of 0 and 1 whose :func:`cdf` reaches ``q``; NaN unless ``0 <= q <= 1``.

    Deviation: SciPy returns -1 for ``q = 0``, which no trial gives.
    """
    return cases(jnp.where(q > 1 - p, jnp.ones_like(q), jnp.zeros_like(q)), _valid(p) & (q >= 0) & (q <= 1))
