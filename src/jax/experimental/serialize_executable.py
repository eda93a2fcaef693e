"""Compiled functions as bytes, for other processes of the same version on the same kind of devices."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base._jaxlib import JaxRuntimeError, jaxlib_version
from jax._base.source import api_boundary
from jax._dispatch.references import ProgramOnReferences
from jax._language.avals import ShapedArray
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Var, new_jaxpr_eqn, no_source
from jax._language.primitive import Primitive
from jax._runtime import backend as runtime
from jax._runtime.compile import compile_options, deserialize
from jax._runtime.compile import serialize as executable_bytes
from jax._runtime.execute import Executable
from jax.dtypes import ExtendedDType
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from jax.stages import Compiled, Traced

_MAGIC = b"fleetjax executable 1\n"


@api_boundary
def serialize(compiled: Any) -> tuple[bytes, Any, Any]:
    """A compiled function as bytes, and the structures of its arguments and results, which are kept apart from them.

    Args:
      compiled: what ``jax.jit(f).lower(...).compile()`` returns.

    Returns:
      ``(bytes, in_tree, out_tree)``, the arguments of :func:`deserialize_and_load`. Arrays that the function closes over are
      part of the bytes.

    Raises:
      TypeError: ``compiled`` is something else.
      NotImplementedError: the function calls Python (callbacks), has references or typed keys among its arguments, or
        layouts over devices that are no ``NamedSharding``.

    >>> import jax
    >>> from jax.experimental.serialize_executable import deserialize_and_load, serialize
    >>> compiled = jax.jit(lambda x: x + 1).lower(1.).compile()
    >>> print(deserialize_and_load(*serialize(compiled))(2.))
    3.0
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(f"serialize takes a compiled function, jax.jit(f).lower(...).compile(), got {compiled!r} of type "
                        f"{type(compiled).__name__}")
    executable, traced = compiled._executable, compiled._traced
    if compiled._compile_storable is not None:
        executable = compiled._compile_storable()
    _check(executable, traced.fun_name)
    devices = tuple(executable.loaded.local_devices())
    place = {d: i for i, d in enumerate(devices)}
    payload = {
        "version": jaxlib_version, "platform": devices[0].client.platform, "devices": [d.id for d in devices],
        "program": executable_bytes(executable.loaded), "name": executable.name, "fun_name": traced.fun_name,
        "arg_names": executable.arg_names, "kept": executable.kept, "donated": sorted(executable.donated),
        "donated_invars": traced._params["donated_invars"],
        "in_avals": [_type(a, traced.fun_name) for a in executable.in_avals],
        "out_avals": [_type(a, traced.fun_name) for a in executable.out_avals],
        "in_shardings": [_layout(s, place) for s in executable.in_shardings],
        "out_shardings": [_layout(s, place) for s in executable.out_shardings],
        "consts": [np.asarray(c) for c in executable.consts], "closed_over": [np.asarray(c) for c in traced._consts],
        "const_shardings": [_layout(c.sharding, place) for c in executable.consts],
        "home": _layout(executable.home, place), "spread": executable.spread,
    }
    return _MAGIC + pickle.dumps(payload), compiled.in_tree, compiled.out_tree


def _check(executable: Any, name: str) -> None:
    if isinstance(executable, ProgramOnReferences):
        raise NotImplementedError(f"serialize: {name} takes references; pass and return arrays instead")
    if executable.keepalive is not None or executable.ordered_effects or executable.has_unordered_effects:
        raise NotImplementedError(f"serialize: {name} has effects, as calls of Python functions have, which are in this "
                                  "process only; leave callbacks and prints out")


def _type(aval: Any, name: str) -> tuple[Any, ...]:
    if isinstance(getattr(aval, "dtype", None), ExtendedDType) or not isinstance(aval, ShapedArray):
        raise NotImplementedError(f"serialize: {name} has an argument or result of type {aval.str_short()}; pass the arrays "
                                  "that carry it, of keys jax.random.key_data(key)")
    return aval.shape, aval.dtype, aval.weak_type


def _layout(sharding: Any, place: dict[Any, int]) -> tuple[Any, ...]:
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        mesh = sharding.mesh
        return ("named", mesh.devices.shape, tuple(mesh.axis_names), tuple(t.name for t in mesh.axis_types),
                [place[d] for d in mesh.devices.flat], tuple(sharding.spec), sharding.memory_kind)
    if isinstance(sharding, SingleDeviceSharding):
        return "single", place[next(iter(sharding.device_set))], sharding.memory_kind
    raise NotImplementedError(f"serialize: the layout {sharding} is no NamedSharding; give the function in_shardings and "
                              "out_shardings over a mesh")


