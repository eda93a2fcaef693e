"""Staging, partial evaluation and dead-code elimination of jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import nullcontext
from typing import Any

from jax._api.common import debug_info as _debug_info
from jax._api.traced_calls import hoist_tracers
from jax._base import config as config
from jax._language.avals import typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, DropVar, Jaxpr, JaxprEqn, Var, consts_to_invars, union_effects
from jax._language.rules import dce_rules as dce_rules
from jax._language.rules import partial_eval_rules as _rules
from jax._language.staging import StagedTracer as DynamicJaxprTracer
from jax._language.staging import StagingTrace as DynamicJaxprTrace
from jax._language.staging import trace_to_jaxpr as _stage
from jax._language.trace import Trace, current_trace, run_in
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


def trace_to_jaxpr_dynamic2(fun: Any, debug_info: DebugInfo | None = None,
                            ) -> tuple[Jaxpr, tuple[tuple[Any, bool], ...], list[Any]]:
    """:func:`trace_to_jaxpr_dynamic` of a function that ``linear_util.annotate`` has given types.

    Returns:
      The jaxpr, a pair of type and True for each output, and constants.
    """
    if getattr(fun, "in_type", None) is None:
        raise ValueError(f"trace_to_jaxpr_dynamic2 takes a function with types; see linear_util.annotate, got {fun!r}")
    if not all(explicit for _, explicit in fun.in_type):
        raise NotImplementedError("trace_to_jaxpr_dynamic2: arguments that are sizes of others are not supported; "
                                  "shapes are tuples of integers")
    jaxpr, consts = _stage(_call_of(fun), [aval for aval, _ in fun.in_type], debug_info or _info(fun))
    return jaxpr, tuple((aval, True) for aval in jaxpr.out_avals), consts


trace_to_jaxpr_final2 = trace_to_jaxpr_dynamic2


def trace_to_subjaxpr_dynamic(fun: Any, main: Any, in_avals: Sequence[Any], *, keep_inputs: Any = None,
                              debug_info: DebugInfo | None = None) -> tuple[Jaxpr, list[Any], list[Any]]:
    """:func:`trace_to_jaxpr_dynamic` for programs inside of others.

    ``main`` is the trace of the outer program, ``trace.main``. Traces are no levels of a stack here: the inner program has
    a trace of its own, and values of the outer one are its constants.
    """
    if not isinstance(main, Trace):
        raise TypeError(f"trace_to_subjaxpr_dynamic: main is the trace of the outer program, got {main!r}")
    return trace_to_jaxpr_dynamic(fun, in_avals, keep_inputs=keep_inputs)


def trace_to_subjaxpr_dynamic2(fun: Any, main: Any, debug_info: DebugInfo | None = None,
                               ) -> tuple[Jaxpr, tuple[tuple[Any, bool], ...], list[Any]]:
    """:func:`trace_to_jaxpr_dynamic2` for programs inside of others; see :func:`trace_to_subjaxpr_dynamic`."""
    if not isinstance(main, Trace):
        raise TypeError(f"trace_to_subjaxpr_dynamic2: main is the trace of the outer program, got {main!r}")
    return trace_to_jaxpr_dynamic2(fun, debug_info)


def debug_info_final(fn: Any, traced_for: str) -> DebugInfo:
    """What messages say about a wrapped function that is traced."""
    return DebugInfo(traced_for, getattr(fn, "__name__", None))


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
            if staged is not None:  # what is known is computed again, if need be, by the known equation
                again = {v for v, u in zip(eqn.outvars, out_unknown, strict=True) if not u}
                staged = staged.replace(outvars=[DropVar(v.aval) if v in again else v for v in staged.outvars])
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


Updater = Callable[..., tuple[dict[str, Any], dict[str, Any]]]


def partial_eval_jaxpr_custom(jaxpr: Jaxpr, in_unknowns: Sequence[bool], in_inst: bool | Sequence[bool],
                              ensure_out_unknowns: bool | Sequence[bool], ensure_out_inst: bool | Sequence[bool],
                              saveable: Callable[..., Any]) -> tuple[Jaxpr, Jaxpr, list[bool], list[bool], int]:
    """Splits a jaxpr for rematerialisation.

    Args:
      jaxpr: without constants.
      in_unknowns: which arguments are not known at first.
      in_inst: which arguments the second program gets; unknown ones always.
      ensure_out_unknowns: which outputs count as unknown although they could be known.
      ensure_out_inst: which outputs the second program returns; unknown ones always, and those that it computes again.
      saveable: ``(primitive, *types, **params)``: whether known values are kept for the second program, which computes
        others again.

    Returns:
      ``(known, staged, out_unknowns, out_inst, num_res)``. ``known`` takes the known arguments and returns the known
      outputs and ``num_res`` residuals; ``staged`` takes the residuals and the arguments of ``in_inst``, and returns the
      outputs of ``out_inst``.
    """
    if jaxpr.constvars:
        raise ValueError("partial_eval_jaxpr_custom takes jaxprs without constants; see convert_constvars_jaxpr")
    n = len(jaxpr.outvars)
    inst = [i or u for i, u in zip(_each(in_inst, len(jaxpr.invars)), in_unknowns, strict=True)]
    # Every output twice: as known as it can be, and unknown, which is how the second program gets those that are known.
    twice = jaxpr.replace(outvars=[*jaxpr.outvars, *jaxpr.outvars], effects=jaxpr.effects)
    force = (*_each(ensure_out_unknowns, n), *[True] * n)
    parts = _partial.partial_eval_with_policy(ClosedJaxpr(twice, ()), in_unknowns, force, saveable)
    unknown = parts.out_unknown[:n]
    second = parts.unknown.jaxpr
    count = len(parts.residual_avals)
    known_positions = [k for k, u in enumerate(in_unknowns) if not u]
    # A residual that is a known argument of the second program is none.
    source = [None if i is None or not inst[known_positions[i]] else known_positions[i] for i in parts.residual_in]
    kept_values = {v for v, k in zip(second.invars, source, strict=False) if k is None}
    again = second.outvars[sum(unknown):]
    out_inst = [u or e or v not in kept_values for u, e, v in
                zip(unknown, _each(ensure_out_inst, n), again, strict=True)]
    second = second.replace(outvars=[v for v, i in zip(again, out_inst, strict=True) if i], effects=second.effects)
    second, used = dce_jaxpr(second, [True] * len(second.outvars), [False] * count + [True] * sum(in_unknowns))
    left = iter(second.invars)
    binders = [next(left) if u else None for u in used[:count]]
    unknown_ins = left
    argument_of = {k: v for k, v in zip(source, binders, strict=True) if v is not None and k is not None}
    true = [v is not None and k is None for k, v in zip(source, binders, strict=True)]
    ins = [next(unknown_ins) if u else argument_of.get(k) or Var(v.aval)
           for k, (u, v, i) in enumerate(zip(in_unknowns, jaxpr.invars, inst, strict=True)) if i]
    staged = second.replace(invars=[*[v for v, t in zip(binders, true, strict=True) if t], *ins], effects=second.effects)
    first = parts.known.jaxpr
    kept = len(first.outvars) - count
    known, _ = dce_jaxpr(first, [*[True] * kept, *true], True)
    return known, staged, unknown, out_inst, sum(true)


def _each(flags: bool | Sequence[bool], n: int) -> list[bool]:
    return [flags] * n if isinstance(flags, bool) else list(flags)


def call_partial_eval_custom_rule(jaxpr_param_name: str, params_updater: Updater, saveable: Any, unks_in: Sequence[bool],
                                  inst_in: Sequence[bool], eqn: JaxprEqn, *, res_aval: Any = None, ctx: Any = None) -> Any:
    """A rule of :data:`partial_eval_jaxpr_custom_rules` for calls of the open jaxpr in a parameter.

    Args:
      jaxpr_param_name: the parameter.
      params_updater: ``(unknown_ins, inst_ins, known_outs, inst_outs, num_res, known_params, staged_params)`` to the
        parameters of both equations.
      saveable, unks_in, inst_in, eqn: what rules are given.
      res_aval: ``(known_params, type)`` to the type that a residual has outside of the call, if another one.
      ctx: a function of the parameters to a context in which the split happens.
    """
    with nullcontext() if ctx is None else ctx(eqn.params):
        parts = partial_eval_jaxpr_custom(eqn.params[jaxpr_param_name], unks_in, inst_in, False, False, saveable)
    return _split_equation(jaxpr_param_name, params_updater, unks_in, inst_in, eqn, res_aval, *parts)


def closed_call_partial_eval_custom_rule(jaxpr_param_name: str, params_updater: Updater, saveable: Any,
                                         unks_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn, *,
                                         res_aval: Any = None) -> Any:
    """:func:`call_partial_eval_custom_rule` for calls of closed jaxprs, without constants."""
    closed = eqn.params[jaxpr_param_name]
    if closed.consts:
        raise ValueError("closed_call_partial_eval_custom_rule: the jaxpr has constants; pass them as arguments")
    known, staged, *rest = partial_eval_jaxpr_custom(closed.jaxpr, unks_in, inst_in, False, False, saveable)
    return _split_equation(jaxpr_param_name, params_updater, unks_in, inst_in, eqn, res_aval, close_jaxpr(known),
                           close_jaxpr(staged), *rest)


def _split_equation(name: str, update: Updater, unks_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn,
                    res_aval: Any, known: Any, staged: Any, unks_out: list[bool], inst_out: list[bool],
                    num_res: int) -> Any:
    known_outs = [not u for u in unks_out]
    known_params, staged_params = update(unks_in, inst_in, known_outs, inst_out, num_res,
                                         {**eqn.params, name: known}, {**eqn.params, name: staged})
    avals = known.out_avals[len(known.out_avals) - num_res:]
    residuals = [Var(a if res_aval is None else res_aval(known_params, a)) for a in avals]
    first = eqn.replace(invars=[v for v, u in zip(eqn.invars, unks_in, strict=True) if not u],
                        outvars=[*[v for v, k in zip(eqn.outvars, known_outs, strict=True) if k], *residuals],
                        params=known_params, effects=known.effects)
    second = eqn.replace(invars=[*residuals, *[v for v, i in zip(eqn.invars, inst_in, strict=True) if i]],
                         outvars=[v for v, i in zip(eqn.outvars, inst_out, strict=True) if i], params=staged_params,
                         effects=staged.effects)
    missing = [v for v, i in zip(eqn.invars, inst_in, strict=True) if type(v) is Var and not i]
    return first, second, unks_out, inst_out, [*missing, *residuals]


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
    "abstract_eval_fun", "call_partial_eval_custom_rule", "close_jaxpr", "closed_call_partial_eval_custom_rule", "config",
    "convert_constvars_jaxpr", "convert_invars_to_constvars", "dce_jaxpr", "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule", "dce_jaxpr_consts", "dce_rules", "debug_info", "debug_info_final", "hoist_tracers",
    "make_jaxpr_effects", "move_binders_to_back", "move_binders_to_front", "partial_eval_jaxpr_custom",
    "partial_eval_jaxpr_custom_rule_not_implemented", "partial_eval_jaxpr_custom_rules", "partial_eval_jaxpr_nounits",
    "partition_pvals", "prune_closed_jaxpr_outputs", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_dynamic2",
    "trace_to_jaxpr_final", "trace_to_jaxpr_final2", "trace_to_jaxpr_nounits", "trace_to_subjaxpr_dynamic",
    "trace_to_subjaxpr_dynamic2",
]
