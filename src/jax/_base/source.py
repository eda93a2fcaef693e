"""Where in the user's program something happened: stacks, the names of scopes, and filtered tracebacks.

Capturing a stack is cheap (jaxlib records code objects and instruction offsets); everything that turns one into
files and lines is lazy and cached per code object.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, NamedTuple, TypeVar

from jax._base._jaxlib import Traceback
from jax._base.settings.diagnostics import traceback_filtering

F = TypeVar("F", bound=Callable[..., Any])

current: Callable[[], Traceback | None] = Traceback.get_traceback
"""The Python stack at the call, innermost frame first. Costs well under a microsecond."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_excluded: list[str] = [_PACKAGE + os.sep]
_included: list[str] = []
_verdicts: dict[str, bool] = {}


class UserFrame(NamedTuple):
    """One line of the user's program."""

    file_name: str
    line: int
    function: str
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file_name}:{self.line} ({self.function})"


def register_exclusion(path: str) -> None:
    """Count code under ``path`` (a file or a directory) as internal: it is never "the user's line", and its
    frames are removed from tracebacks. For libraries built on this one."""
    path = os.path.abspath(path)
    _excluded.append(path if path.endswith(".py") else path + os.sep)
    _verdicts.clear()


def register_inclusion(path: str) -> None:
    """Count code under ``path`` as the user's although an exclusion covers it (tests and examples inside a
    library's own directory)."""
    path = os.path.abspath(path)
    _included.append(path if path.endswith(".py") else path + os.sep)
    _verdicts.clear()


def is_user_file(file_name: str) -> bool:
    """Whether code of this file is the user's, as opposed to ours, a registered library's or the interpreter's."""
    verdict = _verdicts.get(file_name)
    if verdict is None:
        excluded = file_name.startswith(tuple(_excluded)) or file_name.startswith("<frozen ")
        verdict = not excluded or file_name.startswith(tuple(_included))
        _verdicts[file_name] = verdict
    return verdict


def _frame(code: CodeType, offset: int) -> UserFrame:
    line, end_line, column, end_column = Traceback.code_addr2location(code, offset)
    return UserFrame(code.co_filename, line, code.co_qualname, column, end_line, end_column)


def user_frame(traceback: Traceback | None) -> UserFrame | None:
    """The innermost frame of ``traceback`` that is the user's, or None."""
    if traceback is None:
        return None
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, offsets, strict=True):
        if is_user_file(code.co_filename):
            return _frame(code, offset)
    return None


def user_frames(traceback: Traceback | None, limit: int | None = None) -> list[UserFrame]:
    """The user's frames of ``traceback``, innermost first, ``limit`` of them at most."""
    if traceback is None:
        return []
    found = []
    for code, offset in zip(*traceback.raw_frames(), strict=True):
        if is_user_file(code.co_filename):
            if limit is not None and len(found) >= limit:
                break
            found.append(_frame(code, offset))
    return found


def summarize(traceback: Traceback | None) -> str:
    """``file.py:12 (function)`` of the user's innermost frame, or ``unknown``."""
    frame = user_frame(traceback)
    return "unknown" if frame is None else str(frame)


def describe_function(fun: Callable[..., Any]) -> str:
    """``name at file.py:12`` for a function, or its name alone where there is no source."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    inner = getattr(fun, "__wrapped__", fun)
    code = getattr(inner, "__code__", None)
    name = getattr(fun, "__name__", None) or type(fun).__name__
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


# --- names of scopes --------------------------------------------------------------------------------------------


class Transform:
    """An element of the name stack that a transformation adds; it wraps what is inside: ``jvp(layer/dot)``."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and other.name == self.name

    def __hash__(self) -> int:
        return hash((Transform, self.name))

    def __repr__(self) -> str:
        return f"Transform({self.name!r})"


NameStack = tuple[str | Transform, ...]

name_stack: contextvars.ContextVar[NameStack] = contextvars.ContextVar("jax_name_stack", default=())
current_names: Callable[[], NameStack] = name_stack.get

jvp = Transform("jvp")
transpose = Transform("transpose")
vmap = Transform("vmap")


