"""The gamma function and its relatives."""

from __future__ import annotations

import functools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._ground.families import category
from jax._language.avals import typeof
from jax.lax._densities import LARGE, stirling_error
from jax.numpy._promotion import promote_args_inexact
from jax.scipy.special._common import like, operands

# --- gamma ----------------------------------------------------------------------------------------------------------


@composite
def gammaln(x: Any) -> Any:
    """``log(abs(gamma(x)))`` for real ``x``."""
    (x,) = operands("gammaln", x)
    return lax.lgamma(x)


@composite
def gammasgn(x: Any) -> Any:
    """The sign of ``gamma(x)``: NaN at negative integers, -1 at -0."""
    (x,) = operands("gammasgn", x)
    return _gammasgn(x)


def _gammasgn(x: Any) -> Any:
    floor = jnp.floor(x)
    odd = jnp.abs(floor - 2 * jnp.round(floor / 2)) == 1
    sign = jnp.where((x < 0) & odd, like(x, -1), like(x, 1))
    sign = jnp.where((x == 0) & jnp.signbit(x), like(x, -1), sign)
    return jnp.where(((x < 0) & (x == floor)) | jnp.isnan(x), like(x, np.nan), sign)


@composite
def gamma(x: Any) -> Any:
    """The gamma function of real ``x``; NaN at negative integers, infinite at 0."""
    (x,) = operands("gamma", x)
    return lax.stop_gradient(_gammasgn(x)) * jnp.exp(lax.lgamma(x))


@composite
def loggamma(x: Any) -> Any:
    """The principal branch of the logarithm of the gamma function.

    Real ``x`` must be positive, else the result is NaN. Complex ones are computed by Stirling's series after steps up,
    and by reflection in the left half-plane (D. E. G. Hare, "Computing the principal branch of log-gamma", 1997).
    """
    (x,) = promote_args_inexact("loggamma", x)
    x = jnp.asarray(x)
    if category(typeof(x).dtype) == "complex":
        return _complex_loggamma(x)
    return jnp.where(x < 0, like(x, np.nan), lax.lgamma(x))


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_STEPS = 9


def _complex_loggamma(z: Any) -> Any:
    below = z.imag < 0
    z = jnp.where(below, jnp.conj(z), z)
    left = z.real < 0.5
    right = jnp.where(left, 1 - z, z)
    # log gamma(w) = log gamma(w + n) - log(w (w + 1) ...), every logarithm on its principal branch
    product = sum(jnp.log(right + k) for k in range(_STEPS))
    w = right + _STEPS
    series = 0
    for c in reversed(_STIRLING):
        series = series / (w * w) + c
    value = (w - 0.5) * jnp.log(w) - w + 0.5 * math.log(2 * math.pi) + series / w - product
    # log sin(pi z) without jumps for a positive imaginary part: sin(pi z) = i/2 exp(-i pi z) (1 - exp(2 i pi z))
    turn = jnp.exp(2j * math.pi * jnp.where(left, z, jnp.zeros_like(z)))
    log_sine = complex(-math.log(2), math.pi / 2) - 1j * math.pi * z + jnp.log1p(-turn)
    value = jnp.where(left, math.log(math.pi) - log_sine - value, value)
    return jnp.where(below, jnp.conj(value), value)


@composite
def digamma(x: Any) -> Any:
    """The derivative of the logarithm of the gamma function; NaN at 0 and negative integers."""
    (x,) = operands("digamma", x)
    return lax.digamma(x)


@composite
def polygamma(n: Any, x: Any) -> Any:
    """The ``n``-th derivative of :func:`digamma` at ``x``. It cannot be differentiated with respect to ``n``."""
    n, x = operands("polygamma", n, x)
    return lax.polygamma(n, x)


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz' zeta function, the sum of ``(k + q)**-x`` over ``k = 0, 1, ...``; Riemann's (``q = 1``) by default.

    Differentiable with respect to ``q`` only.
    """
    return _zeta(x, 1 if q is None else q)


@composite
def _zeta(x: Any, q: Any) -> Any:
    x, q = operands("zeta", x, q)
    return lax.zeta(x, q)


@composite
def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function, ``int_0^x t**(a-1) exp(-t) dt / gamma(a)``."""
    return lax.igamma(*operands("gammainc", a, x))