@api_boundary
def deserialize_and_load(serialized: bytes, in_tree: Any, out_tree: Any, backend: Any = None,
                         execution_devices: Sequence[Any] | None = None) -> Compiled:
    """A compiled function from :func:`serialize`, loaded on devices.

    Bytes from somebody else can do anything in this process: load only what you have written yourself.

    Args:
      serialized, in_tree, out_tree: what :func:`serialize` returned.
      backend: a platform or a client; by default that of the name which the function was compiled for.
      execution_devices: the devices to run on, as many as before; by default those with the same ids.

    Raises:
      ValueError: the bytes are something else or damaged, are of another version of jaxlib or platform, or the devices are
        not as many or not there.
    """
    payload = _unpacked(serialized)
    client = runtime.get_backend(payload["platform"] if backend is None else backend) \
        if backend is None or isinstance(backend, str) else backend
    if execution_devices is not None:
        devices = tuple(execution_devices)
        client = devices[0].client if devices else client
    else:
        by_id = {d.id: d for d in client.devices()}
        missing = [i for i in payload["devices"] if i not in by_id]
        if missing:
            raise ValueError(f"deserialize_and_load: the function was compiled for devices {payload['devices']}, and "
                             f"{client.platform} has no {missing}; name others as execution_devices")
        devices = tuple(by_id[i] for i in payload["devices"])
    if client.platform != payload["platform"]:
        raise ValueError(f"deserialize_and_load: the function was compiled for {payload['platform']}, and these devices "
                         f"are of {client.platform}")
    if len(devices) != len(payload["devices"]):
        raise ValueError(f"deserialize_and_load: the function runs on {len(payload['devices'])} devices, and "
                         f"execution_devices names {len(devices)}")
    try:
        loaded = deserialize(payload["program"], devices, compile_options(devices, num_partitions=len(devices)))
    except JaxRuntimeError as error:
        raise ValueError(f"deserialize_and_load: XLA cannot load the program here: {error}") from error
    executable = _executable(payload, loaded, devices)
    return Compiled(executable, _traced(payload, executable, in_tree, out_tree))


def _unpacked(serialized: Any) -> dict[str, Any]:
    if not isinstance(serialized, bytes) or not serialized.startswith(_MAGIC):
        raise ValueError("deserialize_and_load: these are no bytes of jax.experimental.serialize_executable.serialize")
    try:
        payload = pickle.loads(serialized[len(_MAGIC):])
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, ImportError, IndexError) as error:
        raise ValueError(f"deserialize_and_load: the bytes are damaged ({error})") from error
    if payload["version"] != jaxlib_version:
        raise ValueError(f"deserialize_and_load: the function was compiled with jaxlib {payload['version']}, and this is "
                         f"{jaxlib_version}; compile it again")
    return payload


def _executable(payload: dict[str, Any], loaded: Any, devices: tuple[Any, ...]) -> Executable:
    return Executable(
        loaded, in_avals=[ShapedArray(*a) for a in payload["in_avals"]],
        out_avals=[ShapedArray(*a) for a in payload["out_avals"]],
        in_shardings=[_sharding(s, devices) for s in payload["in_shardings"]],
        out_shardings=[_sharding(s, devices) for s in payload["out_shardings"]], kept=payload["kept"],
        consts=payload["consts"], const_shardings=[_sharding(s, devices) for s in payload["const_shardings"]],
        donated=payload["donated"], arg_names=payload["arg_names"], name=payload["name"],
        home=_sharding(payload["home"], devices), spread=payload["spread"])


def _sharding(layout: tuple[Any, ...], devices: tuple[Any, ...]) -> Any:
    if layout[0] == "single":
        return SingleDeviceSharding(devices[layout[1]], memory_kind=layout[2])
    _, shape, names, types, order, spec, kind = layout
    grid = np.empty(len(order), dtype=object)
    grid[:] = [devices[i] for i in order]
    mesh = Mesh(grid.reshape(shape), names, axis_types=tuple(AxisType[t] for t in types))
    return NamedSharding(mesh, PartitionSpec(*spec), memory_kind=kind)


# The program of a loaded function: one operation, which can be run and nothing else.
loaded_program_p = Primitive("loaded_program", multiple_results=True)
loaded_program_p.def_impl(lambda *args, executable: executable.call(args))
loaded_program_p.def_abstract_eval(lambda *avals, executable: list(executable.out_avals))


def _traced(payload: dict[str, Any], executable: Executable, in_tree: Any, out_tree: Any) -> Traced:
    ins, outs = [Var(a) for a in executable.in_avals], [Var(a) for a in executable.out_avals]
    eqn = new_jaxpr_eqn(ins, outs, loaded_program_p, {"executable": executable}, source_info=no_source)
    info = DebugInfo("jit", payload["fun_name"], payload["arg_names"])
    params = {"jaxpr": ClosedJaxpr(Jaxpr([], ins, outs, [eqn], debug_info=info), []), "name": payload["name"],
              "donated_invars": payload["donated_invars"], "device": None, "keep_unused": False, "compiler_options": ()}
    return Traced(params, in_tree, out_tree, payload["closed_over"], payload["fun_name"])


__all__ = ["deserialize_and_load", "serialize"]
