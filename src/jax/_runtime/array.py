"""``jax.Array``: what users see of an array, installed on jaxlib's C++ classes.

``jax.Array`` is the base class that tracers share; ``ArrayImpl`` is the class of concrete arrays. Operators
come from ``jax.numpy``; here is everything that needs no computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from jax._base._jaxlib import xla
from jax._base.graft import graft_onto
from jax._language.avals import ShapedArray

from . import backend, transfer
from .failures import surfaced
from .layout import Format, Layout

Array = xla.Array
ArrayImpl = xla.ArrayImpl
SingleDeviceSharding = xla.SingleDeviceSharding
Array.__module__ = "jax"

_delete_buffers = ArrayImpl.delete
_wait = ArrayImpl.block_until_ready
_pointer = ArrayImpl.unsafe_buffer_pointer
_is_ready = ArrayImpl.is_ready

# How many rows of an array are put on the device before the first of them is handed out.
_ROWS_AT_ONCE = 64


def _lazy(path: str, doc: str) -> property:
    """A property that reads an attribute path without entering Python code."""
    return property(attrgetter(path), doc=doc)


@graft_onto(ArrayImpl)
class _Type:
    """Shape and dtype."""

    shape = _lazy("aval.shape", "Length of each dimension.")
    dtype = _lazy("aval.dtype", "Type of the elements, a NumPy dtype.")
    weak_type = _lazy("aval.weak_type", "Whether the dtype yields to others in promotion.")
    itemsize = _lazy("aval.dtype.itemsize", "Bytes per element.")

    @property
    def ndim(self: Any) -> int:
        """Number of dimensions."""
        return len(self.aval.shape)

    @property
    def size(self: Any) -> int:
        """Number of elements."""
        return math.prod(self.aval.shape)

    @property
    def nbytes(self: Any) -> int:
        """Bytes of all elements."""
        aval = self.aval
        return math.prod(aval.shape) * aval.dtype.itemsize

    def __len__(self: Any) -> int:
        shape = self.aval.shape
        if not shape:
            raise TypeError("len() of an array without dimensions (shape ())")
        return shape[0]


# --- placement ---------------------------------------------------------------------------------------------


class Shard:
    """The piece of an array on one device: an element of ``x.addressable_shards`` or ``x.global_shards``.

    Args:
      device: where it is.
      sharding: of the whole array.
      global_shape: of the whole array.
      data: the piece as an array of its own; None when another process holds it.

    Attributes:
      index: the slices of the whole array that it holds.
      replica_id: 0 for the first device with these slices, 1 for the second ...

    >>> import jax, jax.numpy as jnp
    >>> jnp.arange(3).addressable_shards[0].index
    (slice(None, None, None),)
    """

    __slots__ = ("device", "data", "_sharding", "_shape", "_place")

    def __init__(self, device: Any, sharding: Any, global_shape: tuple[int, ...], data: Any = None) -> None:
        self.device = device
        self.data = data
        self._sharding = sharding
        self._shape = tuple(global_shape)
        self._place: tuple[tuple[slice, ...], int] | None = None

    def _find(self) -> tuple[tuple[slice, ...], int]:
        if self._place is None:
            places = _places(self._sharding, self._shape)
            if self.device not in places:
                raise ValueError(f"{self.device!r} is no device of {self._sharding}")
            self._place = places[self.device]
        return self._place

    @property
    def index(self) -> tuple[slice, ...]:
        """The slices of the whole array that it holds."""
        return self._find()[0]

    @property
    def replica_id(self) -> int:
        """How many devices before this one hold the same slices."""
        return self._find()[1]

    def __repr__(self) -> str:
        value = f", data={self.data}" if self.data is not None else ""
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}{value})"


def pieces(x: Any) -> list[Any]:
    """The pieces of an array on devices of this process as arrays, in the order of its sharding's devices."""
    x._check_alive()
    sharding, aval = x._sharding, x.aval
    if type(sharding) is SingleDeviceSharding:
        return [x]
    piece_aval = ShapedArray(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
    places = sharding._addressable_device_assignment
    return [ArrayImpl(piece_aval, backend.device_sharding(d), [piece], True, True)
            for d, piece in zip(places, x._arrays, strict=True)]


def _places(sharding: Any, shape: tuple[int, ...]) -> dict[Any, tuple[tuple[slice, ...], int]]:
    """For each device the slices that it holds, and how many devices before it hold the same."""
    found = {}
    seen: dict[Any, int] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        key = tuple((s.start, s.stop) for s in index)
        replica = seen[key] = seen.get(key, -1) + 1
        found[device] = (index, replica)
    return found


def _shards(x: Any, everywhere: bool) -> list[Shard]:
    sharding, shape = x._sharding, x.aval.shape
    here = dict(zip(sharding._addressable_device_assignment, pieces(x), strict=True))
    found: list[Shard] = []
    for device, place in _places(sharding, shape).items():
        piece = here.get(device)
        if piece is not None or everywhere:
            shard = Shard(device, sharding, shape, piece)
            shard._place = place
            found.append(shard)
    return found


@graft_onto(ArrayImpl)
class _Placement:
    """Devices."""

    sharding = _lazy("_sharding", "Which device holds which piece.")
    committed = _lazy("_committed", "Whether operations on it must run on its device(s).")
    is_fully_addressable = _lazy("_sharding.is_fully_addressable",
                                 "Whether this process can address every device that holds a piece.")
    is_fully_replicated = _lazy("_sharding.is_fully_replicated", "Whether every device holds the whole array.")

    @property
    def device(self: Any) -> Any:
        """The device that holds the array, or its sharding when it is on several."""
        sharding = self._sharding
        if type(sharding) is SingleDeviceSharding:
            return sharding._device
        devices = sharding._device_assignment
        return devices[0] if len(devices) == 1 else sharding

    def devices(self: Any) -> set[Any]:
        """The devices that hold a piece of the array."""
        return self._sharding.device_set

    @property
    def addressable_shards(self: Any) -> list[Shard]:
        """The pieces on devices of this process."""
        return _shards(self, False)

    @property
    def global_shards(self: Any) -> list[Shard]:
        """The pieces on all devices; ``data`` is None for those of other processes."""
        return _shards(self, True)

    def addressable_data(self: Any, index: int) -> Any:
        """The piece on the ``index``-th device of this process, as an array of its own."""
        return pieces(self)[index]

    @property
    def format(self: Any) -> Format:
        """Memory layout and sharding."""
        self._check_alive()
        return Format(Layout.from_pjrt_layout(self._pjrt_layout), self._sharding)


# --- life and death ----------------------------------------------------------------------------------------


def gone_message(x: Any) -> str:
    """Why the values of an array cannot be had."""
    what = f"an array of type {x.aval.str_short()}"
    if x.__dict__.get("_deleted_by_user"):
        return f"Array has been deleted: .delete() gave the memory of {what} back."
    return (f"Array has been deleted: {what} was donated to a compiled function (donate_argnums, "
            "donate_argnames or device_put with donate=True), which took its memory over. Use the function's "
            "result instead, or do not donate that argument.")


@graft_onto(ArrayImpl)
class _Life:
    """Waiting, copying and deleting."""

    def _check_alive(self: Any) -> None:
        """Raises RuntimeError if the buffers are gone, saying why."""
        if self.is_deleted():
            raise RuntimeError(gone_message(self))

    def delete(self: Any) -> None:
        """Gives the memory back now. The array cannot be used any more."""
        if not self.is_deleted():
            self.__dict__.pop("_host_value", None)
            self.__dict__["_deleted_by_user"] = True
            _delete_buffers(self)

    def block_until_ready(self: Any) -> Any:
        """Waits until the value has been computed, and returns the array itself.

        Raises:
          RuntimeError: when the array has been deleted or donated.
        """
        try:
            _wait(self)
        except xla.JaxRuntimeError as error:
            self._check_alive()
            raise surfaced(error, self._sharding._addressable_device_assignment[0])  # noqa: B904 - it has its cause
        return self

    def is_ready(self: Any) -> bool:
        """Whether the value has been computed."""
        self._check_alive()
        return _is_ready(self)

    def unsafe_buffer_pointer(self: Any) -> int:
        """Address of the buffer. It is valid while the array lives and is not donated."""
        self._check_alive()
        return _pointer(self)

    def copy(self: Any) -> Any:
        """A copy in memory of its own, on the same device(s)."""
        return transfer.copy(self)

    def __copy__(self: Any) -> Any:
        return transfer.copy(self)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        made = memo[id(self)] = transfer.copy(self)
        return made

    def copy_to_host_async(self: Any) -> None:
        """Starts a transfer to the host, so that a later ``np.asarray`` need not wait."""
        self._check_alive()
        if type(self._sharding) is SingleDeviceSharding:
            self._copy_single_device_array_to_host_async()
        elif "_host_value" not in self.__dict__:
            for piece in pieces(self)[: 1 if self._sharding.is_fully_replicated else None]:
                piece._copy_single_device_array_to_host_async()

    def __reduce__(self: Any) -> Any:
        return _rebuild, (np.asarray(self), self.aval.weak_type)


def _rebuild(value: np.ndarray, weak_type: bool) -> Any:
    """Unpickles an array onto the default device."""
    return transfer.to_device(value, ShapedArray(value.shape, value.dtype, weak_type))


# --- values ------------------------------------------------------------------------------------------------


def _gather(x: Any) -> np.ndarray:
    if not x.is_fully_addressable:
        raise RuntimeError(
            f"the array ({x.aval.str_short()}) spans devices of other processes, so this process cannot have "
            "its value. Use .addressable_shards, or gather it with a jitted function first.")
    x.copy_to_host_async()
    value = np.empty(x.aval.shape, x.aval.dtype)
    for shard in x.addressable_shards:
        if shard.replica_id == 0:
            value[shard.index], _ = shard.data._single_device_array_to_np_array_did_copy()
    return value


def _scalar(x: Any, convert: type) -> Any:
    if x.aval.shape:
        raise TypeError(f"only arrays without dimensions convert to a Python {convert.__name__}; this one has "
                        f"shape {x.aval.shape}. Use .item() for a single element, or index it.")
    return convert(x._value)


def _rows(x: Any) -> Iterator[Any]:
    """The sub-arrays along the first dimension, taken from the host value.

    A compiled program that unstacks would take half the time per row, after a hundred times that for compiling it.
    """
    aval, sharding, committed = x.aval, x._sharding, x._committed
    if len(sharding._device_assignment) > 1:
        sharding = backend.device_sharding(sharding._addressable_device_assignment[0])
        committed = True
    row_aval = ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)
    value = x._value
    put, place = xla.batched_device_put, [sharding._device]
    for start in range(0, aval.shape[0], _ROWS_AT_ONCE):
        with transfer.explicit():
            rows = [put(row_aval, sharding, [row], place, committed)
                    for row in _row_views(value[start : start + _ROWS_AT_ONCE])]
        yield from rows


