"""Sums, products, quotients, remainders, powers, signs and extremes, element by element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._base._jaxlib import xla
from jax._language.avals import typeof
from jax.lax._select import where as _where
from jax.numpy import _calls as calls
from jax.numpy._promotion import (
    as_dtype,
    check_arraylike,
    const,
    kind_of,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_shapes,
    unwrap,
)
from jax.numpy._ufunc import ufunc_of

_BOOL = np.dtype(bool)


def _is_bool(x: Any) -> bool:
    return typeof(x).dtype == _BOOL  # type: ignore[no-any-return]


# --- sums and products ----------------------------------------------------------------------------------------------

@ufunc_of(2, identity=0)
@calls.binary(lax.add_p, calls.NUMBERS)
def add(x: Any, y: Any, /) -> Any:
    """``x + y``, element by element; of booleans, "or".

    >>> import jax.numpy as jnp
    >>> jnp.add(jnp.array([1, 2]), 0.5).tolist()
    [1.5, 2.5]
    """
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if _is_bool(x) else lax.add(x, y)


@ufunc_of(2)
@calls.binary(lax.sub_p, calls.NUMBERS)
def subtract(x: Any, y: Any, /) -> Any:
    """``x - y``, element by element. Unsigned integers wrap around.

    Raises:
      TypeError: for booleans.
    """
    x, y = promote_args("subtract", x, y)
    return lax.sub(x, y)


@ufunc_of(2, identity=1)
@calls.binary(lax.mul_p, calls.NUMBERS, out_dtype=None)
def multiply(x: Any, y: Any, /) -> Any:
    """``x * y``, element by element; of booleans, "and"."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if _is_bool(x) else lax.mul(x, y)


@ufunc_of(1)
@calls.unary(lax.neg_p, calls.NUMBERS)
def negative(x: Any, /) -> Any:
    """``-x``, element by element. Unsigned integers wrap around.

    Raises:
      TypeError: for booleans; use ``~x`` or ``jnp.logical_not``.
    """
    (x,) = promote_args("negative", x)
    return lax.neg(x)


@calls.unary()
def positive(x: Any, /) -> Any:
    """``+x``: the array itself, of any numeric dtype."""
    (x,) = promote_args("positive", x)
    return _as_array(x)


@calls.unary(lax.square_p, calls.NUMBERS)
def square(x: Any, /) -> Any:
    """``x * x``, element by element; booleans become integers."""
    (x,) = promote_args_numeric("square", x)
    return lax.square(x)


def _as_array(x: Any) -> Any:
    """An operand as an array or tracer, with its weakness."""
    if isinstance(x, xla.Array):
        return x
    aval = typeof(x)
    return lax.convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)


# --- quotients and remainders ---------------------------------------------------------------------------------------

@calls.binary(lax.div_p, calls.INEXACT)
def true_divide(x1: Any, x2: Any, /) -> Any:
    """``x1 / x2``, element by element, in floating point also for integers (in the default float)."""
    x1, x2 = promote_args_inexact("true_divide", x1, x2)
    return lax.div(x1, x2)


@calls.binary()
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """``x1 // x2``, element by element: the quotient rounded towards minus infinity.

    Integers stay integers; for a zero divisor the result is XLA's: -1 (all bits set) where the dividend is not
    negative. Of floats, infinities and zeros behave as in NumPy.

    Raises:
      TypeError: for complex numbers.
    """
    positive = _is_positive_number(x2)
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    kind = kind_of(x1)
    if kind == "unsigned":
        return lax.div(x1, x2)
    if positive and kind in ("signed", "floating"):
        return _quotient_by_positive(x1, x2, kind)
    if kind == "signed":
        q = lax.div(x1, x2)
        inexact = lax.bitwise_and(lax.ne(lax.sign(x1), lax.sign(x2)), lax.ne(lax.rem(x1, x2), const(x1, 0)))
        return _where(inexact, lax.sub(q, const(q, 1)), q)
    if kind == "complex":
        raise TypeError("floor_divide: complex numbers have no floor; use jnp.true_divide.")
    return _float_divmod(x1, x2)[0]


def _is_positive_number(x: Any) -> bool:
    """Whether ``x`` is a Python number whose sign is known while tracing: the usual divisor, and a shorter program."""
    return (type(x) is int or type(x) is float) and 0 < x < float("inf")


