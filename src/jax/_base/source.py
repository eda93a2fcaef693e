"""Where in the user's program something happened: stacks, names of scopes, filtered tracebacks.

Capturing a stack is cheap (jaxlib records code objects and instruction offsets); everything that turns one
into files and lines is lazy.
"""

from __future__ import annotations

import contextvars
import functools
import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple, TypeVar

from jax._base._jaxlib import Traceback, TracebackScope, xla
from jax._base.settings.diagnostics import (
    hlo_source_file_canonicalization_regex,
    traceback_filtering,
    tracer_error_num_traceback_frames,
)

F = TypeVar("F", bound=Callable[..., Any])

current: Callable[[], Traceback | None] = Traceback.get_traceback
"""The Python stack at the call, innermost frame first. The cost grows with depth: 0.1 to 1 microsecond."""

capture_scope = TracebackScope
"""Context manager: stacks captured inside reach back to what is called here and no further, so that deep
callers do not make captures slow."""


# --- whose code a frame is ----------------------------------------------------------------------------------

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_excluded: list[str] = [_PACKAGE + os.sep]
_included: list[str] = []
_internal: dict[str, bool] = {}
_helpers: dict[str, bool] = {}
xla.add_exclude_path(_PACKAGE)


def _as_prefix(path: str) -> str:
    path = os.path.abspath(path)
    return path if path.endswith(".py") else path + os.sep


def register_exclusion(path: str) -> None:
    """Count code under ``path`` (a file or a directory) as internal: it is never "the user's line", and its
    frames are removed from tracebacks. For libraries built on this one."""
    _excluded.append(_as_prefix(path))
    xla.add_exclude_path(os.path.abspath(path))
    _internal.clear()
    _helpers.clear()


def unregister_exclusion(path: str) -> None:
    """Undo :func:`register_exclusion`; frames in locations of compiled programs stay hidden."""
    _excluded.remove(_as_prefix(path))
    _internal.clear()
    _helpers.clear()


def excluded_paths() -> list[str]:
    """The files and directories that :func:`register_exclusion` was given, and this library's own."""
    return [p.removesuffix(os.sep) for p in _excluded]


def register_inclusion(path: str) -> None:
    """Count code under ``path`` as the user's although an exclusion covers it (tests and examples inside a
    library's own directory)."""
    _included.append(_as_prefix(path))
    _internal.clear()
    _helpers.clear()


def is_internal_file(file_name: str) -> bool:
    """Whether code of this file belongs to this library or to one that registered itself."""
    internal = _internal.get(file_name)
    if internal is None:
        internal = file_name.startswith(tuple(_excluded)) and not file_name.startswith(tuple(_included))
        _internal[file_name] = internal
    return internal


def is_user_file(file_name: str) -> bool:
    """Whether code of this file is the user's: neither internal nor Python's or NumPy's own, which users call
    with our objects and which call back (``numpy.asarray``, ``functools``, ``threading``)."""
    helper = _helpers.get(file_name)
    if helper is None:
        numpy = sys.modules.get("numpy")
        where = file_name if numpy is None else file_name.removeprefix(f"{numpy.__path__[0]}{os.sep}")
        stdlib = file_name.startswith(_STDLIB) and "-packages" not in file_name
        helper = stdlib or where is not file_name or file_name.startswith("<frozen ")
        _helpers[file_name] = helper
    return not helper and not is_internal_file(file_name)


# --- stacks -------------------------------------------------------------------------------------------------


class UserFrame(NamedTuple):
    """One line of the user's program; lines and columns count from one and zero."""

    file_name: str
    line: int
    function: str
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file_name}:{self.line} ({self.function})"

    def text(self) -> str:
        """The source line, stripped; empty where the source is not at hand."""
        return linecache.getline(self.file_name, self.line).strip()


def _frame(code: CodeType, offset: int) -> UserFrame:
    line, column, end_line, end_column = Traceback.code_addr2location(code, offset)
    return UserFrame(code.co_filename, line, code.co_qualname, column, end_line, end_column)


def _iter_user_frames(traceback: Traceback | None) -> Iterator[UserFrame]:
    if traceback is None:
        return
    for code, offset in zip(*traceback.raw_frames(), strict=True):
        if is_user_file(code.co_filename):
            yield _frame(code, offset)


def user_frame(traceback: Traceback | None) -> UserFrame | None:
    """The innermost frame of ``traceback`` that is the user's, or None."""
    return next(_iter_user_frames(traceback), None)


def user_frames(traceback: Traceback | None, limit: int | None = None) -> list[UserFrame]:
    """The user's frames of ``traceback``, innermost first, ``limit`` of them at most."""
    frames: list[UserFrame] = []
    for frame in _iter_user_frames(traceback):
        if limit is not None and len(frames) >= limit:
            break
        frames.append(frame)
    return frames


