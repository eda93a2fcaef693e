"""Grids of devices for meshes: neighbours along an axis are close to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._runtime import backend


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False, allow_split_physical_axes: bool = False) -> np.ndarray[Any, Any]:
    """An array of devices of the given shape, for :class:`jax.sharding.Mesh`.

    CPUs and GPUs of one machine are equally far from each other and stay in order. The last axes of the mesh should be those
    along which most is communicated.

    Args:
      mesh_shape: its product is the number of devices.
      devices: all devices of the default platform, if None.
      contiguous_submeshes, allow_split_physical_axes: choices for the torus networks of TPUs.

    Raises:
      ValueError: the shape takes another number of devices.
      NotImplementedError: devices are TPUs, whose network is not known here.

    >>> import jax
    >>> from jax.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, 1), jax.devices()[:1]).shape
    (1, 1)
    """
    have = list(backend.devices() if devices is None else devices)
    shape = tuple(int(n) for n in mesh_shape)
    if math.prod(shape) != len(have):
        raise ValueError(f"create_device_mesh: a mesh of shape {shape} takes {math.prod(shape)} devices, and there are "
                         f"{len(have)}")
    if have[0].platform == "tpu":
        raise NotImplementedError("create_device_mesh: the network of TPUs is not known here; order the devices yourself, "
                                  "by their coords, and pass them to jax.sharding.Mesh")
    if contiguous_submeshes or allow_split_physical_axes:
        raise NotImplementedError("create_device_mesh: contiguous_submeshes and allow_split_physical_axes are for the "
                                  "networks of TPUs; leave them out")
    grid = np.empty(len(have), dtype=object)
    grid[:] = have
    return grid.reshape(shape)


def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int], devices: Sequence[Any] | None = None,
                              *, process_is_granule: bool = False, should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray[Any, Any]:
    """An array of devices in groups that are connected by a slower network: slices, or processes.

    Args:
      mesh_shape: the shape of one group; each axis is multiplied by that of ``dcn_mesh_shape``.
      dcn_mesh_shape: the shape of the grid of groups, along the slower network.
      devices: all devices of the default platform, if None.
      process_is_granule: a group is the devices of one process; else those with one ``slice_index``.
      should_sort_granules_by_key: order the groups by the number of their process or slice, not as they first occur.
      allow_split_physical_axes: as for :func:`create_device_mesh`.

    Raises:
      ValueError: shapes of different lengths, or for another number of groups or devices.

    >>> import jax
    >>> from jax.experimental import mesh_utils
    >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), jax.devices()[:1], process_is_granule=True).shape
    (1, 1)
    """
    have = list(backend.devices() if devices is None else devices)
    inner, outer = tuple(map(int, mesh_shape)), tuple(map(int, dcn_mesh_shape))
    if len(inner) != len(outer):
        raise ValueError(f"create_hybrid_device_mesh: mesh_shape {inner} and dcn_mesh_shape {outer} must have one length")
    attribute = "process_index" if process_is_granule else "slice_index"
    if not hasattr(have[0], attribute):
        raise ValueError(f"create_hybrid_device_mesh: devices of the kind {have[0].device_kind} belong to no slices; pass "
                         "process_is_granule=True to group them by process")
    groups: dict[int, list[Any]] = {}
    for d in have:
        groups.setdefault(getattr(d, attribute), []).append(d)
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    if math.prod(outer) != len(keys):
        raise ValueError(f"create_hybrid_device_mesh: dcn_mesh_shape {outer} takes {math.prod(outer)} groups, and there are "
                         f"{len(keys)} ({attribute}s {keys})")
    grids = [create_device_mesh(inner, groups[k], allow_split_physical_axes=allow_split_physical_axes) for k in keys]
    stacked = np.empty((len(grids), *inner), dtype=object)
    for i, grid in enumerate(grids):
        stacked[i] = grid
    order = [axis for pair in zip(range(len(outer)), range(len(outer), 2 * len(outer)), strict=True) for axis in pair]
    whole: np.ndarray[Any, Any] = stacked.reshape(*outer, *inner).transpose(order)
    return whole.reshape([a * b for a, b in zip(outer, inner, strict=True)])


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
