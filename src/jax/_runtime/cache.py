"""The persistent cache: compiled programs in files, found again by later processes (``jax_compilation_cache_dir``).

An entry is one file: a line with the format's name, a line of JSON (what the key was made of, how long the compilation
took, size and checksum), and the compressed executable. Files are written under a temporary name and then renamed, so
that other processes see a whole entry or none; nothing is locked. An entry that turns out to be damaged is a miss.

Entries hold machine code that is run as it is: a directory that others can write to should not be used.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
import zlib
from collections.abc import Sequence
from typing import Any

from jax import monitoring
from jax._base import config, source
from jax._base._jaxlib import JaxRuntimeError, xla

from .cache_key import key_of, key_parts

logger = logging.getLogger("jax.cache")
_FORMAT = b"fleetjax executable 1\n"
SUFFIX = ".executable"
_TEMPORARY = ".unfinished-"
_ABANDONED = 3600.0  # seconds after which nobody is still writing a temporary file
_SHARE = 0.1  # of the time of compiling may go into listing a directory whose size is limited
_SHORT = 0.01  # seconds of a listing that need no such thought
_LISTED = 200  # at most so many entries are read in search of the reason for a miss


class DamagedEntry(Exception):
    """An entry whose content is not what its writer wrote."""


class Entry:
    """The place of one program in the cache, whether or not anything is there."""

    __slots__ = ("directory", "name", "parts", "path", "key", "arguments")

    def __init__(self, directory: str, name: str, parts: dict[str, str]) -> None:
        self.directory = directory
        self.name = name
        self.parts = parts
        self.key = key_of(parts)
        self.arguments = ""  # what the function was traced for, where that is known
        self.path = os.path.join(directory, f"{file_name(name)}-{self.key}{SUFFIX}")

    def load(self, devices: Sequence[Any], loading: Any = None) -> Any:
        """The stored executable, loaded on ``devices``, or None. ``loading`` may have begun to do so (``prefetch``)."""
        begin = time.perf_counter()
        try:
            header, loaded = read_executable(self.path, devices) if loading is None else loading.result()
        except FileNotFoundError:
            if told():
                _log("persistent cache: %s is not in it: %s", self.name, self._why_missing())
            return None
        except OSError as error:
            _complain(f"the persistent cache {self.directory} cannot be read: {error}", error, once=self.directory)
            return None
        except (DamagedEntry, JaxRuntimeError, ValueError) as error:
            _remove(self.path)
            _complain(f"the entry of {self.name} in the persistent cache could not be used and is compiled anew "
                      f"({self.path}: {error})", error)
            return None
        self._mark_used()
        if config.compilation_cache_expect_pgle.value and not header.get("profiled"):
            source.warn(f"{self.name} was found in the persistent cache, compiled without a profile "
                        "(jax_compilation_cache_expect_pgle)")
        _log("persistent cache: %s found (%s%s); compiling it took %.2f s", self.name, self.key[:16],
             "" if loading is None else ", loaded while it was traced", header["seconds"])
        taken = time.perf_counter() - begin
        monitoring.record_event("/jax/compilation_cache/cache_hits")
        monitoring.record_event_duration_secs("/jax/compilation_cache/cache_retrieval_time_sec", taken)
        monitoring.record_event_duration_secs("/jax/compilation_cache/compile_time_saved_sec", header["seconds"] - taken)
        return loaded

    def store(self, loaded: Any, seconds: float, profiled: bool = False) -> None:
        """Keeps an executable that took ``seconds`` to compile, if the options' thresholds allow it."""
        least = config.persistent_cache_min_compile_time_secs.value
        if seconds < least:
            _log("persistent cache: %s is not stored: it compiled in %.3f s, and "
                 "jax_persistent_cache_min_compile_time_secs is %g", self.name, seconds, least)
            return
        try:
            data = _pack(loaded.serialize(), {"name": self.name, "seconds": seconds, "profiled": profiled,
                                              "arguments": self.arguments, "parts": self.parts})
            smallest = config.persistent_cache_min_entry_size_bytes.value
            most = config.compilation_cache_max_size.value
            if len(data) < smallest:
                _log("persistent cache: %s is not stored: its %d bytes are fewer than "
                     "jax_persistent_cache_min_entry_size_bytes=%d", self.name, len(data), smallest)
            elif 0 <= most < len(data):
                _log("persistent cache: %s is not stored: its %d bytes are more than jax_compilation_cache_max_size=%d",
                     self.name, len(data), most)
            else:
                _write(self.directory, self.path, data)
                _log("persistent cache: %s is stored (%d bytes, %s)", self.name, len(data), self.key[:16])
                monitoring.record_event("/jax/compilation_cache/cache_misses")
                if most >= 0 and _listing_is_due(self.directory, seconds):
                    evict(self.directory, most)
        except OSError as error:
            _complain(f"{self.name} could not be stored in the persistent cache {self.directory}: {error}", error,
                      once=self.directory)
        except JaxRuntimeError as error:
            _complain(f"{self.name} could not be stored in the persistent cache {self.directory}: {error}", error)

    def _mark_used(self) -> None:
        try:
            os.utime(self.path)  # by these times the least recently used entries are found
        except OSError:
            pass  # a directory that may only be read, or an entry that has just been evicted

    def _why_missing(self) -> str:
        """What differs from the nearest entry of a program of the same name."""
        best: list[str] | None = None
        for path in _entries_named(self.directory, self.name):
            try:
                had = read_header(path)[0]["parts"]
            except (DamagedEntry, OSError, KeyError):
                continue
            changed = [f"{part} differs" if len(now) == 64 else f"{part} was {had.get(part)!r} and is {now!r}"
                       for part, now in self.parts.items() if had.get(part) != now]
            if best is None or len(changed) < len(best):
                best = changed
        return "no program of this name has been stored" if best is None else "; ".join(best)


