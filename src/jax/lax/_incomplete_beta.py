"""The regularized incomplete beta function, element by element.

Continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated with Lentz's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._ground.families import defjvp, like
from jax._ground.structural import instantiate_zeros
from jax._transforms.jvp import jvp_flat
from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._bitwise import bitwise_and, bitwise_or
from jax.lax._comparison import eq, gt, lt, ne
from jax.lax._composed import composed, epsilon, iterate, partial_derivative
from jax.lax._creation import full_like
from jax.lax._densities import beta_density
from jax.lax._magnitude import abs
from jax.lax._select import where


def _advance(n: Any, a: Any, b: Any, x: Any, c: Any, d: Any, h: Any) -> list[Any]:
    """Two terms of Lentz's method: its two quotients, the fraction so far, and the factor by which that has changed."""
    one = like(x, 1)

    def quotients(numerator: Any, c: Any, d: Any) -> Any:
        return add(one, div(numerator, c)), div(one, add(one, mul(numerator, d)))

    a2n = add(a, mul(like(n, 2), n))
    even = div(mul(mul(n, sub(b, n)), x), mul(sub(a2n, one), a2n))
    c, d = quotients(even, c, d)
    factor = mul(c, d)
    odd = neg(div(mul(mul(add(a, n), add(add(a, b), n)), x), mul(a2n, add(a2n, one))))
    c, d = quotients(odd, c, d)
    factor = mul(factor, mul(c, d))
    return [c, d, mul(h, factor), factor]


def _first(a: Any, b: Any, x: Any) -> list[Any]:
    one = like(x, 1)
    d = div(one, sub(one, div(mul(add(a, b), x), add(a, one))))
    return [full_like(x, 1), d, d]


def _fraction(*args: Any) -> Any:
    def step(n: Any, *state: Any) -> Any:
        *state, factor = _advance(n, *args, *state)
        return gt(abs(sub(factor, like(factor, 1))), epsilon(factor)), *state
    return iterate(step, tuple(_first(*args)))[2]


def _fraction_slope(position: int) -> Any:
    """The derivative of the fraction, which has a test of convergence of its own.

    For an integer ``b`` the fraction ends after ``b`` terms, its derivative does not.
    """
    def slope(*args: Any) -> Any:
        unit = [full_like(x, int(i == position)) for i, x in enumerate(args)]

        def step(n: Any, *state: Any) -> Any:
            values, slopes = jvp_flat(lambda *v: _advance(n, *v), [*args, *state[:3]], [*unit, *state[3:]])
            *values, factor = values
            *slopes, change = map(instantiate_zeros, slopes)
            h, tiny = values[2], epsilon(factor)
            more = bitwise_or(gt(abs(sub(factor, like(factor, 1))), tiny),
                              gt(abs(mul(h, change)), mul(tiny, add(abs(h), abs(slopes[2])))))
            return more, *values, *slopes
        start, slopes = jvp_flat(_first, list(args), unit)
        return iterate(step, (*start, *map(instantiate_zeros, slopes)))[5]
    return slope


_fraction_p = composed("beta_fraction", _fraction, 3)
_fraction_slopes = [composed(f"beta_fraction_grad_{name}", _fraction_slope(i), 3) for i, name in enumerate("abx")]
defjvp(_fraction_p, *[lambda t, *args, p=p: mul(t, p.bind(*args)) for p in _fraction_slopes])


def _beta_cdf(a: Any, b: Any, x: Any) -> Any:
    zero, one, infinity = like(x, 0), like(x, 1), like(x, np.inf)
    inner = bitwise_and(gt(x, zero), lt(x, one))
    usable = bitwise_and(inner, bitwise_and(bitwise_and(gt(a, zero), lt(a, infinity)),
                                            bitwise_and(gt(b, zero), lt(b, infinity))))
    p, q, y = where(usable, a, one), where(usable, b, one), where(usable, x, like(x, 0.5))
    # The fraction converges fast below the mean; above it, by symmetry, with the roles of a and b exchanged.
    swap = gt(y, div(add(p, one), add(add(p, q), like(p, 2))))
    first, second, z = where(swap, q, p), where(swap, p, q), where(swap, sub(one, y), y)
    tail = div(mul(beta_density(p, q, y), _fraction_p.bind(first, second, z)), first)
    out = where(swap, sub(one, tail), tail)
    low = bitwise_or(eq(x, zero), bitwise_and(bitwise_or(eq(b, zero), eq(a, infinity)), lt(x, one)))
    high = bitwise_or(eq(x, one), bitwise_and(bitwise_or(eq(a, zero), eq(b, infinity)), gt(x, zero)))
    out = where(low, zero, where(high, one, out))
    degenerate = bitwise_or(bitwise_and(eq(a, zero), eq(b, zero)), bitwise_and(eq(a, infinity), eq(b, infinity)))
    invalid = bitwise_or(bitwise_or(lt(a, zero), lt(b, zero)), bitwise_or(lt(x, zero), gt(x, one)))
    # ge(x, 0) will not do instead: XLA takes abs(x), exp(x) ... for non-negative even where they are NaN.
    missing = bitwise_or(bitwise_or(ne(a, a), ne(b, b)), ne(x, x))
    return where(bitwise_or(bitwise_or(invalid, missing), degenerate), like(x, np.nan), out)


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
