"""Densities of the gamma and beta distributions, accurate for large parameters.

Written with logarithms of gamma functions they lose as many digits as these have before the point. C. Loader's
saddle-point form ("Fast and accurate computation of binomial probabilities", 2000) has no large terms to cancel.
"""

from __future__ import annotations

import math
from typing import Any

from jax._ground.families import like
from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import ge, lt
from jax.lax._exponential import exp, log, log1p
from jax.lax._magnitude import abs, max, min
from jax.lax._power import sqrt
from jax.lax._select import where
from jax.lax._special import lgamma

LARGE = 10.0  # from here on Stirling's series with the terms below has full double precision
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LOG_TERMS = 15


def horner(x: Any, coefficients: Any) -> Any:
    """The polynomial with these coefficients, constant first."""
    *rest, out = coefficients
    out = like(x, out)
    for c in reversed(rest):
        out = add(mul(out, x), like(x, c))
    return out


def log1p_minus(u: Any) -> Any:
    """``log(1 + u) - u``, accurate near 0, where both terms are nearly equal.

    There it is ``r * (2 * (y / 3 + y**2 / 5 + ...) - u)`` with ``r = u / (2 + u)`` and ``y = r**2``, from the series
    of the inverse hyperbolic tangent.
    """
    near = lt(abs(u), like(u, 0.4))
    v = where(near, u, like(u, 0))
    r = div(v, add(v, like(v, 2)))
    y = mul(r, r)
    tail = mul(y, horner(y, [2 / (2 * k + 3) for k in range(_LOG_TERMS)]))
    return where(near, mul(r, sub(tail, v)), sub(log1p(u), u))


def stirling_error(a: Any) -> Any:
    """``lgamma(a)`` without ``(a - 1/2) log(a) - a + log(2 pi) / 2``, for ``a`` of at least ``LARGE``."""
    inverse = div(like(a, 1), a)
    return mul(inverse, horner(mul(inverse, inverse), _STIRLING))


def gamma_density(a: Any, x: Any) -> Any:
    """``x**a * exp(-x) / gamma(a + 1)`` for positive finite ``a`` and ``x``."""
    large = ge(a, like(a, LARGE))
    b = max(a, like(a, LARGE))
    centred = exp(sub(mul(b, log1p_minus(div(sub(x, b), b))), stirling_error(b)))
    centred = div(centred, sqrt(mul(like(b, 2 * math.pi), b)))
    c = min(a, like(a, LARGE))
    direct = exp(sub(sub(mul(c, log(x)), x), lgamma(add(c, like(c, 1)))))
    return where(large, centred, direct)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """``x**a * (1 - x)**b / beta(a, b)`` for positive finite ``a`` and ``b`` and ``0 < x < 1``."""
    small, large = min(a, b), max(a, b)
    limit = like(a, LARGE)
    # Both large: the saddle point.
    p, q = max(a, limit), max(b, limit)
    n = add(p, q)
    off = sub(mul(x, q), mul(sub(like(x, 1), x), p))
    exponent = add(mul(p, log1p_minus(div(off, p))), mul(q, log1p_minus(neg(div(off, q)))))
    corrections = sub(stirling_error(n), add(stirling_error(p), stirling_error(q)))
    scale = sqrt(div(mul(p, div(q, n)), like(n, 2 * math.pi)))
    both = mul(scale, exp(add(exponent, corrections)))
    # One large, one small: lgamma(s + m) - lgamma(m) without large terms. Both small: directly.
    s, m = min(small, limit), max(large, limit)
    total = add(s, m)
    ratio = add(mul(sub(m, like(m, 0.5)), log1p(div(s, m))), sub(mul(s, log(total)), s))
    ratio = add(ratio, sub(stirling_error(total), stirling_error(m)))
    k = min(large, limit)
    ratio = where(ge(large, limit), ratio, sub(lgamma(add(s, k)), lgamma(k)))
    powers = add(mul(a, log(x)), mul(b, log1p(neg(x))))
    direct = exp(add(powers, sub(ratio, lgamma(s))))
    return where(bitwise_and(ge(a, limit), ge(b, limit)), both, direct)
