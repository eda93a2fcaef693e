"""The primitives behind ``custom_jvp`` and ``custom_vjp``: a function together with its own derivative rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.jit_primitive import call_params, jit_p
from jax._api.traced_calls import hoist_tracers
from jax._dispatch.program import run_program
from jax._ground.structural import instantiate_zeros, sum_axes
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import call_discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, JaxprEqn
from jax._language.lifting import lift_call, lift_rules
from jax._language.primitive import Primitive
from jax._language.refs import check_aliasing, use
from jax._language.staging import StagingTrace, trace_to_jaxpr
from jax._language.trace import current_trace, run_in
from jax._language.zeros import Zero, is_undefined_primal
from jax._lowering.rules import call_bodies, register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax._transforms.batch import AxisData, _batch_flat, match_axis
from jax._transforms.partial import partial_eval_jaxpr
from jax._transforms.transpose import backward_pass
from jax.dtypes import float0

FlatFunction = Callable[..., list[Any]]


class CustomCall(Primitive):
    """A primitive applied to functions and arrays: the current trace decides which function it runs."""

    num_functions: int

    def _replayed(self, params: dict[str, Any]) -> FlatFunction:
        closed = params["call_jaxpr"]
        return lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _lower_call(ctx: Any, *values: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Any:
    return call_jaxpr_of(ctx, params.get("name") or "custom_call", call_jaxpr, values)


call_jaxpr_of = call_jaxpr


def stage_call(trace: StagingTrace, prim: Primitive, fun: FlatFunction, args: Sequence[Any], name: str,
               ) -> tuple[ClosedJaxpr, list[Any]]:
    """Traces ``fun`` for an equation; tracers that it closes over come back as leading operands."""
    avals = [typeof(x) for x in args]
    jaxpr, consts = trace_to_jaxpr(fun, avals, DebugInfo(prim.name, name))
    jaxpr, consts, tracers = hoist_tracers(jaxpr, consts)
    if use.begun:
        check_aliasing([*tracers, *args], len(tracers), prim.name, lambda: name, "number {}".format)
    return ClosedJaxpr(jaxpr, consts), tracers


# --- custom_jvp -----------------------------------------------------------------------------------------------------

class CustomJVPCall(CustomCall):
    """``bind(fun, jvp, *args)``: ``jvp(primals, tangents) -> (outs, out_tangents)``, all flat."""

    num_functions = 2

    def bind(self, fun: FlatFunction, jvp: Any, *args: Any, **params: Any) -> Any:
        return current_trace.get().custom_jvp(self, fun, jvp, args, params)

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        params = dict(params)
        fun, jvp, n = self._replayed(params), params.pop("jvp_jaxpr_fun"), params.pop("num_consts")
        params.pop("call_jaxpr")
        return [fun, jvp if not n else lambda ps, ts: jvp(ps[n:], ts[n:])], params

    def stage(self, trace: StagingTrace, fun: FlatFunction, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        closed, consts = stage_call(trace, self, fun, args, params["name"])
        eqn_params = dict(params, call_jaxpr=closed, jvp_jaxpr_fun=jvp, num_consts=len(consts))
        return trace.emit(self, [*consts, *args], eqn_params, closed.out_avals, closed.effects)


custom_jvp_call_p = CustomJVPCall("custom_jvp_call", multiple_results=True)
custom_jvp_call_p.abstract_cache = None
custom_jvp_call_p.def_effectful_abstract_eval(
    lambda *avals, call_jaxpr, **params: (call_jaxpr.out_avals, call_jaxpr.effects))
register_lowering(custom_jvp_call_p, _lower_call, cacheable=False)
call_bodies[custom_jvp_call_p] = "call_jaxpr"


# --- custom_vjp -----------------------------------------------------------------------------------------------------

class CustomVJPCall(CustomCall):
    """``bind(fun, fwd, bwd, *args)``, all flat.

    ``fwd(perturbed, *args) -> (outs, residuals)``; ``bwd(residuals, cotangents) -> cotangents of the args``.
    """

    num_functions = 3

    def bind(self, fun: FlatFunction, fwd: Any, bwd: Any, *args: Any, **params: Any) -> Any:
        return current_trace.get().custom_vjp(self, fun, fwd, bwd, args, params)

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        params = dict(params)
        fun, fwd, bwd = self._replayed(params), params.pop("fwd_jaxpr_thunk"), params.pop("bwd")
        n = params.pop("num_consts")
        params.pop("call_jaxpr")
        if not n:
            return [fun, fwd, bwd], params
        return [fun, lambda perturbed, *args: fwd(perturbed[n:], *args[n:]),
                lambda res, cts: [None] * n + list(bwd(res, cts))], params

    def stage(self, trace: StagingTrace, fun: FlatFunction, fwd: Any, bwd: Any, args: Any,
              params: dict[str, Any]) -> Any:
        closed, consts = stage_call(trace, self, fun, args, params["name"])
        eqn_params = dict(params, call_jaxpr=closed, fwd_jaxpr_thunk=fwd, bwd=bwd, num_consts=len(consts))
        return trace.emit(self, [*consts, *args], eqn_params, closed.out_avals, closed.effects)

    def jvp_of_vjp(self, fun: FlatFunction, fwd: Any, bwd: Any, primals: Any, tangents: Any,
                   params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Runs ``fwd`` and leaves a marked linear equation whose transpose is ``bwd``."""
        perturbed = [type(t) is not Zero for t in tangents]
        outs, res = fwd(perturbed, *primals)
        out_avals = tuple(typeof(o).to_tangent_aval() for o in outs)
        out_tangents = custom_vjp_tangent_p.bind(
            *res, *map(instantiate_zeros, tangents), num_res=len(res), bwd=bwd, out_avals=out_avals,
            name=params["name"], symbolic_zeros=params["symbolic_zeros"])
        # Integers and the like have no derivatives: what is computed from them must not be differentiated.
        return outs, [Zero(a) if a.dtype == float0 else t for a, t in zip(out_avals, out_tangents, strict=True)]

    def batch(self, trace: Any, fun: FlatFunction, fwd: Any, bwd: Any, vals: Any, dims: Any,
              params: dict[str, Any]) -> list[Any]:
        out_dims: list[Any] = []
        bfun = _batch_flat(fun, trace.axis, dims, out_dims)
        bfwd, bbwd = _batch_rules(fwd, bwd, trace.axis, dims, out_dims)
        outs = run_in(trace.parent, self.bind, bfun, bfwd, bbwd, *vals, **params)
        return [trace.wrap(v, d) for v, d in zip(outs, out_dims, strict=True)]


