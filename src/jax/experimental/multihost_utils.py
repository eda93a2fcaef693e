"""For programs that run as several processes: what one has for all, what all have together, waiting for each other."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import jax
from jax._base._jaxlib import JaxRuntimeError
from jax._runtime.array import ArrayImpl
from jax._runtime.processes import processes
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

def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over a mesh of all processes, from each process's part.

    Args:
      local_inputs: a tree of arrays: what this process's devices hold together.
      global_mesh: of the devices of all processes.
      pspecs: a partition spec, or a tree of them, for the whole arrays.

    >>> import numpy as np
    >>> from jax.experimental import multihost_utils
    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> multihost_utils.host_local_array_to_global_array(np.ones(3), mesh, jax.P("x")).shape
    (3,)
    """
    def one(x: Any, spec: Any) -> Any:
        if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
            return x
        return jax.make_array_from_process_local_data(NamedSharding(global_mesh, spec or PartitionSpec()), np.asarray(x))
    return _with_specs(one, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """This process's part of arrays over a mesh of all processes, as arrays over its own devices.

    Args:
      global_inputs: a tree of arrays.
      global_mesh: of the devices of all processes.
      pspecs: a partition spec, or a tree of them.
    """
    def one(x: Any, spec: Any) -> Any:
        spec = spec or PartitionSpec()
        whole = NamedSharding(global_mesh, spec)
        x = jax.device_put(x, whole)
        local = NamedSharding(global_mesh.local_mesh, spec)
        shape = tuple(n // a * b for n, a, b in zip(x.shape, _parts(whole, x.ndim), _parts(local, x.ndim), strict=True))
        return jax.make_array_from_single_device_arrays(shape, local, [s.data for s in x.addressable_shards])
    return _with_specs(one, global_inputs, pspecs)


def _parts(sharding: Any, ndim: int) -> tuple[int, ...]:
    counts = sharding._tiles()[0]
    return (*counts, *(1,) * (ndim - len(counts)))


def _with_specs(one: Any, tree: Any, pspecs: Any) -> Any:
    from jax._api.common import flatten_axes  # as jit and shard_map spread specs
    leaves, structure = tree_flatten(tree)
    specs = flatten_axes("pspecs", structure, pspecs)
    return tree_unflatten(structure, [one(x, s) for x, s in zip(leaves, specs, strict=True)])


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


__all__ = ["ProcessFailureError", "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array",
           "host_local_array_to_global_array", "live_devices", "process_allgather", "reached_preemption_sync_point",
           "sync_global_devices"]
