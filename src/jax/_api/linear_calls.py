"""``linear_call``: a linear function together with its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.common import FlatFun, check_callable, debug_info
from jax._api.traced_calls import hoist_tracers
from jax._base.source import api_boundary, describe_function
from jax._dispatch.eager import operation
from jax._ground.structural import add_tangents, broadcast_to_axis, convert, instantiate_zeros, move_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax._transforms.batch import AxisData, batch_flat, match_axis
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.jvp import jvp_flat
from jax.tree_util import tree_flatten, tree_unflatten

# (residuals, cotangents of the outputs) -> cotangents of the linear arguments; None for zero.
FlatTranspose = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


@api_boundary
def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any) -> Any:
    """Calls a linear function whose transpose is given.

    Args:
      fun: ``(residual_args, linear_args) -> out``, linear in ``linear_args``. It is used forwards, and in forward mode.
      fun_transpose: ``(residual_args, out_cotangents) -> cotangents of linear_args``, in place of what transposing
        ``fun`` would give; it is used in reverse mode.
      residual_args: a tree of arrays.
      linear_args: a tree of arrays.

    Returns:
      ``fun(residual_args, linear_args)``.

    >>> import jax
    >>> from jax.custom_derivatives import linear_call
    >>> double = lambda x: linear_call(lambda _, x: 2. * x, lambda _, ct: 20. * ct, (), x)
    >>> float(jax.grad(double)(1.))
    20.0
    """
    check_callable(fun, "linear_call")
    check_callable(fun_transpose, "linear_call")
    return call_linear(fun, fun_transpose, residual_args, linear_args)


def call_linear(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any) -> Any:
    """:func:`linear_call` without checks of its first arguments."""
    res, res_tree = tree_flatten(residual_args)
    lin, lin_tree = tree_flatten(linear_args)
    leaves, in_tree = tree_flatten(((residual_args, linear_args), {}))
    flat = FlatFun(fun, in_tree)
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], debug_info(fun, in_tree, "linear_call"))
    jaxpr, consts, hoisted = hoist_tracers(jaxpr, consts)
    skip, out_tree = len(hoisted), flat.out_tree
    lin_avals = [typeof(x).to_tangent_aval() for x in lin]

    def transpose(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        found = fun_transpose(tree_unflatten(res_tree, residuals[skip:]), tree_unflatten(out_tree, cts))
        outs, tree = tree_flatten(found)
        if tree != lin_tree:
            raise TypeError(f"{describe_function(fun_transpose)}, the transpose of {describe_function(fun)}, must return "
                            f"cotangents with the structure of the linear arguments, {lin_tree}; got {tree}")
        return [_fit(x, a, i, fun_transpose) for i, (x, a) in enumerate(zip(outs, lin_avals, strict=True))]

    outs = linear_call_p.bind(*hoisted, *res, *lin, callee=ClosedJaxpr(jaxpr, consts), transpose=transpose,
                              num_res=skip + len(res))
    return tree_unflatten(out_tree, outs)


def _fit(ct: Any, aval: Any, i: int, fun: Any) -> Any:
    got = typeof(ct)
    if got.shape != aval.shape:
        raise TypeError(f"{describe_function(fun)} returned a cotangent of type {got.str_short()} for the linear argument "
                        f"number {i}, which is of type {aval.str_short()}")
    return ct if got.dtype == aval.dtype else convert(ct, np.dtype(aval.dtype))


# operands: residuals, then linear arguments
linear_call_p = Primitive("linear_call", multiple_results=True)
linear_call_p.abstract_cache = None


def _impl(*args: Any, **params: Any) -> Any:
    return operation(linear_call_p, params)(*args)


def _lower(ctx: Any, *operands: Any, callee: ClosedJaxpr, **params: Any) -> Any:
    return call_jaxpr(ctx, "linear_call", callee, operands)


def _jvp(primals: Any, tangents: Any, *, callee: ClosedJaxpr, num_res: int, **params: Any) -> Any:
    params = dict(params, callee=callee, num_res=num_res)
    outs = linear_call_p.bind(*primals, **params)
    parts: list[Any] = [Zero.from_primal_value(o) for o in outs]
    if any(type(t) is not Zero for t in tangents[num_res:]):
        parts = linear_call_p.bind(*primals[:num_res], *map(instantiate_zeros, tangents[num_res:]), **params)
    if any(type(t) is not Zero for t in tangents[:num_res]):
        # Of the residuals nothing else is known than what the function itself says.
        moving = [*tangents[:num_res], *(Zero.from_primal_value(x) for x in primals[num_res:])]
        _, more = jvp_flat(lambda *xs: eval_jaxpr(callee.jaxpr, callee.consts, *xs), primals, moving)
        parts = [add_tangents(a, b) for a, b in zip(parts, more, strict=True)]
    return outs, parts


def _transpose(cts: Any, *args: Any, transpose: FlatTranspose, num_res: int, callee: ClosedJaxpr) -> list[Any]:
    res, lin = args[:num_res], args[num_res:]
    if any(type(x) is UndefinedPrimal for x in res) or not all(type(x) is UndefinedPrimal for x in lin):
        raise NotImplementedError("the function is not linear: linear_call can only be transposed with respect to all of "
                                  "its linear arguments together, and not to its residuals")
    out_avals = callee.out_avals
    full = [instantiate_zeros(c) for c in cts]
    lin_avals = [x.aval.to_cotangent_aval() for x in lin]
    jaxpr, consts = trace_to_jaxpr(
        lambda *xs: [instantiate_zeros(Zero(a)) if c is None else c for c, a in
                     zip(transpose(xs[:num_res], xs[num_res:]), lin_avals, strict=True)],
        [typeof(x) for x in (*res, *full)])
    jaxpr, consts, hoisted = hoist_tracers(jaxpr, consts)
    skip = len(hoisted)

    def back(residuals: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        outs = eval_jaxpr(callee.jaxpr, callee.consts, *residuals[skip:], *given)
        return [convert(o, a.to_tangent_aval().dtype) for o, a in zip(outs, out_avals, strict=True)]

    outs = linear_call_p.bind(*hoisted, *res, *full, callee=ClosedJaxpr(jaxpr, consts), transpose=back,
                              num_res=skip + num_res)
    return [*[None] * num_res, *outs]


def _batch(axis: AxisData, args: Any, dims: Any, *, callee: ClosedJaxpr, transpose: FlatTranspose, num_res: int) -> Any:
    """Linear arguments and results are all batched, so that their cotangents are."""
    res, res_dims = args[:num_res], list(dims[:num_res])
    lin = [broadcast_to_axis(x, axis.size, 0) if d is None else move_axis(x, d, 0)
           for x, d in zip(args[num_res:], dims[num_res:], strict=True)]
    new, _ = batch_jaxpr_axes(callee, axis, [*res_dims, *[0] * len(lin)], True)

    def batched(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        zero: list[bool] = []

        def one(*xs: Any) -> list[Any]:
            outs = transpose(xs[:num_res], xs[num_res:])
            zero[:] = [o is None for o in outs]
            return [o for o in outs if o is not None]

        outs, found = batch_flat(one, axis, [*residuals, *cts], [*res_dims, *[0] * len(cts)])
        given = iter([match_axis(axis.size, d, 0, x) for x, d in zip(outs, found, strict=True)])
        return [None if z else next(given) for z in zero]

    outs = linear_call_p.bind(*res, *lin, callee=new, transpose=batched, num_res=num_res)
    return outs, [0] * len(outs)


def _dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    return [True] * len(eqn.invars), eqn


linear_call_p.def_impl(_impl)
linear_call_p.def_effectful_abstract_eval(lambda *avals, callee, **params: (callee.out_avals, callee.effects))
register_lowering(linear_call_p, _lower, cacheable=False)
rules.primitive_jvps[linear_call_p] = _jvp
rules.primitive_transposes[linear_call_p] = _transpose
rules.fancy_primitive_batchers[linear_call_p] = _batch
rules.dce_rules[linear_call_p] = _dce

__all__ = ["call_linear", "linear_call", "linear_call_p"]
