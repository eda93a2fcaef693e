"""Python functions and objects on the hosts of devices: what users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base.source import api_boundary
from jax._runtime import backend
from jax.experimental.colocated_python.func import ColocatedFunction
from jax.experimental.colocated_python.obj import wrap_class
from jax.sharding import Mesh


@api_boundary
def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The CPU devices on the hosts of devices, in their order; CPU devices stand for themselves.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
      A tuple of CPU devices, or a mesh of the same axes. Devices of one host get its CPU devices in turn.

    Raises:
      TypeError: for something else.
      ValueError: a host has no CPU client.

    >>> import jax
    >>> from jax.experimental.colocated_python import colocated_cpu_devices
    >>> colocated_cpu_devices(jax.devices("cpu")) == tuple(jax.devices("cpu"))
    True
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        found = np.empty(mesh.devices.size, dtype=object)
        found[:] = _colocated(list(mesh.devices.flat))
        return Mesh(found.reshape(mesh.devices.shape), mesh.axis_names, axis_types=mesh.axis_types)
    if not isinstance(devices_or_mesh, Sequence) or not all(hasattr(d, "platform") for d in devices_or_mesh):
        raise TypeError(f"colocated_cpu_devices takes a sequence of devices or a mesh, got {devices_or_mesh!r}")
    return tuple(_colocated(devices_or_mesh))


def _colocated(devices: Sequence[Any]) -> list[Any]:
    if all(d.platform == "cpu" for d in devices):
        return list(devices)
    try:
        hosts = backend.devices("cpu")
    except RuntimeError as error:
        raise ValueError(f"colocated_cpu_devices: there are no CPU devices in this process ({error})") from error
    return [d if d.platform == "cpu" else _neighbour(d, hosts) for d in devices]


def _neighbour(device: Any, hosts: Sequence[Any]) -> Any:
    here = [h for h in hosts if h.process_index == device.process_index]
    if not here:
        raise ValueError(f"colocated_cpu_devices: the host of {device} has no CPU devices here")
    siblings = [d for d in device.client.devices() if d.process_index == device.process_index]
    return here[siblings.index(device) % len(here)]


def colocated_python(fun: Callable[..., Any]) -> ColocatedFunction:
    """``fun`` to be called on the host of the CPU devices that its arguments are on.

    Args:
      fun: a function of trees of arrays, which it gets as they are. It is not traced.

    Returns:
      A function with a method ``specialize``. Its results stay on the devices that ``fun`` put them on, else go to the first
      device of the arguments, or to the shardings of ``out_specs_fn``.

    Raises:
      TypeError: arguments that are traced or no arrays.
      ValueError: arguments on other devices than CPUs, none, or of other types than specialized for.
      NotImplementedError: devices of other processes.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.colocated_python import colocated_python
    >>> @colocated_python
    ... def f(x):
    ...     return x + 1
    >>> f(jax.device_put(jnp.arange(2), jax.devices("cpu")[0])).tolist()
    [1, 2]
    """
    if not callable(fun):
        raise TypeError(f"colocated_python takes a function, got {fun!r}")
    return ColocatedFunction(fun)


def colocated_python_class(cls: type) -> type:
    """A class whose objects live on the host of the devices that their methods are called with.

    Args:
      cls: a class. An object of it is made when a method is called for the first time, and lives as long as the wrapper.

    Returns:
      A class with the constructor and the public methods of ``cls``; methods have ``specialize``, as functions have.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.colocated_python import colocated_python_class
    >>> @colocated_python_class
    ... class Counter:
    ...     def __init__(self, start):
    ...         self.n = start
    ...     def add(self, x):
    ...         self.n += 1
    ...         return x + self.n
    >>> counter, x = Counter(3), jax.device_put(jnp.int32(10), jax.devices("cpu")[0])
    >>> int(counter.add(x)), int(counter.add(x))
    (14, 15)
    """
    if not isinstance(cls, type):
        raise TypeError(f"colocated_python_class takes a class, got {cls!r}")

    return wrap_class(cls)


__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]
