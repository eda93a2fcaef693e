"""The regularized incomplete beta function, element by element.

Continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated with Lentz's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._ground.families import defjvp, like
from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._bitwise import bitwise_and, bitwise_not, bitwise_or
from jax.lax._comparison import eq, ge, gt, le, lt
from jax.lax._composed import composed, epsilon, iterate, partial_derivative
from jax.lax._creation import full_like
from jax.lax._densities import beta_density
from jax.lax._magnitude import abs
from jax.lax._select import where


def _fraction(a: Any, b: Any, x: Any) -> Any:
    one = like(x, 1)

    def advance(numerator: Any, c: Any, d: Any) -> Any:
        return add(one, div(numerator, c)), div(one, add(one, mul(numerator, d)))

    def step(n: Any, c: Any, d: Any, h: Any) -> Any:
        a2n = add(a, mul(like(n, 2), n))
        even = div(mul(mul(n, sub(b, n)), x), mul(sub(a2n, one), a2n))
        c, d = advance(even, c, d)
        h = mul(h, mul(c, d))
        odd = neg(div(mul(mul(add(a, n), add(add(a, b), n)), x), mul(a2n, add(a2n, one))))
        c, d = advance(odd, c, d)
        factor = mul(c, d)
        return gt(abs(sub(factor, one)), epsilon(x)), c, d, mul(h, factor)

    d = div(one, sub(one, div(mul(add(a, b), x), add(a, one))))
    return iterate(step, (full_like(x, 1), d, d))[2]


def _beta_cdf(a: Any, b: Any, x: Any) -> Any:
    zero, one, infinity = like(x, 0), like(x, 1), like(x, np.inf)
    inner = bitwise_and(gt(x, zero), lt(x, one))
    usable = bitwise_and(inner, bitwise_and(bitwise_and(gt(a, zero), lt(a, infinity)),
                                            bitwise_and(gt(b, zero), lt(b, infinity))))
    p, q, y = where(usable, a, one), where(usable, b, one), where(usable, x, like(x, 0.5))
    # The fraction converges fast below the mean; above it, by symmetry, with the roles of a and b exchanged.
    swap = gt(y, div(add(p, one), add(add(p, q), like(p, 2))))
    first, second, z = where(swap, q, p), where(swap, p, q), where(swap, sub(one, y), y)
    tail = div(mul(beta_density(p, q, y), _fraction(first, second, z)), first)
    out = where(swap, sub(one, tail), tail)
    low = bitwise_or(eq(x, zero), bitwise_and(bitwise_or(eq(b, zero), eq(a, infinity)), lt(x, one)))
    high = bitwise_or(eq(x, one), bitwise_and(bitwise_or(eq(a, zero), eq(b, infinity)), gt(x, zero)))
    out = where(low, zero, where(high, one, out))
    degenerate = bitwise_or(bitwise_and(eq(a, zero), eq(b, zero)), bitwise_and(eq(a, infinity), eq(b, infinity)))
    valid = bitwise_and(bitwise_and(ge(a, zero), ge(b, zero)), bitwise_and(ge(x, zero), le(x, one)))
    return where(bitwise_and(valid, bitwise_not(degenerate)), out, like(x, np.nan))


def _slope(position: int) -> Any:
    return lambda *args: partial_derivative(_beta_cdf, position, args)[1]


def _density(a: Any, b: Any, x: Any) -> Any:
    return div(beta_density(a, b, x), mul(x, sub(like(x, 1), x)))


_NAME = "regularized_incomplete_beta"
regularized_incomplete_beta_p = composed(_NAME, _beta_cdf, 3)
_slope_a_p = composed(f"{_NAME}_grad_a", _slope(0), 3)
_slope_b_p = composed(f"{_NAME}_grad_b", _slope(1), 3)
_density_p = composed("beta_density", _density, 3)
defjvp(regularized_incomplete_beta_p, *[lambda t, *args, p=p: mul(t, p.bind(*args))
                                        for p in (_slope_a_p, _slope_b_p, _density_p)])


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, element by element.

    It is the probability that a beta variable with parameters ``a`` and ``b`` is below ``x``. Differentiable with
    respect to all three.

    Args:
      a, b: floating, not negative.
      x: floating, from 0 to 1. Operands have equal shapes (0-d ones and axes of size 1 are broadcast). NaN results
        where an argument is out of range.
    """
    return regularized_incomplete_beta_p.bind(a, b, x)
