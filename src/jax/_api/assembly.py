"""Arrays put together from pieces: by a function of the index, from arrays on devices, from each process's own data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base.source import api_boundary
from jax._language.avals import ShapedArray, typeof
from jax._runtime import backend, transfer
from jax._runtime.array import ArrayImpl
from jax.dtypes import ExtendedDType, as_dtype
from jax.tree_util import tree_map

Index = tuple[slice, ...]


def _sharding_of(sharding: Any, api: str) -> Any:
    try:
        return backend.as_sharding(sharding)
    except TypeError:
        raise TypeError(f"{api}: a jax.sharding.Sharding (or Format) is needed, got {sharding!r} of type "
                        f"{type(sharding).__name__}") from None


def _key(index: Index) -> Any:
    return tuple((s.start, s.stop) for s in index)


@api_boundary
def make_array_from_callback(shape: Sequence[int], sharding: Any, data_callback: Callable[[Index], Any],
                             dtype: Any = None) -> Any:
    """An array whose pieces a function makes, one for each distinct index held by a device of this process.

    Args:
      shape: of the whole array.
      sharding: how it is laid out.
      data_callback: called as ``data_callback(index)`` with a tuple of slices of the whole array; returns the piece, as an
        array of any kind. It is called once for each index, however many devices hold copies.
      dtype: of the array; by default that of the pieces. Needed where this process holds no piece.

    Raises:
      ValueError: a piece of another shape, or no dtype where there is no piece.
      IndivisibleError: the sharding does not divide the shape.

    >>> import jax, numpy as np
    >>> data = np.arange(6)
    >>> place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.make_array_from_callback((6,), place, lambda index: data[index]).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    shape = tuple(int(n) for n in shape)
    sharding = _sharding_of(sharding, "make_array_from_callback")
    block = sharding.shard_shape(shape)
    made: dict[Any, Any] = {}
    pieces = []
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        key = _key(index)
        if key not in made:
            made[key] = _piece(data_callback(index), block, index, dtype)
        pieces.append((device, made[key]))
    return _assemble(shape, sharding, pieces, dtype, "make_array_from_callback")


def _piece(data: Any, block: tuple[int, ...], index: Index, dtype: Any) -> Any:
    aval = typeof(data) if not isinstance(data, (list, tuple)) else None
    if aval is None or not isinstance(data, (np.ndarray, ArrayImpl)) and not isinstance(aval.dtype, ExtendedDType):
        data = np.asarray(data)
    if tuple(data.shape) != block:
        raise ValueError(f"make_array_from_callback: the callback returned an array of shape {tuple(data.shape)} for the "
                         f"index {index}, where a piece has shape {block}")
    if dtype is not None and data.dtype != as_dtype(dtype):
        data = data.astype(as_dtype(dtype))
    return data


def _assemble(shape: tuple[int, ...], sharding: Any, pieces: Sequence[tuple[Any, Any]], dtype: Any, api: str) -> Any:
    if not pieces:
        if dtype is None:
            raise ValueError(f"{api}: this process holds no piece of the array, so that its dtype is unknown; pass dtype")
        found: Any = dtypes.canonicalize_dtype(as_dtype(dtype))
    else:
        found = typeof(pieces[0][1]).dtype
    keys = isinstance(found, ExtendedDType)
    placed = []
    for device, data in pieces:
        own = typeof(data).dtype
        if own != found:
            raise ValueError(f"{api}: pieces have different dtypes: {found} and {own}")
        place = type(backend.device_sharding(device))(device, memory_kind=sharding.memory_kind)
        placed.append(transfer.to_device(found.unwrap(data) if keys else data, None, place))
    extra = found.physical_element_aval() if keys else ((), found)
    out = ArrayImpl(ShapedArray((*shape, *extra[0]), extra[1]), sharding, placed, True)
    return found.wrap(out) if keys else out


