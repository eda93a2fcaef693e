"""Objects that refer to devices, as bytes.

Devices, meshes and shardings belong to a process. They are written as numbers of CPU devices, so that what refers to them
can be read by another process that has devices of the same numbers; :func:`dumps` and :func:`loads` do so.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from jax._base._jaxlib import xla
from jax._src import xla_bridge as xb
from jax.sharding import Mesh, SingleDeviceSharding

DeviceList = xla.DeviceList


def _get_cpu_device_map() -> dict[int, Any]:
    """The CPU devices of all processes that this one knows of, by number."""
    client = xb.backends()["cpu"]
    return {d.id: d for d in client.devices()}


def _numbers(devices: Any) -> list[int]:
    devices = list(devices)
    away = [d for d in devices if d.platform != "cpu"]
    if away:
        raise ValueError(f"only references to CPU devices are written, got one to {away[0]}; "
                         "colocated_cpu_devices gives the CPU devices of its host")
    return [d.id for d in devices]


def _devices(numbers: list[int]) -> list[Any]:
    known = _get_cpu_device_map()
    missing = [n for n in numbers if n not in known]
    if missing:
        raise ValueError(f"there are no CPU devices of the numbers {missing} here; there are {sorted(known)}")
    return [known[n] for n in numbers]


def _make_mesh(shape: tuple[int, ...], numbers: list[int], axis_names: Any, axis_types: Any) -> Mesh:
    grid = np.empty(len(numbers), dtype=object)
    grid[:] = _devices(numbers)
    return Mesh(grid.reshape(shape), axis_names, axis_types=axis_types)


def _make_device_list(numbers: list[int]) -> Any:
    return DeviceList(tuple(_devices(numbers)))


def _make_single_device_sharding(number: int, memory_kind: str | None) -> Any:
    return SingleDeviceSharding(*_devices([number]), memory_kind=memory_kind)


def _make_device(number: int) -> Any:
    return _devices([number])[0]


def _reduce_mesh(mesh: Mesh) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a mesh is pickled."""
    return _make_mesh, (mesh.devices.shape, _numbers(mesh.devices.flat), mesh.axis_names, mesh.axis_types)


def _reduce_device_list(device_list: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a list of devices is pickled."""
    return _make_device_list, (_numbers(device_list),)


def _reduce_single_device_sharding(sharding: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a sharding of one device is pickled."""
    return _make_single_device_sharding, (*_numbers(sharding.device_set), sharding.memory_kind)


def _reduce_device(device: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _make_device, tuple(_numbers([device]))


def dumps(obj: Any) -> bytes:
    """An object as bytes, by ``pickle``: functions by name, references to CPU devices by their numbers.

    Raises:
      ValueError: it refers to devices that are no CPU devices.
    """
    out = io.BytesIO()
    pickler = pickle.Pickler(out)
    pickler.dispatch_table = copyreg.dispatch_table.copy()
    pickler.dispatch_table.update({
        Mesh: _reduce_mesh, DeviceList: _reduce_device_list, SingleDeviceSharding: _reduce_single_device_sharding,
        xla.Device: _reduce_device})
    pickler.dump(obj)
    return out.getvalue()


def loads(data: bytes) -> Any:
    """The inverse of :func:`dumps`, with the devices that this process has.

    Only for bytes that can be trusted: reading pickles runs what they say.

    Raises:
      ValueError: there is no device of a number.
    """
    return pickle.loads(data)


__all__ = ["dumps", "loads"]