def entry(module: Any, devices: Sequence[Any], options: Any, name: str) -> Entry | None:
    """The place of a program in the cache, or None where there is no cache."""
    directory = directory_in_use()
    if directory is None:
        return None
    return Entry(directory, name or "program", key_parts(module, devices, options))


def directory_in_use(*, quietly: bool = False) -> str | None:
    """The directory of the cache, or None when the options name none or switch it off. Says what is of no use, unless
    ``quietly``."""
    directory = config.compilation_cache_dir.value
    if not directory or not config.enable_compilation_cache.value:
        return None
    if "://" in directory:
        if quietly:
            return None
        error = ValueError(f"jax_compilation_cache_dir={directory!r} is the address of a store elsewhere; this cache works "
                           "in directories. Mount the store, or choose a directory")
        _complain(str(error), error, once=directory)
        return None
    return os.path.expanduser(directory)


_told_of: set[str] = set()  # directories that are of no use, which is said once


def told() -> bool:
    """Whether what the cache does shall be said."""
    return bool(config.log_compiles.value or config.explain_cache_misses.value)


def _log(message: str, *details: Any) -> None:
    logger.log(logging.WARNING if told() else logging.DEBUG, message, *details)


def _complain(message: str, error: Exception, once: str = "") -> None:
    if config.raise_persistent_cache_errors.value:
        raise error
    if once not in _told_of:
        if once:
            _told_of.add(once)
        source.warn(message)


# --- files ----------------------------------------------------------------------------------------------------------

def file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:80].strip("_") or "program"