@api_boundary
def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *,
                                         dtype: Any = None) -> Any:
    """An array made of arrays that are on its devices already; nothing is copied.

    Args:
      shape: of the whole array.
      sharding: how it is laid out.
      arrays: for each device of ``sharding`` that this process addresses, in any order, the array on it that is its piece.
      dtype: of the array; needed only where ``arrays`` is empty.

    Raises:
      TypeError: ``arrays`` is no sequence of arrays.
      ValueError: too few or too many arrays, two on one device, or one of another shape or dtype.

    >>> import jax, jax.numpy as jnp
    >>> place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.make_array_from_single_device_arrays((2,), place, [jnp.ones(2)]).tolist()
    [1.0, 1.0]
    """
    api = "make_array_from_single_device_arrays"
    shape = tuple(int(n) for n in shape)
    sharding = _sharding_of(sharding, api)
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"{api}: arrays must be a list or tuple of arrays, got a {type(arrays).__name__}")
    keys = bool(arrays) and isinstance(typeof(arrays[0]).dtype, ExtendedDType)
    key_type: Any = typeof(arrays[0]).dtype if keys else None
    plain = [key_type.unwrap(a) for a in arrays] if keys else list(arrays)
    for a in plain:
        if not isinstance(a, ArrayImpl) or len(a.sharding.device_set) != 1:
            raise TypeError(f"{api}: every element of arrays must be a jax.Array on one device, got {a!r} of type "
                            f"{type(a).__name__}")
    wanted = len(sharding.addressable_devices)
    if len(plain) != wanted:
        raise ValueError(f"{api}: one array is needed for each of the {wanted} devices of the sharding that this process "
                         f"addresses, got {len(plain)}")
    if not plain and dtype is None:
        raise ValueError(f"{api}: this process holds no piece of the array, so that its dtype is unknown; pass dtype")
    found = plain[0].dtype if plain else dtypes.canonicalize_dtype(as_dtype(dtype))
    if dtype is not None and plain and not keys and found != as_dtype(dtype):
        raise ValueError(f"{api}: dtype is {as_dtype(dtype)} and the arrays have {found}; convert them with .astype")
    tail = key_type.physical_element_aval()[0] if key_type is not None else ()
    out = ArrayImpl(ShapedArray((*shape, *tail), found), sharding, plain, True)
    return key_type.wrap(out) if key_type is not None else out


@api_boundary
def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """An array over the devices of all processes, from the part that each process has.

    Args:
      sharding: how the whole array is laid out.
      local_data: an array (or a tree of arrays): this process's part. Each of its dimensions is as long as that of the
        whole array, or as long as what this process's devices hold of it.
      global_shape: of the whole array (or a tree of shapes); None, or None for a dimension, stands for: as many times the
        local length as there are parts along that dimension.

    Raises:
      ValueError: local data that has neither length.

    With one process this is ``jax.device_put(local_data, sharding)``.

    >>> import jax, numpy as np
    >>> place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.make_array_from_process_local_data(place, np.ones((2, 3))).shape
    (2, 3)
    """
    sharding = _sharding_of(sharding, "make_array_from_process_local_data")
    if hasattr(local_data, "shape") and hasattr(local_data, "dtype"):
        return _from_local(sharding, local_data, global_shape)
    if global_shape is None:
        return tree_map(lambda x: _from_local(sharding, x, None), local_data)
    return tree_map(lambda x, s: _from_local(sharding, x, s), local_data, global_shape,
                    is_leaf=lambda s: s is None or hasattr(s, "dtype"))


def _from_local(sharding: Any, data: Any, global_shape: Any) -> Any:
    data = np.asarray(data) if not isinstance(data, ArrayImpl) else data
    counts = (*sharding._tiles()[0], *(1,) * (data.ndim - len(sharding._tiles()[0])))
    mine = _own_parts(sharding, counts)
    shape = [None] * data.ndim if global_shape is None else list(global_shape)
    if len(shape) != data.ndim:
        raise ValueError(f"make_array_from_process_local_data: local_data has {data.ndim} dimensions and global_shape is "
                         f"{tuple(shape)}")
    starts: list[dict[Any, int] | None] = []
    for i, (n, size, own, count) in enumerate(zip(data.shape, shape, mine, counts, strict=True)):
        if size is None:
            size = shape[i] = n * count // len(own)
        if n == size:
            starts.append(None)
            continue
        part = size // count
        if n != part * len(own):
            raise ValueError(
                f"make_array_from_process_local_data: dimension {i} of local_data has length {n}; it must be {size}, as in "
                f"the whole array, or {part * len(own)}, the length of what this process's devices hold of it")
        starts.append({p * part: k * part for k, p in enumerate(own)})
    whole = tuple(shape)

    def local(index: Index) -> Any:
        found = []
        for s, start in zip(index, starts, strict=True):
            found.append(s if start is None or s.start is None else
                         slice(start[s.start], start[s.start] + s.stop - s.start))
        return data[tuple(found)]
    return make_array_from_callback(whole, sharding, local)  # type: ignore[arg-type]


def _own_parts(sharding: Any, counts: tuple[int, ...]) -> list[list[int]]:
    """For each dimension which of its parts are on devices of this process, in order."""
    mine: list[set[int]] = [set() for _ in counts]
    for index in sharding.addressable_devices_indices_map(counts).values():
        for found, s in zip(mine, index, strict=True):
            found.add(s.start or 0)
    total = math.prod(counts)
    return [sorted(found) if total else [0] for found in mine]


__all__ = ["make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays"]