def summarize(traceback: Traceback | None) -> str:
    """``file.py:12 (function)`` of the user's innermost frame, or ``unknown``."""
    frame = user_frame(traceback)
    return "unknown" if frame is None else str(frame)


def format_frames(traceback: Traceback | None, limit: int | None = None) -> str:
    """The user's frames as Python prints them, innermost last; ``limit`` defaults to
    ``jax_tracer_error_num_traceback_frames``. Empty when there are none."""
    if limit is None:
        limit = tracer_error_num_traceback_frames.value
    lines = []
    for frame in reversed(user_frames(traceback, limit if limit >= 0 else None)):
        lines.append(f'  File "{frame.file_name}", line {frame.line}, in {frame.function}')
        text = frame.text()
        if text:
            lines.append(f"    {text}")
    return "\n".join(lines)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the user's line, or at the caller's where no code of the user's is running."""
    frame = user_frame(current())
    if frame is None:
        warnings.warn(message, category, stacklevel=3)
    else:
        warnings.warn_explicit(message, category, frame.file_name, frame.line)


def describe_function(fun: Callable[..., Any]) -> str:
    """``name at file.py:12`` for a function, or its name alone where there is no source."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    inner = fun
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    code = getattr(inner, "__code__", None)
    name = getattr(fun, "__name__", None) or type(fun).__name__
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


def location_file(code: CodeType) -> str | None:
    """The file name that locations in lowered modules give for ``code``, or None to leave the frame out.

    The callback of jaxlib's ``TracebackToLocationCache``.
    """
    file_name = code.co_filename
    if not is_user_file(file_name):
        return None
    pattern = hlo_source_file_canonicalization_regex.value
    return re.sub(pattern, "", file_name) if pattern else file_name


# --- the user's place while equations of an earlier program are evaluated again -----------------------------

_replayed: contextvars.ContextVar[Traceback | None]
_replayed = contextvars.ContextVar("jax_replayed_source", default=None)
_replayed_get = _replayed.get


def capture() -> Traceback | None:
    """The user's stack to record on a new equation: the caller's, or that of the equation being replayed."""
    return _replayed_get() or current()


class user_context:
    """While a pass evaluates or transposes an equation, new equations keep that equation's place and names.

    ``source`` is a pair of a captured stack and a name stack.
    """

    __slots__ = ("_names", "_source", "_token")

    def __init__(self, source: Any):
        self._source = source

    def __enter__(self) -> None:
        traceback, names = self._source
        self._token = _replayed.set(traceback)
        self._names = name_stack.set(NameStack(name_stack.get() + names)) if names else None

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        _replayed.reset(self._token)
        if self._names is not None:
            name_stack.reset(self._names)


# --- names of scopes ----------------------------------------------------------------------------------------


class Transform:
    """What a transformation adds to the name stack; it wraps what is inside: ``jvp(layer/dot)``."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and other.name == self.name

    def __hash__(self) -> int:
        return hash((Transform, self.name))

    def __repr__(self) -> str:
        return f"Transform({self.name!r})"


class Tags:
    """Attributes for the compiler of the operations made inside of a block; they are no part of names.

    ``items`` are pairs of strings; None in place of the second one takes an outer attribute away.
    """

    __slots__ = ("items",)

    def __init__(self, items: tuple[tuple[str, str | None], ...]):
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tags) and other.items == self.items

    def __hash__(self) -> int:
        return hash((Tags, self.items))

    def __repr__(self) -> str:
        return f"Tags({self.items!r})"


def tags_of(stack: tuple[Any, ...]) -> dict[str, str]:
    """The attributes in a name stack; inner ones take precedence."""
    found: dict[str, str] = {}
    for element in stack:
        if type(element) is Tags:
            for key, value in element.items:
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value
    return found


class NameStack(tuple[Any, ...]):
    """The names of nested scopes and the transformations around them, the outermost first; ``str`` renders them."""

    __slots__ = ()

    def __str__(self) -> str:
        return render_names(self)


name_stack: contextvars.ContextVar[NameStack] = contextvars.ContextVar("jax_name_stack", default=NameStack())  # noqa: B039 - a tuple
current_names: Callable[[], NameStack] = name_stack.get

jvp = Transform("jvp")
transpose = Transform("transpose")
vmap = Transform("vmap")


class extend_names:
    """Context manager: ``elements`` join the name stack, or with ``replace=True`` are all of it."""

    __slots__ = ("_elements", "_replace", "_tokens")

    def __init__(self, *elements: str | Transform | Tags, replace: bool = False):
        self._elements = elements
        self._replace = replace
        self._tokens: list[contextvars.Token[NameStack]] = []

    def __enter__(self) -> None:
        stack = self._elements if self._replace else name_stack.get() + self._elements
        self._tokens.append(name_stack.set(NameStack(stack)))

    def __exit__(self, *exc_info: object) -> None:
        name_stack.reset(self._tokens.pop())


