"""Choosing between arrays, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._ground.families import BOOL, INTEGERS, broadcast_shapes_of, broadcast_to_result, category
from jax._ground.structural import broadcast_in_dim, instantiate_zeros, move_axis, zeros_of
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, fusible, pointwise, register_lowering, structural

# --- select_n -------------------------------------------------------------------------------------------------------

select_n_p = Primitive("select_n")


def select_n(which: Any, *cases: Any) -> Any:
    """Element by element the case that ``which`` numbers.

    Args:
      which: booleans (for two cases; False takes the first) or integers in ``[0, len(cases))``; 0-d, or of the shape
        of the cases. Values out of range take the nearest case.
      *cases: arrays of one shape and dtype.

    Raises:
      TypeError: when dtypes or shapes differ, or ``which`` is neither boolean nor integer.
    """
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """``on_true`` where ``pred`` is true, ``on_false`` elsewhere. Operands as for :func:`select_n`."""
    return select_n_p.bind(pred, on_false, on_true)


def where(pred: Any, on_true: Any, on_false: Any) -> Any:
    """:func:`select` with operands broadcast as those of other element-wise operations."""
    shape = broadcast_shapes_of("select_n", [typeof(x) for x in (pred, on_true, on_false)])
    return select_n_p.bind(*[broadcast_to_result(x, shape) for x in (pred, on_false, on_true)])


def _select_abstract(which: Any, *cases: Any) -> Any:
    if not cases:
        raise TypeError("select_n needs at least one case")
    kind = category(which.dtype)
    if kind != BOOL and kind not in INTEGERS:
        raise TypeError(f"select_n: `which` must be boolean or integer, got {which.dtype}. Compare it first, for "
                        "example which > 0.")
    if kind == BOOL and len(cases) > 2:
        raise TypeError(f"select_n: a boolean `which` chooses between 2 cases, got {len(cases)}; convert it to int32")
    first = cases[0]
    for c in cases:
        if c.shape != first.shape:
            raise TypeError("select_n: all cases must have the same shape, got "
                            f"{', '.join(str(c.shape) for c in cases)}. Broadcast them first, or use jnp.where.")
        if c.dtype != first.dtype:
            raise TypeError("select_n: all cases must have the same dtype, got "
                            f"{', '.join(str(c.dtype) for c in cases)}. Convert them first, or use jnp.where.")
    if which.shape and which.shape != first.shape:
        raise TypeError(f"select_n: `which` must be 0-d or have the shape of the cases, got {which.shape} and "
                        f"{first.shape}")
    return ShapedArray(first.shape, first.dtype, all([c.weak_type for c in cases]))


def _select_lower(ctx: Any, which: Any, *cases: Any) -> list[Any]:
    aval = ctx.avals_in[0]
    if len(cases) == 1:
        return list(cases)
    if category(aval.dtype) == BOOL:
        return [hlo.select(which, cases[1], cases[0])]

    def choose(first: int, some: Sequence[Any]) -> Any:
        if len(some) == 1:
            return some[0]
        half = len(some) // 2
        low = hlo.compare(which, hlo.full(first + half, aval.shape, aval.dtype), "LT")
        return hlo.select(low, choose(first, some[:half]), choose(first + half, some[half:]))
    return [choose(0, cases)]


def _select_jvp(primals: Any, tangents: Any) -> Any:
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    if all([type(t) is Zero for t in tangents[1:]]):
        return out, Zero.from_primal_value(out)
    return out, select_n_p.bind(which, *map(instantiate_zeros, tangents[1:]))


def _select_transpose(ct: Any, which: Any, *cases: Any) -> Any:
    if type(ct) is Zero:
        return [None, *(Zero(c.aval) if type(c) is UndefinedPrimal else None for c in cases)]
    zeros = zeros_of(typeof(ct))
    return [None, *(select_n_p.bind(which, *(ct if j == i else zeros for j in range(len(cases))))
                    if type(c) is UndefinedPrimal else None for i, c in enumerate(cases))]


def _select_batch(args: Any, dims: Any) -> Any:
    args, dim = align_mapped(args, dims, range(1, len(args)))
    return select_n_p.bind(*args), dim


def align_mapped(args: Sequence[Any], dims: Sequence[Any], whole: Sequence[int]) -> tuple[Sequence[Any], int]:
    """Brings the mapped axis of all operands to one place and gives those at ``whole`` one shape.

    The other operands may be 0-d for each example; they stay so if they are not mapped.
    """
    shapes = [typeof(x).shape for x in args]
    if len(set(dims)) == 1 and len({len(s) for s in shapes}) == 1:
        return args, dims[0]
    if all([dims[i] == dims[whole[0]] is not None for i in whole]) and \
            all([d is None and not s for i, (d, s) in enumerate(zip(dims, shapes, strict=True)) if i not in whole]):
        return args, dims[whole[0]]
    size = next(s[d] for s, d in zip(shapes, dims, strict=True) if d is not None)
    example = next(s if dims[i] is None else s[:dims[i]] + s[dims[i] + 1:] for i, s in enumerate(shapes) if i in whole)
    out = []
    for x, d, s in zip(args, dims, shapes, strict=True):
        if d is None:
            out.append(broadcast_in_dim(x, (size, *example), range(1, len(s) + 1)))
        elif len(s) == 1:
            out.append(broadcast_in_dim(x, (size, *example), (0,)))
        else:
            out.append(move_axis(x, d, 0))
    return out, 0


select_n_p.def_abstract_eval(_select_abstract)
register_lowering(select_n_p, _select_lower)
fusible[select_n_p] = 1
pointwise.add(select_n_p)
structural["select_n"] = select_n_p
rules.primitive_jvps[select_n_p] = _select_jvp
rules.primitive_transposes[select_n_p] = _select_transpose
rules.primitive_batchers[select_n_p] = _select_batch
extended_by_batching.add(select_n_p)
