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
