"""Functions of a module, and lowering rules made of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import _jaxlib, caching
from jax._language.effects import ordered_effects
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import trace_to_jaxpr
from jax._lowering.consts import captured_consts
from jax._lowering.context import LoweringContext, ModuleContext, Scope, TokenSet, no_tokens
from jax._lowering.emit import constant_value, emit_jaxpr, emit_with_tokens
from jax._lowering.rules import Rule
from jax._lowering.types import flat_symbol, ir_type, string_attr
from jax.tree_util import tree_leaves


def build_function(module: ModuleContext, name: str, in_types: Sequence[Any], out_types: Sequence[Any],
                   fill: Callable[[Sequence[Any]], Sequence[Any]], *, public: bool = False,
                   arg_attrs: Sequence[dict[str, Any]] | None = None,
                   result_attrs: Sequence[dict[str, Any]] | None = None,
                   arg_locations: Sequence[Any] | None = None) -> str:
    """Adds ``func.func`` to the module; ``fill`` gets its arguments and returns its results. Returns the symbol."""
    ir = _jaxlib.ir
    symbol = module.fresh_symbol(name)
    attrs = {"sym_name": string_attr(symbol), "sym_visibility": string_attr("public" if public else "private"),
             "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(in_types), list(out_types)))}
    if arg_attrs is not None and any(arg_attrs):
        attrs["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in arg_attrs])
    if result_attrs is not None and any(result_attrs):
        attrs["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in result_attrs])
    operation = ir.Operation.create("func.func", (), (), attrs, None, 1, ip=ir.InsertionPoint(module.body))
    locations = arg_locations or [module.state.unknown] * len(in_types)
    block = ir.Block.create_at_start(operation.regions[0], list(in_types), list(locations))
    with ir.InsertionPoint(block):
        results = fill(block.arguments)
        ir.Operation.create("func.return", (), list(results))
    return symbol


def call_function(symbol: str, out_types: Sequence[Any], operands: Sequence[Any],
                  frontend: dict[str, str] | None = None) -> list[Any]:
    """``func.call @symbol(operands)``, with attributes for the compiler if there are any."""
    attrs = {"callee": flat_symbol(symbol)}
    if frontend:
        attrs["mhlo.frontend_attributes"] = _jaxlib.ir.DictAttr.get({k: string_attr(v) for k, v in frontend.items()})
    operation = _jaxlib.ir.Operation.create("func.call", list(out_types), list(operands), attrs)
    return list(operation.results)


APART = {"inlineable": "false"}  # otherwise XLA writes the call out in its caller


def call_shared(module: ModuleContext, key: tuple[Any, ...], out_types: Sequence[Any], operands: Sequence[Any],
                fill: Callable[[Sequence[Any]], Sequence[Any]], frontend: dict[str, str] | None = None) -> list[Any]:
    """Calls the function that ``fill`` writes, once per module and ``key``, of which the first part is its name."""
    found = module.functions.get(key)
    if found is None:
        found = module.functions[key] = build_function(module, key[0], [x.type for x in operands], out_types, fill)
    return call_function(found, out_types, operands, frontend)


def call_jaxpr(ctx: LoweringContext, name: str, closed: ClosedJaxpr, operands: Sequence[Any],
               frontend: dict[str, str] | None = None) -> list[Any]:
    """Calls ``closed`` as a private function, written once per module however often it is called.

    ``frontend`` are attributes of the call for the compiler.
    Ordered effects take their tokens from ``ctx`` and leave them there.
    """
    module, jaxpr = ctx.module_context, closed.jaxpr
    ordered = sorted(ordered_effects.filter_in(jaxpr.effects), key=str) if jaxpr.effects else []
    captured = captured_consts(closed)
    manual = ctx.scope.manual
    key = (jaxpr, tuple(map(id, closed.consts)), name, ctx.platforms, manual, module.state.loops > 0)
    found = module.functions.get(key)
    tokens = [ctx.tokens_in.get(e) for e in ordered]
    held = [constant_value(ctx, value, aval) for value, aval in captured]
    arguments = [*tokens, *held, *operands]
    if found is None:
        token_types = [t.type for t in tokens]
        out_types = [*token_types, *(ir_type(a) for a in closed.out_avals)]

        def fill(args: Sequence[Any]) -> Sequence[Any]:
            scope = Scope(manual)
            scope.consts = {id(value): args[len(tokens) + i] for i, (value, _) in enumerate(captured)}
            inner = LoweringContext(module, None, closed.in_avals, closed.out_avals, no_tokens,
                                    (*ctx.name_stack, f"jit({name})"), None, scope, ctx.platforms)
            incoming = TokenSet(zip(ordered, args, strict=False))
            outs, outgoing = emit_with_tokens(inner, jaxpr, closed.consts, args[len(tokens) + len(captured):], incoming)
            return [*(outgoing.get(e) for e in ordered), *outs]

        in_types = [a.type for a in arguments]
        symbol = build_function(module, name, in_types, out_types, fill)
        # The constants are part of the key by identity, so the entry keeps them alive.
        found = module.functions[key] = (symbol, out_types, closed.consts)
    results = call_function(found[0], found[1], arguments, frontend)
    if ordered:
        ctx.set_tokens_out(TokenSet(zip(ordered, results, strict=False)))
    return results[len(ordered):]


def call_rule(ctx: LoweringContext, rule: Callable[..., Any], operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """``rule`` as a private function that is written once per types and parameters."""
    module = ctx.module_context
    try:
        key = (rule, ctx.primitive, tuple(ctx.avals_in), tuple(ctx.avals_out), tuple(params.items()), ctx.platforms,
               ctx.scope.manual, module.state.loops > 0)
        found = module.functions.get(key)
    except TypeError:
        return rule(ctx, *operands, **params)
    if found is None:
        out_types = [ir_type(a) for a in ctx.avals_out]
        inner = ctx.replace(scope=Scope(ctx.scope.manual), eqn=None, tokens_in=no_tokens)

        def fill(args: Sequence[Any]) -> Sequence[Any]:
            outs = rule(inner, *args, **params)
            return (outs,) if isinstance(outs, _jaxlib.ir.Value) else outs

        name = ctx.primitive.name if ctx.primitive is not None else getattr(rule, "__name__", "f")
        in_types = [x.type for x in operands]
        found = module.functions[key] = (build_function(module, name, in_types, out_types, fill), out_types)
    return call_function(found[0], found[1], operands)


# --- rules made of Python functions --------------------------------------------------------------------------------

_traced: dict[Any, Any] = {}
caching.register_cache(_traced.clear, name="jax._lowering.rules.traced")


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """A rule that lowers whatever ``fun(*operands, **params)`` computes; it may use any JAX function.

    With ``multiple_results`` the function returns a sequence, else one array.
    """
    def rule(ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        jaxpr, consts = trace_rule(fun, tuple(ctx.avals_in), params)
        return emit_jaxpr(ctx, jaxpr, consts, operands, ctx.eqn)

    rule.__name__ = f"lower_fun({getattr(fun, '__name__', 'fun')})"
    return rule


def trace_rule(fun: Callable[..., Any], avals: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The jaxpr of ``fun`` on ``avals``, remembered where the parameters can be hashed."""
    key: Any = (fun, avals, tuple(params.items()), caching.trace_context())
    try:
        found = _traced.get(key)
    except TypeError:
        key, found = None, None
    if found is None:
        found = trace_to_jaxpr(lambda *xs: tree_leaves(fun(*xs, **params)), avals)
        if key is not None:
            if len(_traced) > 1024:
                _traced.clear()
            _traced[key] = found
    return found


def cache_lowering(rule: Rule) -> Rule:
    """``rule`` emitted once per module, operand types and parameters, as a function that is then called.

    For rules that write many operations. They may not use ``ctx.eqn`` or tokens.
    """
    def cached(ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return call_rule(ctx, rule, operands, params)

    return cached
