"""Incomplete gamma functions and the derivative of gamma samples, element by element.

The series and the continued fraction are those of the NIST Digital Library of Mathematical Functions, 8.11.4 and
8.9.2; the fraction is evaluated with Lentz's method (Thompson and Barnett, 1986). Derivatives with respect to ``a``
are forward derivatives of these loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._ground.families import defjvp, like
from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._bitwise import bitwise_and, bitwise_or
from jax.lax._comparison import eq, ge, gt, lt, ne
from jax.lax._composed import composed, epsilon, iterate, partial_derivative
from jax.lax._creation import full_like
from jax.lax._densities import gamma_density
from jax.lax._exponential import log
from jax.lax._magnitude import abs
from jax.lax._select import where
from jax.lax._special import digamma

# --- the two expansions ---------------------------------------------------------------------------------------------


def _by_fraction(a: Any, x: Any) -> Any:
    """Where the continued fraction converges fast; elsewhere the series does."""
    return bitwise_and(ge(x, like(x, 1)), gt(x, a))


def _series(a: Any, x: Any) -> Any:
    """``1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...``"""
    def step(n: Any, term: Any, total: Any) -> Any:
        term = mul(term, div(x, add(a, n)))
        total = add(total, term)
        return gt(term, mul(total, mul(like(x, 0.25), epsilon(x)))), term, total
    one = full_like(x, 1)
    return iterate(step, (one, one))[1]


def _fraction(a: Any, x: Any) -> Any:
    """``1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))``"""
    first = add(sub(x, a), like(x, 1))

    def step(n: Any, c: Any, d: Any, h: Any) -> Any:
        numerator = mul(n, sub(a, n))
        denominator = add(first, mul(like(n, 2), n))
        c = add(denominator, div(numerator, c))
        d = div(like(d, 1), add(denominator, mul(numerator, d)))
        factor = mul(c, d)
        return gt(abs(sub(factor, like(factor, 1))), epsilon(x)), c, d, mul(h, factor)
    d = div(like(x, 1), first)
    return iterate(step, (full_like(x, np.inf), d, d))[2]


def _fraction_slope(a: Any, x: Any) -> tuple[Any, Any]:
    """The fraction and its derivative with respect to ``a``, which has a test of convergence of its own.

    For an integer ``a`` the fraction ends after ``a`` terms, its derivative does not.
    """
    first = add(sub(x, a), like(x, 1))
    tiny = epsilon(x)

    def step(n: Any, c: Any, d: Any, h: Any, c_slope: Any, d_slope: Any, h_slope: Any) -> Any:
        numerator = mul(n, sub(a, n))
        denominator = add(first, mul(like(n, 2), n))
        quotient = div(numerator, c)
        c_slope = sub(div(sub(n, mul(quotient, c_slope)), c), like(x, 1))
        c = add(denominator, quotient)
        below = sub(add(mul(n, d), mul(numerator, d_slope)), like(x, 1))
        d = div(like(d, 1), add(denominator, mul(numerator, d)))
        d_slope = neg(mul(mul(d, d), below))
        factor = mul(c, d)
        change = add(mul(c_slope, d), mul(c, d_slope))
        more = bitwise_or(gt(abs(sub(factor, like(factor, 1))), tiny),
                          gt(abs(mul(h, change)), mul(tiny, add(abs(h), abs(h_slope)))))
        return more, c, d, mul(h, factor), c_slope, d_slope, add(mul(h_slope, factor), mul(h, change))
    d = div(like(x, 1), first)
    zero = full_like(x, 0)
    _, _, h, _, _, h_slope = iterate(step, (full_like(x, np.inf), d, d, zero, mul(d, d), mul(d, d)))
    return h, h_slope


def _regions(a: Any, x: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Where the fraction is used; usable arguments; and arguments for series and fraction, harmless where not used."""
    zero, one, infinity = like(a, 0), like(a, 1), like(a, np.inf)
    usable = bitwise_and(bitwise_and(gt(a, zero), gt(x, zero)), bitwise_and(lt(a, infinity), lt(x, infinity)))
    p, y = where(usable, a, one), where(usable, x, one)
    upper = _by_fraction(p, y)
    return upper, p, y, where(upper, zero, y), where(upper, p, one), where(upper, y, like(x, 2))


