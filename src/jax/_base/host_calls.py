"""Python functions that compiled programs call: their exceptions, and whether one is running in this thread.

XLA carries an error as text. So an exception is kept here under a number that the text mentions, and whoever sees the
error of a program finds the exception again by that number.
"""

from __future__ import annotations

import collections
import itertools
import re
import threading
from typing import Any

from jax._base import source
from jax._base._jaxlib import JaxRuntimeError

_INTERNAL = JaxRuntimeError("INTERNAL: ").error_code
_MARK = re.compile(r"\[jax host call (\d+)\]")
_KEEP = 32  # an error is seen soon after it happened, or never
_kept: collections.OrderedDict[int, Failure] = collections.OrderedDict()
_lock = threading.Lock()
_numbers = itertools.count(1)


class Failure:
    """An exception that left a function called by a program."""

    __slots__ = ("error", "traceback", "where", "reported")

    def __init__(self, error: BaseException, where: str) -> None:
        self.error = error
        self.traceback = error.__traceback__
        self.where = where
        self.reported = False


class HostCallError(RuntimeError):
    """What XLA is told in place of an exception; its text holds the number."""


def keep(error: BaseException, where: str) -> HostCallError:
    """Keeps ``error``, and returns what to raise towards XLA."""
    number = next(_numbers)
    with _lock:
        _kept[number] = Failure(error, where)
        while len(_kept) > _KEEP:
            _kept.popitem(last=False)
    return HostCallError(f"{where} raised {_described(error)} [jax host call {number}]")


def _failure(error: BaseException) -> Failure | None:
    found = _MARK.search(str(error))
    return _kept.get(int(found[1])) if found else None


def original(error: BaseException) -> BaseException | None:
    """What to raise instead of a program's error that comes from a host call, or None if it does not."""
    failure = _failure(error)
    if failure is None:
        return None
    failure.reported = True
    return as_runtime_error(failure.error, failure.where, failure.traceback)


def is_news(error: BaseException) -> bool | None:
    """Whether nobody has been told yet of a program's error that comes from a host call; None for other errors."""
    failure = _failure(error)
    return None if failure is None else not failure.reported


def as_runtime_error(error: BaseException, where: str, traceback: Any = None) -> BaseException:
    """An exception for the caller of a program in which ``error`` was raised: with it as its cause, of its class, and a
    ``JaxRuntimeError`` too.

    What is not an ``Exception`` (``KeyboardInterrupt``, ``SystemExit``) is returned itself.
    """
    if traceback is not None:
        error.__traceback__ = traceback  # without the frames that raising it for an earlier caller has added
    if not isinstance(error, Exception):
        return error
    text = f"INTERNAL: {where} raised {_described(error)}"
    try:
        made: Any = _joint_class(type(error)).__new__(_joint_class(type(error)), *error.args)
        made.__dict__.update({"_error_code": _INTERNAL, "_error_message": text, **error.__dict__, "_jax_text": text})
    except Exception:  # classes that cannot be combined, or made anew
        made = JaxRuntimeError(text)
    made.__cause__ = error
    return made


def _described(error: BaseException) -> str:
    return f"{type(error).__qualname__}: {error}"


_joint: dict[type, type] = {}


def _joint_class(cls: type) -> type:
    found = _joint.get(cls)
    if found is None:
        bases = (cls,) if issubclass(cls, JaxRuntimeError) else (cls, JaxRuntimeError)
        members = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
                   "__str__": lambda self: self.__dict__["_jax_text"], "__reduce__": _reduce}
        found = type(cls.__name__, bases, members)
        if len(_joint) > 256:
            _joint.clear()
        _joint[cls] = found
    return found


def _reduce(self: Any) -> Any:
    """Pickled as its cause; the combined class exists in this process only."""
    return _itself, (self.__cause__,)


def _itself(error: BaseException) -> BaseException:
    return error


def describe(callback: Any) -> str:
    """``the callback f (file.py:12)``."""
    return f"the callback {source.describe_function(callback)}"


# --- calls under way ------------------------------------------------------------------------------------------------

_state = threading.local()


def under_way() -> Any:
    """What belongs to the innermost host call running in this thread: a dictionary for its use; None outside of one."""
    return getattr(_state, "current", None)


class running:  # noqa: N801 - reads as a statement: with running(): ...
    """Marks the block as a function that a program calls."""

    __slots__ = ("_before", "local")

    def __init__(self) -> None:
        self.local: dict[Any, Any] = {}

    def __enter__(self) -> dict[Any, Any]:
        self._before = under_way()
        _state.current = self.local
        return self.local

    def __exit__(self, *exc: Any) -> None:
        _state.current = self._before
