"""Profiles of running programs: traces of host and devices, and who holds device memory.

A trace is written below a directory, for TensorBoard's profile plugin (XProf), or for Perfetto; :class:`ProfileData` reads
it in Python.
"""

from __future__ import annotations

import functools
import glob
import gzip
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._runtime import backend as backends

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation", "TraceAnnotation",  # noqa: F822
    "annotate_function", "device_memory_profile", "register_subprocess", "save_device_memory_profile", "start_server",
    "start_trace", "stop_server", "stop_trace", "trace",
]

_native: Any = _jaxlib.profiler
ProfileOptions = _native.ProfileOptions
ProfileOptions.__doc__ = "What a profile records: set ``host_tracer_level``, ``python_tracer_level`` ... on an instance."


def __getattr__(name: str) -> Any:
    if name in ("ProfileData", "ProfileEvent", "ProfilePlane"):  # what reads traces; most programs only write them
        return getattr(_jaxlib.profile_data, name)
    raise AttributeError(f"module 'jax.profiler' has no attribute {name!r}")


# --- traces ---------------------------------------------------------------------------------------------------------

class _Trace:
    """The trace that is being recorded. There can be one at a time in a process."""

    __slots__ = ("session", "directory", "link", "perfetto")

    def __init__(self, session: Any, directory: str, link: bool, perfetto: bool) -> None:
        self.session = session
        self.directory = directory
        self.link = link
        self.perfetto = perfetto


_lock = threading.Lock()
_trace: _Trace | None = None
_server: Any = None


@api_boundary
def start_trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                profiler_options: Any = None) -> None:
    """Begins to record what host and devices do, until :func:`stop_trace`.

    Args:
      log_dir: the directory to write to; each trace gets a folder ``plugins/profile/<time>`` in it, with a file
        ``<host>.xplane.pb``.
      create_perfetto_link: when the trace is stopped, print a link to Perfetto's page and wait until that has fetched the
        trace from this process (port 9001 of this machine).
      create_perfetto_trace: also write ``perfetto_trace.json.gz``, which Perfetto opens.
      profiler_options: a :class:`ProfileOptions`.

    Raises:
      RuntimeError: a trace is being recorded already.
    """
    global _trace
    if profiler_options is not None and not isinstance(profiler_options, ProfileOptions):
        raise TypeError(f"profiler.start_trace: profiler_options must be a jax.profiler.ProfileOptions, got "
                        f"{profiler_options!r}")
    directory = os.fspath(log_dir)
    with _lock:
        if _trace is not None:
            raise RuntimeError(f"profiler.start_trace: a trace to {_trace.directory} is being recorded already, and there "
                               "can be one at a time; call jax.profiler.stop_trace() first")
        backends.devices()  # recording must begin after the devices' own profilers have been loaded
        session = _native.ProfilerSession() if profiler_options is None else _native.ProfilerSession(profiler_options)
        _trace = _Trace(session, directory, bool(create_perfetto_link), bool(create_perfetto_trace))


@api_boundary
def stop_trace() -> None:
    """Ends the trace that :func:`start_trace` began, and writes it.

    Raises:
      RuntimeError: no trace is being recorded.
    """
    global _trace
    with _lock:
        recorded, _trace = _trace, None
    if recorded is None:
        raise RuntimeError("profiler.stop_trace: no trace is being recorded; call jax.profiler.start_trace(log_dir) first")
    before = set(_folders(recorded.directory))
    recorded.session.stop_and_export(recorded.directory)
    if recorded.perfetto or recorded.link:
        new = sorted(set(_folders(recorded.directory)) - before) or sorted(_folders(recorded.directory))
        path = _write_perfetto(new[-1] if new else recorded.directory)
        if recorded.link:
            _serve_once(path)


@contextmanager
def trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
          profiler_options: Any = None) -> Iterator[None]:
    """Context manager that records a trace; arguments as for :func:`start_trace`.

    Programs run asynchronously: call ``block_until_ready`` on results inside, or their end is not in the trace.

    >>> import jax, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, trace(folder):
    ...     y = jax.numpy.ones(3).sum().block_until_ready()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _folders(directory: str) -> list[str]:
    return glob.glob(os.path.join(glob.escape(directory), "plugins", "profile", "*"))


def _write_perfetto(folder: str) -> str:
    """The trace of this host in the format of Chrome's trace viewer, which Perfetto reads."""
    found = glob.glob(os.path.join(glob.escape(folder), "*.trace.json.gz"))
    if len(found) != 1:
        raise RuntimeError(f"profiler: expected one file *.trace.json.gz of which to make a trace for Perfetto in {folder}, "
                           f"found {len(found)}; the trace itself has been written")
    path = os.path.join(folder, "perfetto_trace.json.gz")
    shutil.copyfile(found[0], path)
    return path


