"""Calls of LAPACK: a primitive that has a type and a lowering on CPUs, for use inside of lowering rules.

Rules are written as functions of arrays, ``lower_fun(lambda x: ... lapack("getrf", ...))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._ground.families import constant
from jax._ground.structural import broadcast_in_dim, full
from jax._language import dims
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.types import bool_attr, i32_attr, ir_type, string_attr
from jax._runtime.ffi import lapack_target
from jax.lax._comparison import eq, ge
from jax.lax._select import select_n_p

lapack_p = Primitive("lapack_call", multiple_results=True)
INT32 = np.dtype(np.int32)
Attr = str | int | bool
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def lapack(routine: str, operands: Sequence[Any], outs: Sequence[tuple[Sequence[Any], Any]], *, lead: int,
           replaces: dict[int, int] | None = None, **attrs: Attr) -> list[Any]:
    """Calls a routine on stacks of matrices (column by column in memory) and vectors.

    Args:
      routine: its LAPACK name without the letter of the dtype, which is that of the first operand.
      operands: arrays with ``lead`` leading dimensions, over which the kernel loops.
      outs: shape and dtype of each result.
      lead: the number of those leading dimensions.
      replaces: ``{result: operand}`` for operands that the routine overwrites.
      attrs: the routine's options; one letter for an ASCII option.
    """
    if any(dims.is_zero(dims.size_of(typeof(x).shape)) for x in operands):  # LAPACK refuses empty matrices
        return [full(tuple(shape), 0, dtype) for shape, dtype in outs]
    return lapack_p.bind(
        *operands, routine=routine, outs=tuple([(tuple(s), np.dtype(d)) for s, d in outs]), lead=lead,
        replaces=tuple((replaces or {}).items()), attrs=tuple(sorted(attrs.items())))


def _abstract(*operands: Any, outs: Any, **params: Any) -> list[Any]:
    return [ShapedArray(shape, dtype) for shape, dtype in outs]


def _lower(ctx: Any, *operands: Any, routine: str, outs: Any, lead: int, replaces: Any, attrs: Any) -> list[Any]:
    dtype = ctx.avals_in[0].dtype
    if dtype.kind == "c":
        routine = _COMPLEX_NAMES.get(routine, routine)
    batch = _jaxlib.ir.DictAttr.get({"num_batch_dims": string_attr(str(lead))})
    return hlo.custom_call(
        lapack_target(routine, dtype), operands, [ir_type(a) for a in ctx.avals_out],
        backend_config={name: _attr(value) for name, value in attrs},
        operand_layouts=[_layout(len(a.shape), lead) for a in ctx.avals_in],
        result_layouts=[_layout(len(a.shape), lead) for a in ctx.avals_out],
        output_operand_aliases=dict(replaces), extra={"mhlo.frontend_attributes": batch})


def _attr(value: Attr) -> Any:
    if isinstance(value, bool):
        return bool_attr(value)
    if isinstance(value, int):
        return i32_attr(value)
    return _jaxlib.ir.IntegerAttr.get(_jaxlib.ir.IntegerType.get_unsigned(8), ord(value))


def _layout(rank: int, lead: int) -> tuple[int, ...]:
    """Minor to major: columns are contiguous in matrices, and leading dimensions vary slowest."""
    if rank - lead == 2:
        return (rank - 2, rank - 1, *range(rank - 3, -1, -1))
    return tuple(range(rank - 1, -1, -1))


lapack_p.def_abstract_eval(_abstract)
register_lowering(lapack_p, _lower, platform="cpu")


# --- failures -------------------------------------------------------------------------------------------------------

def succeeded(info: Any) -> Any:
    """Where the routine found a result."""
    return eq(info, constant(INT32, 0))


def accepted(info: Any) -> Any:
    """Where its arguments were valid; a positive code (an exactly singular factor) comes with a result."""
    return ge(info, constant(INT32, 0))


def nan_unless(ok: Any, x: Any) -> Any:
    """``x`` with NaN for the matrices (or vectors) of the stack where ``ok`` is False."""
    shape, lead = typeof(x).shape, len(typeof(ok).shape)
    dtype = typeof(x).dtype
    bad = np.nan if dtype.kind == "f" else complex(np.nan, np.nan)
    ok = broadcast_in_dim(ok, shape, range(lead))
    return select_n_p.bind(ok, full(shape, bad, dtype), x)
