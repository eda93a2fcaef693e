"""What checks report: kinds of errors, the places that can fail, and the :class:`Error` a program returns."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jax._base import source as source_info
from jax._base._jaxlib import Array
from jax._language.avals import ShapedArray
from jax._language.trace import Tracer
from jax.tree_util import register_pytree_node_class, tree_unflatten


class JaxException(Exception):
    """Base class of what checks report. Subclasses are the categories that ``checkify(f, errors=...)`` takes."""


class FailedCheckError(JaxException):
    """A condition given to :func:`check` does not hold."""


class NaNError(JaxException):
    """An operation has NaN in its result."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


class OOBError(JaxException):
    """An index out of bounds, in reading or updating a part of an array."""


class BatchedError(JaxException):
    """Errors of several examples; ``error_mapping`` gives them by index."""

    def __init__(self, error_mapping: dict[tuple[int, ...], JaxException]) -> None:
        super().__init__("\n".join(f"at mapped index {', '.join(map(str, i))}: {e}" for i, e in error_mapping.items()))
        self.error_mapping = error_mapping


class JaxRuntimeError(ValueError):
    """Raised by :meth:`Error.throw`, :func:`check_error`, and by :func:`check` outside of programs."""


# A kind of error that programs can be checked for.
ErrorCategory = type[JaxException]

# The checks that programs make themselves, with ``check``.
user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
# NaN in the result of an operation.
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
# Divisions by zero.
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
# Indices out of bounds, in reading and in writing.
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
# NaN and divisions by zero.
float_checks = nan_checks | div_checks
# Everything that is found without the program's help.
automatic_checks = float_checks | index_checks
# Automatic checks and those of the program.
all_checks = automatic_checks | user_checks

for _error in (JaxException, FailedCheckError, NaNError, DivisionByZeroError, OOBError, BatchedError, JaxRuntimeError):
    _error.__module__ = "jax.experimental.checkify"  # the name users catch them by


class Site:
    """A place of the program that can fail: what it reports, and the types of the values that the report shows.

    Sites are static data, compared by what they say, so that programs traced anew return equal structures.
    """

    __slots__ = ("kind", "text", "tree", "values", "traceback", "debug", "_where")

    def __init__(self, kind: ErrorCategory, text: str, tree: Any = None, values: Iterable[Any] = (),
                 traceback: Any = None, debug: bool = False) -> None:
        self.kind = kind
        self.text = text  # a template for str.format
        self.tree = tree  # of (args, kwargs) for the template
        self.values = tuple([ShapedArray(a.shape, a.dtype) for a in values])
        self.traceback = traceback
        self.debug = debug  # of no account outside of checkify
        self._where: str | None = None

    @property
    def where(self) -> str:
        """The user's line."""
        if self._where is None:
            self._where = source_info.summarize(self.traceback)
        return self._where

    def exception(self, values: Sequence[Any]) -> JaxException:
        args, kwargs = tree_unflatten(self.tree, [_shown(v) for v in values]) if self.tree is not None else ((), {})
        text = self.text.format(*args, **kwargs)
        error = self.kind(f"{text} (`check` failed)" if self.kind is FailedCheckError else text)
        error.add_note(f"The check is at {self.where}.")
        return error

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Site) and self.kind is other.kind and self.text == other.text and self.tree == other.tree
            and self.values == other.values and self.debug == other.debug and self.where == other.where)

    def __hash__(self) -> int:
        return hash((self.kind, self.text, self.values))

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({self.text!r} at {self.where})"


Sites = tuple[Site, ...]
Slot = tuple[ShapedArray, ...]


def slots_of(sites: Sites) -> list[Slot]:
    """Where reported values are stored: sites that report values of the same types share one place."""
    return list(dict.fromkeys([s.values for s in sites if s.values]))


def _shown(value: Any) -> Any:
    array = np.asarray(value)
    return array[()] if array.shape == () else array


