"""The primitive of a compiled call: a jaxpr with a name, and how each transformation passes through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.statics import Inline
from jax._base.caching import weak_cache
from jax._dispatch.program import run_program
from jax._dispatch.spread import Placement, place_finders
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.discharge import call_discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._language.lifting import lift_call, lift_rules
from jax._language.primitive import Primitive
from jax._language.staging import StagingTrace, trace_to_jaxpr
from jax._language.trace import current_trace, run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.emit import emit_jaxpr
from jax._lowering.rules import call_bodies, register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax._transforms import partial
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_call
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.linearize_jaxpr import linearize_jaxpr
from jax._transforms.references import has_tangent_references, linearize_discharged
from jax._transforms.transpose import backward_pass

jit_p = Primitive("jit", multiple_results=True)
jit_p.abstract_cache = None


def bind_jit(*args: Any, jaxpr: ClosedJaxpr, inline: bool, **params: Any) -> list[Any]:
    """Applies a compiled call; ``inline`` ones dissolve into the enclosing program."""
    if inline is True and isinstance(current_trace.get(), StagingTrace):
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
    return jit_p.bind(*args, jaxpr=jaxpr, inline=inline, **params)


def call_params(jaxpr: ClosedJaxpr, name: str, like: dict[str, Any] | None = None) -> dict[str, Any]:
    """The parameters of a ``jit`` equation around ``jaxpr``; options come from ``like``, donation does not."""
    like = like or {}
    return {"jaxpr": jaxpr, "name": name, "donated_invars": (False,) * len(jaxpr.jaxpr.invars),
            "inline": like.get("inline", False), "keep_unused": like.get("keep_unused", False),
            "device": _bare(like.get("device")),
            "compiler_options": like.get("compiler_options", ())}


def _bare(device: Any) -> Any:
    """The device, or devices, for a program made of another one: shardings of its boundary do not carry over."""
    return device.bare() if type(device) is Placement else device


# --- abstract evaluation, evaluation, lowering ----------------------------------------------------------------------

def _abstract(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


def _impl(*args: Any, **params: Any) -> list[Any]:
    return run_program(args, **params)


def _lower(ctx: Any, *values: Any, jaxpr: ClosedJaxpr, name: str, inline: Any = False, **params: Any) -> Any:
    if inline is Inline.JAX_LATE:
        return emit_jaxpr(ctx, jaxpr.jaxpr, jaxpr.consts, values)
    if isinstance(inline, Inline):
        return call_jaxpr(ctx, name, jaxpr, values, {"inlineable": inline.value})
    return call_jaxpr(ctx, name, jaxpr, values)


jit_p.def_effectful_abstract_eval(_abstract)
jit_p.def_impl(_impl)
register_lowering(jit_p, _lower, cacheable=False)
place_finders[jit_p] = lambda params: params["device"] if type(params["device"]) is Placement else None
call_bodies[jit_p] = "jaxpr"


# --- derivatives ----------------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, name: str, **params: Any) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents]
    new, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros, False)
    outs = jit_p.bind(*primals, *[t for t in tangents if type(t) is not Zero],
                      **call_params(new, name, params))
    n = len(out_nonzeros)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if nz else Zero(a.to_tangent_aval())
                      for nz, a in zip(out_nonzeros, jaxpr.out_avals, strict=True)]


def _linearize(trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, name: str, **params: Any) -> Any:
    if has_tangent_references(tangents):
        return linearize_discharged(trace, jit_p, primals, tangents, dict(params, jaxpr=jaxpr, name=name))
    split = linearize_jaxpr(jaxpr, [type(t) is not Zero for t in tangents])
    outs_and_res = run_in(trace.parent, bind_jit, *primals, **call_params(split.primal, name, params))
    n = len(split.out_nonzero)
    residuals = split.residuals(primals, outs_and_res)
    given = [t for t in tangents if type(t) is not Zero]
    found: Any = iter(trace.tangents.emit(jit_p, [*residuals, *given], call_params(split.tangent, name, params),
                                          split.tangent.out_avals, split.tangent.effects)
                      if any(split.out_nonzero) else ())
    return outs_and_res[:n], [next(found) if nz else Zero(a)
                              for nz, a in zip(split.out_nonzero, split.out_avals, strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    """Under a linearizing trace: what depends on known arguments alone is computed now."""
    unknown = [trace.is_tangent(x) for x in args]
    jaxpr, name = params["jaxpr"], params["name"]
    parts = partial.partial_eval_jaxpr(jaxpr, unknown)
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    known = run_in(trace.parent, bind_jit, *known_args, **call_params(parts.known, name, params))
    num_known = len(known) - len(parts.residual_avals)
    residuals = known[num_known:]
    outs = trace.tangents.process(jit_p, (*residuals, *[x for x, u in zip(args, unknown, strict=True) if u]),
                                  call_params(parts.unknown, name, params))
    a, b = iter(known[:num_known]), iter(outs)
    return [next(b) if u else next(a) for u in parts.out_unknown]


def _transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, name: str, **params: Any) -> list[Any]:
    linear = tuple(type(x) is UndefinedPrimal for x in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    given = [x for x in args if type(x) is not UndefinedPrimal]
    transposed, out_zero = transposed_jaxpr(jaxpr, linear, nonzero)
    outs = bind_jit(*given, *[c for c in cts if type(c) is not Zero], **call_params(transposed, name, params))
    found = iter(outs)
    result: list[Any] = []
    kinds = iter(out_zero)
    for x in args:
        if type(x) is not UndefinedPrimal:
            result.append(None)
        elif next(kinds):
            result.append(Zero(x.aval.to_cotangent_aval()))
        else:
            result.append(next(found))
    return result


@weak_cache
def transposed_jaxpr(jaxpr: ClosedJaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...],
                     ) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr from (values of the other arguments, nonzero cotangents) to the cotangents of the linear arguments.

    The second result says which of these are symbolic zeros and not returned.
    """
    in_avals = jaxpr.in_avals
    given = [a for a, lin in zip(in_avals, linear, strict=True) if not lin]
    ct_avals = [a.to_cotangent_aval() for a, nz in zip(jaxpr.out_avals, nonzero, strict=True) if nz]
    zero: list[bool] = []

    def fun(*flat: Any) -> list[Any]:
        values, cts = iter(flat[:len(given)]), iter(flat[len(given):])
        args = [UndefinedPrimal(a) if lin else next(values) for a, lin in zip(in_avals, linear, strict=True)]
        full = [next(cts) if nz else Zero(a.to_cotangent_aval())
                for a, nz in zip(jaxpr.out_avals, nonzero, strict=True)]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, args, full)
        found = [c for c, lin in zip(found, linear, strict=True) if lin]
        zero.extend(type(c) is Zero for c in found)
        return [c for c in found if type(c) is not Zero]

    new, consts = trace_to_jaxpr(fun, [*given, *ct_avals], jaxpr.jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(new, consts), zero


# --- batching, partial evaluation, dead code ------------------------------------------------------------------------

def _batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, name: str, **params: Any) -> Any:
    new, batched = batch_jaxpr_axes(jaxpr, axis, dims, False)
    outs = bind_jit(*args, **call_params(new, name, params))
    return outs, [0 if b else None for b in batched]


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """Splits the equation in a known and an unknown call with residuals between them."""
    params = eqn.params
    name = params["name"]
    parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, policy)
    return partial.split_call(policy, unknown, eqn, parts, call_params(parts.known, name, params),
                              call_params(parts.unknown, name, params))


def _discharge(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return call_discharged(params["jaxpr"], args, lambda jaxpr, values: bind_jit(
        *values, **call_params(jaxpr, params["name"], params)))


rules.discharge_rules[jit_p] = _discharge
lift_rules[jit_p] = lift_call("jaxpr")
rules.primitive_jvps[jit_p] = _jvp
rules.primitive_linearizations[jit_p] = _linearize
split_rules[jit_p] = _split
rules.primitive_transposes[jit_p] = _transpose
rules.fancy_primitive_batchers[jit_p] = _batch
rules.partial_eval_rules[jit_p] = _partial
rules.dce_rules[jit_p] = dce_call

__all__ = ["Jaxpr", "Literal", "bind_jit", "call_params", "instantiate_zeros", "jit_p", "transposed_jaxpr"]
