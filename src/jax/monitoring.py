"""Events of the library for programs that watch it: compilations, their durations, hits and misses of caches.

Listeners are called in the thread in which the event happens, in the order in which they were registered; what they raise
reaches the user. Names of events are paths. The library records

==============================================  ===========================================================
``/jax/core/compile/jaxpr_trace_duration``      a function has been traced (duration and time span)
``.../jaxpr_to_mlir_module_duration``           a program has been lowered to StableHLO (likewise)
``.../backend_compile_duration``                a program has been compiled, or found in the persistent cache (likewise)
``/jax/compilation_cache/cache_hits``           a program was found in the persistent cache (event)
``/jax/compilation_cache/cache_misses``         it was not, and has been stored there now (event)
``.../compile_requests_use_cache``              a program that may be in the persistent cache is compiled (event)
``.../cache_retrieval_time_sec``                reading it took so long (duration)
==============================================  ===========================================================

with ``fun_name``, the name of the function, in the metadata of the first three.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners", "record_event", "record_event_duration_secs", "record_event_time_span", "record_scalar",
    "register_event_duration_secs_listener", "register_event_listener", "register_event_time_span_listener",
    "register_scalar_listener", "unregister_event_duration_listener", "unregister_event_listener",
    "unregister_event_time_span_listener", "unregister_scalar_listener",
]


class _Listeners:
    """The listeners to one kind of event. The tuple is replaced, never changed, so that calls need no lock."""

    __slots__ = ("kind", "callbacks")
    lock = threading.Lock()

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.callbacks: tuple[Callable[..., Any], ...] = ()

    def add(self, callback: Any) -> None:
        if not callable(callback):
            raise TypeError(f"jax.monitoring: a listener to {self.kind} must be a function, got {callback!r}")
        with self.lock:
            self.callbacks = (*self.callbacks, callback)

    def remove(self, callback: Any) -> None:
        with self.lock:
            left = list(self.callbacks)
            try:
                left.remove(callback)
            except ValueError:
                raise ValueError(f"jax.monitoring: {callback!r} is not registered as a listener to {self.kind}") from None
            self.callbacks = tuple(left)


_events = _Listeners("events")
_durations = _Listeners("durations")
_spans = _Listeners("time spans")
_scalars = _Listeners("scalars")


def record_event(event: str, **kwargs: str | int) -> None:
    """Tells listeners that something has happened; ``kwargs`` are passed on.

    >>> seen = []
    >>> register_event_listener(lambda event, **kwargs: seen.append((event, kwargs)))
    >>> record_event("/app/started", version=3)
    >>> seen
    [('/app/started', {'version': 3})]
    >>> clear_event_listeners()
    """
    for callback in _events.callbacks:
        callback(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tells listeners that something has taken ``duration`` seconds."""
    for callback in _durations.callbacks:
        callback(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Tells listeners when something began and ended, in seconds as ``time.time()`` gives them."""
    for callback in _spans.callbacks:
        callback(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tells listeners a value, such as a size or a loss."""
    for callback in _scalars.callbacks:
        callback(event, value, **kwargs)


def record_step(step: str, seconds: float, fun_name: str) -> None:
    """A step of compilation that has just ended; the library itself calls this."""
    event = f"/jax/core/compile/{step}_duration"
    record_event_duration_secs(event, seconds, fun_name=fun_name)
    if _spans.callbacks:
        end = time.time()
        record_event_time_span(event, end - seconds, end, fun_name=fun_name)


def register_event_listener(callback: Callable[..., Any]) -> None:
    """Has ``callback(event, **kwargs)`` called for every :func:`record_event`.

    Raises:
      TypeError: it is not a function.
    """
    _events.add(callback)


def register_event_duration_secs_listener(callback: Callable[..., Any]) -> None:
    """Has ``callback(event, duration, **kwargs)`` called for every :func:`record_event_duration_secs`."""
    _durations.add(callback)


def register_event_time_span_listener(callback: Callable[..., Any]) -> None:
    """Has ``callback(event, start_time, end_time, **kwargs)`` called for every :func:`record_event_time_span`."""
    _spans.add(callback)


def register_scalar_listener(callback: Callable[..., Any]) -> None:
    """Has ``callback(event, value, **kwargs)`` called for every :func:`record_scalar`."""
    _scalars.add(callback)


def unregister_event_listener(callback: Callable[..., Any]) -> None:
    """Undoes :func:`register_event_listener`.

    Raises:
      ValueError: the function is not registered.
    """
    _events.remove(callback)


def unregister_event_duration_listener(callback: Callable[..., Any]) -> None:
    """Undoes :func:`register_event_duration_secs_listener`."""
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Callable[..., Any]) -> None:
    """Undoes :func:`register_event_time_span_listener`."""
    _spans.remove(callback)


def unregister_scalar_listener(callback: Callable[..., Any]) -> None:
    """Undoes :func:`register_scalar_listener`."""
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Forgets all listeners of all kinds."""
    with _Listeners.lock:
        for listeners in (_events, _durations, _spans, _scalars):
            listeners.callbacks = ()
