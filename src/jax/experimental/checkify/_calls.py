"""How errors come out of calls: ``jit``, ``checkpoint``, functions with derivative or batching rules, checks themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._api.call_primitives import CallPrimitive
from jax._api.custom_calls import custom_jvp_call_p, custom_vjp_call_p
from jax._api.jit_primitive import bind_jit, call_params, jit_p
from jax._api.linear_calls import linear_call_p
from jax._api.remat_primitive import remat_p
from jax._language.avals import typeof
from jax._language.evaluation import bind_eqn, eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.staging import trace_to_jaxpr
from jax._language.zeros import Zero
from jax.custom_batching import custom_vmap_call_p
from jax.experimental.checkify._check import check_p, without
from jax.experimental.checkify._errors import FailedCheckError, Site, Sites, user_checks
from jax.experimental.checkify._interpret import Outs, call_rules, checked_program, has_checks, interpret, structural_rules
from jax.experimental.checkify._state import Checked, Enabled, first, from_leaves, nothing, num_leaves, renamed, unbatched
from jax.lax._solves import linear_solve_p


def unchanged(eqn: JaxprEqn, values: Sequence[Any]) -> Outs:
    """The results of an equation in which nothing can fail."""
    outs = bind_eqn(eqn, values)
    return nothing, list(outs) if eqn.primitive.multiple_results else [outs]


def _check(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    sites: Sites = eqn.params["sites"]
    code, payload = unbatched(values[0], values[1:])
    dropped = [s.kind not in enabled for s in sites]
    if all(dropped):
        return nothing, []
    code = without(code, dropped)
    return from_leaves([code, *payload], sites), []


def _jit(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    checked = checked_program(enabled, eqn.params["jaxpr"])
    if checked is None:
        return unchanged(eqn, values)
    return checked.split(bind_jit(*values, **call_params(checked.jaxpr, eqn.params["name"], eqn.params)))


def _checkpoint(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    checked = checked_program(enabled, eqn.params["jaxpr"])
    if checked is None:
        return unchanged(eqn, values)
    return checked.split(remat_p.bind(*values, **dict(eqn.params, jaxpr=checked.jaxpr)))


def _call(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    """The rule of primitives made by ``create_call_primitive``."""
    prim: Any = eqn.primitive
    checked = checked_program(enabled, prim.program(eqn.params["call_jaxpr"]))
    if checked is None:
        return unchanged(eqn, values)
    if prim.closed or not checked.jaxpr.consts:
        return checked.split(prim.bind(*values, **dict(eqn.params, call_jaxpr=prim.wrapped(checked.jaxpr))))
    return checked.split(eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *values))


def _beside(name: str) -> Any:
    """A rule that finds the error beside the equation, which stays as it is, with its own derivatives and batching.

    ``name`` is that of the parameter with the jaxpr. The compiler computes once what both have in common.
    """
    def rule(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
        checked = checked_program(enabled, eqn.params[name])
        if checked is None:
            return unchanged(eqn, values)
        state, _ = checked.split(eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *values))
        return state, eqn.primitive.bind(*values, **dict(eqn.params, **{name: _without_error(checked)}))
    return rule


# --- functions with derivative rules --------------------------------------------------------------------------------

class _Rule(NamedTuple):
    """A function with a derivative rule, with its error; ``other`` is where checks fail that only the rule contains."""

    enabled: Enabled
    checked: Checked
    other: Site

    @property
    def sites(self) -> Sites:
        return (*self.checked.sites, self.other)

    def run(self, *args: Any) -> list[Any]:
        state, outs = self.checked.split(eval_jaxpr(self.checked.jaxpr.jaxpr, self.checked.jaxpr.consts, *args))
        return [*state.leaves(self.sites, 0), *outs]

    def split(self, outs: Sequence[Any]) -> Outs:
        return Checked(self.checked.jaxpr, self.sites).split(outs)

    def with_error(self, primals: Sequence[Any], rule: Any, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results of ``rule(*args)``, and the error: that of the function, then that of checks in the rule."""
        error = self.run(*primals)[:num_leaves(self.sites)]
        jaxpr, consts = trace_to_jaxpr(rule, [typeof(x) for x in args])
        if not has_checks(jaxpr.effects):
            return error, eval_jaxpr(jaxpr, consts, *args)
        state, outs = interpret(self.enabled & user_checks, jaxpr, consts, args)
        return first(error, renamed(state, self.sites, self.other).leaves(self.sites, 0)), outs