def _quotient_by_positive(x: Any, y: Any, kind: str) -> Any:
    r = lax.rem(x, y)
    below = lax.lt(r, const(x, 0))
    q = lax.div(x, y) if kind == "signed" else lax.div(lax.sub(x, r), y)
    q = lax.select(below, lax.sub(q, const(q, 1)), q)
    return q if kind == "signed" else lax.round(q)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    r = lax.rem(x, y)
    zero, one = const(x, 0), const(x, 1)
    whole = _where(lax.eq(y, zero), x, lax.sub(x, r))  # x / 0 is an infinity or NaN, though rem(x, 0) is NaN
    q = lax.div(whole, y)
    other_sign = lax.bitwise_and(lax.ne(r, zero), lax.ne(lax.lt(r, zero), lax.lt(y, zero)))
    q = _where(other_sign, lax.sub(q, one), q)
    return lax.round(q), _where(other_sign, lax.add(r, y), r)


@calls.binary()
def remainder(x1: Any, x2: Any, /) -> Any:
    """The remainder of ``x1 / x2`` with the sign of ``x2``, element by element, as Python's ``%``.

    Of integers, the remainder of a division by zero is 0. For the sign of ``x1`` see ``jnp.fmod``.
    """
    positive = _is_positive_number(x2)
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = const(x1, 0)
    kind = kind_of(x1)
    if positive and kind in ("signed", "floating"):
        r = lax.rem(x1, x2)
        return lax.select(lax.lt(r, zero), lax.add(r, x2), r)
    if kind in ("signed", "unsigned"):
        x2 = _where(lax.eq(x2, zero), const(x2, 1), x2)
    r = lax.rem(x1, x2)
    if kind == "unsigned":
        return r
    wrong = lax.bitwise_and(lax.ne(lax.lt(r, zero), lax.lt(x2, zero)), lax.ne(r, zero))
    return _where(wrong, lax.add(r, x2), r)


