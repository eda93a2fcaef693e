"""Hypergeometric functions of real arguments, by their power series and what brings arguments into its reach."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.lax._composed import composed, iterate
from jax.scipy.special._common import like, operands
from jax.scipy.special._gamma import _gammasgn


def _series(numerator: list[Any], denominator: list[Any], x: Any, more: Any) -> Any:
    """The sum of ``x**k / k!`` times ratios of Pochhammer symbols, until terms no longer count, where ``more``."""
    eps = float(np.finfo(typeof(x).dtype).eps) / 4

    def step(k: Any, term: Any, total: Any) -> tuple[Any, Any, Any]:
        k = k.astype(typeof(x).dtype)
        term = term * x / k
        for a in numerator:
            term = term * (a + (k - 1))
        for b in denominator:
            term = term / (b + (k - 1))
        total = total + term
        return more & (jnp.abs(term) > eps * jnp.abs(total)), term, total

    # One term behind a zero ratio or before a rise does not end the sum: two steps for each test.
    def two(n: Any, term: Any, total: Any) -> tuple[Any, Any, Any]:
        first, term, total = step(2 * n - 1, term, total)
        second, term, total = step(2 * n, term, total)
        return first | second, term, total

    one = jnp.ones_like(x)
    return iterate(two, (one, one))[1]


def _kummer(a: Any, b: Any, x: Any) -> Any:
    # Kummer's transformation leaves positive arguments, whose terms do not cancel.
    negative = x < 0
    a, y = jnp.where(negative, b - a, a), jnp.abs(x)
    far = y > 100 + 2 * jnp.abs(a) * jnp.abs(b)
    series = _series([a], [b], jnp.where(far, jnp.ones_like(y), y), jnp.ones_like(y, bool))
    # DLMF 13.7.2: the asymptotic series, without its exponentially small part
    z = jnp.where(far, y, like(y, 200))
    term = total = jnp.ones_like(z)
    for k in range(1, 24):
        term = term * (b - a + (k - 1)) * (k - a) / (k * z)
        total = total + term
    pole = (a <= 0) & (a == jnp.floor(a))
    safe = jnp.where(pole, jnp.ones_like(a), a)
    log_scale = lax.lgamma(b) - lax.lgamma(safe) + (a - b) * jnp.log(z)
    sign = lax.stop_gradient(_gammasgn(b) * _gammasgn(safe))
    out = jnp.where(far & ~pole, sign * total * jnp.exp(log_scale + jnp.where(negative, jnp.zeros_like(z), z)),
                    series * jnp.exp(jnp.where(negative, x, jnp.zeros_like(x))))
    return jnp.where(x == 0, jnp.ones_like(out), out)


hyp1f1_p = composed("hyp1f1", _kummer, 3)


@composite
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function of real arguments.

    The power series, after Kummer's transformation for negative ``x``, and the asymptotic series for large ``x``.
    """
    return hyp1f1_p.bind(*operands("hyp1f1", a, b, x))


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    # Pfaff's transformation leaves arguments in [0, 1).
    negative = x < 0
    z = jnp.where(negative, x / (x - 1), x)
    scale = jnp.where(negative, jnp.exp(-a * jnp.log1p(jnp.where(negative, -x, jnp.zeros_like(x)))), jnp.ones_like(x))
    b = jnp.where(negative, c - b, b)
    # Euler's leaves the faster series, when the other one is to grow towards 1.
    excess = c - a - b
    polynomial = ((a <= 0) & (a == jnp.floor(a))) | ((b <= 0) & (b == jnp.floor(b)))
    euler = (excess < 0) & (z > 0.5) & ~polynomial
    inside = z < 1
    safe = jnp.where(inside, z, jnp.zeros_like(z))
    scale = scale * jnp.where(euler, jnp.exp(excess * jnp.log1p(-safe)), jnp.ones_like(z))
    p, q = jnp.where(euler, c - a, a), jnp.where(euler, c - b, b)
    out = scale * _series([p, q], [c], safe, inside)
    sign = lax.stop_gradient(_gammasgn(c) * _gammasgn(excess) * _gammasgn(c - a) * _gammasgn(c - b))
    at_one = sign * jnp.exp(lax.lgamma(c) + lax.lgamma(excess) - lax.lgamma(c - a) - lax.lgamma(c - b))
    at_one = jnp.where(excess > 0, at_one, like(x, math.inf))
    out = jnp.where((z == 1) & ~negative, at_one, out)
    return jnp.where(x > 1, like(x, math.nan), out)


hyp2f1_p = composed("hyp2f1", _gauss, 4)


@composite
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss' hypergeometric function of real arguments, ``x <= 1``; NaN beyond.

    The power series after linear transformations; it needs many terms, and loses digits, where these leave an argument
    close to 1.
    """
    return hyp2f1_p.bind(*operands("hyp2f1", a, b, c, x))
