"""Powers and roots, element by element."""

from __future__ import annotations

import operator
from typing import Any

from jax._ground.families import (
    FLOATING,
    INEXACT,
    INTEGERS,
    NUMERIC,
    category,
    defjvp,
    like,
    nary,
    unary,
)
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax.lax._accuracy import transcendental
from jax.lax._arithmetic import div, mul, sub
from jax.lax._comparison import eq
from jax.lax._exponential import log
from jax.lax._select import where

# --- integer_pow ----------------------------------------------------------------------------------------------------


def _integer_pow_lower(ctx: Any, x: Any, *, y: int) -> Any:
    aval = ctx.avals_out[0]
    exponent = int(y) if y > 0 else -int(y)
    if exponent == 0:
        return hlo.full(1, aval.shape, aval.dtype)
    out = None
    while exponent:  # repeated squaring
        if exponent & 1:
            out = x if out is None else hlo.multiply(out, x)
        exponent >>= 1
        if exponent:
            x = hlo.multiply(x, x)
    return out if y > 0 else hlo.divide(hlo.full(1, aval.shape, aval.dtype), out)


def _integer_pow_jvp(t: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return Zero(typeof(t))
    if y == 1:
        return t
    return mul(t, mul(like(x, y), integer_pow(x, y - 1)))


integer_pow_p = unary("integer_pow", NUMERIC, _integer_pow_lower, jvp=_integer_pow_jvp)


def integer_pow(x: Any, y: int) -> Any:
    """``x ** y`` for a Python integer ``y``, by repeated multiplication. ``x ** 0`` is 1 everywhere.

    Raises:
      TypeError: for booleans, for a negative power of integers, and for a ``y`` that is no Python integer.
    """
    try:
        y = operator.index(y)
    except TypeError:
        raise TypeError(f"integer_pow: y must be a Python integer, got {y!r}; lax.pow takes other powers.") from None
    if y < 0 and category(typeof(x).dtype) in INTEGERS:
        raise TypeError(f"integer_pow: integers have no negative powers, got {typeof(x).str_short(False)} and y={y}. "
                        "Convert the operand to a floating dtype first.")
    return integer_pow_p.bind(x, y=y)


def reciprocal(x: Any) -> Any:
    """``1 / x``, element by element, for floating and complex operands."""
    return integer_pow(x, -1)


# --- pow ------------------------------------------------------------------------------------------------------------


def _pow_dtype(x: Any, y: Any) -> Any:
    if x != y and category(y) in INEXACT:
        raise TypeError(f"lax.pow: an inexact exponent must have the dtype of the base, got {x} and {y}. Convert one "
                        "with lax.convert_element_type, or use jax.numpy.power, which promotes dtypes.")
    return x


def _pow_lower(ctx: Any, x: Any, y: Any) -> Any:
    base, exponent = ctx.avals_in
    out = ctx.avals_out[0]
    if exponent.dtype == base.dtype:
        return hlo.power(x, y)
    return hlo.power(x, hlo.convert_element_type(y, exponent.update(shape=out.shape), out))


pow_p = nary("pow", (INEXACT, INEXACT | INTEGERS), _pow_lower, result=_pow_dtype, same=False)


def pow(x: Any, y: Any) -> Any:  # noqa: A001 - the documented name
    """``x ** y``, element by element.

    Args:
      x: floating or complex.
      y: of the dtype of ``x``, or integer. A Python integer is taken as an exponent of that kind.

    The derivative with respect to ``x`` is 0 where ``y`` is 0, and with respect to ``y`` it is 0 where ``x`` is 0 and
    ``y`` is not negative, so that neither turns into NaN there.
    """
    return pow_p.bind(x, y)


def _pow_jvp_base(t: Any, x: Any, y: Any) -> Any:
    one = like(y, 1)
    factor = mul(convert(y, typeof(x).dtype), pow(x, sub(y, one)))
    return mul(t, where(eq(y, like(y, 0)), like(x, 0), factor))


def _pow_jvp_exponent(t: Any, x: Any, y: Any) -> Any:
    zero = eq(x, like(x, 0))
    factor = mul(log(where(zero, like(x, 1), x)), pow(x, y))
    return mul(t, factor)


defjvp(pow_p, _pow_jvp_base, _pow_jvp_exponent)

# --- roots ----------------------------------------------------------------------------------------------------------

sqrt_p = transcendental("sqrt", INEXACT, "stablehlo.sqrt", lambda t, out, x, accuracy: mul(t, div(like(out, 0.5), out)))


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """The square root of each element, NaN for negative reals; the principal root of complex numbers.

    Args:
      x: floating or complex.
      accuracy: an :class:`AccuracyMode`, a :class:`Tolerance` or None, see the latter.
    """
    return sqrt_p.bind(x, accuracy=accuracy)


def _rsqrt_jvp(t: Any, out: Any, x: Any, accuracy: Any) -> Any:
    return mul(t, mul(like(out, -0.5), div(out, x)))


rsqrt_p = transcendental("rsqrt", INEXACT, "stablehlo.rsqrt", _rsqrt_jvp)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """``1 / sqrt(x)`` for each element: infinity at 0, NaN for negative reals. Arguments as for :func:`sqrt`."""
    return rsqrt_p.bind(x, accuracy=accuracy)


def _cbrt_jvp(t: Any, out: Any, x: Any, accuracy: Any) -> Any:
    return mul(t, div(like(out, 1 / 3), mul(out, out)))


cbrt_p = transcendental("cbrt", FLOATING, "stablehlo.cbrt", _cbrt_jvp)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """The real cube root of each element, negative for negative ones. Arguments as for :func:`sqrt`."""
    return cbrt_p.bind(x, accuracy=accuracy)
