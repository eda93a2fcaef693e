"""The region of a program that ``shard_map`` writes for one part: which partitions work together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.context import LoweringContext, ModuleContext
from jax._lowering.hlo import partition_id
from jax._lowering.shardings import is_spread, quoted, sharding_text
from jax._lowering.types import full, ir_type
from jax.sharding import NamedSharding, PartitionSpec


class Region:
    """A mesh, and its axes over which the code is for one part. Equal regions share functions of the module."""

    __slots__ = ("mesh", "axes", "grid")

    def __init__(self, mod: ModuleContext, mesh: Any, axes: frozenset[Any]) -> None:
        self.mesh = mesh
        self.axes = axes
        sizes = tuple(mesh.axis_sizes)
        devices = getattr(mesh, "_flat_devices_tuple", None)
        if devices and mod.spread is not None:
            place = {d: i for i, d in enumerate(mod.spread.devices)}
            self.grid = np.array([place[d] for d in devices]).reshape(sizes)
        else:
            self.grid = np.arange(math.prod(sizes)).reshape(sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and (self.mesh, self.axes) == (other.mesh, other.axes)

    def __hash__(self) -> int:
        return hash((self.mesh, self.axes))

    def groups(self, names: Sequence[Any]) -> list[list[int]]:
        """The partitions that differ only along these axes, each group in row-major order of ``names``."""
        at = [self.mesh.axis_names.index(n) for n in names]
        rest = [i for i in range(self.grid.ndim) if i not in at]
        size = math.prod(self.grid.shape[i] for i in at)
        found: list[list[int]] = self.grid.transpose(rest + at).reshape(-1, size).tolist()
        return found

    def without_manual_axes(self, sharding: Any) -> Any:
        """A constraint inside of the region, which can name the other axes only."""
        if not isinstance(sharding, NamedSharding):
            return sharding
        named = {a for e in sharding.spec.partitions if e is not None and e is not PartitionSpec.UNCONSTRAINED
                 for a in (e if isinstance(e, tuple) else (e,))}
        if named & self.axes:
            raise ValueError(f"with_sharding_constraint inside of shard_map: {sharding.spec} names the axes "
                             f"{sorted(map(str, named & self.axes))}, over which the function is written for one part; only "
                             "the other axes of the mesh can be named")
        return sharding

    def coordinate(self, name: Any) -> Any:
        """Where this partition is along an axis, an int32 value."""
        axis = self.mesh.axis_names.index(name)
        table = np.empty(self.grid.size, np.int32)
        table[self.grid.reshape(-1)] = np.indices(self.grid.shape)[axis].reshape(-1)
        if self.grid.size == 1:
            return full(0, (), np.dtype(np.int32))
        return _entry(table)


def _entry(table: np.ndarray) -> Any:
    """The entry of ``table`` for this partition: by arithmetic where it is regular, else looked up."""
    ir = _jaxlib.ir
    unsigned = np.dtype(np.uint32)
    index = partition_id()
    make = ir.Operation.create

    def binary(name: str, x: Any, value: int) -> Any:
        return make(name, (x.type,), (x, full(value, (), unsigned))).result
    stride = int(np.argmax(table != table[0])) or 1
    size = int(table.max()) + 1
    n = np.arange(table.size)
    scalar = ir.RankedTensorType.get((), ir.IntegerType.get_signless(32))
    if np.array_equal(table, n // stride % size):
        if stride > 1:
            index = binary("stablehlo.divide", index, stride)
        if size * stride < table.size:
            index = binary("stablehlo.remainder", index, size)
        return make("stablehlo.convert", (scalar,), (index,)).result
    from jax._lowering.types import constant_op, dense_int_array, elements_attr  # meshes are seldom permuted
    row = ir.RankedTensorType.get((1,), ir.IntegerType.get_signless(32))
    sliced = make("stablehlo.dynamic_slice", (row,), (constant_op(elements_attr(table)), index),
                  {"slice_sizes": dense_int_array([1])}).result
    return make("stablehlo.reshape", (scalar,), (sliced,)).result


def manual_computation(ctx: LoweringContext, region: Region, new_axes: frozenset[Any], operands: Sequence[Any],
                       in_shardings: Sequence[Any], out_shardings: Sequence[Any], local_ins: Sequence[Any],
                       local_outs: Sequence[Any], out_avals: Sequence[Any], fill: Any) -> list[Any]:
    """``sdy.manual_computation``: ``fill(block arguments)`` writes the code for one part and returns its results.

    ``new_axes`` are those of the region that no enclosing one has bound.
    """
    mod = ctx.module_context
    if not is_spread(mod):
        return list(fill(operands))
    ir = _jaxlib.ir
    is_open = new_axes != frozenset(region.mesh.axis_names)

    def per_value(shardings: Sequence[Any], ranks: Sequence[int]) -> Any:
        texts = [sharding_text(mod, s, n, range(n) if is_open else ()) for s, n in zip(shardings, ranks, strict=True)]
        return ir.Attribute.parse(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")
    out_types = [ir_type(a) for a in out_avals]
    names = ", ".join(quoted(n) for n in region.mesh.axis_names if n in new_axes)
    attrs = {"in_shardings": per_value(in_shardings, [len(x.type.shape) for x in operands]),
             "out_shardings": per_value(out_shardings, [len(t.shape) for t in out_types]),
             "manual_axes": ir.Attribute.parse("#sdy<manual_axes{" + names + "}>")}
    operation = ir.Operation.create("sdy.manual_computation", out_types, list(operands), attrs, None, 1)
    in_types = [ir_type(a) for a in local_ins]
    block = ir.Block.create_at_start(operation.regions[0], in_types, [mod.state.unknown] * len(in_types))
    with ir.InsertionPoint(block):
        ir.Operation.create("sdy.return", (), list(fill(block.arguments)))
    return list(operation.results)


def coordinate(ctx: LoweringContext, region: Region, name: Any) -> Any:
    """:meth:`Region.coordinate` where other axes may still be the compiler's: partitions are known only where none is."""
    rest = frozenset(region.mesh.axis_names) - region.axes
    if not rest or not is_spread(ctx.module_context):
        return region.coordinate(name)
    from jax._language.avals import ShapedArray  # as above, few regions leave axes to the compiler
    scalar = ShapedArray((), np.dtype(np.int32))
    whole = Region(ctx.module_context, region.mesh, frozenset(region.mesh.axis_names))
    place = NamedSharding(region.mesh, PartitionSpec())
    return manual_computation(ctx, whole, rest, [], [], [place], [], [scalar], [scalar],
                              lambda args: [whole.coordinate(name)])[0]
