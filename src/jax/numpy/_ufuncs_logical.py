"""Comparisons, logical and bitwise functions, and questions about elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.numpy import _calls as calls
from jax.numpy._promotion import (
    check_arraylike,
    const,
    kind_of,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes,
    promote_shapes,
    raise_rank,
    refuse_out,
    unwrap,
)
from jax.numpy._ufunc import ufunc_of
from jax.numpy._ufuncs_arithmetic import _as_array, compare

_BOOL = np.dtype(bool)


def _full(shape: tuple[Any, ...], value: bool) -> Any:
    return lax.broadcast_in_dim(np.bool_(value), shape, ())


# --- comparisons ----------------------------------------------------------------------------------------------------

@calls.binary(lax.eq_p, calls.ANY)
def equal(x: Any, y: Any, /) -> Any:
    """``x == y``, element by element, after promotion to one dtype. PRNG keys compare with one another."""
    x, y = promote_args("equal", x, y)
    return lax.eq(x, y)


@calls.binary(lax.ne_p, calls.ANY)
def not_equal(x: Any, y: Any, /) -> Any:
    """``x != y``, element by element, after promotion to one dtype."""
    x, y = promote_args("not_equal", x, y)
    return lax.ne(x, y)


def _ordered(name: str, prim: Any, x: Any, y: Any) -> Any:
    return compare(prim, *promote_args(name, x, y))


@calls.binary(lax.gt_p, calls.ORDERED)
def greater(x: Any, y: Any, /) -> Any:
    """``x > y``, element by element. Complex numbers are compared by real part, then by imaginary part."""
    return _ordered("greater", lax.gt_p, x, y)


@calls.binary(lax.ge_p, calls.ORDERED)
def greater_equal(x: Any, y: Any, /) -> Any:
    """``x >= y``, element by element. Complex numbers are compared by real part, then by imaginary part."""
    return _ordered("greater_equal", lax.ge_p, x, y)


@calls.binary(lax.lt_p, calls.ORDERED)
def less(x: Any, y: Any, /) -> Any:
    """``x < y``, element by element. Complex numbers are compared by real part, then by imaginary part."""
    return _ordered("less", lax.lt_p, x, y)


@calls.binary(lax.le_p, calls.ORDERED)
def less_equal(x: Any, y: Any, /) -> Any:
    """``x <= y``, element by element. Complex numbers are compared by real part, then by imaginary part."""
    return _ordered("less_equal", lax.le_p, x, y)


# --- logical functions ----------------------------------------------------------------------------------------------

def truth(x: Any) -> Any:
    """Whether each element differs from zero (NaN does)."""
    aval = typeof(x)
    return x if aval.dtype == _BOOL else lax.ne(x, const(x, 0))


def _logical(name: str, function: Any, x: Any, y: Any) -> Any:
    check_arraylike(name, x, y)
    return function(*promote_shapes(name, truth(unwrap(x)), truth(unwrap(y))))


@ufunc_of(2, identity=True)
@calls.binary(lax.and_p, calls.BOOLEAN)
def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both ``x`` and ``y`` differ from zero, element by element."""
    return _logical("logical_and", lax.bitwise_and, x, y)


@ufunc_of(2, identity=False)
@calls.binary(lax.or_p, calls.BOOLEAN)
def logical_or(x: Any, y: Any, /) -> Any:
    """Whether ``x`` or ``y`` differs from zero, element by element."""
    return _logical("logical_or", lax.bitwise_or, x, y)


