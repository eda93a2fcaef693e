"""How errors come out of ``cond``, ``scan`` and ``while_loop``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base.caching import weak_cache
from jax._language.avals import ShapedArray
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.staging import trace_to_jaxpr
from jax.experimental.checkify._calls import unchanged
from jax.experimental.checkify._errors import Sites, slots_of
from jax.experimental.checkify._interpret import Outs, checked_program, structural_rules
from jax.experimental.checkify._state import Checked, Enabled, first, from_leaves, nothing, num_leaves
from jax.lax._cond import cond_p
from jax.lax._control_common import pieces
from jax.lax._scan import scan_p
from jax.lax._while import while_p


def _run(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _outcome(part: ClosedJaxpr | Checked, args: Sequence[Any], sites: Sites, offset: int) -> tuple[list[Any], list[Any]]:
    """Runs a part of a program with ``sites``, of which its own begin at ``offset``: leaves of its error, results."""
    if not isinstance(part, Checked):
        return nothing.leaves(sites, 0), _run(part, args)
    state, outs = part.split(_run(part.jaxpr, args))
    return state.leaves(sites, offset), outs


def _sites(part: ClosedJaxpr | Checked) -> Sites:
    return part.sites if isinstance(part, Checked) else ()


# --- cond -----------------------------------------------------------------------------------------------------------

def _cond(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    branches = eqn.params["branches"]
    parts = [checked_program(enabled, b) or b for b in branches]
    if all(part is b for part, b in zip(parts, branches, strict=True)):
        return unchanged(eqn, values)
    sites = tuple([s for part in parts for s in _sites(part)])
    offset, new = 0, []
    for part, b in zip(parts, branches, strict=True):
        new.append(_branch(b, part if isinstance(part, Checked) else None, sites, offset))
        offset += len(_sites(part))
    outs = cond_p.bind(*values, **dict(eqn.params, branches=tuple(new)))
    n = num_leaves(sites)
    return from_leaves(outs[:n], sites), list(outs[n:])


@weak_cache
def _branch(branch: ClosedJaxpr, checked: Checked | None, sites: Sites, offset: int) -> ClosedJaxpr:
    def run(*args: Any) -> list[Any]:
        error, outs = _outcome(checked or branch, args, sites, offset)
        return [*error, *outs]
    return ClosedJaxpr(*trace_to_jaxpr(run, branch.in_avals, branch.jaxpr.debug_info))


# --- scan -----------------------------------------------------------------------------------------------------------

def _scan(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    params = eqn.params
    checked = checked_program(enabled, params["jaxpr"])
    if checked is None:
        return unchanged(eqn, values)
    n, num_consts, num_carry = num_leaves(checked.sites), params["num_consts"], params["num_carry"]
    body = _scan_body(params["jaxpr"], checked, num_consts)
    start = nothing.leaves(checked.sites, 0)
    outs = scan_p.bind(*values[:num_consts], *start, *values[num_consts:],
                       **dict(params, jaxpr=body, num_carry=n + num_carry))
    return from_leaves(outs[:n], checked.sites), list(outs[n:])


@weak_cache
def _scan_body(closed: ClosedJaxpr, checked: Checked, num_consts: int) -> ClosedJaxpr:
    n = num_leaves(checked.sites)

    def step(*args: Any) -> list[Any]:
        consts, before, rest = pieces(args, num_consts, n)
        outs = _run(checked.jaxpr, [*consts, *rest])
        return [*first(before, outs[:n]), *outs[n:]]

    avals = [*closed.in_avals[:num_consts], *checked.jaxpr.out_avals[:n], *closed.in_avals[num_consts:]]
    return ClosedJaxpr(*trace_to_jaxpr(step, avals, closed.jaxpr.debug_info._replace(arg_names=None)))


# --- while_loop -----------------------------------------------------------------------------------------------------

def _while(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    params = eqn.params
    body, cond = params["body_jaxpr"], params["cond_jaxpr"]
    body_checked, cond_checked = checked_program(enabled, body), checked_program(enabled, cond)
    if body_checked is None and cond_checked is None:
        return unchanged(eqn, values)
    body_part, cond_part = body_checked or body, cond_checked or cond
    sites = (*_sites(body_part), *_sites(cond_part))
    cond_consts, body_consts, init = pieces(values, params["cond_nconsts"], params["body_nconsts"])
    n = num_leaves(sites)
    # The condition is evaluated after each step, inside of the body, where its error has a place to go.
    error, (pred,) = _outcome(cond_part, [*cond_consts, *init], sites, len(_sites(body_part)))
    new_body, new_cond = _while_step(body, cond, body_checked, cond_checked, params["cond_nconsts"],
                                     params["body_nconsts"])
    outs = while_p.bind(*cond_consts, *body_consts, pred, *error, *init, cond_jaxpr=new_cond, cond_nconsts=0,
                        body_jaxpr=new_body, body_nconsts=len(cond_consts) + len(body_consts))
    return from_leaves(outs[1:n + 1], sites), list(outs[n + 1:])


@weak_cache
def _while_step(body: ClosedJaxpr, cond: ClosedJaxpr, body_checked: Checked | None, cond_checked: Checked | None,
                cond_nconsts: int, body_nconsts: int) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """A body and a condition that also carry, in front, whether the loop goes on, and the error."""
    body_part, cond_part = body_checked or body, cond_checked or cond
    num_body = len(_sites(body_part))
    sites = (*_sites(body_part), *_sites(cond_part))
    n = num_leaves(sites)

    def step(*args: Any) -> list[Any]:
        cond_consts, consts, _, error, carry = pieces(args, cond_nconsts, body_nconsts, 1, n)
        of_body, carry = _outcome(body_part, [*consts, *carry], sites, 0)
        of_cond, (pred,) = _outcome(cond_part, [*cond_consts, *carry], sites, num_body)
        return [pred, *first(first(error, of_body), of_cond), *carry]

    error_avals = [ShapedArray((), np.int32), *(a for slot in slots_of(sites) for a in slot)]
    state = [*cond.out_avals, *error_avals, *body.in_avals[body_nconsts:]]
    info = body.jaxpr.debug_info._replace(arg_names=None)
    new_body = trace_to_jaxpr(step, [*cond.in_avals[:cond_nconsts], *body.in_avals[:body_nconsts], *state], info)
    new_cond = trace_to_jaxpr(lambda pred, *rest: [pred], state, cond.jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(*new_body), ClosedJaxpr(*new_cond)


structural_rules[cond_p] = _cond
structural_rules[scan_p] = _scan
structural_rules[while_p] = _while
