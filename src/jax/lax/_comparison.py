"""Comparisons, element by element. Results are booleans."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import ANY, BITS, EXTENDED, FLOAT, category, nary, spread_operands, zero_derivative
from jax._language.avals import physical_aval
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.rules import register_lowering

_BOOL = np.dtype(bool)
_ORDERED = BITS | {FLOAT}


def _comparison(name: str, direction: str, accepted: frozenset[str], total_order: bool = False) -> Primitive:
    def rule(ctx: Any, *operands: Any) -> list[Any]:
        dtype = ctx.avals_in[0].dtype
        if isinstance(dtype, dtypes.ExtendedDType):
            return [_compare_blocks(ctx, operands, direction)]
        x, y = spread_operands(ctx, operands)
        kind = "TOTALORDER" if total_order and category(dtype) == FLOAT else None
        return [hlo.compare(x, y, direction, kind)]
    prim = nary(name, accepted, "", result=_BOOL)
    register_lowering(prim, rule)
    zero_derivative(prim)
    return prim


def _compare_blocks(ctx: Any, operands: Any, direction: str) -> Any:
    """Elements that are blocks of numbers: equal if all numbers are."""
    shape = ctx.avals_out[0].shape
    wide = []
    for v, aval in zip(operands, ctx.avals_in, strict=True):
        plain = physical_aval(aval)
        block = plain.shape[len(aval.shape):]
        first = len(shape) - len(aval.shape)
        wide.append(hlo.broadcast_in_dim(v, plain.update(shape=(*shape, *block)),
                                         range(first, len(shape) + len(block))))
    combine, initial = (hlo.and_, True) if direction == "EQ" else (hlo.or_, False)
    same = hlo.compare(*wide, direction)
    return hlo.reduce([same], [hlo.scalar_constant(initial, bool)],
                      range(len(shape), len(shape) + len(block)), combine, ctx.avals_out)[0]


eq_p = _comparison("eq", "EQ", ANY | {EXTENDED})
ne_p = _comparison("ne", "NE", ANY | {EXTENDED})
ge_p = _comparison("ge", "GE", _ORDERED)
gt_p = _comparison("gt", "GT", _ORDERED)
le_p = _comparison("le", "LE", _ORDERED)
lt_p = _comparison("lt", "LT", _ORDERED)
# In total order, which sorting needs, -0.0 comes before 0.0, and NaN after all other numbers (before, if negative).
eq_to_p = _comparison("eq_to", "EQ", _ORDERED, total_order=True)
le_to_p = _comparison("le_to", "LE", _ORDERED, total_order=True)
lt_to_p = _comparison("lt_to", "LT", _ORDERED, total_order=True)


def eq(x: Any, y: Any) -> Any:
    """``x == y``, element by element.

    Args:
      x, y: arrays or scalars of one dtype, of equal shapes (0-d operands and axes of size 1 are broadcast). PRNG key
        arrays can be compared with one another.

    Returns:
      Booleans; NaN equals nothing.
    """
    return eq_p.bind(x, y)


def ne(x: Any, y: Any) -> Any:
    """``x != y``, element by element. Operands as for :func:`eq`."""
    return ne_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    """``x >= y``, element by element. Operands as for :func:`eq`, but not complex."""
    return ge_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    """``x > y``, element by element. Operands as for :func:`eq`, but not complex."""
    return gt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    """``x <= y``, element by element. Operands as for :func:`eq`, but not complex."""
    return le_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    """``x < y``, element by element. Operands as for :func:`eq`, but not complex."""
    return lt_p.bind(x, y)
