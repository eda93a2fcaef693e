"""The rules of ``scan``: derivatives, partial evaluation, batching, dead code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.jit_primitive import bind_jit, call_params
from jax._base.caching import no_context, weak_cache
from jax._ground.structural import add_any_p, instantiate_zeros, zeros_of
from jax._language import rules
from jax._language.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var, new_jaxpr_eqn, no_source
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms import partial
from jax._transforms.batch import AxisData, match_axis
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_jaxpr, prune_consts
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.references import has_tangent_references, linearize_discharged
from jax._transforms.transpose import backward_pass
from jax.lax._control_common import (
    Marks,
    differentiable,
    either,
    grow,
    interleave,
    permuted,
    pieces,
    reached,
    reached_from,
    settle,
    where,
    without,
)
from jax.lax._scan import scan_p
from jax.lax._scan_split import Halves, linearized_halves, partial_halves


def _params(jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, like: dict[str, Any]) -> dict[str, Any]:
    return {"jaxpr": jaxpr, "length": like["length"], "num_carry": num_carry, "num_consts": num_consts,
            "reverse": like["reverse"], "unroll": like["unroll"]}


# --- forward derivatives --------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any) -> Any:
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    body, carry, of_ys = _jvp_body(jaxpr, nonzeros, num_consts, num_carry)
    of_consts, _, of_xs = pieces(nonzeros, num_consts, num_carry)
    consts, init, xs = pieces(primals, num_consts, num_carry)
    t_consts, t_init, t_xs = pieces(tangents, num_consts, num_carry)
    t_init = [instantiate_zeros(t) for t in where(t_init, carry)]
    t_consts, t_xs = where(t_consts, of_consts), where(t_xs, of_xs)
    outs = scan_p.bind(*consts, *t_consts, *init, *t_init, *xs, *t_xs,
                       **_params(body, num_consts + len(t_consts), num_carry + len(t_init), params))
    last, t_last, ys, t_ys = pieces(outs, num_carry, len(t_init), len(of_ys))
    found = iter([*t_last, *t_ys])
    outs = [*last, *ys]
    return outs, [next(found) if nz else Zero.from_primal_value(o)
                  for o, nz in zip(outs, [*carry, *of_ys], strict=True)]


@weak_cache(context=no_context)
def _jvp_body(closed: ClosedJaxpr, nonzeros: tuple[bool, ...], num_consts: int,
              num_carry: int) -> tuple[ClosedJaxpr, Marks, Marks]:
    jaxpr = closed.jaxpr
    of_consts, of_init, of_xs = pieces(nonzeros, num_consts, num_carry)
    num_ys = len(jaxpr.outvars) - num_carry

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        forced = carry if force else [False] * num_carry
        new, out = jvp_jaxpr(closed, [*of_consts, *carry, *of_xs], [*forced, *[False] * num_ys])
        return (new, out), out[:num_carry]

    guess = grow(of_init, lambda c: reached(jaxpr, [*of_consts, *c, *of_xs], differentiable)[:num_carry])
    carry, (new, out) = settle(of_init, guess, attempt)
    total = len(jaxpr.invars)
    consts, init, xs = pieces(range(total), num_consts, num_carry)
    t_consts, t_init, t_xs = pieces(range(total, len(new.jaxpr.invars)), sum(of_consts), sum(carry))
    last, ys, t_last, t_ys = pieces(range(len(new.jaxpr.outvars)), num_carry, num_ys, sum(carry))
    body = permuted(new, [*consts, *t_consts, *init, *t_init, *xs, *t_xs], [*last, *t_last, *ys, *t_ys])
    return body, carry, out[num_carry:]


# --- two loops ------------------------------------------------------------------------------------------------------

def _first_loop(halves: Halves, args: Sequence[Any], num_consts: int, num_carry: int,
                params: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Runs the known loop on known operands: its results, and the residuals (fixed, and to be run along)."""
    consts, _, xs = pieces(args, num_consts, num_carry)
    outs = scan_p.bind(*args, **_params(halves.known, num_consts, num_carry, params))
    invariants = [] if halves.invariants is None else \
        bind_jit(*consts, **call_params(halves.invariants, "loop_invariants", {"inline": True}))
    fixed, along = halves.residuals(consts, xs, outs[num_carry:], invariants)
    return outs[:halves.num_known_outs], fixed, along


