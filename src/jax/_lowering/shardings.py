"""Shardings as Shardy writes them: meshes are symbols of the module, axes of arrays name their axes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from jax._base import _jaxlib
from jax._lowering.context import ModuleContext
from jax._lowering.types import string_attr
from jax.sharding import NamedSharding, PartitionSpec


def mesh_symbol(mod: ModuleContext, names: tuple[Any, ...], sizes: tuple[int, ...], ids: tuple[int, ...] | None) -> str:
    """The name of a mesh in the module; ``ids`` are its devices' positions among those of the program."""
    if ids == tuple(range(len(ids or ()))):
        ids = None
    key = ("mesh", names, sizes, ids)
    found = mod.functions.get(key)
    if found is None:
        axes = ", ".join(f"{quoted(n)}={s}" for n, s in zip(names, sizes, strict=True))
        order = "" if ids is None else f", device_ids=[{', '.join(map(str, ids))}]"
        found = mod.functions[key] = _add_mesh(mod, "mesh", f"#sdy.mesh<[{axes}]{order}>")
    return found


def quoted(axis: Any) -> str:
    """The name of an axis in MLIR's text."""
    return '"' + str(axis).replace("\\", "\\\\").replace('"', '\\"') + '"'


def symbol_of_mesh(mod: ModuleContext, mesh: Any) -> str:
    """The name of a mesh, concrete or abstract, in the module."""
    devices = getattr(mesh, "_flat_devices_tuple", None)
    ids = None
    if devices and mod.spread is not None:
        place = {d: i for i, d in enumerate(mod.spread.devices)}
        if any(d not in place for d in devices):
            raise ValueError(f"the program runs on {list(map(str, mod.spread.devices))}, and {mesh} has other devices; all "
                             "meshes in one program must be over the same devices")
        ids = tuple(place[d] for d in devices)
    return mesh_symbol(mod, tuple(mesh.axis_names), tuple(mesh.axis_sizes), ids)


def sharding_text(mod: ModuleContext, sharding: Any, ndim: int, open_dims: Collection[int] = ()) -> str:
    """``<@mesh, [{"x"}, {}]>``: a sharding of values with ``ndim`` dimensions.

    The compiler may split the dimensions ``open_dims``, and unconstrained ones, further.
    """
    if isinstance(sharding, NamedSharding):
        if sharding.spec.unreduced:
            sharding._tiles()  # says that pending sums are not supported
        symbol = symbol_of_mesh(mod, sharding.mesh)
        entries = [*sharding.spec.partitions, *(None,) * (ndim - len(sharding.spec.partitions))]
    else:
        counts, order = sharding._tiles()
        names = tuple(f"_{i}" for i in range(len(counts)))
        replicas = order.size // max(1, _product(counts))
        ids = tuple(int(i) for i in order.reshape(-1))
        symbol = mesh_symbol(mod, (*names, "_replicas"), (*counts, replicas), ids)
        entries = [*(n if c > 1 else None for n, c in zip(names, counts, strict=True)), *(None,) * (ndim - len(counts))]
    dims = []
    for i, entry in enumerate(entries):
        axes = () if entry is None or entry is PartitionSpec.UNCONSTRAINED else \
            entry if isinstance(entry, tuple) else (entry,)
        more = i in open_dims or entry is PartitionSpec.UNCONSTRAINED
        dims.append("{" + ", ".join([*map(quoted, axes), *(["?"] if more else [])]) + "}")
    return f"<@{symbol}, [{', '.join(dims)}]>"


def _product(counts: tuple[int, ...]) -> int:
    out = 1
    for n in counts:
        out *= n
    return out


def sharding_attr(mod: ModuleContext, sharding: Any, ndim: int, open_dims: Collection[int] = ()) -> Any:
    """``#sdy.sharding<...>``."""
    return _jaxlib.ir.Attribute.parse("#sdy.sharding" + sharding_text(mod, sharding, ndim, open_dims))


def is_spread(mod: ModuleContext) -> bool:
    """Whether the module is for several devices."""
    return mod.spread is not None and len(mod.spread.devices) > 1


def on_first_device(mod: ModuleContext, results: int) -> Any:
    """``#sdy.sharding_per_value<...>``: all results of an operation on the first device of the program alone."""
    key = ("mesh", (), (), (0,))
    symbol = mod.functions.get(key)
    if symbol is None:
        symbol = mod.functions[key] = _add_mesh(mod, "maximal_mesh_0", "#sdy.mesh<[], device_ids=[0]>")
    one = f"<@{symbol}, []>"
    return _jaxlib.ir.Attribute.parse(f"#sdy.sharding_per_value<[{', '.join([one] * results)}]>")


def gathered(mod: ModuleContext, value: Any) -> Any:
    """``value``, the whole of it on every device."""
    attr = sharding_attr(mod, mod.spread.everywhere(), len(value.type.shape))
    return _jaxlib.ir.Operation.create("sdy.sharding_constraint", (value.type,), (value,), {"sharding": attr}).result


def _add_mesh(mod: ModuleContext, name: str, text: str) -> str:
    symbol = mod.fresh_symbol(name)
    ir = _jaxlib.ir
    attrs = {"sym_name": string_attr(symbol), "mesh": ir.Attribute.parse(text)}
    ir.Operation.create("sdy.mesh", (), (), attrs, None, 0, ip=ir.InsertionPoint.at_block_begin(mod.body))
    return symbol
