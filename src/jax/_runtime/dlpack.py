"""Sharing arrays with other libraries by DLPack and by the CUDA array interface."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from jax import dtypes
from jax._base._jaxlib import xla
from jax._base.graft import graft_onto
from jax._language.avals import ShapedArray

from . import backend, transfer

ArrayImpl = xla.ArrayImpl


class DLDeviceType(enum.IntEnum):
    """Kinds of device, as DLPack numbers them."""

    kDLCPU = 1  # noqa: N815 - DLPack's names
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLCUDAManaged = 13  # noqa: N815
    kDLROCM = 10  # noqa: N815


_PLATFORMS = {
    DLDeviceType.kDLCPU: "cpu", DLDeviceType.kDLCUDA: "cuda", DLDeviceType.kDLCUDAHost: "cpu",
    DLDeviceType.kDLCUDAManaged: "cuda", DLDeviceType.kDLROCM: "rocm",
}

_EXCHANGEABLE = frozenset(np.dtype(t) for t in (
    bool, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", dtypes.bfloat16))


# The dtypes of arrays that can be exchanged.
SUPPORTED_DTYPES: frozenset[np.dtype] = _EXCHANGEABLE


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of ``dtype`` can be exchanged with other libraries."""
    return np.dtype(dtype) in _EXCHANGEABLE


def _one_device(x: Any, what: str) -> Any:
    x._check_alive()
    if len(x._sharding._device_assignment) != 1:
        raise BufferError(f"{what} needs an array on a single device; this one is laid out by {x._sharding}. "
                          "Take one of x.addressable_shards, or move it with jax.device_put.")
    return x._sharding._device


def _dlpack_device(device: Any) -> tuple[DLDeviceType, int]:
    platform = device.platform
    if platform == "cpu":
        return DLDeviceType.kDLCPU, 0
    local = device.local_hardware_id if device.local_hardware_id is not None else device.id
    if platform == "gpu":
        is_rocm = "rocm" in device.client.platform_version.lower()
        return (DLDeviceType.kDLROCM if is_rocm else DLDeviceType.kDLCUDA), local
    raise BufferError(f"arrays on the platform {platform!r} cannot be shared by DLPack; move the array to a CPU "
                      "device with jax.device_put first")


