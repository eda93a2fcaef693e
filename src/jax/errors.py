"""Exceptions of this library.

Messages are put together when they are shown, not when an error is raised: a library that probes a traced
value (``hasattr``, ``numpy.asarray`` in a ``try``) pays next to nothing for the error it swallows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._base import source as _source
from jax._base._jaxlib import JaxRuntimeError

# Users catch it as jax.errors.JaxRuntimeError: show it by that name.
JaxRuntimeError.__module__ = __name__


class _DeferredMessage:
    """An exception whose text is a string or a function that makes it; everything that shows it goes here."""

    _message: str | Callable[[], str]
    _args: tuple[Any, ...] | None = None

    def __init__(self, message: str | Callable[[], str] = ""):
        super().__init__()
        self._message = message

    @property
    def args(self) -> tuple[Any, ...]:
        return (str(self),) if self._args is None else self._args

    @args.setter
    def args(self, args: Any) -> None:
        # People extend messages in an except clause: error.args = (error.args[0] + "...",)
        self._args = args = tuple(args)
        self._message = str(args[0]) if len(args) == 1 else str(args)

    def __str__(self) -> str:
        message = self._message
        if not isinstance(message, str):
            # What made the message is let go with it: it refers to tracers.
            self._message = message = str(message())
        return message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), str(self))


def _restore(cls: type[Any], message: str) -> Any:
    error: Any = BaseException.__new__(cls)
    _DeferredMessage.__init__(error, message)
    return error


class JAXTypeError(_DeferredMessage, TypeError):
    """Base of this library's type errors."""

    def __init__(self, message: str | Callable[[], str]):
        super().__init__(message)


class JAXIndexError(_DeferredMessage, IndexError):
    """Base of this library's index errors."""

    def __init__(self, message: str | Callable[[], str]):
        super().__init__(message)


class JaxprTypeError(TypeError):
    """A jaxpr breaks the rules of the language."""


class InconclusiveDimensionOperation(Exception):
    """A question about a symbolic dimension has no answer that holds for all its values."""


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice, which would give the same numbers again.

    Raised under ``jax_debug_key_reuse``. Remedy: ``key, subkey = jax.random.split(key)`` before each use.
    """


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after, or outside of, the function whose tracing made it.

    It was kept somewhere that outlives the call: a global, an attribute, a list, a default argument, another
    function's variable. Remedy: return the value from the traced function and pass it on as an argument.
    ``with jax.checking_leaks():`` raises where the value escapes rather than where it is used.
    """

    def __init__(self, msg: str | Callable[[], str]):
        super().__init__(msg)


def _describe(tracer: Any) -> str:
    aval = getattr(tracer, "aval", None)
    if aval is None:
        return f"a value of type {type(tracer).__name__}"
    short = getattr(aval, "str_short", None)
    return f"a traced array of type {short() if short is not None else aval}"


def _origin(tracer: Any) -> str:
    origin = getattr(tracer, "_origin_msg", None)
    return origin().strip() if origin is not None else ""


def explain(opening: str, tracer: Any, context: str, remedy: str) -> Callable[[], str]:
    """The message of a conversion that tracing cannot do: what, where, why, and what to do instead."""
    traceback = _source.current()

    def message() -> str:
        frame = _source.user_frame(traceback)
        where = f", at {frame}" if frame is not None else ""
        lines = [f"{opening} {_describe(tracer)}{where}."]
        if frame is not None and frame.text():
            lines.append(f"    {frame.text()}")
        lines += [part for part in (context.strip(), _origin(tracer)) if part]
        lines.append(f"Remedy: {remedy}")
        return "\n".join(lines)

    return message


