"""The emission loop: equations become operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import _jaxlib, source
from jax._language.avals import ShapedArray, physical_aval
from jax._language.effects import ordered_effects
from jax._language.jaxpr import Jaxpr, JaxprEqn, Literal
from jax._language.rules import primitive_batchers
from jax._language.staging import trace_to_jaxpr
from jax._lowering import rules
from jax._lowering.context import LoweringContext, MlirState, ModuleContext, Scope, TokenSet, no_tokens
from jax._lowering.hlo.shape import broadcast_elementwise, transpose
from jax._lowering.types import (
    constant_array,
    constant_makers,
    constant_op,
    elements_attr,
    full,
    ir_constant,
    ir_type,
    string_attr,
)

_render = source.render_names
_REAL_SCALARS = (int, float, bool)


def emit_jaxpr(ctx: LoweringContext, jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any],
               at: JaxprEqn | None = None) -> list[Any]:
    """Writes the equations of ``jaxpr`` at the insertion point; ``consts`` are values of Python, operands of MLIR.

    Ordered effects take their tokens from ``ctx`` and leave them there. All operations get the source line of ``at``,
    where given: that of the equation in whose place the jaxpr, a part of a rule, stands.
    """
    if jaxpr.effects:
        needed = list(ordered_effects.filter_in(jaxpr.effects))
        if needed:
            outs, tokens = emit_with_tokens(ctx, jaxpr, consts, operands, ctx.tokens_in.subset(needed), at)
            ctx.set_tokens_out(tokens)
            return outs
    return emit_with_tokens(ctx, jaxpr, consts, operands, no_tokens, at)[0]


def emit_with_tokens(ctx: LoweringContext, jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any],
                     tokens: TokenSet, at: JaxprEqn | None = None) -> tuple[list[Any], TokenSet]:
    """:func:`emit_jaxpr` with the tokens given and returned."""
    body = Body(ctx.module_context, ctx.scope, ctx.name_stack, ctx.platforms)
    if at is not None:
        body.traceback = at.source_info.traceback
    env = body.env
    for var, value in zip(jaxpr.constvars, consts, strict=True):
        env[var] = constant_value(ctx, value, var.aval)
    for var, operand in zip(jaxpr.invars, operands, strict=True):
        env[var] = operand
    body.tokens = tokens
    try:
        body.emit(jaxpr.eqns)
    except Exception as error:
        _say_where(error, body.eqn)
        raise
    return [body.read(v) for v in jaxpr.outvars], body.tokens


def constant_value(ctx: LoweringContext, value: Any, aval: Any) -> Any:
    """A closed-over value as an operand: an argument of the function for large arrays, else a constant."""
    found = ctx.scope.consts.get(id(value))
    if found is not None:
        return found
    if isinstance(value, _jaxlib.ir.Value):
        return value
    make = constant_makers.get(type(value))
    if make is not None:
        return make(value, aval)
    return constant_op(elements_attr(constant_array(value, aval)))


class Body:
    """One block being filled: the values of variables, the constants written so far, the tokens."""

    __slots__ = ("module", "scope", "prefix", "platforms", "env", "literals", "tokens", "state",
                 "traceback", "overrides", "eqn", "tagging")

    def __init__(self, module: ModuleContext, scope: Scope, prefix: Any, platforms: tuple[str, ...]) -> None:
        self.module = module
        self.scope = scope
        self.prefix = prefix
        self.platforms = platforms
        self.env: dict[Any, Any] = {}
        self.literals: dict[Any, Any] = {}
        self.tokens = no_tokens
        self.state: MlirState = module.state
        self.traceback: Any = None
        self.overrides = rules.platform_rules(platforms)
        if module.overrides:
            self.overrides = {**self.overrides, **module.overrides}
        self.eqn: JaxprEqn | None = None  # the last one that a rule lowered
        self.tagging = False

    def read(self, atom: Any) -> Any:
        if type(atom) is Literal:
            return self.literal(atom, None)
        return self.env[atom]

    def literal(self, atom: Literal, aval: Any) -> Any:
        """A literal, of its own type or spread over the shape of ``aval``; equal ones share one operation."""
        val, own = atom.val, atom.aval
        shape = own.shape if aval is None else aval.shape
        cls = type(val)
        # Zeros of either sign compare equal, so their text tells them apart.
        if cls in _REAL_SCALARS:
            key: Any = (val if val else str(val), own.dtype, shape)
        else:
            key = ((val if cls is np.ndarray else constant_array(val, own)).tobytes(), own.dtype, shape)
        found = self.literals.get(key)
        if found is None:
            if isinstance(own.dtype, np.dtype):
                found = full(val, shape, own.dtype)
            else:
                found = ir_constant(val, own)
            self.literals[key] = found
        return found

    def emit(self, eqns: Sequence[JaxprEqn]) -> None:
        """The loop. Most equations are one element-wise operation; those are written right here."""
        env, state = self.env, self.state
        types, locate, names = state.types, state.locations, state.names
        name_location = _jaxlib.ir.Location.name
        create = _jaxlib.ir.Operation.create
        elementwise, overrides = rules.elementwise_ops, self.overrides
        prefix, context = self.prefix, state.context
        state.equations += len(eqns)
        last_source = loc = None
        fixed = self.traceback
        for eqn in eqns:
            prim = eqn.primitive
            traceback, stack = eqn.source_info
            if fixed is not None:
                traceback = fixed
            if traceback is not last_source or loc is None:
                loc = locate(traceback) if traceback is not None else state.unknown
                last_source = traceback
            key = (prefix, stack, prim)
            label = names.get(key)
            if label is None:
                label = names[key] = _label(prefix, stack, prim)
            if type(label) is not str and not self.tagging:
                self._emit_tagged(eqn, label)
                continue
            here = name_location(label, loc, context)
            operation = elementwise.get(prim)
            if operation is None or prim in overrides or (eqn.params and _has_settings(eqn.params)):
                with here:
                    self._by_rule(eqn)
                continue
            out = eqn.outvars[0]
            aval = out.aval
            shape = aval.shape
            values = []
            for v in eqn.invars:
                if type(v) is Literal:
                    values.append(self.literal(v, aval))
                elif v.aval.shape == shape:
                    values.append(env[v])
                else:
                    with here:
                        values.append(broadcast_elementwise(env[v], v.aval, shape))
            typ = types.get(aval)
            if typ is None:
                typ = ir_type(aval)
            env[out] = create(operation, (typ,), values, None, None, 0, here).result

    def _emit_tagged(self, eqn: JaxprEqn, label: Any) -> None:
        """One equation, and its attributes for the compiler on all operations that come of it, constants aside."""
        self.tagging = True
        try:
            self.emit((eqn,))
        finally:
            self.tagging = False
        given = [self.env[v] if type(v) is not Literal else None for v in eqn.invars]
        done = {*[v for v in given if v is not None], *self.literals.values()}
        todo = [self.env[v] for v in eqn.outvars]
        while todo:
            value = todo.pop()
            if value in done or isinstance(value.owner, _jaxlib.ir.Block):
                continue
            operation = value.owner.operation
            done.update(operation.results)
            if operation.name != "stablehlo.constant":
                add_frontend_attributes(operation, label.tags)
            todo.extend(operation.operands)

    def _by_rule(self, eqn: JaxprEqn) -> None:
        prim = eqn.primitive
        self.eqn = eqn
        avals_in = [v.aval for v in eqn.invars]
        avals_out = [v.aval for v in eqn.outvars]
        values = [self.read(v) for v in eqn.invars]
        tokens = no_tokens
        if eqn.effects:
            ordered = ordered_effects.filter_in(eqn.effects)
            if ordered:
                tokens = self.tokens.subset(ordered)
        ctx = LoweringContext(self.module, prim, avals_in, avals_out, tokens,
                              (*self.prefix, *eqn.source_info.name_stack), eqn, self.scope, self.platforms)
        if prim in rules.extended_by_batching and _touches_extended(avals_in, avals_out):
            outs = lower_by_batching(ctx, values, eqn.params)
        else:
            rule = self.overrides.get(prim) or rules.lowerings.get(prim)
            if rule is None:
                raise rules.missing_rule(prim, self.platforms)
            outs = rule(ctx, *values, **eqn.params)
        if len(tokens):
            if ctx.tokens_out is None:
                raise RuntimeError(f"the lowering rule of {prim} has ordered effects but did not call set_tokens_out")
            self.tokens = self.tokens.update_tokens(ctx.tokens_out)
        self._bind(eqn, outs)

    def _bind(self, eqn: JaxprEqn, outs: Any) -> None:
        outvars = eqn.outvars
        if type(outs) is list and len(outs) == len(outvars) == 1:
            self.env[outvars[0]] = outs[0]
            return
        if isinstance(outs, _jaxlib.ir.Value):
            outs = (outs,)
        try:
            count = len(outs)
        except TypeError:
            raise TypeError(f"the lowering rule of {eqn.primitive} returned {type(outs).__name__}; it must return a "
                            "sequence of MLIR values, one per result") from None
        if count != len(outvars):
            raise ValueError(f"the lowering rule of {eqn.primitive} returned {count} values for {len(outvars)} results")
        env = self.env
        for v, out in zip(outvars, outs, strict=True):
            env[v] = out


def _say_where(error: Exception, eqn: JaxprEqn | None) -> None:
    """Adds the user's line to an error of a lowering rule, once."""
    start = "The error came up when lowering"
    if eqn is not None and not any(n.startswith(start) for n in getattr(error, "__notes__", ())):
        error.add_note(f"{start} the operation {eqn.primitive}, made at {source.summarize(eqn.source_info.traceback)}.")


