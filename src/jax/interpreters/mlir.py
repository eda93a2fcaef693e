"""Lowering to StableHLO: the rule tables, and what rules build their operations with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._base import _jaxlib
from jax._language.effects import lowerable_effects as lowerable_effects
from jax._language.effects import ordered_effects
from jax._lowering import hlo as _builders
from jax._lowering.attributes import ir_attribute as ir_attribute
from jax._lowering.callback import emit_python_callback as emit_python_callback
from jax._lowering.context import LoweringContext as LoweringRuleContext
from jax._lowering.context import ModuleContext as ModuleContext
from jax._lowering.context import Scope
from jax._lowering.context import TokenSet as TokenSet
from jax._lowering.emit import emit_with_tokens
from jax._lowering.module import lower_jaxpr_to_module as _lower_jaxpr_to_module
from jax._lowering.rules import Rule as LoweringRule
from jax._lowering.rules import register_lowering as register_lowering
from jax._lowering.subprograms import build_function, call_jaxpr
from jax._lowering.subprograms import cache_lowering as cache_lowering
from jax._lowering.subprograms import lower_fun as lower_fun
from jax._lowering.types import constant_makers, ir_type, ir_type_makers
from jax._lowering.types import dense_bool_array as _dense_bool_array
from jax._lowering.types import dense_int_array as _dense_int_array
from jax._lowering.types import dense_int_elements as _dense_int_elements
from jax._lowering.types import dtype_to_ir_type as dtype_to_ir_type
from jax._lowering.types import i32_attr as _i32_attr
from jax._lowering.types import i64_attr as _i64_attr
from jax._lowering.types import ir_constant as _ir_constant
from jax.interpreters._axis_contexts import AxisContext as AxisContext
from jax.interpreters._axis_contexts import LoweringParameters as LoweringParameters
from jax.interpreters._axis_contexts import ReplicaAxisContext as ReplicaAxisContext
from jax.interpreters._axis_contexts import ShardingContext as ShardingContext
from jax.interpreters._axis_contexts import SPMDAxisContext as SPMDAxisContext
from jax.interpreters._axis_contexts import overrides as _overrides
from jax.interpreters._axis_contexts import target as _target
from jax.sharding import Mesh as Mesh

# How constants of a class are written: a function from a value to MLIR values.
ConstantHandler = Callable[..., Any]
# ``{class of abstract values: function from an instance to its MLIR type}``, for classes that libraries define.
ir_type_handlers = ir_type_makers

# How StableHLO numbers the kinds of channels.
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3

_bindings = {"ir": "ir", "hlo": "stablehlo", "func_dialect": "func_dialect", "chlo": "chlo"}


def __getattr__(name: str) -> Any:
    # The MLIR bindings load on first use, so that importing this view stays cheap.
    if name in _bindings:
        return getattr(_jaxlib, _bindings[name])
    if name in ("Value", "Token"):
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


# The structure of results of lowering rules: values, and tuples and lists of them.
ir_tree_registry = _jaxlib.pytree.PyTreeRegistry(enable_none=False, enable_tuple=True, enable_namedtuple=False,
                                                 enable_list=True, enable_dict=False)


def flatten_ir_values(xs: Sequence[Any]) -> list[Any]:
    """A sequence of values and sequences of values as one list."""
    return ir_tree_registry.flatten(list(xs))[0]


flatten_lowering_ir_args = flatten_ir_values
flatten_ir_types = flatten_ir_values


def unflatten_ir_values_like_types(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """Values as a list with the structure of ``ys``, a sequence of types and sequences of types."""
    rest = iter(xs)
    out = [tuple(next(rest) for _ in y) if isinstance(y, (tuple, list)) else next(rest) for y in ys]
    if (left := list(rest)):
        raise ValueError(f"{len(left)} values are left over")
    return out


def register_constant_handler(type_: type, handler_fun: Callable[..., Any]) -> None:
    """Says how constants of a class are written: ``handler_fun(value, aval)`` returns an MLIR value."""
    constant_makers[type_] = handler_fun


# --- attributes -----------------------------------------------------------------------------------------------------

def dense_int_array(xs: Sequence[int]) -> Any:
    """``array<i64: ...>``."""
    return _dense_int_array(xs)


def dense_bool_array(xs: Sequence[bool]) -> Any:
    """``array<i1: ...>``."""
    return _dense_bool_array(xs)


def dense_int_elements(xs: Any) -> Any:
    """``dense<...> : tensor<...xi64>``."""
    return _dense_int_elements(xs)


def dense_bool_elements(xs: Sequence[bool]) -> Any:
    """``dense<...> : tensor<...xi1>``."""
    return _jaxlib.ir.DenseElementsAttr.get(np.asarray(xs, bool))


def i32_attr(i: int) -> Any:
    """A 32-bit integer."""
    return _i32_attr(i)


def i64_attr(i: int) -> Any:
    """A 64-bit integer."""
    return _i64_attr(i)


# --- programs in programs -------------------------------------------------------------------------------------------


def jaxpr_subcomp(ctx: Any, jaxpr: Any, name_stack: Any, tokens: Any, consts_for_constvars: Sequence[Any], *args: Any,
                  dim_var_values: Any = (), const_lowering: Any = None, outer_traceback: Any = None) -> Any:
    """Writes the equations of a jaxpr at the insertion point; returns ``(results, tokens)``."""
    inner = LoweringRuleContext(ctx, None, jaxpr.in_avals, jaxpr.out_avals, tokens, tuple(name_stack or ()), None, Scope())
    return emit_with_tokens(inner, jaxpr, consts_for_constvars, args, tokens)


def core_call_lowering(ctx: Any, *args: Any, name: str, backend: Any = None, call_jaxpr: Any, **params: Any) -> Any:
    """A lowering rule for primitives that call the closed jaxpr in their parameter ``call_jaxpr``."""
    return _call_jaxpr(ctx, name, call_jaxpr, args)


_call_jaxpr = call_jaxpr


def lower_jaxpr_to_fun(ctx: ModuleContext, name: str, jaxpr: Any, effects: Sequence[Any] = (), *, num_const_args: int = 0,
                       main_function: bool = False, in_avals: Any = None, out_avals: Any = None, **unused: Any) -> Any:
    """Adds a function for a closed jaxpr to the module; returns its operation, whose ``name.value`` is the symbol.

    Tokens of ordered ``effects`` come first among its arguments and results.
    """
    ordered = [e for e in effects if ordered_effects.contains(e)]
    token = token_type()

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        inner = LoweringRuleContext(ctx, None, jaxpr.in_avals, jaxpr.out_avals, TokenSet(), (name,), None, Scope())
        outs, tokens = emit_with_tokens(inner, jaxpr.jaxpr, jaxpr.consts, args[len(ordered):],
                                        TokenSet(zip(ordered, args, strict=False)))
        return [*(tokens.get(e) for e in ordered), *outs]

    symbol = build_function(ctx, name, [*[token] * len(ordered), *map(ir_type, jaxpr.in_avals)],
                            [*[token] * len(ordered), *map(ir_type, jaxpr.out_avals)], fill, public=main_function)
    return _jaxlib.ir.SymbolTable(ctx.module.operation)[symbol]


class LoweringResult(NamedTuple):
    """A lowered module and what has to live as long as what is compiled from it."""

    module: Any
    keepalive: Any
    host_callbacks: Sequence[Any]
    shape_poly_state: Any = None


def lower_jaxpr_to_module(module_name: str, jaxpr: Any, *, platforms: Sequence[str], donated_args: Any = None,
                          num_partitions: int = 1, arg_names: Any = None, result_names: Any = None, backend: Any = None,
                          axis_context: Any = None, lowering_parameters: LoweringParameters | None = None,
                          **unused: Any) -> LoweringResult:
    """Lowers a closed jaxpr to a module with one public function, ``main``. All arguments are kept.

    ``axis_context`` says for how many devices (in place of ``num_partitions``) and which axes collectives may name.
    """
    replicas, partitions, mesh = _target(axis_context, num_partitions)
    lowered = _lower_jaxpr_to_module(jaxpr, module_name, platforms, donated=donated_args, keep_unused=True,
                                     arg_names=arg_names, result_names=result_names, num_replicas=replicas,
                                     num_partitions=partitions, backend=backend, mesh=mesh,
                                     overrides=_overrides(lowering_parameters))
    return LoweringResult(lowered.module, lowered.keepalives, lowered.host_callbacks)


def merge_mlir_modules(dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None) -> str:
    """Moves the functions of a module into another; its ``main`` becomes private and is called like ``sym_name``.

    Returns:
      The symbol that ``main`` has got, which differs from ``sym_name`` where that was taken.
    """
    ir = _jaxlib.ir
    target = dst_symtab or ir.SymbolTable(dst_module.operation)
    source = ir.SymbolTable(src_module.operation)
    functions = list(src_module.body.operations)
    renamed: dict[str, str] = {}
    for op in functions:
        old = op.name.value
        wanted = new = sym_name if old == "main" else old
        number = 0
        while new in target or new in renamed.values() or (new != old and new in source):
            new, number = f"{wanted}_{number}", number + 1
        if new != old:
            source.set_symbol_name(op, new)
            source.replace_all_symbol_uses(old, new, src_module.operation)
        renamed[old] = new
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    for op in functions:
        dst_module.body.append(op)
        target.insert(op)
    return renamed["main"]


def shape_tensor(ctx: Any, sizes: Sequence[Any]) -> Any:
    """A 1-d tensor of sizes, each a number or a 0-d tensor."""
    def one(d: Any) -> Any:
        if isinstance(d, _jaxlib.ir.Value):
            made = _jaxlib.ir.RankedTensorType.get([1], d.type.element_type)
            return _jaxlib.ir.Operation.create("stablehlo.reshape", [made], [d]).result
        return _ir_constant(np.array([d], np.int32))
    if all(not isinstance(d, _jaxlib.ir.Value) for d in sizes):
        return _ir_constant(np.array(list(sizes), np.int32))
    return _builders.concatenate([one(d) for d in sizes], 0)


def custom_call(call_target_name: str, *, result_types: Sequence[Any], operands: Sequence[Any], backend_config: Any = None,
                has_side_effect: bool = False, result_shapes: Any = None, called_computations: Sequence[str] = (),
                api_version: int = 2, operand_output_aliases: dict[int, int] | None = None, operand_layouts: Any = None,
                result_layouts: Any = None, extra_attributes: dict[str, Any] | None = None) -> Any:
    """A call of foreign code; see StableHLO's ``custom_call``. Returns the operation's results as a list.

    ``operand_output_aliases`` maps operands to the results that take over their memory. ``result_shapes`` is not
    supported.
    """
    if result_shapes is not None:
        raise NotImplementedError("custom_call: result_shapes (dynamic shapes) are not supported")
    if isinstance(backend_config, dict):
        backend_config = {k: ir_attribute(v) for k, v in backend_config.items()}
    aliases = {out: operand for operand, out in (operand_output_aliases or {}).items()}
    return _builders.custom_call(
        call_target_name, operands, result_types, backend_config="" if backend_config is None else backend_config,
        has_side_effect=has_side_effect, api_version=api_version, called_computations=called_computations,
        operand_layouts=operand_layouts, result_layouts=result_layouts, output_operand_aliases=aliases,
        extra=extra_attributes)


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
    "ConstantHandler", "DEVICE_TO_DEVICE_TYPE", "LoweringParameters", "LoweringResult", "LoweringRule",
    "LoweringRuleContext", "Mesh", "ModuleContext", "RECV_FROM_HOST_TYPE", "ReplicaAxisContext", "SEND_TO_HOST_TYPE",
    "SPMDAxisContext", "ShardingContext", "TokenSet", "aval_to_ir_type", "aval_to_ir_types", "cache_lowering",
    "core_call_lowering", "custom_call", "dense_bool_array", "dense_bool_elements", "dense_int_array", "dense_int_elements",
    "dtype_to_ir_type", "emit_python_callback", "flatten_ir_types", "flatten_ir_values", "flatten_lowering_ir_args",
    "i32_attr", "i64_attr", "ir_attribute", "ir_constant", "ir_constants", "ir_tree_registry", "ir_type_handlers",
    "jaxpr_subcomp", "lower_fun", "lower_jaxpr_to_fun", "lower_jaxpr_to_module", "lowerable_effects", "make_ir_context",
    "merge_mlir_modules", "module_to_bytecode", "module_to_string", "register_constant_handler", "register_lowering",
    "shape_tensor", "token_type", "unflatten_ir_values_like_types", "xla_computation_to_mlir_module",
]
