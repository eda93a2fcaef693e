"""What NVIDIA's management library knows of GPUs: their memory, who holds it, whether they drive a display.

The library comes with the driver. Nothing here loads CUDA or touches a device; without the library there is no answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_NAMES = ("libnvidia-ml.so.1", "nvml.dll")


class Holder(NamedTuple):
    """A process that holds memory of a GPU."""

    pid: int
    name: str
    size: int | None  # unknown inside some containers


class Gpu(NamedTuple):
    """One GPU as the driver sees it."""

    name: str
    total: int
    used: int
    drives_display: bool
    holders: tuple[Holder, ...]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint), ("part", ctypes.c_uint)]


class NvmlError(Exception):
    """A call of the library failed."""


def load() -> Any:
    """The library, or None where there is none."""
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _call(library: Any, function: str, *args: Any) -> None:
    code = getattr(library, function)(*args)
    if code:
        raise NvmlError(f"{function} returned {code}")


@contextlib.contextmanager
def _session(library: Any) -> Iterator[None]:
    _call(library, "nvmlInit_v2")
    try:
        yield
    finally:
        library.nvmlShutdown()


def gpus() -> list[Gpu]:
    """The GPUs that this process may use (``CUDA_VISIBLE_DEVICES``); empty where the driver cannot be asked."""
    library = load()
    if library is None:
        return []
    try:
        with _session(library):
            count = ctypes.c_uint(len(_listed()))
            if not count.value:
                _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count))
            return [_gpu(library, _visible(library, i)) for i in range(count.value)]
    except (NvmlError, AttributeError):
        return []


def gpu_of(hardware_id: int) -> Gpu | None:
    """The GPU that CUDA calls number ``hardware_id`` in this process."""
    library = load()
    if library is None:
        return None
    try:
        with _session(library):
            return _gpu(library, _visible(library, hardware_id))
    except (NvmlError, AttributeError):
        return None


def _listed() -> list[str]:
    return [w.strip() for w in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if w.strip()]


def _handle(library: Any, index: int) -> Any:
    handle = ctypes.c_void_p()
    _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
    return handle


def _visible(library: Any, hardware_id: int) -> Any:
    """The device that ``CUDA_VISIBLE_DEVICES`` puts at this place."""
    listed = _listed()
    if hardware_id < len(listed):
        word = listed[hardware_id]
        if word.isdigit():
            return _handle(library, int(word))
        handle = ctypes.c_void_p()
        _call(library, "nvmlDeviceGetHandleByUUID", word.encode(), ctypes.byref(handle))
        return handle
    return _handle(library, hardware_id)


def _gpu(library: Any, handle: Any) -> Gpu:
    memory = _Memory()
    _call(library, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    name = ctypes.create_string_buffer(96)
    _call(library, "nvmlDeviceGetName", handle, name, ctypes.c_uint(96))
    display = ctypes.c_int()
    try:
        _call(library, "nvmlDeviceGetDisplayActive", handle, ctypes.byref(display))
    except NvmlError:
        pass  # cards without a display do not answer
    holders = [h for kind in ("Compute", "Graphics") for h in _holders(library, handle, kind)]
    return Gpu(name.value.decode(errors="replace"), memory.total, memory.used, bool(display.value),
               tuple({h.pid: h for h in holders}.values()))


def _holders(library: Any, handle: Any, kind: str) -> Sequence[Holder]:
    count = ctypes.c_uint(256)
    found = (_Process * 256)()
    try:
        _call(library, f"nvmlDeviceGet{kind}RunningProcesses_v3", handle, ctypes.byref(count), found)
    except (NvmlError, AttributeError):
        return ()
    unknown = ctypes.c_ulonglong(-1).value
    return [Holder(p.pid, _process_name(p.pid), None if p.used == unknown else p.used) for p in found[:count.value]]


def _process_name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [w.decode(errors="replace") for w in file.read().split(b"\0") if w]
    except OSError:
        return "a process of another container or user"
    return " ".join(words)[:80]