class extend_names:
    """Context manager: ``elements`` join the name stack, or with ``replace=True`` are all of it."""

    __slots__ = ("_elements", "_replace", "_tokens")

    def __init__(self, *elements: str | Transform, replace: bool = False):
        self._elements = elements
        self._replace = replace
        self._tokens: list[contextvars.Token[NameStack]] = []

    def __enter__(self) -> NameStack:
        stack = self._elements if self._replace else name_stack.get() + self._elements
        self._tokens.append(name_stack.set(stack))
        return stack

    def __exit__(self, *exc_info: object) -> None:
        name_stack.reset(self._tokens.pop())


class named_scope(extend_names):
    """Context manager and decorator: name the operations traced inside ``name/...``.

    The name shows in profiles, in printed programs with source info and in the metadata of compiled ones.
    Raises TypeError when ``name`` is not a string.
    """

    __slots__ = ()

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"named_scope takes a string; got {name!r} of type {type(name).__name__}.")
        super().__init__(name)

    def __call__(self, fun: F) -> F:
        elements = self._elements

        @functools.wraps(fun)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            with extend_names(*elements):
                return fun(*args, **kwargs)

        return scoped  # type: ignore[return-value]


def render_names(stack: NameStack) -> str:
    """``("a", jvp, "b", "c")`` as ``a/jvp(b/c)``."""
    text = ""
    for element in reversed(stack):
        if isinstance(element, Transform):
            text = f"{element.name}({text})"
        else:
            text = f"{element}/{text}" if text else element
    return text


# --- filtered tracebacks ----------------------------------------------------------------------------------------

_FILTERED_NOTE = (
    "[jax] Frames inside the library are hidden in this traceback; JAX_TRACEBACK_FILTERING=off, or "
    'jax.config.update("jax_traceback_filtering", "off"), shows them.'
)


class UnfilteredTraceback(Exception):
    """Carries the complete traceback of an error as its cause (``jax_traceback_filtering='remove_frames'``)."""


def api_boundary(fun: F) -> F:
    """Mark ``fun`` as a place where users enter the library: errors leave it without internal frames."""

    @functools.wraps(fun)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            # A bare raise adds no entry for this frame, so the boundary itself stays invisible too.
            raise

    return boundary  # type: ignore[return-value]


def filter_traceback(error: BaseException) -> None:
    """Apply ``jax_traceback_filtering`` to ``error`` in place."""
    mode = traceback_filtering.value
    if mode == "auto":
        mode = "tracebackhide" if _under_ipython() else "quiet_remove_frames"
    if mode == "off" or error.__traceback__ is None:
        return
    if mode == "tracebackhide":
        _hide_frames(error.__traceback__)
        return
    full = error.__traceback__
    kept, removed = _user_part(full)
    if not removed:
        return
    error.__traceback__ = kept
    if mode == "remove_frames":
        _chain_full(error, full)
    elif _FILTERED_NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_FILTERED_NOTE)


def _user_part(traceback: TracebackType | None) -> tuple[TracebackType | None, bool]:
    entries = []
    removed = False
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            entries.append(traceback)
        else:
            removed = True
        traceback = traceback.tb_next
    if not removed:
        return None, False
    kept = None
    for entry in reversed(entries):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept, True


def _hide_frames(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_user_file(frame.f_code.co_filename):
            frame.f_locals["__tracebackhide__"] = True
        traceback = traceback.tb_next


def _chain_full(error: BaseException, full: TracebackType) -> None:
    if isinstance(error.__cause__, UnfilteredTraceback):
        return  # an inner boundary has already kept the innermost, most telling part
    complete = UnfilteredTraceback(
        f"{type(error).__name__}: {error}\n\nThe traceback above is complete; the one below leaves out frames "
        "inside the library."
    )
    complete.__traceback__ = full
    complete.__context__, complete.__cause__ = error.__context__, error.__cause__
    complete.__suppress_context__ = error.__suppress_context__
    error.__cause__ = complete


def _under_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython, "get_ipython", lambda: None)() is not None
