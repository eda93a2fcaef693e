"""Counting what functions cost, from their programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jax import lax
from jax._api.common import check_callable
from jax._api.staged import make_jaxpr
from jax._base.source import api_boundary
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jax._language.refs import is_ref_type
from jax.experimental.pallas._primitive import pallas_call_p
from jax.experimental.pallas._specs import CostEstimate
from jax.experimental.roofline._costs import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    rule_of,
    traffic,
)
from jax.tree_util import tree_flatten, tree_unflatten

_TRANSCENDENTAL = frozenset([
    lax.exp_p, lax.exp2_p, lax.expm1_p, lax.log_p, lax.log1p_p, lax.logistic_p, lax.tanh_p, lax.sin_p, lax.cos_p,
    lax.tan_p, lax.asin_p, lax.acos_p, lax.atan_p, lax.atan2_p, lax.sinh_p, lax.cosh_p, lax.asinh_p, lax.acosh_p,
    lax.atanh_p, lax.sqrt_p, lax.rsqrt_p, lax.cbrt_p, lax.pow_p, lax.erf_p, lax.erfc_p, lax.erf_inv_p, lax.lgamma_p,
    lax.digamma_p,
])


@api_boundary
def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """What ``fun(*args, **kwargs)`` costs: a :class:`CostEstimate` for the kernel that does the same.

    Args:
      fun: a function of trees of arrays. It is traced, not run.
      args, kwargs: its arguments; ``jax.ShapeDtypeStruct`` will do for arrays. What is no array or number is passed on.

    Returns:
      ``bytes_accessed`` are the sizes of all arguments and results, as if nothing in between went through memory.
      Transcendental functions of real numbers, roots and powers are counted apart from ``flops``; of these a matrix product
      has two for each product of numbers, a reduction one for each element but the last, and other operations that compute
      one for each element of their result. Bodies of ``scan`` count as often as they run, and those of ``while_loop``, where
      this is not known, once. Of the branches of a ``cond`` the dearest counts. A :func:`pallas_call` costs what its
      ``cost_estimate`` says, or its kernel times the size of the grid.

    >>> import jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> pl.estimate_cost(lambda x, y: jnp.exp(x @ y), jnp.ones((4, 8)), jnp.ones((8, 16)))
    CostEstimate(flops=1024, transcendentals=64, bytes_accessed=896, remote_bytes_transferred=0)
    """
    check_callable(fun, "pl.estimate_cost")
    leaves, tree = tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if hasattr(x, "shape") and hasattr(x, "dtype")]

    def of_arrays(*arrays: Any) -> Any:
        full = list(leaves)
        for i, x in zip(places, arrays, strict=True):
            full[i] = x
        positional, named = tree_unflatten(tree, full)
        return fun(*positional, **named)

    closed = make_jaxpr(of_arrays)(*[leaves[i] for i in places])
    flops, transcendentals, sent = _count(closed.jaxpr)
    moved = RooflineShape.total_bytes([*closed.in_avals, *closed.out_avals])
    return CostEstimate(flops, transcendentals, moved, sent)


def _count(jaxpr: Jaxpr) -> tuple[int, int, int]:
    """Operations, transcendental functions, and bytes sent to other devices."""
    return _total([_equation(e) for e in jaxpr.eqns])


def _total(parts: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    return tuple([sum(column) for column in zip(*parts, strict=True)]) if parts else (0, 0, 0)


def _call(params: dict[str, Any]) -> tuple[int, int, int]:
    cost = params["cost_estimate"]
    if cost is not None:
        return cost.flops, cost.transcendentals, cost.remote_bytes_transferred
    times = math.prod(params["grid_mapping"].grid)
    return tuple([times * n for n in _count(params["jaxpr"].jaxpr)])


def _equation(eqn: JaxprEqn) -> tuple[int, int, int]:
    prim, params = eqn.primitive, eqn.params
    if prim is pallas_call_p:
        return _call(params)
    if prim in _TRANSCENDENTAL:
        return 0, sum(RooflineShape.from_aval(v.aval).size for v in eqn.outvars), 0
    if prim is lax.scan_p:
        return tuple([params["length"] * n for n in _count(params["jaxpr"].jaxpr)])
    if prim is lax.cond_p:
        return max([_count(b.jaxpr) for b in params["branches"]], key=sum)
    if prim is lax.while_p:
        return _total([_count(params["cond_jaxpr"].jaxpr), _count(params["body_jaxpr"].jaxpr)])
    programs = [v for v in params.values() if isinstance(v, (Jaxpr, ClosedJaxpr))]
    if len(programs) == 1:  # a call
        return _total([_count(j) for j in jaxprs_in_params(params)])
    if any(is_ref_type(v.aval) for v in eqn.invars):  # reading and writing
        return 0, 0, 0
    avals = [v.aval for v in eqn.invars]
    context = RooflineRuleContext(name_stack=eqn.source_info.name_stack, primitive=prim, avals_in=avals,
                                  avals_out=[v.aval for v in eqn.outvars], jaxpr_eqn_ctx=eqn.ctx, mesh=None,
                                  pin_lhs_in_vmem=False, pin_rhs_in_vmem=False)
    return rule_of(prim)(context, *map(RooflineShape.from_aval, avals), **params).unfused_flops, 0, 0


@register_roofline(pallas_call_p)
def _roofline(ctx: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
    """A kernel reads operands and writes results once, unless its estimate says otherwise."""
    given = params["cost_estimate"]
    flops, transcendentals, _ = _call(params)
    moved = traffic(ctx) if given is None else given.bytes_accessed
    return RooflineResult(flops=flops, unfused_flops=flops + transcendentals, hbm_bytes=moved, unfused_hbm_bytes=moved,
                          peak_hbm_bytes=traffic(ctx))


__all__ = ["estimate_cost"]
