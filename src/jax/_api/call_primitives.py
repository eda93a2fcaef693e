"""Primitives that call a jaxpr: ``call_p``, ``closed_call_p``, and those that libraries make in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.jit_primitive import transposed_jaxpr
from jax._api.traced_calls import hoist_tracers
from jax._dispatch.eager import operation
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import call_discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Var
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import call_jaxpr as lower_call
from jax._transforms import partial
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_closed
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules


class CallPrimitive(Primitive):
    """A primitive whose parameter ``call_jaxpr`` says what it computes: a closed jaxpr, or an open one without constants.

    ``bind(fun, *args)`` traces a function of leaves (a ``WrappedFun`` or a plain one) first.
    """

    __slots__ = ("closed", "of_derivative")

    def __init__(self, name: str, closed: bool = True) -> None:
        super().__init__(name, multiple_results=True)
        self.call_primitive = True
        self.abstract_cache = None
        self.closed = closed
        # The parameters of what differentiation makes of a call, from those of the call.
        self.of_derivative: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def bind(self, *args: Any, **params: Any) -> Any:
        if "call_jaxpr" in params:
            return super().bind(*args, **params)
        fun, *values = args
        run = getattr(fun, "call_wrapped", fun)
        info = DebugInfo(self.name, getattr(fun, "__name__", None))
        jaxpr, consts = trace_to_jaxpr(run, [typeof(x) for x in values], info)
        if self.closed:
            jaxpr, consts, hoisted = hoist_tracers(jaxpr, consts)
        else:
            jaxpr = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars], effects=jaxpr.effects)
            hoisted, consts = list(consts), []
        return super().bind(*hoisted, *values, call_jaxpr=self.wrapped(ClosedJaxpr(jaxpr, consts)), **params)

    def wrapped(self, closed: ClosedJaxpr) -> Any:
        """The parameter for a program."""
        if self.closed:
            return closed
        if closed.consts:
            raise ValueError(f"the jaxpr of {self.name} is open, and this program has constants")
        return closed.jaxpr

    def program(self, call_jaxpr: Any) -> ClosedJaxpr:
        """The program in the parameter."""
        return call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else _closed(call_jaxpr)


def _closed(jaxpr: Jaxpr) -> ClosedJaxpr:
    return ClosedJaxpr(jaxpr, ())


def create_call_primitive(name: str, inline_jax_late: bool = False) -> CallPrimitive:
    """A primitive that calls the closed jaxpr in its parameter ``call_jaxpr``, with all rules.

    ``inline_jax_late`` is accepted for compatibility: the compiler decides about inlining.
    """
    prim = CallPrimitive(name)
    register_call_primitive_rules(prim, name, inline_jax_late=inline_jax_late)
    return prim


def register_call_primitive_rules(prim: Any, name: str | None = None, transpose_rule: Any = None,
                                  inline_jax_late: bool = False) -> None:
    """Gives a primitive with a parameter ``call_jaxpr`` the rules of a call.

    Args:
      prim: its ``multiple_results`` is true.
      name: of the function in lowered programs.
      transpose_rule: in place of :func:`eval_jaxpr_transpose`, without its first argument.
      inline_jax_late: accepted for compatibility.
    """
    label = name or prim.name
    program = getattr(prim, "program", _program)
    wrapped = getattr(prim, "wrapped", lambda closed: closed)
    prim.abstract_cache = None
    prim.def_effectful_abstract_eval(lambda *avals, call_jaxpr, **params: (program(call_jaxpr).out_avals,
                                                                           call_jaxpr.effects))
    prim.def_impl(lambda *args, **params: operation(prim, params)(*args))
    register_lowering(prim, lambda ctx, *values, call_jaxpr, **params: lower_call(ctx, label, program(call_jaxpr), values),
                      cacheable=False)
    rule = _Rules(prim, program, wrapped)
    rules.discharge_rules[prim] = lambda args, params: call_discharged(
        program(params["call_jaxpr"]), args, lambda closed, values: prim.bind(*values, **dict(
            params, call_jaxpr=wrapped(closed))))
    rules.primitive_jvps[prim] = rule.jvp
    split_rules[prim] = rule.split
    rules.primitive_transposes[prim] = transpose_rule or (
        lambda cts, *args, call_jaxpr, **params: eval_jaxpr_transpose(prim, cts, *args, call_jaxpr=call_jaxpr, **params))
    rules.fancy_primitive_batchers[prim] = rule.batch
    rules.partial_eval_rules[prim] = rule.partial
    rules.dce_rules[prim] = rule.dce


def _program(call_jaxpr: Any) -> ClosedJaxpr:
    return call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else _closed(call_jaxpr)


def eval_jaxpr_transpose(prim: Any, ct: Sequence[Any], *args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    """The transpose rule of a call: ``prim`` calls the transpose of its jaxpr."""
    linear = tuple(type(x) is UndefinedPrimal for x in args)
    nonzero = tuple(type(c) is not Zero for c in ct)
    transposed, zero = transposed_jaxpr(_program(call_jaxpr), linear, nonzero)
    wrapped = getattr(prim, "wrapped", lambda closed: closed)
    outs = iter(prim.bind(*[x for x in args if type(x) is not UndefinedPrimal], *[c for c in ct if type(c) is not Zero],
                          call_jaxpr=wrapped(transposed), **params))
    kinds = iter(zero)
    return [None if not lin else Zero(x.aval.to_cotangent_aval()) if next(kinds) else next(outs)
            for x, lin in zip(args, linear, strict=True)]


class _Rules:
    """The rules of one call primitive."""

    __slots__ = ("prim", "program", "wrapped")

    def __init__(self, prim: Any, program: Any, wrapped: Any) -> None:
        self.prim = prim
        self.program = program
        self.wrapped = wrapped

    def jvp(self, primals: Any, tangents: Any, *, call_jaxpr: Any, **params: Any) -> Any:
        closed = self.program(call_jaxpr)
        new, nonzero = jvp_jaxpr(closed, [type(t) is not Zero for t in tangents], False)
        given = [t for t in tangents if type(t) is not Zero]
        outs = self.prim.bind(*primals, *given, call_jaxpr=self.wrapped(new), **params)
        n = len(nonzero)
        rest = iter(outs[n:])
        return outs[:n], [next(rest) if nz else Zero(a.to_tangent_aval())
                          for nz, a in zip(nonzero, closed.out_avals, strict=True)]

    def derived(self, params: dict[str, Any]) -> dict[str, Any]:
        change = getattr(self.prim, "of_derivative", None)
        return params if change is None else change(params)

    def split(self, trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
        unknown = [trace.is_tangent(x) for x in args]
        parts = partial.partial_eval_jaxpr(self.program(params["call_jaxpr"]), unknown)
        given = [x for x, u in zip(args, unknown, strict=True) if not u]
        known = run_in(trace.parent, self.prim.bind, *given, **dict(params, call_jaxpr=self.wrapped(parts.known)))
        n = len(known) - len(parts.residual_avals)
        outs = trace.tangents.process(
            self.prim, (*known[n:], *[x for x, u in zip(args, unknown, strict=True) if u]),
            dict(self.derived(params), call_jaxpr=self.wrapped(parts.unknown)))
        a, b = iter(known[:n]), iter(outs)
        return [next(b) if u else next(a) for u in parts.out_unknown]

    def batch(self, axis: AxisData, args: Any, dims: Any, *, call_jaxpr: Any, **params: Any) -> Any:
        new, batched = batch_jaxpr_axes(self.program(call_jaxpr), axis, dims, False)
        return self.prim.bind(*args, call_jaxpr=self.wrapped(new), **params), [0 if b else None for b in batched]

    def partial(self, policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
        parts = partial.partial_eval_with_policy(self.program(eqn.params["call_jaxpr"]), unknown, False, policy)
        residuals = [Var(a) for a in parts.residual_avals]
        known_ins = [v for v, u in zip(eqn.invars, unknown, strict=True) if not u]
        known_outs = [v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if not u]
        passed = [known_ins[i] if i is not None else r for r, i in zip(residuals, parts.residual_in, strict=True)]
        known = eqn.replace(invars=known_ins, outvars=[*known_outs, *residuals], effects=parts.known.effects,
                            params=dict(eqn.params, call_jaxpr=self.wrapped(parts.known)))
        unknown_outs = [v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if u]
        rest = None
        if unknown_outs or parts.unknown.effects:
            rest = eqn.replace(invars=[*passed, *[v for v, u in zip(eqn.invars, unknown, strict=True) if u]],
                               outvars=unknown_outs, effects=parts.unknown.effects,
                               params=dict(eqn.params, call_jaxpr=self.wrapped(parts.unknown)))
        saved = [r for r, i in zip(residuals, parts.residual_in, strict=True) if i is None]
        return known, rest, parts.out_unknown, [*saved, *known_outs] if policy is partial.save_everything else saved

    def dce(self, used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        closed = self.program(eqn.params["call_jaxpr"])
        if not any(used_outputs) and not closed.effects:
            return [False] * len(eqn.invars), None
        new, used = dce_closed(closed, used_outputs)
        if new is closed:
            return used, eqn
        return used, eqn.replace(params=dict(eqn.params, call_jaxpr=self.wrapped(new)), effects=new.effects,
                                 invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
                                 outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u])


call_p = CallPrimitive("call", closed=False)
closed_call_p = CallPrimitive("closed_call")
register_call_primitive_rules(call_p)
register_call_primitive_rules(closed_call_p)

__all__ = ["CallPrimitive", "call_p", "closed_call_p", "create_call_primitive", "eval_jaxpr", "eval_jaxpr_transpose",
           "register_call_primitive_rules"]
