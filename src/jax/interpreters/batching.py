"""Vectorisation: the table of batching rules, and helpers that fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from jax._base._jaxlib import Array as Array
from jax._ground.structural import broadcast_to_axis, move_axis
from jax._language.avals import typeof
from jax._language.rules import fancy_primitive_batchers as fancy_primitive_batchers
from jax._language.rules import primitive_batchers as primitive_batchers
from jax._language.zeros import Zero as Zero
from jax._transforms import batch as _batch
from jax._transforms import batch_jaxpr as _batch_jaxpr
from jax._transforms.batch import AxisData as AxisData
from jax._transforms.batch import BatchTrace as BatchTrace
from jax._transforms.batch import BatchTracer as BatchTracer
from jax._transforms.batch import Vmappable, vmappables
from jax._transforms.batch import not_mapped as not_mapped
from jax._transforms.batch_jaxpr import batch_jaxpr_axes as _batch_jaxpr_axes
from jax._transforms.batch_rules import broadcast_batcher as broadcast_batcher
from jax._transforms.batch_rules import defbroadcasting as defbroadcasting
from jax._transforms.batch_rules import defvectorized as defvectorized

Rule = Callable[..., Any]


class _AxisRules(MutableMapping[Any, Rule]):
    """Rules ``(axis_size, axis_name, trace_type, args, dims, **params)``, for primitives that need these.

    They enter :data:`fancy_primitive_batchers`, whose rules get one object with size and name instead.
    """

    def __init__(self, with_spmd_name: bool = False) -> None:
        self._given: dict[Any, Rule] = {}
        self._spmd = with_spmd_name

    def __setitem__(self, prim: Any, rule: Rule) -> None:
        def adapted(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
            spmd = (axis.spmd_name,) if self._spmd else ()
            return rule(*spmd, axis.size, axis.name, BatchTrace, args, dims, **params)
        self._given[prim] = rule
        fancy_primitive_batchers[prim] = adapted

    def __getitem__(self, prim: Any) -> Rule:
        return self._given[prim]

    def __delitem__(self, prim: Any) -> None:
        del self._given[prim], fancy_primitive_batchers[prim]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


axis_primitive_batchers = _AxisRules()
spmd_axis_primitive_batchers = _AxisRules(with_spmd_name=True)


def moveaxis(x: Any, src: int, dst: int) -> Any:
    """``x`` with axis ``src`` at position ``dst``."""
    return x if src == dst else move_axis(x, src, dst)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """``x`` repeated along a new axis."""
    return broadcast_to_axis(x, sz, axis)


def matchaxis(axis_name: Any, sz: int, src: Any, dst: Any, x: Any, sum_match: bool = False) -> Any:
    """Moves the mapped axis of ``x`` from ``src`` to ``dst``, broadcasting or (with ``sum_match``) summing."""
    if dst is None and src is not None and sum_match:
        from jax._ground.structural import sum_axes  # only this option sums
        return sum_axes(x, (src,))
    return _batch.match_axis(sz, src, dst, x)


def bdim_at_front(x: Any, bdim: Any, size: int, mesh_axis: Any = None) -> Any:
    """``x`` with its mapped axis first, broadcast where it has none."""
    return _batch.match_axis(size, bdim, 0, x)


def vectorized_batcher(prim: Any, batched_args: Sequence[Any], batch_dims: Sequence[Any], **params: Any) -> Any:
    """The rule of element-wise primitives whose batched operands share one position of the mapped axis."""
    if any(d != batch_dims[0] for d in batch_dims):
        return broadcast_batcher(prim, batched_args, batch_dims, **params)
    return prim.bind(*batched_args, **params), batch_dims[0]


def reducer_batcher(prim: Any, ident: Any, batched_args: Sequence[Any], batch_dims: Sequence[Any], axes: Any,
                    **params: Any) -> Any:
    """The rule of reductions over ``axes``."""
    (x,), (d,) = batched_args, batch_dims
    new_axes = tuple(a + (a >= d) for a in axes)
    out = prim.bind(x, axes=new_axes, **params)
    return out, d - sum(a < d for a in new_axes)


def defreducer(prim: Any, ident: Any = None) -> None:
    """Enters :func:`reducer_batcher` for a primitive."""
    primitive_batchers[prim] = lambda args, dims, axes, **params: reducer_batcher(prim, ident, args, dims, axes, **params)


def batch_jaxpr_axes(closed_jaxpr: Any, axis_data: AxisData, in_axes: Sequence[Any], out_axes_dest: Sequence[Any],
                     ) -> Any:
    """The batched jaxpr and which outputs are batched; ``out_axes_dest`` entries other than ``None`` force axis 0."""
    return _batch_jaxpr_axes(closed_jaxpr, axis_data, in_axes, [d is not None for d in out_axes_dest])


def batch_jaxpr(closed_jaxpr: Any, axis_size: int, in_batched: Sequence[bool], instantiate: bool | Sequence[bool],
                axis_name: Any = None, spmd_axis_name: Any = None, main_type: Any = None) -> Any:
    """The jaxpr with an axis mapped at position 0 of the marked inputs, and which outputs carry it."""
    return _batch_jaxpr.batch_jaxpr(closed_jaxpr, AxisData(axis_name, axis_size, spmd_axis_name), in_batched, instantiate)


def batch_jaxpr2(closed_jaxpr: Any, axis_size: int, in_axes: Sequence[Any], axis_name: Any = None,
                 spmd_axis_name: Any = None, main_type: Any = None) -> tuple[Any, tuple[Any, ...]]:
    """The jaxpr with an axis mapped at any position of the inputs, and where it is in each output (0 or ``None``)."""
    new, batched = _batch_jaxpr_axes(closed_jaxpr, AxisData(axis_name, axis_size, spmd_axis_name), in_axes, False)
    return new, tuple(0 if b else None for b in batched)


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Rule, from_elt: Rule,
                       make_iota: Rule | None) -> None:
    """Lets ``vmap`` take values of a library's type: how they are split along an axis, and put together again."""
    vmappables[data_type] = Vmappable(to_elt, from_elt, spec_type, axis_size_type, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Undoes :func:`register_vmappable`."""
    vmappables.pop(data_type, None)


def is_vmappable(x: Any) -> bool:
    """Whether ``vmap`` treats ``x`` specially."""
    return type(x) in vmappables


__all__ = [
    "AxisData", "BatchTrace", "BatchTracer", "Zero", "axis_primitive_batchers", "batch_jaxpr", "batch_jaxpr_axes",
    "bdim_at_front", "broadcast", "broadcast_batcher", "defbroadcasting", "defreducer", "defvectorized",
    "fancy_primitive_batchers", "is_vmappable", "matchaxis", "moveaxis", "not_mapped", "primitive_batchers",
    "reducer_batcher", "register_vmappable", "spmd_axis_primitive_batchers", "typeof", "unregister_vmappable",
    "vectorized_batcher", "vmappables",
]
