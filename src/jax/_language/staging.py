"""Staging: a function becomes a jaxpr while it runs on tracers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import _jaxlib, config
from jax._base import source as source_info
from jax._language import manual
from jax._language import printing as _printing  # noqa: F401  (what is staged can be printed)
from jax._language import trace as trace_mod
from jax._language.avals import WideConstant, follow_wide_operands, typeof
from jax._language.effects import no_effects
from jax._language.jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceInfo,
    Var,
    no_debug_info,
)
from jax._language.primitive import abstract_eval
from jax._language.refs import is_ref_type, returned, use
from jax._language.trace import Trace, Tracer, current_trace, leaked
from jax.tree_util import keystr, tree_flatten_with_path, tree_unflatten

_capture = source_info.capture
_names = source_info.current_names
_scalar_types = (int, float, bool, complex)


class StagedTracer(Tracer):
    """A value of the program under construction."""

    __slots__ = ("aval", "variable", "source")

    def __init__(self, trace: StagingTrace, aval: Any, var: Any, source: Any = None) -> None:
        self._trace = trace
        self.aval = aval
        self.variable = var
        self.source = source

    def _origin_msg(self) -> str:
        return self._trace.origin(self)


class StagingTrace(Trace):
    """Records every bind as an equation."""

    __slots__ = ("eqns", "constvars", "consts", "const_of", "invars", "debug_info", "finished", "parent", "effects",
                 "in_tracers")

    def __init__(self, debug_info: DebugInfo = no_debug_info, parent: Trace | None = None) -> None:
        self.staged = True
        self.eqns: list[JaxprEqn] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self.const_of: dict[int, StagedTracer] = {}
        self.invars: list[Var] = []
        self.debug_info = debug_info
        self.finished = False
        self.parent = current_trace.get() if parent is None else parent
        self.effects: frozenset[Any] = no_effects
        self.in_tracers: list[StagedTracer] = []

    def is_finished(self) -> bool:
        return self.finished

    def new_arg(self, aval: Any) -> StagedTracer:
        var = Var(aval)
        self.invars.append(var)
        return StagedTracer(self, aval, var)

    def new_const(self, value: Any, aval: Any = None) -> StagedTracer:
        """The tracer of a value from outside: an array, or a tracer of an enclosing trace."""
        found = self.const_of.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Tracer) and value._trace.is_finished():
            raise leaked(value)
        if aval is None:
            aval = typeof(value)
        value = _as_constant(value)
        var = Var(aval)
        self.constvars.append(var)
        self.consts.append(value)  # also keeps id(value) from being reused
        tracer = StagedTracer(self, aval, var)
        self.const_of[id(value)] = tracer
        return tracer

    def atom(self, x: Any) -> Any:
        """The variable or literal for an operand."""
        if type(x) is StagedTracer and x._trace is self:
            return x.variable
        t = type(x)
        if t in _scalar_types:
            return Literal(x, typeof(x))
        if ((t is np.ndarray or t is WideConstant) and x.shape == ()) or isinstance(x, np.generic):
            aval = typeof(x)
            if isinstance(aval.dtype, np.dtype):
                return Literal(x if t is WideConstant else _as_constant(np.asarray(x)), aval)
        return self.lift(x).variable

    def lift(self, x: Any) -> StagedTracer:
        """A tracer of this trace for any operand."""
        if type(x) is StagedTracer and x._trace is self:
            return x
        if isinstance(x, _scalar_types) and type(x) not in _scalar_types:
            x = np.asarray(x)
        convert = getattr(x, "__jax_array__", None)
        if convert is not None and not isinstance(x, _jaxlib.xla.Array):
            return self.lift(convert())
        return self.new_const(x)

    def stage_value(self, val: Any) -> Any:
        return self.lift(val)

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        invars = [x.variable if type(x) is StagedTracer and x._trace is self else self.atom(x) for x in args]
        if self.finished:
            raise RuntimeError(f"{prim} was applied under a trace that has finished")
        try:
            out, effects = abstract_eval(prim, tuple([v.aval for v in invars]), params)
        except TypeError:
            wide = follow_wide_operands(args)
            if wide is None:
                raise
            return StagingTrace.process(self, prim, tuple(wide), params)
        tb = _capture()
        if prim.multiple_results:
            outs: Any = [StagedTracer(self, a, Var(a), tb) for a in out]
            outvars = [t.variable for t in outs]
        else:
            outs = StagedTracer(self, out, Var(out), tb)
            outvars = [outs.variable]
        if effects:
            self.effects = self.effects | effects
        self.eqns.append(JaxprEqn(invars, outvars, prim, params, effects, SourceInfo(tb, _names())))
        return outs

    def emit(self, prim: Any, args: Sequence[Any], params: dict[str, Any], out_avals: Sequence[Any],
             effects: frozenset[Any], source: Any = None) -> list[StagedTracer]:
        """An equation whose types are known already (rules that rebuild equations)."""
        invars = [self.atom(x) for x in args]
        tb = _capture() if source is None else source.traceback
        outs = [StagedTracer(self, a, Var(a), tb) for a in out_avals]
        if effects:
            self.effects = self.effects | effects
        info = SourceInfo(tb, _names()) if source is None else source
        self.eqns.append(JaxprEqn(invars, [t.variable for t in outs], prim, params, effects, info))
        return outs

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        return prim.stage(self, fun, jvp, args, params)

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        return prim.stage(self, fun, fwd, bwd, args, params)

    def finish(self, outs: Sequence[Any], out_tree: Any = None) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr that returns ``outs`` (leaves of ``out_tree``, for messages), and its constants."""
        outvars = [self.atom(x) for x in outs]
        if use.begun:
            self._refuse_references(outvars, outs, out_tree)
        self.finished = True
        jaxpr = Jaxpr(self.constvars, self.invars, outvars, self.eqns, self.effects, self.debug_info)
        jaxpr, consts = _drop_unused_consts(jaxpr, self.consts)
        return jaxpr, consts

    def _refuse_references(self, outvars: Sequence[Any], outs: Sequence[Any], out_tree: Any) -> None:
        for i, v in enumerate(outvars):
            if is_ref_type(v.aval):
                where = f" at result{keystr(leaf_paths(out_tree)[i])}" if out_tree is not None else ""
                if v in self.invars:
                    origin = f"It was passed in as the argument {self.debug_info.arg_name(self.invars.index(v))}."
                else:
                    made = getattr(outs[i], "source", None)
                    origin = "" if made is None else f"It was made at {source_info.summarize(made)}."
                raise returned(self.debug_info.source_text(), self.debug_info.traced_for, v.aval, where, origin)

    def origin(self, tracer: StagedTracer) -> str:
        """Which arguments a value depends on, or the line that made it."""
        return explain_origin(self, tracer)