def _has_settings(params: dict[str, Any]) -> bool:
    """Whether an element-wise equation asks for more than its plain operation (an accuracy, a result type)."""
    for value in params.values():
        if value is not None:
            return True
    return False


class TaggedLabel(str):
    """The name of an operation that has attributes for the compiler."""

    tags: dict[str, str]


def _label(prefix: Any, stack: Any, prim: Any) -> str:
    names = (*prefix, *stack, prim.name)
    text = _render(names)
    tags = source.tags_of(names)
    if tags:
        text = TaggedLabel(text)
        text.tags = tags
    return text


def add_frontend_attributes(operation: Any, attributes: dict[str, str]) -> None:
    """Attributes for the compiler on an operation of MLIR, which keeps those that it has."""
    name = "mhlo.frontend_attributes"
    held = operation.attributes
    found = {entry.name: entry.attr for entry in held[name]} if name in held else {}
    held[name] = _jaxlib.ir.DictAttr.get({**{k: string_attr(v) for k, v in attributes.items()}, **found})


# --- extended dtypes -----------------------------------------------------------------------------------------------

def _touches_extended(avals_in: Sequence[Any], avals_out: Sequence[Any]) -> bool:
    extended = dtypes.ExtendedDType
    return (any(isinstance(getattr(a, "dtype", None), extended) for a in avals_out)
            or any(isinstance(getattr(a, "dtype", None), extended) for a in avals_in))


