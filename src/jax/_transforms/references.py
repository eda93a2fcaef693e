"""Mutable arrays under transformations: batching, and equations whose references have tangents.

A mapped reference has the mapped axis somewhere in its array; what one example reads and writes is found by mapping its
views over that axis (:class:`Mapped`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax._ground.references import (
    Views,
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    not_differentiated,
    read_through,
    swap_p,
    write_through,
)
from jax._ground.structural import broadcast_to_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import apply_discharged
from jax._language.refs import is_ref_type, use
from jax._language.trace import run_in
from jax._language.zeros import Zero
from jax._transforms.batch import AxisData, batch_flat, match_axis, unmapped_write
from jax._transforms.batch_jaxpr import unmapped_aval
from jax._transforms.linearize import SplitTrace, split_rules

# --- batching ---------------------------------------------------------------------------------------------------------


class Mapped(NamedTuple):
    """A view of a mapped array: what ``views`` lead to in each example, stacked along axis 0.

    Attributes:
      views: of one example.
      axis: the mapped axis.
      ref_dim: where it is in the array; None if all examples share the array, which can then only be read.
      dims: where it is in each operand.
    """

    views: Views
    axis: AxisData
    ref_dim: int | None
    dims: tuple[int | None, ...]

    @property
    def num_operands(self) -> int:
        return len(self.dims)

    def read(self, x: Any, operands: Sequence[Any]) -> Any:
        outs, (dim,) = batch_flat(lambda x, *ops: [read_through(x, self.views, ops)], self.axis, [x, *operands],
                                  [self.ref_dim, *self.dims])
        return match_axis(self.axis.size, dim, 0, outs[0])

    def write(self, x: Any, operands: Sequence[Any], values: Any, op: str) -> Any:
        outs, (dim,) = batch_flat(lambda x, v, *ops: [write_through(x, self.views, ops, v, op)], self.axis,
                                  [x, values, *operands], [self.ref_dim, 0, *self.dims])
        return match_axis(self.axis.size, dim, self.ref_dim, outs[0])

    def text(self, operands: Sequence[str]) -> str:
        parts, rest = [], list(operands)
        for view in self.views:
            parts.append(view.text(rest[:view.num_operands]))
            rest = rest[view.num_operands:]
        where = "unmapped" if self.ref_dim is None else f"axis {self.ref_dim}"
        return f".mapped({where}){''.join(parts) or '[...]'}"


def _views(axis: AxisData, views: Views, ref_dim: Any, dims: Sequence[Any]) -> Views:
    if not views and ref_dim == 0:
        return ()
    return (Mapped(views, axis, ref_dim, tuple(dims)),)


def _new_ref_batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    return new_ref_p.bind(match_axis(axis.size, dims[0], 0, args[0]), **params)


def _empty_ref_batch(axis: AxisData, args: Any, dims: Any, *, ty: Any, **params: Any) -> Any:
    return empty_ref_p.bind(ty=unmapped_aval(axis.size, 0, ty), **params)


def _get_batch(axis: AxisData, args: Any, dims: Any, *, views: Views) -> Any:
    return get_p.bind(*args, views=_views(axis, views, dims[0], dims[1:])), 0


def _writing(prim: Any) -> Callable[..., Any]:
    def rule(axis: AxisData, args: Any, dims: Any, *, views: Views) -> Any:
        ref, values, *operands = args
        if dims[0] is None:
            raise unmapped_write(prim, ref)
        values = match_axis(axis.size, dims[1], 0, values) if dims[1] is not None else \
            broadcast_to_axis(values, axis.size, 0)
        out = prim.bind(ref, values, *operands, views=_views(axis, views, dims[0], dims[2:]))
        return ([], []) if prim.multiple_results else (out, 0)
    return rule


rules.fancy_primitive_batchers.update({
    new_ref_p: _new_ref_batch, empty_ref_p: _empty_ref_batch, get_p: _get_batch, swap_p: _writing(swap_p),
    addupdate_p: _writing(addupdate_p),
    freeze_p: lambda axis, args, dims: (freeze_p.bind(*args), dims[0]),
    free_ref_p: lambda axis, args, dims: (free_ref_p.bind(*args), []),
})


# --- writing tangents --------------------------------------------------------------------------------------------------

def _split_write(prim: Any) -> Callable[..., Any]:
    """In a derivative rule of the user's: tangents can be written to references of tangents only."""
    def rule(trace: SplitTrace, args: Any, params: dict[str, Any]) -> Any:
        if not trace.is_tangent(args[0]):
            raise not_differentiated(args[0], "written to")
        return trace.tangents.process(prim, args, params)
    return rule


for _prim in (swap_p, addupdate_p):
    split_rules[_prim] = _split_write(_prim)


# --- equations that hold jaxprs ----------------------------------------------------------------------------------------

def bind_discharged(prim: Any, args: Sequence[Any], params: dict[str, Any], marks: Sequence[bool] | None = None) -> Any:
    """``prim`` applied to the values of the marked references (all, by default): read before, and written after it."""
    if marks is None:
        marks = [is_ref_type(typeof(x)) for x in args]
    return apply_discharged(prim, args, params, marks, lambda ref: get_p.bind(ref, views=()),
                            lambda ref, value: swap_p.bind(ref, value, views=()))


def has_tangent_references(tangents: Sequence[Any]) -> bool:
    """Whether a reference among the operands has a tangent."""
    return use.begun and any([type(t) is not Zero and is_ref_type(typeof(t)) for t in tangents])


def linearize_discharged(trace: Any, prim: Any, primals: Sequence[Any], tangents: Sequence[Any],
                         params: dict[str, Any], every: bool = False) -> tuple[list[Any], list[Any]]:
    """The linearization rule of an equation on references with tangents: that of the equation on their values.

    With ``every``, also on the values of the others.
    """
    args = [trace.wrap(p, t) for p, t in zip(primals, tangents, strict=True)]
    marks = [is_ref_type(typeof(p)) and (every or type(t) is not Zero) for p, t in zip(primals, tangents, strict=True)]
    outs, out_tangents, _ = trace.split(run_in(trace, bind_discharged, prim, args, params, marks))
    return outs, [Zero.from_primal_value(p) if t is None else t for p, t in zip(outs, out_tangents, strict=True)]


def batch_discharged(axis: AxisData, prim: Any, args: Sequence[Any], dims: Sequence[Any],
                     params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The batching rule of an equation on references: that of the equation on their values."""
    return batch_flat(lambda *xs: bind_discharged(prim, xs, params), axis, args, dims)


__all__ = ["Mapped", "batch_discharged", "bind_discharged", "has_tangent_references", "linearize_discharged"]
