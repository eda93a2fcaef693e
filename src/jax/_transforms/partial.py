"""Partial evaluation of jaxprs: what can be computed from the known inputs, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base.caching import weak_cache
from jax._language import rules
from jax._language.discharge import without_own_references
from jax._language.effects import writes
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jax._transforms.dce import dce_jaxpr, prune_consts

Policy = Callable[..., Any]


def save_everything(prim: Any, *avals: Any, **params: Any) -> bool:
    return True


class PartialJaxprs:
    """``known`` maps the known inputs to the known outputs and then the residuals; ``unknown`` maps the residuals and
    then the unknown inputs (all inputs, if made by a rematerialising split) to the unknown outputs."""

    __slots__ = ("known", "unknown", "out_unknown", "residual_avals", "residual_in")

    def __init__(self, known: ClosedJaxpr, unknown: ClosedJaxpr, out_unknown: list[bool], residual_avals: list[Any],
                 residual_in: list[int | None]) -> None:
        self.known = known
        self.unknown = unknown
        self.out_unknown = out_unknown
        self.residual_avals = residual_avals
        self.residual_in = residual_in


def partial_eval_jaxpr(closed: ClosedJaxpr, in_unknown: Sequence[bool],
                       instantiate: bool | Sequence[bool] = False) -> PartialJaxprs:
    """Splits ``closed`` by which inputs are unknown; ``instantiate`` makes outputs unknown although they are known."""
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _partial_eval(closed, tuple(in_unknown), force, save_everything)


def partial_eval_with_policy(closed: ClosedJaxpr, in_unknown: Sequence[bool], instantiate: bool | Sequence[bool],
                             policy: Policy) -> PartialJaxprs:
    """The split for rematerialisation: known values that ``policy`` does not save are computed again in ``unknown``.

    The known inputs are residuals for free (``residual_in`` says which residual is which input).
    """
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _partial_eval(closed, tuple(in_unknown), force, policy)


@weak_cache
def _partial_eval(closed: ClosedJaxpr, in_unknown: tuple[bool, ...], force: tuple[bool, ...],
                  policy: Policy) -> PartialJaxprs:
    closed = without_own_references(closed)
    jaxpr = closed.jaxpr
    known_eqns, unknown_eqns, unknown_vars, saved, moved = _split(jaxpr, in_unknown, policy)
    out_unknown = [(type(v) is not Literal and v in unknown_vars) or f
                   for v, f in zip(jaxpr.outvars, force, strict=True)]
    known_ins = [v for v, u in zip(jaxpr.invars, in_unknown, strict=True) if not u]
    unknown_ins = [v for v, u in zip(jaxpr.invars, in_unknown, strict=True) if u]
    available = {*known_ins, *saved}
    unknown_outs = [v for v, u in zip(jaxpr.outvars, out_unknown, strict=True) if u]
    again = known_eqns if not moved else [new for e in known_eqns for new in moved.get(id(e), [e])]
    unknown_side, residuals = _unknown_side(jaxpr, again, unknown_eqns, unknown_outs, available,
                                            set(unknown_ins), policy is save_everything)
    known_outs = [v for v, u in zip(jaxpr.outvars, out_unknown, strict=True) if not u]
    info = jaxpr.debug_info._replace(arg_names=None)
    known = Jaxpr(jaxpr.constvars, known_ins, [*known_outs, *residuals], known_eqns, None, info)
    known, _ = dce_jaxpr(known, [True] * len(known.outvars), instantiate=True)
    unknown = Jaxpr(jaxpr.constvars, [*residuals, *unknown_ins], unknown_outs, unknown_side, None, info)
    position = {v: i for i, v in enumerate(known_ins)}
    return PartialJaxprs(prune_consts(known, closed.consts), prune_consts(unknown, closed.consts), out_unknown,
                         [v.aval for v in residuals], [position.get(v) for v in residuals])


def _split(jaxpr: Jaxpr, in_unknown: Sequence[bool], policy: Policy,
           ) -> tuple[list[JaxprEqn], list[JaxprEqn], set[Var], set[Var], dict[int, list[JaxprEqn]]]:
    """Known equations, unknown equations, unknown variables, and the known variables that may be saved.

    Last, for known equations whose results are kept in another memory (by identity), the equations that fetch them.
    """
    unknown_vars = {v for v, u in zip(jaxpr.invars, in_unknown, strict=True) if u}
    known_eqns: list[JaxprEqn] = []
    unknown_eqns: list[JaxprEqn] = []
    saved: set[Var] = set()
    moved: dict[int, list[JaxprEqn]] = {}
    for eqn in jaxpr.eqns:
        unknowns = [type(v) is not Literal and v in unknown_vars for v in eqn.invars]
        rule = rules.partial_eval_rules.get(eqn.primitive)
        if rule is not None and (policy is not save_everything or any(unknowns)):
            known, unknown, out_unknown, res = rule(policy, unknowns, eqn)
            if known is not None:
                known_eqns.append(known)
            if unknown is not None:
                unknown_eqns.append(unknown)
            unknown_vars.update(v for v, u in zip(eqn.outvars, out_unknown, strict=True) if u)
            saved.update(res)
        elif any(unknowns):
            unknown_eqns.append(eqn)
            unknown_vars.update(eqn.outvars)
            if eqn.effects:  # what is read from a reference after this is not known
                unknown_vars.update([eqn.invars[i] for i in writes(eqn.effects)])
        else:
            known_eqns.append(eqn)
            keeps = policy is save_everything or policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
            if keeps and hasattr(keeps, "dst"):
                _keep_elsewhere(eqn, keeps, known_eqns, saved, moved)
            elif keeps:
                saved.update(eqn.outvars)
    return known_eqns, unknown_eqns, unknown_vars, saved, moved


def _keep_elsewhere(eqn: JaxprEqn, place: Any, known_eqns: list[JaxprEqn], saved: set[Var],
                    moved: dict[int, list[JaxprEqn]]) -> None:
    """Stores the results of ``eqn`` in the memory ``place.dst``, to be fetched to ``place.src``."""
    move = rules.memory_moves["move"]
    fetches = []
    for v in eqn.outvars:
        stored = Var(v.aval)
        known_eqns.append(move(v, stored, place.dst))
        fetches.append(move(stored, v, place.src))
        saved.add(stored)
    moved[id(eqn)] = fetches


def _unknown_side(jaxpr: Jaxpr, known_eqns: list[JaxprEqn], unknown_eqns: list[JaxprEqn], outs: list[Any],
                  available: set[Var], unknown_ins: set[Var], everything_saved: bool,
                  ) -> tuple[list[JaxprEqn], list[Var]]:
    """The equations of the unknown program, those computed again included, and its residuals in order."""
    constvars = set(jaxpr.constvars)
    order: dict[Var, None] = {}
    needed = {v for v in outs if type(v) is not Literal}
    eqns: list[JaxprEqn] = []
    merged = _in_program_order(jaxpr, known_eqns, unknown_eqns)
    for eqn, is_known in reversed(merged):
        if is_known:
            again = [v for v in eqn.outvars if v in needed and v not in available]
            if not again or (everything_saved and not eqn.effects):
                continue
            if eqn.effects:
                available.update(again)  # an effect must not happen twice: its results are saved whatever the policy
                continue
        elif not eqn.effects and not any(v in needed for v in eqn.outvars):
            continue
        eqns.append(eqn)
        needed.update(v for v in eqn.invars if type(v) is not Literal)
    eqns.reverse()
    made_here = {v for e in eqns for v in e.outvars}
    for e in eqns:
        for v in e.invars:
            if type(v) is not Literal and v not in made_here and v not in unknown_ins and v not in constvars:
                order.setdefault(v)
    for v in outs:
        if type(v) is not Literal and v not in made_here and v not in unknown_ins and v not in constvars:
            order.setdefault(v)
    return eqns, list(order)


def _in_program_order(jaxpr: Jaxpr, known: list[JaxprEqn], unknown: list[JaxprEqn]) -> list[tuple[JaxprEqn, bool]]:
    """Both lists merged so that every equation follows those that it reads from.

    Known equations never read unknown values, and each list is in order, so known ones first is such an order.
    """
    return [(e, True) for e in known] + [(e, False) for e in unknown]


def split_call(policy: Policy, unknown: Sequence[bool], eqn: JaxprEqn, parts: PartialJaxprs,
               known_params: dict[str, Any], unknown_params: dict[str, Any]) -> Any:
    """The result of a ``partial_eval_rules`` entry for an equation that calls one jaxpr, which became ``parts``."""
    residuals = [Var(a) for a in parts.residual_avals]
    known_ins = [v for v, u in zip(eqn.invars, unknown, strict=True) if not u]
    known_outs = [v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if not u]
    passed = [known_ins[i] if i is not None else r for r, i in zip(residuals, parts.residual_in, strict=True)]
    known = eqn.replace(invars=known_ins, outvars=[*known_outs, *residuals], params=known_params,
                        effects=parts.known.effects)
    unknown_outs = [v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if u]
    rest = None
    if unknown_outs or parts.unknown.effects:
        rest = eqn.replace(invars=[*passed, *[v for v, u in zip(eqn.invars, unknown, strict=True) if u]],
                           outvars=unknown_outs, params=unknown_params, effects=parts.unknown.effects)
    saved = [r for r, i in zip(residuals, parts.residual_in, strict=True) if i is None]
    if policy is save_everything:
        saved = [*saved, *known_outs]
    return known, rest, parts.out_unknown, saved
