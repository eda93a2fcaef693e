"""The jaxpr language: abstract values, primitives, jaxprs and how to walk and evaluate them."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any

from jax._base._jaxlib import xla as _xla
from jax._language.avals import AbstractToken as AbstractToken
from jax._language.avals import AbstractValue as AbstractValue
from jax._language.avals import ShapedArray as ShapedArray
from jax._language.avals import aval_makers, typeof
from jax._language.axes import axis_env
from jax._language.effects import Effect as Effect
from jax._language.effects import no_effects as no_effects
from jax._language.evaluation import jaxpr_as_fun as jaxpr_as_fun
from jax._language.jaxpr import ClosedJaxpr as ClosedJaxpr
from jax._language.jaxpr import DebugInfo as DebugInfo
from jax._language.jaxpr import DropVar as DropVar
from jax._language.jaxpr import Jaxpr as Jaxpr
from jax._language.jaxpr import JaxprEqn as JaxprEqn
from jax._language.jaxpr import Literal as Literal
from jax._language.jaxpr import Var as Var
from jax._language.jaxpr import jaxprs_in_params as jaxprs_in_params
from jax._language.jaxpr import new_jaxpr_eqn as new_jaxpr_eqn
from jax._language.jaxpr import subjaxprs as subjaxprs
from jax._language.primitive import Primitive as Primitive
from jax._language.trace import TraceTag as TraceTag
from jax._language.trace import concrete_or_error as _concrete_or_error
from jax._language.trace import current_trace
from jax._language.trace import entering as set_current_trace
from jax._language.trace import take_current_trace as take_current_trace
from jax._language.typecheck import JaxprTypeError as JaxprTypeError
from jax._language.typecheck import check_jaxpr as check_jaxpr
from jax._transforms.batch import BatchTrace
from jax._transforms.batch_jaxpr import mapped_aval as mapped_aval
from jax._transforms.batch_jaxpr import unmapped_aval as _unmapped_aval
from jax.dtypes import tangent_dtype as _tangent_dtype
from jax.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation

# The classes whose instances are taken as arrays.
array_types = frozenset(aval_makers)
Token = _xla.Token
Token.__doc__ = "What orders the effects of programs: made by one, taken by the next."


_calls = ("create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules")


def __getattr__(name: str) -> Any:
    if name == "primitives":
        return importlib.import_module("jax.extend.core.primitives")
    if name in _calls:
        return getattr(importlib.import_module("jax._api.call_primitives"), name)
    raise AttributeError(f"module 'jax.extend.core' has no attribute {name!r}")


def valid_jaxtype(x: Any) -> bool:
    """Whether ``x`` can be an operand: an array, a NumPy array or a scalar."""
    try:
        typeof(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """``force(val)`` where the value is known while tracing; otherwise an error that names ``context``."""
    return _concrete_or_error(force, val, context)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents of arrays of a dtype: itself, or ``float0``."""
    return _tangent_dtype(primal_dtype)


def unmapped_aval(size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None) -> Any:
    """``aval`` with an axis of ``size`` inserted; the inverse of :func:`mapped_aval`."""
    return _unmapped_aval(size, axis, aval)


def gensym() -> Callable[[Any], Var]:
    """A function that makes fresh variables of given types."""
    return Var


def find_top_trace(_: Any) -> Any:
    """The current trace, which is the one that interprets the next ``bind``."""
    return current_trace.get()


class _OpaqueTraceState:
    """Stands for the traces under way, which it does not keep alive; equal to another made while they are the same."""

    __slots__ = ("_trace", "_axes")

    def __init__(self) -> None:
        self._trace = weakref.ref(current_trace.get())
        self._axes = axis_env.get()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _OpaqueTraceState):
            return False
        trace = self._trace()
        return trace is not None and trace is other._trace() and self._axes == other._axes

    def __hash__(self) -> int:
        return hash(self._axes)


def get_opaque_trace_state(convention: str = "flax") -> Any:
    """A value that compares equal as long as the same transformations are under way; libraries detect leaks by it."""
    return _OpaqueTraceState()


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether named axes are bound here."""
    return bool(axis_env.get())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The named axes bound here."""
    return [name for name, _ in axis_env.get()]


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a program is being staged."""
    return current_trace.get().staged


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a ``vmap`` is under way."""
    trace = current_trace.get()
    while trace is not None:
        if isinstance(trace, BatchTrace):
            return True
        trace = trace.parent
    return False


__all__ = [
    "AbstractToken", "AbstractValue", "ClosedJaxpr", "DebugInfo", "DropVar", "Effect",
    "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Token",
    "TraceTag", "Var", "array_types", "check_jaxpr", "concrete_or_error", "find_top_trace", "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval", "new_jaxpr_eqn", "no_effects",
    "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype", "set_current_trace", "subjaxprs",
    "take_current_trace", "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE", "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype",
]
