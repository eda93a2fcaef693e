"""``jax.scipy.stats.poisson``: the Poisson distribution, ``mu**k exp(-mu) / k!``.

    >>> from jax.scipy.stats import poisson
    >>> round(float(poisson.pmf(0, 1.0)), 4)
    0.3679
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax.scipy.special._elementary import _xlogy
from jax.scipy.stats._common import HALF_LOG_TAU, cases, constant, elementwise, is_count, keep, log_gamma_density


def _log_mass(k: Any, mu: Any, loc: Any) -> Any:
    z = k - loc
    valid, outside = (mu >= 0) & (mu < jnp.inf), ~is_count(z) | (z == jnp.inf)
    out = log_gamma_density(keep(~outside, z, 0) + 1, keep(valid, mu, 1))
    return cases(out, valid, (outside, -jnp.inf))


@elementwise
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of ``k``.

    -inf unless ``k - loc`` is one of 0, 1, ...; NaN unless ``mu`` is finite and not negative. Operands are broadcast and
    of one floating dtype, which is the result's. Large ``mu`` costs no digits (Loader's saddle-point form, 2000).
    """
    return _log_mass(k, mu, loc)


@elementwise
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of ``k``; as :func:`logpmf`."""
    z = k - loc
    none = (mu == 0) & ~jnp.isnan(z)  # there the mass is not differentiable through its logarithm
    edge = jnp.where(z == 0, 1 - mu, jnp.where(z == 1, mu, jnp.zeros_like(mu)))
    return jnp.where(none, edge, jnp.exp(_log_mass(k, keep(~none, mu, 1), loc)))


@elementwise
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of values up to ``k``: ``gammaincc(floor(k - loc) + 1, mu)``. As :func:`logpmf`."""
    z = jnp.floor(k - loc)
    below, above, none = z < 0, z == jnp.inf, mu == 0
    out = lax.igammac(keep(~(below | above), z, 0) + 1, keep(~none, mu, 1))
    return cases(out, (mu >= 0) & ~jnp.isnan(z), (none, 1), (below, 0), (above, 1))


_TERMS = 128  # with mu up to _CROSSOVER the rest is below 1e-20
_CROSSOVER = 32.0
_LOG_FACTORIALS = np.asarray([math.lgamma(k + 1) for k in range(_TERMS)])
# Of H(mu) - log(2 pi e mu) / 2 in powers of 1/mu: from Stirling's series for log(k!), expanded about the mean, with the
# central moments of the distribution.
_ENTROPY_SERIES = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520, -1375 / 1008, -33953 / 5040, -57281 / 1440,
                   -3250433 / 11880)


@elementwise
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy in nats, the same for every ``loc``; NaN for negative ``mu``.

    Up to ``mu = 32`` the sum of ``-p log(p)``, beyond that an asymptotic series.
    """
    valid, far = mu >= 0, mu > _CROSSOVER
    near = keep(valid & ~far, mu, 1)[..., None]
    shape = (*near.shape[:-1], _TERMS)
    k, log_factorial = (jnp.broadcast_to(v.astype(mu.dtype), shape) for v in (np.arange(_TERMS), _LOG_FACTORIALS))
    log_p = _xlogy(k, jnp.broadcast_to(near, shape)) - near - log_factorial
    total = -jnp.sum(jnp.exp(log_p) * keep(log_p > -jnp.inf, log_p, 0), axis=-1)
    m = keep(far, mu, 2 * _CROSSOVER)
    series = jnp.zeros_like(m)
    for c in reversed(_ENTROPY_SERIES):
        series = (series + constant(m, c)) / m
    asymptotic = 0.5 * jnp.log(m) + (HALF_LOG_TAU + 0.5) + series
    return cases(jnp.where(far, asymptotic, total), valid & ~jnp.isnan(loc))
