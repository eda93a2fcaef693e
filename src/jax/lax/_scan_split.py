"""How a loop is split in two: what is known now, and a second loop that reads its residuals.

Linearization, partial evaluation and transposition share this. A residual costs the memory of all its steps only if
it has to: what is a constant of the loop, a row of an array that is run along, an output anyway, or computed from
constants alone is found outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base.caching import no_context, weak_cache
from jax._language import rules
from jax._language.effects import RefEffect
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._transforms.dce import dce_closed, dce_jaxpr, prune_consts
from jax._transforms.linearize_jaxpr import linearize_jaxpr
from jax._transforms.partial import partial_eval_jaxpr
from jax.lax._control_common import (
    Marks,
    dependence_rules,
    differentiable,
    grow,
    permuted,
    pieces,
    reached,
    settle,
    where,
    without,
)
from jax.lax._scan import scan_p


class Halves:
    """A loop split in two.

    Attributes:
      known: the body of the first loop, from known constants, carry and rows to known carry and outputs and then
        residuals to be stacked.
      num_known_outs: how many results of ``known`` come before those residuals; ``num_known_carry`` of them are carry.
      invariants: from the known constants to the residuals that depend on nothing else, or None.
      sources: where each residual of the second loop is found: ``("const" | "xs" | "ys" | "invariant", i)``.
      rest: the body of the second loop: its constants and rows start with residuals.
      in_marks, out_marks: which operands belong to the second loop, and which results it gives.
    """

    __slots__ = ("known", "num_known_outs", "num_known_carry", "invariants", "sources", "rest", "in_marks", "out_marks")

    def __init__(self, known: ClosedJaxpr, num_known_outs: int, num_known_carry: int, invariants: ClosedJaxpr | None,
                 sources: list[tuple[str, int]], rest: ClosedJaxpr, in_marks: Marks, out_marks: Marks) -> None:
        self.known = known
        self.num_known_outs = num_known_outs
        self.num_known_carry = num_known_carry
        self.invariants = invariants
        self.sources = sources
        self.rest = rest
        self.in_marks = in_marks
        self.out_marks = out_marks

    def residuals(self, consts: Sequence[Any], xs: Sequence[Any], ys: Sequence[Any],
                  invariants: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The residuals among the constants of the second loop, and those it runs along."""
        found = {"const": consts, "xs": xs, "ys": ys, "invariant": invariants}
        fixed = [found[kind][i] for kind, i in self.sources if kind in ("const", "invariant")]
        along = [found[kind][i] for kind, i in self.sources if kind in ("xs", "ys")]
        return fixed, along


@weak_cache(context=no_context)
def linearized_halves(closed: ClosedJaxpr, nonzeros: tuple[bool, ...], num_consts: int, num_carry: int) -> Halves:
    """The loop with the operations on tangents in the second one; ``nonzeros`` says which operands have tangents."""
    jaxpr = closed.jaxpr
    of_consts, of_init, of_xs = pieces(nonzeros, num_consts, num_carry)
    force_ys = [False] * (len(jaxpr.outvars) - num_carry)

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        forced = carry if force else [False] * num_carry
        lin = linearize_jaxpr(closed, [*of_consts, *carry, *of_xs], [*forced, *force_ys])
        return lin, lin.out_nonzero[:num_carry]

    guess = grow(of_init, lambda c: reached(jaxpr, [*of_consts, *c, *of_xs], differentiable)[:num_carry])
    carry, lin = settle(of_init, guess, attempt)
    primal = lin.primal.jaxpr
    num_outs = len(lin.out_nonzero)
    places = {"in": primal.invars, "out": primal.outvars[:num_outs], "res": primal.outvars[num_outs:]}
    residuals = [places[kind][i] for kind, i in lin.res_from]
    known, invariants, sources = arrange(lin.primal, num_outs, residuals, num_consts, num_carry)
    rest = second_body(lin.tangent, sources, sum(of_consts), sum(carry))
    return Halves(known, num_outs, num_carry, invariants, sources, rest, [*of_consts, *carry, *of_xs],
                  list(lin.out_nonzero))


@weak_cache(context=no_context)
def partial_halves(closed: ClosedJaxpr, unknown: tuple[bool, ...], num_consts: int, num_carry: int,
                   hoist: bool = True) -> Halves:
    """The loop with what depends on unknown operands in the second one."""
    jaxpr = closed.jaxpr
    of_consts, of_init, of_xs = pieces(unknown, num_consts, num_carry)
    force_ys = [False] * (len(jaxpr.outvars) - num_carry)

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        forced = carry if force else [False] * num_carry
        parts = partial_eval_jaxpr(closed, [*of_consts, *carry, *of_xs], [*forced, *force_ys])
        return parts, parts.out_unknown[:num_carry]

    guess = grow(of_init, lambda c: reached(jaxpr, [*of_consts, *c, *of_xs])[:num_carry])
    carry, parts = settle(of_init, guess, attempt)
    num_outs = len(parts.out_unknown) - sum(parts.out_unknown)
    known_consts, known_carry = num_consts - sum(of_consts), num_carry - sum(carry)
    residuals = parts.known.jaxpr.outvars[num_outs:]
    known, invariants, sources = arrange(parts.known, num_outs, residuals, known_consts, known_carry, hoist)
    rest = second_body(parts.unknown, sources, sum(of_consts), sum(carry))
    return Halves(known, num_outs, known_carry, invariants, sources, rest, [*of_consts, *carry, *of_xs],
                  list(parts.out_unknown))


