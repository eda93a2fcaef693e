"""Dead-code elimination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._language import rules
from jax._language.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False,
              ) -> tuple[Jaxpr, list[bool]]:
    """Drops unused outputs and the equations and arguments that only they needed.

    Equations with effects stay. ``instantiate`` keeps arguments although unused.

    Returns:
      The new jaxpr and which arguments it has kept.
    """
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live = {v for v in outvars if type(v) is not Literal}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        rule = rules.dce_rules.get(eqn.primitive)
        new: JaxprEqn | None = eqn
        if rule is not None:
            used_ins, new = rule(used, eqn)
        if new is None:
            continue
        if not all(used) and new is eqn and rule is None and len(used) > 1:
            new = eqn.replace(outvars=[v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)])
        eqns.append(new)
        live.update(v for v in new.invars if type(v) is not Literal)
    eqns.reverse()
    force = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    used_inputs = [v in live or f for v, f in zip(jaxpr.invars, force, strict=True)]
    if len(eqns) == len(jaxpr.eqns) and all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True)) \
            and all(used_inputs) and all(used_outputs):
        return jaxpr, used_inputs
    new_jaxpr = Jaxpr(jaxpr.constvars, [v for v, u in zip(jaxpr.invars, used_inputs, strict=True) if u], outvars,
                      eqns, None, jaxpr.debug_info._replace(arg_names=None) if not all(used_inputs)
                      else jaxpr.debug_info)
    return new_jaxpr, used_inputs


def dce_closed(closed: ClosedJaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False,
               ) -> tuple[ClosedJaxpr, list[bool]]:
    """:func:`dce_jaxpr` on a closed jaxpr; constants that nothing reads any more go too."""
    jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs, instantiate)
    if jaxpr is closed.jaxpr:
        return closed, used
    return prune_consts(jaxpr, closed.consts), used


def prune_consts(jaxpr: Jaxpr, consts: Sequence[Any]) -> ClosedJaxpr:
    live = {v for e in jaxpr.eqns for v in e.invars if type(v) is not Literal}
    live.update(v for v in jaxpr.outvars if type(v) is not Literal)
    kept = [(v, c) for v, c in zip(jaxpr.constvars, consts, strict=True) if v in live]
    return ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in kept], effects=jaxpr.effects), [c for _, c in kept])


def dce_call(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """The rule of equations that call the closed jaxpr in their parameter ``jaxpr`` on their operands."""
    closed = eqn.params["jaxpr"]
    if not any(used_outputs) and not closed.effects:
        return [False] * len(eqn.invars), None
    new, used = dce_closed(closed, used_outputs)
    if new is closed:
        return used, eqn
    params = dict(eqn.params, jaxpr=new)
    if "donated_invars" in params:
        params["donated_invars"] = tuple(d for d, u in zip(params["donated_invars"], used, strict=True) if u)
    return used, eqn.replace(params=params, effects=new.effects,
                             invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
                             outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u])
