"""``jax.Array``: what users see of an array, installed on jaxlib's C++ classes.

``jax.Array`` is the base class that tracers share; ``ArrayImpl`` is the class of concrete arrays. Operators come
from ``jax.numpy``; here is everything that needs no computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from jax._base._jaxlib import xla
from jax._language.avals import ShapedArray

from . import backend, transfer

Array = xla.Array
ArrayImpl = xla.ArrayImpl
Array.__module__ = "jax"

# Rows per transfer when a large array on an accelerator is iterated over.
_ITERATION_CHUNK = 256


def _member(member: Any) -> Any:
    """Decorator: makes a function or property a member of ``ArrayImpl``."""
    name = member.fget.__name__ if isinstance(member, property) else member.__name__
    setattr(ArrayImpl, name, member)
    return member


# --- type ------------------------------------------------------------------------------------------------------------

ArrayImpl.shape = property(attrgetter("aval.shape"), doc="Length of each dimension.")
ArrayImpl.dtype = property(attrgetter("aval.dtype"), doc="Type of the elements, a NumPy dtype.")
ArrayImpl.weak_type = property(attrgetter("aval.weak_type"), doc="Whether the dtype yields to others in promotion.")
ArrayImpl.sharding = property(attrgetter("_sharding"), doc="Which device holds which piece.")
ArrayImpl.committed = property(attrgetter("_committed"), doc="Whether operations must stay on its device(s).")


@_member
@property
def ndim(self: Any) -> int:
    """Number of dimensions."""
    return len(self.aval.shape)


@_member
@property
def size(self: Any) -> int:
    """Number of elements."""
    return math.prod(self.aval.shape)


@_member
@property
def itemsize(self: Any) -> int:
    """Bytes per element."""
    return self.aval.dtype.itemsize


@_member
@property
def nbytes(self: Any) -> int:
    """Bytes of all elements."""
    return math.prod(self.aval.shape) * self.aval.dtype.itemsize


@_member
def __len__(self: Any) -> int:
    shape = self.aval.shape
    if not shape:
        raise TypeError("len() of an array without dimensions (shape ())")
    return shape[0]


# --- placement -------------------------------------------------------------------------------------------------------


@_member
@property
def device(self: Any) -> Any:
    """The device that holds the array, or its sharding when it is on several."""
    sharding = self._sharding
    devices = sharding._device_assignment
    return devices[0] if len(devices) == 1 else sharding


@_member
def devices(self: Any) -> set[Any]:
    """The devices that hold a piece of the array."""
    return self._sharding.device_set


@_member
@property
def is_fully_addressable(self: Any) -> bool:
    """Whether this process can address every device that holds a piece."""
    return self._sharding.is_fully_addressable


@_member
@property
def is_fully_replicated(self: Any) -> bool:
    """Whether every device holds the whole array."""
    return self._sharding.is_fully_replicated


class Shard(NamedTuple):
    """The piece of an array on one device."""

    device: Any
    index: tuple[slice, ...]
    replica_id: int
    data: Any

    def __repr__(self) -> str:
        value = f", data={self.data}" if self.data is not None else ""
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}{value})"


def _pieces(self: Any) -> list[Any]:
    """The pieces on devices of this process as arrays, in the order of the sharding's devices."""
    self._check_alive()
    sharding, aval = self._sharding, self.aval
    places = sharding._addressable_device_assignment
    if len(sharding._device_assignment) == 1:
        return [self]
    piece_aval = ShapedArray(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
    return [ArrayImpl(piece_aval, backend.device_sharding(d), [piece], True, True)
            for d, piece in zip(places, self._arrays, strict=True)]


def _shards(self: Any, everywhere: bool) -> list[Shard]:
    sharding = self._sharding
    pieces = dict(zip(sharding._addressable_device_assignment, _pieces(self), strict=True))
    found: list[Shard] = []
    seen: dict[Any, int] = {}
    for dev, index in sharding.devices_indices_map(self.aval.shape).items():
        key = tuple((s.start, s.stop) for s in index)
        replica = seen[key] = seen.get(key, -1) + 1
        piece = pieces.get(dev)
        if piece is not None or everywhere:
            found.append(Shard(dev, index, replica, piece))
    return found


@_member
@property
def addressable_shards(self: Any) -> list[Shard]:
    """The pieces on devices of this process."""
    return _shards(self, False)


@_member
@property
def global_shards(self: Any) -> list[Shard]:
    """The pieces on all devices; ``data`` is None for those of other processes."""
    return _shards(self, True)


@_member
def addressable_data(self: Any, index: int) -> Any:
    """The piece on the ``index``-th device of this process, as an array of its own."""
    return _pieces(self)[index]


# --- life and death --------------------------------------------------------------------------------------------------

_delete = ArrayImpl.delete
_block = ArrayImpl.block_until_ready
_pointer = ArrayImpl.unsafe_buffer_pointer
_is_ready = ArrayImpl.is_ready


@_member
def _check_alive(self: Any) -> Any:
    """Raises RuntimeError if the buffers are gone, saying why."""
    if self.is_deleted():
        raise RuntimeError(gone_message(self))


def gone_message(x: Any) -> str:
    """Why the values of an array cannot be had."""
    what = x.aval.str_short()
    if x.__dict__.get("_deleted_by_user"):
        return f"Array has been deleted: its memory was given back by .delete(). It was an array of type {what}."
    return (f"Array has been deleted: an array of type {what} was donated to a compiled function (donate_argnums or "
            "donate_argnames), which reused its memory. Use the function's result, or do not donate that argument.")


@_member
def delete(self: Any) -> None:
    """Gives the memory back now. The array cannot be used any more."""
    if not self.is_deleted():
        self.__dict__.pop("_host_value", None)
        self.__dict__["_deleted_by_user"] = True
        _delete(self)


@_member
def block_until_ready(self: Any) -> Any:
    """Waits until the value has been computed, and returns the array itself.

    Raises:
      RuntimeError: when the array has been deleted or donated.
    """
    if self.is_deleted():
        raise RuntimeError(gone_message(self))
    _block(self)
    return self


@_member
def is_ready(self: Any) -> bool:
    """Whether the value has been computed."""
    self._check_alive()
    return _is_ready(self)


@_member
def unsafe_buffer_pointer(self: Any) -> int:
    """Address of the buffer. It is valid while the array lives and is not donated."""
    self._check_alive()
    return _pointer(self)


@_member
def copy(self: Any) -> Any:
    """A copy in memory of its own, on the same device(s)."""
    return transfer.copy(self)


@_member
def copy_to_host_async(self: Any) -> None:
    """Starts a transfer to the host, so that a later ``np.asarray`` need not wait."""
    self._check_alive()
    if "_host_value" in self.__dict__:
        return
    if self.is_fully_replicated:
        _whole(self)._copy_single_device_array_to_host_async()
    else:
        for piece in _pieces(self):
            piece._copy_single_device_array_to_host_async()


# --- values ----------------------------------------------------------------------------------------------------------


def _whole(self: Any) -> Any:
    """An array on one device with all of the value."""
    return _pieces(self)[0] if len(self._sharding._device_assignment) > 1 else self


@_member
@property
def _value(self: Any) -> np.ndarray:
    """The value as a read-only NumPy array. On CPUs it shares memory with the array; elsewhere it is copied once."""
    if self.is_deleted():
        raise RuntimeError(gone_message(self))
    known = self.__dict__.get("_host_value")
    if known is not None:
        return known
    sharding = self._sharding
    if sharding.is_fully_replicated:
        value, copied = _whole(self)._single_device_array_to_np_array_did_copy()
        if not copied:
            return value  # not kept: it would hold on to the memory after a deletion or donation
    else:
        value = _gather(self)
    value.flags.writeable = False
    self.__dict__["_host_value"] = value
    return value


def _gather(self: Any) -> np.ndarray:
    if not self.is_fully_addressable:
        raise RuntimeError(
            f"the array ({self.aval.str_short()}) spans devices of other processes, so this process cannot have "
            "its value; use .addressable_shards, or gather it with a jitted function first.")
    self.copy_to_host_async()
    value = np.empty(self.aval.shape, self.aval.dtype)
    for shard in self.addressable_shards:
        if shard.replica_id == 0:
            value[shard.index], _ = shard.data._single_device_array_to_np_array_did_copy()
    return value


@_member
def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    value = self._value
    if dtype is not None and dtype != value.dtype:
        if copy is False:
            raise ValueError(f"a copy cannot be avoided: the array has dtype {value.dtype} and {np.dtype(dtype)} is "
                             "asked for (np.asarray makes copies where needed)")
        return value.astype(dtype)
    if copy:
        return value.copy()
    # A view, not the cached object: its shape may be changed in place.
    return value.view()


def _scalar(self: Any, convert: Callable[[Any], Any]) -> Any:
    if self.aval.shape:
        raise TypeError(f"only arrays without dimensions convert to a Python {convert.__name__}; this one has shape "
                        f"{self.aval.shape}. Use .item() for a single element, or index it.")
    return convert(self._value[()])


@_member
def __float__(self: Any) -> float:
    return _scalar(self, float)


@_member
def __int__(self: Any) -> int:
    return _scalar(self, int)


@_member
def __complex__(self: Any) -> complex:
    return _scalar(self, complex)


@_member
def __bool__(self: Any) -> bool:
    shape = self.aval.shape
    if shape:
        n = math.prod(shape)
        if n == 0:
            raise ValueError(f"an empty array (shape {shape}) is neither true nor false; compare its .size")
        if n > 1:
            raise ValueError(f"the truth value of an array of more than one element (shape {shape}) is ambiguous; "
                             "use .any() or .all()")
    return bool(self._value.reshape(())[()])


@_member
def __index__(self: Any) -> int:
    if self.aval.shape or self.aval.dtype.kind not in "iub":
        raise TypeError(f"only integer arrays without dimensions can be used as an index; got {self.aval.str_short()}")
    return self._value[()].__index__()


@_member
def __hash__(self: Any) -> int:
    raise TypeError("unhashable type: 'jax.Array': arrays compare element by element. To use one as a key, take "
                    "id(x) (this object) or x.tobytes() (its value); static arguments must be Python values.")


@_member
def item(self: Any, *args: Any) -> Any:
    """One element as a Python scalar.

    Args:
      *args: nothing (for arrays of one element), an index into the flat array, or one index per dimension.

    Raises:
      ValueError: without arguments, when there is not exactly one element.
      IndexError: when the index is out of bounds.
    """
    return self._value.item(*args)


@_member
def tolist(self: Any) -> Any:
    """The elements as nested lists of Python scalars; a scalar for an array without dimensions."""
    return self._value.tolist()


@_member
def tobytes(self: Any, order: Any = "C") -> bytes:
    """The bytes of the elements in row-major order (``"F"``: column-major)."""
    return self._value.tobytes(order)


@_member
def __iter__(self: Any) -> Iterator[Any]:
    if not self.aval.shape:
        raise TypeError("iteration over an array without dimensions (shape ())")
    self._check_alive()
    return _rows(self)


def _rows(self: Any) -> Iterator[Any]:
    """The sub-arrays along the first dimension, taken from the host value: no program runs per row."""
    aval = self.aval
    row_aval = ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)
    sharding = self._sharding
    if len(sharding._device_assignment) > 1:
        sharding, committed = backend.device_sharding(next(iter(sharding._addressable_device_assignment))), True
    else:
        committed = self._committed
    value = self._value
    put, place = xla.batched_device_put, [sharding._device]
    for i in range(aval.shape[0]):
        yield put(row_aval, sharding, [np.ascontiguousarray(value[i])], place, committed)


