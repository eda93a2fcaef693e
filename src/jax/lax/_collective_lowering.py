"""Collectives in compiled programs over several devices: communication between the partitions of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import _jaxlib
from jax._ground.structural import sum_axes
from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.context import LoweringContext
from jax._lowering.manual import Region, coordinate
from jax._lowering.subprograms import lower_fun
from jax._lowering.types import full, ir_type
from jax.lax._reduce import reduce_max_p, reduce_min_p

_SUM, _MAX, _MIN = "stablehlo.add", "stablehlo.maximum", "stablehlo.minimum"


def _region(ctx: LoweringContext, names: Sequence[Any]) -> Region:
    region: Region | None = ctx.scope.manual
    missing = [n for n in names if region is None or n not in region.axes]
    if missing or region is None:
        raise NotImplementedError(
            f"{ctx.primitive} over the axis {missing} is left in a program that does not bind it. Axes are bound by "
            "jax.shard_map, by jax.pmap, or by jax.vmap with axis_name.")
    return region


def _groups(ctx: LoweringContext, names: Sequence[Any], within: Any) -> list[list[int]]:
    """The groups of partitions that communicate: along the axes, or within groups of positions along them.

    Shorter groups end in -1.
    """
    groups = _region(ctx, names).groups(names)
    if within is None:
        return groups
    longest = max(len(positions) for positions in within)
    return [[g[i] for i in positions] + [-1] * (longest - len(positions)) for g in groups for positions in within]


def _combine(operation: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: _jaxlib.ir.Operation.create(operation, (a.type,), (a, b)).result


def _channel(ctx: LoweringContext) -> int:
    return ctx.module_context.new_channel()


def _names(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def reduction(operation: str, over_axes: Callable[[Any, tuple[int, ...]], Any]) -> Callable[..., Any]:
    """The rule of a reduction over named axes, and over array axes before."""
    def rule(ctx: LoweringContext, x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        positional = tuple(a for a in axes if isinstance(a, int))
        named = tuple(a for a in axes if not isinstance(a, int))
        groups = _groups(ctx, named, axis_index_groups) if named else [[0]]
        if positional:
            x = lower_fun(lambda v: over_axes(v, positional), multiple_results=False)(ctx, x)[0]
        if len(groups[0]) == 1:
            return [x]
        return hlo.all_reduce([x], groups, _combine(operation), channel=_channel(ctx), use_global_ids=True)
    return rule


lower_psum = reduction(_SUM, sum_axes)
lower_pmax = reduction(_MAX, lambda x, axes: reduce_max_p.bind(x, axes=axes))
lower_pmin = reduction(_MIN, lambda x, axes: reduce_min_p.bind(x, axes=axes))


def lower_axis_index(ctx: LoweringContext, *, axis_name: Any) -> Any:
    return [coordinate(ctx, _region(ctx, (axis_name,)), axis_name)]


def _reshape(x: Any, shape: Sequence[int]) -> Any:
    typ = _jaxlib.ir.RankedTensorType.get(list(shape), x.type.element_type)
    return x if typ == x.type else _jaxlib.ir.Operation.create("stablehlo.reshape", (typ,), (x,)).result


def lower_all_gather(ctx: LoweringContext, x: Any, *, all_gather_dimension: int, axis_name: Any, axis_index_groups: Any,
                     axis_size: int, tiled: bool) -> Any:
    names = _names(axis_name)
    groups = _groups(ctx, names, axis_index_groups)
    out = ctx.avals_out[0]
    if axis_size == 1:
        return [_reshape(x, out.shape)]
    if not tiled:
        shape = list(x.type.shape)
        x = _reshape(x, [*shape[:all_gather_dimension], 1, *shape[all_gather_dimension:]])
    return [hlo.all_gather(x, out, all_gather_dimension, groups, channel=_channel(ctx), use_global_ids=True)]


def lower_reduce_scatter(ctx: LoweringContext, x: Any, *, axis_name: Any, scatter_dimension: int, axis_index_groups: Any,
                         axis_size: int, tiled: bool) -> Any:
    names = _names(axis_name)
    groups = _groups(ctx, names, axis_index_groups)
    out = ctx.avals_out[0]
    if axis_size == 1:
        return [_reshape(x, out.shape)]
    kept = out if tiled else ShapedArray((*out.shape[:scatter_dimension], 1, *out.shape[scatter_dimension:]), out.dtype)
    y = hlo.reduce_scatter(x, kept, scatter_dimension, groups, _combine(_SUM), channel=_channel(ctx),
                           use_global_ids=True)
    return [_reshape(y, out.shape)]


def lower_ppermute(ctx: LoweringContext, x: Any, *, axis_name: Any, perm: Any) -> Any:
    names = _names(axis_name)
    groups = _region(ctx, names).groups(names)
    if len(groups[0]) == 1:
        return [x] if perm else [full(0, x.type.shape, ctx.avals_in[0].dtype)]
    pairs = [(g[src], g[dst]) for g in groups for src, dst in perm]
    return [hlo.collective_permute(x, pairs, channel=_channel(ctx))]


def lower_all_to_all(ctx: LoweringContext, x: Any, *, split_axis: int, concat_axis: int, axis_name: Any,
                     axis_index_groups: Any, tiled: bool) -> Any:
    names = _names(axis_name)
    groups = _groups(ctx, names, axis_index_groups)
    n, aval = len(groups[0]), ctx.avals_in[0]
    if tiled:
        if n > 1:
            x = hlo.all_to_all(x, ctx.avals_out[0], split_axis, concat_axis, n, groups, channel=_channel(ctx))
        return [x]
    # Along the split axis one piece goes to each partition, and what arrives takes its place.
    if n > 1:
        x = hlo.all_to_all(x, aval, split_axis, split_axis, n, groups, channel=_channel(ctx))
    order = [i for i in range(len(aval.shape)) if i != split_axis]
    order.insert(concat_axis, split_axis)
    return [hlo.transpose(x, ShapedArray(tuple(aval.shape[i] for i in order), aval.dtype), order)]


def ragged(ctx: LoweringContext, operands: Sequence[Any], groups: Sequence[Sequence[int]]) -> Any:
    """``ragged_all_to_all``, a custom call of XLA's."""
    ir = _jaxlib.ir
    rows = "[" + ", ".join(str(list(g)) for g in groups) + "]"
    shape = f"{len(groups)}x{len(groups[0])}"
    attrs = {"call_target_name": ir.StringAttr.get("ragged_all_to_all"),
             "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
             "backend_config": ir.Attribute.parse(
                 "{replica_groups = dense<" + rows + f"> : tensor<{shape}xi64>, channel_id = {_channel(ctx)} : i64" + "}")}
    return ir.Operation.create("stablehlo.custom_call", (ir_type(ctx.avals_out[0]),), list(operands), attrs).result


__all__ = ["lower_all_gather", "lower_all_to_all", "lower_axis_index", "lower_pmax", "lower_pmin", "lower_ppermute",
           "lower_psum", "lower_reduce_scatter", "ragged"]
