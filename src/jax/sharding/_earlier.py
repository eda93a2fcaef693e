"""Shardings by position in a grid of devices, from before meshes had names. Deprecated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base._jaxlib import xla

from ._placements import GSPMDSharding, Sharding, Tiles, _replicated_hlo


class _Grid(Sharding):
    """A grid of sets of devices: dimension ``i`` of an array is split as often as the grid is long."""

    def __init__(self, ids: np.ndarray, devices: tuple[Any, ...], memory_kind: str | None) -> None:
        self._ids = ids  # the last dimension holds copies
        self._devices = devices
        self._internal_device_list = xla.DeviceList(devices)
        self._kind = memory_kind

    memory_kind = property(lambda self: self._kind, doc="The kind of memory that holds the data; None for the default.")
    _memory_kind = memory_kind

    def plain(self) -> Any:
        """The same as a sharding that arrays can have."""
        return GSPMDSharding(self._internal_device_list, self._to_xla_hlo_sharding(len(self._ids.shape) - 1),
                             memory_kind=self._kind)

    def _tiles(self) -> Tiles:
        return self._ids.shape[:-1], self._ids.reshape(-1)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        counts = self._ids.shape[:-1]
        if math.prod(counts) == 1:
            return _replicated_hlo()
        hlo = _jaxlib.hlo
        replicas = self._ids.shape[-1]
        dims = [*counts, *(1,) * (num_dimensions - len(counts))]
        if replicas == 1:
            return hlo.HloSharding.subgroup_with_device_ordering(self._ids.reshape(dims), [])
        return hlo.HloSharding.subgroup_with_device_ordering(self._ids.reshape([*dims, replicas]),
                                                             [hlo.OpSharding.Type.REPLICATED])

    def _key(self) -> tuple[Any, ...]:
        return type(self), self._ids.shape, self._ids.tobytes(), self._devices, self._kind

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, _Grid) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _deprecated(name: str) -> None:
    warnings.warn(f"jax.sharding.{name} is deprecated: use jax.sharding.NamedSharding over a jax.sharding.Mesh",
                  DeprecationWarning, stacklevel=3)


class PositionalSharding(_Grid):
    """A grid of devices without names: ``PositionalSharding(devices).reshape(2, 4)`` splits two dimensions.

    Deprecated; :class:`NamedSharding` says the same with names.

    Args:
      devices: an array or sequence of devices.
      memory_kind: of the data.
    """

    def __init__(self, devices: Any, *, memory_kind: str | None = None) -> None:
        _deprecated("PositionalSharding")
        grid = np.asarray(devices, dtype=object)
        if not grid.size:
            raise ValueError("PositionalSharding needs at least one device")
        super().__init__(np.arange(grid.size).reshape(*grid.shape, 1), tuple(grid.flat), memory_kind)

    def _with(self, ids: np.ndarray) -> PositionalSharding:
        new = type(self).__new__(type(self))
        _Grid.__init__(new, ids, self._devices, self._kind)
        return new

    shape = property(lambda self: self._ids.shape[:-1], doc="Shape of the grid.")
    ndim = property(lambda self: self._ids.ndim - 1, doc="Dimensions of the grid.")
    T = property(lambda self: self.transpose(), doc="The grid with its axes reversed.")

    def reshape(self, *shape: Any) -> PositionalSharding:
        """The devices in a grid of another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        # Copies stay together: a set of devices that hold the same piece is one element.
        return self._with(self._ids.reshape(*wanted, self._ids.shape[-1]))

    def transpose(self, *axes: Any) -> PositionalSharding:
        """The grid with its axes in another order."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        order = tuple(reversed(range(self.ndim))) if not order else tuple(a % self.ndim for a in order)
        return self._with(self._ids.transpose(*order, self.ndim))

    def replicate(self, axis: int | None = None, keepdims: bool = True) -> PositionalSharding:
        """The grid with the devices along ``axis`` (all axes by default) holding copies of one piece."""
        axes = range(self.ndim) if axis is None else (axis % self.ndim,)
        rest = [a for a in range(self.ndim) if a not in axes]
        moved = self._ids.transpose(*rest, *axes, self.ndim)
        shape = [1 if a in axes else self._ids.shape[a] for a in range(self.ndim)] if keepdims else \
            [self._ids.shape[a] for a in rest]
        return self._with(moved.reshape(*shape, -1))

    def with_memory_kind(self, kind: str) -> PositionalSharding:
        """The same grid in another kind of memory."""
        new = self._with(self._ids)
        new._kind = kind
        return new

    def __repr__(self) -> str:
        sets = np.empty(self.shape, dtype=object)
        for i in np.ndindex(*self.shape):
            sets[i] = {self._devices[k].id for k in self._ids[i]}
        return f"PositionalSharding({sets.tolist()})"


class PmapSharding(_Grid):
    """One slice along an axis for each device, as results of ``pmap`` once had it. Deprecated.

    Pieces keep the axis, with length 1. Results of :func:`jax.pmap` have a :class:`NamedSharding`.

    Args:
      devices: one per slice.
      sharding_spec: for each dimension the number of slices, one of them the number of devices and the others 1.
    """

    def __init__(self, devices: Any, sharding_spec: Any) -> None:
        _deprecated("PmapSharding")
        flat = tuple(np.asarray(devices, dtype=object).flat)
        if not isinstance(sharding_spec, tuple) or math.prod(sharding_spec) != len(flat):
            raise TypeError(f"PmapSharding takes as sharding_spec the number of slices of each dimension, {len(flat)} in "
                            f"all; got {sharding_spec!r}. PmapSharding.default(shape, axis, devices) makes one.")
        super().__init__(np.arange(len(flat)).reshape(*sharding_spec, 1), flat, None)
        self._given = np.asarray(devices, dtype=object), sharding_spec

    devices = property(lambda self: self._given[0], doc="The devices, one per slice.")
    sharding_spec = property(lambda self: self._given[1], doc="For each dimension the number of slices.")

    @classmethod
    def default(cls, shape: Sequence[int], sharded_dim: int | None = 0, devices: Sequence[Any] | None = None) -> Any:
        """The sharding of an array of ``shape`` with one slice along ``sharded_dim`` on each of ``devices``.

        Raises:
          ValueError: ``sharded_dim`` or ``devices`` is None, or their lengths differ.
        """
        if sharded_dim is None or devices is None:
            raise ValueError("PmapSharding.default needs an axis to slice and the devices, for instance jax.devices()")
        axis = sharded_dim % len(shape)
        if shape[axis] != len(devices):
            raise ValueError(f"PmapSharding.default: axis {axis} of {tuple(shape)} must have one slice for each of the "
                             f"{len(devices)} devices")
        return cls(devices, tuple(len(devices) if i == axis else 1 for i in range(len(shape))))

    def with_memory_kind(self, kind: str) -> Any:
        """Not possible for this kind of sharding.

        Raises:
          NotImplementedError: always; a NamedSharding can say it.
        """
        raise NotImplementedError("PmapSharding is in the default memory; use a NamedSharding with a memory kind")

    def __repr__(self) -> str:
        return f"PmapSharding(sharding_spec={self.sharding_spec}, devices={self.devices.tolist()})"
