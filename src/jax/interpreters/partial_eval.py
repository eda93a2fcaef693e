"""Staging, partial evaluation and dead-code elimination of jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from jax._api.common import debug_info as _debug_info
from jax._api.traced_calls import hoist_tracers
from jax._language.avals import typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, consts_to_invars, union_effects
from jax._language.rules import dce_rules as dce_rules
from jax._language.rules import partial_eval_rules as _rules
from jax._language.staging import StagedTracer as DynamicJaxprTracer
from jax._language.staging import StagingTrace as DynamicJaxprTrace
from jax._language.staging import trace_to_jaxpr as _stage
from jax._language.trace import current_trace, run_in
from jax._transforms import partial as _partial
from jax._transforms.dce import dce_closed, prune_consts
from jax._transforms.dce import dce_jaxpr as dce_jaxpr
from jax._transforms.linearize import SplitTrace as JaxprTrace

JaxprTracer = DynamicJaxprTracer


def _call_of(fun: Any) -> Callable[..., Any]:
    """Libraries hand over wrapped functions (``extend.linear_util``) or plain ones."""
    return getattr(fun, "call_wrapped", fun)


def _info(fun: Any) -> DebugInfo:
    return getattr(fun, "debug_info", None) or DebugInfo("trace", getattr(fun, "__name__", None))


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[Any], *, keep_inputs: Any = None, lower: bool = False,
                           auto_dce: bool = False) -> tuple[Jaxpr, list[Any], list[Any]]:
    """The jaxpr of a flat function at these types: ``(jaxpr, out_avals, consts)``."""
    if keep_inputs is not None and not all(keep_inputs):
        raise NotImplementedError("trace_to_jaxpr_dynamic: dropping inputs is not supported; use dce_jaxpr afterwards")
    jaxpr, consts = _stage(_call_of(fun), list(in_avals), _info(fun))
    if auto_dce:
        jaxpr, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
        closed = prune_consts(jaxpr, consts)
        jaxpr, consts = closed.jaxpr, closed.consts
    return jaxpr, jaxpr.out_avals, consts


def trace_to_jaxpr_final(fun: Any, in_avals: Sequence[Any], debug_info: DebugInfo | None = None,
                         keep_inputs: Any = None) -> tuple[Jaxpr, list[Any], list[Any]]:
    """:func:`trace_to_jaxpr_dynamic` by an older name."""
    return trace_to_jaxpr_dynamic(fun, in_avals, keep_inputs=keep_inputs)


def abstract_eval_fun(fun: Callable[..., Any], *avals: Any, debug_info: DebugInfo | None = None, **params: Any,
                      ) -> list[Any]:
    """The types of what a flat function returns for arguments of these types."""
    jaxpr, _ = _stage(lambda *xs: fun(*xs, **params), avals, debug_info or _info(fun))
    return jaxpr.out_avals


# --- partial evaluation of functions --------------------------------------------------------------------------------

class PartialVal(tuple[Any, Any]):
    """``(None, value)`` of what is known, ``(aval, None)`` of what is not."""

    __slots__ = ()

    def __new__(cls, xs: tuple[Any, Any]) -> PartialVal:
        return super().__new__(cls, xs)

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """A value of which only the type is known."""
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """The type."""
        return typeof(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False,
                           ) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Runs a flat function of which some arguments are known: what depends on these alone is computed.

    Args:
      fun: a wrapped or plain function of leaves.
      pvals: one per argument.
      instantiate: which outputs count as unknown although they are known.

    Returns:
      The jaxpr from the unknown arguments to the unknown outputs; one :class:`PartialVal` per output; the constants of
      the jaxpr.
    """
    parent = current_trace.get()
    staging = DynamicJaxprTrace(_info(fun), parent)
    trace = JaxprTrace(parent, staging)
    try:
        args = [p.get_known() if p.is_known() else staging.new_arg(p.get_aval()) for p in map(PartialVal, pvals)]
        outs = run_in(trace, _call_of(fun), *args)
        force = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
        unknown = [trace.is_tangent(x) or f for x, f in zip(outs, force, strict=True)]
        jaxpr, consts = staging.finish([x for x, u in zip(outs, unknown, strict=True) if u])
    finally:
        staging.finished = True
    return jaxpr, [PartialVal.unknown(typeof(x)) if u else PartialVal.known(x)
                   for x, u in zip(outs, unknown, strict=True)], consts


def partition_pvals(pvals: Sequence[PartialVal]) -> tuple[list[bool], list[Any], list[Any]]:
    """Which values are known, the types of the unknown ones, and the known ones."""
    known = [p.is_known() for p in pvals]
    return known, [p.get_aval() for p in pvals if not p.is_known()], [p.get_known() for p in pvals if p.is_known()]


# --- rules for equations that hold jaxprs ---------------------------------------------------------------------------