@ufunc_of(2, identity=False)
@calls.binary(lax.xor_p, calls.BOOLEAN)
def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether exactly one of ``x`` and ``y`` differs from zero, element by element."""
    return _logical("logical_xor", lax.bitwise_xor, x, y)


@calls.unary(lax.not_p, calls.BOOLEAN)
def logical_not(x: Any, /) -> Any:
    """Whether each element is zero."""
    check_arraylike("logical_not", x)
    return lax.bitwise_not(truth(unwrap(x)))


# --- bitwise functions ----------------------------------------------------------------------------------------------

@ufunc_of(2, identity=-1)
@calls.binary(lax.and_p, calls.BITWISE)
def bitwise_and(x: Any, y: Any, /) -> Any:
    """``x & y``, element by element, of integers or booleans."""
    return lax.bitwise_and(*promote_args("bitwise_and", x, y))


@ufunc_of(2, identity=0)
@calls.binary(lax.or_p, calls.BITWISE)
def bitwise_or(x: Any, y: Any, /) -> Any:
    """``x | y``, element by element, of integers or booleans."""
    return lax.bitwise_or(*promote_args("bitwise_or", x, y))


@ufunc_of(2, identity=0)
@calls.binary(lax.xor_p, calls.BITWISE)
def bitwise_xor(x: Any, y: Any, /) -> Any:
    """``x ^ y``, element by element, of integers or booleans."""
    return lax.bitwise_xor(*promote_args("bitwise_xor", x, y))


@calls.unary(lax.not_p, calls.BITWISE)
def invert(x: Any, /) -> Any:
    """``~x``: every bit flipped, of integers; "not" of booleans."""
    return lax.bitwise_not(*promote_args("invert", x))


@calls.unary(lax.not_p, calls.BITWISE)
def bitwise_not(x: Any, /) -> Any:
    """``~x``, another name of ``jnp.invert``."""
    return lax.bitwise_not(*promote_args("bitwise_not", x))


@calls.unary()
def bitwise_count(x: Any, /) -> Any:
    """The number of bits set in the absolute value of each integer, as uint8."""
    (x,) = promote_args_numeric("bitwise_count", x)
    if kind_of(x) == "signed":
        x = lax.abs(x)
    return lax.convert_element_type(lax.population_count(x), np.uint8)


@calls.binary(lax.shift_left_p, calls.INTEGERS)
def left_shift(x: Any, y: Any, /) -> Any:
    """``x << y``, element by element, of integers; 0 where ``y`` is negative or not below the number of bits."""
    return lax.shift_left(*promote_args_numeric("left_shift", x, y))


@calls.binary(lax.shift_left_p, calls.INTEGERS)
def bitwise_left_shift(x: Any, y: Any, /) -> Any:
    """``x << y``, another name of ``jnp.left_shift``."""
    return lax.shift_left(*promote_args_numeric("bitwise_left_shift", x, y))


_SIGNED = frozenset(d for d in calls.INTEGERS if d.kind == "i")


@calls.binary(lax.shift_right_arithmetic_p, _SIGNED)
def right_shift(x1: Any, x2: Any, /) -> Any:
    """``x1 >> x2``, element by element, of integers. Copies of the sign bit move in, zeros for unsigned ones."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    return lax.shift_right_logical(x1, x2) if kind_of(x1) == "unsigned" else lax.shift_right_arithmetic(x1, x2)


@calls.binary(lax.shift_right_arithmetic_p, _SIGNED)
def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """``x1 >> x2``, another name of ``jnp.right_shift``."""
    return right_shift(x1, x2)


# --- questions about elements ---------------------------------------------------------------------------------------

@calls.unary()
def isnan(x: Any, /) -> Any:
    """Whether each element is NaN (for complex numbers, either part)."""
    (x,) = promote_args("isnan", x)
    return lax.ne(x, x)


@calls.unary()
def isfinite(x: Any, /) -> Any:
    """Whether each element is neither infinite nor NaN (for complex numbers, both parts)."""
    (x,) = promote_args("isfinite", x)
    kind = kind_of(x)
    if kind == "floating":
        return lax.is_finite(x)
    if kind == "complex":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return _full(typeof(x).shape, True)


@calls.unary()
def isinf(x: Any, /) -> Any:
    """Whether each element is infinite (for complex numbers, either part)."""
    (x,) = promote_args("isinf", x)
    kind = kind_of(x)
    if kind == "floating":
        return lax.eq(lax.abs(x), const(x, np.inf))
    if kind == "complex":
        return lax.bitwise_or(isinf(lax.real(x)), isinf(lax.imag(x)))
    return _full(typeof(x).shape, False)