@register_pytree_node_class
class Error:
    """The outcome of the checks of a program; a tree of arrays, which transformed functions can return.

    The first check that failed counts. Under ``jax.vmap`` there is one outcome per example.

    Attributes:
      code: zero if nothing failed, else the number of the place that did, counted from one. ``None`` if the program has
        no checks.
      payload: the values that reports show, by the types that they have.
      sites: the places that can fail.
    """

    __slots__ = ("code", "payload", "sites")

    def __init__(self, code: Any = None, payload: Sequence[Any] = (), sites: Sites = ()) -> None:
        self.code = code
        self.payload = tuple(payload)
        self.sites = sites

    def get(self) -> str | None:
        """The message of the error, or ``None``. For batched errors one line for each example that has one."""
        error = self.get_exception()
        return None if error is None else str(error)

    def get_exception(self) -> JaxException | None:
        """The error as an instance of its category (a :class:`BatchedError` for batched ones), or ``None``."""
        if self.code is None:
            return None
        if isinstance(self.code, Tracer):
            from jax.errors import ConcretizationTypeError  # needed once something is wrong
            raise ConcretizationTypeError(
                self.code, "checkify: an Error has no message while the program that computes it is being traced. "
                "Return it from the jitted function, or pass it on with checkify.check_error and apply "
                "checkify.checkify outside")
        codes = np.asarray(self.code)
        if not codes.shape:
            return self._exception_at(int(codes), ())
        found: dict[tuple[int, ...], JaxException] = {}
        for place in zip(*np.nonzero(codes), strict=True):
            index = tuple([int(i) for i in place])
            error = self._exception_at(int(codes[index]), index)
            if error is not None:
                found[index] = error
        return BatchedError(found) if found else None

    def _exception_at(self, code: int, index: tuple[int, ...]) -> JaxException | None:
        if not code:
            return None
        site = self.sites[code - 1]
        values: list[Any] = []
        if site.values:
            begin = 0
            for slot in slots_of(self.sites):
                if slot == site.values:
                    break
                begin += len(slot)
            values = [np.asarray(x)[index] for x in self.payload[begin:begin + len(site.values)]]
        return site.exception(values)

    def throw(self) -> None:
        """Raises :class:`JaxRuntimeError` if a check failed."""
        _raise(self.get_exception())

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays of the error, and what is static about it."""
        return (self.code, self.payload), self.sites

    @classmethod
    def tree_unflatten(cls, sites: Any, children: Any) -> Error:
        """The error with these arrays."""
        return cls(children[0], children[1], sites)

    def __repr__(self) -> str:
        if self.code is None or isinstance(self.code, (Array, np.ndarray, np.generic)):
            return f"Error({'traced' if isinstance(self.code, Tracer) else self.get()})"
        return f"Error({self.code!r})"  # a tree of something other than arrays


def _raise(error: JaxException | None) -> None:
    if error is None:
        return
    shown = JaxRuntimeError(str(error))
    parts = error.error_mapping.values() if isinstance(error, BatchedError) else [error]
    for note in dict.fromkeys(n for e in parts for n in getattr(e, "__notes__", ())):
        shown.add_note(note)
    raise shown from error


init_error = Error()


def check_template(text: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuses a message that names values which were not given, before it is needed."""
    if not isinstance(text, str):
        raise TypeError(f"checkify.check: the message must be a string, got {text!r} of type {type(text).__name__}")
    automatic = 0
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"checkify.check: the message {text!r} is not a template of str.format: {error}. Double the "
                         "braces that are part of the text.") from None
    for field in fields:
        name = field.split(".")[0].split("[")[0]
        if not name:
            name, automatic = str(automatic), automatic + 1
        known = int(name) < len(args) if name.isdigit() else name in kwargs
        if not known:
            given = ", ".join([*(f"{{{i}}}" for i in range(len(args))), *(f"{{{k}}}" for k in kwargs)]) or "none"
            raise IndexError(f"checkify.check: the message {text!r} shows the value {{{field}}}, which was not given "
                             f"(given: {given}). Pass it after the message, by position or by keyword.")
