"""Configuration: the ``jax.config`` object and the options themselves.

Inside the package an option is imported by its name without the ``jax_`` prefix and read as ``option.value``;
``with option(value):`` overrides it in the current thread. Users go through ``jax.config`` and the context
managers that ``jax`` exports.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Hashable, Iterator
from typing import Any

from jax._base._jaxlib import jax_jit as _jax_jit
from jax._base._jaxlib import trace_context, trace_context_names
from jax._base.option import UNSET, Option, Override, internal_state
from jax._base.option import registry as _registry
from jax._base.settings import devices as _devices
from jax._base.settings.compiler import *  # noqa: F403
from jax._base.settings.devices import *  # noqa: F403
from jax._base.settings.diagnostics import *  # noqa: F403
from jax._base.settings.numerics import *  # noqa: F403
from jax._base.settings.tracing import *  # noqa: F403
from jax._base.settings.tracing import check_tracer_leaks

# Something else than None (`swap_local`) while a trace stages, so that jaxlib's C++ jit cache misses under it
# and asks Python. The cache keeps its keys: a constant, not the trace.
trace_marker = internal_state("trace_marker", None, jit_key=True, trace_context=False)

# The attributes for the compiler in force (`jax.experimental.xla_metadata`): traces and programs depend on them.
operation_tags = internal_state("operation_tags", None)

# Called by the C++ jit fast path with its results, when not None (checks for NaN and infinities).
post_hook = internal_state("post_hook", None, jit_key=False, trace_context=False)
_jax_jit.set_post_hook_state(post_hook)


class JaxConfig:
    """The options of this library: read ``jax.config.NAME``, set ``jax.config.update(NAME, value)``.

    A value comes from, in this order: a context manager in force in this thread
    (``with jax.enable_x64(True):``), ``update`` or a command-line flag, the environment variable named after
    the option in upper case, the default. ``jax.config.describe(NAME)`` says what an option is for.
    """

    __slots__ = ("_flags", "use_absl")

    def __init__(self) -> None:
        object.__setattr__(self, "use_absl", False)
        object.__setattr__(self, "_flags", None)

    def __getattr__(self, name: str) -> Any:
        option = _registry.get(name)
        if option is None:
            raise AttributeError(_unknown(name), name=name, obj=self) from None
        return option.value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _registry:
            raise AttributeError(
                f"Options are not set by assignment. Use jax.config.update({name!r}, {value!r}), or a "
                "context manager for one thread."
            )
        raise AttributeError(_unknown(name))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_registry})

    def __repr__(self) -> str:
        changed = [f"{name}={o.value!r}" for name, o in _registry.items() if o.value != o.default]
        return f"<jax.config: {', '.join(changed) or 'all defaults'}>"

    def _option(self, name: str) -> Option:
        option = _registry.get(name)
        if option is None:
            raise AttributeError(_unknown(name))
        return option

    def update(self, name: str, val: Any) -> None:
        """Set option ``name`` for the whole process.

        Raises AttributeError for an unknown name (naming similar ones), ValueError for a value the option
        does not take (naming those it does).

        >>> import jax
        >>> jax.config.update("jax_debug_nans", False)
        """
        option = self._option(name)
        option.set(val)
        if self._flags is not None:
            setattr(self._flags, name, _flag_value(option.get_global()))

    def read(self, name: str) -> Any:
        """The value of option ``name`` in this thread. Raises AttributeError for an unknown name."""
        return self._option(name).value

    @property
    def values(self) -> dict[str, Any]:
        """All options and their values in this thread, as a new dict."""
        return {name: option.value for name, option in _registry.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are kept (``jax_enable_x64``)."""
        return _registry["jax_enable_x64"].value

    def describe(self, name: str) -> str:
        """What option ``name`` is for, what it takes, and where its value can come from."""
        option = self._option(name)
        scope = "process" if option.process_wide else "process or thread"
        return (
            f"{name} = {option.value!r}\n{option.doc}\nTakes {option.kind.accepted}; "
            f"default {option.default!r}; environment: {' or '.join(option.env)}; set per {scope}."
        )

    # --- absl -----------------------------------------------------------------------------------------------

    def config_with_absl(self) -> None:
        """Define every option as an absl flag, to be parsed by the program's own ``absl.app.run``.

        The options take the flags' values once absl has parsed them. Raises ImportError without absl.
        """
        if self._flags is not None:
            return
        flags, app = _import_absl()
        for name, option in _registry.items():
            if name not in flags.FLAGS:
                _define_flag(flags, option)
        object.__setattr__(self, "_flags", flags.FLAGS)
        object.__setattr__(self, "use_absl", True)
        app.call_after_init(self.complete_absl_config)

    def complete_absl_config(self) -> None:
        """Take over the flags that were given on the command line, once absl has parsed it."""
        flags = self._flags
        if flags is None:
            return
        for name, option in _registry.items():
            flag = flags[name]
            if flag.present:
                option.set(flag.value)

    def parse_flags_with_absl(self) -> None:
        """Define the absl flags and parse ``sys.argv`` now, leaving flags that absl does not know to others.

        For programs that do not run under ``absl.app.run``. Only the first call does anything.
        """
        if self.use_absl:
            return
        self.config_with_absl()
        flags, _ = _import_absl()
        # Some test runners put their own flags first; unknown ones are skipped rather than refused.
        flags.FLAGS(sys.argv, known_only=True)
        self.complete_absl_config()


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _registry, n=3, cutoff=0.6)
    if f"jax_{name}" in _registry:
        near = [f"jax_{name}"]
    hint = f" Did you mean {' or '.join(near)}?" if near else " dir(jax.config) lists the options."
    return f"There is no option named {name!r}.{hint}"


