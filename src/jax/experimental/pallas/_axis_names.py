"""Positions along named axes of cores as arguments of a kernel.

``lax.axis_index(name)`` is an operation of the traced kernel. As interpreted cores are steps of a loop, it becomes one of
the indices in the grid, which is handed to the programs inside of loops and branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._language.effects import NamedAxisEffect
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from jax._language.lifting import lift_rules
from jax.experimental.pallas._mapping import INDEX
from jax.lax import axis_index_p, while_p


def with_indices(closed: ClosedJaxpr, names: Sequence[Any]) -> ClosedJaxpr:
    """A kernel whose leading arguments are its positions along the named axes, without other mention of these.

    Raises:
      NotImplementedError: the axes are named by something else than ``axis_index``.
    """
    jaxpr = closed.jaxpr
    new = _replaced(jaxpr, dict(zip(names, jaxpr.invars, strict=False)))
    left = [e.name for e in new.effects if isinstance(e, NamedAxisEffect) and e.name in names] + _mentions(new, names)
    if left:
        raise NotImplementedError(
            f"pl.kernel: the kernel communicates along the axis {left[0]!r} of its mesh, or asks for its position there "
            "inside of an operation that cannot be handed it. Cores of interpreted kernels run one after another: call "
            "jax.lax.axis_index at the top of the kernel, and communicate through memory.")
    return ClosedJaxpr(new, closed.consts)


def _mentions(jaxpr: Jaxpr, names: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for eqn in jaxpr.eqns:
        for key in ("axes", "axis_name"):
            given = eqn.params.get(key, ())
            found.extend(n for n in (given if isinstance(given, (tuple, list)) else (given,)) if n in names)
        for inner in jaxprs_in_params(eqn.params):
            found.extend(_mentions(inner, names))
    return found


def _replaced(jaxpr: Jaxpr, at: dict[Any, Var]) -> Jaxpr:
    """``jaxpr`` with the variables of ``at`` in place of positions along these axes."""
    rename: dict[Any, Any] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        name = eqn.params.get("axis_name")
        if eqn.primitive is axis_index_p and name in at:
            rename[eqn.outvars[0]] = at[name]
            continue
        if rename and any(type(v) is not Literal and v in rename for v in eqn.invars):
            eqn = eqn.replace(invars=[v if type(v) is Literal else rename.get(v, v) for v in eqn.invars])
        used = [n for n in at if any(n in _mentions(j, [n]) for j in jaxprs_in_params(eqn.params))]
        eqns.append(_lifted(eqn, used, at) if used else eqn)
    outvars = [v if type(v) is Literal else rename.get(v, v) for v in jaxpr.outvars]
    return jaxpr.replace(eqns=eqns, outvars=outvars)


def _lifted(eqn: JaxprEqn, names: list[Any], at: dict[Any, Var]) -> JaxprEqn:
    """An equation that is given its positions, as further operands."""
    rule = _lift_while if eqn.primitive is while_p else lift_rules.get(eqn.primitive)
    if rule is None:
        return eqn
    params, first = rule(eqn.params, _taking, names)
    invars = [*eqn.invars[:first], *(at[n] for n in names), *eqn.invars[first:]]
    _, effects = eqn.primitive.abstract_eval(*[v.aval for v in invars], **params)
    return eqn.replace(invars=invars, params=params, effects=effects)


def _taking(closed: ClosedJaxpr, names: Sequence[Any]) -> ClosedJaxpr:
    variables = [Var(INDEX) for _ in names]
    jaxpr = _replaced(closed.jaxpr, dict(zip(names, variables, strict=True)))
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=[*variables, *jaxpr.invars], effects=None, debug_info=info), closed.consts)


def _lift_while(params: dict[str, Any], lift: Any, names: list[Any]) -> tuple[dict[str, Any], int]:
    """The body takes the positions before its constants; a condition that names an axis is left as it is, and refused."""
    new = dict(params, body_jaxpr=lift(params["body_jaxpr"], names), body_nconsts=params["body_nconsts"] + len(names))
    return new, params["cond_nconsts"]


__all__ = ["with_indices"]
