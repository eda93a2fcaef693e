"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions, element by element.

Integers and booleans are computed in the default float (float32, or float64 under ``jax_enable_x64``); floats and
complex numbers keep their dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax._ground.families import broadcast_to_result, defjvp_out
from jax._language.avals import typeof
from jax.lax._composed import composed
from jax.lax._select import where as _where
from jax.numpy import _calls as calls
from jax.numpy._promotion import const, kind_of, promote_args_inexact
from jax.numpy._ufunc import ufunc_of


def _is_complex(x: Any) -> bool:
    return kind_of(x) == "complex"


# --- roots ----------------------------------------------------------------------------------------------------------

@calls.unary(lax.sqrt_p, calls.INEXACT, accuracy=None)
def sqrt(x: Any, /) -> Any:
    """The square root of each element: NaN for negative reals, the principal root of complex numbers."""
    return lax.sqrt(*promote_args_inexact("sqrt", x))


@calls.unary(lax.cbrt_p, calls.FLOATS, accuracy=None)
def cbrt(x: Any, /) -> Any:
    """The real cube root of each element."""
    return lax.cbrt(*promote_args_inexact("cbrt", x))


# --- exponentials and logarithms ------------------------------------------------------------------------------------

@calls.unary(lax.exp_p, calls.INEXACT, accuracy=None)
def exp(x: Any, /) -> Any:
    """e to the power of each element.

    >>> import jax.numpy as jnp
    >>> float(jnp.exp(0))
    1.0
    """
    return lax.exp(*promote_args_inexact("exp", x))


@calls.unary(lax.exp2_p, calls.INEXACT, accuracy=None)
def exp2(x: Any, /) -> Any:
    """2 to the power of each element."""
    return lax.exp2(*promote_args_inexact("exp2", x))


@calls.unary(lax.expm1_p, calls.INEXACT, accuracy=None)
def expm1(x: Any, /) -> Any:
    """``exp(x) - 1`` for each element, accurate near 0."""
    return lax.expm1(*promote_args_inexact("expm1", x))


@calls.unary(lax.log_p, calls.INEXACT, accuracy=None)
def log(x: Any, /) -> Any:
    """The natural logarithm of each element: -inf at 0, NaN for negative reals."""
    return lax.log(*promote_args_inexact("log", x))


@calls.unary(lax.log1p_p, calls.INEXACT, accuracy=None)
def log1p(x: Any, /) -> Any:
    """``log(1 + x)`` for each element, accurate near 0."""
    return lax.log1p(*promote_args_inexact("log1p", x))


@calls.unary(lax.log2_p, calls.INEXACT, accuracy=None)
def log2(x: Any, /) -> Any:
    """The logarithm to base 2 of each element."""
    return lax.log2(*promote_args_inexact("log2", x))


@calls.unary()
def log10(x: Any, /) -> Any:
    """The logarithm to base 10 of each element."""
    (x,) = promote_args_inexact("log10", x)
    return lax.div(lax.log(x), const(x, math.log(10)))


def _logarithm_of_sum(name: str, log1p_exp: Any, power: Any) -> Any:
    """A primitive: the logarithm of a sum of powers, as the larger exponent plus a correction."""
    def log_of_sum(x: Any, y: Any) -> Any:
        d = lax.sub(x, y)
        out = lax.add(lax.max(x, y), log1p_exp(lax.neg(lax.abs(d))))
        return _where(lax.ne(d, d), lax.add(x, y), out)  # equal infinities, or a NaN

    def share(position: int) -> Any:
        """An operand's share of the sum, by which its tangent counts; written so that no infinities are subtracted."""
        def rule(t: Any, out: Any, *operands: Any) -> Any:
            v = broadcast_to_result(operands[position], typeof(out).shape)
            return lax.mul(t, power(_where(lax.eq(v, out), const(v, 0), lax.sub(v, out))))
        return rule

    prim = composed(name, log_of_sum, 2)
    defjvp_out(prim, share(0), share(1))
    return prim


logaddexp_p = _logarithm_of_sum("logaddexp", lambda d: lax.log1p(lax.exp(d)), lax.exp)
logaddexp2_p = _logarithm_of_sum(
    "logaddexp2", lambda d: lax.div(lax.log1p(lax.exp2(d)), const(d, math.log(2))), lax.exp2)


def _complex_logaddexp(x: Any, y: Any) -> Any:
    swap = lax.gt(lax.real(y), lax.real(x))
    high, low = _where(swap, y, x), _where(swap, x, y)
    infinite = lax.eq(lax.real(low), const(lax.real(low), -np.inf))
    d = _where(infinite, const(x, -np.inf), lax.sub(low, high))
    return _where(infinite, high, lax.add(high, lax.log1p(lax.exp(d))))


@ufunc_of(2, identity=-np.inf)
@calls.binary(logaddexp_p, calls.FLOATS)
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """``log(exp(x1) + exp(x2))``, element by element, without overflow."""
    x1, x2 = promote_args_inexact("logaddexp", x1, x2)
    return _complex_logaddexp(x1, x2) if _is_complex(x1) else logaddexp_p.bind(x1, x2)


@ufunc_of(2, identity=-np.inf)
@calls.binary(logaddexp2_p, calls.FLOATS)
def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """``log2(2**x1 + 2**x2)``, element by element, without overflow."""
    x1, x2 = promote_args_inexact("logaddexp2", x1, x2)
    if _is_complex(x1):
        ln2 = const(x1, math.log(2))
        return lax.div(_complex_logaddexp(lax.mul(x1, ln2), lax.mul(x2, ln2)), ln2)
    return logaddexp2_p.bind(x1, x2)