def arrange(closed: ClosedJaxpr, num_outs: int, residuals: Sequence[Any], num_consts: int, num_carry: int,
            hoist: bool = True) -> tuple[ClosedJaxpr, ClosedJaxpr | None, list[tuple[str, int]]]:
    """Decides where each residual of a body is found: the body to run, the invariants to compute, the sources."""
    jaxpr = closed.jaxpr
    consts, carry, xs = pieces(jaxpr.invars, num_consts, num_carry)
    outvars = list(jaxpr.outvars[:num_outs])
    place: dict[Any, tuple[str, int]] = {v: ("const", i) for i, v in enumerate(consts)}
    place.update({v: ("xs", i) for i, v in enumerate(xs)})
    for i, v in enumerate(outvars[num_carry:]):
        if type(v) is not Literal:
            place.setdefault(v, ("ys", i))
    inside = {*carry, *place}
    candidates = [v for v in residuals if type(v) is Literal or v not in inside] if hoist else []
    hoisted, invariants = _invariants(closed, num_consts, candidates) if candidates else ([], None)
    for i, v in enumerate(hoisted):
        if type(v) is not Literal:
            place[v] = ("invariant", i)
    sources = []
    for v in residuals:
        found = ("invariant", hoisted.index(v)) if type(v) is Literal and hoist else None
        if found is None and type(v) is not Literal:
            found = place.get(v)
        if found is None:
            found = ("ys", len(outvars) - num_carry)
            outvars.append(v)
            if type(v) is not Literal:
                place[v] = found
        sources.append(found)
    info = jaxpr.debug_info._replace(arg_names=None)
    body = Jaxpr(jaxpr.constvars, jaxpr.invars, outvars, jaxpr.eqns, jaxpr.effects, info)
    if hoisted:
        body, _ = dce_jaxpr(body, [True] * len(outvars), instantiate=True)
    return prune_consts(body, closed.consts), invariants, sources


def _invariants(closed: ClosedJaxpr, num_consts: int,
                candidates: Sequence[Any]) -> tuple[list[Any], ClosedJaxpr | None]:
    """Which of the candidates depend on constants of the loop alone, and the program that computes these."""
    jaxpr = closed.jaxpr
    if any([isinstance(e, RefEffect) for e in jaxpr.effects]):
        return [], None  # what a reference holds may differ from step to step
    fixed: set[Any] = {*jaxpr.invars[:num_consts], *jaxpr.constvars}
    mixed = False
    for eqn in jaxpr.eqns:
        known = [type(v) is Literal or v in fixed for v in eqn.invars]
        if all(known) and not eqn.effects:
            fixed.update(eqn.outvars)
        elif eqn.primitive in rules.partial_eval_rules:
            mixed = True
    if not mixed:
        found = [v for v in candidates if type(v) is Literal or v in fixed]
        eqns = [e for e in jaxpr.eqns if all(v in fixed for v in e.outvars)]
        outside = ClosedJaxpr(Jaxpr(jaxpr.constvars, jaxpr.invars[:num_consts], found, eqns, None, jaxpr.debug_info),
                              closed.consts)
    else:  # inside of nested jaxprs there may be more
        whole = ClosedJaxpr(jaxpr.replace(outvars=list(candidates), effects=jaxpr.effects), closed.consts)
        parts = partial_eval_jaxpr(whole, [i >= num_consts for i in range(len(jaxpr.invars))])
        found = without(candidates, parts.out_unknown)
        outside = permuted(parts.known, range(num_consts), range(len(found)))
    if not found:
        return [], None
    program, _ = dce_closed(outside, [True] * len(found), instantiate=True)
    return found, program


def second_body(closed: ClosedJaxpr, sources: Sequence[tuple[str, int]], num_consts: int,
                num_carry: int) -> ClosedJaxpr:
    """From (residuals, constants, carry, rows) to the order of a loop's body."""
    n = len(sources)
    along = [kind in ("xs", "ys") for kind, _ in sources]
    residuals = list(range(n))
    consts, carry, xs = pieces(range(n, len(closed.jaxpr.invars)), num_consts, num_carry)
    return permuted(closed, [*without(residuals, along), *consts, *carry, *where(residuals, along), *xs])


def _dependence(eqn: JaxprEqn, marks: Sequence[bool], through: Any) -> Marks:
    params = eqn.params
    jaxpr, num_carry = params["jaxpr"].jaxpr, params["num_carry"]
    consts, init, xs = pieces(marks, params["num_consts"], num_carry)
    carry = grow(init, lambda c: reached(jaxpr, [*consts, *c, *xs], through)[:num_carry])
    return [*carry, *reached(jaxpr, [*consts, *carry, *xs], through)[num_carry:]]


dependence_rules[scan_p] = _dependence
