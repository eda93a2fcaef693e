"""The rules of ``while_loop``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.jit_primitive import bind_jit, call_params
from jax._base import source as source_info
from jax._base.caching import no_context, weak_cache
from jax._ground.structural import broadcast_in_dim, instantiate_zeros
from jax._language import rules
from jax._language.avals import typeof
from jax._language.axes import axis_env
from jax._language.effects import ordered_effects
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var
from jax._language.refs import is_ref_type, use
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms import partial
from jax._transforms.batch import AxisData, match_axis
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_jaxpr, prune_consts
from jax._transforms.jvp import jvp_flat, jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.references import batch_discharged, bind_discharged, linearize_discharged
from jax.lax._bitwise import and_p
from jax.lax._control_common import (
    Marks,
    dependence_rules,
    differentiable,
    either,
    grow,
    interleave,
    permuted,
    pieces,
    reached,
    settle,
    where,
)
from jax.lax._reduce import reduce_or
from jax.lax._select import select
from jax.lax._while import while_p


def _params(cond: ClosedJaxpr, cond_nconsts: int, body: ClosedJaxpr, body_nconsts: int) -> dict[str, Any]:
    return {"body_jaxpr": body, "body_nconsts": body_nconsts, "cond_jaxpr": cond, "cond_nconsts": cond_nconsts}


# --- forward derivatives --------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    if use.begun and any([is_ref_type(typeof(x)) for x in primals]):  # the loop may be split in two that both run
        return jvp_flat(lambda *xs: bind_discharged(while_p, xs, params), primals, tangents)
    args, new, carry = _with_tangents(primals, tangents, **params)
    outs = while_p.bind(*args, **new)
    n = len(carry)
    found = iter(outs[n:])
    return outs[:n], [next(found) if m else Zero.from_primal_value(o) for o, m in zip(outs[:n], carry, strict=True)]


def _with_tangents(primals: Any, tangents: Any, *, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int,
                   body_jaxpr: ClosedJaxpr) -> tuple[list[Any], dict[str, Any], Marks]:
    """The loop over primals and tangents: operands, parameters, and which components of the carry have tangents."""
    nonzeros = [type(t) is not Zero for t in tangents]
    _, of_consts, of_init = pieces(nonzeros, cond_nconsts, body_nconsts)
    cond, body, carry = _jvp_bodies(body_jaxpr, cond_jaxpr, tuple(of_consts), tuple(of_init))
    cond_consts, consts, init = pieces(primals, cond_nconsts, body_nconsts)
    _, t_consts, t_init = pieces(tangents, cond_nconsts, body_nconsts)
    t_consts = where(t_consts, of_consts)
    t_init = [instantiate_zeros(t) for t in where(t_init, carry)]
    return [*cond_consts, *consts, *t_consts, *init, *t_init], \
        _params(cond, cond_nconsts, body, body_nconsts + len(t_consts)), carry


@weak_cache(context=no_context)
def _jvp_bodies(body: ClosedJaxpr, cond: ClosedJaxpr, of_consts: tuple[bool, ...],
                of_init: tuple[bool, ...]) -> tuple[ClosedJaxpr, ClosedJaxpr, Marks]:
    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        return jvp_jaxpr(body, [*of_consts, *carry], carry if force else False)

    guess = grow(of_init, lambda c: reached(body.jaxpr, [*of_consts, *c], differentiable))
    carry, new = settle(of_init, guess, attempt)
    consts, init, t_consts, t_init = pieces(range(len(new.jaxpr.invars)), len(of_consts), len(of_init), sum(of_consts))
    new = permuted(new, [*consts, *t_consts, *init, *t_init])
    extra = [Var(v.aval) for v in new.jaxpr.invars[len(new.jaxpr.invars) - len(t_init):]]
    wide = ClosedJaxpr(cond.jaxpr.replace(invars=[*cond.jaxpr.invars, *extra], effects=cond.jaxpr.effects),
                       cond.consts)
    return wide, new, carry


def _linearize(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """The primal loop runs now; the tangent program runs it again beside its derivative."""
    if use.begun and any([is_ref_type(typeof(x)) for x in primals]):  # which it must not change again
        return linearize_discharged(trace, while_p, primals, tangents, params, every=True)
    outs = run_in(trace.parent, while_p.bind, *primals, **params)
    args, new, carry = _with_tangents(primals, tangents, **params)
    if not any(carry):
        return outs, [Zero.from_primal_value(o) for o in outs]
    avals, effects = while_p.abstract_eval(**new)
    found = iter(trace.tangents.emit(while_p, args, new, avals, effects)[len(outs):])
    return outs, [next(found) if m else Zero.from_primal_value(o) for o, m in zip(outs, carry, strict=True)]


# --- partial evaluation ---------------------------------------------------------------------------------------------

def _reached_carry(marks: Sequence[bool], params: dict[str, Any], through: Any = None) -> Marks:
    """Which components of the carry depend on the marked operands."""
    of_cond, of_body, of_init = pieces(marks, params["cond_nconsts"], params["body_nconsts"])
    body, cond = params["body_jaxpr"].jaxpr, params["cond_jaxpr"].jaxpr
    carry = grow(of_init, lambda c: reached(body, [*of_body, *c], through))
    if any(reached(cond, [*of_cond, *carry], through)):
        return [True] * len(carry)
    return carry


def _dependence(eqn: JaxprEqn, marks: Sequence[bool], through: Any) -> Marks:
    return _reached_carry(marks, eqn.params, through)


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    unknown = _reached_carry([trace.is_tangent(x) for x in args], params)
    outs = trace.tangents.process(while_p, args, params)
    if all(unknown):
        return outs
    known = [not u for u in unknown]
    used, new, carry = _reduced(known, params)
    found = run_in(trace.parent, while_p.bind, *where(args, used), **new)
    return interleave(unknown, where(outs, unknown), where(found, where(known, carry)))


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """The known components are computed by a loop of their own; the loop for the others computes them again."""
    out_unknown = _reached_carry(unknown, eqn.params)
    if not any(out_unknown):
        return eqn, None, out_unknown, []
    if all(out_unknown):
        return None, eqn, out_unknown, []
    known = [not u for u in out_unknown]
    _, first = _dce(known, eqn)
    rest = eqn.replace(outvars=[v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, out_unknown, strict=True)])
    saved = where(eqn.outvars, known) if policy is partial.save_everything else []
    return first, rest, out_unknown, saved


# --- transposition --------------------------------------------------------------------------------------------------

def _transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
    if all(type(c) is Zero for c in cts):
        return [Zero(x.aval.to_cotangent_aval()) if type(x) is UndefinedPrimal else None for x in args]
    raise ValueError(
        "lax.while_loop, and so lax.fori_loop between traced bounds, has no reverse-mode derivative (jax.grad, "
        "jax.vjp, jax.jacrev): how many steps it takes is known only when it has run, so there is no place for what "
        f"each step would have to keep. The loop is at {source_info.summarize(source_info.capture())}. Use lax.scan, "
        "or lax.fori_loop with bounds that are Python integers (jax.checkpoint on the body saves memory), or forward "
        "mode (jax.jvp, jax.jacfwd); a fixed point or a root can be differentiated with lax.custom_root or "
        "jax.custom_vjp.")


# --- batching -------------------------------------------------------------------------------------------------------

def _batch(axis: AxisData, args: Any, dims: Any, *, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int,
           body_jaxpr: ClosedJaxpr) -> Any:
    cond_consts, consts, init = pieces(args, cond_nconsts, body_nconsts)
    cond_dims, const_dims, init_dims = pieces(dims, cond_nconsts, body_nconsts)

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        return batch_jaxpr_axes(body_jaxpr, axis, [*const_dims, *(0 if m else None for m in carry)],
                                carry if force else False)

    start = [d is not None for d in init_dims]
    guess = start if body_jaxpr.effects else grow(
        start, lambda c: reached(body_jaxpr.jaxpr, [*(d is not None for d in const_dims), *c]))
    carry, body = settle(start, guess, attempt)
    cond, (differs,) = batch_jaxpr_axes(cond_jaxpr, axis, [*cond_dims, *(0 if m else None for m in carry)], False)
    if not differs:
        init = [match_axis(axis.size, d, 0, x) if m else x for x, d, m in zip(init, init_dims, carry, strict=True)]
        outs = while_p.bind(*cond_consts, *consts, *init, **_params(cond, cond_nconsts, body, body_nconsts))
        return outs, [0 if m else None for m in carry]
    if use.begun and any([is_ref_type(typeof(x)) for x in args]):
        params = _params(cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts)
        return batch_discharged(axis, while_p, args, dims, params)
    # Examples take different numbers of steps: the loop runs until none is left, carrying which are.
    if any(ordered_effects.contains(e) for e in body_jaxpr.effects | cond_jaxpr.effects):
        raise NotImplementedError("vmap of lax.while_loop with ordered effects (ordered callbacks, debug.print with "
                                  "ordered=True) is not possible where examples take different numbers of steps")
    init = [match_axis(axis.size, d, 0, x) for x, d in zip(init, init_dims, strict=True)]
    cond, _ = batch_jaxpr_axes(cond_jaxpr, axis, [*cond_dims, *[0] * len(init)], True)
    held = [rules.hold_back(body_jaxpr), rules.hold_back(cond_jaxpr)]
    pure = [batch_jaxpr_axes(program, axis, [*const, *[0] * len(init)], True)[0]
            for (program, _, _), const in zip(held, (const_dims, cond_dims), strict=True)]
    body, check = _while_any_left(*pure, cond_nconsts, body_nconsts, tuple([h[1:] for h in held]), axis_env.get())
    (left,) = bind_jit(*cond_consts, *init, **call_params(cond, "cond_fun", {"inline": True}))
    outs = while_p.bind(*cond_consts, *consts, left, *init,
                        **_params(check, 0, body, cond_nconsts + body_nconsts))
    return outs[1:], [0] * len(init)


@weak_cache
def _while_any_left(body: ClosedJaxpr, cond: ClosedJaxpr, cond_nconsts: int, body_nconsts: int, held: Any,
                    env: Any) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """A body and a condition that also carry, in front, which examples go on.

    ``held`` says how many results of each are effects of theirs, and what replays them.
    """
    (of_body, replay_body), (of_cond, replay_cond) = held
    cond_avals = cond.in_avals[:cond_nconsts]
    const_avals, carry_avals = pieces(body.in_avals, body_nconsts)
    left_aval = cond.out_avals[of_cond]

    def step(*args: Any) -> list[Any]:
        cond_consts, consts, (left, *carry) = pieces(args, cond_nconsts, body_nconsts)
        effects, new = pieces(eval_jaxpr(body.jaxpr, body.consts, *consts, *carry), of_body)
        if effects:
            replay_body(left, effects)
        new = [select(_spread(left, x), y, x) for x, y in zip(carry, new, strict=True)]
        effects, (again,) = pieces(eval_jaxpr(cond.jaxpr, cond.consts, *cond_consts, *new), of_cond)
        if effects:
            replay_cond(left, effects)
        return [and_p.bind(left, again), *new]

    def check(left: Any, *carry: Any) -> list[Any]:
        return [reduce_or(left, (0,))]

    info = body.jaxpr.debug_info._replace(arg_names=None)
    new_body = ClosedJaxpr(*trace_to_jaxpr(step, [*cond_avals, *const_avals, left_aval, *carry_avals], info))
    new_cond = ClosedJaxpr(*trace_to_jaxpr(check, [left_aval, *carry_avals],
                                           cond.jaxpr.debug_info._replace(arg_names=None)))
    return new_body, new_cond


def _spread(left: Any, x: Any) -> Any:
    shape = typeof(x).shape
    return left if len(shape) == 1 else broadcast_in_dim(left, shape, (0,))


# --- dead code ------------------------------------------------------------------------------------------------------

def _dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drops components of the carry that neither the results, nor the condition, nor other components need."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    used, params, carry = _reduced(used_outputs, eqn.params)
    outvars = [v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used_outputs, strict=True)]
    if all(used) and all(carry):
        return used, eqn if all(used_outputs) else eqn.replace(outvars=outvars)
    return used, eqn.replace(invars=where(eqn.invars, used), outvars=where(outvars, carry), params=params,
                             effects=while_p.abstract_eval(**params)[1])


def _reduced(used_outputs: Sequence[bool], params: dict[str, Any]) -> tuple[Marks, dict[str, Any], Marks]:
    """The loop that computes some components: operands it needs, its parameters, components it carries."""
    cond, body, of_cond, of_body, carry = _reduced_bodies(params["body_jaxpr"], params["cond_jaxpr"],
                                                          tuple(used_outputs), params["cond_nconsts"],
                                                          params["body_nconsts"])
    return [*of_cond, *of_body, *carry], _params(cond, sum(of_cond), body, sum(of_body)), carry


@weak_cache(context=no_context)
def _reduced_bodies(body: ClosedJaxpr, cond: ClosedJaxpr, used_outputs: tuple[bool, ...], cond_nconsts: int,
                    body_nconsts: int) -> tuple[ClosedJaxpr, ClosedJaxpr, Marks, Marks, Marks]:
    _, used_by_cond = dce_jaxpr(cond.jaxpr, [True])
    of_cond, needed = pieces(used_by_cond, cond_nconsts)
    carry = either(used_outputs, needed)
    while True:
        new, used = dce_jaxpr(body.jaxpr, carry, [*[False] * body_nconsts, *carry])
        more = either(carry, used[body_nconsts:])
        if more == carry:
            break
        carry = more
    check, _ = dce_jaxpr(cond.jaxpr, [True], [*of_cond, *carry])
    return (cond if check is cond.jaxpr else prune_consts(check, cond.consts),
            body if new is body.jaxpr else prune_consts(new, body.consts), of_cond, used[:body_nconsts], carry)


rules.primitive_jvps[while_p] = _jvp
rules.primitive_linearizations[while_p] = _linearize
split_rules[while_p] = _split
rules.partial_eval_rules[while_p] = _partial
rules.primitive_transposes[while_p] = _transpose
rules.fancy_primitive_batchers[while_p] = _batch
rules.dce_rules[while_p] = _dce
dependence_rules[while_p] = _dependence
