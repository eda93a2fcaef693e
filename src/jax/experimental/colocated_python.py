"""Python functions run on the hosts of devices.

In a process that sees its own devices only, their host is the process itself: functions are called here, on arrays on CPU
devices. Devices of other hosts need a runtime that sends functions there, which PJRT clients are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.placement import device_put
from jax._base._jaxlib import ArrayImpl
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax._runtime import backend
from jax.sharding import Mesh
from jax.stages import ShapeDtypeStruct
from jax.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure


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


class _Specialization:
    """What is known of calls beforehand."""

    __slots__ = ("in_specs", "out_specs_fn", "devices")

    def __init__(self, in_specs: Any = None, out_specs_fn: Any = None, devices: Any = None) -> None:
        self.in_specs = in_specs
        self.out_specs_fn = out_specs_fn
        self.devices = None if devices is None else tuple(devices)

    def refined(self, name: str, **given: Any) -> _Specialization:
        fields = {k: getattr(self, k) for k in self.__slots__}
        for key, value in given.items():
            if value is not None:
                if fields[key] is not None:
                    raise ValueError(f"{name} has been specialized with {key} before; specialize the original function")
                fields[key] = value
        return _Specialization(**fields)


class ColocatedFunction:
    """A Python function that is called on the host of its arguments' devices."""

    def __init__(self, fun: Callable[..., Any], specialization: _Specialization | None = None) -> None:
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._specialization = specialization or _Specialization()

    def specialize(self, in_specs: Any = None, out_specs_fn: Callable[..., Any] | None = None,
                   devices: Sequence[Any] | None = None) -> ColocatedFunction:
        """The function with more said of its calls.

        Args:
          in_specs: the types of the arguments, a tree of ``jax.ShapeDtypeStruct`` like ``(args, kwargs)``.
          out_specs_fn: a function from types of arguments to types, with shardings, of results.
          devices: where it runs, for functions without arguments.

        Raises:
          ValueError: it has been said before.
        """
        return ColocatedFunction(self._fun, self._specialization.refined(
            self._name, in_specs=in_specs, out_specs_fn=out_specs_fn, devices=devices))

    @property
    def _name(self) -> str:
        return f"the colocated function {getattr(self._fun, '__name__', self._fun)}"

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        known = self._specialization
        devices = _devices_of(leaves, known.devices, self._name)
        if known.in_specs is not None:
            _check(self._name, "argument", (args, kwargs), known.in_specs)
        out = self._fun(*args, **kwargs)
        if known.out_specs_fn is not None:
            specs = known.out_specs_fn(*tree_map(_spec, args), **tree_map(_spec, kwargs))
            _check(self._name, "result", out, specs)
            return tree_map(lambda x, s: x if s.sharding is None else device_put(x, s.sharding), out, specs)
        return tree_map(lambda x: x if isinstance(x, ArrayImpl) and x.committed else device_put(x, devices[0]), out)


def _spec(x: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


def _devices_of(leaves: Sequence[Any], given: tuple[Any, ...] | None, name: str) -> tuple[Any, ...]:
    for x in leaves:
        if isinstance(x, Tracer):
            raise TypeError(f"{name} is given a traced value of type {x.aval.str_short()}: it runs in Python, between "
                            "programs. Call it outside of jax.jit, jax.grad and jax.vmap, or use jax.pure_callback.")
        if not isinstance(x, ArrayImpl):
            raise TypeError(f"{name} takes arrays on devices, got {x!r} of type {type(x).__name__}; use jax.device_put")
    devices = given
    if devices is None:
        devices = tuple(dict.fromkeys(d for x in leaves for d in x.sharding._device_assignment))
    if not devices:
        raise ValueError(f"{name} has no arguments that say where it runs; say it with .specialize(devices=...)")
    away = [d for d in devices if d.platform != "cpu"]
    if away:
        raise ValueError(f"{name} runs on hosts, and {away[0]} is none. Move its arguments to CPU devices, "
                         "jax.device_put(x, colocated_cpu_devices([device])[0])")
    if any(d.process_index != d.client.process_index() for d in devices):
        raise NotImplementedError(f"{name} has arguments on devices of other processes, and this runtime (PJRT) cannot send "
                                  "functions there. Call it in each process on that process's own part: "
                                  "multihost_utils.global_array_to_host_local_array")
    return devices


def _check(name: str, what: str, values: Any, specs: Any) -> None:
    got, tree = tree_flatten(values)
    want = tree_leaves(specs)
    if tree != tree_structure(specs):
        raise ValueError(f"{name} was specialized for {what}s of the structure {tree_structure(specs)}, got {tree}")
    for x, s in zip(got, want, strict=True):
        aval = typeof(x)
        if (aval.shape, aval.dtype) != (tuple(s.shape), s.dtype):
            raise ValueError(f"{name} was specialized for {'an' if what[0] == 'a' else 'a'} {what} of type "
                             f"{s.dtype}{list(s.shape)}, got {aval.str_short()}")


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

    class Colocated:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._make = functools.cache(lambda: cls(*args, **kwargs))

        def __getattr__(self, name: str) -> Any:
            method = None if name.startswith("_") else getattr(cls, name, None)
            if not callable(method):
                raise AttributeError(f"the colocated class {cls.__name__} has no public method {name!r}; attributes of the "
                                     "object can be read in its methods")

            @functools.wraps(method)
            def call(*args: Any, **kwargs: Any) -> Any:
                return method(self._make(), *args, **kwargs)
            found = self.__dict__[name] = ColocatedFunction(call)
            return found

    functools.update_wrapper(Colocated, cls, updated=())
    return Colocated


__all__ = ["ColocatedFunction", "colocated_cpu_devices", "colocated_python", "colocated_python_class"]
