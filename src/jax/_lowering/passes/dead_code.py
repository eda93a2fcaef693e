"""Removal of equations whose results nothing reads."""

from __future__ import annotations

from jax._language.jaxpr import ClosedJaxpr


def drop_dead_equations(closed: ClosedJaxpr) -> ClosedJaxpr:
    """``closed`` without equations that have neither a live result nor an effect.

    Jaxprs inside equations are left alone: whoever made them has removed their dead code, and XLA does too.
    """
    jaxpr = closed.jaxpr
    live = set(jaxpr.outvars)  # and literals, which do no harm
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if not eqn.effects:
            for v in eqn.outvars:
                if v in live:
                    break
            else:
                continue
        kept.append(eqn)
        live.update(eqn.invars)
    if len(kept) == len(jaxpr.eqns):
        return closed
    kept.reverse()
    constants = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in live]
    smaller = jaxpr.replace(eqns=kept, constvars=[v for v, _ in constants])
    return ClosedJaxpr(smaller, [c for _, c in constants])