class _CustomRules(MutableMapping[Any, Any]):
    """The library's table of such rules, for rules in the form that other libraries write:

    ``(saveable, unknown_ins, instantiated_ins, eqn) -> (known eqn, staged eqn, unknown_outs, instantiated_outs,
    residual variables)``.
    """

    def __init__(self) -> None:
        self._given: dict[Any, Any] = {}

    def __setitem__(self, prim: Any, rule: Callable[..., Any]) -> None:
        def adapted(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
            known, staged, out_unknown, _, residuals = rule(policy, list(unknown), [True] * len(eqn.invars), eqn)
            return known, staged, list(out_unknown), list(residuals)
        self._given[prim] = rule
        _rules[prim] = adapted

    def __getitem__(self, prim: Any) -> Any:
        return self._given[prim]

    def __delitem__(self, prim: Any) -> None:
        del self._given[prim], _rules[prim]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


partial_eval_jaxpr_custom_rules = _CustomRules()


def partial_eval_jaxpr_custom_rule_not_implemented(name: str, saveable: Any, unks_in: Any, inst_in: Any, eqn: Any) -> Any:
    """A rule that refuses: rematerialisation of ``name`` is not supported."""
    raise NotImplementedError(f"rematerialisation (jax.checkpoint) of {name} is not supported")


# --- jaxprs ---------------------------------------------------------------------------------------------------------

def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: Any = False) -> Any:
    """:func:`dce_jaxpr` with constants counted as inputs: ``(jaxpr, used_consts, used_inputs)``."""
    n = len(jaxpr.constvars)
    new, used = dce_jaxpr(consts_to_invars(jaxpr), used_outputs, instantiate)
    kept = sum(used[:n])
    out = Jaxpr(new.invars[:kept], new.invars[kept:], new.outvars, new.eqns, new.effects, new.debug_info)
    return out, used[:n], used[n:]


def _dce_call(used_outputs: Sequence[bool], eqn: JaxprEqn, closed: bool) -> tuple[list[bool], JaxprEqn | None]:
    jaxpr = eqn.params["call_jaxpr"]
    new: Any
    new, used = (dce_closed if closed else dce_jaxpr)(jaxpr, used_outputs)
    if not any(used_outputs) and not new.effects:
        return [False] * len(used), None
    return used, eqn.replace(params=dict(eqn.params, call_jaxpr=new), effects=new.effects,
                             invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
                             outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u])


def dce_jaxpr_call_rule(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """A rule of :data:`dce_rules` for equations whose parameter ``call_jaxpr`` is an open jaxpr."""
    return _dce_call(used_outputs, eqn, False)


def dce_jaxpr_closed_call_rule(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """A rule of :data:`dce_rules` for equations whose parameter ``call_jaxpr`` is a closed jaxpr."""
    return _dce_call(used_outputs, eqn, True)


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A closed jaxpr without constants."""
    return ClosedJaxpr(jaxpr, ())


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constants as leading arguments."""
    return consts_to_invars(jaxpr)


def convert_invars_to_constvars(jaxpr: Jaxpr, n: int) -> Jaxpr:
    """The jaxpr with its first ``n`` arguments as its constants; it has none of its own."""
    if jaxpr.constvars:
        raise ValueError("convert_invars_to_constvars takes jaxprs without constants")
    return jaxpr.replace(constvars=jaxpr.invars[:n], invars=jaxpr.invars[n:], effects=jaxpr.effects)


def _moved(closed_jaxpr: ClosedJaxpr, first: Sequence[bool]) -> ClosedJaxpr:
    jaxpr = closed_jaxpr.jaxpr
    ahead = [v for v, f in zip(jaxpr.invars, first, strict=True) if f]
    behind = [v for v, f in zip(jaxpr.invars, first, strict=True) if not f]
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=[*ahead, *behind], effects=jaxpr.effects, debug_info=info),
                       closed_jaxpr.consts)


def move_binders_to_front(closed_jaxpr: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """The same program with the marked arguments first."""
    return _moved(closed_jaxpr, to_move)


def move_binders_to_back(closed_jaxpr: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """The same program with the marked arguments last."""
    return _moved(closed_jaxpr, [not m for m in to_move])


def prune_closed_jaxpr_outputs(jaxpr: ClosedJaxpr, used_outputs: Sequence[bool]) -> ClosedJaxpr:
    """The same program with the marked outputs only, and all of its arguments."""
    return dce_closed(jaxpr, used_outputs, True)[0]


def make_jaxpr_effects(constvars: Any, invars: Any, outvars: Any, eqns: Sequence[JaxprEqn]) -> frozenset[Any]:
    """The effects of a program with these equations."""
    return union_effects(eqns)


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


__all__ = [
    "DebugInfo", "DynamicJaxprTrace", "DynamicJaxprTracer", "Jaxpr", "JaxprTrace", "JaxprTracer", "PartialVal",
    "abstract_eval_fun", "close_jaxpr", "convert_constvars_jaxpr", "convert_invars_to_constvars", "dce_jaxpr",
    "dce_jaxpr_call_rule", "dce_jaxpr_closed_call_rule", "dce_jaxpr_consts", "dce_rules", "debug_info", "hoist_tracers",
    "make_jaxpr_effects", "move_binders_to_back", "move_binders_to_front", "partial_eval_jaxpr_custom_rule_not_implemented",
    "partial_eval_jaxpr_custom_rules", "partial_eval_jaxpr_nounits", "partition_pvals", "prune_closed_jaxpr_outputs",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_final", "trace_to_jaxpr_nounits",
]
