"""Error functions and the normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._ground.families import category
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.numpy._promotion import promote_args_inexact
from jax.scipy.special._common import chebyshev, horner, in_float32, like, operands, with_slope
from jax.scipy.special._tables import DAWSN, ERFCX

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

# --- error functions ------------------------------------------------------------------------------------------------


@composite
def erf(x: Any) -> Any:
    """The error function ``2 / sqrt(pi) int_0^x exp(-t**2) dt``."""
    return lax.erf(*operands("erf", x))


@composite
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, accurate for large ``x``."""
    return lax.erfc(*operands("erfc", x))


@composite
def erfinv(x: Any) -> Any:
    """The inverse of :func:`erf`: infinite at 1 and -1, NaN beyond."""
    return lax.erf_inv(*operands("erfinv", x))


def _scaled_erfc(x: Any) -> Any:
    size = jnp.abs(x)
    t = jnp.where(jnp.isinf(size), jnp.ones_like(x), (size - 3.75) / (size + 3.75))
    right = chebyshev(t, ERFCX) / (1 + 2 * size)
    left = jnp.where(x < 0, x, jnp.zeros_like(x))
    return jnp.where(x < 0, 2 * jnp.exp(left * left) - right, right)


_erfcx = with_slope(lambda x: in_float32(_scaled_erfc, x), lambda x, out: 2 * x * out - like(x, _TWO_OVER_ROOT_PI))


@composite
def erfcx(x: Any) -> Any:
    """``exp(x**2) * erfc(x)``, without underflow for large ``x``."""
    return _erfcx(*operands("erfcx", x))


_DAWSN_SERIES = (1.0, -2 / 3, 4 / 15, -8 / 105, 16 / 945, -32 / 10395, 64 / 135135, -128 / 2027025)


def _dawson_integral(x: Any) -> Any:
    y = x * x
    t = jnp.where(jnp.isinf(y), jnp.ones_like(x), (y - 20) / (y + 20))
    # x / (1 + 2 y), which does not overflow in this form
    far = jnp.abs(x) > 1e4
    scale = jnp.where(far, 0.5 / jnp.where(far, x, jnp.ones_like(x)),
                      x / (1 + 2 * jnp.where(far, jnp.zeros_like(y), y)))
    small = jnp.where(y < 0.05, y, jnp.zeros_like(y))
    return jnp.where(y < 0.05, x * horner(small, _DAWSN_SERIES), chebyshev(t, DAWSN) * scale)


_dawsn = with_slope(lambda x: in_float32(_dawson_integral, x), lambda x, out: 1 - 2 * x * out)


@composite
def dawsn(x: Any) -> Any:
    """Dawson's integral ``exp(-x**2) int_0^x exp(t**2) dt``."""
    return _dawsn(*operands("dawsn", x))


@composite
def wofz(z: Any) -> Any:
    """The Faddeeva function ``exp(-z**2) erfc(-i z)`` of complex ``z``.

    By J. A. C. Weideman, "Computation of the complex error function" (1994), accurate to about 12 digits of the size of
    the result in double precision.
    """
    (z,) = promote_args_inexact("wofz", z)
    z = jnp.asarray(z)
    if category(typeof(z).dtype) != "complex":
        z = lax.complex(z, jnp.zeros_like(z))
    return _wofz(z)


def _weideman(n: int) -> tuple[float, list[float]]:
    m = 2 * n
    length = math.sqrt(n / math.sqrt(2))
    theta = np.arange(-m + 1, m) * np.pi / m
    t = length * np.tan(theta / 2)
    f = np.concatenate([[0.0], np.exp(-t ** 2) * (length ** 2 + t ** 2)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return length, [float(c) for c in a[1:n + 1]]


_LENGTH, _WEIDEMAN = _weideman(48)


def _faddeeva(z: Any) -> Any:
    lower = z.imag < 0
    w = jnp.where(lower, -z, z)
    below = _LENGTH - 1j * w
    ratio = (_LENGTH + 1j * w) / below
    total = jnp.zeros_like(z)
    for c in reversed(_WEIDEMAN):
        total = total * ratio + c
    out = 2 * total / (below * below) + (1 / math.sqrt(math.pi)) / below
    return jnp.where(lower, 2 * jnp.exp(-jnp.where(lower, z * z, jnp.zeros_like(z))) - out, out)


_wofz = with_slope(_faddeeva, lambda z, out: _TWO_OVER_ROOT_PI * 1j - 2 * z * out)

# --- the normal distribution ----------------------------------------------------------------------------------------

_ROOT_HALF = math.sqrt(0.5)


@composite
def ndtr(x: Any) -> Any:
    """The normal distribution function: the probability of values below ``x``."""
    (x,) = operands("ndtr", x)
    return 0.5 * lax.erfc(x * like(x, -_ROOT_HALF))


def _log_normal(x: Any) -> Any:
    scaled = x * like(x, -_ROOT_HALF)
    low = x < -1
    tail = jnp.log(_scaled_erfc(jnp.where(low, scaled, jnp.ones_like(x))) * 0.5) - 0.5 * x * x
    near = jnp.log1p(-0.5 * lax.erfc(-jnp.where(low, jnp.zeros_like(x), scaled)))
    return jnp.where(low, tail, near)


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    return in_float32(_log_normal, x)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    # exp(-x**2 / 2) / (sqrt(2 pi) ndtr(x)), in terms of the scaled function, which does not underflow
    scaled = _erfcx(jnp.where(x > 5, like(x, -5 * _ROOT_HALF), x * like(x, -_ROOT_HALF)))
    slope = math.sqrt(2 / math.pi) / scaled
    high = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)) / ndtr(x)
    return _log_ndtr(x), t * jnp.where(x > 5, high, slope)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of :func:`ndtr`, accurate in both tails. ``series_order`` is accepted and has no effect.

    Raises:
      TypeError: when ``series_order`` is not an integer.
      ValueError: when it is negative.
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be a Python integer, got {series_order!r}")
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return _log_ndtr_composite(x)


