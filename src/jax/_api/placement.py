"""Moving trees of arrays between host and devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base._jaxlib import Device, Sharding, xla
from jax._base.source import api_boundary
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.primitive import Primitive
from jax._lowering.rules import extended_by_batching, register_lowering
from jax._runtime import backend, transfer
from jax._runtime.array import ArrayImpl
from jax.dtypes import ExtendedDType
from jax.tree_util import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten

# --- the primitive --------------------------------------------------------------------------------------------------

device_put_p = Primitive("device_put")


def _impl(x: Any, *, device: Any, donate: bool, may_alias: bool) -> Any:
    return transfer.to_device(x, None, device, may_alias=may_alias, donate=donate)


def _lower(ctx: Any, x: Any, **params: Any) -> Any:
    # One program runs on one device, so inside it there is nowhere to move to.
    return [x]


def _transpose(ct: Any, x: Any, **params: Any) -> Any:
    return [ct]


device_put_p.def_abstract_eval(lambda x, **params: x)
device_put_p.def_impl(_impl)
register_lowering(device_put_p, _lower)
deflinear(device_put_p, _transpose)
rules.primitive_batchers[device_put_p] = lambda args, dims, **params: (device_put_p.bind(args[0], **params), dims[0])
extended_by_batching.add(device_put_p)


# --- public functions -----------------------------------------------------------------------------------------------

@api_boundary
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """A tree of arrays on a device.

    Args:
      x: a tree of arrays, NumPy arrays and scalars.
      device: a device or sharding, or a tree of them (a prefix of ``x``); ``None`` leaves arrays where they are and puts
        the rest on the default device, not tied to it.
      src: where the values are now; not needed, and ignored for values that know.
      donate: whether the memory of ``x`` may be taken over (a bool, or a tree of bools).
      may_alias: whether results may share memory with NumPy arrays in ``x``, which must then not be written to.

    Returns:
      A tree like ``x`` of arrays.

    Raises:
      OverflowError: integers that do not fit their 32-bit type while 64-bit types are off.
    """
    leaves, tree = tree_flatten(x)
    none = lambda y: y is None  # noqa: E731
    devices = broadcast_prefix(device, x, is_leaf=none) if device is not None else [None] * len(leaves)
    donations = broadcast_prefix(donate, x) if not isinstance(donate, bool) else [donate] * len(leaves)
    aliases = broadcast_prefix(may_alias, x, is_leaf=none) if not isinstance(may_alias, (bool, type(None))) \
        else [may_alias] * len(leaves)
    out = [_put(leaf, d, dn, bool(al)) for leaf, d, dn, al in zip(leaves, devices, donations, aliases, strict=True)]
    return tree_unflatten(tree, out)


def _put(x: Any, device: Any, donate: bool, may_alias: bool) -> Any:
    if device is not None and not isinstance(device, (Device, Sharding)) and not hasattr(device, "sharding"):
        raise TypeError(f"device_put: {device!r} of type {type(device).__name__} is neither a device nor a sharding; "
                        "see jax.devices() and jax.sharding")
    return device_put_p.bind(x, device=device, donate=donate, may_alias=may_alias)


@api_boundary
def device_get(x: Any) -> Any:
    """A tree of arrays as NumPy arrays on the host; other leaves stay as they are. Copies are started all at once."""
    for leaf in tree_leaves(x):
        if isinstance(leaf, ArrayImpl):
            leaf.copy_to_host_async()

    def fetch(leaf: Any) -> Any:
        if isinstance(leaf, ArrayImpl):
            return transfer.to_host(leaf)
        convert = getattr(leaf, "__array__", None)
        if convert is None or isinstance(leaf, np.generic) or isinstance(getattr(leaf, "dtype", None), ExtendedDType):
            return leaf  # typed keys have no form on the host
        return np.asarray(leaf)
    return tree_map(fetch, x)


@api_boundary
def block_until_ready(x: Any) -> Any:
    """Waits until the arrays in a tree are computed; returns the tree."""
    leaves = tree_leaves(x)
    arrays = [leaf for leaf in leaves if isinstance(leaf, ArrayImpl)]
    xla.batched_block_until_ready(arrays)
    for leaf in leaves:
        if not isinstance(leaf, ArrayImpl) and hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Starts copying the arrays in a tree to the host, so that reading them later does not wait; returns the tree."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays whose memory is in use on a platform (the default one)."""
    return backend.live_arrays(platform)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Stacks one tree per device into a tree of arrays with a leading axis, on these devices.

    Raises:
      ValueError: the number of shards differs from the number of devices, or there are none.
    """
    if len(shards) != len(devices) or not devices:
        raise ValueError(f"device_put_sharded: {len(shards)} shards for {len(devices)} devices; there must be one for "
                         "each, and at least one")
    if len(devices) > 1:
        raise NotImplementedError("device_put_sharded over several devices comes with multi-device support; use one "
                                  "device, or jax.device_put for each shard")
    return tree_map(lambda *xs: device_put(np.stack([np.asarray(x) for x in xs]), devices[0]), *shards)


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """A tree of arrays with a new leading axis, each device holding a copy.

    Raises:
      ValueError: ``devices`` is empty.
    """
    if not devices:
        raise ValueError("device_put_replicated needs at least one device")
    return device_put_sharded([x] * len(devices), devices)