@_member
def __reversed__(self: Any) -> Iterator[Any]:
    return reversed(list(self))


# --- text ------------------------------------------------------------------------------------------------------------


def _fits_on_paper(self: Any) -> bool:
    return self.is_fully_addressable or self.is_fully_replicated


@_member
def __repr__(self: Any) -> str:
    aval = self.aval
    prefix = "Array("
    tail = f"dtype={_dtype_text(aval.dtype)}{', weak_type=True' if aval.weak_type else ''})"
    if not _fits_on_paper(self):
        return f"{prefix}shape={aval.shape}, {tail}"
    value = self._value
    if not value.size:
        shape = "" if aval.shape == (0,) else f"shape={aval.shape}, "
        return f"{prefix}[], {shape}{tail}"
    body = np.array2string(value, prefix=prefix, suffix=",", separator=", ",
                           threshold=np.get_printoptions()["threshold"])
    last = body[body.rfind("\n") + 1:]
    width = len(last) + (len(prefix) if "\n" not in body else 0) + len(tail) + 2
    gap = ",\n" + " " * len(prefix) if width > np.get_printoptions()["linewidth"] else ", "
    return f"{prefix}{body}{gap}{tail}"


def _dtype_text(dtype: Any) -> str:
    return dtype.name


@_member
def __str__(self: Any) -> str:
    return str(self._value) if _fits_on_paper(self) else repr(self)