def _import_absl() -> tuple[Any, Any]:
    try:
        from absl import app, flags
    except ImportError as error:
        raise ImportError("Options as command-line flags need absl: pip install absl-py") from error
    return flags, app


def _flag_value(value: Any) -> Any:
    name = getattr(value, "name", None)
    return name.lower() if name is not None and not isinstance(value, (str, int, float)) else value


def _define_flag(flags: Any, option: Option) -> None:
    kind, value = option.kind, option.get_global()
    if kind.type is bool:
        flags.DEFINE_bool(option.name, value, option.doc)
    elif kind.type is int:
        flags.DEFINE_integer(option.name, value, option.doc)
    elif kind.type is float:
        flags.DEFINE_float(option.name, value, option.doc)
    elif kind.choices:
        default = None if value is None else getattr(value, "name", str(value))
        default = default.lower() if default is not None and default not in kind.choices else default
        flags.DEFINE_enum(option.name, default, list(kind.choices), option.doc)
    else:
        flags.DEFINE_string(option.name, None if value is None else str(value), option.doc)


config = JaxConfig()


def checking_leaks(enable: bool = True) -> Override:
    """Context manager: raise when a traced value outlives the function being traced.

    Sets ``jax_check_tracer_leaks`` in this thread.
    """
    return check_tracer_leaks(enable)


@contextlib.contextmanager
def transfer_guard(new_val: str | None) -> Iterator[None]:
    """Context manager: the guard of transfers in all three directions, in this thread.

    ``new_val`` is 'allow', 'log', 'disallow', 'log_explicit' or 'disallow_explicit'.
    """
    with contextlib.ExitStack() as stack:
        for option in _devices._all_guards:
            stack.enter_context(option(new_val))
        yield


# Pairs of a user context and its value, the innermost last.
_user_values = internal_state("user_contexts", ())


class UserContext:
    """A thread-local setting of the user's own for traced functions to read; see :func:`make_user_context`."""

    __slots__ = ("_default",)

    def __init__(self, default: Any):
        self._default = default

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        for context, value in reversed(_user_values.value):
            if context is self:
                return value
        return self._default

    @contextlib.contextmanager
    def __call__(self, value: Hashable) -> Iterator[None]:
        """Context manager: the setting has ``value`` in this thread."""
        hash(value)  # it joins cache keys: refuse it here, where the user sees why
        previous = _user_values.swap_local((*_user_values.value, (self, value)))
        try:
            yield
        finally:
            _user_values.swap_local(previous)


def make_user_context(default_value: Any = None) -> UserContext:
    """A new setting that ``jax.jit`` and the other caches of traces take into account.

    >>> import jax
    >>> mode = jax.make_user_context("fast")
    >>> with mode("exact"):
    ...     mode.value
    'exact'

    A function under ``jit`` that reads ``mode.value`` is traced once for each value. Values must be hashable.
    """
    return UserContext(default_value)


__all__ = [
    "UNSET",
    "JaxConfig",
    "Option",
    "UserContext",
    "checking_leaks",
    "config",
    "internal_state",
    "make_user_context",
    "post_hook",
    "trace_context",
    "trace_context_names",
    "trace_marker",
    "transfer_guard",
]