def _pack(data: bytes, header: dict[str, Any]) -> bytes:
    packed = zlib.compress(data, 1)
    header = {**header, "size": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
    return _FORMAT + json.dumps(header).encode() + b"\n" + packed


def read_header(path: str) -> tuple[dict[str, Any], int]:
    """The description of an entry, and where its content begins."""
    with open(path, "rb") as file:
        first, line = file.readline(len(_FORMAT)), file.readline()
        if first != _FORMAT:
            raise DamagedEntry("it is not of this cache's format")
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            raise DamagedEntry("its description is not readable") from None
        if not isinstance(header, dict):
            raise DamagedEntry("its description is not readable")
        return header, file.tell()


def _read(path: str) -> tuple[dict[str, Any], bytes]:
    header, begin = read_header(path)
    with open(path, "rb") as file:
        file.seek(begin)
        packed = file.read()
    if not isinstance(header.get("seconds"), (int, float)):
        raise DamagedEntry("its description is not complete")
    if len(packed) != header.get("size") or hashlib.sha256(packed).hexdigest() != header.get("sha256"):
        raise DamagedEntry(f"its {len(packed)} bytes are not the {header.get('size')} that were written")
    try:
        return header, zlib.decompress(packed)
    except zlib.error as error:
        raise DamagedEntry(str(error)) from None


def read_executable(path: str, devices: Sequence[Any]) -> tuple[dict[str, Any], Any]:
    """The description of an entry and its executable, loaded on ``devices``."""
    header, data = _read(path)
    return header, devices[0].client.deserialize_executable(data, xla.DeviceList(tuple(devices)), None)


def _write(directory: str, path: str, data: bytes) -> None:
    os.makedirs(directory, exist_ok=True)
    temporary = os.path.join(directory, f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}")
    # Not the tempfile module's, which only their owner may read: a directory can belong to several users.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
        return True
    except OSError:
        return False  # another process was faster, or the directory may only be read


def _entries_named(directory: str, name: str) -> list[str]:
    prefix = f"{file_name(name)}-"
    try:
        found = [e for e in os.scandir(directory) if e.name.startswith(prefix) and e.name.endswith(SUFFIX)]
    except OSError:
        return []
    return [e.path for e in found if len(e.name) == len(prefix) + 64 + len(SUFFIX)][:_LISTED]


_listings: dict[str, tuple[float, float]] = {}  # by directory: seconds of the last listing, of compiling since then


def _listing_is_due(directory: str, seconds: float) -> bool:
    """Whether a directory is to be listed again, after a program has been stored that took ``seconds`` to compile.

    In a directory of ten thousand small programs that takes longer than compiling one of them.
    """
    last, since = _listings.get(directory, (0.0, 0.0))
    _listings[directory] = last, since + seconds
    return last <= max(_SHARE * (since + seconds), _SHORT)


def evict(directory: str, most: int) -> list[str]:
    """Removes the entries that have not been used for longest until the rest has at most ``most`` bytes.

    Returns the paths removed. Several processes may do this at once: they agree on the order, and an entry that one of
    them is reading stays readable for it.
    """
    found = []
    begin = time.perf_counter()
    with os.scandir(directory) as listing:
        for item in listing:
            try:
                info = item.stat()
            except FileNotFoundError:
                continue
            if item.name.endswith(SUFFIX):
                found.append((info.st_mtime_ns, item.path, info.st_size))
            elif item.name.startswith(_TEMPORARY) and info.st_mtime < time.time() - _ABANDONED:
                _remove(item.path)
    total = sum(size for _, _, size in found)
    _listings[directory] = time.perf_counter() - begin, 0.0
    removed = []
    for _, path, size in sorted(found):
        if total <= most:
            break
        if _remove(path):
            removed.append(path)
        total -= size
    if removed:
        _log("persistent cache: %d entries were removed from %s (jax_compilation_cache_max_size=%d)", len(removed),
             directory, most)
    return removed


# --- the compiler's own caches --------------------------------------------------------------------------------------

_XLA_CACHES = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")


def apply_xla_caches(debug: Any) -> None:
    """Tells XLA to keep its own caches for GPUs beside ours (``jax_persistent_cache_enable_xla_caches``)."""
    directory = directory_in_use()
    chosen = config.persistent_cache_enable_xla_caches.value or "none"
    if directory is None or chosen == "none":
        return
    names = _XLA_CACHES if chosen == "all" else tuple(n.strip() for n in chosen.split(",") if n.strip())
    for name in names:
        if name not in _XLA_CACHES:
            raise ValueError(f"jax_persistent_cache_enable_xla_caches={chosen!r}: there is no {name!r}; use 'all', 'none' "
                             f"or a choice of {', '.join(_XLA_CACHES)}")
        setattr(debug, name, os.path.join(directory, name))
        if name == "xla_gpu_kernel_cache_file":
            debug.xla_gpu_enable_llvm_module_compilation_parallelism = True
    os.makedirs(directory, exist_ok=True)


def forget() -> None:
    """Forgets what has been complained about, and how long directories take to list."""
    _told_of.clear()
    _listings.clear()
