"""Freed memory of the host stays with the process: what the C library's allocator is told on Linux.

XLA asks for a program's scratch memory and results anew at each run. glibc gives a block beyond 32 MiB back to the operating
system as soon as it is freed, so the next run touches pages that the kernel has to clear first: a third of the time of a
training step with 50 MB of intermediate values. Two parameters (``man 3 mallopt``) change that.

Blocks of more than 64 MiB that threads of XLA's ask for still go back, since the arenas of threads cannot hold them. One
arena for all threads could, but they would wait for each other: compiling took a third longer, small operations a quarter.
"""

from __future__ import annotations

import os
import sys

from jax._base import config
from jax._base.settings import _memory

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MOST = 2**31 - 1  # the parameters are C ints


def tune() -> dict[int, int]:
    """Tells the allocator to keep freed memory, as ``jax_cpu_retained_memory`` says.

    Returns the parameters that were set: none when the user has settings of the allocator in the environment, or where
    there is no glibc.
    """
    retained = min(_memory.amount_of(config.cpu_retained_memory.value), _MOST)
    if retained == 0 or sys.platform != "linux" or _user_has_settings():
        return {}
    import ctypes  # a heavy import, needed once

    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return {}
    wanted = {_MMAP_THRESHOLD: max(retained // 2, 128 << 10), _TRIM_THRESHOLD: retained}
    return {parameter: value for parameter, value in wanted.items() if library.mallopt(parameter, value)}


def _user_has_settings() -> bool:
    names = ("MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")
    return any(name in os.environ for name in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