def _rule_of(enabled: Enabled, eqn: JaxprEqn) -> _Rule | None:
    checked = checked_program(enabled, eqn.params["call_jaxpr"])
    if checked is None:
        return None
    name = eqn.params["name"].replace("{", "{{").replace("}", "}}")
    text = f"a check in the derivative rule of {name}, which shows its message under checkify(jax.grad(f))"
    return _Rule(enabled, checked, Site(FailedCheckError, text, None, (), eqn.source_info.traceback))


def _custom_jvp(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    function = _rule_of(enabled, eqn)
    if function is None:
        return unchanged(eqn, values)
    (_, rule), params = eqn.primitive.get_bind_params(eqn.params)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moving = [type(t) is not Zero for t in tangents]
        out_moving: list[bool] = []
        zeros: list[Any] = []

        def flat(*args: Any) -> list[Any]:
            given = iter(args[len(primals):])
            full = [next(given) if m else t for t, m in zip(tangents, moving, strict=True)]
            outs, out_tangents = rule(args[:len(primals)], full)
            out_moving[:] = [type(t) is not Zero for t in out_tangents]
            zeros[:] = [t if type(t) is Zero else None for t in out_tangents]
            return [*outs, *(t for t, m in zip(out_tangents, out_moving, strict=True) if m)]

        live = [t for t, m in zip(tangents, moving, strict=True) if m]
        error, results = function.with_error(primals, flat, [*primals, *live])
        outs, found = results[:len(out_moving)], iter(results[len(out_moving):])
        out_tangents = [next(found) if m else z for m, z in zip(out_moving, zeros, strict=True)]
        return [*error, *outs], [*map(Zero.from_primal_value, error), *out_tangents]

    return function.split(custom_jvp_call_p.bind(function.run, jvp, *values, **params))


def _custom_vjp(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    function = _rule_of(enabled, eqn)
    if function is None:
        return unchanged(eqn, values)
    (_, forward, backward), params = eqn.primitive.get_bind_params(eqn.params)
    n = num_leaves(function.sites)

    def fwd(perturbed: Sequence[bool], *args: Any) -> Any:
        num_outs = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal num_outs
            outs, residuals = forward(perturbed, *xs)
            num_outs = len(outs)
            return [*outs, *residuals]
        error, results = function.with_error(args, flat, args)
        return [*error, *results[:num_outs]], results[num_outs:]

    outs = custom_vjp_call_p.bind(function.run, fwd, lambda res, cts: backward(res, cts[n:]), *values, **params)
    return function.split(outs)


def _custom_linear_solve(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    """The solution is computed by ``solve``, whose error is found beside it; derivatives stay those of the primitive."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    checked = checked_program(enabled, jaxprs.solve)
    if checked is None:
        return unchanged(eqn, values)
    begin = lengths.matvec + lengths.vecmat
    consts, right = values[begin:begin + lengths.solve], values[sum(lengths):]
    state, outs = checked.split(eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *consts, *right))
    pure = jaxprs._replace(solve=_without_error(checked))
    back = None if jaxprs.transpose_solve is None else checked_program(enabled, jaxprs.transpose_solve)
    if back is not None:
        pure = pure._replace(transpose_solve=_without_error(back))
    return state, linear_solve_p.bind(*values, const_lengths=lengths, jaxprs=pure)


def _without_error(checked: Checked) -> ClosedJaxpr:
    n, closed = num_leaves(checked.sites), checked.jaxpr
    jaxpr, consts = trace_to_jaxpr(lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args)[n:], closed.in_avals)
    return ClosedJaxpr(jaxpr, consts)


call_rules[CallPrimitive] = _call
structural_rules[check_p] = _check
structural_rules[jit_p] = _jit
structural_rules[remat_p] = _checkpoint
structural_rules[custom_jvp_call_p] = _custom_jvp
structural_rules[custom_vjp_call_p] = _custom_vjp
structural_rules[custom_vmap_call_p] = _beside("call")
structural_rules[linear_call_p] = _beside("callee")
structural_rules[linear_solve_p] = _custom_linear_solve
