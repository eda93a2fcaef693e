"""The sharding classes: jaxlib's C++ classes and the questions they answer in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base._jaxlib import xla

from ._specs import PartitionSpec, axes_of

Sharding = xla.Sharding
SingleDeviceSharding = xla.SingleDeviceSharding
NamedSharding = xla.NamedSharding
GSPMDSharding = xla.GSPMDSharding
Shape = tuple[int, ...]
Index = tuple[slice, ...]
_EVERYTHING = slice(None)


class IndivisibleError(ValueError):
    """A dimension does not divide evenly over the devices that shall share it."""


class DuplicateSpecError(ValueError):
    """A mesh axis is used twice in one partitioning."""


def _extends(*classes: type) -> Callable[[Any], Any]:
    """Decorator: makes a function or property a member of jaxlib's C++ classes."""

    def install(member: Any) -> Any:
        name = member.fget.__name__ if isinstance(member, property) else member.__name__
        for cls in classes:
            setattr(cls, name, member)
        return member

    return install


_CONCRETE = (SingleDeviceSharding, NamedSharding, GSPMDSharding)

# --- every sharding: derived from the device list, the memory kind and the tiling ------------------------------------


@_extends(*_CONCRETE)
@property
def memory_kind(self: Any) -> str | None:
    """The kind of memory (``device``, ``pinned_host`` ...) that holds the data."""
    return self._memory_kind


@_extends(Sharding)
@property
def _device_assignment(self: Any) -> tuple[Any, ...]:
    return tuple(self._internal_device_list)


@_extends(Sharding)
@property
def device_set(self: Any) -> set[Any]:
    """All devices that hold a piece."""
    return set(self._internal_device_list)


@_extends(Sharding)
@property
def num_devices(self: Any) -> int:
    """How many devices hold a piece."""
    return len(self._internal_device_list)


@_extends(Sharding)
@property
def _addressable_device_assignment(self: Any) -> tuple[Any, ...]:
    return tuple(self._internal_device_list.addressable_device_list)


@_extends(Sharding)
@property
def addressable_devices(self: Any) -> set[Any]:
    """The devices among :attr:`device_set` that this process can address."""
    return set(self._internal_device_list.addressable_device_list)


@_extends(Sharding)
@property
def has_addressable_devices(self: Any) -> bool:
    """Whether this process addresses any of the devices."""
    return len(self._internal_device_list.addressable_device_list) > 0


@_extends(Sharding)
@property
def is_fully_addressable(self: Any) -> bool:
    """Whether this process can address every device."""
    return self._internal_device_list.is_fully_addressable


@_extends(NamedSharding, GSPMDSharding)
@property
def is_fully_replicated(self: Any) -> bool:
    """Whether each device holds the whole array."""
    return all(n == 1 for n in self._tiles()[0])


@_extends(Sharding)
def devices_indices_map(self: Any, global_shape: Shape) -> dict[Any, Index]:
    """For each device, the slices of an array of ``global_shape`` that it holds."""
    block = self.shard_shape(global_shape)
    counts, order = self._tiles()
    counts = (*counts, *(1,) * (len(global_shape) - len(counts)))
    grid = np.asarray(order).reshape(*counts, -1)
    devices = self._device_assignment
    found: dict[int, Index] = {}
    for position in np.ndindex(*counts):
        index = tuple(_EVERYTHING if n == 1 else slice(p * size, (p + 1) * size)
                      for p, n, size in zip(position, counts, block, strict=True))
        for i in grid[position]:
            found[int(i)] = index
    return {device: found[i] for i, device in enumerate(devices)}


@_extends(Sharding)
def addressable_devices_indices_map(self: Any, global_shape: Shape) -> dict[Any, Index]:
    """:meth:`devices_indices_map` for the devices of this process only."""
    mine = self.addressable_devices
    return {d: i for d, i in self.devices_indices_map(global_shape).items() if d in mine}


