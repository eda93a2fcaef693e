"""The jaxpr checker: binding order, operand types, and that every equation's types are what its primitive says."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from jax._base import source as source_info
from jax._language import printing, rules
from jax._language.avals import AbstractToken, AbstractValue, ShapedArray
from jax._language.effects import RefEffect, writes
from jax._language.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, effects_of, jaxprs_in_params
from jax._language.refs import is_ref_type, use
from jax.errors import JaxprTypeError


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raises :class:`JaxprTypeError` unless ``jaxpr``, and every jaxpr in it, is well formed and well typed."""
    if isinstance(jaxpr, ClosedJaxpr):
        jaxpr = jaxpr.jaxpr
    bound: set[Var] = set()
    for v in (*jaxpr.constvars, *jaxpr.invars):
        _bind(v, bound, "an argument", jaxpr)
    inputs, gone = frozenset(bound), set[Var]()
    for i, eqn in enumerate(jaxpr.eqns):
        try:
            _check_eqn(eqn, bound)
            if use.begun:
                _check_references(eqn, inputs, gone)
        except JaxprTypeError as err:
            raise JaxprTypeError(f"{err}\nin equation {i} ({source_info.summarize(eqn.source_info.traceback)}):\n"
                                 f"{printing.format_eqn(eqn)}\nof the jaxpr of {jaxpr.debug_info.func_name}") from None
    for v in jaxpr.outvars:
        if is_ref_type(_read(v, bound)):
            raise JaxprTypeError(f"the jaxpr returns the reference {v!r}")
    missing = effects_of(jaxpr.constvars, jaxpr.invars, jaxpr.eqns) - jaxpr.effects
    if missing:
        culprits = {e.primitive.name for e in jaxpr.eqns if e.effects}
        raise JaxprTypeError(f"the jaxpr does not declare the effects {set(missing)} of its equations "
                             f"({', '.join(sorted(culprits))})")


def _check_references(eqn: JaxprEqn, inputs: frozenset[Var], gone: set[Var]) -> None:
    """References go where the primitive takes them, once, and not after they have been given up."""
    prim = eqn.primitive
    refs = [(i, v) for i, v in enumerate(eqn.invars) if is_ref_type(v.aval)]
    for e in eqn.effects:
        if isinstance(e, RefEffect) and e.index >= 0 and e.index not in [i for i, _ in refs]:
            raise JaxprTypeError(f"{prim} has the effect {e}, but its operand {e.index} is no reference")
    if not refs:
        return
    if prim not in rules.discharge_rules:
        raise JaxprTypeError(f"{prim} takes no references")
    variables = [v for _, v in refs]
    for v in variables:
        if v in gone:
            raise JaxprTypeError(f"{prim} uses the reference {v!r} after it was given up")
    changed = writes(eqn.effects)
    for v in set(variables):
        places = {i for i, w in refs if w is v}
        # The condition of a loop may read what its body changes, in a place of its own.
        if len(places) > (2 if prim.name == "while" and len(places & changed) <= 1 else 1):
            raise JaxprTypeError(f"{prim} is given the reference {v!r} twice")
    if prim.ref_primitive and prim.gives_up:
        if variables[0] in inputs:
            raise JaxprTypeError(f"{prim} gives up the reference {variables[0]!r}, which was not made in the jaxpr")
        gone.add(variables[0])


def _bind(v: Any, bound: set[Var], what: str, jaxpr: Jaxpr | None = None) -> None:
    if not isinstance(v, Var):
        raise JaxprTypeError(f"{what} must be a variable, got {v!r}")
    if not isinstance(v.aval, AbstractValue):
        raise JaxprTypeError(f"{what} has no type: {v!r}")
    if isinstance(v, DropVar):
        return
    if v in bound:
        raise JaxprTypeError(f"the variable {v!r} is bound twice")
    bound.add(v)


def _read(v: Any, bound: set[Var]) -> Any:
    if type(v) is Literal:
        return v.aval
    if v not in bound:
        raise JaxprTypeError(f"the variable {v!r} is used before it is bound")
    return v.aval


def _check_eqn(eqn: JaxprEqn, bound: set[Var]) -> None:
    in_avals = [_read(v, bound) for v in eqn.invars]
    prim = eqn.primitive
    entering = rules.body_contexts.get(prim)
    with nullcontext() if entering is None else entering(eqn.params):
        for sub in jaxprs_in_params(eqn.params):
            check_jaxpr(sub)
    rule = rules.custom_typechecks.get(prim)
    try:
        if rule is not None:
            out, effects = rule(lambda: (printing.Names(), None), *eqn.invars, **eqn.params)
        else:
            out, effects = prim.abstract_eval(*in_avals, **eqn.params)
    except NotImplementedError:
        raise
    except Exception as err:
        raise JaxprTypeError(f"{prim} rejects its operands: {err}") from err
    outs = out if prim.multiple_results else [out]
    if len(outs) != len(eqn.outvars):
        raise JaxprTypeError(f"{prim} has {len(outs)} results, the equation binds {len(eqn.outvars)}")
    for v, aval in zip(eqn.outvars, outs, strict=True):
        if not compatible(aval, v.aval):
            raise JaxprTypeError(f"{prim} gives {aval!r}, the equation says {v.aval!r}")
        _bind(v, bound, "a result")
    if effects and not effects <= eqn.effects:
        raise JaxprTypeError(f"{prim} has the effects {set(effects)}, the equation says {set(eqn.effects)}")


def compatible(a: Any, b: Any) -> bool:
    """Whether a value of type ``a`` may stand where ``b`` is declared (weak types aside)."""
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        return a.shape == b.shape and a.dtype == b.dtype
    if isinstance(a, AbstractToken) and isinstance(b, AbstractToken):
        return True
    return bool(a == b)
