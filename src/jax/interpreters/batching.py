"""Vectorisation: the table of batching rules, and helpers that fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence, Set
from typing import Any

import numpy as np

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
from jax._transforms.batch import from_elt as from_elt
from jax._transforms.batch import not_mapped as not_mapped
from jax._transforms.batch import to_elt as to_elt
from jax._transforms.batch_jaxpr import batch_jaxpr_axes as _batch_jaxpr_axes
from jax._transforms.batch_rules import broadcast_batcher as broadcast_batcher
from jax._transforms.batch_rules import defbroadcasting as defbroadcasting
from jax._transforms.batch_rules import defvectorized as defvectorized
from jax.extend.linear_util import WrappedFun, wrap_init
from jax.lax import iota

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


class ZeroIfMapped:
    """As the position of an output's mapped axis: 0 if it has one."""


zero_if_mapped = ZeroIfMapped()


def batch_jaxpr_axes(closed_jaxpr: Any, axis_data: AxisData, in_axes: Sequence[Any], out_axes_dest: Sequence[Any],
                     ) -> Any:
    """The batched jaxpr and which outputs are batched; ``out_axes_dest`` entries other than ``None`` and
    :data:`zero_if_mapped` force axis 0."""
    return _batch_jaxpr_axes(closed_jaxpr, axis_data, in_axes,
                             [d is not None and d is not zero_if_mapped for d in out_axes_dest])


def _axis(name: Any, size: Any, trace_type: Any, spmd_name: Any) -> AxisData:
    if trace_type is not BatchTrace:
        raise NotImplementedError(f"batching with another class of traces, {trace_type!r}, is not supported")
    return AxisData(name, size, spmd_name)


def batch(fun: Any, axis_name: Any, axis_size: Any, in_dims: Any, out_dim_dests: Any, main_type: Any = BatchTrace,
          spmd_axis_name: Any = None) -> WrappedFun:
    """A flat function (wrapped or plain) with an axis mapped.

    Args:
      fun: leaves to a list of leaves.
      axis_name, axis_size: the axis.
      in_dims: where it is in each argument, or a function that returns this.
      out_dim_dests: where it is to be in each result, or a function that returns this after ``fun`` has run.
      main_type: must be :class:`BatchTrace`.
      spmd_axis_name: the mesh axes that it lies along.
    """
    axis = _axis(axis_name, axis_size, main_type, spmd_axis_name)

    def batched(*args: Any) -> list[Any]:
        dims = in_dims() if callable(in_dims) else in_dims
        outs, found = _batch.batch_flat(getattr(fun, "call_wrapped", fun), axis, args, dims)
        dests = out_dim_dests() if callable(out_dim_dests) else out_dim_dests
        return [_batch.match_axis(axis_size, d, dest, x) for x, d, dest in zip(outs, found, dests, strict=True)]
    return wrap_init(batched, debug_info=getattr(fun, "debug_info", None))


def batch_custom_vjp_bwd(bwd: Any, axis_name: Any, axis_size: Any, in_dims: Any, out_dim_dests: Sequence[Any],
                         main_type: Any = BatchTrace, spmd_axis_name: Any = None) -> Callable[..., list[Any]]:
    """The backward function of a function with an axis mapped, from that of the function.

    Args:
      bwd: residuals and cotangents to the cotangents of arguments (None or :class:`Zero` for none).
      axis_name, axis_size: the axis.
      in_dims: where it is in residuals and cotangents, or a function that returns this.
      out_dim_dests: where it is in the arguments of the function; None for those that all examples share, whose cotangents
        are added up.
      main_type: must be :class:`BatchTrace`.
      spmd_axis_name: the mesh axes that it lies along.
    """
    axis = _axis(axis_name, axis_size, main_type, spmd_axis_name)

    def batched(*args: Any) -> list[Any]:
        nothing: list[Any] = []

        def live(*xs: Any) -> list[Any]:
            outs = getattr(bwd, "call_wrapped", bwd)(*xs)
            nothing[:] = [x if x is None or type(x) is Zero else () for x in outs]
            return [x for x, none in zip(outs, nothing, strict=True) if none == ()]
        dims = in_dims() if callable(in_dims) else in_dims
        outs, found = _batch.batch_flat(live, axis, args, dims)
        pairs = iter(zip(outs, found, strict=True))
        result = []
        for none, dest in zip(nothing, out_dim_dests, strict=True):
            if none == ():
                x, d = next(pairs)
                result.append(matchaxis(axis_name, axis_size, d, dest, x, sum_match=True))
            elif type(none) is Zero and dest is not None:
                shape = (*none.aval.shape[:dest], axis_size, *none.aval.shape[dest:])
                result.append(Zero(none.aval.update(shape=shape)))
            else:
                result.append(none)
        return result
    return batched


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


class _Handlers(MutableMapping[type, Any]):
    """One of the functions of each registered type, in :data:`vmappables`."""

    def __init__(self, field: str, key: str | None = None) -> None:
        self._field = field
        self._key = key

    def _entries(self) -> dict[type, Vmappable]:
        by_key = {cls if self._key is None else getattr(kind, self._key): kind for cls, kind in vmappables.items()}
        return {cls: kind for cls, kind in by_key.items() if getattr(kind, self._field) is not None}

    def __getitem__(self, cls: type) -> Any:
        return getattr(self._entries()[cls], self._field)

    def __setitem__(self, cls: type, handler: Any) -> None:
        kinds = [k for c, k in vmappables.items() if cls is (c if self._key is None else getattr(k, self._key))]
        if not kinds:
            raise KeyError(f"{cls} is not registered; register_vmappable enters a type with all of its functions")
        for kind in kinds:
            setattr(kind, self._field, handler)

    def __delitem__(self, cls: type) -> None:
        del self._entries()[cls]
        self[cls] = None

    def __iter__(self) -> Iterator[type]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())


class _SpecTypes(Set[type]):
    """The types that say along what values of registered types are mapped."""

    def _found(self) -> set[type]:
        return {kind.spec_type for kind in vmappables.values() if kind.spec_type is not None}

    def __contains__(self, cls: object) -> bool:
        return cls in self._found()

    def __iter__(self) -> Iterator[type]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


to_elt_handlers = _Handlers("to_elt")
from_elt_handlers = _Handlers("from_elt")
make_iota_handlers = _Handlers("make_iota", "axis_size_type")
spec_types = _SpecTypes()


def make_iota(axis_size: Any) -> Any:
    """The numbers of the examples along an axis whose size is an integer, or of a registered type."""
    handler = make_iota_handlers.get(type(axis_size))
    return iota(np.int32, axis_size) if handler is None else handler(axis_size)


__all__ = [
    "AxisData", "BatchTrace", "BatchTracer", "Zero", "ZeroIfMapped", "axis_primitive_batchers", "batch",
    "batch_custom_vjp_bwd", "batch_jaxpr", "batch_jaxpr_axes", "bdim_at_front", "broadcast", "broadcast_batcher",
    "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers", "from_elt", "from_elt_handlers",
    "is_vmappable", "make_iota", "make_iota_handlers", "matchaxis", "moveaxis", "not_mapped", "primitive_batchers",
    "reducer_batcher", "register_vmappable", "spec_types", "spmd_axis_primitive_batchers", "to_elt", "to_elt_handlers",
    "typeof", "unregister_vmappable", "vectorized_batcher", "vmappables", "zero_if_mapped",
]