@_extends(Sharding)
def shard_shape(self: Any, global_shape: Shape) -> Shape:
    """Shape of the piece that each device holds of an array of ``global_shape``.

    Raises:
      IndivisibleError: when a dimension does not divide evenly.
    """
    counts, _ = self._tiles()
    shape = tuple(global_shape)
    if len(counts) > len(shape):
        raise ValueError(f"{self} splits {len(counts)} dimensions, and the array has only {len(shape)}: {shape}")
    block = list(shape)
    for axis, n in enumerate(counts):
        if block[axis] % n:
            raise IndivisibleError(
                f"{self} splits dimension {axis} of an array of shape {shape} into {n} pieces, and its size "
                f"{block[axis]} is not a multiple of {n}. Pad the dimension or choose another partitioning.")
        block[axis] //= n
    return tuple(block)


@_extends(Sharding)
def is_equivalent_to(self: Any, other: Any, ndim: int) -> bool:
    """Whether both put the same piece of an ``ndim``-dimensional array on the same device."""
    if self is other or self == other:
        return True
    if self.memory_kind != other.memory_kind or self._device_assignment != other._device_assignment:
        return False
    return _layout_key(self, ndim) == _layout_key(other, ndim)


def _layout_key(sharding: Any, ndim: int) -> Any:
    counts, order = sharding._tiles()
    counts = (*counts, *(1,) * (ndim - len(counts)))
    if math.prod(counts) == 1:
        return counts
    blocks = np.sort(np.asarray(order).reshape(math.prod(counts), -1), axis=1)
    return counts, blocks.tobytes()


@_extends(Sharding)
def check_compatible_aval(self: Any, aval_shape: Shape) -> None:
    """Raises ValueError unless arrays of this shape can be laid out so."""
    self.shard_shape(aval_shape)


# --- one device ------------------------------------------------------------------------------------------------------


@_extends(SingleDeviceSharding)
@property
def is_fully_replicated(self: Any) -> bool:  # noqa: F811 - installed on another class
    """One device holds the whole array."""
    return True


@_extends(SingleDeviceSharding)
def _tiles(self: Any) -> tuple[tuple[int, ...], Any]:
    return (), (0,)


@_extends(SingleDeviceSharding)
def shard_shape(self: Any, global_shape: Shape) -> Shape:  # noqa: F811
    """The whole shape."""
    return tuple(global_shape)


@_extends(SingleDeviceSharding)
def with_memory_kind(self: Any, kind: str) -> Any:
    """The same device, another kind of memory."""
    return SingleDeviceSharding(self._device, memory_kind=kind)


@_extends(SingleDeviceSharding)
def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:
    return _replicated_hlo()


@_extends(SingleDeviceSharding)
def __eq__(self: Any, other: object) -> bool:
    if self is other:
        return True
    return (isinstance(other, SingleDeviceSharding) and self._device == other._device
            and self._memory_kind == other._memory_kind)


@_extends(SingleDeviceSharding)
def __hash__(self: Any) -> int:
    return hash((self._device, self._memory_kind))


@_extends(SingleDeviceSharding)
def __repr__(self: Any) -> str:
    kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
    return f"SingleDeviceSharding(device={self._device!r}{kind})"


@_extends(SingleDeviceSharding)
def __reduce__(self: Any) -> Any:
    return SingleDeviceSharding, (self._device, self._memory_kind)


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding that puts a whole array on ``device``."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


_replicated: Any = None


def _replicated_hlo() -> Any:
    global _replicated
    if _replicated is None:
        _replicated = _jaxlib.hlo.HloSharding.replicate()
    return _replicated


# --- meshes ----------------------------------------------------------------------------------------------------------


def check_spec(mesh: Any, spec: PartitionSpec) -> None:
    """Refuses specs that name unknown axes or use an axis twice."""
    seen: set[Any] = set()
    for entry in spec.partitions:
        for axis in axes_of(entry):
            if axis not in mesh.axis_names:
                raise ValueError(f"the mesh axis {axis!r} of {spec} is not one of the mesh's axes {mesh.axis_names}")
            if axis in seen:
                raise DuplicateSpecError(f"{spec} uses the mesh axis {axis!r} more than once; an axis can split "
                                         "at most one dimension")
            seen.add(axis)