@_member
def __format__(self: Any, spec: str) -> str:
    # As NumPy does: an array without dimensions formats like its element.
    return format(self._value[()] if not self.aval.shape else self._value, spec)


# --- copies and pickles ----------------------------------------------------------------------------------------------


def _rebuild(value: np.ndarray, weak_type: bool) -> Any:
    aval = ShapedArray(value.shape, value.dtype, weak_type)
    return transfer.to_device(value, aval, may_alias=True)


@_member
def __reduce__(self: Any) -> Any:
    return _rebuild, (np.asarray(self), self.aval.weak_type)


@_member
def __deepcopy__(self: Any, memo: Any) -> Any:
    made = memo[id(self)] = transfer.copy(self)
    return made


@_member
def __copy__(self: Any) -> Any:
    return transfer.copy(self)


# --- the C++ constructor's question ----------------------------------------------------------------------------------


def _check_and_rearrange(self: Any, *args: Any) -> Any:
    """Called by jaxlib when an array is put together from pieces by hand."""
    arrays = args[0] if args else self._arrays
    sharding, shape = self._sharding, self.aval.shape
    expected = sharding.shard_shape(shape)
    by_device = {a._sharding._device: a for a in arrays}
    wanted = sharding._addressable_device_assignment
    if set(by_device) != set(wanted) or len(arrays) != len(wanted):
        raise ValueError(f"the pieces of an array must be one for each device of its sharding: the pieces are on "
                         f"{sorted(map(str, by_device))} and {sharding} needs {[str(d) for d in wanted]}")
    for piece in arrays:
        if tuple(piece.shape) != tuple(expected):
            raise ValueError(f"a piece has shape {piece.shape}, and {sharding} makes pieces of shape {expected} of an "
                             f"array of shape {shape}")
        if piece.dtype != self.aval.dtype:
            raise ValueError(f"a piece has dtype {piece.dtype}, and the array {self.aval.dtype}")
    return [by_device[d] for d in wanted]


ArrayImpl._check_and_rearrange = _check_and_rearrange
