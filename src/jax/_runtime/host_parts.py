"""Parts of arrays that are copied by the host instead of a program that would have to be compiled first."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._base import config
from jax._base._jaxlib import xla
from jax._base.caching import register_cache

from .transfer import put_host

ArrayImpl = xla.ArrayImpl
LARGEST = 1 << 18  # bytes; for more, programs are faster and run in the background
TIMES = 2  # as often as this, before a program is worth its compilation

_counts: dict[Any, int] = {}
register_cache(_counts.clear, name="jax._runtime.host_parts")
# Under these options users want to see programs, or every transfer.
_WATCHED = (config.disable_jit, config.debug_nans, config.debug_infs, config.log_compiles, config.explain_cache_misses)
_GUARDS = (config.transfer_guard_host_to_device, config.transfer_guard_device_to_host,
           config.transfer_guard_device_to_device)


def part(x: Any, key: Any, index: tuple[Any, ...]) -> Any:
    """``x[index]`` as an array like the result of a program, the first times it is asked for; else None.

    It is only for arrays on one CPU device that need not be waited for, and small parts of ordinary dtypes. ``key`` tells
    the programs apart that would be compiled for arrays of one type. ``index`` has integers and slices, within bounds.
    """
    if type(x) is not ArrayImpl or x.is_deleted():
        return None
    sharding, aval = x._sharding, x.aval
    if type(sharding) is not xla.SingleDeviceSharding or sharding._device.platform != "cpu" or \
            not isinstance(aval.dtype, np.dtype) or not x.is_ready():
        return None
    for option in _WATCHED:
        if option.value:
            return None
    for option in _GUARDS:
        if option.value not in (None, "allow"):
            return None
    counted = (key, aval, sharding)
    count = _counts.get(counted, 0)
    if count >= TIMES:
        return None
    if len(_counts) > 4096:
        _counts.clear()
    _counts[counted] = count + 1
    value = _copied(x, index)
    if value is None:
        return None
    return put_host(value, aval.update(shape=value.shape), sharding, x._committed, may_alias=True)


def _copied(x: Any, index: tuple[Any, ...]) -> np.ndarray | None:
    """A copy of the part; the memory of ``x`` is looked at no longer than that takes, so that it may be donated."""
    try:
        x.block_until_ready()
        with memoryview(x) as memory:
            view = np.asarray(memory)[index]
            value = np.array(view, order="C") if view.nbytes <= LARGEST else None
            del view
    except (xla.JaxRuntimeError, BufferError, ValueError):
        return None  # a failed program, or a dtype that the protocol does not know
    return value if value is None or value.dtype == x.dtype else None