@composite
def _log_ndtr_composite(x: Any) -> Any:
    return _log_ndtr(*operands("log_ndtr", x))


def _normal_quantile(p: Any) -> Any:
    """Centrally the inverse error function; in the tails Newton's iteration for the logarithm of the probability."""
    dtype = typeof(p).dtype
    upper = p > 0.5
    tail = jnp.where(upper, 1 - p, p)
    central = math.sqrt(2) * lax.erf_inv(2 * jnp.where(tail > 0.1, p, like(p, 0.5)) - 1)
    inside = (tail > 0) & (tail <= 0.1)
    log_tail = jnp.log(jnp.where(inside, tail, like(p, 0.05)))
    r = jnp.sqrt(-2 * log_tail)
    x = -(r - (jnp.log(r) + 0.5 * math.log(2 * math.pi)) / r)
    for _ in range(4 if dtype.itemsize > 4 else 3):
        scaled = _scaled_erfc(x * like(x, -_ROOT_HALF))
        gap = jnp.log(0.5 * scaled) - 0.5 * x * x - log_tail
        x = x - gap * scaled * math.sqrt(math.pi / 2)
    x = jnp.where(upper, -x, x)
    out = jnp.where(inside, x, central)
    out = jnp.where(p == 0, like(p, -np.inf), jnp.where(p == 1, like(p, np.inf), out))
    return jnp.where((p >= 0) & (p <= 1), out, like(p, np.nan))


_ndtri = with_slope(lambda p: in_float32(_normal_quantile, p),
                    lambda p, out: math.sqrt(2 * math.pi) * jnp.exp(0.5 * out * out))


@composite
def ndtri(p: Any) -> Any:
    """The inverse of :func:`ndtr`: infinite at 0 and 1, NaN beyond."""
    return _ndtri(*operands("ndtri", p))


# --- Owen's T -------------------------------------------------------------------------------------------------------

_NODES, _WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(40))


def _owens_core(h: Any, a: Any) -> Any:
    """``T(h, a)`` for ``h >= 0`` and ``0 <= a <= 1`` by Gauss' quadrature of its definition.

    The integrand is concentrated in ``x < 9 / h``, so the rest is left out.
    """
    width = jnp.minimum(a, 9 / jnp.maximum(h, like(h, 1)))
    total = jnp.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = 0.5 * width * (node + 1)
        y = 1 + x * x
        total = total + weight * jnp.exp(-0.5 * h * h * y) / y
    return total * width * (0.5 / (2 * math.pi))


def _owens_value(h: Any, a: Any) -> Any:
    h, size = jnp.abs(h), jnp.abs(a)
    big = size > 1
    inner = jnp.where(big, size, jnp.ones_like(size))
    finite = jnp.where(jnp.isinf(inner), jnp.ones_like(inner), inner)
    ah = jnp.where(jnp.isinf(inner), jnp.where(h == 0, jnp.zeros_like(h), like(h, np.inf)), finite * h)
    # T(h, a) + T(a h, 1 / a) = (q(h) + q(a h)) / 2 - q(h) q(a h) with the upper tails q, which do not cancel
    q, qa = 0.5 * lax.erfc(h * _ROOT_HALF), 0.5 * lax.erfc(ah * _ROOT_HALF)
    swapped = _owens_core(jnp.where(big & ~jnp.isinf(ah), ah, jnp.zeros_like(h)), 1 / inner)
    swapped = jnp.where(jnp.isinf(ah), jnp.zeros_like(h), swapped)
    out = jnp.where(big, 0.5 * (q + qa) - q * qa - swapped, _owens_core(h, jnp.where(big, jnp.ones_like(size), size)))
    out = jnp.where(a < 0, -out, out)
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), like(h, np.nan), out)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    return in_float32(_owens_value, h, a)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (th, ta) = primals, tangents
    dh = -jnp.exp(-0.5 * h * h) * lax.erf(a * h * _ROOT_HALF) * (0.5 / math.sqrt(2 * math.pi))
    da = jnp.exp(-0.5 * h * h * (1 + a * a)) / (1 + a * a) * (0.5 / math.pi)
    return _owens_t(h, a), th * dh + ta * da


@composite
def owens_t(h: Any, a: Any) -> Any:
    """Owen's function: the probability of ``X > h`` and ``0 < Y < a X`` for independent normal variables."""
    return _owens_t(*operands("owens_t", h, a))
