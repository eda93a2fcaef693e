"""Traces and tracers: who interprets a ``bind``.

There is one current trace, in one context variable; transformations put theirs there while the function runs and the
rules that they call put the parent back. Nothing walks a stack of levels. At the bottom is the eager trace, installed
by the dispatch room, which runs operations on the device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from jax._base import _jaxlib, config
from jax._base import source as source_info
from jax.dtypes import issubdtype


class Trace:
    """An interpretation of primitives.

    Traces of other libraries define ``process_primitive(prim, tracers, params)``, and for functions with derivative
    rules ``process_custom_jvp_call(prim, fun, jvp, tracers, **params)`` and ``process_custom_vjp_call(prim, fun, fwd,
    bwd, tracers, **params)``, where ``fun.call_wrapped(*tracers)`` runs the function on leaves.
    """

    __slots__ = ("staged", "__weakref__")
    parent: Any = None
    staged: bool  # whether operations end in a program under construction, rather than on the device

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        self.staged = _current_is_staged()
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Applies ``prim``: tracers or values in, the same out (a list with ``multiple_results``)."""
        if type(self).process_primitive is Trace.process_primitive:
            raise NotImplementedError(f"{type(self).__name__} does not define process_primitive")
        return self.process_primitive(prim, args, params)

    def process_primitive(self, prim: Any, tracers: Any, params: dict[str, Any]) -> Any:
        """:meth:`process`, by the name that other libraries define and call it."""
        return self.process(prim, tuple(tracers), params)

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        return self.process_custom_jvp_call(prim, FlatCall(fun), FlatCall(jvp), args,
                                            symbolic_zeros=params.get("symbolic_zeros", False))

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        return self.process_custom_vjp_call(prim, FlatCall(fun), FlatCall(fwd), FlatCall(bwd), args, out_trees=None,
                                            symbolic_zeros=params.get("symbolic_zeros", False))

    def process_custom_jvp_call(self, prim: Any, fun: Any, jvp: Any, tracers: Any, *, symbolic_zeros: bool) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define process_custom_jvp_call")

    def process_custom_vjp_call(self, prim: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, out_trees: Any,
                                symbolic_zeros: bool) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define process_custom_vjp_call")

    def process_ref(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """:meth:`process` for primitives that make, read or change references."""
        return self.process(prim, args, params)

    def stage_value(self, val: Any) -> Any:
        """``val`` as an operand under this trace."""
        return val

    @property
    def main(self) -> Trace:
        """What tracers of this trace have in common, by which other libraries compare them."""
        return self

    def is_finished(self) -> bool:
        return False


class FlatCall:
    """A function of leaves as traces of other libraries receive it."""

    __slots__ = ("f",)

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def call_wrapped(self, *args: Any) -> Any:
        return self.f(*args)

    __call__ = call_wrapped


class TraceTag:
    """Something that other libraries' traces tell their own tracers by; equal only to itself."""

    __slots__ = ("__weakref__",)


class EagerTrace(Trace):
    """The bottom trace: operations run at once. The dispatch room installs how (``process`` of this very object)."""

    def __init__(self) -> None:
        self.staged = False

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        raise RuntimeError("no eager evaluation is installed: import jax, not jax._language alone")

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        return fun(*args)

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        return fun(*args)


class CompileTimeTrace(Trace):
    """Evaluates what is known at once; operations on traced values go to the trace that it stands in front of."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.staged = False

    def _target(self, args: Any) -> Any:
        return self.parent if any(isinstance(x, Tracer) for x in args) else bottom

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return run_in(self._target(args), prim.bind, *args, **params)

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        return run_in(self._target(args), prim.bind, fun, jvp, *args, **params)

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        return run_in(self._target(args), prim.bind, fun, fwd, bwd, *args, **params)

    def stage_value(self, val: Any) -> Any:
        return self._target([val]).stage_value(val)


def _current_is_staged() -> bool:
    try:
        return bool(current_trace.get().staged)
    except NameError:  # while the bottom trace is being made
        return False


bottom = EagerTrace()
current_trace: ContextVar[Any] = ContextVar("jax_current_trace", default=bottom)
_marker = config.trace_marker


def install_bottom_trace(process: Callable[..., Any]) -> None:
    """Sanctioned upward hook: ``_dispatch.eager`` says how operations on concrete values run."""
    bottom.process = process  # type: ignore[method-assign]


def install_operators(members: dict[str, Any]) -> None:
    """Sanctioned upward hook: ``numpy._array_methods`` gives arrays and tracers their operators and methods."""
    for name, member in members.items():
        setattr(_jaxlib.xla.Array, name, member)


class entering:
    """``with entering(trace):`` makes ``trace`` the current one.

    jaxlib's compiled-function cache cannot see the context variable, so a marker in its key says that Python has to
    decide while anything but the bottom trace is current.
    """

    __slots__ = ("trace", "token", "mark")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.token = current_trace.set(self.trace)
        self.mark = _marker.swap_local(None if self.trace is bottom else True)
        return self.trace

    def __exit__(self, *exc: Any) -> None:
        current_trace.reset(self.token)
        _marker.swap_local(self.mark)


set_current_trace = entering


def run_in(trace: Trace, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``fun(*args, **kwargs)`` with ``trace`` current."""
    token = current_trace.set(trace)
    mark = _marker.swap_local(None if trace is bottom else True)
    try:
        return fun(*args, **kwargs)
    finally:
        current_trace.reset(token)
        _marker.swap_local(mark)


def run_rule(trace: Trace, rule: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """:func:`run_in` for rules called while another trace is current: the marker changes only at the bottom."""
    if trace is bottom:
        return run_in(trace, rule, *args, **params)
    token = current_trace.set(trace)
    try:
        return rule(*args, **params)
    finally:
        current_trace.reset(token)


def is_bottom() -> bool:
    """Whether operations run at once (no transformation or staging is under way in this thread)."""
    return current_trace.get() is bottom


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Yields the current trace while the bottom trace stands in for it."""
    trace = current_trace.get()
    with entering(bottom):
        yield trace


class Tracer(_jaxlib.xla.Array):
    """Stands for an array while a function is traced.

    Subclasses have ``aval`` and ``_trace``. Operators and array methods come from the common base class of tracers and
    arrays, where :mod:`jax.numpy` installs them.
    """

    __slots__ = ("_trace", "__weakref__")
    __array_priority__ = 1000
    aval: Any

    def __init__(self, trace: Any, aval: Any = None) -> None:
        """For tracers of other libraries. ``aval`` may be left out where the class computes it."""
        self._trace = trace
        if aval is not None and not isinstance(getattr(type(self), "aval", None), property):
            self.aval = aval

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> Any:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__}; traced values have no value to hash. "
                        "Key a dict or a static argument on a Python value instead.")

    # -- what a transformation may know about the value --
    def _concrete(self) -> Any:
        """The value where it is known although traced (eager grad, jvp), else None."""
        return None

    def _origin_msg(self) -> str:
        """Where the value comes from, for error messages; costly, called only when one is shown."""
        return ""

    def __bool__(self) -> bool:
        return bool(_concretize(self, "bool"))

    def __int__(self) -> int:
        return int(_concretize(self, "int()"))

    def __float__(self) -> float:
        return float(_constant(self, "float()"))

    def __complex__(self) -> complex:
        return complex(_constant(self, "complex()"))

    def __index__(self) -> int:
        return _concretize(self, "index").__index__()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(_constant(self, "array")).__array__(*args, **kwargs)

    def tolist(self) -> Any:
        return _constant(self, ".tolist()").tolist()

    def item(self, *args: Any) -> Any:
        return _concretize(self, ".item()").item(*args)

    def __len__(self) -> int:
        return len(self.aval)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.str_short()}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        value = self._concrete()
        if value is not None:
            return format(value, spec)
        from jax import errors  # as below
        raise errors.JAXTypeError(errors.explain(
            f"The format {spec!r} is for a number, and here is only", self, "",
            f'print it when the program runs, with jax.debug.print("{{x:{spec}}}", x=x), or return it.'))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def addressable_data(self, index: int) -> Any:
        return _concretize(self, ".addressable_data()").addressable_data(index)

    def block_until_ready(self) -> Any:
        return self

    def copy_to_host_async(self) -> None:
        return None

    def full_lower(self) -> Any:
        return self


_jaxlib.xla.set_tracer_class(Tracer)


def _concretize(tracer: Tracer, kind: str) -> Any:
    value = tracer._concrete()
    if value is not None:
        return value
    from jax import errors  # at call time: the error classes are only needed once something is wrong
    make = {
        "bool": errors.TracerBoolConversionError,
        "index": errors.TracerIntegerConversionError,
        "array": errors.TracerArrayConversionError,
    }.get(kind)
    if make is not None:
        raise make(tracer)
    raise errors.ConcretizationTypeError(tracer, f"{kind} needs a concrete value")


def _constant(tracer: Tracer, kind: str) -> Any:
    """The value, for Python or NumPy to compute with. What they make of it counts as a constant: a value that is being
    differentiated is refused, as its derivative would be wrong without a word."""
    value = _concretize(tracer, kind)
    if not issubdtype(tracer.aval.dtype, np.inexact):
        return value
    from jax import errors  # as above
    why = ("It is being differentiated, and what leaves JAX counts as a constant: the derivative would be wrong. Where a "
           "constant is meant, say so with jax.lax.stop_gradient(x).")
    if kind == "array":
        raise errors.TracerArrayConversionError(tracer, why)
    raise errors.ConcretizationTypeError(tracer, f"{kind} gives a number without a derivative. {why}")


def concrete_or_error(convert: Callable[[Any], Any] | None, value: Any, context: str = "") -> Any:
    """``convert(value)`` where ``value`` must be known while tracing; the error names ``context``."""
    if isinstance(value, Tracer):
        known = value._concrete()
        if known is None:
            from jax import errors  # as above
            raise errors.ConcretizationTypeError(value, context)
        value = known
    return value if convert is None else convert(value)


def leaked(tracer: Tracer) -> Exception:
    """The error for a traced value where only a concrete one can be used: it outlived its trace, or left its scope."""
    from jax import errors  # as above
    where = tracer._origin_msg()
    if not tracer._trace.is_finished():
        return errors.UnexpectedTracerError(
            f"a traced value of type {tracer.aval.str_short()} was used where operations are evaluated at once "
            "(another thread, a callback, the closure of a function with custom_jvp or custom_vjp rules, its "
            f"nondiff_argnums, jax.core.eval_context), but it has no value yet. {where}\n"
            "Use only values there that do not depend on the arguments of the traced function; such a function takes them "
            "as arguments that are differentiated.")
    return errors.UnexpectedTracerError(
        f"a traced value of type {tracer.aval.str_short()} was used after the transformation that made it had "
        f"finished. It was kept through a side effect (a global, a closure, an attribute, a generator). {where}\n"
        "Return the value from the transformed function instead of storing it; `jax.checking_leaks()` finds the place.")


def check_leaks(trace: Any, source: str, callers: int = 1) -> None:
    """Raises when tracers of a finished trace are still alive. To be called under ``jax.checking_leaks``, and when
    nothing of the library itself refers to them; ``callers`` is how many variables of callers hold the trace."""
    import gc  # only under the option
    if sys.getrefcount(trace) <= callers + 2:  # this function's and getrefcount's: no tracer can be left
        return
    gc.collect()
    alive = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    if not alive:
        return
    from jax import errors  # as above
    listed = "\n".join(f"  {x.aval.str_short()}: {x._origin_msg() or 'origin unknown'}" for x in alive[:5])
    raise errors.UnexpectedTracerError(
        f"leaked {len(alive)} traced value(s) out of {source}; something outside still refers to them:\n{listed}\n"
        "Return values instead of storing them in globals, attributes or closures.")


def name_stack() -> Any:
    return source_info.current_names()