class named_scope(extend_names):
    """Context manager and decorator: the operations traced inside are called ``name/...``.

    The name shows in profiles, in compiled programs and where printed ones show their sources.
    Raises TypeError when ``name`` is not a string.

    >>> import jax
    >>> with jax.named_scope("attention"):
    ...     pass
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


def render_names(stack: tuple[Any, ...]) -> str:
    """``("a", jvp, "b", "c")`` as ``a/jvp(b/c)``."""
    text = ""
    for element in reversed(stack):
        if isinstance(element, Transform):
            text = f"{element.name}({text})"
        elif type(element) is not Tags:
            text = f"{element}/{text}" if text else element
    return text


# --- filtered tracebacks ------------------------------------------------------------------------------------

_FILTERED_NOTE = (
    "[jax] Frames inside the library are hidden in this traceback; JAX_TRACEBACK_FILTERING=off, or "
    'jax.config.update("jax_traceback_filtering", "off"), shows them.'
)


class UnfilteredTraceback(Exception):
    """The complete traceback of an error, as its cause (``jax_traceback_filtering='remove_frames'``)."""


def api_boundary(fun: F) -> F:
    """Mark ``fun`` as a place where users enter the library: errors leave it without internal frames."""

    @functools.wraps(fun)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            # A bare raise adds no entry for this frame, so the boundary itself stays invisible too.
            raise

    boundary.filters_errors = True  # type: ignore[attr-defined]
    return boundary  # type: ignore[return-value]


def filters_errors(fun: F) -> F:
    """Says that ``fun`` calls :func:`filter_traceback` by itself, which costs nothing where there is no error."""
    fun.filters_errors = True  # type: ignore[attr-defined]
    return fun


def make_boundaries(namespace: dict[str, Any]) -> None:
    """Marks all public functions of a module as boundaries, under the module's name.

    Other modules of the library import the functions from where they are written, and pay nothing. Functions that filter
    errors by themselves, at no cost where there is none, say so (``filters_errors``).
    """
    made: dict[Any, Any] = {}  # names of one function stay names of one function
    module = namespace["__name__"]
    for name, fun in list(namespace.items()):
        own = type(fun) is FunctionType and fun.__module__.startswith(module) and not name.startswith("_")
        if own and not hasattr(fun, "filters_errors"):
            if fun not in made:
                made[fun] = boundary = api_boundary(fun)
                boundary.__module__ = module
            namespace[name] = made[fun]


def filter_traceback(error: BaseException) -> None:
    """Apply ``jax_traceback_filtering`` in place to ``error`` and to the errors it is chained to."""
    mode = traceback_filtering.value
    if mode == "auto":
        mode = "tracebackhide" if _under_ipython() else "quiet_remove_frames"
    if mode == "off":
        return
    if mode == "tracebackhide":
        for link in _chain(error):
            _hide_frames(link.__traceback__)
        return
    full = error.__traceback__
    removed = [_remove_frames(link) for link in _chain(error)]
    if not removed[0]:
        return
    if mode == "remove_frames":
        _keep_full(error, full)
    elif _FILTERED_NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_FILTERED_NOTE)


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links and not isinstance(link, UnfilteredTraceback):
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links


def _remove_frames(error: BaseException) -> bool:
    entries = []
    removed = False
    traceback = error.__traceback__
    while traceback is not None:
        if is_internal_file(traceback.tb_frame.f_code.co_filename):
            removed = True
        else:
            entries.append(traceback)
        traceback = traceback.tb_next
    if removed:
        kept = None
        for entry in reversed(entries):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        error.__traceback__ = kept
    return removed


def _hide_frames(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame = traceback.tb_frame
        if is_internal_file(frame.f_code.co_filename):
            frame.f_locals["__tracebackhide__"] = True
        traceback = traceback.tb_next


def _keep_full(error: BaseException, full: TracebackType | None) -> None:
    if isinstance(error.__cause__, UnfilteredTraceback):
        return  # an inner boundary has already kept the innermost, most telling part
    complete = UnfilteredTraceback(
        f"{type(error).__name__}: {error}\n\nThe traceback above is complete; the one below leaves out "
        "frames inside the library."
    )
    complete.__traceback__ = full
    complete.__context__, complete.__cause__ = error.__context__, error.__cause__
    complete.__suppress_context__ = error.__suppress_context__
    error.__cause__ = complete


def _under_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython, "get_ipython", lambda: None)() is not None
