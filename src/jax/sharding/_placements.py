"""The sharding classes: jaxlib's C++ classes and the questions they answer in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base._jaxlib import xla
from jax._base.graft import graft_onto

from ._meshes import AxisType
from ._specs import PartitionSpec, axes_of

Sharding = xla.Sharding
SingleDeviceSharding = xla.SingleDeviceSharding
NamedSharding = xla.NamedSharding
GSPMDSharding = xla.GSPMDSharding
Shape = tuple[int, ...]
Index = tuple[slice, ...]
# For each dimension the number of pieces; positions in the device list, pieces in row-major order and then replicas.
Tiles = tuple[tuple[int, ...], np.ndarray]
_EVERYTHING = slice(None)


class IndivisibleError(ValueError):
    """A dimension does not divide evenly over the devices that shall share it."""


class DuplicateSpecError(ValueError):
    """A mesh axis is used twice in one partitioning."""


@graft_onto(Sharding)
class _AnySharding:
    """What follows from a device list, a memory kind and the tiling."""

    @property
    def _device_assignment(self: Any) -> tuple[Any, ...]:
        return tuple(self._internal_device_list)

    @property
    def memory_kind(self: Any) -> str | None:
        """The kind of memory (``device``, ``pinned_host`` ...) that holds the data; None for the default."""
        return getattr(self, "_memory_kind", None)

    def with_memory_kind(self: Any, kind: str) -> Any:
        """The same layout in another kind of memory.

        Raises:
          NotImplementedError: for shardings that are always in the default memory.
        """
        raise NotImplementedError(f"a {type(self).__name__} is in the default memory; a NamedSharding can say which")

    @property
    def _addressable_device_assignment(self: Any) -> tuple[Any, ...]:
        return tuple(self._internal_device_list.addressable_device_list)

    @property
    def device_set(self: Any) -> set[Any]:
        """All devices that hold a piece."""
        return set(self._internal_device_list)

    @property
    def num_devices(self: Any) -> int:
        """How many devices hold a piece."""
        return len(self._internal_device_list)

    @property
    def addressable_devices(self: Any) -> set[Any]:
        """The devices among :attr:`device_set` that this process can address."""
        return set(self._internal_device_list.addressable_device_list)

    @property
    def has_addressable_devices(self: Any) -> bool:
        """Whether this process addresses any of the devices."""
        return len(self._internal_device_list.addressable_device_list) > 0

    @property
    def is_fully_addressable(self: Any) -> bool:
        """Whether this process can address every device."""
        return self._internal_device_list.is_fully_addressable

    @property
    def is_fully_replicated(self: Any) -> bool:
        """Whether each device holds the whole array."""
        return all(n == 1 for n in self._tiles()[0])

    def devices_indices_map(self: Any, global_shape: Shape) -> dict[Any, Index]:
        """For each device, the slices of an array of ``global_shape`` that it holds."""
        block = self.shard_shape(global_shape)
        counts, order = self._tiles()
        counts = (*counts, *(1,) * (len(global_shape) - len(counts)))
        grid = order.reshape(*counts, -1)
        found: dict[int, Index] = {}
        for position in np.ndindex(*counts):
            index = tuple(_EVERYTHING if n == 1 else slice(p * size, (p + 1) * size)
                          for p, n, size in zip(position, counts, block, strict=True))
            for i in grid[position]:
                found[int(i)] = index
        return {device: found[i] for i, device in enumerate(self._device_assignment)}

    def addressable_devices_indices_map(self: Any, global_shape: Shape) -> dict[Any, Index]:
        """:meth:`devices_indices_map` for the devices of this process only."""
        mine = self.addressable_devices
        return {d: i for d, i in self.devices_indices_map(global_shape).items() if d in mine}

    def shard_shape(self: Any, global_shape: Shape) -> Shape:
        """Shape of the piece that each device holds of an array of ``global_shape``.

        Raises:
          ValueError: when the partitioning has more dimensions than the array.
          IndivisibleError: when a dimension does not divide evenly.
        """
        counts, _ = self._tiles()
        shape = tuple(global_shape)
        self._check_rank(shape)
        block = list(shape)
        for axis, n in enumerate(counts):
            if block[axis] % n:
                raise IndivisibleError(
                    f"{self} splits dimension {axis} of an array of shape {shape} into {n} pieces, and its size "
                    f"{block[axis]} is not a multiple of {n}. Pad the dimension or choose another partitioning.")
            block[axis] //= n
        return tuple(block)

    def is_equivalent_to(self: Any, other: Any, ndim: int) -> bool:
        """Whether both put the same piece of an ``ndim``-dimensional array on the same device."""
        if self is other or self == other:
            return True
        if self.memory_kind != other.memory_kind or self._device_assignment != other._device_assignment:
            return False
        return _layout_key(self, ndim) == _layout_key(other, ndim)

    def check_compatible_aval(self: Any, aval_shape: Shape) -> None:
        """Raises ValueError unless arrays of this shape have enough dimensions."""
        self._check_rank(aval_shape)

    def _check_rank(self: Any, shape: Shape) -> None:
        needed = len(self._tiles()[0])
        if needed > len(shape):
            raise ValueError(f"{self} is for arrays of at least {needed} dimensions; this one has shape {shape}")


def _layout_key(sharding: Any, ndim: int) -> Any:
    counts, order = sharding._tiles()
    counts = (*counts, *(1,) * (ndim - len(counts)))
    if math.prod(counts) == 1:
        return counts
    blocks = np.sort(order.reshape(math.prod(counts), -1), axis=1)
    return counts, blocks.tobytes()


@graft_onto(SingleDeviceSharding, NamedSharding, GSPMDSharding)
class _WithMemoryKind:
    """Members that read the C++ classes' own field."""

    @property
    def memory_kind(self: Any) -> str | None:
        """The kind of memory (``device``, ``pinned_host`` ...) that holds the data."""
        return self._memory_kind