class ManualStagingTrace(StagingTrace):
    """Staging inside of ``shard_map``: types say over which mesh axes values vary (:mod:`jax._language.manual`)."""

    __slots__ = ()

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        instead = manual.typed_forms.get(prim)
        if instead is not None:
            out = trace_mod.run_in(self, instead, args, params)
            if out is not None:
                return out
        outs = StagingTrace.process(self, prim, args, params)
        eqn = self.eqns[-1]
        self._retype(eqn, outs if prim.multiple_results else [outs])
        return outs

    def emit(self, prim: Any, args: Sequence[Any], params: dict[str, Any], out_avals: Sequence[Any],
             effects: frozenset[Any], source: Any = None) -> list[StagedTracer]:
        instead = manual.typed_forms.get(prim)
        if instead is not None:
            out = trace_mod.run_in(self, instead, args, params)
            if out is not None:
                return list(out) if prim.multiple_results else [out]
        outs = super().emit(prim, args, params, out_avals, effects, source)
        self._retype(self.eqns[-1], outs)
        return outs

    def _retype(self, eqn: JaxprEqn, outs: Sequence[StagedTracer]) -> None:
        ins = [manual.vma_of(v.aval) for v in eqn.invars]
        rule = manual.varying_rules.get(eqn.primitive)
        if rule is None:
            axes = frozenset().union(*ins)
            found = [axes] * len(outs)
        else:
            found = rule(ins, eqn.params, [t.aval for t in outs])
        for t, axes in zip(outs, found, strict=True):
            if manual.vma_of(t.aval) != axes:
                t.aval = t.variable.aval = manual.varying(t.aval, axes)


def staging_trace(debug_info: DebugInfo = no_debug_info, parent: Trace | None = None) -> StagingTrace:
    """A trace that records a program; inside of ``shard_map`` one that follows what varies."""
    return (ManualStagingTrace if manual.typed_axes() else StagingTrace)(debug_info, parent)


