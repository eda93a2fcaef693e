"""The machinery of configuration options: kinds of value, declaration, overriding per thread.

Each option extends jaxlib's C++ ``Config``: its process-wide value, its thread-local override and its part in
the key of jaxlib's jit cache are all kept there, so that a compiled call sees a change without asking Python.
``jax._base.settings`` declares the options; ``jax._base.config`` is what others import.
"""

from __future__ import annotations

import enum
import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

from jax._base._jaxlib import UNSET, Config

registry: dict[str, Option] = {}


class _Missing:
    def __repr__(self) -> str:
        return "<nothing>"


class Meant(ValueError):
    """A value that an option does not take, with a sentence on what was probably meant."""


_MISSING: Any = _Missing()
_TRUE_WORDS = frozenset(("1", "true", "t", "yes", "y", "on"))
_FALSE_WORDS = frozenset(("0", "false", "f", "no", "n", "off"))


class Kind:
    """What values an option takes: ``parse`` turns an acceptable value into the stored one, or raises
    ValueError; ``accepted`` names the acceptable ones for messages."""

    __slots__ = ("accepted", "choices", "parse", "type")

    def __init__(
        self, accepted: str, parse: Callable[[Any], Any], type_: type, choices: tuple[str, ...] = ()
    ):
        self.accepted = accepted
        self.parse = parse
        self.type = type_
        self.choices = choices


def _parse_bool(value: Any) -> bool:
    if value is True or value is False:
        return value
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE_WORDS:
            return True
        if word in _FALSE_WORDS:
            return False
    elif type(value).__name__ in ("bool", "bool_", "int") and value in (0, 1):
        return bool(value)
    raise ValueError


def _parse_int(value: Any) -> int:
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise ValueError
    return int(value)


def _parse_float(value: Any) -> float:
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__float__")):
        raise ValueError
    return float(value)


def _parse_str(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _parse_path(value: Any) -> str:
    return _parse_str(os.fspath(value))


BOOL = Kind("True or False", _parse_bool, bool)
INT = Kind("an integer", _parse_int, int)
FLOAT = Kind("a number", _parse_float, float)
STR = Kind("a string", _parse_str, str)
PATH = Kind("a path", _parse_path, str)


def one_of(*values: str) -> Kind:
    """A string out of a fixed set."""

    def parse(value: Any) -> str:
        if isinstance(value, str) and value in values:
            return str(value)
        raise ValueError

    return Kind("one of " + ", ".join(map(repr, values)), parse, str, values)


def member_of(cls: type[enum.Enum]) -> Kind:
    """A member of ``cls``; in an environment variable or a call, its lower-case name or its value will do."""
    names = tuple(member.name.lower() for member in cls)

    def parse(value: Any) -> Any:
        if isinstance(value, str) and value.lower() in names:
            return cls[value.upper()]
        return cls(value)

    accepted = f"one of {', '.join(map(repr, names))} (or a member of {cls.__name__})"
    return Kind(accepted, parse, cls, names)


def optional(kind: Kind) -> Kind:
    """``kind``, or None."""

    def parse(value: Any) -> Any:
        return None if value is None else kind.parse(value)

    return Kind(f"{kind.accepted}, or None", parse, kind.type, kind.choices)


class Option(Config):
    """One option. ``option.value`` is what holds in this thread; ``with option(value):`` overrides it there.

    A boolean option called without a value means True. The object returned by the call also works as a
    decorator. ``jax.config.update(option.name, value)`` sets it for the process.
    """

    __slots__ = ("default", "doc", "env", "kind", "on_global", "on_local", "process_wide", "updated")

    def __init__(
        self,
        name: str,
        default: Any,
        kind: Kind,
        doc: str,
        *,
        jit_key: bool,
        trace_context: bool,
        process_wide: bool,
        env: tuple[str, ...],
        read_late: bool = False,
    ):
        start = _from_environment(env, kind, default, lenient=read_late)
        super().__init__(name, start, include_in_jit_key=jit_key, include_in_trace_context=trace_context)
        self.default = default
        self.kind = kind
        self.doc = doc
        self.env = env
        self.process_wide = process_wide
        self.on_global: Callable[[Any], None] | None = None
        self.on_local: Callable[[Any], None] | None = None
        self.updated = False  # whether the program has set it, so that the environment no longer counts

    def __repr__(self) -> str:
        return f"<option {self.name} = {self.value!r}>"

    def __bool__(self) -> bool:
        raise TypeError(
            f"The option object {self.name} has no truth value; read {self.name.removeprefix('jax_')}.value "
            f"or jax.config.{self.name}."
        )

    def check(self, value: Any) -> Any:
        """The stored form of ``value``; ValueError naming what is accepted when there is none."""
        try:
            return self.kind.parse(value)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{self.name} takes {self.kind.accepted}; got {value!r} of type {type(value).__name__}.{_hint(error)}"
            ) from None

    def set(self, value: Any) -> None:
        """Set the process-wide value. A thread's override, where there is one, still wins in that thread."""
        value = self.check(value)
        self.updated = True
        self.set_global(value)
        if self.on_global is not None:
            self.on_global(value)

    def refresh(self) -> None:
        """Read the environment again, unless the program has set the option itself.

        Raises ValueError for a value that the option does not take.
        """
        if self.updated:
            return
        value = _from_environment(self.env, self.kind, self.default)
        if value != self.get_global():
            self.set_global(value)
            if self.on_global is not None:
                self.on_global(value)

    def __call__(self, new_val: Any = _MISSING) -> Override:
        if self.process_wide:
            raise TypeError(
                f"{self.name} holds for the whole process and cannot be overridden in one thread; "
                f"use jax.config.update({self.name!r}, value)."
            )
        if new_val is _MISSING:
            if self.kind is not BOOL:
                raise TypeError(f"{self.name} needs a value here: {self.kind.accepted}.")
            new_val = True
        return Override(self, self.check(new_val))

    def hook(self, on_global: Callable[[Any], None], on_local: Callable[[Any], None] | None = None) -> None:
        """Call ``on_global(value)`` now if the value is not the default, and after each process-wide change;
        ``on_local(value or UNSET)`` after each change of a thread's override."""
        self.on_global = on_global
        self.on_local = on_local
        if self.get_global() != self.default:
            on_global(self.get_global())