class ConcretizationTypeError(JAXTypeError):
    """A value is needed while tracing, when only shapes and dtypes are known.

    Values of arguments exist when the compiled program runs, not while ``jit``, ``vmap`` or ``scan`` record
    it. What Python itself has to know (a shape, an axis, a number of steps, a choice between functions) must
    be known while recording: pass it as a static argument (``jax.jit(f, static_argnums=...)``) or compute it
    with NumPy from such arguments. What the program decides as it runs goes through ``jnp.where``,
    ``jax.lax.cond`` and ``jax.lax.while_loop``.

    Args:
      tracer: the traced value that was asked for its number.
      context: a sentence on what wanted it.
    """

    def __init__(self, tracer: Any, context: str = ""):
        super().__init__(
            explain(
                "A concrete value is needed here, but while tracing there is only",
                tracer,
                context,
                "make the argument static (static_argnums or static_argnames of jax.jit) if Python has to "
                "know it; otherwise stay inside jax.numpy and jax.lax, which take traced values.",
            )
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked a traced value whether it is true: ``if``, ``while``, ``and``, ``or``, ``not``,
    ``assert``, a chained comparison, ``bool()``.

    Remedies: ``jnp.where(c, a, b)`` picks values, ``jax.lax.cond`` picks a branch, ``jax.lax.while_loop``
    loops; ``&``, ``|`` and ``~`` combine conditions. If the condition depends only on what is known while
    tracing, make that argument static.
    """

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(
            self,
            explain(
                "Python needs a truth value here, but has only",
                tracer,
                "",
                "use jnp.where(condition, a, b) to choose values, jax.lax.cond to choose what runs, "
                "jax.lax.while_loop to repeat, and & | ~ in place of and, or, not; or make the argument "
                "static (static_argnums or static_argnames of jax.jit).",
            ),
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer: an index into a list or NumPy array, ``range``,
    an axis, a shape.

    Remedies: index ``jnp.asarray(the_list)`` instead of the list, loop with ``jax.lax.fori_loop``, make sizes
    and axes static arguments.
    """

    def __init__(self, tracer: Any):
        super().__init__(
            explain(
                "Python needs an integer here, but has only",
                tracer,
                "",
                "turn a list or NumPy array that is indexed by it into a JAX array (jnp.asarray), replace "
                "range() by jax.lax.fori_loop, and make sizes and axes static (static_argnums or "
                "static_argnames of jax.jit).",
            )
        )


class TracerArrayConversionError(JAXTypeError):
    """A traced value was given to NumPy, which needs numbers.

    Remedies: the function of the same name in ``jax.numpy``; ``jax.pure_callback`` for code that exists only
    in NumPy; a static argument for what should be computed while tracing; ``jax.lax.stop_gradient`` for a value that is
    differentiated and meant as a constant.
    """

    def __init__(self, tracer: Any, context: str = ""):
        super().__init__(
            explain(
                "NumPy needs an array of numbers here, but has only",
                tracer,
                context,
                "call the jax.numpy function instead of the numpy one, wrap code that only NumPy can run in "
                "jax.pure_callback, or make the argument static (static_argnums or static_argnames of "
                "jax.jit).",
            )
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed by a traced boolean mask: the result's shape would depend on the mask's values.

    Remedies: ``jnp.where(mask, x, fill)``, the ``where=`` argument of reductions, ``jnp.where(mask, new, x)``
    in place of ``x[mask] = new``, or ``jnp.nonzero(mask, size=n)`` with a fixed number of results.
    """

    def __init__(self, tracer: Any):
        super().__init__(
            explain(
                "The shape of x[mask] depends on the values in the mask, but the mask is",
                tracer,
                "",
                "use jnp.where(mask, x, fill) to blank elements out, where= in reductions, "
                "jnp.where(mask, new, x) to assign, or jnp.nonzero(mask, size=n) to pick a fixed number of "
                "elements.",
            )
        )


class SimplifiedTraceback(Exception):
    """Kept for programs that name it; see ``jax_traceback_filtering`` for what becomes of tracebacks."""


__all__ = [
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "SimplifiedTraceback",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]