def _row_views(value: np.ndarray) -> Iterator[np.ndarray]:
    if value.ndim > 1:
        return iter(value)
    return (value[i, ...] for i in range(len(value)))  # iterating would make scalars


@graft_onto(ArrayImpl)
class _Values:
    """Conversions to Python and NumPy."""

    @property
    def _value(self: Any) -> np.ndarray:
        """The value as a read-only NumPy array: on CPUs the array's own memory, elsewhere copied once."""
        if self.is_deleted():
            raise RuntimeError(gone_message(self))
        sharding = self._sharding
        if type(sharding) is SingleDeviceSharding:
            # jaxlib keeps what it had to copy. It ends the process when asked for the value of a program that ran out of
            # memory in the background, and raises when asked to wait for it.
            try:
                self.block_until_ready()
                return self._single_device_array_to_np_array_did_copy()[0]
            except xla.JaxRuntimeError as error:
                raise surfaced(error)  # noqa: B904 - it has its own cause
        known = self.__dict__.get("_host_value")
        if known is None:
            if sharding.is_fully_replicated:
                known = pieces(self)[0]._value
            else:
                known = _gather(self)
                known.flags.writeable = False
            self.__dict__["_host_value"] = known
        return known

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self._value
        if dtype is not None and dtype != value.dtype:
            if copy is False:
                raise ValueError(f"a copy cannot be avoided: the array has dtype {value.dtype}, and "
                                 f"{np.dtype(dtype)} is asked for (np.asarray copies where it must)")
            return value.astype(dtype)
        # A view, not the kept object, whose shape could be changed in place.
        return value.copy() if copy else value.view()

    def __float__(self: Any) -> float:
        return _scalar(self, float)

    def __int__(self: Any) -> int:
        return _scalar(self, int)

    def __complex__(self: Any) -> complex:
        return _scalar(self, complex)

    def __bool__(self: Any) -> bool:
        shape = self.aval.shape
        if shape:
            n = math.prod(shape)
            if n == 0:
                raise ValueError(f"an empty array (shape {shape}) is neither true nor false; test its .size")
            if n > 1:
                raise ValueError(f"the truth value of an array with more than one element (shape {shape}) is "
                                 "ambiguous; use .any() or .all()")
        return bool(self._value)

    def __index__(self: Any) -> int:
        aval = self.aval
        if aval.shape or aval.dtype.kind not in "iub":
            raise TypeError("only integer arrays without dimensions can be used as an index; this one is "
                            f"{self.aval.str_short()}")
        return self._value.item().__index__()

    def __hash__(self: Any) -> int:
        raise TypeError("unhashable type: 'jax.Array': arrays compare element by element. As a key, use id(x) "
                        "(this object) or x.tobytes() (its value); static arguments must be hashable Python "
                        "values.")

    def item(self: Any, *args: Any) -> Any:
        """One element as a Python scalar.

        Args:
          *args: nothing (for arrays of one element), an index into the flat array, or one per dimension.

        Raises:
          ValueError: without arguments, when there is not exactly one element.
          IndexError: when the index is out of bounds.
        """
        return self._value.item(*args)

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python scalars; a scalar for an array without dimensions."""
        return self._value.tolist()

    def tobytes(self: Any, order: Any = "C") -> bytes:
        """The bytes of the elements in row-major order (``"F"``: column-major)."""
        return self._value.tobytes(order)

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over an array without dimensions (shape ())")
        self._check_alive()
        return _rows(self)

    def __reversed__(self: Any) -> Iterator[Any]:
        return reversed(list(self))


# --- text --------------------------------------------------------------------------------------------------


def _can_print(x: Any) -> bool:
    return x.is_fully_addressable or x.is_fully_replicated


@graft_onto(ArrayImpl)
class _Text:
    """Printing, as NumPy prints arrays."""

    def __repr__(self: Any) -> str:
        aval = self.aval
        prefix = "Array("
        tail = f"dtype={aval.dtype.name}{', weak_type=True' if aval.weak_type else ''})"
        if not _can_print(self):
            return f"{prefix}shape={aval.shape}, {tail}"
        value = self._value
        if not value.size:
            return f"{prefix}[], shape={aval.shape}, {tail}"
        body = np.array2string(value, prefix=prefix, suffix=",", separator=", ")
        # On one line whatever its length, as doctests everywhere have it: long ones are set apart by blanks.
        last_line = len(body) - (body.rfind("\n") + 1)
        gap = ", " if last_line + len(tail) + 3 <= np.get_printoptions()["linewidth"] else "," + " " * len(prefix)
        return f"{prefix}{body}{gap}{tail}"

    def __str__(self: Any) -> str:
        return str(self._value) if _can_print(self) else repr(self)

    def __format__(self: Any, spec: str) -> str:
        # As NumPy does: an array without dimensions formats like its element.
        return format(self._value if self.aval.shape else self._value[()], spec)


# --- the C++ constructor -----------------------------------------------------------------------------------


@graft_onto(ArrayImpl)
class _Construction:
    """What jaxlib calls when an array is put together from pieces."""

    @staticmethod
    def _check_and_rearrange(arrays: Any, sharding: Any, aval: Any) -> Any:
        """Checks the pieces against the sharding and returns them in the order of its devices."""
        wanted = sharding._addressable_device_assignment
        block = sharding.shard_shape(aval.shape)
        by_device = {a._sharding._device: a for a in arrays}
        if set(by_device) != set(wanted) or len(arrays) != len(wanted):
            raise ValueError(
                "an array is put together from one piece for each device of its sharding: the pieces are on "
                f"{[str(d) for d in by_device]}, and {sharding} needs {[str(d) for d in wanted]}")
        for piece in arrays:
            if tuple(piece.shape) != tuple(block):
                raise ValueError(f"a piece has shape {piece.shape}; {sharding} divides an array of shape "
                                 f"{aval.shape} into pieces of shape {block}")
            if piece.dtype != aval.dtype:
                raise ValueError(f"a piece has dtype {piece.dtype}, and the array has {aval.dtype}")
        return [by_device[d] for d in wanted]