# --- trigonometric functions ----------------------------------------------------------------------------------------

@calls.unary(lax.sin_p, calls.INEXACT, accuracy=None)
def sin(x: Any, /) -> Any:
    """The sine of each element, in radians."""
    return lax.sin(*promote_args_inexact("sin", x))


@calls.unary(lax.cos_p, calls.INEXACT, accuracy=None)
def cos(x: Any, /) -> Any:
    """The cosine of each element, in radians."""
    return lax.cos(*promote_args_inexact("cos", x))


@calls.unary(lax.tan_p, calls.INEXACT, accuracy=None)
def tan(x: Any, /) -> Any:
    """The tangent of each element, in radians."""
    return lax.tan(*promote_args_inexact("tan", x))


@calls.unary(lax.asin_p, calls.INEXACT)
def arcsin(x: Any, /) -> Any:
    """The angle in ``[-pi/2, pi/2]`` whose sine each element is; NaN for reals outside of [-1, 1]."""
    return lax.asin(*promote_args_inexact("arcsin", x))


@calls.unary(lax.acos_p, calls.INEXACT)
def arccos(x: Any, /) -> Any:
    """The angle in ``[0, pi]`` whose cosine each element is; NaN for reals outside of [-1, 1]."""
    return lax.acos(*promote_args_inexact("arccos", x))


@calls.unary(lax.atan_p, calls.INEXACT)
def arctan(x: Any, /) -> Any:
    """The angle in ``(-pi/2, pi/2)`` whose tangent each element is."""
    return lax.atan(*promote_args_inexact("arctan", x))


@calls.binary(lax.atan2_p, calls.FLOATS)
def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle in ``[-pi, pi]`` of the point with ordinate ``x1`` and abscissa ``x2``, element by element."""
    return lax.atan2(*promote_args_inexact("arctan2", x1, x2))


# --- hyperbolic functions -------------------------------------------------------------------------------------------

@calls.unary(lax.sinh_p, calls.INEXACT)
def sinh(x: Any, /) -> Any:
    """The hyperbolic sine of each element."""
    return lax.sinh(*promote_args_inexact("sinh", x))


@calls.unary(lax.cosh_p, calls.INEXACT)
def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine of each element."""
    return lax.cosh(*promote_args_inexact("cosh", x))


@calls.unary(lax.tanh_p, calls.INEXACT, accuracy=None)
def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent of each element."""
    return lax.tanh(*promote_args_inexact("tanh", x))


@calls.unary(lax.asinh_p, calls.INEXACT)
def arcsinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine of each element."""
    return lax.asinh(*promote_args_inexact("arcsinh", x))


@calls.unary(lax.acosh_p, calls.FLOATS)
def arccosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine of each element; NaN for reals below 1, the principal value of complex numbers."""
    (x,) = promote_args_inexact("arccosh", x)
    return lax.acosh(x)


@calls.unary(lax.atanh_p, calls.INEXACT)
def arctanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent of each element; NaN for reals outside of [-1, 1]."""
    return lax.atanh(*promote_args_inexact("arctanh", x))


# --- angles and other functions made of these -----------------------------------------------------------------------

@calls.unary()
def deg2rad(x: Any, /) -> Any:
    """Degrees as radians."""
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, const(x, np.pi / 180))


@calls.unary()
def rad2deg(x: Any, /) -> Any:
    """Radians as degrees."""
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, const(x, 180 / np.pi))


@calls.binary()
def hypot(x1: Any, x2: Any, /) -> Any:
    """``sqrt(x1**2 + x2**2)``, element by element, without overflow. Infinity where an operand is infinite.

    Raises:
      TypeError: for complex numbers.
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if _is_complex(x1):
        raise TypeError("hypot does not accept complex numbers; use jnp.abs.")
    a, b = lax.abs(x1), lax.abs(x2)
    inf, zero, one = (const(a, v) for v in (np.inf, 0, 1))
    infinite = lax.bitwise_or(lax.eq(a, inf), lax.eq(b, inf))
    high, low = lax.max(a, b), lax.min(a, b)
    nothing = lax.eq(high, zero)
    ratio = lax.div(low, _where(nothing, one, high))
    out = lax.mul(high, lax.sqrt(lax.add(one, lax.square(ratio))))
    return _where(infinite, inf, _where(nothing, high, out))


@calls.unary()
def sinc(x: Any, /) -> Any:
    """``sin(pi x) / (pi x)`` for each element, 1 at 0, with exact derivatives there."""
    (x,) = promote_args_inexact("sinc", x)
    zero = lax.eq(x, const(x, 0))
    pi_x = lax.mul(const(x, np.pi), x)
    safe = _where(zero, const(x, 1), pi_x)
    return _where(zero, _sinc_near_zero(pi_x), lax.div(lax.sin(safe), safe))


def _sinc_near_zero(x: Any) -> Any:
    """The Taylor polynomial of ``sin(x) / x``, for its derivatives at 0."""
    s = lax.square(x)
    out = const(x, 0)
    for n in (5, 4, 3, 2, 1):
        out = lax.mul(s, lax.add(const(x, (-1.0) ** n / math.factorial(2 * n + 1)), out))
    return lax.add(const(x, 1), out)


@calls.unary()
def i0(x: Any, /) -> Any:
    """The modified Bessel function of the first kind and order 0.

    Raises:
      TypeError: for complex numbers.
    """
    (x,) = promote_args_inexact("i0", x)
    if _is_complex(x):
        raise TypeError("i0 does not accept complex numbers.")
    x = lax.abs(x)
    return lax.mul(lax.exp(x), lax.bessel_i0e(x))
