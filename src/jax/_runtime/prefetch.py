"""Programs of the persistent cache that are loaded while they are traced.

Which program a function becomes is known when it has been traced and lowered, since the key of an entry is made of the
operations. Which one it will be most likely is known before: the one that was used last, of those that were stored for a
function of that name on arguments of these types. A thread loads that one meanwhile. Where another one is needed, it is
dropped, so that a wrong guess costs time on another core and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from typing import Any

from . import backend, cache
from .cache_key import environment_parts

_LEAST = 100_000  # bytes of an entry; smaller ones are loaded in a few milliseconds
_READ = 8  # at most so many entries of one name are looked at
_HELD = 4  # programs that are loaded and wait to be asked for


class _Loading:
    """Loads one entry, in a thread that is no daemon: the process ends after XLA has finished with it."""

    def __init__(self, path: str, devices: tuple[Any, ...]) -> None:
        self.path = path
        self.devices = devices
        self._found: Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._load, name="jax-prefetch")
        self._thread.start()

    def _load(self) -> None:
        try:
            self._found = cache.read_executable(self.path, self.devices)
        except Exception as error:  # noqa: BLE001 it is raised again where the program is needed
            self._error = error

    def result(self) -> tuple[dict[str, Any], Any]:
        """The entry's description and the executable; raises what reading it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        found, self._found = self._found, None
        return found


_lock = threading.Lock()
_arguments: dict[str, str] = {}  # by program: what its arguments were when it was traced last
_loading: dict[str, _Loading] = {}  # by program
_listings: dict[str, dict[str, list[str]]] = {}  # by directory, and then by the first part of their names: entries


def begin(function: str, types: Sequence[Any]) -> None:
    """Begins to load what ``function`` on arguments of ``types`` will probably be compiled to, on the default device."""
    directory = cache.directory_in_use(quietly=True)
    if directory is None or not backend.backends_are_initialized():
        return
    program = f"jit({function})"
    arguments = hashlib.sha256("\n".join(map(str, types)).encode()).hexdigest()[:32]
    try:
        loading = _begun(directory, program, arguments)
    except Exception:  # noqa: BLE001 such as no more threads: whatever it is, tracing goes on, and loading will say it
        loading = None
    with _lock:
        _arguments[program] = arguments
        _loading.pop(program, None)
        if loading is not None:
            while len(_loading) >= _HELD:
                del _loading[next(iter(_loading))]
            _loading[program] = loading


def _begun(directory: str, program: str, arguments: str) -> _Loading | None:
    """The loading of an entry, or None where there is none to guess."""
    candidates = _stored_before(directory).get(cache.file_name(program))
    if not candidates:
        return None
    devices = (backend.default_device(),)
    path = _last_used(candidates, arguments, devices)
    return None if path is None else _Loading(path, devices)


def take(entry: cache.Entry, devices: Sequence[Any]) -> _Loading | None:
    """What has been loading for ``entry``, if that was the one."""
    with _lock:
        entry.arguments = _arguments.get(entry.name, "")
        loading = _loading.pop(entry.name, None)
    if loading is None or loading.path != entry.path or loading.devices != tuple(devices):
        return None
    return loading


def forget() -> None:
    """Drops what is loaded, and what is known of directories."""
    with _lock:
        for known in (_arguments, _loading, _listings):
            known.clear()


def _after_fork() -> None:
    """In the child there are no threads, and one of them may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _loading.clear()


backend.on_clear(forget)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _stored_before(directory: str) -> dict[str, list[str]]:
    """The entries that were in the directory when this process first looked; what it stores itself, it has in memory."""
    found = _listings.get(directory)
    if found is None:
        found = {}
        try:
            with os.scandir(directory) as listing:
                for item in listing:
                    stem, dash, _ = item.name.rpartition("-")
                    if dash and item.name.endswith(cache.SUFFIX):
                        found.setdefault(stem, []).append(item.path)
        except OSError:
            pass  # there is none yet
        _listings[directory] = found
    return found


def _last_used(paths: Sequence[str], arguments: str, devices: Sequence[Any]) -> str | None:
    """The entry, of those for such arguments and this machine, whose program was used last."""
    known = []
    for path in paths:
        try:
            info = os.stat(path)
        except OSError:
            continue
        if info.st_size >= _LEAST:
            known.append((info.st_mtime_ns, path))
    here = environment_parts(devices)
    for _, path in sorted(known, reverse=True)[:_READ]:
        try:
            header = cache.read_header(path)[0]
        except (cache.DamagedEntry, OSError):
            continue
        parts = header.get("parts")
        if header.get("arguments") == arguments and isinstance(parts, dict) and parts.items() >= here.items():
            return path
    return None
