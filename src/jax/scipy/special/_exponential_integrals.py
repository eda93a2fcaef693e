"""Exponential integrals."""

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
