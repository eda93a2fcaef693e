"""Lowering to StableHLO: the rule tables, and what rules build their operations with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib
from jax._language.effects import lowerable_effects as lowerable_effects
from jax._lowering.callback import emit_python_callback as emit_python_callback
from jax._lowering.context import LoweringContext as LoweringRuleContext
from jax._lowering.context import ModuleContext as ModuleContext
from jax._lowering.context import Scope
from jax._lowering.context import TokenSet as TokenSet
from jax._lowering.emit import emit_with_tokens
from jax._lowering.hlo.regions import custom_call as custom_call
from jax._lowering.rules import Rule as LoweringRule
from jax._lowering.rules import register_lowering as register_lowering
from jax._lowering.subprograms import cache_lowering as cache_lowering
from jax._lowering.subprograms import lower_fun as lower_fun
from jax._lowering.types import dense_bool_array as dense_bool_array
from jax._lowering.types import dense_int_array as dense_int_array
from jax._lowering.types import dense_int_elements as dense_int_elements
from jax._lowering.types import dtype_to_ir_type as dtype_to_ir_type
from jax._lowering.types import i32_attr as i32_attr
from jax._lowering.types import i64_attr as i64_attr
from jax._lowering.types import ir_constant as _ir_constant
from jax._lowering.types import ir_type

_bindings = {"ir": "ir", "hlo": "stablehlo", "func_dialect": "func_dialect", "chlo": "chlo"}


def __getattr__(name: str) -> Any:
    # The MLIR bindings load on first use, so that importing this view stays cheap.
    if name in _bindings:
        return getattr(_jaxlib, _bindings[name])
    if name == "Value":
        return _jaxlib.ir.Value
    raise AttributeError(f"module 'jax.interpreters.mlir' has no attribute {name!r}")


def aval_to_ir_type(ctx: Any, aval: Any = None) -> Any:
    """The MLIR type of an abstract value; ``aval_to_ir_type(aval)`` and ``aval_to_ir_type(ctx, aval)`` are the same."""
    return ir_type(ctx if aval is None else aval)


def aval_to_ir_types(ctx: Any, aval: Any = None) -> tuple[Any, ...]:
    """The MLIR types of an abstract value, as a tuple."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """A constant operation with the value of an array or scalar."""
    return _ir_constant(val, aval)


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[Any, ...]:
    """:func:`ir_constant` as a tuple."""
    return (_ir_constant(val, aval),)


def flatten_ir_values(xs: Sequence[Any]) -> list[Any]:
    """A sequence of values and sequences of values as one list."""
    out: list[Any] = []
    for x in xs:
        if isinstance(x, (tuple, list)):
            out.extend(x)
        else:
            out.append(x)
    return out


flatten_lowering_ir_args = flatten_ir_values
flatten_ir_types = flatten_ir_values


def jaxpr_subcomp(ctx: Any, jaxpr: Any, name_stack: Any, tokens: Any, consts_for_constvars: Sequence[Any], *args: Any,
                  dim_var_values: Any = (), const_lowering: Any = None, outer_traceback: Any = None) -> Any:
    """Writes the equations of a jaxpr at the insertion point; returns ``(results, tokens)``."""
    inner = LoweringRuleContext(ctx, None, jaxpr.in_avals, jaxpr.out_avals, tokens, tuple(name_stack or ()), None, Scope())
    return emit_with_tokens(inner, jaxpr, consts_for_constvars, args, tokens)


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """A module as text."""
    return module.operation.get_asm(enable_debug_info=bool(enable_debug_info))


def module_to_bytecode(module: Any) -> bytes:
    """A module in MLIR's binary form."""
    import io  # only used here
    out = io.BytesIO()
    module.operation.write_bytecode(file=out)
    return out.getvalue()


def make_ir_context() -> Any:
    """An MLIR context with the dialects that lowered programs use."""
    return _jaxlib.new_mlir_context()


def xla_computation_to_mlir_module(xla_computation: Any) -> Any:
    """A module from an XLA computation, as text."""
    return _jaxlib.mlir_io.xla_computation_to_mlir_module(xla_computation)


def token_type() -> Any:
    """The type of tokens that order effects."""
    return _jaxlib.ir.Type.parse("!stablehlo.token")


__all__ = [
    "LoweringRule", "LoweringRuleContext", "ModuleContext", "TokenSet", "aval_to_ir_type", "aval_to_ir_types",
    "cache_lowering", "custom_call", "dense_bool_array", "dense_int_array", "dense_int_elements",
    "dtype_to_ir_type", "emit_python_callback", "flatten_ir_types", "flatten_ir_values", "flatten_lowering_ir_args",
    "i32_attr", "i64_attr", "ir_constant", "ir_constants", "jaxpr_subcomp", "lower_fun", "lowerable_effects",
    "make_ir_context", "module_to_bytecode", "module_to_string", "register_lowering", "token_type",
    "xla_computation_to_mlir_module",
]
