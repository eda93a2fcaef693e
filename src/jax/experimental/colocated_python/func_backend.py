"""Calls of functions on the host of devices of this process, which is the process itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.placement import device_put
from jax._base._jaxlib import ArrayImpl
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.stages import ShapeDtypeStruct
from jax.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure


class Specialization:
    """What is known of calls beforehand."""

    __slots__ = ("in_specs", "out_specs_fn", "devices")

    def __init__(self, in_specs: Any = None, out_specs_fn: Any = None, devices: Any = None) -> None:
        self.in_specs = in_specs
        self.out_specs_fn = out_specs_fn
        self.devices = None if devices is None else tuple(devices)

    def refined(self, name: str, **given: Any) -> Specialization:
        """This with what is ``given``, for the function ``name``. Raises ``ValueError`` for what is known before."""
        fields = {k: getattr(self, k) for k in self.__slots__}
        for key, value in given.items():
            if value is not None:
                if fields[key] is not None:
                    raise ValueError(f"{name} has been specialized with {key} before; specialize the original function")
                fields[key] = value
        return Specialization(**fields)


def run(fun: Callable[..., Any], name: str, known: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls ``fun`` on arrays, and puts its results where they belong.

    Args:
      fun: a function of trees of arrays.
      name: what messages call it.
      known: what has been said of calls.
      args, kwargs: the arguments, which are checked.
    """
    devices = _devices_of(tree_leaves((args, kwargs)), known.devices, name)
    if known.in_specs is not None:
        _check(name, "argument", (args, kwargs), known.in_specs)
    out = fun(*args, **kwargs)
    if known.out_specs_fn is not None:
        specs = known.out_specs_fn(*tree_map(_spec, args), **tree_map(_spec, kwargs))
        _check(name, "result", out, specs)
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
