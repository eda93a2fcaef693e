"""Trigonometric and hyperbolic functions and their inverses, element by element. Angles are in radians."""

from __future__ import annotations

from typing import Any

from jax._ground.families import COMPLEX, INEXACT, category, defjvp, like, nary, unary
from jax._language.avals import typeof
from jax.lax._accuracy import transcendental
from jax.lax._arithmetic import add, div, mul, neg, one_minus_square, sub
from jax.lax._power import rsqrt

# --- sin, cos, tan --------------------------------------------------------------------------------------------------

sin_p = transcendental("sin", INEXACT, "stablehlo.sine", lambda t, out, x, accuracy: mul(t, cos(x)))
cos_p = transcendental("cos", INEXACT, "stablehlo.cosine", lambda t, out, x, accuracy: mul(t, neg(sin(x))))
tan_p = transcendental("tan", INEXACT, "stablehlo.tan",
                       lambda t, out, x, accuracy: mul(t, add(like(out, 1), mul(out, out))))


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """The sine of each element.

    Args:
      x: floating or complex.
      accuracy: an :class:`AccuracyMode`, a :class:`Tolerance` or None, see the latter.
    """
    return sin_p.bind(x, accuracy=accuracy)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """The cosine of each element. Arguments as for :func:`sin`."""
    return cos_p.bind(x, accuracy=accuracy)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """The tangent of each element. Arguments as for :func:`sin`."""
    return tan_p.bind(x, accuracy=accuracy)


# --- asin, acos, atan, atan2 ----------------------------------------------------------------------------------------

asin_p = unary("asin", INEXACT, "chlo.asin", jvp=lambda t, x: mul(t, rsqrt(one_minus_square(x))))
acos_p = unary("acos", INEXACT, "chlo.acos", jvp=lambda t, x: mul(t, neg(rsqrt(one_minus_square(x)))))
atan_p = unary("atan", INEXACT, "chlo.atan", jvp=lambda t, x: div(t, add(like(x, 1), mul(x, x))))


def asin(x: Any) -> Any:
    """The inverse sine of each element (floating or complex), in [-pi/2, pi/2]; NaN outside [-1, 1]."""
    return asin_p.bind(x)


def acos(x: Any) -> Any:
    """The inverse cosine of each element (floating or complex), in [0, pi]; NaN outside [-1, 1]."""
    return acos_p.bind(x)


def atan(x: Any) -> Any:
    """The inverse tangent of each element (floating or complex), in [-pi/2, pi/2]."""
    return atan_p.bind(x)


def _squared_radius(x: Any, y: Any) -> Any:
    return add(mul(x, x), mul(y, y))


atan2_p = nary("atan2", INEXACT, "stablehlo.atan2")
defjvp(atan2_p, lambda t, x, y: mul(t, div(y, _squared_radius(x, y))),
       lambda t, x, y: mul(t, div(neg(x), _squared_radius(x, y))))


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point with abscissa ``y`` and ordinate ``x``, in [-pi, pi], element by element.

    For complex operands, ``-1j * log((y + 1j * x) / sqrt(x**2 + y**2))``.
    """
    return atan2_p.bind(x, y)


# --- sinh, cosh, tanh -----------------------------------------------------------------------------------------------

sinh_p = unary("sinh", INEXACT, "chlo.sinh", jvp=lambda t, x: mul(t, cosh(x)))
cosh_p = unary("cosh", INEXACT, "chlo.cosh", jvp=lambda t, x: mul(t, sinh(x)))
tanh_p = transcendental("tanh", INEXACT, "stablehlo.tanh", lambda t, out, x, accuracy: mul(t, one_minus_square(out)))


def sinh(x: Any) -> Any:
    """The hyperbolic sine of each element (floating or complex)."""
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine of each element (floating or complex)."""
    return cosh_p.bind(x)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """The hyperbolic tangent of each element. Arguments as for :func:`sin`."""
    return tanh_p.bind(x, accuracy=accuracy)


# --- asinh, acosh, atanh --------------------------------------------------------------------------------------------


def _acosh_jvp(t: Any, x: Any) -> Any:
    below, above = sub(x, like(x, 1)), add(x, like(x, 1))
    if category(typeof(x).dtype) == COMPLEX:  # one root each: the product's root is on the wrong branch on the left
        return mul(t, mul(rsqrt(below), rsqrt(above)))
    return mul(t, rsqrt(mul(below, above)))


asinh_p = unary("asinh", INEXACT, "chlo.asinh", jvp=lambda t, x: mul(t, rsqrt(add(mul(x, x), like(x, 1)))))
acosh_p = unary("acosh", INEXACT, "chlo.acosh", jvp=_acosh_jvp)
atanh_p = unary("atanh", INEXACT, "chlo.atanh", jvp=lambda t, x: div(t, one_minus_square(x)))


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine of each element (floating or complex)."""
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine of each element (floating or complex); NaN below 1."""
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent of each element (floating or complex); NaN outside [-1, 1]."""
    return atanh_p.bind(x)
