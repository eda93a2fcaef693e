"""Linearization: the primal program runs now, its derivative is recorded as a linear jaxpr.

One trace does both. Every jvp rule runs under a :class:`SplitTrace`: operations on known values go to the parent (so
they are evaluated, or staged into the enclosing program), operations that touch a tangent are recorded in the tangent
program, and the known values that these read become its constants: the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base.caching import weak_cache
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.avals import typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Literal, Var, eval_jaxpr, no_debug_info
from jax._language.staging import StagedTracer, StagingTrace, trace_to_jaxpr
from jax._language.trace import Trace, Tracer, current_trace, run_in, run_rule
from jax._language.zeros import Zero
from jax._transforms.jvp import apply_custom_jvp, concrete_of, no_rule_message


class LinearizeTracer(Tracer):
    """A primal value and its tangent, a variable of the tangent program."""

    __slots__ = ("primal", "tangent", "aval")

    def __init__(self, trace: LinearizeTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = typeof(primal)

    def _concrete(self) -> Any:
        return concrete_of(self.primal)

    def _origin_msg(self) -> str:
        return self.primal._origin_msg() if isinstance(self.primal, Tracer) else ""


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
    """A linear jaxpr: its arguments are the active input tangents, its constants the residuals."""

    __slots__ = ("jaxpr", "consts", "in_avals", "in_nonzero", "out_avals", "out_nonzero")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], in_avals: list[Any], in_nonzero: list[bool],
                 out_avals: list[Any], out_nonzero: list[bool]) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.in_avals = in_avals
        self.in_nonzero = in_nonzero
        self.out_avals = out_avals
        self.out_nonzero = out_nonzero

    def apply(self, *tangents: Any) -> list[Any]:
        """Pushes tangents (one per input) forward; returns one per output, symbolic zeros included."""
        active = [t for t, nz in zip(tangents, self.in_nonzero, strict=True) if nz]
        outs = iter(eval_jaxpr(self.jaxpr, self.consts, *active))
        return [next(outs) if nz else Zero(a) for a, nz in zip(self.out_avals, self.out_nonzero, strict=True)]


def linearize_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
                   debug_info: DebugInfo = no_debug_info, active: Sequence[bool] | None = None,
                   ) -> tuple[list[Any], Linearized]:
    """Runs ``fun`` at ``primals`` and records its derivative with respect to the ``active`` ones (all by default)."""
    outs, recorded = _linearize(fun, primals, debug_info, active)
    return outs, recorded


def _linearize(fun: Any, primals: Sequence[Any], debug_info: DebugInfo, active: Any) -> tuple[list[Any], Linearized]:
    parent = current_trace.get()
    tangent_trace = StagingTrace(debug_info, parent)
    trace = LinearizeTrace(parent, tangent_trace)
    in_avals = [typeof(p).to_tangent_aval() for p in primals]
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
    return outs, Linearized(jaxpr, consts, in_avals, list(active), out_avals, out_nonzero)


def _tangent_aval(x: Any) -> Any:
    """The tangent type of an output; ``None`` for what is no array, which auxiliary outputs may be."""
    try:
        return typeof(x).to_tangent_aval()
    except TypeError:
        return None


class LinearizedJaxpr:
    """A jaxpr split by :func:`linearize_jaxpr`.

    ``primal`` returns the outputs and then ``num_res`` residuals of its own; ``tangent`` (a closed jaxpr) takes
    residuals and then active input tangents. ``res_from`` says for each residual of ``tangent`` where it is found:
    ``("in", i)``, ``("out", i)`` or ``("res", i)``.
    """

    __slots__ = ("primal", "tangent", "res_from", "num_res", "out_nonzero", "out_avals")

    def __init__(self, primal: ClosedJaxpr, tangent: ClosedJaxpr, res_from: list[tuple[str, int]], num_res: int,
                 out_nonzero: list[bool], out_avals: list[Any]) -> None:
        self.primal = primal
        self.tangent = tangent
        self.res_from = res_from
        self.num_res = num_res
        self.out_nonzero = out_nonzero
        self.out_avals = out_avals

    def residuals(self, ins: Sequence[Any], outs_and_res: Sequence[Any]) -> list[Any]:
        n_out = len(self.out_nonzero)
        where = {"in": ins, "out": outs_and_res[:n_out], "res": outs_and_res[n_out:]}
        return [where[kind][i] for kind, i in self.res_from]


def linearize_jaxpr(closed: ClosedJaxpr, nonzeros: Sequence[bool],
                    instantiate: bool | Sequence[bool] = False) -> LinearizedJaxpr:
    """Splits the derivative of a jaxpr into a primal program with residuals and a tangent program."""
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _linearize_jaxpr(closed, tuple(nonzeros), force)


@weak_cache
def _linearize_jaxpr(closed: ClosedJaxpr, nonzeros: tuple[bool, ...], force: tuple[bool, ...]) -> LinearizedJaxpr:
    info = closed.jaxpr.debug_info
    kept: dict[str, Any] = {}

    def primal_fun(*args: Any) -> list[Any]:
        outs, lin = _linearize(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args, info, nonzeros)
        lin = _instantiate_outputs(lin, force)
        parent = current_trace.get()
        constvars: list[Any] = []
        res: list[Any] = []
        res_from: list[tuple[str, int]] = []
        own_vars: list[Any] = []
        own_consts: list[Any] = []
        where: dict[int, tuple[str, int]] = {}
        for i, x in enumerate(args):
            where.setdefault(id(x), ("in", i))
        for i, x in enumerate(outs):
            where.setdefault(id(x), ("out", i))
        for v, c in zip(lin.jaxpr.constvars, lin.consts, strict=True):
            if not (type(c) is StagedTracer and c._trace is parent):
                own_vars.append(v)
                own_consts.append(c)
                continue
            constvars.append(v)
            place = where.get(id(c))
            if place is None:
                place = where[id(c)] = ("res", len(res))
                res.append(c)
            res_from.append(place)
        # Not `lin` itself: its constants are values of this trace, which must not outlive it.
        kept.update(constvars=constvars, own=(own_vars, own_consts), res_from=res_from, num_res=len(res),
                    jaxpr=lin.jaxpr, out_nonzero=lin.out_nonzero, out_avals=lin.out_avals)
        return [*outs, *res]

    primal, consts = trace_to_jaxpr(primal_fun, closed.in_avals, info)
    own_vars, own_consts = kept["own"]
    found: Jaxpr = kept["jaxpr"]
    tangent = found.replace(constvars=own_vars, invars=[*kept["constvars"], *found.invars],
                            debug_info=info._replace(arg_names=None))
    return LinearizedJaxpr(ClosedJaxpr(primal, consts), ClosedJaxpr(tangent, own_consts), kept["res_from"],
                           kept["num_res"], kept["out_nonzero"], kept["out_avals"])


def _instantiate_outputs(lin: Linearized, force: Sequence[bool]) -> Linearized:
    if not any(f and not nz for f, nz in zip(force, lin.out_nonzero, strict=True)):
        return lin

    def fun(*tangents: Any) -> list[Any]:
        outs = iter(eval_jaxpr(lin.jaxpr, lin.consts, *tangents))
        out = []
        for nz, f, aval in zip(lin.out_nonzero, force, lin.out_avals, strict=True):
            if nz:
                out.append(next(outs))
            elif f:
                out.append(instantiate_zeros(Zero(aval)))
        return out

    avals = [a for a, nz in zip(lin.in_avals, lin.in_nonzero, strict=True) if nz]
    jaxpr, consts = trace_to_jaxpr(fun, avals, lin.jaxpr.debug_info)
    out_nonzero = [nz or f for nz, f in zip(lin.out_nonzero, force, strict=True)]
    return Linearized(jaxpr, consts, lin.in_avals, lin.in_nonzero, lin.out_avals, out_nonzero)


def linear_atoms(jaxpr: Jaxpr, linear: Sequence[Var]) -> set[Var]:
    """The variables of a jaxpr that depend on ``linear``."""
    out = set(linear)
    for eqn in jaxpr.eqns:
        if any(type(v) is not Literal and v in out for v in eqn.invars):
            out.update(eqn.outvars)
    return out
