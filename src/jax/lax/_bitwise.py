"""Operations on the bits of integers (and on booleans), element by element. Derivatives are zero."""

from __future__ import annotations

from typing import Any

from jax._ground.families import BITS, INTEGERS, nary, unary, zero_derivative

not_p = unary("not", BITS, "stablehlo.not")
and_p = nary("and", BITS, "stablehlo.and")
or_p = nary("or", BITS, "stablehlo.or")
xor_p = nary("xor", BITS, "stablehlo.xor")
shift_left_p = nary("shift_left", INTEGERS, "stablehlo.shift_left")
shift_right_arithmetic_p = nary("shift_right_arithmetic", INTEGERS, "stablehlo.shift_right_arithmetic")
shift_right_logical_p = nary("shift_right_logical", INTEGERS, "stablehlo.shift_right_logical")
population_count_p = unary("population_count", INTEGERS, "stablehlo.popcnt")
clz_p = unary("clz", INTEGERS, "stablehlo.count_leading_zeros")

for _prim in (not_p, and_p, or_p, xor_p, shift_left_p, shift_right_arithmetic_p, shift_right_logical_p,
              population_count_p, clz_p):
    zero_derivative(_prim)


def bitwise_not(x: Any) -> Any:
    """The complement of each element: ``~x`` of integers, ``not x`` of booleans."""
    return not_p.bind(x)


def bitwise_and(x: Any, y: Any) -> Any:
    """``x & y``, element by element.

    Args:
      x, y: integers or booleans of one dtype, of equal shapes (0-d operands and axes of size 1 are broadcast).
    """
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """``x | y``, element by element. Operands as for :func:`bitwise_and`."""
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """``x ^ y``, element by element. Operands as for :func:`bitwise_and`."""
    return xor_p.bind(x, y)


def shift_left(x: Any, y: Any) -> Any:
    """``x << y``, element by element, for integers of one dtype; 0 where ``y`` is not in ``[0, bits)``."""
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """``x`` shifted right by ``y`` bits, copies of the sign bit moving in, for integers of one dtype.

    Where ``y`` is not in ``[0, bits)`` only copies of the sign bit remain.
    """
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """``x`` shifted right by ``y`` bits, zeros moving in, for integers of one dtype; 0 where ``y >= bits``."""
    return shift_right_logical_p.bind(x, y)


def population_count(x: Any) -> Any:
    """The number of bits that are set in each integer, in its dtype."""
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """The number of leading zero bits of each integer, in its dtype."""
    return clz_p.bind(x)
