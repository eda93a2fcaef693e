"""How transformations pass through ``shard_map``: they act on the program for one part.

Values that one part hands to a later program of the same part (residuals) become whole arrays with a leading dimension,
along which the parts lie next to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base.caching import weak_cache
from jax._ground.structural import broadcast_to_axis
from jax._language import rules
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._spmd import specs
from jax._spmd.primitive import context, shard_map_p
from jax._transforms import partial
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_closed
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.linearize_jaxpr import linearize_jaxpr
from jax._transforms.transpose import backward_pass
from jax.lax import psum_p, reshape
from jax.lax._arithmetic import mul
from jax.sharding import PartitionSpec

_WHOLE = PartitionSpec()


# --- residuals ------------------------------------------------------------------------------------------------------

def _residual_specs(avals: Sequence[Any], params: dict[str, Any]) -> list[PartitionSpec | None]:
    return [specs.of_residual(a, params["axes"], params["mesh"], params["typed"]) for a in avals]


@weak_cache
def _handing_on(closed: ClosedJaxpr, start: int, lead: tuple[bool, ...]) -> ClosedJaxpr:
    """``closed`` with a leading dimension of size 1 on the marked results from ``start`` on."""
    def fun(*args: Any) -> list[Any]:
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [*outs[:start], *(broadcast_to_axis(x, 1, 0) if m else x
                                 for x, m in zip(outs[start:], lead, strict=True))]
    return _retraced(fun, closed, closed.in_avals)


@weak_cache
def _taking_over(closed: ClosedJaxpr, lead: tuple[bool, ...]) -> ClosedJaxpr:
    """``closed`` for first arguments that have, where marked, a leading dimension of size 1 more."""
    n = len(lead)
    avals = [a.update(shape=(1, *a.shape)) if m else a for a, m in zip(closed.in_avals[:n], lead, strict=True)]

    def fun(*args: Any) -> list[Any]:
        first = [reshape(x, x.shape[1:]) if m else x for x, m in zip(args[:n], lead, strict=True)]
        return eval_jaxpr(closed.jaxpr, closed.consts, *first, *args[n:])
    return _retraced(fun, closed, [*avals, *closed.in_avals[n:]])


def _retraced(fun: Callable[..., list[Any]], closed: ClosedJaxpr, avals: Sequence[Any]) -> ClosedJaxpr:
    info = closed.jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(*trace_to_jaxpr(fun, avals, info))


def _known(xs: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    return [x for x, m in zip(xs, marks, strict=True) if not m]


def _marked(xs: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    return [x for x, m in zip(xs, marks, strict=True) if m]


# --- derivatives ----------------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, in_specs: Any, out_specs: Any, **params: Any) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents]
    with context(params):
        new, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros, False)
    outs = shard_map_p.bind(*primals, *_marked(tangents, nonzeros), jaxpr=new,
                            in_specs=(*in_specs, *_marked(in_specs, nonzeros)),
                            out_specs=(*out_specs, *_marked(out_specs, out_nonzeros)), **params)
    n = len(out_nonzeros)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if nz else Zero.from_primal_value(x) for nz, x in zip(out_nonzeros, outs[:n], strict=True)]


def _linearize(trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, in_specs: Any, out_specs: Any,
               **params: Any) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents]
    with context(params):
        split = linearize_jaxpr(jaxpr, nonzeros)
        n = len(split.out_nonzero)
        own = _residual_specs(split.primal.out_avals[n:], params)
        primal = _handing_on(split.primal, n, tuple(s is not None for s in own))
        res_specs: list[Any] = []
        for kind, i in split.res_from:
            res_specs.append({"in": in_specs, "out": out_specs, "res": own}[kind][i])
        lead = tuple(kind == "res" and s is not None for (kind, _), s in zip(split.res_from, res_specs, strict=True))
        tangent = _taking_over(split.tangent, lead)
    whole = [s or _WHOLE for s in own]
    outs = run_in(trace.parent, shard_map_p.bind, *primals, jaxpr=primal, in_specs=in_specs,
                  out_specs=(*out_specs, *whole), **params)
    residuals = split.residuals(primals, outs)
    if not any(split.out_nonzero):
        return outs[:n], [Zero.from_primal_value(x) for x in outs[:n]]
    found = iter(trace.tangents.process(shard_map_p, (*residuals, *_marked(tangents, nonzeros)), dict(
        params, jaxpr=tangent, in_specs=(*(s or _WHOLE for s in res_specs), *_marked(in_specs, nonzeros)),
        out_specs=tuple(_marked(out_specs, split.out_nonzero)))))
    return outs[:n], [next(found) if nz else Zero.from_primal_value(x)
                      for nz, x in zip(split.out_nonzero, outs[:n], strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    """Under a linearizing trace: what depends on known arguments alone is computed now."""
    unknown = [trace.is_tangent(x) for x in args]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    with context(params):
        parts = partial.partial_eval_jaxpr(params["jaxpr"], unknown)
        own = _residual_specs(parts.residual_avals, params)
        lead = tuple(s is not None for s in own)
        known_outs = len(parts.known.jaxpr.outvars) - len(own)
        first = _handing_on(parts.known, known_outs, lead)
        second = _taking_over(parts.unknown, lead)
    res_specs = tuple(s or _WHOLE for s in own)
    known = run_in(trace.parent, shard_map_p.bind, *_known(args, unknown), **dict(
        params, jaxpr=first, in_specs=tuple(_known(in_specs, unknown)),
        out_specs=(*_known(out_specs, parts.out_unknown), *res_specs)))
    outs = trace.tangents.process(shard_map_p, (*known[known_outs:], *_marked(args, unknown)), dict(
        params, jaxpr=second, in_specs=(*res_specs, *_marked(in_specs, unknown)),
        out_specs=tuple(_marked(out_specs, parts.out_unknown))))
    a, b = iter(known[:known_outs]), iter(outs)
    return [next(b) if u else next(a) for u in parts.out_unknown]


def _transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, in_specs: Any, out_specs: Any, **params: Any) -> list[Any]:
    linear = tuple(type(x) is UndefinedPrimal for x in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    with context(params):
        new, out_zero = _transposed(jaxpr, linear, nonzero, in_specs, out_specs, params["mesh"], params["axes"],
                                    params["typed"])
    given = [z for z, s in zip(_marked(in_specs, linear), out_zero, strict=True) if not s]
    outs = iter(shard_map_p.bind(*_known(args, linear), *_marked(cts, nonzero), jaxpr=new,
                                 in_specs=(*_known(in_specs, linear), *_marked(out_specs, nonzero)),
                                 out_specs=tuple(given), **params))
    kinds = iter(out_zero)
    return [None if not lin else Zero(x.aval.to_cotangent_aval()) if next(kinds) else next(outs)
            for x, lin in zip(args, linear, strict=True)]


@weak_cache
def _transposed(jaxpr: ClosedJaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...], in_specs: Any, out_specs: Any,
                mesh: Any, axes: frozenset[Any], typed: bool) -> tuple[ClosedJaxpr, list[bool]]:
    """From values of the other arguments and nonzero cotangents to those of the linear arguments, for one part.

    With types, a value that is the same everywhere gets the sum of all parts' cotangents from the backward pass. Without,
    the cotangent of a result that is the same everywhere is divided among the parts, and the sums are taken at the end.
    """
    in_avals = jaxpr.in_avals
    sizes = dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    ct_avals = []
    for a, s in zip(_marked(jaxpr.out_avals, nonzero), _marked(out_specs, nonzero), strict=True):
        ct = a.to_cotangent_aval()
        ct_avals.append(ct.update(vma=(ct.vma - axes) | specs.named(s)) if typed else ct)
    zero: list[bool] = []

    def fun(*flat: Any) -> list[Any]:
        n = len(flat) - len(ct_avals)
        values, given = iter(flat[:n]), list(flat[n:])
        if not typed:
            given = [_divided(c, math.prod(sizes[a] for a in specs.without(s, axes)))
                     for c, s in zip(given, _marked(out_specs, nonzero), strict=True)]
        cts = iter(given)
        full = [next(cts) if nz else Zero(a.to_cotangent_aval()) for a, nz in zip(jaxpr.out_avals, nonzero, strict=True)]
        operands = [UndefinedPrimal(a) if lin else next(values) for a, lin in zip(in_avals, linear, strict=True)]
        found = _marked(backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, full), linear)
        zero.extend(type(c) is Zero for c in found)
        wanted = _marked(in_specs, linear)
        if not typed:
            found = [c if type(c) is Zero else _summed(c, specs.without(s, axes))
                     for c, s in zip(found, wanted, strict=True)]
        return [c for c in found if type(c) is not Zero]
    return _retraced(fun, jaxpr, [*_known(in_avals, linear), *ct_avals]), zero


def _divided(ct: Any, n: int) -> Any:

    return ct if n == 1 else mul(ct, np.array(1 / n, ct.dtype))


def _summed(ct: Any, axes: frozenset[Any]) -> Any:
    return psum_p.bind(ct, axes=tuple(sorted(axes, key=str)), axis_index_groups=None) if axes else ct


# --- batching, partial evaluation, dead code ------------------------------------------------------------------------

def _batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, in_specs: Any, out_specs: Any, **params: Any) -> Any:
    names = axis.spmd_name if isinstance(axis.spmd_name, tuple) else (axis.spmd_name,)
    if any(n in params["axes"] for n in names if n is not None):
        raise NotImplementedError(f"vmap with spmd_axis_name={axis.spmd_name!r} of a shard_map over that axis is not "
                                  "supported: add the axis to in_specs and out_specs and use vmap inside of the function")
    with context(params):
        new, batched = batch_jaxpr_axes(jaxpr, axis, dims, False)
    outs = shard_map_p.bind(*args, jaxpr=new, in_specs=tuple(map(specs.inserted, in_specs, dims)),
                            out_specs=tuple(specs.inserted(s, 0 if b else None)
                                            for s, b in zip(out_specs, batched, strict=True)), **params)
    return outs, [0 if b else None for b in batched]


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """Splits the equation in a known and an unknown one with residuals between them."""
    params = eqn.params
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    with context(params):
        parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, policy)
        own = _residual_specs(parts.residual_avals, params)
        known_outs = len(parts.known.jaxpr.outvars) - len(own)
        first = _handing_on(parts.known, known_outs, tuple(s is not None for s in own))
        lead = tuple(s is not None and i is None for s, i in zip(own, parts.residual_in, strict=True))
        second = _taking_over(parts.unknown, lead)
    res_specs = [s or _WHOLE for s in own]
    known_specs = _known(in_specs, unknown)
    passed = [known_specs[i] if i is not None else s for s, i in zip(res_specs, parts.residual_in, strict=True)]
    extra = len(second.jaxpr.invars) - len(own)
    rest = _marked(in_specs, unknown) if extra == sum(unknown) else list(in_specs)
    avals = [specs.whole(a, s, params["mesh"], params["axes"])
             for a, s in zip(first.out_avals[known_outs:], res_specs, strict=True)]
    whole = partial.PartialJaxprs(first, second, parts.out_unknown, avals, parts.residual_in)
    return partial.split_call(
        policy, unknown, eqn, whole,
        dict(params, jaxpr=first, in_specs=tuple(known_specs),
             out_specs=(*_known(out_specs, parts.out_unknown), *res_specs)),
        dict(params, jaxpr=second, in_specs=(*passed, *rest), out_specs=tuple(_marked(out_specs, parts.out_unknown))))


def _dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    params = eqn.params
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    new, used = dce_closed(params["jaxpr"], used_outputs)
    if new is params["jaxpr"]:
        return used, eqn
    changed = dict(params, jaxpr=new, in_specs=tuple(_marked(params["in_specs"], used)),
                   out_specs=tuple(_marked(params["out_specs"], used_outputs)))
    effects = shard_map_p.abstract_eval(**changed)[1]
    return used, eqn.replace(params=changed, effects=effects, invars=_marked(eqn.invars, used),
                             outvars=_marked(eqn.outvars, used_outputs))


rules.primitive_jvps[shard_map_p] = _jvp
rules.primitive_linearizations[shard_map_p] = _linearize
split_rules[shard_map_p] = _split
rules.primitive_transposes[shard_map_p] = _transpose
rules.fancy_primitive_batchers[shard_map_p] = _batch
rules.partial_eval_rules[shard_map_p] = _partial
rules.dce_rules[shard_map_p] = _dce
