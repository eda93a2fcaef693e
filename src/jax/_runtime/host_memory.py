"""Freed memory of the host stays with the process: what the C library's allocator is told on Linux.

XLA asks for a program's scratch memory and results anew at each run. glibc gives a block beyond 32 MiB back to the operating
system as soon as it is freed, so the next run touches pages that the kernel has to clear first: a third of the time of a
training step with 50 MB of intermediate values. Two parameters (``man 3 mallopt``) change that.

Blocks of more than 64 MiB that threads of XLA's ask for still go back, since the arenas of threads cannot hold them (one
arena for all threads could, but they would wait for each other: compiling took a third longer, small operations a quarter).
So XLA is asked to take the scratch memory of a program in smaller pieces, and a third parameter keeps an arena from
returning its heaps one by one as they become empty. Each thread may come to hold the pieces of the largest program it has
run, and they stay whatever happens. So only those programs have pieces with which all threads together hold at most a
sixteenth of the machine's memory.
"""

from __future__ import annotations

import functools
import os
import sys

from jax._base import config
from jax._base.settings import _memory

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_MOST = 2**31 - 1  # the parameters are C ints
_HEAP = 64 << 20  # the most that a heap of a thread holds, in glibc
_SHARE = 16  # a sixteenth of the machine's memory may be held in pieces

_in_pieces = 0


def tune() -> dict[int, int]:
    """Tells the allocator to keep freed memory, as ``jax_cpu_retained_memory`` says.

    Returns the parameters that were set: none when the user has settings of the allocator in the environment, or where
    there is no glibc.
    """
    global _in_pieces
    _in_pieces = 0
    retained = min(_memory.amount_of(config.cpu_retained_memory.value), _MOST)
    if retained == 0 or sys.platform != "linux" or _user_has_settings():
        return {}
    done = _set({_MMAP_THRESHOLD: max(retained // 2, 128 << 10), _TRIM_THRESHOLD: retained})
    # Without asynchronous dispatch programs run in the threads that call them, of which there may be any number.
    if (done and config.cpu_enable_async_dispatch.value and not _commits_strictly()
            and "xla_multiheap_size_constraint_per_heap" not in os.environ.get("XLA_FLAGS", "")):
        most = min(retained, _machine_memory() // _SHARE // _threads())
        _in_pieces = most if most >= _HEAP else 0
    return done


def _set(wanted: dict[int, int]) -> dict[int, int]:
    """Those of the allocator's parameters that could be set."""
    import ctypes  # a heavy import, needed once

    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return {}
    return {parameter: value for parameter, value in wanted.items() if library.mallopt(parameter, value)}


def most_in_pieces() -> int:
    """The most scratch memory of a program, in bytes, that it may take in pieces; 0 for none."""
    return _in_pieces


@functools.cache
def keep_heaps() -> None:
    """Tells the allocator not to return heaps of threads. For the first program that has pieces: when there is much
    free memory at the end of a heap, glibc joins small free blocks more often, and every call costs a microsecond more."""
    _set({_TOP_PAD: _HEAP + (8 << 20)})


def _threads() -> int:
    """How many threads may run programs: those of XLA's and the calling one."""
    return len(os.sched_getaffinity(0)) + 1


def _machine_memory() -> int:
    """The memory of the machine, or of the container, in bytes."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit) as text:
                found = min(found, int(text.read()))
        except (OSError, ValueError):
            continue  # no such limit
    return found


def _commits_strictly() -> bool:
    """Whether the system counts memory that is only reserved: then a heap per thread is not taken whole."""
    try:
        with open("/proc/sys/vm/overcommit_memory") as mode:
            return mode.read().strip() == "2"
    except OSError:
        return True


def _user_has_settings() -> bool:
    names = ("MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")
    return any(name in os.environ for name in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
