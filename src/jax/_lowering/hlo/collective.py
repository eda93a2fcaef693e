"""Operations between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.hlo.core import op1, region_op
from jax._lowering.types import dtype_to_ir_type, i64_attr, ir_type

Groups = Sequence[Sequence[int]]


def replica_groups(groups: Groups) -> Any:
    """``groups`` as ``dense<...> : tensor<GxNxi64>``; shorter groups are filled with -1."""
    width = max((len(g) for g in groups), default=0)
    rows = [[*g, *[-1] * (width - len(g))] for g in groups]
    return _jaxlib.ir.DenseIntElementsAttr.get(np.asarray(rows, np.int64).reshape(len(groups), width))


def _attrs(groups: Groups, channel: int | None, use_global_ids: bool) -> dict[str, Any]:
    attrs: dict[str, Any] = {"replica_groups": replica_groups(groups)}
    if channel is not None:
        attrs["channel_handle"] = _jaxlib.stablehlo.ChannelHandle.get(channel, 1)
    if use_global_ids:
        attrs["use_global_device_ids"] = _jaxlib.ir.UnitAttr.get()
    return attrs


def all_reduce(values: Sequence[Any], groups: Groups, combine: Callable[..., Any], *, channel: int | None = None,
               use_global_ids: bool = False) -> list[Any]:
    """Reduces across each group. ``combine(a, b) -> value``, rank 0."""
    values = list(values)
    scalar = _jaxlib.ir.RankedTensorType.get((), values[0].type.element_type)
    return region_op("stablehlo.all_reduce", [v.type for v in values], values, _attrs(groups, channel, use_global_ids),
                     [((scalar, scalar), combine)])


def all_gather(x: Any, aval_out: Any, dimension: int, groups: Groups, *, channel: int | None = None,
               use_global_ids: bool = False) -> Any:
    attrs = {**_attrs(groups, channel, use_global_ids), "all_gather_dim": i64_attr(dimension)}
    return op1("stablehlo.all_gather", ir_type(aval_out), (x,), attrs)


def reduce_scatter(x: Any, aval_out: Any, dimension: int, groups: Groups, combine: Callable[..., Any], *,
                   channel: int | None = None, use_global_ids: bool = False) -> Any:
    scalar = _jaxlib.ir.RankedTensorType.get((), x.type.element_type)
    attrs = {**_attrs(groups, channel, use_global_ids), "scatter_dimension": i64_attr(dimension)}
    return region_op("stablehlo.reduce_scatter", [ir_type(aval_out)], (x,), attrs, [((scalar, scalar), combine)])[0]


def all_to_all(x: Any, aval_out: Any, split_dimension: int, concat_dimension: int, split_count: int, groups: Groups, *,
               channel: int | None = None) -> Any:
    attrs = {**_attrs(groups, channel, False), "split_dimension": i64_attr(split_dimension),
             "concat_dimension": i64_attr(concat_dimension), "split_count": i64_attr(split_count)}
    return op1("stablehlo.all_to_all", ir_type(aval_out), (x,), attrs)


def collective_permute(x: Any, pairs: Sequence[tuple[int, int]], *, channel: int | None = None) -> Any:
    """Sends ``x`` from the first to the second of each pair; devices that receive nothing get zeros."""
    attrs: dict[str, Any] = {
        "source_target_pairs": _jaxlib.ir.DenseIntElementsAttr.get(np.asarray(pairs, np.int64).reshape(-1, 2))}
    if channel is not None:
        attrs["channel_handle"] = _jaxlib.stablehlo.ChannelHandle.get(channel, 1)
    return op1("stablehlo.collective_permute", x.type, (x,), attrs)


def collective_broadcast(x: Any, groups: Groups, *, channel: int | None = None) -> Any:
    return op1("stablehlo.collective_broadcast", x.type, (x,), _attrs(groups, channel, False))


def _id(name: str) -> Any:
    return op1(name, _jaxlib.ir.RankedTensorType.get((), dtype_to_ir_type(np.dtype(np.uint32))), ())


def replica_id() -> Any:
    return _id("stablehlo.replica_id")


def partition_id() -> Any:
    return _id("stablehlo.partition_id")