def lower_by_batching(ctx: LoweringContext, values: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """An equation on arrays of an extended dtype as the batched equation on the arrays that carry them.

    The block of each element is the batch, in the trailing dimension.
    """
    prim = ctx.primitive
    batcher = primitive_batchers.get(prim)
    if batcher is None:
        raise NotImplementedError(f"{prim} has no batching rule, so it cannot be applied to arrays of extended dtypes")
    physical, dims = [], []
    for aval in ctx.avals_in:
        plain = physical_aval(aval)
        extra = len(plain.shape) - len(aval.shape)
        if extra > 1:
            raise NotImplementedError(f"{prim} on {aval}: elements of more than one dimension")
        physical.append(plain)
        dims.append(len(aval.shape) if extra else None)
    landed: list[Any] = []

    def batched(*xs: Any) -> Any:
        if all(d is None for d in dims):  # each element is carried by one plain element
            out = prim.bind(*xs, **params)
            out_dims: Any = [None] * len(out) if prim.multiple_results else None
        else:
            out, out_dims = batcher(xs, dims, **params)
        if not prim.multiple_results:
            out, out_dims = [out], [out_dims]
        landed[:] = out_dims
        return out

    jaxpr, consts = trace_to_jaxpr(batched, physical)
    outs = emit_jaxpr(ctx.replace(avals_in=physical), jaxpr, consts, values, ctx.eqn)
    for i, (aval, dim) in enumerate(zip(ctx.avals_out, landed, strict=True)):
        last = len(aval.shape)
        if dim is not None and dim != last:
            order = [d for d in range(last + 1) if d != dim] + [dim]
            plain = physical_aval(aval)
            outs[i] = transpose(outs[i], ShapedArray(plain.shape, plain.dtype), order)
    return outs