_replicated: Any = None
_ONE = np.zeros(1, dtype=int)


def _replicated_hlo() -> Any:
    global _replicated
    if _replicated is None:
        _replicated = _jaxlib.hlo.HloSharding.replicate()
    return _replicated


# --- one device --------------------------------------------------------------------------------------------


@graft_onto(SingleDeviceSharding)
class _SingleDevice:
    """A whole array on one device."""

    is_fully_replicated = property(lambda self: True, doc="One device holds the whole array.")
    num_devices = property(lambda self: 1, doc="One.")

    @property
    def _device_assignment(self: Any) -> tuple[Any, ...]:
        return (self._device,)

    @property
    def device_set(self: Any) -> set[Any]:
        """The device, in a set."""
        return {self._device}

    def _tiles(self: Any) -> Tiles:
        return (), _ONE

    def shard_shape(self: Any, global_shape: Shape) -> Shape:
        """The whole shape."""
        return tuple(global_shape)

    def with_memory_kind(self: Any, kind: str) -> Any:
        """The same device, another kind of memory."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:
        return _replicated_hlo()

    def __eq__(self: Any, other: object) -> bool:
        if self is other:
            return True
        return (isinstance(other, SingleDeviceSharding) and self._device == other._device
                and self._memory_kind == other._memory_kind)

    def __hash__(self: Any) -> int:
        return hash((self._device, self._memory_kind))

    def __repr__(self: Any) -> str:
        kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
        return f"SingleDeviceSharding(device={self._device!r}{kind})"

    def __reduce__(self: Any) -> Any:
        return SingleDeviceSharding, (self._device, self._memory_kind)


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding that puts a whole array on ``device``."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


# --- meshes ------------------------------------------------------------------------------------------------


def check_spec(mesh: Any, spec: PartitionSpec) -> None:
    """Refuses specs that name unknown axes or use an axis twice."""
    seen: set[Any] = set()
    for entry in spec.partitions:
        for axis in axes_of(entry):
            if axis not in mesh.axis_names:
                raise ValueError(f"the mesh axis {axis!r} of {spec} is none of the mesh's axes {mesh.axis_names}")
            if axis in seen:
                raise DuplicateSpecError(f"{spec} uses the mesh axis {axis!r} more than once; an axis can split "
                                         "at most one dimension")
            seen.add(axis)
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for axis in sorted(spec.unreduced | spec.reduced):
        if types.get(axis) is not AxisType.Explicit:
            raise ValueError(f"{spec} has a sum pending over the mesh axis {axis!r}, which must be an axis of type "
                             f"Explicit for that; the mesh is {mesh}")


def _axis_order(sharding: Any) -> tuple[tuple[int, ...], tuple[int, ...], list[int], list[int]]:
    """(pieces per dimension, sizes of the mesh axes, axes that split from the outside in, other axes)."""
    mesh = sharding.mesh
    names, sizes = list(mesh.axis_names), tuple(mesh.axis_sizes)
    used = [[names.index(a) for a in axes_of(entry)] for entry in sharding.spec.partitions]
    counts = tuple(math.prod(sizes[a] for a in axes) for axes in used)
    splitting = [a for axes in used for a in axes]
    return counts, sizes, splitting, [a for a in range(len(names)) if a not in splitting]


@graft_onto(NamedSharding)
class _Named:
    """A mesh and a partition spec."""

    def _tiles(self: Any) -> Tiles:
        known = self.__dict__.get("_known_tiles")
        if known is None:
            if self.spec.unreduced:
                raise NotImplementedError(
                    f"{self} has a sum pending over {sorted(map(str, self.spec.unreduced))}, and arrays with pending sums "
                    "are not supported: take the sum where it arises, with jax.lax.psum inside of jax.shard_map")
            counts, sizes, splitting, rest = _axis_order(self)
            grid = np.arange(math.prod(sizes)).reshape(sizes).transpose(splitting + rest).ravel()
            known = self.__dict__["_known_tiles"] = (counts, grid)
        return known

    def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:
        """The same partitioning as XLA writes it, for arrays of ``num_dimensions``."""
        counts, sizes, splitting, rest = _axis_order(self)
        if math.prod(counts) == 1:
            return _replicated_hlo()
        hlo = _jaxlib.hlo
        dims = [*counts, *(1,) * (num_dimensions - len(counts))]
        replicas = math.prod(sizes[a] for a in rest)
        subgroups = []
        if replicas > 1:
            dims.append(replicas)
            subgroups.append(hlo.OpSharding.Type.REPLICATED)
        return hlo.HloSharding.iota_tile(dims, sizes, splitting + rest, subgroups)

    @property
    def replicated_axes(self: Any) -> frozenset[Any]:
        """The mesh axes over which the value is the same on all devices."""
        spec = self.spec
        split = {axis for entry in spec.partitions for axis in axes_of(entry)}
        return frozenset(self.mesh.axis_names) - split - spec.unreduced

    def with_memory_kind(self: Any, kind: str) -> Any:
        """The same partitioning in another kind of memory."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self: Any, **kwargs: Any) -> Any:
        """A copy with ``mesh``, ``spec`` or ``memory_kind`` replaced."""
        return NamedSharding(kwargs.pop("mesh", self.mesh), kwargs.pop("spec", self.spec),
                             memory_kind=kwargs.pop("memory_kind", self._memory_kind), **kwargs)

    def __repr__(self: Any) -> str:
        kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec!r}{kind})"

    def __reduce__(self: Any) -> Any:
        return NamedSharding, (self.mesh, self.spec, self._memory_kind)


