"""Forward-mode differentiation: a trace that carries tangents beside primals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import config
from jax._base.caching import weak_cache
from jax._ground.structural import add_tangents, instantiate_zeros
from jax._language import rules
from jax._language.avals import typeof
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Trace, Tracer, check_leaks, current_trace, run_in, run_rule
from jax._language.zeros import Zero

__all__ = ["JVPTrace", "JVPTracer", "jvp_flat", "jvp_jaxpr", "add_tangents", "instantiate_zeros"]


class DualTracer(Tracer):
    """A primal value with its tangent; Python may look at the primal where it is known."""

    __slots__ = ("primal", "tangent", "aval")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = typeof(primal)

    def _concrete(self) -> Any:
        return concrete_of(self.primal)

    def _origin_msg(self) -> str:
        return self.primal._origin_msg() if isinstance(self.primal, Tracer) else ""


class JVPTracer(DualTracer):
    """A dual number whose tangent is a value."""

    __slots__ = ()


def concrete_of(value: Any) -> Any:
    return value._concrete() if isinstance(value, Tracer) else value


class JVPTrace(Trace):
    """Applies jvp rules; operations without active tangents go to the parent unchanged."""

    __slots__ = ("parent", "finished")

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.staged = parent.staged
        self.finished = False

    def is_finished(self) -> bool:
        return self.finished

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        primals, tangents, active = [], [], False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = active or type(x.tangent) is not Zero
            else:
                primals.append(x)
                tangents.append(None)
        if active:
            tangents = [Zero.from_primal_value(p) if t is None else t for p, t in zip(primals, tangents, strict=True)]
        return primals, tangents, active

    def wrap(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_rule(self.parent, prim.bind, tuple(primals), params)
        rule = rules.primitive_jvps.get(prim)
        if rule is None:
            raise NotImplementedError(no_rule_message("forward-mode differentiation", "jvp", prim))
        out, tangent = run_rule(self.parent, rule, (primals, tangents), params)
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, tangent, strict=True)]
        return self.wrap(out, tangent)

    def process_ref(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not prim.makes:
            return self.process(prim, args, params)
        # It has a tangent from the start, whatever is first in it.
        primals, _, _ = self.split(args)
        tangents = [x.tangent if type(x) is JVPTracer and x._trace is self else Zero.from_primal_value(p)
                    for x, p in zip(args, primals, strict=True)]
        return self.wrap(*run_rule(self.parent, rules.primitive_jvps[prim], (primals, tangents), params))

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, jvp, *primals, **params)
        outs, out_tangents = run_in(self.parent, apply_custom_jvp, jvp, primals, tangents, params)
        return [self.wrap(p, t) for p, t in zip(outs, out_tangents, strict=True)]

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, fwd, bwd, *primals, **params)
        outs, out_tangents = run_in(self.parent, prim.jvp_of_vjp, fun, fwd, bwd, primals, tangents, params)
        return [self.wrap(p, t) for p, t in zip(outs, out_tangents, strict=True)]


def apply_custom_jvp(jvp: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Calls a user's jvp rule (flat primals and tangents to flat outs and tangents)."""
    if not params.get("symbolic_zeros"):
        tangents = [instantiate_zeros(t) for t in tangents]
    return jvp(primals, tangents)


def no_rule_message(what: str, table: str, prim: Any) -> str:
    return (f"{what} of the primitive {prim.name!r} is not defined: it has no {table} rule. "
            f"Wrap its use in jax.custom_jvp / jax.custom_vjp, or register the rule through jax.interpreters.")


def jvp_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any],
             ) -> tuple[list[Any], list[Any]]:
    """Runs ``fun`` (flat to flat) with tangents; tangents in and out may be :class:`Zero`."""
    trace = JVPTrace(current_trace.get())
    args = [trace.wrap(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        outs = run_in(trace, fun, *args)
    finally:
        trace.finished = True
    result = split_outs(trace, outs)
    if config.check_tracer_leaks.value:
        args = outs = None  # type: ignore[assignment]
        check_leaks(trace, "a function under jvp")
    return result


def split_outs(trace: JVPTrace, outs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    primals_out, tangents_out = [], []
    for x in outs:
        if type(x) is JVPTracer and x._trace is trace:
            primals_out.append(x.primal)
            tangents_out.append(x.tangent)
        else:
            primals_out.append(x)
            try:
                tangents_out.append(Zero.from_primal_value(x))
            except TypeError:  # not an array: allowed for auxiliary outputs, refused by callers elsewhere
                tangents_out.append(None)
    return primals_out, tangents_out


def jvp_jaxpr(closed: ClosedJaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool],
              ) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr of the jvp.

    It takes all primals and then one tangent for each ``True`` of ``nonzeros``; it returns all primal outputs and then
    the tangents of the outputs that ``out_nonzeros`` (the second result) marks. ``instantiate`` forces those.
    """
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _jvp_jaxpr(closed, tuple(nonzeros), force)


@weak_cache
def _jvp_jaxpr(closed: ClosedJaxpr, nonzeros: tuple[bool, ...], force: tuple[bool, ...],
               ) -> tuple[ClosedJaxpr, list[bool]]:
    in_avals = closed.in_avals
    n = len(in_avals)
    tangent_avals = [a.to_tangent_aval() for a, nz in zip(in_avals, nonzeros, strict=True) if nz]
    out_nonzeros: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        given = iter(args[n:])
        tangents = [next(given) if nz else Zero(a.to_tangent_aval())
                    for a, nz in zip(in_avals, nonzeros, strict=True)]
        outs, out_tangents = jvp_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args[:n], tangents)
        out_tangents = [instantiate_zeros(t) if f else t for t, f in zip(out_tangents, force, strict=True)]
        out_nonzeros.extend(type(t) is not Zero for t in out_tangents)
        return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

    new, consts = trace_to_jaxpr(fun, [*in_avals, *tangent_avals],
                                 closed.jaxpr.debug_info._replace(arg_names=None, traced_for="jvp"))
    return ClosedJaxpr(new, consts), out_nonzeros
