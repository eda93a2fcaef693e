"""Rounding, parts of floating-point and complex numbers, and neighbours, element by element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import constant
from jax._language.avals import typeof
from jax._language.trace import current_trace
from jax.lax._select import where as _where
from jax.numpy import _calls as calls
from jax.numpy._promotion import (
    check_arraylike,
    const,
    kind_of,
    promote_args,
    promote_args_inexact,
    promote_dtypes_inexact,
    promote_shapes,
    refuse_out,
    unwrap,
)
from jax.numpy._ufuncs_arithmetic import _as_array, maximum, minimum

_get_trace = current_trace.get
_BOUNDS = (int, float, type(None))

# --- rounding -------------------------------------------------------------------------------------------------------

def _whole(name: str, function: Any, x: Any) -> Any:
    check_arraylike(name, x)
    x = unwrap(x)
    kind = kind_of(x)
    if kind == "complex":
        raise TypeError(f"{name} does not accept complex numbers; apply it to jnp.real(x) and jnp.imag(x).")
    return function(x) if kind == "floating" else _as_array(x)


@calls.unary(lax.floor_p, calls.FLOATS)
def floor(x: Any, /) -> Any:
    """The largest integer not above each element, in the dtype of ``x``; integers stay."""
    return _whole("floor", lax.floor, x)


@calls.unary(lax.ceil_p, calls.FLOATS)
def ceil(x: Any, /) -> Any:
    """The smallest integer not below each element, in the dtype of ``x``; integers stay."""
    return _whole("ceil", lax.ceil, x)


def _truncate(x: Any) -> Any:
    return _where(lax.lt(x, const(x, 0)), lax.ceil(x), lax.floor(x))


@calls.unary()
def trunc(x: Any, /) -> Any:
    """Each element without its fraction, in the dtype of ``x``; integers stay."""
    return _whole("trunc", _truncate, x)


def fix(x: Any, out: None = None) -> Any:
    """Each element without its fraction; another name of ``jnp.trunc``. ``out`` is not supported."""
    refuse_out("fix", out)
    return trunc(x)


@calls.unary()
def rint(x: Any, /) -> Any:
    """The integer nearest to each element, even ones in ties, in floating point; of complex numbers, of both parts."""
    (x,) = promote_args_inexact("rint", x)
    return _round_even(x)


def _round_even(x: Any) -> Any:
    if kind_of(x) == "complex":
        return lax.complex(_round_even(lax.real(x)), _round_even(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@composite(static_argnames=("decimals",))
def _round(a: Any, decimals: int) -> Any:
    check_arraylike("round", a)
    a = unwrap(a)
    aval = typeof(a)
    kind = kind_of(a)
    if kind not in ("floating", "complex"):
        if decimals < 0:
            return _round_integers(a, decimals)
        return _as_array(a)
    if decimals == 0:
        return _round_even(a)
    if aval.dtype in (np.float16, dtypes.bfloat16):  # the factor may be out of range
        wide = lax.convert_element_type(a, np.float32)
        return lax.convert_element_type(_round(wide, decimals), aval.dtype)
    factor = const(a, 10.0 ** abs(decimals))
    if decimals > 0:
        return lax.div(_round_even(lax.mul(a, factor)), factor)
    return lax.mul(_round_even(lax.div(a, factor)), factor)


def _round_integers(a: Any, decimals: int) -> Any:
    raise NotImplementedError(f"round: integers are not rounded to tens, got decimals={decimals}; convert to floating "
                              "point with x.astype(float) first.")


def round(a: Any, decimals: int = 0, out: None = None) -> Any:  # noqa: A001 - the documented name
    """Elements rounded to the given number of decimals, to even in ties.

    Args:
      a: an array or scalar.
      decimals: may be negative for floats, to round to tens, hundreds ...
      out: not supported.
    """
    if out is not None:
        refuse_out("round", out)
    try:
        places = operator.index(decimals)
    except TypeError:
        raise TypeError(f"round: decimals must be an integer, got {decimals!r} of type {type(decimals).__name__}") from None
    return _round(a, places)


# --- complex numbers ------------------------------------------------------------------------------------------------

@calls.unary()
def real(val: Any, /) -> Any:
    """The real part of each element; real arrays as they are."""
    check_arraylike("real", val)
    val = unwrap(val)
    return lax.real(val) if kind_of(val) == "complex" else _as_array(val)


@calls.unary()
def imag(val: Any, /) -> Any:
    """The imaginary part of each element; zeros for real arrays."""
    check_arraylike("imag", val)
    val = unwrap(val)
    return lax.imag(val) if kind_of(val) == "complex" else lax.full_like(val, 0)


@calls.unary()
def conjugate(x: Any, /) -> Any:
    """The complex conjugate of each element; real arrays as they are."""
    check_arraylike("conjugate", x)
    x = unwrap(x)
    return lax.conj(x) if kind_of(x) == "complex" else _as_array(x)


@composite(static_argnames=("deg",))
def angle(z: Any, deg: bool = False) -> Any:
    """The angle of each element in the complex plane, in ``(-pi, pi]``, in degrees if ``deg``."""
    (z,) = promote_args_inexact("angle", z)
    if kind_of(z) == "complex":
        out = lax.atan2(lax.imag(z), lax.real(z))
    else:
        out = lax.atan2(lax.full_like(z, 0), z)
    return lax.mul(out, const(out, 180 / np.pi)) if deg else out


# --- signs ----------------------------------------------------------------------------------------------------------

def _bits(x: Any) -> tuple[Any, int]:
    """The bits of floats as signed integers, and their number."""
    bits = dtypes.itemsize_bits(typeof(x).dtype)
    return lax.bitcast_convert_type(x, np.dtype(f"int{bits}") if bits >= 8 else np.dtype(np.int8)), bits


@calls.unary()
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: for negative elements, -0.0, and NaN with a sign."""
    (x,) = promote_args("signbit", x)
    kind = kind_of(x)
    if kind in ("bool", "unsigned"):
        return lax.full_like(x, False, np.bool_)
    if kind == "signed":
        return lax.lt(x, const(x, 0))
    if kind == "complex":
        raise TypeError("signbit does not accept complex numbers.")
    as_int, _ = _bits(x)
    return lax.lt(as_int, const(as_int, 0))


