"""Rounding, element by element. Derivatives are zero, except that of the next number."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from jax._ground.families import FLOATING, defjvp, nary, unary, zero_derivative
from jax._lowering import hlo


class RoundingMethod(enum.IntEnum):
    """Where :func:`round` sends values halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


floor_p = unary("floor", FLOATING, "stablehlo.floor")
ceil_p = unary("ceil", FLOATING, "stablehlo.ceil")
is_finite_p = unary("is_finite", FLOATING, "stablehlo.is_finite", result=np.dtype(bool))
nextafter_p = nary("nextafter", FLOATING, "chlo.next_after")
defjvp(nextafter_p, lambda t, x1, x2: t, None)


def floor(x: Any) -> Any:
    """The largest integer that is not above each element, in the floating dtype of ``x``."""
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    """The smallest integer that is not below each element, in the floating dtype of ``x``."""
    return ceil_p.bind(x)


def is_finite(x: Any) -> Any:
    """Whether each element of a floating array is neither infinite nor NaN."""
    return is_finite_p.bind(x)


def nextafter(x1: Any, x2: Any) -> Any:
    """The number next to ``x1`` towards ``x2`` that its floating dtype can hold, element by element.

    Its derivative with respect to ``x1`` is 1.
    """
    return nextafter_p.bind(x1, x2)


def _round_lower(ctx: Any, x: Any, *, rounding_method: Any) -> Any:
    return hlo.round_nearest_even(x) if rounding_method == 1 else hlo.round_nearest_afz(x)


round_p = unary("round", FLOATING, _round_lower)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:  # noqa: A001
    """The integer nearest to each element, in the floating dtype of ``x``.

    Args:
      x: floating.
      rounding_method: what happens to values halfway between two integers.
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


for _prim in (floor_p, ceil_p, is_finite_p, round_p):
    zero_derivative(_prim)