def leaf_paths(tree: Any) -> list[Any]:
    """The key paths of the leaves of a structure."""
    return [path for path, _ in tree_flatten_with_path(tree_unflatten(tree, list(range(tree.num_leaves))))[0]]


def _as_constant(value: Any) -> Any:
    """A closed-over value; NumPy ones get the dtype they have here, and 64-bit integers must fit it.

    Raises:
      OverflowError: an integer does not fit while 64-bit types are off.
    """
    if type(value) is np.ndarray or isinstance(value, np.generic):
        dtype: Any = dtypes.canonicalize_dtype(value.dtype)
        if value.dtype == dtype:
            return value
        if value.dtype.kind in "iu" and value.size:
            info = np.iinfo(dtype)
            for extreme in (value.min(), value.max()):
                if not info.min <= extreme <= info.max:
                    raise OverflowError(dtypes.overflow_message(int(extreme), dtype, "", "a closed-over NumPy value"))
        return np.asarray(value, dtype)
    return value


def _drop_unused_consts(jaxpr: Jaxpr, consts: list[Any]) -> tuple[Jaxpr, list[Any]]:
    if not consts:
        return jaxpr, consts
    used = {v for e in jaxpr.eqns for v in e.invars if type(v) is not Literal}
    used.update(v for v in jaxpr.outvars if type(v) is not Literal)
    keep = [(v, c) for v, c in zip(jaxpr.constvars, consts, strict=True) if v in used]
    if len(keep) == len(consts):
        return jaxpr, consts
    return jaxpr.replace(constvars=[v for v, _ in keep], effects=jaxpr.effects), [c for _, c in keep]


def trace_to_jaxpr(fun: Callable[..., Sequence[Any]], in_avals: Sequence[Any],
                   debug_info: DebugInfo = no_debug_info) -> tuple[Jaxpr, list[Any]]:
    """Runs ``fun`` (flat arguments to a flat sequence) on tracers of ``in_avals``.

    Returns the jaxpr and its constants; these can be tracers of enclosing traces, which the caller hands on as
    operands.
    """
    trace = staging_trace(debug_info)
    token = current_trace.set(trace)
    mark = trace_mod._marker.swap_local(True)
    try:
        args = [trace.new_arg(a) for a in in_avals]
        trace.in_tracers = args
        out = fun(*args)
        jaxpr, consts = trace.finish(out, getattr(fun, "out_tree", None))
    finally:
        trace.finished = True
        current_trace.reset(token)
        trace_mod._marker.swap_local(mark)
    if config.check_tracer_leaks.value:
        out = None  # type: ignore[assignment]
        _check_leaks(trace, args, debug_info)
    if config.enable_checks.value:
        from jax._language.typecheck import check_jaxpr  # only under jax_enable_checks
        check_jaxpr(jaxpr)
    return jaxpr, consts


def _check_leaks(trace: StagingTrace, args: list[Any], debug_info: DebugInfo) -> None:
    """Raises when tracers of a finished trace are still alive (``jax.checking_leaks``)."""
    args.clear()
    trace.in_tracers = []
    trace.const_of = {}
    trace_mod.check_leaks(trace, f"{debug_info.func_name}, which was traced for {debug_info.traced_for}", 2)


def explain_origin(trace: StagingTrace, tracer: StagedTracer) -> str:
    info = trace.debug_info
    where = f"The function is {info.source_text()}, traced for {info.traced_for}." if info.func_src_info else ""
    positions = _arguments_behind(trace, tracer)
    if positions:
        names = [info.arg_name(i) for i in positions[:5]]
        more = "" if len(positions) <= 5 else f" and {len(positions) - 5} more"
        plural = "s" if len(positions) > 1 else ""
        where += f"\nThe value depends on the argument{plural} {', '.join(names)}{more}."
    if tracer.source is not None:
        where += f"\nIt was made at {source_info.summarize(tracer.source)}."
    return where.strip()


def _arguments_behind(trace: StagingTrace, tracer: StagedTracer) -> list[int]:
    wanted = {tracer.variable}
    for eqn in reversed(trace.eqns):
        if any(v in wanted for v in eqn.outvars):
            wanted.update(v for v in eqn.invars if type(v) is not Literal)
    return [i for i, v in enumerate(trace.invars) if v in wanted]