class Switch(Option):
    """A boolean option whose override is written ``option(disable=True)``."""

    __slots__ = ()

    def __call__(self, disable: Any = True) -> Override:
        return super().__call__(disable)


class Override:
    """Context manager and decorator: an option's value in this thread, for a while."""

    __slots__ = ("_option", "_previous", "_value")

    def __init__(self, option: Option, value: Any):
        self._option = option
        self._value = value
        self._previous: list[Any] = []

    def __enter__(self) -> None:
        option = self._option
        self._previous.append(option.swap_local(self._value))
        if option.on_local is not None:
            option.on_local(self._value)

    def __exit__(self, *exc_info: object) -> None:
        option = self._option
        previous = self._previous.pop()
        option.swap_local(previous)
        if option.on_local is not None:
            option.on_local(previous)

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        option, value = self._option, self._value

        @functools.wraps(fun)
        def overridden(*args: Any, **kwargs: Any) -> Any:
            with Override(option, value):
                return fun(*args, **kwargs)

        return overridden


def _from_environment(variables: Iterable[str], kind: Kind, default: Any, lenient: bool = False) -> Any:
    for variable in variables:
        text = os.environ.get(variable)
        if text is None:
            continue
        if text == "" and (kind.type is not str or kind.choices):
            continue
        try:
            return kind.parse(text)
        except (ValueError, TypeError, KeyError) as error:
            if lenient:
                continue
            raise ValueError(
                f"The environment variable {variable} takes {kind.accepted}; it is {text!r}.{_hint(error)}"
            ) from None
    return default


def _hint(error: Exception) -> str:
    return f" {error}" if isinstance(error, Meant) else ""


def declare(
    name: str,
    default: Any,
    kind: Kind,
    doc: str,
    *,
    traced: bool = False,
    jit_key: bool | None = None,
    process_wide: bool = False,
    inert: str | None = None,
    env: tuple[str, ...] | None = None,
    read_late: bool = False,
    class_: type[Option] = Option,
) -> Option:
    """Declare a public option.

    Args:
      traced: it can change what a trace or lowering produces: trace caches and jaxlib's jit cache key on it.
      jit_key: jaxlib's jit cache keys on it (by default exactly when ``traced``).
      process_wide: no thread-local override.
      inert: why it has no effect in this implementation; it is still stored and validated.
      env: environment variables, the first one set wins; by default the name in upper case.
      read_late: the environment is read again when the option is first needed (``Option.refresh``), and a bad value
        there is an error only then.
      class_: the option's class.
    """
    if inert is not None:
        doc = f"{doc} Has no effect here: {inert}"
        traced = False
    option = class_(
        name,
        default,
        kind,
        doc,
        jit_key=traced if jit_key is None else jit_key,
        trace_context=traced,
        process_wide=process_wide,
        env=(name.upper(),) if env is None else env,
        read_late=read_late,
    )
    registry[name] = option
    return option


def internal_state(name: str, default: Any, *, jit_key: bool = True, trace_context: bool = True) -> Config:
    """A thread-local state that is no public option (current mesh, trace marker ...), for its side effect on
    cache keys. Values must be hashable."""
    return Config(name, default, include_in_jit_key=jit_key, include_in_trace_context=trace_context)


__all__ = [
    "BOOL", "FLOAT", "INT", "PATH", "STR", "UNSET", "Kind", "Meant", "Option", "Override", "Switch",
    "declare", "internal_state", "member_of", "one_of", "optional", "registry",
]  # fmt: skip
