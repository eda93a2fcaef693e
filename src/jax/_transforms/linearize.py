"""Linearization: the primal program runs now, its derivative is recorded as a linear jaxpr.

One trace does both. Every jvp rule runs under a :class:`SplitTrace`: operations on known values go to the parent (so
they are evaluated, or staged into the enclosing program), operations that touch a tangent are recorded in the tangent
program, and the known values that these read become its constants: the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import config
from jax._ground.references import get_p, new_ref_p, swap_p
from jax._ground.structural import zeros_of
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import discharged, makes_references
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, no_debug_info
from jax._language.refs import is_ref_type, use
from jax._language.staging import StagedTracer, StagingTrace, staging_trace
from jax._language.trace import Trace, check_leaks, current_trace, run_in, run_rule
from jax._language.zeros import Zero
from jax._transforms.jvp import DualTracer, apply_custom_jvp, no_rule_message
from jax.dtypes import float0


class LinearizeTracer(DualTracer):
    """A dual number whose tangent is a variable of the tangent program."""

    __slots__ = ()

    def _origin_msg(self) -> str:
        return self.tangent._origin_msg() if isinstance(self.tangent, StagedTracer) else ""


class SplitTrace(Trace):
    """Sends known operations to the parent and records the others in the tangent program."""

    __slots__ = ("parent", "tangents")

    def __init__(self, parent: Trace, tangents: StagingTrace) -> None:
        self.parent = parent
        self.staged = parent.staged
        self.tangents = tangents

    def is_finished(self) -> bool:
        return self.tangents.finished

    def is_tangent(self, x: Any) -> bool:
        return type(x) is StagedTracer and x._trace is self.tangents

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        tangents = self.tangents
        for x in args:
            if type(x) is StagedTracer and x._trace is tangents:
                break
        else:
            return run_rule(self.parent, prim.bind, args, params)
        split = split_rules.get(prim)
        if split is not None:
            return split(self, args, params)
        return tangents.process(prim, args, params)

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        if not any(self.is_tangent(x) for x in args):
            return run_in(self.parent, prim.bind, fun, jvp, *args, **params)
        return run_in(self, fun, *args)

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        if not any(self.is_tangent(x) for x in args):
            return run_in(self.parent, prim.bind, fun, fwd, bwd, *args, **params)
        return run_in(self, fun, *args)


# (split_trace, args, params) -> outs, for primitives that hold jaxprs: part of them may be known although some
# arguments are tangents.
split_rules: dict[Any, Callable[..., Any]] = {}


class LinearizeTrace(Trace):
    """Runs primals in the parent and records tangents."""

    __slots__ = ("parent", "tangents", "split_trace")

    def __init__(self, parent: Trace, tangents: StagingTrace) -> None:
        self.parent = parent
        self.staged = parent.staged
        self.tangents = tangents
        self.split_trace = SplitTrace(parent, tangents)

    def is_finished(self) -> bool:
        return self.tangents.finished

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        primals, tangents, active = [], [], False
        for x in args:
            if type(x) is LinearizeTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                primals.append(x)
                tangents.append(None)
        if active:
            tangents = [Zero.from_primal_value(p) if t is None else t for p, t in zip(primals, tangents, strict=True)]
        return primals, tangents, active

    def wrap(self, primal: Any, tangent: Any) -> Any:
        if type(tangent) is Zero:
            return primal
        if type(tangent) is not StagedTracer or tangent._trace is not self.tangents:
            tangent = self.tangents.lift(tangent)
        return LinearizeTracer(self, primal, tangent)

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_rule(self.parent, prim.bind, tuple(primals), params)
        rule = rules.primitive_linearizations.get(prim)
        if rule is not None:
            out, tangent = rule(self, primals, tangents, **params)
        else:
            jvp = rules.primitive_jvps.get(prim)
            if jvp is None:
                raise NotImplementedError(no_rule_message("differentiation", "jvp", prim))
            out, tangent = run_rule(self.split_trace, jvp, (primals, tangents), params)
        if prim.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, tangent, strict=True)]
        return self.wrap(out, tangent)

    def process_ref(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not prim.makes:
            return self.process(prim, args, params)
        # It has a tangent from the start, whatever is first in it. Both are made for the tangent program.
        primals, tangents, _ = self.split(args)
        ref = run_rule(self.parent, prim.bind, tuple(primals), params)
        aval = typeof(ref).to_tangent_aval()
        if aval.dtype == float0:
            return ref
        tangent = next((t for t in tangents if t is not None and type(t) is not Zero), None)
        if tangent is None:
            tangent = run_in(self.tangents, zeros_of, aval.inner_aval)
        labels = {"memory_space": aval.memory_space, "kind": aval.kind}
        return LinearizeTracer(self, ref, self.tangents.process(new_ref_p, (tangent,), labels))

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, jvp, *primals, **params)
        outs, out_tangents = run_in(self.split_trace, apply_custom_jvp, jvp, primals, tangents, params)
        self.check_known(outs)
        return [self.wrap(p, t) for p, t in zip(outs, out_tangents, strict=True)]

    def check_known(self, outs: Sequence[Any]) -> None:
        if any(self.split_trace.is_tangent(x) for x in outs):
            raise TypeError("a custom_jvp rule returned a primal output that depends on the tangents; "
                            "compute primal outputs from primal inputs alone")

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, tangents, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, fwd, bwd, *primals, **params)
        outs, out_tangents = run_in(self.split_trace, prim.jvp_of_vjp, fun, fwd, bwd, primals, tangents, params)
        return [self.wrap(p, t) for p, t in zip(outs, out_tangents, strict=True)]


class Linearized:
    """A linear jaxpr: its arguments are the active input tangents, its constants the residuals.

    Of references among the inputs (``refs``, positions among the arguments) it takes the tangents of their first values;
    the tangents of their last values are its last results.
    """

    __slots__ = ("jaxpr", "consts", "in_avals", "in_nonzero", "out_avals", "out_nonzero", "refs")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], in_avals: list[Any], in_nonzero: list[bool],
                 out_avals: list[Any], out_nonzero: list[bool], refs: tuple[int, ...] = ()) -> None:
        self.refs = refs
        self.jaxpr = jaxpr
        self.consts = consts
        self.in_avals = in_avals
        self.in_nonzero = in_nonzero
        self.out_avals = out_avals
        self.out_nonzero = out_nonzero

    def with_consts(self, consts: list[Any]) -> Linearized:
        """The same program with other residuals, for containers that keep these apart."""
        return Linearized(self.jaxpr, consts, self.in_avals, self.in_nonzero, self.out_avals, self.out_nonzero, self.refs)

    def apply(self, *tangents: Any) -> list[Any]:
        """Pushes tangents (one per input) forward; returns one per output, symbolic zeros included."""
        active = [t for t, nz in zip(tangents, self.in_nonzero, strict=True) if nz]
        given = {i: active[i] for i in self.refs}
        for i, ref in given.items():
            active[i] = get_p.bind(ref, views=())
        results = eval_jaxpr(self.jaxpr, self.consts, *active)
        for ref, new in zip(given.values(), results[len(results) - len(given):], strict=True):
            swap_p.bind(ref, new, views=())
        outs = iter(results)
        return [next(outs) if nz else Zero(a) for a, nz in zip(self.out_avals, self.out_nonzero, strict=True)]


def linearize_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
                   debug_info: DebugInfo = no_debug_info, active: Sequence[bool] | None = None,
                   ) -> tuple[list[Any], Linearized]:
    """Runs ``fun`` at ``primals`` and records its derivative with respect to the ``active`` ones (all by default)."""
    parent = current_trace.get()
    tangent_trace = staging_trace(debug_info, parent)
    trace = LinearizeTrace(parent, tangent_trace)
    primal_avals = [typeof(p) for p in primals]
    in_avals = [a.to_tangent_aval() for a in primal_avals]
    if active is None:
        active = [True] * len(primals)
    args = [LinearizeTracer(trace, p, tangent_trace.new_arg(a)) if act else p
            for p, a, act in zip(primals, in_avals, active, strict=True)]
    try:
        results = run_in(trace, fun, *args)
        outs, out_tangents, out_avals, out_nonzero = [], [], [], []
        for x in results:
            live = type(x) is LinearizeTracer and x._trace is trace
            outs.append(x.primal if live else x)
            out_avals.append(_tangent_aval(outs[-1]))
            out_nonzero.append(live)
            if live:
                out_tangents.append(x.tangent)
        jaxpr, consts = tangent_trace.finish(out_tangents)
    finally:
        tangent_trace.finished = True
    if config.check_tracer_leaks.value:
        args = results = x = None  # type: ignore[assignment]
        check_leaks(trace, f"{debug_info.func_name}, which was differentiated by {debug_info.traced_for}")
    refs: tuple[int, ...] = ()
    if use.begun:
        jaxpr, consts, refs = _without_references(jaxpr, consts)
    in_avals = [_weak_as(p, a) for p, a in zip(primal_avals, in_avals, strict=True)]
    return outs, Linearized(jaxpr, consts, in_avals, list(active), out_avals, out_nonzero, refs)


def _without_references(jaxpr: Jaxpr, consts: list[Any]) -> tuple[Jaxpr, list[Any], tuple[int, ...]]:
    """A tangent program as one on values: the last values of references that are arguments are results at the end."""
    refs = tuple([i for i, v in enumerate(jaxpr.invars) if is_ref_type(v.aval)])
    if not refs and not makes_references(jaxpr):
        return jaxpr, consts, ()
    pure = discharged(ClosedJaxpr(jaxpr, consts))
    new = pure.closed.jaxpr
    n = len(jaxpr.outvars)
    last = dict(zip(pure.changed, new.outvars[n:], strict=True))
    return new.replace(outvars=[*new.outvars[:n], *(last.get(i, new.invars[i]) for i in refs)],
                       effects=new.effects), pure.closed.consts, refs


def _tangent_aval(x: Any) -> Any:
    """The tangent type of an output; ``None`` for what is no array, which auxiliary outputs may be."""
    try:
        aval = typeof(x)
    except TypeError:
        return None
    return _weak_as(aval, aval.to_tangent_aval())


def _weak_as(primal: Any, tangent: Any) -> Any:
    """The type of a derivative as users see it: with respect to a Python scalar, it gives way in promotion like that one."""
    return tangent.update(weak_type=True) if primal.weak_type and tangent.dtype == primal.dtype else tangent