@calls.binary()
def copysign(x1: Any, x2: Any, /) -> Any:
    """The absolute value of ``x1`` with the sign of ``x2``, element by element.

    Raises:
      TypeError: for complex numbers.
    """
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if kind_of(x1) == "complex":
        raise TypeError("copysign does not accept complex numbers.")
    size = lax.abs(x1)
    return _where(signbit(x2), lax.neg(size), size)


@calls.binary()
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where ``x1 < 0``, ``x2`` where it is 0, 1 where it is positive; NaN where it is NaN."""
    x1, x2 = promote_args_inexact("heaviside", x1, x2)
    if kind_of(x1) == "complex":
        raise TypeError("heaviside does not accept complex numbers.")
    zero, one = const(x1, 0), const(x1, 1)
    out = _where(lax.gt(x1, zero), one, x1)
    out = _where(lax.lt(x1, zero), zero, out)
    return _where(lax.eq(x1, zero), x2, out)


# --- the format of floating-point numbers ---------------------------------------------------------------------------

@calls.binary(lax.nextafter_p, calls.FLOATS)
def nextafter(x: Any, y: Any, /) -> Any:
    """The next number after ``x`` towards ``y`` that the dtype can hold, element by element."""
    return lax.nextafter(*promote_args_inexact("nextafter", x, y))


@calls.unary()
def spacing(x: Any, /) -> Any:
    """The distance from each element to the next one further from zero, with its sign; NaN for infinities and NaN.

    Raises:
      TypeError: for complex numbers.
    """
    (x,) = promote_args_inexact("spacing", x)
    if kind_of(x) == "complex":
        raise TypeError("spacing does not accept complex numbers.")
    dtype = typeof(x).dtype
    mantissa, _ = _layout(dtype)
    # Put together from bits: arithmetic may flush subnormal differences to zero.
    bits, n = _bits(x)
    one, width = const(bits, 1), const(bits, mantissa)
    raw = lax.bitwise_and(lax.shift_right_logical(bits, width), const(bits, (1 << (n - 1 - mantissa)) - 1))
    exponent = lax.sub(raw, width)
    normal = lax.shift_left(exponent, width)
    subnormal = lax.shift_left(one, lax.max(lax.sub(raw, one), const(bits, 0)))
    size = _where(lax.gt(exponent, const(bits, 0)), normal, subnormal)
    sign = lax.bitwise_and(bits, const(bits, -(1 << (n - 1))))
    step = lax.bitcast_convert_type(lax.bitwise_or(sign, size), dtype)
    return _where(lax.is_finite(x), step, const(x, np.nan))


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """The fraction and the whole part of each element, both with its sign. ``out`` is not supported.

    >>> import jax.numpy as jnp
    >>> [float(v) for v in jnp.modf(-2.5)]
    [-0.5, -2.0]
    """
    refuse_out("modf", out)
    return _modf(x)


@calls.unary()
def _modf(x: Any) -> tuple[Any, Any]:
    (x,) = promote_args_inexact("modf", x)
    if kind_of(x) == "complex":
        raise TypeError("modf does not accept complex numbers.")
    whole = _truncate(x)
    fraction = _where(lax.eq(lax.abs(x), const(x, np.inf)), const(x, 0), lax.sub(x, whole))
    return copysign(fraction, x), copysign(whole, x)


def _layout(dtype: Any) -> tuple[int, int]:
    """Bits of the mantissa and bias of the exponent of a floating dtype."""
    info = dtypes.finfo(dtype)
    return int(info.nmant), int(1 - info.minexp)


@calls.unary()
def frexp(x: Any, /) -> tuple[Any, Any]:
    """``(m, e)`` with ``x == m * 2**e`` and ``0.5 <= abs(m) < 1``; ``e`` is int32. Zeros, infinities and NaN: ``e`` 0.

    Raises:
      TypeError: for complex numbers.
    """
    (x,) = promote_args_inexact("frexp", x)
    if kind_of(x) == "complex":
        raise TypeError("frexp does not accept complex numbers.")
    mantissa, bias = _layout(typeof(x).dtype)
    scale = 2.0 ** (mantissa + 2)  # makes subnormal numbers normal
    tiny = lax.lt(lax.abs(x), const(x, float(dtypes.finfo(typeof(x).dtype).smallest_normal)))
    y = _where(tiny, lax.mul(x, const(x, scale)), x)
    bits, n = _bits(y)
    mask = (1 << (n - 1 - mantissa)) - 1
    raw = lax.bitwise_and(lax.shift_right_arithmetic(bits, const(bits, mantissa)), const(bits, mask))
    exponent = lax.sub(lax.convert_element_type(raw, np.int32), np.int32(bias - 1))
    cleared = lax.bitwise_and(bits, const(bits, ~(mask << mantissa)))
    fraction = lax.bitcast_convert_type(lax.bitwise_or(cleared, const(bits, (bias - 1) << mantissa)), typeof(y).dtype)
    exponent = _where(tiny, lax.sub(exponent, np.int32(mantissa + 2)), exponent)
    special = lax.bitwise_or(lax.eq(x, const(x, 0)), lax.bitwise_not(lax.is_finite(x)))
    return _where(special, x, fraction), _where(special, np.int32(0), exponent)


@calls.binary()
def ldexp(x1: Any, x2: Any, /) -> Any:
    """``x1 * 2**x2``, element by element, for integer ``x2``.

    Raises:
      ValueError: when ``x2`` is not integer, or ``x1`` is complex.
    """
    check_arraylike("ldexp", x1, x2)
    x1, x2 = unwrap(x1), unwrap(x2)
    if kind_of(x1) == "complex":
        raise ValueError(f"ldexp: x1 must not be complex, got {typeof(x1).dtype}")
    if kind_of(x2) not in ("signed", "unsigned", "bool"):
        raise ValueError(f"ldexp: x2 must be integer, got {typeof(x2).dtype}; convert it with x2.astype(int)")
    x1, = promote_dtypes_inexact(x1)
    x1, x2 = promote_shapes("ldexp", x1, x2)
    dtype = typeof(x1).dtype
    x2 = lax.convert_element_type(x2, np.int32)
    mantissa, bias = _layout(dtype)
    low, high = -2 * bias - 2 * mantissa, 3 * bias  # beyond, the result is 0 or infinite anyway
    rest = lax.max(lax.min(x2, np.int32(high)), np.int32(low))
    out = x1
    for _ in range(4):  # powers of two that the dtype holds exactly
        step = lax.max(lax.min(rest, np.int32(bias - 1)), np.int32(1 - bias))
        out = lax.mul(out, _power_of_two(step, dtype, mantissa, bias))
        rest = lax.sub(rest, step)
    return out


def _power_of_two(exponent: Any, dtype: Any, mantissa: int, bias: int) -> Any:
    bits = dtypes.itemsize_bits(dtype)
    as_int = lax.convert_element_type(lax.add(exponent, np.int32(bias)), np.dtype(f"int{bits}"))
    return lax.bitcast_convert_type(lax.shift_left(as_int, const(as_int, mantissa)), dtype)


# --- integers -------------------------------------------------------------------------------------------------------

@calls.binary()
def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of integers, element by element; not negative.

    Raises:
      ValueError: for dtypes other than integers.
    """
    x1, x2 = promote_args("gcd", x1, x2)
    if kind_of(x1) not in ("signed", "unsigned"):
        raise ValueError(f"gcd: both arguments must be integers, got dtype {typeof(x1).dtype}")
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    a, b = (lax.abs(lax.broadcast_in_dim(v, shape, tuple(range(len(shape) - typeof(v).ndim, len(shape)))))
            if kind_of(v) == "signed" else
            lax.broadcast_in_dim(v, shape, tuple(range(len(shape) - typeof(v).ndim, len(shape)))) for v in (x1, x2))

    def unfinished(state: Any) -> Any:
        b = state[1]
        return lax.reduce_or(lax.ne(b, const(b, 0)), tuple(range(len(shape))))

    def step(state: Any) -> Any:
        a, b = state
        done = lax.eq(b, const(b, 0))
        return _where(done, a, b), _where(done, const(b, 0), lax.rem(a, _where(done, const(b, 1), b)))
    return lax.while_loop(unfinished, step, (a, b))[0]


