"""Putting values on devices and taking them off again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import config
from jax._base._jaxlib import guard_lib, xla
from jax._language.avals import typeof

from . import backend, memory

ArrayImpl = xla.ArrayImpl
DeviceList = xla.DeviceList
SingleDeviceSharding = xla.SingleDeviceSharding
_COPY = xla.ArrayCopySemantics.ALWAYS_COPY
_REUSE = xla.ArrayCopySemantics.REUSE_INPUT
_DONATE = xla.ArrayCopySemantics.DONATE_INPUT
_BORROW = xla.HostBufferSemantics.ZERO_COPY
_READ_NOW = xla.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL

PutHandler = Callable[[Any, Any, Any, bool], Any]

# How values of a type are put: ``handler(x, aval, sharding, committed) -> array``. Subclasses inherit.
put_handlers: dict[type, PutHandler] = {}

_PLAIN = frozenset((bool, int, float, complex))
_INT64 = np.dtype("int64")
_UINT64 = np.dtype("uint64")
_INT32 = np.dtype("int32")
_UINT32 = np.dtype("uint32")


def to_device(x: Any, aval: Any = None, placement: Any = None, *, committed: bool | None = None, name: str = "",
              may_alias: bool | None = None, donate: bool = False) -> Any:
    """An array on a device with the value of ``x``.

    Args:
      x: an array, a NumPy array or scalar, a Python scalar, or anything with a handler in :data:`put_handlers`.
      aval: abstract value of the result, ``typeof(x)`` by default.
      placement: a device or sharding; by default where ``x`` already is, else the default device.
      committed: whether operations must stay on that device; by default when ``placement`` is given, or ``x`` was.
      name: how ``x`` is called in the error about integers that do not fit.
      may_alias: whether the result may share memory with ``x``. A NumPy array must then not be written to; by default
        memory is shared with arrays and with NumPy arrays that are read-only.
      donate: whether the memory of ``x``, an array, may be taken over.

    Raises:
      OverflowError: for integers that do not fit their 32-bit type while 64-bit types are off.
    """
    cls = type(x)
    if cls is ArrayImpl:
        return _move(x, placement, committed, may_alias, donate)
    if aval is None:
        aval = typeof(x)
    sharding = backend.as_sharding(placement)
    sure = placement is not None if committed is None else committed
    if cls is np.ndarray:
        if x.dtype == dtypes.float0:
            return x  # there is nothing to put anywhere
        value = x if x.dtype == aval.dtype else host_value(x, aval.dtype, name)
        return put_host(value, aval, sharding, sure, may_alias)
    if cls not in _PLAIN:
        handler = put_handlers.get(cls) or _inherited_handler(cls)
        if handler is not None:
            return handler(x, aval, sharding, sure)
    value = host_value(x, aval.dtype, name)
    return put_host(value, aval, sharding, sure, True if not isinstance(x, np.ndarray) else may_alias)


def _inherited_handler(cls: type) -> PutHandler | None:
    for base in cls.__mro__[1:]:
        handler = put_handlers.get(base)
        if handler is not None:
            return handler
    return None


def host_value(x: Any, dtype: Any, name: str = "", where: str = "") -> np.ndarray:
    """``x`` as a NumPy array of ``dtype``, refusing 64-bit integers that a 32-bit ``dtype`` cannot hold."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return dtypes.scalar_to_numpy(x, dtype, name=name, where=where)
    value = np.asarray(x)
    have = value.dtype
    if have == dtype:
        return value
    if (have == _INT64 or have == _UINT64) and (dtype == _INT32 or dtype == _UINT32):
        check_range(value, dtype, name, where)
    return value.astype(dtype)


def check_range(value: np.ndarray, dtype: Any, name: str = "", where: str = "") -> None:
    """Raises OverflowError unless all elements of the integer array ``value`` fit ``dtype``."""
    if not value.size:
        return
    bounds = np.iinfo(dtype)
    low, high = int(value.min()), int(value.max())
    if low < bounds.min or high > bounds.max:
        worst = high if high > bounds.max else low
        raise OverflowError(dtypes.overflow_message(worst, dtype, name, where))


def put_host(value: np.ndarray, aval: Any, sharding: Any, committed: bool, may_alias: bool | None = None) -> Any:
    """A NumPy array of the dtype of ``aval`` as an array laid out by ``sharding``.

    The bytes are copied before this returns if ``may_alias`` is false, and by default if ``value`` is writeable.
    """
    if dtypes.is_narrowed(aval.dtype):  # C++ would narrow the value
        previous = config.enable_x64.swap_local(True)
        try:
            return put_host(value, aval, sharding, committed, may_alias)
        finally:
            config.enable_x64.swap_local(previous)
    borrow = not value.flags.writeable if may_alias is None else may_alias
    if type(sharding) is SingleDeviceSharding:
        how = _BORROW if borrow else _READ_NOW
        try:
            return xla.batched_device_put(aval, sharding, [value], [sharding._device], committed, False, how)
        except (xla.JaxRuntimeError, ValueError) as error:
            better = _forbidden(error) or memory.explained(error, sharding._device)
            if better is error:
                raise
        raise better
    pieces, devices = [], []
    for device, index in sharding.addressable_devices_indices_map(aval.shape).items():
        pieces.append(np.array(value[index], copy=None if borrow else True, order="C"))
        devices.append(device)
    return xla.batched_device_put(aval, sharding, pieces, devices, committed, False, _BORROW)


