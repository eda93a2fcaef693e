"""Exponentials, logarithms and the logistic function, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax._ground.families import INEXACT, like, unary
from jax._lowering import hlo
from jax.lax._accuracy import transcendental
from jax.lax._arithmetic import add, div, mul, sub

_LN2 = math.log(2)

# --- exp, expm1, exp2 -----------------------------------------------------------------------------------------------

exp_p = transcendental("exp", INEXACT, "stablehlo.exponential", lambda t, out, x, accuracy: mul(t, out))


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e to the power of each element.

    Args:
      x: floating or complex.
      accuracy: an :class:`AccuracyMode`, a :class:`Tolerance` or None, see the latter.
    """
    return exp_p.bind(x, accuracy=accuracy)


expm1_p = transcendental("expm1", INEXACT, "stablehlo.exponential_minus_one",
                         lambda t, out, x, accuracy: mul(t, add(out, like(out, 1))))


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """``exp(x) - 1`` for each element, accurate near 0. Arguments as for :func:`exp`."""
    return expm1_p.bind(x, accuracy=accuracy)


class _Binary:
    """Builds with the bits of float32 and float64 tensors of one shape."""

    def __init__(self, aval: Any) -> None:
        double = aval.dtype == np.float64
        self.floats, self.shape = aval, aval.shape
        self.ints = aval.update(dtype=np.dtype(np.int64 if double else np.int32))
        self.fraction_bits, self.bias = (52, 1023) if double else (23, 127)

    def float(self, value: float) -> Any:
        return hlo.full(value, self.shape, self.floats.dtype)

    def int(self, value: int) -> Any:
        return hlo.full(value, self.shape, self.ints.dtype)

    def power_of_two(self, n: Any) -> Any:
        """``2.0 ** n`` for integers ``n`` in the range of exponents."""
        bits = hlo.shift_left(hlo.add(n, self.int(self.bias)), self.int(self.fraction_bits))
        return hlo.bitcast_convert(bits, self.floats)


def _in_binary(lower: Any) -> Any:
    """A lowering from ``(binary, x) -> value`` for float32 and float64; narrower floats are computed in float32."""
    def rule(ctx: Any, x: Any, *, accuracy: Any) -> Any:
        aval = ctx.avals_out[0]
        if aval.dtype.itemsize >= 4:
            return lower(_Binary(aval), x)
        wide = aval.update(dtype=np.dtype(np.float32))
        return hlo.convert_element_type(lower(_Binary(wide), hlo.convert_element_type(x, aval, wide)), wide, aval)
    return rule


@_in_binary
def _exp2_real(on: _Binary, x: Any) -> Any:
    """With a whole part of ``x``, which is exact, and the rest. The scale goes in halves, so that neither overflows."""
    low, high = on.float(-on.bias - on.fraction_bits - 2), on.float(on.bias + 2)
    x = hlo.clamp(low, x, high)
    whole = hlo.round_nearest_even(x)
    out = hlo.exponential(hlo.multiply(hlo.subtract(x, whole), on.float(_LN2)))
    n = hlo.convert(whole, on.ints)
    half = hlo.shift_right_arithmetic(n, on.int(1))
    return hlo.multiply(hlo.multiply(out, on.power_of_two(half)), on.power_of_two(hlo.subtract(n, half)))


def _exp2_lower(ctx: Any, x: Any, *, accuracy: Any) -> Any:
    aval = ctx.avals_out[0]
    if aval.dtype.kind != "c":
        return _exp2_real(ctx, x, accuracy=accuracy)
    return hlo.exponential(hlo.multiply(x, hlo.full(_LN2, aval.shape, aval.dtype)))


exp2_p = unary("exp2", INEXACT, _exp2_lower, jvp_out=lambda t, out, x, accuracy: mul(t, mul(like(out, _LN2), out)))


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2 to the power of each element, exact for whole numbers.

    Raises:
      NotImplementedError: ``accuracy`` is not ``None``; there is one way to compute it.
    """
    if accuracy is not None:
        raise NotImplementedError("exp2: accuracy is not supported, there is one way to compute it; leave it out")
    return exp2_p.bind(x, accuracy=None)


# --- log, log1p, log2 -----------------------------------------------------------------------------------------------

log_p = transcendental("log", INEXACT, "stablehlo.log", lambda t, out, x, accuracy: div(t, x))


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm of each element: -inf at 0, NaN for negative reals; the principal branch for complex ones.

    Arguments as for :func:`exp`.
    """
    return log_p.bind(x, accuracy=accuracy)


log1p_p = transcendental("log1p", INEXACT, "stablehlo.log_plus_one",
                         lambda t, out, x, accuracy: div(t, add(x, like(x, 1))))


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """``log(1 + x)`` for each element, accurate near 0. Arguments as for :func:`exp`."""
    return log1p_p.bind(x, accuracy=accuracy)


@_in_binary
def _log2_real(on: _Binary, x: Any) -> Any:
    """``x`` is ``m * 2**e`` with ``m`` between sqrt(1/2) and sqrt(2), so that powers of two have exact logarithms."""
    tiny = np.finfo(on.floats.dtype).tiny
    normal = hlo.and_(hlo.compare(x, on.float(tiny), "GE"), hlo.compare(x, on.float(np.inf), "LT"))
    bits, shift = hlo.bitcast_convert(x, on.ints), on.int(on.fraction_bits)
    start = int(np.asarray(math.sqrt(0.5), on.floats.dtype).view(on.ints.dtype))
    e = hlo.shift_right_arithmetic(hlo.subtract(bits, on.int(start)), shift)
    e = hlo.select(normal, e, on.int(0))
    m = hlo.bitcast_convert(hlo.subtract(bits, hlo.shift_left(e, shift)), on.floats)
    return hlo.add(hlo.convert(e, on.floats), hlo.multiply(hlo.log(m), on.float(1 / _LN2)))


def _log2_lower(ctx: Any, x: Any, *, accuracy: Any) -> Any:
    aval = ctx.avals_out[0]
    if aval.dtype.kind != "c":
        return _log2_real(ctx, x, accuracy=accuracy)
    return hlo.multiply(hlo.log(x), hlo.full(1 / _LN2, aval.shape, aval.dtype))


log2_p = unary("log2", INEXACT, _log2_lower, jvp_out=lambda t, out, x, accuracy: div(t, mul(like(x, _LN2), x)))


def log2(x: Any, *, accuracy: Any = None) -> Any:
    """The logarithm to base 2 of each element, exact for powers of two.

    Raises:
      NotImplementedError: ``accuracy`` is not ``None``; there is one way to compute it.
    """
    if accuracy is not None:
        raise NotImplementedError("log2: accuracy is not supported, there is one way to compute it; leave it out")
    return log2_p.bind(x, accuracy=None)


# --- logistic -------------------------------------------------------------------------------------------------------

logistic_p = transcendental("logistic", INEXACT, "stablehlo.logistic",
                            lambda t, out, x, accuracy: mul(t, mul(out, sub(like(out, 1), out))))


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """``1 / (1 + exp(-x))`` for each element (the sigmoid). Arguments as for :func:`exp`."""
    return logistic_p.bind(x, accuracy=accuracy)
