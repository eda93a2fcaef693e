"""Exponential, trigonometric and Fresnel integrals, the dilogarithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.scipy.special import _tables as tables
from jax.scipy.special._common import chebyshev, horner, in_float32, like, operands, with_slope

_EULER = float(np.euler_gamma)

# --- exponential integrals ------------------------------------------------------------------------------------------

_SERIES = [1 / (k * math.factorial(k)) for k in range(1, 80)]
_SERIES_20 = [20.0 ** (k - 1) * c for k, c in enumerate(_SERIES, 1)]  # in x / 20, so that none underflows


def _exp1_value(x: Any) -> Any:
    near = jnp.where((x > 0) & (x < 1), x, like(x, 0.5))
    series = -_EULER - jnp.log(near) + near * horner(-near, _SERIES[:20])
    far = jnp.where((x >= 1) & (x < np.inf), x, jnp.ones_like(x))
    tail = chebyshev((far - 5) / (far + 3), tables.EXP1) * jnp.exp(-far) / far
    out = jnp.where(x < 1, series, tail)
    out = jnp.where(x == 0, like(x, np.inf), jnp.where(x == np.inf, jnp.zeros_like(x), out))
    return jnp.where(x >= 0, out, like(x, np.nan))


_exp1 = with_slope(lambda x: in_float32(_exp1_value, x), lambda x, out: -jnp.exp(-x) / x)


@composite
def exp1(x: Any) -> Any:
    """The exponential integral ``int_x^inf exp(-t) / t dt`` for positive ``x``; NaN for negative ones."""
    return _exp1(*operands("exp1", x))


def _expi_value(x: Any) -> Any:
    near = jnp.where((x > 0) & (x <= 20), x, jnp.ones_like(x))
    count = 80 if typeof(x).dtype.itemsize > 4 else 60
    series = _EULER + jnp.log(near) + near * horner(near / 20, _SERIES_20[:count])
    far = jnp.where((x > 20) & (x < np.inf), x, like(x, 40))
    t = 40 / far - 1
    half = jnp.exp(0.5 * far)  # exp(x) may overflow where the result does not
    tail = chebyshev(t, tables.EXPI) / far * half * half
    negative = -_exp1_value(jnp.where(x < 0, -x, jnp.ones_like(x)))
    out = jnp.where(x < 0, negative, jnp.where(x <= 20, series, tail))
    out = jnp.where(x == 0, like(x, -np.inf), out)
    return jnp.where(jnp.isnan(x) | (x == np.inf), x, out)


_expi = with_slope(lambda x: in_float32(_expi_value, x), lambda x, out: jnp.exp(x) / x)


@composite
def expi(x: Any) -> Any:
    """The exponential integral ``int_-inf^x exp(t) / t dt``, a principal value for positive ``x``."""
    return _expi(*operands("expi", x))


_FRACTION_STEPS = 60


def _expn_value(n: Any, x: Any) -> Any:
    """Upwards from order 1 for ``x <= 1``, where that is stable; a continued fraction beyond.

    The fraction is that of Abramowitz and Stegun, 5.1.22, evaluated from its end.
    """
    near = jnp.where((x > 0) & (x <= 1), x, jnp.ones_like(x))
    decay = jnp.exp(-near)

    def up(state: Any) -> Any:
        k, value = state
        return k + 1, jnp.where(k < n, (decay - near * value) / k, value)

    top = jnp.max(jnp.where((x > 0) & (x <= 1), n, jnp.ones_like(n)), initial=1)
    _, series = lax.while_loop(lambda s: s[0] < top, up, (jnp.ones_like(top), _exp1_value(near)))
    far = jnp.where((x > 1) & (x < np.inf), x, like(x, 2))
    order = jnp.where(n >= 1, n, jnp.ones_like(n))
    tail = far + order + 2 * _FRACTION_STEPS
    for k in range(_FRACTION_STEPS, 0, -1):
        tail = far + order + 2 * (k - 1) - k * (order + k - 1) / tail
    fraction = jnp.exp(-far) / tail
    out = jnp.where(x > 1, fraction, series)
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, jnp.ones_like(n)), like(x, np.inf))
    out = jnp.where(x == 0, at_zero, jnp.where(x == np.inf, jnp.zeros_like(x), out))
    out = jnp.where(n == 0, jnp.exp(-x) / x, out)
    return jnp.where((x >= 0) & (n >= 0), out, like(x, np.nan))


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    return in_float32(_expn_value, n, x)


@_expn.defjvp
def _expn_jvp(primals: Any, tangents: Any) -> Any:
    (n, x), (_, t) = primals, tangents
    lower = jnp.where(n >= 1, _expn(jnp.maximum(n - 1, jnp.zeros_like(n)), x), jnp.exp(-x) * (1 + x) / (x * x))
    return _expn(n, x), -t * lower


@composite
def expn(n: Any, x: Any) -> Any:
    """The exponential integral ``int_1^inf exp(-x t) / t**n dt`` for ``x >= 0`` and integers ``n >= 0``.

    Not differentiable with respect to ``n``.
    """
    n, x = operands("expn", n, x)
    return _expn(lax.stop_gradient(n), x)


# --- sine and cosine integrals --------------------------------------------------------------------------------------

def _sici_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    y = size * size
    near = size <= 4
    t = jnp.where(near, y / 8 - 1, jnp.zeros_like(x))
    si_near = size * chebyshev(t, tables.SI)
    log_size = jnp.log(jnp.where(near & (size > 0), size, jnp.ones_like(x)))
    ci_near = _EULER + log_size - jnp.where(near, y, jnp.zeros_like(y)) * chebyshev(t, tables.CIN)
    far = jnp.where(near | jnp.isinf(size), like(x, 5), size)
    above = far * far - 16
    t = jnp.where(jnp.isinf(above), jnp.ones_like(x), (above - 60) / (above + 60))
    f = chebyshev(t, tables.SICI_F) / far
    g = chebyshev(t, tables.SICI_G) / far / far
    sine, cosine = jnp.sin(far), jnp.cos(far)
    si_far = math.pi / 2 - f * cosine - g * sine
    ci_far = f * sine - g * cosine
    si = jnp.where(near, si_near, jnp.where(jnp.isinf(size), like(x, math.pi / 2), si_far))
    ci = jnp.where(near, ci_near, jnp.where(jnp.isinf(size), jnp.zeros_like(x), ci_far))
    ci = jnp.where(x == 0, like(x, -np.inf), ci)
    si = jnp.where(x < 0, -si, si)
    ci = jnp.where(x == -np.inf, like(x, np.nan), ci)  # the branch of the logarithm is left out for negative x
    wrong = jnp.isnan(x)
    return jnp.where(wrong, x, si), jnp.where(wrong, x, ci)


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    if typeof(x).dtype.itemsize >= 4:
        return _sici_value(x)
    si, ci = _sici_value(x.astype(np.float32))
    return si.astype(typeof(x).dtype), ci.astype(typeof(x).dtype)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    safe = jnp.where(x == 0, jnp.ones_like(x), x)
    return _sici(x), (t * jnp.where(x == 0, jnp.ones_like(x), jnp.sin(safe) / safe), t * jnp.cos(x) / x)


@composite
def sici(x: Any) -> tuple[Any, Any]:
    """The sine and cosine integrals ``(Si(x), Ci(x))``; for negative ``x`` the real part of the latter."""
    return _sici(*operands("sici", x))


# --- Fresnel integrals ----------------------------------------------------------------------------------------------

_CUT = 1.8


def _fresnel_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size <= _CUT
    inner = jnp.where(near, size, jnp.ones_like(x))
    t = 2 * (inner / _CUT) ** 4 - 1
    s_near = inner ** 3 * chebyshev(t, tables.FRESNEL_S)
    c_near = inner * chebyshev(t, tables.FRESNEL_C)
    outer = jnp.where(near | jnp.isinf(size), like(x, 2), size)
    y = outer ** 4 - _CUT ** 4
    t = jnp.where(jnp.isinf(y), jnp.ones_like(x), (y - 20) / (y + 20))
    f = chebyshev(t, tables.FRESNEL_F) / (math.pi * outer)
    t = jnp.where(jnp.isinf(y), jnp.ones_like(x), (y - 40) / (y + 40))
    g = chebyshev(t, tables.FRESNEL_G) / (math.pi ** 2 * outer) / outer / outer
    # sin and cos of pi x**2 / 2; the whole turns of x**2 are taken off before
    half = _quarter_turns(outer)
    sine, cosine = jnp.sin(math.pi / 2 * half), jnp.cos(math.pi / 2 * half)
    s_far, c_far = 0.5 - f * cosine - g * sine, 0.5 + f * sine - g * cosine
    s = jnp.where(near, s_near, jnp.where(jnp.isinf(size), like(x, 0.5), s_far))
    c = jnp.where(near, c_near, jnp.where(jnp.isinf(size), like(x, 0.5), c_far))
    sign = jnp.sign(x)
    wrong = jnp.isnan(x)
    return jnp.where(wrong, x, sign * s), jnp.where(wrong, x, sign * c)


def _quarter_turns(x: Any) -> Any:
    """``x**2`` modulo 4, exactly, from the whole part ``w`` and the rest ``r`` of ``x``: ``w**2 + 2 w r + r**2``.

    For the second term ``w`` is split once more, into parts whose products with ``r`` have no more bits than the dtype.
    """
    half = 2.0 ** (26 if typeof(x).dtype.itemsize > 4 else 12)
    whole = jnp.round(x)
    rest = x - whole
    high = jnp.round(whole / half)
    low = whole - high * half
    middle = high * jnp.mod(half * rest, 2) + low * rest
    return jnp.mod(jnp.mod(whole, 4) ** 2, 4) + 2 * jnp.mod(middle, 2) + rest * rest


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    if typeof(x).dtype.itemsize >= 4:
        return _fresnel_value(x)
    s, c = _fresnel_value(x.astype(np.float32))
    return s.astype(typeof(x).dtype), c.astype(typeof(x).dtype)


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    angle = math.pi / 2 * x * x
    return _fresnel(x), (t * jnp.sin(angle), t * jnp.cos(angle))


@composite
def fresnel(x: Any) -> tuple[Any, Any]:
    """The Fresnel integrals ``(S(x), C(x))`` of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to ``x``."""
    return _fresnel(*operands("fresnel", x))


# --- the dilogarithm ------------------------------------------------------------------------------------------------

# B_2k / (2k + 1)!
_DEBYE = (1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -4.0647616451442255e-11, 8.921691020456452e-13,
          -1.9939295860721076e-14, 4.518980029619918e-16, -1.0356517612181247e-17)


def _dilogarithm(z: Any) -> Any:
    """``Li2(z)`` for ``z`` in [-1, 1/2], by its series in ``-log(1 - z)``."""
    u = -jnp.log1p(-z)
    return u - 0.25 * u * u + u ** 3 * horner(u * u, _DEBYE)


def _spence_value(z: Any) -> Any:
    """``Li2(1 - z)``, with ``w = 1 - z`` brought to [-1, 1/2] by the functional equations of the dilogarithm."""
    w = 1 - z
    third = math.pi ** 2 / 6
    big = z > 2  # w < -1: by w -> 1 / w
    zb = jnp.where(big, z, like(z, 3))
    log_w = jnp.log(zb - 1)
    large = -_dilogarithm(1 / (1 - zb)) - third - 0.5 * log_w * log_w
    small = z < 0.5  # w > 1/2: by w -> 1 - w
    zs = jnp.where(small & (z > 0), z, like(z, 0.25))
    reflected = third - jnp.log(zs) * jnp.log1p(-zs) - _dilogarithm(zs)
    middle = _dilogarithm(jnp.where(big | small, jnp.zeros_like(w), w))
    out = jnp.where(big, large, jnp.where(small, reflected, middle))
    out = jnp.where(z == 0, like(z, third), out)
    return jnp.where(z >= 0, out, like(z, np.nan))


_spence = with_slope(lambda z: in_float32(_spence_value, z), lambda z, out: _spence_slope(z))


def _spence_slope(z: Any) -> Any:
    near = jnp.abs(z - 1) < 1e-3
    w = z - 1
    series = -1 + w / 2 - w * w / 3 + w ** 3 / 4 - w ** 4 / 5
    return jnp.where(near, series, jnp.log(z) / (1 - jnp.where(near, like(z, 2), z)))


@composite
def spence(x: Any) -> Any:
    """Spence's function ``int_1^x log(t) / (1 - t) dt``, the dilogarithm of ``1 - x``; NaN for negative ``x``."""
    return _spence(*operands("spence", x))