@composite
def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function, ``1 - gammainc(a, x)``."""
    return lax.igammac(*operands("gammaincc", a, x))


# --- beta -----------------------------------------------------------------------------------------------------------

@composite
def betaln(a: Any, b: Any) -> Any:
    """``log(abs(beta(a, b)))``, without cancellation for large positive operands.

    See A. R. DiDonato and A. H. Morris, "Significant digit computation of the incomplete beta function ratios" (1992).
    """
    return _betaln(*operands("betaln", a, b))


def _betaln(a: Any, b: Any) -> Any:
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    limit = like(a, LARGE)
    n = jnp.where(large >= limit, large, limit)
    s = jnp.where((large >= limit) & (small > 0), small, jnp.ones_like(small))
    total = n + s
    ratio = jnp.log1p(s / n)
    error = stirling_error(n) - stirling_error(total)
    # one large: lgamma(n) - lgamma(n + s) without large terms; both: lgamma(s) in the same way
    one = lax.lgamma(s) - (n - 0.5) * ratio - s * jnp.log(total) + s + error
    p = jnp.maximum(s, limit)
    both = ((p - 0.5) * jnp.log(p / (p + n)) - n * jnp.log1p(p / n) - 0.5 * jnp.log(n) + 0.5 * math.log(2 * math.pi)
            + stirling_error(p) + stirling_error(n) - stirling_error(n + p))
    direct = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    out = jnp.where((large >= limit) & (small > 0), jnp.where(small >= limit, both, one), direct)
    return jnp.where(jnp.isinf(large) & (small > 0), like(a, -np.inf), out)


@composite
def beta(a: Any, b: Any) -> Any:
    """The beta function ``gamma(a) gamma(b) / gamma(a + b)``."""
    a, b = operands("beta", a, b)
    sign = _gammasgn(a) * _gammasgn(b) * _gammasgn(a + b)
    return lax.stop_gradient(sign) * jnp.exp(_betaln(a, b))


@composite
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function, ``int_0^x t**(a-1) (1-t)**(b-1) dt / beta(a, b)``."""
    return lax.betainc(*operands("betainc", a, b, x))


@composite
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol ``gamma(z + m) / gamma(z)``."""
    z, m = operands("poch", z, m)
    sign = lax.stop_gradient(_gammasgn(z) * _gammasgn(z + m))
    out = sign * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
    return jnp.where(m == 0, jnp.ones_like(out), out)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension ``d``, a Python integer.

    ``a`` must exceed ``(d - 1) / 2``; elsewhere the result means nothing.

    Raises:
      ValueError: when ``d`` is not a positive integer.
    """
    try:
        d = operator.index(d)
    except TypeError:
        raise ValueError(f"multigammaln: the dimension d must be a Python integer, got {d!r}") from None
    if d < 1:
        raise ValueError(f"multigammaln: the dimension d must be positive, got {d}")
    return _multigammaln(a, d=d)


@functools.partial(composite, static_argnames=("d",))
def _multigammaln(a: Any, d: int) -> Any:
    (a,) = operands("multigammaln", a)
    return sum([lax.lgamma(a - k / 2) for k in range(d)], like(a, d * (d - 1) / 4 * math.log(math.pi)))


# --- combinatorics --------------------------------------------------------------------------------------------------

def factorial(n: Any, exact: bool = False) -> Any:
    """``n!`` as a float, ``gamma(n + 1)``; 0 for negative ``n``.

    Raises:
      NotImplementedError: with ``exact``, which needs integers of any size.
    """
    if exact:
        raise NotImplementedError("factorial: exact=True needs integers of any size; use math.factorial")
    return _factorial(n)


@composite
def _factorial(n: Any) -> Any:
    (n,) = operands("factorial", n)
    return jnp.where(n < 0, jnp.zeros_like(n), jnp.exp(lax.lgamma(jnp.where(n < 0, jnp.zeros_like(n), n) + 1)))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose ``k`` things out of ``N``, as a float; 0 where there is none.

    Args:
      N, k: arrays.
      repetition: whether a thing can be chosen again.
    """
    return _comb(N, k, repetition=bool(repetition))


@functools.partial(composite, static_argnames=("repetition",))
def _comb(N: Any, k: Any, repetition: bool) -> Any:
    n, k = operands("comb", N, k)
    if repetition:
        nothing = (n == 0) & (k == 0)
        n = jnp.where(nothing, n, n + k - 1)
    valid = (n >= 0) & (k >= 0) & (k <= n)
    n, k = jnp.where(valid, n, jnp.ones_like(n)), jnp.where(valid, k, jnp.zeros_like(k))
    out = jnp.exp(-_betaln(n - k + 1, k + 1)) / (n + 1)
    whole = (n == jnp.floor(n)) & (k == jnp.floor(k))
    # Rounding is exact as long as the dtype holds the integer.
    out = jnp.where(whole & (out < 1 / np.finfo(typeof(out).dtype).eps), lax.stop_gradient(jnp.round(out) - out) + out,
                    out)
    return jnp.where(valid, out, jnp.zeros_like(out))


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers ``B_0`` to ``B_n`` (with ``B_1 = -1/2``), for a Python integer ``n``.

    Raises:
      ValueError: when ``n`` is negative or no integer.
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise ValueError(f"bernoulli: n must be a Python integer, got {n!r}; it is a shape, so it cannot be traced") \
            from None
    if n < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}")
    dtype = dtypes.scalar_dtype(float)
    limit = float(np.finfo(dtype).max)
    numbers = [max(min(float(b), limit), -limit) if abs(b) <= limit else math.copysign(math.inf, b)
               for b in _bernoulli_numbers(n)]
    return jnp.asarray(numbers, dtype)


@functools.lru_cache(16)
def _bernoulli_numbers(n: int) -> list[Fraction]:
    out = [Fraction(1)]
    for m in range(1, n + 1):
        total = sum((math.comb(m + 1, k) * out[k] for k in range(m) if out[k]), Fraction(0))
        out.append(-total / (m + 1) if m == 1 or m % 2 == 0 else Fraction(0))
    return out
