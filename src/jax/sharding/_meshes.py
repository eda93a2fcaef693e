"""Meshes: grids of devices with named axes, and the mesh that is current in a thread."""

from __future__ import annotations

import collections
import enum
import math
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jax._base._jaxlib import xla
from jax._base.option import internal_state


class AxisType(enum.Enum):
    """Who decides partitionings over a mesh axis: the compiler, the types of the program, or its own code."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def _axis_types(types: Any, n: int) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * n
    if isinstance(types, AxisType):
        return (types,) * n
    types = tuple(types)
    if len(types) != n or not all(isinstance(t, AxisType) for t in types):
        raise ValueError(f"axis_types must hold one AxisType for each of the {n} axes; got {types}")
    return types


class _MeshShape:
    """What concrete and abstract meshes have in common: named axes, their sizes and types."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> collections.OrderedDict[Any, int]:
        """Axis name to size."""
        return collections.OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Pairs of axis name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """Number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else self._scalar_size()

    def _scalar_size(self) -> int:
        return 0

    @property
    def empty(self) -> bool:
        """Whether the mesh holds no device."""
        return self.size == 0

    def _axes_of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types, strict=True) if t is kind)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """Axes whose partitionings the compiler chooses."""
        return self._axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """Axes whose partitionings are part of array types."""
        return self._axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """Axes over which the program itself runs one body per device."""
        return self._axes_of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether the compiler chooses the partitionings over every axis."""
        return all(t is AxisType.Auto for t in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether partitionings over every axis are part of array types."""
        return all(t is AxisType.Explicit for t in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether the program itself runs one body per device over every axis."""
        return all(t is AxisType.Manual for t in self.axis_types)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        """Whether the compiler chooses no partitioning."""
        return AxisType.Auto not in self.axis_types

    def _axes_text(self) -> str:
        axes = ", ".join(f"{n!r}: {s}" for n, s in self.shape_tuple) or "()"
        return f"{axes}, axis_types={self.axis_types!r}"


_meshes: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
_mesh_lock = threading.Lock()


class Mesh(_MeshShape):
    """An n-dimensional grid of devices with a name for each axis.

    Args:
      devices: array (or nested list) of devices.
      axis_names: one name per dimension of ``devices``.
      axis_types: an :class:`AxisType` for all axes or one for each; ``Auto`` by default.

    Meshes are interned: equal arguments give the same object. A mesh is a context manager that makes it the one
    that :func:`get_mesh` returns.

    Raises:
      ValueError: when the number of names is not the number of dimensions.
    """

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        grid = np.asarray(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise ValueError("a mesh needs one axis name for each dimension of its device grid: the grid has "
                             f"shape {grid.shape} and the names are {names}")
        if any(n is None for n in names):
            raise ValueError(f"None is not a mesh axis name: {names}")
        types = _axis_types(axis_types, grid.ndim)
        key = (cls, grid.shape, tuple(grid.flat), names, types)
        with _mesh_lock:
            found = _meshes.get(key)
            if found is None:
                found = _meshes[key] = object.__new__(cls)
                found._fill(grid.copy(), names, types)
        return found

    def _fill(self, grid: np.ndarray, names: tuple[Any, ...], types: tuple[AxisType, ...]) -> None:
        grid.flags.writeable = False
        self.devices = grid
        self.axis_names = names
        self.axis_types = types
        self.axis_sizes = grid.shape
        self._flat_devices_tuple = tuple(grid.flat)
        self._internal_device_list = xla.DeviceList(self._flat_devices_tuple)
        self._hash = hash((names, types, grid.shape, self._flat_devices_tuple))

    def _scalar_size(self) -> int:
        return self.devices.size

    @property
    def is_scalar(self) -> bool:
        """Whether it is one device without an axis."""
        return self.devices.ndim == 0

    @property
    def device_ids(self) -> np.ndarray:
        """The ids of the devices, in the shape of the mesh."""
        return np.array([d.id for d in self.devices.flat], dtype=int).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Any]:
        """The devices that this process can address."""
        return [d for d in self._flat_devices_tuple if d.process_index == d.client.process_index()]

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return len(self.local_devices) != len(self._flat_devices_tuple)

    @property
    def local_mesh(self) -> Mesh:
        """The smallest sub-grid that holds the devices of this process."""
        if not self.is_multi_process:
            return self
        local = set(self.local_devices)
        mine = np.vectorize(lambda d: d in local, otypes=[bool])(self.devices)
        box = tuple(slice(w.min(), w.max() + 1) for w in np.nonzero(mine))
        if not mine[box].all():
            raise ValueError("the devices of this process are no contiguous block of the mesh")
        return Mesh(self.devices[box], self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""
        device = self._flat_devices_tuple[0] if self._flat_devices_tuple else None
        about = AbstractDevice(device.device_kind, None, device.platform) if device is not None else None
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=about)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A mesh with the given parts replaced."""
        return Mesh(self.devices if devices is None else devices,
                    self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Mesh) and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return self.axis_names, self.axis_types, self.axis_sizes, self._flat_devices_tuple

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __deepcopy__(self, memo: Any) -> Mesh:
        return self

    def __enter__(self) -> Mesh:
        _push(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _entered.set_local(_entered.value[:-1])

    def __str__(self) -> str:
        return f"Mesh({self._axes_text()})"

    def __repr__(self) -> str:
        return (f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
                f"axis_types={self.axis_types!r})")


class AbstractDevice:
    """What an abstract mesh knows of its devices: kind, number of cores and platform."""

    __slots__ = ("device_kind", "num_cores", "platform")

    def __init__(self, device_kind: str, num_cores: int | None = None, platform: str | None = None) -> None:
        self.device_kind = device_kind
        self.num_cores = num_cores
        self.platform = platform

    def _key(self) -> tuple[Any, ...]:
        return self.device_kind, self.num_cores, self.platform

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"


class AbstractMesh(_MeshShape):
    """A mesh's axes without its devices, for programs that are traced before devices are chosen.

    Args:
      axis_sizes: size of each axis.
      axis_names: name of each axis.
      axis_types: as for :class:`Mesh`.
      abstract_device: kind of the devices, where it matters.
    """

    def __init__(self, axis_sizes: Sequence[int], axis_names: Any, axis_types: Any = None, *,
                 abstract_device: AbstractDevice | None = None) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(f"the axis sizes {self.axis_sizes} and names {self.axis_names} do not match")
        self.axis_types = _axis_types(axis_types, len(self.axis_names))
        self.abstract_device = abstract_device
        self._internal_device_list = None  # jaxlib's NamedSharding asks

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Itself."""
        return self

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None,
               **kwargs: Any) -> AbstractMesh:
        """A mesh with the given parts replaced."""
        return AbstractMesh(self.axis_sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types,
                            abstract_device=kwargs.pop("abstract_device", self.abstract_device), **kwargs)

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """A mesh with the types of some axes replaced."""
        new = tuple(name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types, strict=True))
        return self.update(axis_types=new)

    def _no_devices(self) -> Any:
        raise ValueError("an AbstractMesh has no devices; use the Mesh it came from")

    devices = property(_no_devices, doc="Abstract meshes hold none: ValueError.")
    device_ids = property(_no_devices, doc="Abstract meshes hold no devices: ValueError.")
    local_devices = property(_no_devices, doc="Abstract meshes hold no devices: ValueError.")
    local_mesh = property(_no_devices, doc="Abstract meshes hold no devices: ValueError.")
    is_multi_process = property(_no_devices, doc="Abstract meshes hold no devices: ValueError.")

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, AbstractMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        about = f", {self.abstract_device!r}" if self.abstract_device is not None else ""
        return f"AbstractMesh({self._axes_text()}{about})"