def _forbidden(error: Exception) -> Exception | None:
    """The error of a transfer guard, with what to do about it."""
    text = str(error)
    if not isinstance(error, xla.JaxRuntimeError) or "Disallowed host-to-device transfer" not in text:
        return None
    level = config.transfer_guard_host_to_device.value
    remedy = "jax.device_put(x) is a transfer that was asked for, which it lets pass. " if level == "disallow" else ""
    return xla.JaxRuntimeError(f"{text}\njax_transfer_guard_host_to_device is {level!r}. {remedy}"
                               "with jax.transfer_guard('allow'): lets all pass in its block.", error.error_code)


def _move(x: Any, placement: Any, committed: bool | None, may_alias: bool | None, donate: bool) -> Any:
    """An existing array at another place, or itself."""
    x._check_alive()
    if may_alias is False:
        if placement is None and committed is None:
            committed = x._committed
        return _move(x.copy(), placement, committed, None, donate)
    if placement is None:
        if committed is None or committed == x._committed:
            return x
        return recommit(x, committed)
    sharding = backend.as_sharding(placement)
    sure = True if committed is None else committed
    have = x.sharding
    if have is sharding or have == sharding:
        return x if x._committed == sure else recommit(x, sure)
    if len(have._device_assignment) == 1 and len(sharding._device_assignment) == 1:
        how = _DONATE if donate else _REUSE
        target = [DeviceList(sharding._device_assignment)]
        try:
            moved = xla.batched_copy_array_to_devices_with_sharding([x], target, [sharding], [how])[0]
        except (xla.JaxRuntimeError, ValueError) as error:
            better = memory.explained(error, sharding._device_assignment[0])
            if better is error:
                raise
            raise better from None
        return moved if moved._committed == sure else recommit(moved, sure)
    if have.is_equivalent_to(sharding, x.ndim):
        return ArrayImpl(x.aval, sharding, x._arrays, sure, True)
    # Between different partitionings: through the host. Programs reshard on the devices; this is for set-up.
    return put_host(x._value, x.aval, sharding, sure, may_alias=True)


def recommit(x: Any, committed: bool) -> Any:
    """The same buffers, (not) tied to their devices."""
    return ArrayImpl(x.aval, x.sharding, x._arrays, committed, True)


def with_aval(x: Any, aval: Any) -> Any:
    """The same buffers under another abstract value of equal shape and dtype (weak or strong type)."""
    return x if x.aval is aval else x._rewrap_with_aval_and_sharding(aval, x.sharding)


def copy(x: Any) -> Any:
    """A copy of an array, in memory of its own. It stays on its devices: for guards that is no transfer."""
    x._check_alive()
    sharding = x.sharding
    target = [DeviceList(sharding._device_assignment)]
    with config.transfer_guard_device_to_device("allow"):
        made = xla.batched_copy_array_to_devices_with_sharding([x], target, [sharding], [_COPY])[0]
    return made if made._committed == x._committed else recommit(made, x._committed)


def to_host(x: Any) -> np.ndarray:
    """The value of an array as a NumPy array, read-only and shared with the device where that is possible."""
    with explicit():
        return x._value


def all_to_host(values: Sequence[Any]) -> list[Any]:
    """The values of arrays as NumPy arrays, read-only and shared with the device where that is possible.

    The transfers of all arrays are started before the first one is waited for. What has no ``copy_to_host_async``
    is returned as it is.
    """
    for x in values:
        start = getattr(x, "copy_to_host_async", None)
        if start is not None:
            start()
    with explicit():
        return [np.asarray(x) if isinstance(x, xla.Array) else x for x in values]


class explicit:  # noqa: N801 - reads as a statement: with explicit(): ...
    """Marks the transfers in its block as asked for by the user, which ``jax_transfer_guard`` then lets pass."""

    __slots__ = ("_state", "_before")

    def __enter__(self) -> None:
        self._state = state = guard_lib.thread_local_state()
        self._before = state.explicit_device_put, state.explicit_device_get
        state.explicit_device_put = state.explicit_device_get = True

    def __exit__(self, *exc: Any) -> None:
        self._state.explicit_device_put, self._state.explicit_device_get = self._before


# --- what the compiled call path asks for ------------------------------------------------------------------


def shard_arg_fallback(x: Any, sharding: Any, layout: Any = None) -> Any:
    """Puts one argument that jaxlib's compiled call path does not handle itself."""
    return to_device(x, None, sharding, committed=True)