@graft_onto(ArrayImpl)
class _Exchange:
    """The protocol's methods."""

    def __dlpack_device__(self: Any) -> tuple[DLDeviceType, int]:
        """Kind and number of the device that holds the array, as DLPack has them."""
        return _dlpack_device(_one_device(self, "__dlpack_device__"))

    def __dlpack__(self: Any, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
        """A DLPack capsule with the array's memory. What takes it must not write to it.

        Args:
          stream: the consumer's stream, on GPUs.
          max_version: newest version of the protocol that the consumer knows; capsules are of the first one.
          dl_device: the device on which the consumer wants the data.
          copy: True for memory of its own, False to refuse to copy.

        Raises:
          BufferError: when the array is on several devices, or would have to be copied against ``copy=False``.
        """
        x = self
        device = _one_device(x, "__dlpack__")
        if dl_device is not None and tuple(dl_device) != tuple(_dlpack_device(device)):
            if copy is False:
                raise BufferError(f"the array is on {device}, and copy=False forbids to move it to {dl_device}")
            x = transfer.to_device(x, None, _find_device(DLDeviceType(dl_device[0]), dl_device[1]))
        elif copy:
            x = transfer.copy(x)
        if x.dtype not in _EXCHANGEABLE:
            raise BufferError(f"DLPack has no dtype {x.dtype}; convert the array with .astype(...) first")
        if x._sharding._device.platform == "cpu":
            x.block_until_ready()
            stream = None
        return xla.buffer_to_dlpack_managed_tensor(x, stream=stream)


def to_dlpack(x: Any, stream: Any = None, src_device: Any = None, dl_device: Any = None,
              max_version: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """The DLPack capsule of an array, as ``x.__dlpack__`` makes it.

    Args:
      x: an array.
      stream, dl_device, max_version, copy: see ``jax.Array.__dlpack__``.
      src_device: the device that ``x`` is on; not needed, as ``x`` knows.
    """
    if not isinstance(x, ArrayImpl):
        raise TypeError(f"to_dlpack needs a jax.Array, not {type(x).__name__}")
    return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _find_device(kind: DLDeviceType, number: int) -> Any:
    platform = _PLATFORMS.get(kind)
    if platform is None:
        raise BufferError(f"DLPack's device kind {kind!r} is not known here")
    devices = backend.get_backend(platform).local_devices()
    if platform == "cpu":
        return devices[0]
    for device in devices:
        local = device.local_hardware_id if device.local_hardware_id is not None else device.id
        if local == number:
            return device
    raise BufferError(f"the array is on device {number} of {platform!r}, which this process does not use")


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """A ``jax.Array`` of an array of another library, sharing its memory where possible.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__`` (NumPy, PyTorch, CuPy ...).
      device: where the result shall be; by default where the array is.
      copy: True for memory of its own, False for an error where a copy is needed, None to copy where needed.

    The result has the same dtype, except that 64-bit types are narrowed while ``jax_enable_x64`` is off, as for
    any other input. Memory that is shared must not be written to afterwards.

    Raises:
      TypeError: when the object does not speak DLPack.
      ValueError: when a copy is needed and ``copy=False``.
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(f"from_dlpack needs an array with the methods __dlpack__ and __dlpack_device__, not "
                        f"{type(external_array).__name__} (a bare capsule does not say on which device it is)")
    kind, number = external_array.__dlpack_device__()
    source = _find_device(DLDeviceType(kind), number)
    x = _import_cpu(external_array, source, copy) if source.platform == "cpu" else _import(external_array, source)
    if copy:
        x = transfer.copy(x)
    narrow = dtypes.canonicalize_dtype(x.dtype)
    if narrow != x.dtype:
        if copy is False:
            raise ValueError(f"copy=False, but {x.dtype} becomes {narrow} while jax_enable_x64 is off")
        x = transfer.to_device(np.asarray(x), None, source)
    if device is None:
        return x
    target = backend.as_sharding(device)
    if copy is False and target != x._sharding:
        raise ValueError(f"copy=False, but the array is on {x.device} and {device} is asked for")
    return transfer.to_device(x, None, target)


def _import(external_array: Any, source: Any) -> Any:
    stream = source.get_stream_for_external_ready_events() if source.platform == "gpu" else None
    capsule = external_array.__dlpack__(stream=stream) if stream else external_array.__dlpack__()
    return xla.dlpack_managed_tensor_to_buffer(capsule, source, stream)


def _import_cpu(external_array: Any, source: Any, copy: bool | None) -> Any:
    try:
        may_copy = False if copy is False else None
        x = xla.dlpack_managed_tensor_to_buffer(external_array.__dlpack__(), source, None, may_copy)
    except xla.JaxRuntimeError as e:
        # Strides that XLA has no layout for, or memory that is not aligned.
        if copy is False:
            raise ValueError(f"copy=False, but the memory cannot be shared: {e}") from e
        return _copied(np.from_dlpack(external_array), source)
    order = tuple(x._pjrt_layout._xla_layout().minor_to_major())
    if order != tuple(reversed(range(x.ndim))):
        # Programs take arrays in row-major order.
        if copy is False:
            raise ValueError("copy=False, but the array is not in row-major (C) order")
        return _copied(np.asarray(x), source)
    return x


def _copied(value: np.ndarray, source: Any) -> Any:
    aval = ShapedArray(value.shape, value.dtype)
    return transfer.put_host(np.ascontiguousarray(value), aval, backend.device_sharding(source), True)


def from_cuda_array_interface(x: Any) -> Any:
    """A ``jax.Array`` that shares the memory of an object with ``__cuda_array_interface__``."""
    client = backend.get_backend("cuda")
    return xla.cuda_array_interface_to_buffer(cai=x.__cuda_array_interface__, gpu_backend=client)
