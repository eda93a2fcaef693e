"""For programs that run as several processes: what one has for all, what all have together, waiting for each other."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import jax
from jax._base._jaxlib import JaxRuntimeError
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.avals import ShapedArray
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._runtime.array import ArrayImpl
from jax._runtime.processes import processes
from jax.dtypes import ExtendedDType
from jax.experimental._reexports import reexporting
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.tree_util import tree_flatten, tree_map, tree_unflatten


class ProcessFailureError(RuntimeError):
    """Another process is gone."""


def _process_mesh() -> Mesh:
    """All devices, one row for each process."""
    rows: dict[int, list[Any]] = {}
    for d in jax.devices():
        rows.setdefault(d.process_index, []).append(d)
    width = min(map(len, rows.values()))
    grid = np.empty((len(rows), width), dtype=object)
    for i, k in enumerate(sorted(rows)):
        grid[i] = rows[k][:width]
    return Mesh(grid, ("processes", "devices"))


def _stacked(x: Any) -> Any:
    """An array with one row for each process, this one's being ``x``; all processes call."""
    mesh = _process_mesh()
    value = np.asarray(x)[None]
    shape = (mesh.devices.shape[0], *value.shape[1:])
    return jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("processes")), value, shape)


def _everywhere(x: Any) -> np.ndarray[Any, Any]:
    """The value of an array over all processes, on each of them."""
    mesh = getattr(x.sharding, "mesh", None) or _process_mesh()
    return np.asarray(jax.jit(lambda v: v, out_shardings=NamedSharding(mesh, PartitionSpec()))(x))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """What one process has, on all processes, as NumPy arrays.

    Args:
      in_tree: a tree of arrays, of the same structure, shapes and dtypes in all processes.
      is_source: whether this process is the one; process 0 by default.

    >>> from jax.experimental import multihost_utils
    >>> multihost_utils.broadcast_one_to_all({"seed": 3})["seed"].item()
    3
    """
    source = jax.process_index() == 0 if is_source is None else is_source

    def one(x: Any) -> Any:
        value = np.asarray(x)
        kind = np.int8 if value.dtype == bool else value.dtype
        given = value.astype(kind) if source else np.zeros(value.shape, kind)
        return _everywhere(jax.jit(lambda v: v.sum(0, dtype=v.dtype))(_stacked(given))).astype(value.dtype)
    return tree_map(one, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """What all processes have, on all of them, as NumPy arrays.

    Args:
      in_tree: a tree of arrays of this process; arrays over all processes are given back whole.
      tiled: join the processes' arrays along their first axis instead of stacking them along a new one.

    Raises:
      ValueError: an array over all processes without ``tiled``.

    >>> from jax.experimental import multihost_utils
    >>> multihost_utils.process_allgather(jax.numpy.arange(2)).shape
    (1, 2)
    """
    def one(x: Any) -> Any:
        if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
            if not tiled:
                raise ValueError("process_allgather: the array is over the devices of all processes already, so that there "
                                 "is nothing to stack; pass tiled=True for its value")
            return _everywhere(x)
        whole = _everywhere(_stacked(x))
        if tiled and whole.ndim > 1:
            return whole.reshape(whole.shape[0] * whole.shape[1], *whole.shape[2:])
        return whole
    return tree_map(one, in_tree)


def sync_global_devices(name: str) -> None:
    """Waits until all processes have come here with the same name.

    Raises:
      AssertionError: another process is at another place.
    """
    assert_equal(np.uint32(zlib.crc32(name.encode())),
                 f"sync_global_devices: processes are at different places; this one is at {name!r}")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Checks that all processes have the same values.

    Raises:
      AssertionError: they do not; it says which leaves differ.
    """
    expected = broadcast_one_to_all(in_tree)
    mine, other = tree_flatten(in_tree)[0], tree_flatten(expected)[0]
    different = [i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if not np.array_equal(np.asarray(a), b)]
    # All processes hear of it, also those that have what process 0 has.
    anywhere = np.asarray(process_allgather(np.int32(len(different)))).sum()
    if anywhere:
        what = f"leaves {different} of this process's values differ from process 0's" if different else \
            "another process has other values than process 0"
        raise AssertionError(f"{fail_message or 'assert_equal'}: {what}")


# --- arrays of processes and of all ----------------------------------------------------------------------------------

host_local_array_to_global_array_p = Primitive("host_local_array_to_global_array")
global_array_to_host_local_array_p = Primitive("global_array_to_host_local_array")


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over a mesh of all processes, from each process's part.

    Args:
      local_inputs: a tree of arrays: what this process's devices hold together.
      global_mesh: of the devices of all processes.
      pspecs: a partition spec, or a tree of them, for the whole arrays.

    It is linear, and its transpose is :func:`global_array_to_host_local_array`. Under ``vmap`` the mapped axis is whole on
    every process, or lies along the mesh axes of ``spmd_axis_name``. In compiled programs it is for a single process.

    >>> import numpy as np
    >>> from jax.experimental import multihost_utils
    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> multihost_utils.host_local_array_to_global_array(np.ones(3), mesh, jax.P("x")).shape
    (3,)
    """
    def one(x: Any, spec: Any) -> Any:
        if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
            return x
        return host_local_array_to_global_array_p.bind(x, global_mesh=global_mesh, pspec=spec or PartitionSpec())
    return _with_specs(one, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """This process's part of arrays over a mesh of all processes, as arrays over its own devices.

    Args:
      global_inputs: a tree of arrays.
      global_mesh: of the devices of all processes.
      pspecs: a partition spec, or a tree of them.

    It transforms as :func:`host_local_array_to_global_array`, its transpose, does.
    """
    def one(x: Any, spec: Any) -> Any:
        return global_array_to_host_local_array_p.bind(x, global_mesh=global_mesh, pspec=spec or PartitionSpec())
    return _with_specs(one, global_inputs, pspecs)


def _with_specs(one: Any, tree: Any, pspecs: Any) -> Any:
    from jax._api.common import flatten_axes  # as jit and shard_map spread specs
    leaves, structure = tree_flatten(tree)
    specs = flatten_axes("pspecs", structure, pspecs)
    return tree_unflatten(structure, [one(x, s) for x, s in zip(leaves, specs, strict=True)])


def _parts(mesh: Mesh, spec: PartitionSpec, ndim: int) -> tuple[int, ...]:
    """Into how many parts each dimension is divided."""
    counts = NamedSharding(mesh, spec)._tiles()[0]
    return (*counts, *(1,) * (ndim - len(counts)))


def _resized(arr: Any, mesh: Mesh, spec: PartitionSpec, to_global: bool) -> ShapedArray:
    """The type of the whole array from that of a process's part, or the other way round."""
    whole, part = (_parts(m, spec, arr.ndim) for m in (mesh, mesh.local_mesh))
    have, want = (part, whole) if to_global else (whole, part)
    if any(n % h for n, h in zip(arr.shape, have, strict=True)):
        raise ValueError(f"an array of shape {arr.shape} is not divided evenly into {have} parts by {spec} over {mesh}")
    return ShapedArray([n // h * w for n, h, w in zip(arr.shape, have, want, strict=True)], arr.dtype, arr.weak_type)


def ltg_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """The type of the whole array, from that of a process's part."""
    return _resized(arr, global_mesh, pspec, True)


def gtl_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """The type of a process's part, from that of the whole array."""
    return _resized(arr, global_mesh, pspec, False)


def host_local_array_to_global_array_impl(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> Any:
    """:func:`host_local_array_to_global_array` of one array, now."""
    if isinstance(dtype := getattr(arr, "dtype", None), ExtendedDType):
        return dtype.wrap(host_local_array_to_global_array_impl(dtype.unwrap(arr), global_mesh=global_mesh, pspec=pspec))
    return jax.make_array_from_process_local_data(NamedSharding(global_mesh, pspec), np.asarray(arr))


def global_array_to_host_local_array_impl(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> Any:
    """:func:`global_array_to_host_local_array` of one array, now."""
    if isinstance(dtype := getattr(arr, "dtype", None), ExtendedDType):
        return dtype.wrap(global_array_to_host_local_array_impl(dtype.unwrap(arr), global_mesh=global_mesh, pspec=pspec))
    arr = jax.device_put(arr, NamedSharding(global_mesh, pspec))
    local = NamedSharding(global_mesh.local_mesh, pspec)
    shape = _resized(arr, global_mesh, pspec, False).shape
    return jax.make_array_from_single_device_arrays(shape, local, [s.data for s in arr.addressable_shards])


def ltg_batcher(insert_axis: bool, axis_data: Any, vals_in: Any, dims_in: Any, global_mesh: Mesh,
                pspec: PartitionSpec) -> tuple[Any, Any]:
    """The batching rule of :func:`host_local_array_to_global_array`.

    Args:
      insert_axis: whether the mapped axis is the same on every process although ``spmd_axis_name`` names mesh axes.
      axis_data: the mapped axis.
      vals_in, dims_in: the operand, and where its mapped axis is.
      global_mesh, pspec: parameters.
    """
    return _batched(host_local_array_to_global_array_p, insert_axis, axis_data, vals_in, dims_in, global_mesh, pspec)


def _batched(prim: Primitive, insert_axis: bool, axis: Any, vals: Any, dims: Any, global_mesh: Mesh,
             pspec: PartitionSpec) -> tuple[Any, Any]:
    (x,), (d,) = vals, dims
    entries = [*pspec, *(None,) * (d - len(pspec))]
    entries.insert(d, None if insert_axis else axis.spmd_name)
    return prim.bind(x, global_mesh=global_mesh, pspec=PartitionSpec(*entries)), d


def _lower(ctx: Any, x: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> Any:
    if len(global_mesh.local_mesh.devices.flat) != global_mesh.devices.size:
        raise NotImplementedError("arrays of a process and of all cannot be turned into each other inside a compiled "
                                  "program over several processes; do it before or after the call of the compiled function")
    return [x]  # one process: its part is the whole


def _define(prim: Primitive, impl: Any, abstract_eval: Any, inverse: Primitive) -> None:
    prim.def_impl(impl)
    prim.def_abstract_eval(abstract_eval)
    register_lowering(prim, _lower)
    deflinear(prim, lambda ct, x, **params: [inverse.bind(ct, **params)])
    rules.fancy_primitive_batchers[prim] = lambda axis, vals, dims, **params: \
        _batched(prim, False, axis, vals, dims, **params)


_define(host_local_array_to_global_array_p, host_local_array_to_global_array_impl, ltg_abstract_eval,
        global_array_to_host_local_array_p)
_define(global_array_to_host_local_array_p, global_array_to_host_local_array_impl, gtl_abstract_eval,
        host_local_array_to_global_array_p)


# --- who is there ----------------------------------------------------------------------------------------------------

@contextmanager
def live_devices(devices: Sequence[Any]) -> Any:
    """A context with those of the devices whose processes are alive; a failure inside is a :class:`ProcessFailureError`.

    >>> from jax.experimental import multihost_utils
    >>> with multihost_utils.live_devices(jax.devices()) as alive:
    ...     len(alive) == len(jax.devices())
    True
    """
    try:
        yield _alive(devices)
    except JaxRuntimeError as error:
        if processes.client is not None and len(_alive(devices)) < len(devices):
            raise ProcessFailureError("a process with some of the devices is gone") from error
        raise


def _alive(devices: Sequence[Any]) -> list[Any]:
    if processes.client is None:
        return list(devices)
    known = processes.client.get_live_nodes(sorted({d.process_index for d in devices}))
    return [d for d in devices if d.process_index in known]


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes have agreed to save their state at this step because one will be stopped.

    Raises:
      RuntimeError: jax.distributed is not initialized.
      NotImplementedError: otherwise: the notice of preemption is not listened for.
    """
    if processes.client is None:
        raise RuntimeError("reached_preemption_sync_point needs several processes; call jax.distributed.initialize first")
    raise NotImplementedError("reached_preemption_sync_point: the notice of preemption is not listened for; save at "
                              "regular steps, or on a signal of the cluster agreed on with process_allgather")


__getattr__ = reexporting(__name__, "ad array batching core distributed dtypes jnp mlir pjit_lib prng pxla sharding_impls "
                                    "xla_bridge")
__all__ = ["ProcessFailureError", "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array",
           "host_local_array_to_global_array", "live_devices", "process_allgather", "reached_preemption_sync_point",
           "sync_global_devices"]
