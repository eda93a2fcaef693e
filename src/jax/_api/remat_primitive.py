"""The primitive of a rematerialised program, and how each transformation passes through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.checkpoint_policies import ambient_policy, nothing_saveable
from jax._api.jit_primitive import transposed_jaxpr
from jax._base.caching import weak_cache
from jax._base.config import debug_key_reuse
from jax._language import rules
from jax._language.discharge import call_discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.lifting import lift_call, lift_rules
from jax._language.primitive import Primitive
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.emit import emit_jaxpr
from jax._lowering.rules import inner_bodies, register_lowering
from jax._transforms import partial
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_call
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.references import has_tangent_references, linearize_discharged

remat_p = Primitive("checkpoint", multiple_results=True)
remat_p.abstract_cache = None


def _impl(*args: Any, jaxpr: ClosedJaxpr, differentiated: bool, **params: Any) -> list[Any]:
    if differentiated and debug_key_reuse.value:  # random numbers are drawn a second time on purpose
        with debug_key_reuse(False):
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
    return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _lower(ctx: Any, *values: Any, jaxpr: ClosedJaxpr, prevent_cse: bool, differentiated: bool, policy: Any) -> Any:
    if differentiated and prevent_cse and values:
        values = tuple(hlo.optimization_barrier(values))
    return emit_jaxpr(ctx, jaxpr.jaxpr, jaxpr.consts, values)


def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new, nonzero = jvp_jaxpr(jaxpr, [type(t) is not Zero for t in tangents], False)
    outs = remat_p.bind(*primals, *[t for t in tangents if type(t) is not Zero], jaxpr=new, **params)
    n = len(nonzero)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if nz else Zero(a.to_tangent_aval())
                      for nz, a in zip(nonzero, jaxpr.out_avals, strict=True)]


@weak_cache
def _split_jvp(jaxpr: ClosedJaxpr, nonzeros: tuple[bool, ...], policy: Any) -> tuple[Any, list[bool]]:
    """The primal program with residuals that ``policy`` keeps, and the tangent program that computes the rest again."""
    before = ambient_policy.swap_local(policy or nothing_saveable)
    try:
        pushed, out_nonzero = jvp_jaxpr(jaxpr, nonzeros, False)
    finally:
        ambient_policy.swap_local(before)
    n_out = len(out_nonzero)
    unknown = [False] * len(nonzeros) + [True] * sum(nonzeros)
    force = [False] * n_out + [True] * sum(out_nonzero)
    return partial.partial_eval_with_policy(pushed, unknown, force, policy or nothing_saveable), out_nonzero


def _linearize(trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, policy: Any, **params: Any) -> Any:
    if has_tangent_references(tangents):
        return linearize_discharged(trace, remat_p, primals, tangents, dict(params, jaxpr=jaxpr, policy=policy))
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    parts, out_nonzero = _split_jvp(jaxpr, nonzeros, policy)
    known = run_in(trace.parent, eval_jaxpr, parts.known.jaxpr, parts.known.consts, *primals)
    n = len(out_nonzero)
    residuals = [primals[i] if i is not None else r
                 for r, i in zip(known[n:], parts.residual_in, strict=True)]
    given = [t for t in tangents if type(t) is not Zero]
    eqn_params = dict(params, jaxpr=parts.unknown, policy=policy, differentiated=True)
    found: Any = iter(trace.tangents.emit(remat_p, [*residuals, *given], eqn_params, parts.unknown.out_avals,
                                          parts.unknown.effects) if any(out_nonzero) else ())
    return known[:n], [next(found) if nz else Zero(a.to_tangent_aval())
                       for nz, a in zip(out_nonzero, jaxpr.out_avals, strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    unknown = [trace.is_tangent(x) for x in args]
    parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, params["policy"] or nothing_saveable)
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    known = run_in(trace.parent, eval_jaxpr, parts.known.jaxpr, parts.known.consts, *known_args)
    num_known = len(known) - len(parts.residual_avals)
    residuals = [known_args[i] if i is not None else r
                 for r, i in zip(known[num_known:], parts.residual_in, strict=True)]
    outs = trace.tangents.process(remat_p, (*residuals, *[x for x, u in zip(args, unknown, strict=True) if u]),
                                  dict(params, jaxpr=parts.unknown, differentiated=True))
    a, b = iter(known[:num_known]), iter(outs)
    return [next(b) if u else next(a) for u in parts.out_unknown]


def _transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    linear = tuple(type(x) is UndefinedPrimal for x in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    new, out_zero = transposed_jaxpr(jaxpr, linear, nonzero)
    given = [x for x in args if type(x) is not UndefinedPrimal]
    found = iter(remat_p.bind(*given, *[c for c in cts if type(c) is not Zero], jaxpr=new, **params))
    kinds = iter(out_zero)
    return [None if type(x) is not UndefinedPrimal else
            Zero(x.aval.to_cotangent_aval()) if next(kinds) else next(found) for x in args]


def _batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new, batched = batch_jaxpr_axes(jaxpr, axis, dims, False)
    return remat_p.bind(*args, jaxpr=new, **params), [0 if b else None for b in batched]


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    params = eqn.params
    if not any(unknown):  # part of a program that an enclosing policy computes again
        return eqn, None, [False] * len(eqn.outvars), []
    parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, params["policy"] or nothing_saveable)
    return partial.split_call(policy, unknown, eqn, parts, dict(params, jaxpr=parts.known),
                              dict(params, jaxpr=parts.unknown, differentiated=True))


remat_p.def_effectful_abstract_eval(lambda *avals, jaxpr, **params: (jaxpr.out_avals, jaxpr.effects))
remat_p.def_impl(_impl)
register_lowering(remat_p, _lower, cacheable=False)
inner_bodies[remat_p] = (("jaxpr",), False)
rules.discharge_rules[remat_p] = lambda args, params: call_discharged(
    params["jaxpr"], args, lambda jaxpr, values: remat_p.bind(*values, **dict(params, jaxpr=jaxpr)))
lift_rules[remat_p] = lift_call("jaxpr")
rules.primitive_jvps[remat_p] = _jvp
rules.primitive_linearizations[remat_p] = _linearize
split_rules[remat_p] = _split
rules.primitive_transposes[remat_p] = _transpose
rules.fancy_primitive_batchers[remat_p] = _batch
rules.partial_eval_rules[remat_p] = _partial
rules.dce_rules[remat_p] = dce_call