def _edges(a: Any, x: Any, inside: Any, at_zero: Any, at_infinity: Any) -> Any:
    """``inside`` where ``a`` and ``x`` are positive and finite, limits and NaN elsewhere."""
    zero, infinity = like(a, 0), like(a, np.inf)
    low = bitwise_or(eq(x, zero), eq(a, infinity))
    high = bitwise_or(eq(a, zero), eq(x, infinity))
    out = where(low, like(a, at_zero), where(high, like(a, at_infinity), inside))
    invalid = bitwise_or(bitwise_or(lt(a, zero), lt(x, zero)), bitwise_and(low, high))
    # ge(x, 0) will not do instead: XLA takes abs(x), exp(x) ... for non-negative even where they are NaN.
    missing = bitwise_or(ne(a, a), ne(x, x))
    return where(bitwise_or(invalid, missing), like(a, np.nan), out)


def _both_tails(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Where the upper tail is the small one, the lower tail by series and the upper one by fraction."""
    upper, p, y, near, q, far = _regions(a, x)
    density = gamma_density(p, y)
    return upper, mul(density, _series(p, near)), mul(mul(p, density), _fraction(q, far))


# --- igamma, igammac ------------------------------------------------------------------------------------------------


def _lower_tail(a: Any, x: Any) -> Any:
    upper, low, high = _both_tails(a, x)
    return _edges(a, x, where(upper, sub(like(high, 1), high), low), 0, 1)


def _upper_tail(a: Any, x: Any) -> Any:
    upper, low, high = _both_tails(a, x)
    return _edges(a, x, where(upper, high, sub(like(low, 1), low)), 1, 0)


# The derivative of the lower tail with respect to ``x``.
gamma_density_p = composed("gamma_density", lambda a, x: div(mul(a, gamma_density(a, x)), x), 2)
igamma_p = composed("igamma", _lower_tail, 2)
igammac_p = composed("igammac", _upper_tail, 2)
defjvp(igamma_p, lambda t, a, x: mul(t, igamma_grad_a(a, x)), lambda t, a, x: mul(t, gamma_density_p.bind(a, x)))
defjvp(igammac_p, lambda t, a, x: mul(t, neg(igamma_grad_a(a, x))),
       lambda t, a, x: mul(t, neg(gamma_density_p.bind(a, x))))


def igamma(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function, element by element.

    It is the probability that a gamma variable of shape ``a`` is below ``x``.

    Args:
      a, x: floating, not negative; NaN results where they are, and where both are 0 or both infinite. Equal shapes (0-d
        operands and axes of size 1 are broadcast).
    """
    return igamma_p.bind(a, x)


def igammac(a: Any, x: Any) -> Any:
    """``1 - igamma(a, x)``, accurate where it is small and ``x > a``."""
    return igammac_p.bind(a, x)


# --- igamma_grad_a, random_gamma_grad -------------------------------------------------------------------------------


def _relative_slopes(a: Any, x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Derivatives of the lower tail with respect to ``a``, over the density: by series and (negated) by fraction.

    The density's own derivative is itself times ``log(x) - digamma(a + 1)``.
    """
    upper, p, y, near, q, far = _regions(a, x)
    growth = sub(log(y), digamma(p))
    total, slope = partial_derivative(_series, 0, (p, near))
    by_series = add(mul(total, sub(growth, div(like(p, 1), p))), slope)
    total, slope = _fraction_slope(q, far)
    return upper, p, y, by_series, add(mul(total, growth), slope)


def _lower_tail_slope(a: Any, x: Any) -> Any:
    upper, p, y, by_series, by_fraction = _relative_slopes(a, x)
    slope = mul(gamma_density(p, y), where(upper, neg(mul(p, by_fraction)), by_series))
    return _edges(a, x, slope, 0, 0)


def _sample_slope(a: Any, x: Any) -> Any:
    upper, p, y, by_series, by_fraction = _relative_slopes(a, x)
    return _edges(a, x, mul(y, where(upper, by_fraction, neg(div(by_series, p)))), 0, np.nan)


igamma_grad_a_p = composed("igamma_grad_a", _lower_tail_slope, 2)
random_gamma_grad_p = composed("random_gamma_grad", _sample_slope, 2)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of :func:`igamma` with respect to ``a``, element by element. Operands as there."""
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(*args: Any) -> Any:
    """The derivative of a sample ``x`` of the gamma distribution of shape ``a`` with respect to ``a``.

    It is taken at constant cumulative probability: ``-igamma_grad_a(a, x)`` over the density at ``x`` (M. Figurnov et
    al., "Implicit reparameterization gradients", 2018).

    Args:
      *args: ``a`` and ``x``, floating arrays of one dtype.
    """
    a, x = args
    return random_gamma_grad_p.bind(a, x)
