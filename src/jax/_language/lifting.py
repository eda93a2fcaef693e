"""References among the constants of programs become their arguments.

A function that closes over a reference has it as an argument once it is traced. A derivative rule of the user's that closes
over one is traced later, when the program around it is there already, and leaves the reference as a constant somewhere
inside. ``lifted`` hands such constants out, from the programs in equations to the equations' operands, up to the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jax._base.caching import weak_cache
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from jax._language.refs import Ref

Lift = Callable[[ClosedJaxpr, "list[Ref]"], ClosedJaxpr]
# How an equation takes more operands: (params, lift, refs) -> (params, position of the new operands). ``lift(closed, refs)``
# is a program of the equation as one that takes ``refs`` first.
lift_rules: dict[Any, Callable[[dict[str, Any], Any, list[Ref]], tuple[dict[str, Any], int]]] = {}


class Lifted(NamedTuple):
    """A program that takes ``refs`` before its own arguments."""

    closed: ClosedJaxpr
    refs: tuple[Ref, ...]


def lifted(closed: ClosedJaxpr, same: tuple[tuple[int, int], ...] = ()) -> Lifted:
    """``closed`` with the references among its constants, and those of programs in it, as leading arguments.

    Those that are arguments anyhow (``same`` has the numbers of reference and argument) are not taken twice.
    """
    refs = _distinct(_constants(closed))
    if not refs:
        return Lifted(closed, ())
    new = _taking(closed, tuple(refs))
    if not same:
        return Lifted(new, tuple(refs))
    jaxpr = new.jaxpr
    rename = {jaxpr.invars[k]: jaxpr.invars[len(refs) + i] for k, i in same}
    new = ClosedJaxpr(jaxpr.replace(invars=[v for v in jaxpr.invars if v not in rename],
                                    eqns=[_renamed(e, rename) for e in jaxpr.eqns]), new.consts)
    taken = {k for k, _ in same}
    return Lifted(new, tuple([r for k, r in enumerate(refs) if k not in taken]))


def _constants(closed: ClosedJaxpr) -> Iterator[Ref]:
    for value in closed.consts:
        if type(value) is Ref:
            yield value
    for eqn in closed.eqns:
        if eqn.primitive.abstract_cache is None:
            for inner in _programs(eqn.params):
                yield from _constants(inner)


def _programs(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    for value in params.values():
        for item in value if type(value) is tuple else (value,):
            if type(item) is ClosedJaxpr:
                yield item


def _distinct(refs: Iterator[Ref]) -> list[Ref]:
    return list({id(r): r for r in refs}.values())


@weak_cache
def _taking(closed: ClosedJaxpr, refs: tuple[Ref, ...]) -> ClosedJaxpr:
    """``closed`` as a program that takes ``refs``, which include those that it needs, first."""
    jaxpr = closed.jaxpr
    variables = {id(r): Var(r.aval) for r in refs}
    rename = {v: variables[id(c)] for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if type(c) is Ref}
    kept = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if type(c) is not Ref]
    eqns = [_lifted_equation(e, rename, variables) for e in jaxpr.eqns]
    new = jaxpr.replace(constvars=[v for v, _ in kept], invars=[*variables.values(), *jaxpr.invars], eqns=eqns,
                        debug_info=jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(new, [c for _, c in kept])


def _lifted_equation(eqn: JaxprEqn, rename: dict[Var, Var], variables: dict[int, Var]) -> JaxprEqn:
    eqn = _renamed(eqn, rename)
    if eqn.primitive.abstract_cache is not None:
        return eqn
    refs = _distinct(r for inner in _programs(eqn.params) for r in _constants(inner))
    if not refs:
        return eqn
    rule = lift_rules.get(eqn.primitive)
    if rule is None:
        raise NotImplementedError(f"a derivative rule (custom_jvp, custom_vjp) closes over the reference {refs[0]!r}, and "
                                  f"is used inside of {eqn.primitive}: pass the reference to the function instead")
    params, first = rule(eqn.params, lambda inner, given: _taking(inner, tuple(given)), refs)
    invars = [*eqn.invars[:first], *(variables[id(r)] for r in refs), *eqn.invars[first:]]
    _, effects = eqn.primitive.abstract_eval(*[v.aval for v in invars], **params)
    return eqn.replace(invars=invars, params=params, effects=effects)


def _renamed(eqn: JaxprEqn, rename: dict[Var, Var]) -> JaxprEqn:
    if not any([v in rename for v in eqn.invars if type(v) is not Literal]):
        return eqn
    return eqn.replace(invars=[v if type(v) is Literal else rename.get(v, v) for v in eqn.invars])


def lift_call(name: str) -> Callable[..., tuple[dict[str, Any], int]]:
    """The rule of primitives that call the jaxpr in the parameter ``name`` on their operands."""
    def rule(params: dict[str, Any], lift: Any, refs: list[Ref]) -> tuple[dict[str, Any], int]:
        new = dict(params, **{name: lift(params[name], refs)})
        if "donated_invars" in new:
            new["donated_invars"] = (*(False,) * len(refs), *new["donated_invars"])
        if "num_consts" in new:
            new["num_consts"] += len(refs)
        return new, 0
    return rule


__all__ = ["Lifted", "lift_call", "lift_rules", "lifted"]