def _batch_rules(fwd: Any, bwd: Any, axis: AxisData, dims: Sequence[Any], out_dims: list[Any]) -> tuple[Any, Any]:
    """The batched forms of a forward and a backward rule."""
    state: dict[str, Any] = {}

    def batched_fwd(perturbed: Sequence[bool], *args: Any) -> tuple[list[Any], list[Any]]:
        found: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            outs, res = fwd(perturbed, *xs)
            state["num_outs"] = len(outs)
            return [*outs, *res]
        both = _batch_flat(flat, axis, dims, found)(*args)
        n = state["num_outs"]
        out_dims[:] = found[:n]
        state["res_dims"], state["ct_dims"] = found[n:], found[:n]
        return both[:n], both[n:]

    def batched_bwd(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        zero = [type(c) is Zero for c in cts]
        res_dims, ct_dims = state["res_dims"], state["ct_dims"]
        out_zero: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given = iter(xs[len(res):])
            example = [Zero(_without_axis(c.aval, d)) if z else next(given)
                       for c, d, z in zip(cts, ct_dims, zero, strict=True)]
            outs = bwd(xs[:len(res)], example)
            out_zero[:] = [o is None or type(o) is Zero for o in outs]
            return [o for o, z in zip(outs, out_zero, strict=True) if not z]
        found: list[Any] = []
        live = [c for c, z in zip(cts, zero, strict=True) if not z]
        live_dims = [d for d, z in zip(ct_dims, zero, strict=True) if not z]
        outs = _batch_flat(flat, axis, [*res_dims, *live_dims], found)(*res, *live)
        pairs = iter(zip(outs, found, strict=True))
        result: list[Any] = []
        for d, z in zip(dims, out_zero, strict=True):
            if z:
                result.append(None)
                continue
            x, got = next(pairs)
            if d is None:
                result.append(x if got is None else sum_axes(x, (got,)))
            else:
                result.append(match_axis(axis.size, got, d, x))
        return result
    return batched_fwd, batched_bwd


def _without_axis(aval: Any, d: Any) -> Any:
    return aval if d is None else aval.update(shape=aval.shape[:d] + aval.shape[d + 1:])


custom_vjp_call_p = CustomVJPCall("custom_vjp_call", multiple_results=True)
custom_vjp_call_p.abstract_cache = None
custom_vjp_call_p.def_effectful_abstract_eval(
    lambda *avals, call_jaxpr, **params: (call_jaxpr.out_avals, call_jaxpr.effects))
register_lowering(custom_vjp_call_p, _lower_call, cacheable=False)
call_bodies[custom_vjp_call_p] = "call_jaxpr"


def _call_dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    return [True] * len(eqn.invars), eqn


def _call_transpose(cts: Any, *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    """Of a function applied to tangents: it is linear, and what it computes is transposed."""
    return backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)


def _call_partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """A call with unknown arguments is split, as any call is, if some of its results are known all the same."""
    n = len(eqn.outvars)
    if not any(unknown):
        saved = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
        return eqn, None, [False] * n, list(eqn.outvars) if saved else []
    closed = eqn.params["call_jaxpr"]
    if all(partial_eval_jaxpr(closed, unknown).out_unknown):
        return None, eqn, [True] * n, []
    plain = eqn.replace(primitive=jit_p, params=call_params(closed, eqn.params.get("name") or "custom_call"))
    return rules.partial_eval_rules[jit_p](policy, unknown, plain)


for _prim in (custom_jvp_call_p, custom_vjp_call_p):
    rules.dce_rules[_prim] = _call_dce
    rules.primitive_transposes[_prim] = _call_transpose
    rules.partial_eval_rules[_prim] = _call_partial


def _call_discharge(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Where references are discharged, derivatives have been taken: the function alone is left."""
    return call_discharged(params["call_jaxpr"], args, lambda jaxpr, values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values))


for _prim in (custom_jvp_call_p, custom_vjp_call_p):
    rules.discharge_rules[_prim] = _call_discharge
    lift_rules[_prim] = lift_call("call_jaxpr")


# --- the tangent of a custom_vjp function ---------------------------------------------------------------------------

# operands: residuals, then one tangent per argument. It can only be transposed.
custom_vjp_tangent_p = Primitive("custom_lin", multiple_results=True)
custom_vjp_tangent_p.abstract_cache = None


def _tangent_abstract(*avals: Any, out_avals: Any, **params: Any) -> list[Any]:
    return list(out_avals)


def _no_forward_mode(name: str) -> TypeError:
    return TypeError(f"forward-mode differentiation (jvp, jacfwd, linearize as a function of tangents) cannot go "
                     f"through {name}, which has a custom_vjp rule only. Use reverse mode, or define the derivative "
                     "with jax.custom_jvp.")


def _tangent_impl(*args: Any, name: str, **params: Any) -> Any:
    raise _no_forward_mode(name)


def _tangent_lower(ctx: Any, *values: Any, name: str, **params: Any) -> Any:
    raise _no_forward_mode(name)


def _tangent_transpose(cts: Any, *args: Any, num_res: int, bwd: Any, symbolic_zeros: bool, **params: Any) -> Any:
    if not symbolic_zeros:
        cts = [instantiate_zeros(c) for c in cts]
    found = bwd(args[:num_res], cts)
    out: list[Any] = [None] * num_res
    for x, ct in zip(args[num_res:], found, strict=True):
        out.append(None if not is_undefined_primal(x) else Zero(x.aval) if ct is None else ct)
    return out


def _tangent_batch(axis: AxisData, args: Any, dims: Any, *, num_res: int, bwd: Any, out_avals: Any,
                   **params: Any) -> Any:
    """The tangent equation of one example becomes that of the batch; every output is batched at 0."""
    res_dims, t_dims = dims[:num_res], dims[num_res:]
    tangents = [match_axis(axis.size, d, 0, x) if d != 0 else x
                for x, d in zip(args[num_res:], t_dims, strict=True)]
    in_dims = [0] * len(tangents)
    state_bwd = _transposed_batch(bwd, axis, res_dims, len(out_avals), in_dims)
    avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in out_avals)
    outs = custom_vjp_tangent_p.bind(*args[:num_res], *tangents, num_res=num_res, bwd=state_bwd, out_avals=avals,
                                     **params)
    return outs, [0] * len(outs)


def _transposed_batch(bwd: Any, axis: AxisData, res_dims: Any, num_outs: int, in_dims: Any) -> Any:
    def batched(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        kept: list[bool] = []

        def flat(*xs: Any) -> list[Any]:
            outs = bwd(xs[:len(res)], list(xs[len(res):]))
            kept[:] = [not (o is None or type(o) is Zero) for o in outs]
            return [o for o, k in zip(outs, kept, strict=True) if k]
        found: list[Any] = []
        full = [instantiate_zeros(c) for c in cts]
        outs = _batch_flat(flat, axis, [*res_dims, *[0] * num_outs], found)(*res, *full)
        pairs = iter(zip(outs, found, strict=True))
        result: list[Any] = []
        for d, k in zip(in_dims, kept, strict=True):
            if not k:
                result.append(None)
                continue
            x, got = next(pairs)
            result.append(match_axis(axis.size, got, d, x))
        return result
    return batched


def _tangent_discharge(args: Sequence[Any], params: dict[str, Any]) -> Any:
    raise NotImplementedError(
        f"{params['name']} has a custom_vjp rule and is given a reference that is being differentiated, or one that is made "
        "inside of a function under jax.checkpoint. Pass it a reference from outside of the differentiated function.")


rules.discharge_rules[custom_vjp_tangent_p] = _tangent_discharge
custom_vjp_tangent_p.def_abstract_eval(_tangent_abstract)
custom_vjp_tangent_p.def_impl(_tangent_impl)
register_lowering(custom_vjp_tangent_p, _tangent_lower)
rules.primitive_transposes[custom_vjp_tangent_p] = _tangent_transpose
rules.fancy_primitive_batchers[custom_vjp_tangent_p] = _tangent_batch

__all__ = ["CustomCall", "custom_jvp_call_p", "custom_vjp_call_p", "custom_vjp_tangent_p", "run_program"]