_PERFETTO = "https://ui.perfetto.dev"
_PORT = 9001  # the only port from which Perfetto's page may fetch


def _serve_once(path: str) -> None:
    """Prints a link to Perfetto's page and waits until the file has been fetched."""
    name = os.path.basename(path)
    done = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802 (the base class's name)
            if self.path != f"/{name}":
                self.send_error(404)
                return
            with open(path, "rb") as source:
                data = source.read()
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", _PERFETTO)
            self.send_header("Content-Type", "application/gzip")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            done.set()

        def log_message(self, *args: Any) -> None:
            pass

    try:
        server = http.server.HTTPServer(("127.0.0.1", _PORT), Handler)
    except OSError as error:
        raise OSError(f"profiler: the link to Perfetto needs port {_PORT} of this machine, which is not free ({error}). The "
                      f"trace has been written to {path}; open it at {_PERFETTO}.") from error
    with server:
        link = f"{_PERFETTO}/#!/?url=http://127.0.0.1:{_PORT}/{name}"
        print(f"Open this link in a browser on this machine: {link}", flush=True)
        while not done.is_set():
            server.handle_request()


# --- annotations ----------------------------------------------------------------------------------------------------

class TraceAnnotation(_native.TraceMe):
    """Context manager that names a span of time on the host in traces.

    ``TraceAnnotation(name, **metadata)``; values of metadata are shown with the span.

    >>> with TraceAnnotation("load", batch=3):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """A :class:`TraceAnnotation` for a step of training or evaluation, by which tools compute times per step.

    >>> for i in range(2):
    ...     with StepTraceAnnotation("train", step_num=i):
    ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)  # marks the root of a step


def annotate_function(func: Callable[..., Any] | None = None, name: str | None = None, **decorator_kwargs: Any) -> Any:
    """Decorator that runs a function inside a :class:`TraceAnnotation`.

    Args:
      func: the function; without it, ``annotate_function(name=..., ...)`` is a decorator.
      name: of the span, by default the function's.
      decorator_kwargs: metadata of the span.

    >>> @annotate_function
    ... def load():
    ...     return 3
    >>> load()
    3
    """
    if func is None:
        return functools.partial(annotate_function, name=name, **decorator_kwargs)
    if not callable(func):
        raise TypeError(f"profiler.annotate_function takes a function, got {func!r}")
    label = name or getattr(func, "__qualname__", None) or type(func).__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)
    return annotated


# --- device memory --------------------------------------------------------------------------------------------------

@api_boundary
def device_memory_profile(backend: str | None = None) -> bytes:
    """Which Python code holds memory on the devices of a platform, as a gzipped profile for ``pprof``.

    Args:
      backend: the platform, like ``"gpu"``; by default the default one.

    Raises:
      RuntimeError: there is no such platform.

    >>> device_memory_profile()[:2].hex()
    '1f8b'
    """
    return gzip.compress(backends.get_backend(backend).heap_profile())


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Writes :func:`device_memory_profile` to a file; ``pprof --web FILE`` shows it."""
    profile = device_memory_profile(backend)
    with open(filename, "wb") as out:
        out.write(profile)


# --- profiling from outside -----------------------------------------------------------------------------------------

@api_boundary
def start_server(port: int, requires_backend: bool = True) -> Any:
    """Starts the server through which TensorBoard and ``xprof`` record traces of this process.

    Args:
      port: the port to listen on.
      requires_backend: start the devices before, so that they are profiled too.

    Returns:
      The server, which runs until :func:`stop_server`.

    Raises:
      ValueError: there is a server already.
    """
    global _server
    with _lock:
        if _server is not None:
            raise ValueError("profiler.start_server: this process has a server already, and there can be one at a time; "
                             "call jax.profiler.stop_server() first")
        if requires_backend:
            backends.devices()
        _server = _native.start_server(port)
    return _server


@api_boundary
def stop_server() -> None:
    """Stops the server that :func:`start_server` has started.

    Raises:
      ValueError: there is none.
    """
    global _server
    with _lock:
        if _server is None:
            raise ValueError("profiler.stop_server: there is no server; jax.profiler.start_server(port) starts one")
        _server = None  # the server ends with its last reference


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Has traces of this process include those of another one, which serves them on ``port`` (:func:`start_server`).

    Returns:
      A function that undoes it.
    """
    return _native.register_subprocess(pid, port)
