"""Interpreting jaxprs: their equations bound one after another under the current trace."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jax._base import source as source_info
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Interprets ``jaxpr`` by binding its equations one after another under the current trace.

    Equations that come of it keep the places of the original ones, unless ``propagate_source_info`` is off.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"the jaxpr of {jaxpr.debug_info.func_name} takes {len(jaxpr.invars)} arguments, "
                        f"got {len(args)}")
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    last = last_uses(jaxpr)
    for eqn, dying in zip(jaxpr.eqns, last, strict=True):
        vals = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if propagate_source_info:
            with source_info.user_context(eqn.source_info):
                out = bind_eqn(eqn, vals)
        else:
            out = bind_eqn(eqn, vals)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outvars, out, strict=True))
        else:
            env[eqn.outvars[0]] = out
        for v in dying:
            env.pop(v, None)
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def bind_eqn(eqn: JaxprEqn, vals: Sequence[Any]) -> Any:
    """Binds the primitive of ``eqn`` to other values; primitives that take functions get them back from jaxprs."""
    subfuns, params = eqn.primitive.get_bind_params(eqn.params)
    return eqn.primitive.bind(*subfuns, *vals, **params)


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation the variables that nothing reads after it, so that interpreters can free them."""
    seen = {v for v in jaxpr.outvars if type(v) is not Literal}
    out: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        dying = []
        for v in itertools.chain(eqn.invars, eqn.outvars):
            if type(v) is not Literal and v not in seen:
                seen.add(v)
                dying.append(v)
        out.append(dying)
    out.reverse()
    return out


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of leaves that a closed jaxpr computes."""
    def fun(*args: Any) -> list[Any]:
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)
    return fun