# --- partitionings as XLA writes them ----------------------------------------------------------------------


def hlo_tiles(op: Any, num_devices: int) -> Tiles:
    """The tiles of a description of XLA's, over so many devices."""
    if op.is_replicated() or op.is_unknown() or num_devices == 1 or not op.is_tiled():
        return (), np.arange(num_devices)
    dims = list(op.tile_assignment_dimensions())
    extra = 1 if op.replicate_on_last_tile_dim() else len(op.subgroup_types())
    return tuple(dims[: len(dims) - extra]), np.asarray(op.tile_assignment_devices())


@graft_onto(GSPMDSharding)
class _Gspmd:
    """A device list and XLA's own description."""

    @staticmethod
    def get_replicated(devices: Any, *, memory_kind: str | None = None) -> Any:
        """The sharding that puts the whole array on each of ``devices``."""
        return GSPMDSharding(xla.DeviceList(tuple(devices)), _replicated_hlo(), memory_kind=memory_kind)

    def _tiles(self: Any) -> Tiles:
        return hlo_tiles(self._hlo_sharding, len(self._internal_device_list))

    def _check_rank(self: Any, shape: Shape) -> None:
        needed = len(self._tiles()[0])
        if needed and needed != len(shape):
            raise ValueError(f"{self} is for arrays of {needed} dimensions; this one has shape {shape}")

    def _to_xla_hlo_sharding(self: Any, num_dimensions: int) -> Any:
        return self._hlo_sharding

    def with_memory_kind(self: Any, kind: str) -> Any:
        """The same partitioning in another kind of memory."""
        return GSPMDSharding(self._internal_device_list, self._hlo_sharding, memory_kind=kind)

    def __eq__(self: Any, other: object) -> bool:
        return self is other or (
            isinstance(other, GSPMDSharding) and self._hlo_sharding == other._hlo_sharding
            and self._memory_kind == other._memory_kind
            and self._internal_device_list == other._internal_device_list)

    def __hash__(self: Any) -> int:
        return hash((self._internal_device_list, self._hlo_sharding, self._memory_kind))

    def __repr__(self: Any) -> str:
        return f"GSPMDSharding({self._hlo_sharding}, memory_kind={self._memory_kind})"