@_extends(NamedSharding)
def _tiles(self: Any) -> tuple[tuple[int, ...], Any]:  # noqa: F811
    """(pieces per dimension, positions in the device list: pieces in row-major order, then replicas)."""
    known = self.__dict__.get("_known_tiles")
    if known is None:
        mesh = self.mesh
        names, sizes = list(mesh.axis_names), tuple(mesh.axis_sizes)
        used = [[names.index(a) for a in axes_of(entry)] for entry in self.spec.partitions]
        counts = tuple(math.prod(sizes[a] for a in axes) for axes in used)
        first = [a for axes in used for a in axes]
        order = first + [a for a in range(len(names)) if a not in first]
        grid = np.arange(math.prod(sizes)).reshape(sizes).transpose(order).ravel()
        known = self.__dict__["_known_tiles"] = (counts, grid)
    return known


@_extends(NamedSharding)
def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:  # noqa: F811
    """The same partitioning as XLA writes it, for arrays of ``num_dimensions``."""
    counts, _ = self._tiles()
    if math.prod(counts) == 1:
        return _replicated_hlo()
    mesh = self.mesh
    names, sizes = list(mesh.axis_names), tuple(mesh.axis_sizes)
    first = [names.index(a) for entry in self.spec.partitions for a in axes_of(entry)]
    rest = [a for a in range(len(names)) if a not in first]
    dims = [*counts, *(1,) * (num_dimensions - len(counts))]
    replicas = math.prod(sizes[a] for a in rest)
    hlo = _jaxlib.hlo
    subgroups = []
    if replicas > 1:
        dims.append(replicas)
        subgroups.append(hlo.OpSharding.Type.REPLICATED)
    return hlo.HloSharding.iota_tile(dims, sizes, [*first, *rest], subgroups)


@_extends(NamedSharding)
def with_memory_kind(self: Any, kind: str) -> Any:  # noqa: F811
    """The same partitioning in another kind of memory."""
    return NamedSharding(self.mesh, self.spec, memory_kind=kind)


@_extends(NamedSharding)
def update(self: Any, **kwargs: Any) -> Any:
    """A copy with ``mesh``, ``spec`` or ``memory_kind`` replaced."""
    return NamedSharding(kwargs.pop("mesh", self.mesh), kwargs.pop("spec", self.spec),
                         memory_kind=kwargs.pop("memory_kind", self._memory_kind), **kwargs)


@_extends(NamedSharding)
def __repr__(self: Any) -> str:  # noqa: F811
    kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
    return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec!r}{kind})"


@_extends(NamedSharding)
def __reduce__(self: Any) -> Any:  # noqa: F811
    return NamedSharding, (self.mesh, self.spec, self._memory_kind)


# --- partitionings as XLA writes them --------------------------------------------------------------------------------


@_extends(GSPMDSharding)
def _tiles(self: Any) -> tuple[tuple[int, ...], Any]:  # noqa: F811
    op = self._hlo_sharding
    n = len(self._internal_device_list)
    if op.is_replicated() or op.is_unknown() or n == 1 or not op.is_tiled():
        return (), np.arange(n)
    dims = list(op.tile_assignment_dimensions())
    if op.replicate_on_last_tile_dim():
        dims = dims[:-1]
    else:
        dims = dims[: len(dims) - len(op.subgroup_types())]
    return tuple(dims), np.asarray(op.tile_assignment_devices())


@_extends(GSPMDSharding)
def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:  # noqa: F811
    return self._hlo_sharding


@_extends(GSPMDSharding)
def with_memory_kind(self: Any, kind: str) -> Any:  # noqa: F811
    """The same partitioning in another kind of memory."""
    return GSPMDSharding(self._internal_device_list, self._hlo_sharding, memory_kind=kind)


@_extends(GSPMDSharding)
def __eq__(self: Any, other: object) -> bool:  # noqa: F811
    return self is other or (
        isinstance(other, GSPMDSharding) and self._hlo_sharding == other._hlo_sharding
        and self._memory_kind == other._memory_kind and self._internal_device_list == other._internal_device_list)


@_extends(GSPMDSharding)
def __hash__(self: Any) -> int:  # noqa: F811
    return hash((self._internal_device_list, self._hlo_sharding, self._memory_kind))


@_extends(GSPMDSharding)
def __repr__(self: Any) -> str:  # noqa: F811
    return f"GSPMDSharding({self._hlo_sharding}, memory_kind={self._memory_kind})"