@calls.binary()
def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of integers, element by element; not negative, 0 where an argument is 0.

    Raises:
      ValueError: for dtypes other than integers.
    """
    x1, x2 = promote_args("lcm", x1, x2)
    if kind_of(x1) not in ("signed", "unsigned"):
        raise ValueError(f"lcm: both arguments must be integers, got dtype {typeof(x1).dtype}")
    if kind_of(x1) == "signed":
        x1, x2 = lax.abs(x1), lax.abs(x2)
    divisor = gcd(x1, x2)
    zero = lax.eq(divisor, const(divisor, 0))
    return _where(zero, const(x1, 0), lax.mul(x1, lax.div(x2, _where(zero, const(divisor, 1), divisor))))


# --- limits and replacement -----------------------------------------------------------------------------------------

def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - the documented names
    """Elements of ``arr`` limited to ``[min, max]``; bounds of None do not limit. NaN stays NaN.

    Args:
      arr: an array or scalar.
      min, max: bounds, broadcast with ``arr``; where ``min > max`` the result is ``max``.

    Raises:
      ValueError: for complex numbers.
    """
    if arr is None:
        raise ValueError("clip: an array is needed")
    aval = getattr(arr, "aval", None)
    if aval is not None and aval.dtype in calls.FLOATS and _get_trace().staged:
        if type(min) in _BOUNDS and type(max) in _BOUNDS:
            out = arr if min is None else maximum._call(min, arr)
            return out if max is None else minimum._call(max, out)
    return _clip(arr, min, max)


@composite
def _clip(arr: Any, low: Any, high: Any) -> Any:
    given = [x for x in (arr, low, high) if x is not None]
    check_arraylike("clip", *given)
    for x in given:
        if kind_of(unwrap(x)) == "complex":
            raise ValueError("clip does not accept complex numbers; clip jnp.real(x) and jnp.imag(x) separately.")
    operands = iter(promote_args("clip", *given))
    out = next(operands)
    if low is not None:
        out = lax.max(next(operands), out)
    if high is not None:
        out = lax.min(next(operands), out)
    return _as_array(out)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced by finite numbers.

    Args:
      x: an array or scalar; integers stay as they are.
      copy: without effect, the result is always a new array.
      nan: what replaces NaN.
      posinf, neginf: what replaces infinities; by default the largest and smallest numbers of the dtype.
    """
    return _nan_to_num(x, nan, posinf, neginf)


@composite
def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    check_arraylike("nan_to_num", x)
    x = unwrap(x)
    kind = kind_of(x)
    if kind == "complex":
        return lax.complex(*[_nan_to_num(part, nan, posinf, neginf) for part in (lax.real(x), lax.imag(x))])
    if kind != "floating":
        return _as_array(x)
    dtype = typeof(x).dtype
    limits = dtypes.finfo(dtype)
    posinf = constant(dtype, limits.max) if posinf is None else posinf
    neginf = constant(dtype, limits.min) if neginf is None else neginf
    nan, posinf, neginf = (lax.convert_element_type(v, dtype) for v in (nan, posinf, neginf))
    out = x
    masks = lax.ne(x, x), lax.eq(x, const(x, np.inf)), lax.eq(x, const(x, -np.inf))
    for mask, value in zip(masks, (nan, posinf, neginf), strict=True):
        out = _where(*promote_shapes("nan_to_num", mask, value, out))
    return out
