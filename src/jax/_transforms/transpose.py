"""Transposition of linear programs: cotangents flow through a linear jaxpr from its outputs to its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import source as source_info
from jax._ground.structural import add_tangents
from jax._language import manual, rules
from jax._language.avals import typeof
from jax._language.discharge import makes_references, without_own_references
from jax._language.evaluation import bind_eqn
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._language.refs import use
from jax._language.zeros import UndefinedPrimal, Zero


def backward_pass(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Transposes ``jaxpr`` with respect to the arguments given as :class:`UndefinedPrimal`.

    Args:
      jaxpr: linear in those arguments.
      consts: the values of its constants.
      args: one per input: a value, or ``UndefinedPrimal`` for a linear one.
      cotangents: one per output; :class:`Zero` for none.

    Returns:
      One cotangent per argument: :class:`Zero` where none flows, ``None`` for arguments with a value.
    """
    if use.begun and makes_references(jaxpr):
        pure = without_own_references(ClosedJaxpr(jaxpr, consts))
        jaxpr, consts = pure.jaxpr, pure.consts
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Any] = set()
    for v, x in zip(jaxpr.invars, args, strict=True):
        if type(x) is UndefinedPrimal:
            linear.add(v)
        else:
            env[v] = x
    linear_eqns = _evaluate_known(jaxpr, env, linear)
    cts: dict[Any, Any] = {}

    typed = bool(manual.typed_axes())

    def accumulate(v: Any, ct: Any) -> None:
        if ct is None or type(ct) is Zero or type(v) is Literal or v not in linear:
            return
        if typed:
            ct = manual.as_cotangent(ct, typeof(ct), v.aval)
        old = cts.get(v)
        cts[v] = ct if old is None else add_tangents(old, ct)

    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        accumulate(v, ct)
    for eqn in reversed(linear_eqns):
        outs = [cts.pop(v, None) for v in eqn.outvars]
        if all(c is None for c in outs):
            continue
        outs = [Zero(v.aval.to_cotangent_aval()) if c is None else c for v, c in zip(eqn.outvars, outs, strict=True)]
        vals = [UndefinedPrimal(v.aval) if type(v) is not Literal and v in linear
                else (v.val if type(v) is Literal else env[v]) for v in eqn.invars]
        with source_info.user_context(eqn.source_info):
            in_cts = _transpose_eqn(eqn, outs, vals)
            for v, ct in zip(eqn.invars, in_cts, strict=True):
                accumulate(v, ct)
    return [cts.get(v, Zero(v.aval.to_cotangent_aval())) if type(x) is UndefinedPrimal else None
            for v, x in zip(jaxpr.invars, args, strict=True)]


def _evaluate_known(jaxpr: Jaxpr, env: dict[Any, Any], linear: set[Any]) -> list[JaxprEqn]:
    """Runs the equations that do not depend on linear inputs; returns the others."""
    linear_eqns = []
    for eqn in jaxpr.eqns:
        for v in eqn.invars:
            if type(v) is not Literal and v in linear:
                linear.update(eqn.outvars)
                linear_eqns.append(eqn)
                break
        else:
            vals = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            with source_info.user_context(eqn.source_info):
                out = bind_eqn(eqn, vals)
            env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
    return linear_eqns


def _transpose_eqn(eqn: JaxprEqn, outs: list[Any], vals: list[Any]) -> Sequence[Any]:
    rule = rules.primitive_transposes.get(eqn.primitive)
    if rule is None:
        raise not_linear(eqn)
    result = rule(outs if eqn.primitive.multiple_results else outs[0], *vals, **eqn.params)
    return [None] * len(eqn.invars) if result is Zero or result is None else result


def not_linear(eqn: JaxprEqn) -> Exception:
    """The error for an equation through which no transposition is possible."""
    return NotImplementedError(
        f"the function is not linear: {eqn.primitive} ({source_info.summarize(eqn.source_info.traceback)}) cannot be "
        f"transposed with respect to its argument(s). Reverse-mode differentiation needs a transpose rule for "
        f"{eqn.primitive}; jax.jvp and jax.jacfwd do without one.")