# The meshes entered in this thread, the innermost last: a part of the keys of traces and compiled calls.
_entered = internal_state("meshes", ())


def _push(mesh: Any) -> tuple[Any, ...]:
    """Enters ``mesh``; returns what undoes that."""
    before: tuple[Any, ...] = _entered.value
    _entered.set_local((*before, mesh))
    return before


def get_mesh() -> Mesh:
    """The innermost mesh entered in this thread; a mesh without devices when there is none.

    >>> import jax
    >>> jax.sharding.get_mesh().empty
    True
    """
    for mesh in reversed(_entered.value):
        if isinstance(mesh, Mesh):
            return mesh
    return _empty_mesh()


def _empty_mesh() -> Mesh:
    empty = object.__new__(Mesh)
    empty.devices = np.empty((0,), dtype=object)
    empty.axis_names, empty.axis_types, empty.axis_sizes = (), (), ()
    empty._flat_devices_tuple = ()
    empty._hash = 0
    return empty


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the innermost mesh entered in this thread; one without axes when there is none."""
    entered = _entered.value
    return entered[-1].abstract_mesh if entered else AbstractMesh((), ())


class set_mesh:
    """Makes ``mesh`` the current one of this thread: from now on, or for the block when used with ``with``.

    Partition specs given in place of shardings (to ``jit``, ``device_put``, ``with_sharding_constraint``) are over the
    current mesh, and ``shard_map`` uses it where it is given none. ``None`` leaves no mesh current.

    Attributes:
      prev_mesh, prev_abstract_mesh: what was current before.

    Raises:
      TypeError: for anything but a :class:`Mesh` or None.
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh takes a jax.sharding.Mesh, got {mesh!r} of type {type(mesh).__name__}; for an "
                            "AbstractMesh there is jax.sharding.use_abstract_mesh")
        self.mesh = mesh
        self.prev_mesh = get_mesh()
        self.prev_abstract_mesh = get_abstract_mesh()
        self._before = _entered.value
        if mesh is None:
            _entered.set_local(())
        else:
            _push(mesh)

    def __enter__(self) -> Mesh | None:
        return self.mesh

    def __exit__(self, *exc: Any) -> None:
        _entered.set_local(self._before)


class use_abstract_mesh:
    """Makes ``mesh`` the current abstract mesh for the block.

    Attributes:
      prev: the abstract mesh that was current before.

    Raises:
      TypeError: for anything but an :class:`AbstractMesh`.
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise TypeError(f"use_abstract_mesh takes a jax.sharding.AbstractMesh, got {mesh!r} of type "
                            f"{type(mesh).__name__}; a Mesh has one as its abstract_mesh")
        self.mesh = mesh
        self.prev = get_abstract_mesh()

    def __enter__(self) -> AbstractMesh:
        self._before = _push(self.mesh)
        return self.mesh

    def __exit__(self, *exc: Any) -> None:
        _entered.set_local(self._before)