def _linearize(trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
               **params: Any) -> Any:
    if jaxpr.effects and has_tangent_references(tangents):
        params = dict(params, jaxpr=jaxpr, num_consts=num_consts, num_carry=num_carry)
        return linearize_discharged(trace, scan_p, primals, tangents, params)
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    halves = linearized_halves(jaxpr, nonzeros, num_consts, num_carry)
    outs, fixed, along = run_in(trace.parent, _first_loop, halves, primals, num_consts, num_carry, params)
    found: Any = iter(())
    if any(halves.out_marks):
        given = [instantiate_zeros(t) for t in where(tangents, halves.in_marks)]
        marks = pieces(halves.in_marks, num_consts, num_carry)
        consts, init, xs = pieces(given, sum(marks[0]), sum(marks[1]))
        second = _params(halves.rest, len(fixed) + len(consts), len(init), params)
        avals, effects = scan_p.abstract_eval(**second)
        found = iter(trace.tangents.emit(scan_p, [*fixed, *consts, *init, *along, *xs], second, avals, effects))
    return outs, [next(found) if nz else Zero.from_primal_value(o)
                  for o, nz in zip(outs, halves.out_marks, strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    """Under a linearizing trace: the loop over known values runs now, the rest joins the tangent program."""
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    unknown = tuple([trace.is_tangent(x) for x in args])
    halves = partial_halves(params["jaxpr"], unknown, num_consts, num_carry)
    outs, second, second_params = run_in(trace.parent, _divide, halves, args, num_consts, num_carry, params)
    rest = trace.tangents.process(scan_p, tuple(second), second_params)
    return interleave(halves.out_marks, rest, outs)


def _divide(halves: Halves, args: Sequence[Any], num_consts: int, num_carry: int,
            params: dict[str, Any]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Runs the known loop; returns its results, and the operands and parameters of the second one."""
    marks = pieces(halves.in_marks, num_consts, num_carry)
    known_consts, known_carry = num_consts - sum(marks[0]), num_carry - sum(marks[1])
    outs, fixed, along = _first_loop(halves, without(args, halves.in_marks), known_consts, known_carry, params)
    consts, init, xs = pieces(where(args, halves.in_marks), sum(marks[0]), sum(marks[1]))
    return outs, [*fixed, *consts, *init, *along, *xs], \
        _params(halves.rest, len(fixed) + len(consts), len(init), params)


# --- partial evaluation ---------------------------------------------------------------------------------------------

def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    if policy is not partial.save_everything:
        return _partial_remat(policy, unknown, eqn)
    params = eqn.params
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    halves = partial_halves(params["jaxpr"], tuple(unknown), num_consts, num_carry, False)
    marks = pieces(halves.in_marks, num_consts, num_carry)
    known_ins, known_outs = without(eqn.invars, halves.in_marks), without(eqn.outvars, halves.out_marks)
    counts = num_consts - sum(marks[0]), num_carry - sum(marks[1])
    first = _params(halves.known, *counts, params)
    avals, effects = scan_p.abstract_eval(**first)
    residuals = [Var(a) for a in avals[halves.num_known_outs:]]
    known = eqn.replace(invars=known_ins, outvars=[*known_outs, *residuals], params=first, effects=effects)
    consts, _, xs = pieces(known_ins, *counts)
    fixed, along = halves.residuals(consts, xs, known.outvars[counts[1]:], ())
    consts, init, xs = pieces(where(eqn.invars, halves.in_marks), sum(marks[0]), sum(marks[1]))
    second = _params(halves.rest, len(fixed) + len(consts), len(init), params)
    rest = eqn.replace(invars=[*fixed, *consts, *init, *along, *xs], outvars=where(eqn.outvars, halves.out_marks),
                       params=second, effects=halves.rest.effects)
    return known, rest, halves.out_marks, [*residuals, *known_outs]


def _partial_remat(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """The split for rematerialisation: the second loop does again what ``policy`` does not save.

    It carries known components along and computes them anew from the values saved at each step.
    """
    params = eqn.params
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    parts, carry = _remat_parts(params["jaxpr"], tuple(unknown), num_consts, num_carry, policy)
    of_consts, _, of_xs = pieces(unknown, num_consts, num_carry)
    out_unknown = parts.out_unknown[:len(eqn.outvars)]
    consts, init, xs = pieces(eqn.invars, num_consts, num_carry)
    known_consts, known_init, known_xs = without(consts, of_consts), without(init, carry), without(xs, of_xs)
    num_outs = len(out_unknown) - sum(out_unknown)
    saved = [i for i, place in enumerate(parts.residual_in) if place is None]
    body = permuted(parts.known, range(len(parts.known.jaxpr.invars)),
                    [*range(num_outs), *(num_outs + i for i in saved)])
    first = _params(body, len(known_consts), len(known_init), params)
    avals, effects = scan_p.abstract_eval(**first)
    residuals = [Var(a) for a in avals[num_outs:]]
    known_outs = without(eqn.outvars, out_unknown)
    known = eqn.replace(invars=[*known_consts, *known_init, *known_xs], outvars=[*known_outs, *residuals],
                        params=first, effects=effects)
    if not any(out_unknown):
        return known, None, out_unknown, residuals
    second, num_forwarded = _remat_second(parts, carry, saved, len(known_consts), len(known_init), len(known_xs),
                                          sum(of_consts), sum(of_xs))
    rest = eqn.replace(
        invars=[*known_consts, *where(consts, of_consts), *known_init, *where(init, carry),
                *known_xs, *residuals, *where(xs, of_xs)],
        outvars=[*(DropVar(v.aval) for v in known_init), *where(eqn.outvars, out_unknown)],
        params=_params(second, num_consts, num_carry, params), effects=second.effects)
    _, rest = _dce([*[False] * num_forwarded, *[True] * sum(out_unknown)], rest)
    return known, rest, out_unknown, residuals


@weak_cache(context=no_context)
def _remat_parts(closed: ClosedJaxpr, unknown: tuple[bool, ...], num_consts: int, num_carry: int,
                 policy: Any) -> tuple[partial.PartialJaxprs, Marks]:
    """The body split by policy; its unknown side returns the known components of the carry too, at the end."""
    jaxpr = closed.jaxpr
    of_consts, of_init, of_xs = pieces(unknown, num_consts, num_carry)
    carry = grow(of_init, lambda c: reached(jaxpr, [*of_consts, *c, *of_xs])[:num_carry])
    again = without(jaxpr.outvars[:num_carry], carry)
    both = ClosedJaxpr(jaxpr.replace(outvars=[*jaxpr.outvars, *again], effects=jaxpr.effects), closed.consts)
    force = [*carry, *[False] * (len(jaxpr.outvars) - num_carry), *[True] * len(again)]
    return partial.partial_eval_with_policy(both, [*of_consts, *carry, *of_xs], force, policy), carry


def _remat_second(parts: partial.PartialJaxprs, carry: Marks, saved: Sequence[int], num_consts: int, num_carry: int,
                  num_xs: int, more_consts: int, more_xs: int) -> tuple[ClosedJaxpr, int]:
    """The second body: (constants, carry, rows), the known ones first in each, and after known rows the residuals."""
    jaxpr = parts.unknown.jaxpr
    n = len(parts.residual_in)
    residuals, given = jaxpr.invars[:n], jaxpr.invars[n:]
    known: list[Any] = [None] * (num_consts + num_carry + num_xs)
    for v, place in zip(residuals, parts.residual_in, strict=True):
        if place is not None:
            known[place] = v
    in_avals = [v.aval for v in parts.known.jaxpr.invars]
    known = [Var(a) if v is None else v for v, a in zip(known, in_avals, strict=True)]
    consts, init, xs = pieces(known, num_consts, num_carry)
    u_consts, u_init, u_xs = pieces(given, more_consts, sum(carry))
    invars = [*consts, *u_consts, *init, *u_init, *xs, *(residuals[i] for i in saved), *u_xs]
    split = len(jaxpr.outvars) - num_carry
    outvars = [*jaxpr.outvars[split:], *jaxpr.outvars[:split]]
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars, effects=jaxpr.effects),
                       parts.unknown.consts), num_carry


# --- transposition --------------------------------------------------------------------------------------------------

def _transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any) -> list[Any]:
    linear = tuple([type(x) is UndefinedPrimal for x in args])
    if all(type(c) is Zero for c in cts):
        return [Zero(x.aval.to_cotangent_aval()) if lin else None for x, lin in zip(args, linear, strict=True)]
    of_consts, of_init, of_xs = pieces(linear, num_consts, num_carry)
    carry = grow(of_init, lambda c: reached(jaxpr.jaxpr, [*of_consts, *c, *of_xs])[:num_carry])
    if all(carry):
        return _transpose_linear(cts, args, jaxpr, num_consts, num_carry, params)
    # Part of the carry is not linear: the loop over it runs first.
    halves = partial_halves(jaxpr, linear, num_consts, num_carry)
    _, second, new = _divide(halves, args, num_consts, num_carry, params)
    found = _transpose_linear(where(cts, halves.out_marks), second, new["jaxpr"], new["num_consts"], new["num_carry"],
                              params)
    # The second loop's operands that are linear are those of this one, in the same order.
    answers = iter([c for c, x in zip(found, second, strict=True) if type(x) is UndefinedPrimal])
    return [next(answers) if lin else None for lin in linear]


def _transpose_linear(cts: Sequence[Any], args: Sequence[Any], jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
                      params: dict[str, Any]) -> list[Any]:
    """Cotangents of a loop whose whole carry is linear: another loop, in the other direction."""
    linear = [type(x) is UndefinedPrimal for x in args]
    of_consts, of_init, of_xs = pieces(linear, num_consts, num_carry)
    consts, init, xs = pieces(args, num_consts, num_carry)
    ct_carry, ct_ys = pieces(cts, num_carry)
    live = tuple([type(c) is not Zero for c in cts])
    back = _backward(jaxpr, (*of_consts, *[True] * num_carry, *of_xs), live, num_consts, num_carry)
    sums = [zeros_of(x.aval.to_cotangent_aval()) for x in where(where(consts, of_consts), back.consts)]
    start = [instantiate_zeros(c) for c in where(ct_carry, back.carry)]
    outs = scan_p.bind(
        *without(consts, of_consts), *sums, *start, *without(xs, of_xs), *where(ct_ys, live[num_carry:]),
        jaxpr=back.body, length=params["length"], num_carry=len(sums) + len(start),
        num_consts=num_consts - sum(of_consts), reverse=not params["reverse"], unroll=params["unroll"])
    in_consts, in_init, in_xs = pieces(outs, len(sums), len(start))

    def spread(values: Sequence[Any], marks: Sequence[bool], targets: Sequence[Any]) -> list[Any]:
        found = iter(values)
        return [next(found) if m else Zero(x.aval.to_cotangent_aval()) for m, x in zip(marks, targets, strict=True)]

    found_carry = iter(in_init)
    for_init = [next(found_carry) if m else None for m in back.carry]
    for_init = [None if type(x) is not UndefinedPrimal else Zero(x.aval.to_cotangent_aval()) if c is None else c
                for x, c in zip(init, for_init, strict=True)]
    for_consts = spread(in_consts, back.consts, where(consts, of_consts))
    for_xs = spread(in_xs, back.xs, where(xs, of_xs))
    return [*interleave(of_consts, for_consts, [None] * (num_consts - sum(of_consts))), *for_init,
            *interleave(of_xs, for_xs, [None] * (len(xs) - sum(of_xs)))]


class _Backward:
    """The body of a transposed loop, and which cotangents of constants, carry and rows it computes."""

    __slots__ = ("body", "consts", "carry", "xs")

    def __init__(self, body: ClosedJaxpr, consts: Marks, carry: Marks, xs: Marks) -> None:
        self.body = body
        self.consts = consts
        self.carry = carry
        self.xs = xs


@weak_cache
def _backward(closed: ClosedJaxpr, linear: tuple[bool, ...], live: tuple[bool, ...], num_consts: int,
              num_carry: int) -> _Backward:
    jaxpr = closed.jaxpr
    avals = jaxpr.in_avals
    given = without(avals, linear)
    num_known_consts = num_consts - sum(linear[:num_consts])
    num_linear_consts = sum(linear[:num_consts])
    live_carry, live_ys = pieces(live, num_carry)
    ct_avals = [a.to_cotangent_aval() for a in jaxpr.out_avals]

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        marks = [*carry, *live_ys]
        nonzero: list[bool] = []

        def fun(*flat: Any) -> list[Any]:
            values, cts = iter(flat[:len(given)]), iter(flat[len(given):])
            args = [UndefinedPrimal(a) if lin else next(values) for a, lin in zip(avals, linear, strict=True)]
            full = [next(cts) if m else Zero(a) for a, m in zip(ct_avals, marks, strict=True)]
            found = where(backward_pass(jaxpr, closed.consts, args, full), linear)
            if force:
                for i, m in enumerate(carry, num_linear_consts):
                    if m:
                        found[i] = instantiate_zeros(found[i])
            nonzero[:] = [type(c) is not Zero for c in found]
            return [c for c in found if type(c) is not Zero]

        new, consts = trace_to_jaxpr(fun, [*given, *where(ct_avals, marks)],
                                     jaxpr.debug_info._replace(arg_names=None))
        return (ClosedJaxpr(new, consts), nonzero), nonzero[num_linear_consts:num_linear_consts + num_carry]

    guess = grow(live_carry, lambda c: reached_from(jaxpr, [*c, *live_ys])[num_consts:num_consts + num_carry])
    carry, (new, nonzero) = settle(live_carry, guess, attempt)
    of_consts, _, of_xs = pieces(nonzero, num_linear_consts, num_carry)
    body = _accumulating(new, sum(of_consts), sum(carry), num_known_consts, len(given) - num_known_consts)
    return _Backward(body, of_consts, carry, of_xs)


def _accumulating(closed: ClosedJaxpr, num_sums: int, num_carry: int, num_consts: int, num_xs: int) -> ClosedJaxpr:
    """A body that adds up the cotangents of constants in its carry.

    ``closed`` maps (constants, rows, cotangents of carry and outputs) to cotangents of (constants, carry, rows).
    """
    jaxpr = closed.jaxpr
    consts, xs, ct_carry, ct_ys = pieces(jaxpr.invars, num_consts, num_xs, num_carry)
    terms, others = pieces(jaxpr.outvars, num_sums)
    sums = [Var(v.aval.strip_weak_type()) for v in terms]
    totals = [Var(v.aval) for v in sums]
    adds = [new_jaxpr_eqn([s, t], [out], add_any_p, {}, source_info=no_source)
            for s, t, out in zip(sums, terms, totals, strict=True)]
    return ClosedJaxpr(jaxpr.replace(invars=[*consts, *sums, *ct_carry, *xs, *ct_ys], outvars=[*totals, *others],
                                     eqns=[*jaxpr.eqns, *adds], effects=jaxpr.effects), closed.consts)


# --- batching -------------------------------------------------------------------------------------------------------

def _batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
           **params: Any) -> Any:
    consts, init, xs = pieces(args, num_consts, num_carry)
    const_dims, init_dims, xs_dims = pieces(dims, num_consts, num_carry)
    # The axis that is run along stays in front.
    xs = [match_axis(axis.size, 0, 1, x) if d == 0 else x for x, d in zip(xs, xs_dims, strict=True)]
    row_dims = [None if d is None else max(d - 1, 0) for d in xs_dims]
    start = [d is not None for d in init_dims]
    num_ys = len(jaxpr.jaxpr.outvars) - num_carry

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        forced = carry if force else [False] * num_carry
        new, out = batch_jaxpr_axes(jaxpr, axis, [*const_dims, *(0 if m else None for m in carry), *row_dims],
                                    [*forced, *[False] * num_ys])
        return (new, out), out[:num_carry]

    marked = [d is not None for d in dims]
    # Collectives over the axis end dependence on it, which following variables does not see.
    guess = start if jaxpr.effects else grow(start, lambda c: reached(
        jaxpr.jaxpr, [*marked[:num_consts], *c, *marked[num_consts + num_carry:]])[:num_carry])
    carry, (new, out) = settle(start, guess, attempt)
    init = [match_axis(axis.size, d, 0, x) if m else x for x, d, m in zip(init, init_dims, carry, strict=True)]
    outs = scan_p.bind(*consts, *init, *xs, **_params(new, num_consts, num_carry, params))
    return outs, [*(0 if m else None for m in carry), *(1 if m else None for m in out[num_carry:])]


# --- dead code ------------------------------------------------------------------------------------------------------

def _dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drops outputs and components of the carry that neither the results nor other components need."""
    params = eqn.params
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    body, used, carry = _dce_body(params["jaxpr"], tuple(used_outputs), num_consts, num_carry)
    kept = [*carry, *used_outputs[num_carry:]]
    if all(used) and all(kept) and body is params["jaxpr"]:
        if all(used_outputs):
            return used, eqn
        return used, eqn.replace(outvars=_dropped(eqn.outvars, used_outputs))
    of_consts, _, _ = pieces(used, num_consts, num_carry)
    outvars = where(_dropped(eqn.outvars, used_outputs), kept)
    return used, eqn.replace(invars=where(eqn.invars, used), outvars=outvars, effects=body.effects,
                             params=_params(body, sum(of_consts), sum(carry), params))


def _dropped(outvars: Sequence[Any], used: Sequence[bool]) -> list[Any]:
    return [v if u else DropVar(v.aval) for v, u in zip(outvars, used, strict=True)]


@weak_cache(context=no_context)
def _dce_body(closed: ClosedJaxpr, used_outputs: tuple[bool, ...], num_consts: int,
              num_carry: int) -> tuple[ClosedJaxpr, Marks, Marks]:
    of_carry, of_ys = pieces(used_outputs, num_carry)
    num_xs = len(closed.jaxpr.invars) - num_consts - num_carry
    while True:
        new, used = dce_jaxpr(closed.jaxpr, [*of_carry, *of_ys],
                              [*[False] * num_consts, *of_carry, *[False] * num_xs])
        carry = either(of_carry, used[num_consts:num_consts + num_carry])
        if carry == of_carry:
            break
        of_carry = carry
    if new is closed.jaxpr:
        return closed, used, of_carry
    return prune_consts(new, closed.consts), used, of_carry


rules.primitive_jvps[scan_p] = _jvp
rules.primitive_linearizations[scan_p] = _linearize
split_rules[scan_p] = _split
rules.partial_eval_rules[scan_p] = _partial
rules.primitive_transposes[scan_p] = _transpose
rules.fancy_primitive_batchers[scan_p] = _batch
rules.dce_rules[scan_p] = _dce
