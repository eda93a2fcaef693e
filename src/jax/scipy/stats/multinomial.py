"""``jax.scipy.stats.multinomial``: how often each of ``k`` classes comes in ``n`` trials.

    >>> import jax.numpy as jnp
    >>> from jax.scipy.stats import multinomial
    >>> round(float(multinomial.pmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5]))), 5)
    0.5
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap
from jax.scipy.special._elementary import _xlogy
from jax.scipy.stats._common import cases, is_count


@composite
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of ``n! prod(p**x / x!)``.

    Args:
      x: counts of shape ``(..., k)``.
      n: the number of trials, of shape ``(...)``.
      p: probabilities of shape ``(..., k)``. They are taken as given; SciPy replaces the last one by what is left to 1.

    Returns:
      An array of shape ``(...)``, all three broadcast: -inf unless ``x`` are counts with sum ``n``; NaN where ``n`` is no
      count or a probability is not in [0, 1].

    Raises:
      ValueError: when ``x`` or ``p`` is a scalar.
    """
    check_arraylike("multinomial.logpmf", x, n, p)
    x, n, p = (jnp.asarray(v) for v in promote_dtypes_inexact(*map(unwrap, (x, n, p))))
    if not x.ndim or not p.ndim:
        raise ValueError(f"multinomial.logpmf: x and p must have an axis of classes, got shapes {x.shape} and {p.shape}")
    dtype = p.dtype
    if dtype.itemsize < 4:
        x, n, p = (v.astype(np.float32) for v in (x, n, p))
    shape = np.broadcast_shapes(x.shape, p.shape, (*n.shape, 1))
    x, p, n = jnp.broadcast_to(x, shape), jnp.broadcast_to(p, shape), jnp.broadcast_to(n, shape[:-1])
    counts = is_count(x)
    impossible = ~jnp.all(counts, axis=-1) | (jnp.sum(x, axis=-1) != n)
    valid = is_count(n) & ~jnp.isnan(n) & jnp.all((p >= 0) & (p <= 1), axis=-1) & ~jnp.any(jnp.isnan(x), axis=-1)
    y = jnp.where(counts, x, jnp.zeros_like(x))
    m = jnp.where(is_count(n), n, jnp.zeros_like(n))
    out = lax.lgamma(m + 1) + jnp.sum(_xlogy(y, p) - lax.lgamma(y + 1), axis=-1)
    return cases(out, valid, (impossible, -jnp.inf)).astype(dtype)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts ``x``; arguments and errors as for :func:`logpmf`."""
    return jnp.exp(logpmf(x, n, p))