def _is_infinity(name: str, x: Any, value: float) -> Any:
    (x,) = promote_args(name, x)
    kind = kind_of(x)
    if kind == "complex":
        raise TypeError(f"{name} is not defined for complex numbers; ask about jnp.real(x) and jnp.imag(x).")
    return lax.eq(x, const(x, value)) if kind == "floating" else _full(typeof(x).shape, False)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether each element is plus infinity. ``out`` is not supported.

    Raises:
      TypeError: for complex numbers.
    """
    refuse_out("isposinf", out)
    return _isposinf(x)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether each element is minus infinity. ``out`` is not supported.

    Raises:
      TypeError: for complex numbers.
    """
    refuse_out("isneginf", out)
    return _isneginf(x)


_isposinf = composite(lambda x: _is_infinity("isposinf", x, np.inf))
_isneginf = composite(lambda x: _is_infinity("isneginf", x, -np.inf))


@calls.unary()
def isreal(x: Any) -> Any:
    """Whether the imaginary part of each element is zero."""
    (x,) = promote_args("isreal", x)
    if kind_of(x) != "complex":
        return _full(typeof(x).shape, True)
    im = lax.imag(x)
    return lax.eq(im, const(im, 0))


@calls.unary()
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part of each element differs from zero."""
    (x,) = promote_args("iscomplex", x)
    if kind_of(x) != "complex":
        return _full(typeof(x).shape, False)
    im = lax.imag(x)
    return lax.ne(im, const(im, 0))


# --- closeness ------------------------------------------------------------------------------------------------------

@composite
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether ``abs(a - b) <= atol + rtol * abs(b)``, element by element; equal infinities are close.

    Args:
      a, b: arrays or scalars.
      rtol, atol: relative and absolute tolerance, scalars or arrays.
      equal_nan: whether NaN is close to NaN.
    """
    check_arraylike("isclose", a, b, rtol, atol, equal_nan)
    a, b = promote_args("isclose", a, b)
    same = lax.eq(a, b)
    if kind_of(a) not in ("floating", "complex"):
        a, b = promote_args_inexact("isclose", a, b)
    real = dtypes.to_real_dtype(typeof(a).dtype)
    rtol, atol = (lax.convert_element_type(t, real) for t in (rtol, atol))
    a, b, rtol, atol = _equal_ranks(a, b, rtol, atol)
    near = lax.le(lax.abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs(b))))
    out = lax.bitwise_or(*_equal_ranks(same, lax.bitwise_and(near, isfinite(b))))
    both_nan = lax.bitwise_and(lax.ne(a, a), lax.ne(b, b))
    if isinstance(equal_nan, bool):
        return lax.bitwise_or(out, both_nan) if equal_nan else out
    return lax.bitwise_or(*_equal_ranks(out, *[lax.bitwise_and(*_equal_ranks(both_nan, truth(equal_nan)))]))


def _equal_ranks(*args: Any) -> list[Any]:
    shapes = [typeof(x).shape for x in args]
    rank = max(map(len, shapes))
    return [x if not s or len(s) == rank else raise_rank(x, s, rank) for x, s in zip(args, shapes, strict=True)]


@composite
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether all elements are close; arguments as for ``jnp.isclose``. Returns a boolean array of no dimensions."""
    near = isclose(a, b, rtol, atol, equal_nan)
    return lax.reduce_and(near, tuple(range(typeof(near).ndim)))


def _equality(name: str, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = promote_dtypes(a1, a2)
    a1, a2 = _equal_ranks(a1, a2)
    same = lax.eq(a1, a2)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(lax.ne(a1, a1), lax.ne(a2, a2)))
    return lax.reduce_and(same, tuple(range(typeof(same).ndim)))


@composite(static_argnames=("equal_nan",))
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and the same elements.

    Args:
      a1, a2: arrays or scalars.
      equal_nan: whether NaN equals NaN.
    """
    check_arraylike("array_equal", a1, a2)
    if np.shape(unwrap(a1)) != np.shape(unwrap(a2)):
        return _as_array(False)
    return _equality("array_equal", a1, a2, equal_nan)


@calls.binary()
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays have the same elements after broadcasting them together; False when they do not broadcast."""
    check_arraylike("array_equiv", a1, a2)
    try:
        lax.broadcast_shapes(np.shape(unwrap(a1)), np.shape(unwrap(a2)))
    except ValueError:
        return _as_array(False)
    return _equality("array_equiv", a1, a2)
