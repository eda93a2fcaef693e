"""Estimates for whole programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._api.reverse import vjp as vjp_of
from jax._api.staged import make_jaxpr
from jax._base.source import api_boundary
from jax._language.evaluation import last_uses
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._spmd.primitive import shard_map_p
from jax._spmd.shard_map import shard_map
from jax._transforms.dce import dce_jaxpr
from jax.experimental.roofline._costs import RooflineResult, RooflineRuleContext, RooflineShape, rooflines, rule_of
from jax.lax import cond_p, scan_p, while_p
from jax.stages import ShapeDtypeStruct
from jax.tree_util import tree_map


@api_boundary
def roofline(f: Callable[..., Any], mesh: Any = None, in_specs: Any = None, out_specs: Any = None, *,
             pin_lhs_in_vmem: bool = False, pin_rhs_in_vmem: bool = False, vjp: bool = False,
             print_jaxpr: bool = False) -> Callable[..., tuple[Any, RooflineResult]]:
    """A function that says what ``f`` would compute, move and send, from its types alone.

    Args:
      f: a function of trees of arrays.
      mesh, in_specs, out_specs: as for :func:`jax.shard_map`; ``f`` is a function of the parts then, and costs are those of
        one device. All of them or none.
      pin_lhs_in_vmem, pin_rhs_in_vmem: count the first, or second, operands of matrix products as in fast memory already.
      vjp: the backward pass in place of ``f``, a function of cotangents that returns those of the arguments.
      print_jaxpr: print the program.

    Returns:
      A function of arrays, or of :class:`jax.ShapeDtypeStruct`, that returns the types of the results of ``f`` and a
      :class:`RooflineResult`. Nothing is compiled or run.

    Raises:
      ValueError: a mesh without specs, or the other way round.

    Matrix products and convolutions, and with them decompositions and sorting, are counted by their known formulas, other
    operations as one for each element of the result, and those without a rule as moving memory only
    (:func:`register_roofline`). The bodies of ``scan`` count as often as they run; those of ``while_loop``, where this is
    not known, once; of the branches of a ``cond`` the one with the most operations. Communication is counted as on rings.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.roofline import roofline
    >>> x = jax.ShapeDtypeStruct((8, 16), jnp.float32)
    >>> out, cost = roofline(lambda x: x @ x.T)(x)
    >>> out.shape, cost.flops
    ((8, 8), 2048)
    """
    check_callable(f, "roofline")
    placed = _placed(f, mesh, in_specs, out_specs)
    pins = (pin_lhs_in_vmem, pin_rhs_in_vmem)

    @functools.wraps(f)
    @api_boundary
    def estimate(*args: Any) -> tuple[Any, RooflineResult]:
        closed, out = make_jaxpr(placed, return_shape=True)(*args)
        if vjp:
            closed, out = _backward(placed, args, out)
        if print_jaxpr:
            print(closed)
        return out, cost_of(closed.jaxpr, mesh, pins)
    return estimate


@api_boundary
def roofline_and_grad(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, *, pin_lhs_in_vmem: bool = False,
                      pin_rhs_in_vmem: bool = False, print_jaxpr: bool = False,
                      ) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """:func:`roofline` of a function and of its backward pass: ``(types of the results, cost, cost of the backward pass)``.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.roofline import roofline_and_grad
    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> x = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    >>> _, cost, back = roofline_and_grad(lambda x, y: x @ y, mesh, (jax.P("x"), jax.P()), jax.P("x"))(x, x)
    >>> cost.flops, back.flops
    (1024, 2048)
    """
    settings: dict[str, Any] = {"pin_lhs_in_vmem": pin_lhs_in_vmem, "pin_rhs_in_vmem": pin_rhs_in_vmem,
                                "print_jaxpr": print_jaxpr}
    forward = roofline(f, mesh, in_specs, out_specs, **settings)
    backward = roofline(f, mesh, in_specs, out_specs, vjp=True, **settings)

    @functools.wraps(f)
    @api_boundary
    def estimate(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        out, cost = forward(*args)
        return out, cost, backward(*args)[1]
    return estimate


def _placed(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    given = [mesh is not None, in_specs is not None, out_specs is not None]
    if not any(given):
        return f
    if not all(given):
        raise ValueError("roofline: mesh, in_specs and out_specs belong together: give all of them, or none")
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def _backward(f: Callable[..., Any], args: Sequence[Any], out: Any) -> tuple[ClosedJaxpr, Any]:
    """The program from arguments and cotangents to cotangents, without what only the value of ``f`` needs; their types."""
    def run(args: Any, cts: Any) -> Any:
        return vjp_of(f, *args)[1](cts)
    cts = tree_map(lambda o: ShapeDtypeStruct(o.shape, o.dtype), out)
    closed, grads = make_jaxpr(run, return_shape=True)(tuple(args), cts)
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    return ClosedJaxpr(jaxpr, closed.consts), grads


def cost_of(jaxpr: Jaxpr, mesh: Any, pins: tuple[bool, bool]) -> RooflineResult:
    """The cost of a program: the sum of those of its equations, and the most memory in use at once."""
    total = RooflineResult()
    alive = {v: _bytes(v) for v in (*jaxpr.constvars, *jaxpr.invars)}
    used, peak = sum(alive.values()), 0
    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        cost = _equation(eqn, mesh, pins)
        made = {v: _bytes(v) for v in eqn.outvars}
        inner = max(0, cost.peak_hbm_bytes - sum({v: _bytes(v) for v in eqn.invars if type(v) is not Literal}.values()))
        used += sum(made.values())
        peak = max(peak, used, used - sum(made.values()) + inner)
        alive.update(made)
        for v in dying:
            used -= alive.pop(v, 0)
        total = total + cost
    return total + RooflineResult(peak_hbm_bytes=max(peak, used))


def _bytes(v: Any) -> int:
    return RooflineShape.from_aval(v.aval).bytes


def _equation(eqn: JaxprEqn, mesh: Any, pins: tuple[bool, bool]) -> RooflineResult:
    prim, params = eqn.primitive, eqn.params
    if prim in rooflines:
        return _by_rule(eqn, mesh, pins)
    if prim is shard_map_p:
        return cost_of(_body(params["jaxpr"]), params["mesh"], pins)
    if prim is scan_p:
        return cost_of(_body(params["jaxpr"]), mesh, pins) * params["length"]
    if prim is while_p:
        return cost_of(_body(params["cond_jaxpr"]), mesh, pins) + cost_of(_body(params["body_jaxpr"]), mesh, pins)
    if prim is cond_p:
        return max([cost_of(_body(b), mesh, pins) for b in params["branches"]], key=lambda c: (c.unfused_flops, c.flops))
    bodies = [v for v in params.values() if isinstance(v, (Jaxpr, ClosedJaxpr))]
    if len(bodies) == 1:  # a call
        return cost_of(_body(bodies[0]), mesh, pins)
    return _by_rule(eqn, mesh, pins)


def _body(jaxpr: Any) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def _by_rule(eqn: JaxprEqn, mesh: Any, pins: tuple[bool, bool]) -> RooflineResult:
    avals = [v.aval for v in eqn.invars]
    context = RooflineRuleContext(
        name_stack=eqn.source_info.name_stack, primitive=eqn.primitive, avals_in=avals,
        avals_out=[v.aval for v in eqn.outvars], jaxpr_eqn_ctx=eqn.ctx, mesh=mesh, pin_lhs_in_vmem=pins[0],
        pin_rhs_in_vmem=pins[1])
    result = rule_of(eqn.primitive)(context, *map(RooflineShape.from_aval, avals), **eqn.params)
    if not isinstance(result, RooflineResult):
        raise TypeError(f"the roofline rule of {eqn.primitive} returned {result!r}; it must return a RooflineResult")
    return result