@calls.binary()
def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of ``x1 / x2`` with the sign of ``x1``, element by element, as C's ``fmod``.

    Of integers, the remainder of a division by zero is 0.
    """
    x1, x2 = promote_args_numeric("fmod", x1, x2)
    if kind_of(x1) in ("signed", "unsigned"):
        x2 = _where(lax.eq(x2, const(x2, 0)), const(x2, 1), x2)
    return lax.rem(x1, x2)


@calls.binary()
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:  # noqa: A001 - the documented name
    """``(x1 // x2, x1 % x2)``, element by element; see ``jnp.floor_divide`` and ``jnp.remainder``."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if kind_of(x1) == "floating":
        return _float_divmod(x1, x2)
    return floor_divide(x1, x2), remainder(x1, x2)


@calls.unary(lax.integer_pow_p, calls.INEXACT, y=-1)
def reciprocal(x: Any, /) -> Any:
    """``1 / x``, element by element, in floating point."""
    (x,) = promote_args_inexact("reciprocal", x)
    return lax.integer_pow(x, -1)


# --- powers ---------------------------------------------------------------------------------------------------------

def power(x1: Any, x2: Any, /) -> Any:
    """``x1 ** x2``, element by element.

    A Python integer as exponent gives repeated multiplication. Integers to integer powers stay integers and wrap
    around; a floating base keeps an integer exponent array as it is.

    Raises:
      TypeError: for a negative Python integer as the power of integers.
    """
    t = type(x2)
    if t is int or (t is not bool and t is not float and isinstance(x2, int | np.integer) and t is not np.bool_):
        check_arraylike("power", x1)
        x1 = unwrap(x1)
        if isinstance(x1, xla.Array | np.ndarray):
            return _static_power(x1, operator.index(x2))
    return _power(x1, x2)


def _static_power(x: Any, n: int) -> Any:
    if _is_bool(x):
        x = as_dtype(x, dtypes.scalar_dtype(int), False)
    return lax.integer_pow(x, n)


@calls.binary(lax.pow_p, calls.INEXACT)
def _power(x: Any, y: Any, /) -> Any:
    check_arraylike("power", x, y)
    x, y = unwrap(x), unwrap(y)
    base, exponent = kind_of(x), kind_of(y)
    if base in ("floating", "complex") and exponent in ("signed", "unsigned") and not typeof(x).weak_type:
        x, y = promote_shapes("power", x, y)
        return lax.pow(x, y)
    x, y = promote_args_numeric("power", x, y)
    return lax.pow(x, y) if kind_of(x) in ("floating", "complex") else _integer_power(x, y)


_power.__name__ = "power"


def _integer_power(x: Any, y: Any) -> Any:
    """By repeated squaring; exponents of 64 and more only make sense for -1, 0 and 1, and wrap like the others."""
    one, zero = const(x, 1), const(y, 0)
    bits = dtypes.itemsize_bits(typeof(y).dtype)
    steps = min(bits, 6)  # larger powers of anything but 0, 1 and -1 overflow
    shape = lax.broadcast_shapes(typeof(x).shape, typeof(y).shape)
    acc = lax.broadcast_in_dim(one, shape, ())
    for step in range(steps):
        odd = lax.ne(lax.bitwise_and(y, const(y, 1)), zero)
        acc = _where(odd, lax.mul(acc, x), acc)
        if step + 1 < steps:
            x = lax.mul(x, x)
            y = lax.shift_right_logical(y, const(y, 1))
    return acc


@calls.binary()
def float_power(x: Any, y: Any, /) -> Any:
    """``x ** y``, element by element, in floating point also for integers."""
    x, y = promote_args_inexact("float_power", x, y)
    return lax.pow(x, y)


# --- signs ----------------------------------------------------------------------------------------------------------

@calls.unary(lax.abs_p, calls.SIGNED_NUMBERS)
def absolute(x: Any, /) -> Any:
    """The absolute value of each element; the (real) modulus of complex numbers."""
    (x,) = promote_args("absolute", x)
    return _as_array(x) if kind_of(x) in ("bool", "unsigned") else lax.abs(x)


@calls.unary(lax.abs_p, calls.FLOATS)
def fabs(x: Any, /) -> Any:
    """The absolute value of each element, in floating point.

    Raises:
      TypeError: for complex numbers; use ``jnp.abs``.
    """
    (x,) = promote_args_inexact("fabs", x)
    if kind_of(x) == "complex":
        raise TypeError("fabs does not accept complex numbers; use jnp.abs.")
    return lax.abs(x)


@calls.unary(lax.sign_p, calls.NUMBERS)
def sign(x: Any, /) -> Any:
    """-1, 0 or 1 by the sign of each element; ``x / abs(x)`` of complex numbers, 0 at 0."""
    (x,) = promote_args("sign", x)
    return lax.sign(x)


def compare(prim: Any, x: Any, y: Any) -> Any:
    """A comparison of operands of one dtype; complex ones by real part, then by imaginary part, as NumPy does."""
    if kind_of(x) != "complex":
        return prim.bind(x, y)
    strict = lax.gt_p if prim in (lax.gt_p, lax.ge_p) else lax.lt_p
    a, b = lax.real(x), lax.real(y)
    return _where(lax.eq(a, b), prim.bind(lax.imag(x), lax.imag(y)), strict.bind(a, b))


# --- extremes -------------------------------------------------------------------------------------------------------

@ufunc_of(2)
@calls.binary(lax.max_p, calls.ANY)
def maximum(x: Any, y: Any, /) -> Any:
    """The larger of ``x`` and ``y``, element by element; NaN where either is NaN.

    Complex numbers are compared by real part, then by imaginary part.
    """
    x, y = promote_args("maximum", x, y)
    return lax.max(x, y)


@ufunc_of(2)
@calls.binary(lax.min_p, calls.ANY)
def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of ``x`` and ``y``, element by element; NaN where either is NaN. See ``jnp.maximum``."""
    x, y = promote_args("minimum", x, y)
    return lax.min(x, y)


@calls.binary()
def fmax(x1: Any, x2: Any) -> Any:
    """The larger of ``x1`` and ``x2``, element by element; where one is NaN, the other one."""
    x1, x2 = promote_args("fmax", x1, x2)
    return _where(lax.bitwise_or(compare(lax.gt_p, x1, x2), lax.ne(x2, x2)), x1, x2)


@calls.binary()
def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of ``x1`` and ``x2``, element by element; where one is NaN, the other one."""
    x1, x2 = promote_args("fmin", x1, x2)
    return _where(lax.bitwise_or(compare(lax.lt_p, x1, x2), lax.ne(x2, x2)), x1, x2)
