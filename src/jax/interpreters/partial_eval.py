"""Staging, partial evaluation and dead-code elimination of jaxprs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.common import debug_info as _debug_info
from jax._api.jit import hoist_tracers
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, consts_to_invars
from jax._language.rules import dce_rules as dce_rules
from jax._language.rules import partial_eval_rules as partial_eval_jaxpr_custom_rules
from jax._language.staging import StagedTracer as DynamicJaxprTracer
from jax._language.staging import StagingTrace as DynamicJaxprTrace
from jax._language.staging import trace_to_jaxpr as _stage
from jax._transforms import partial as _partial
from jax._transforms.dce import dce_jaxpr as dce_jaxpr
from jax._transforms.dce import prune_consts


def _call_of(fun: Any) -> Any:
    """Libraries hand over wrapped functions (``extend.linear_util``) or plain ones."""
    return getattr(fun, "call_wrapped", fun)


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[Any], *, keep_inputs: Any = None, lower: bool = False,
                           auto_dce: bool = False) -> tuple[Jaxpr, list[Any], list[Any]]:
    """The jaxpr of a flat function at these types: ``(jaxpr, out_avals, consts)``."""
    if keep_inputs is not None and not all(keep_inputs):
        raise NotImplementedError("trace_to_jaxpr_dynamic: dropping inputs is not supported; use dce_jaxpr afterwards")
    info = getattr(fun, "debug_info", None) or DebugInfo("trace", getattr(fun, "__name__", None))
    jaxpr, consts = _stage(_call_of(fun), list(in_avals), info)
    if auto_dce:
        jaxpr, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
        closed = prune_consts(jaxpr, consts)
        jaxpr, consts = closed.jaxpr, closed.consts
    return jaxpr, jaxpr.out_avals, consts


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: Any = False) -> Any:
    """:func:`dce_jaxpr` with constants counted as inputs: ``(jaxpr, used_consts, used_inputs)``."""
    n = len(jaxpr.constvars)
    new, used = dce_jaxpr(consts_to_invars(jaxpr), used_outputs, instantiate)
    kept = sum(used[:n])
    out = Jaxpr(new.invars[:kept], new.invars[kept:], new.outvars, new.eqns, new.effects, new.debug_info)
    return out, used[:n], used[n:]


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A closed jaxpr without constants."""
    return ClosedJaxpr(jaxpr, ())


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constants as leading arguments."""
    return consts_to_invars(jaxpr)


def partial_eval_jaxpr_nounits(jaxpr: ClosedJaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]) -> Any:
    """Splits a jaxpr by which inputs are known: ``(known, unknown, out_unknowns, residual_avals)``.

    ``known`` returns the known outputs and then residuals; ``unknown`` takes residuals and then the unknown inputs.
    """
    parts = _partial.partial_eval_jaxpr(jaxpr, unknowns, instantiate)
    return parts.known, parts.unknown, parts.out_unknown, parts.residual_avals


def debug_info(fn: Any, in_tree: Any = None, out_tree_thunk: Any = None, has_kwargs: bool = False,
               traced_for: str = "jit") -> DebugInfo:
    """What messages say about a traced function."""
    if in_tree is None:
        return DebugInfo(traced_for, getattr(fn, "__name__", None))
    return _debug_info(fn, in_tree, traced_for)


__all__ = ["DebugInfo", "DynamicJaxprTrace", "DynamicJaxprTracer", "Jaxpr", "close_jaxpr", "convert_constvars_jaxpr",
           "dce_jaxpr", "dce_jaxpr_consts", "dce_rules", "debug_info", "hoist_tracers", "partial_eval_jaxpr_custom_rules",
           "partial_eval_jaxpr_nounits", "trace_to_jaxpr_dynamic"]
