"""``linearize`` and ``linear_transpose``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import (
    FlatFun,
    FlatFunAux,
    check_callable,
    check_leaf_types,
    debug_info,
)
from jax._api.cotangents import LinStatic, active_leaves, first_outputs
from jax._base.source import api_boundary
from jax._ground.structural import convert, instantiate_zeros, weak_as
from jax._language.avals import ShapedArray, typeof
from jax._language.refs import is_ref_type
from jax._language.staging import trace_to_jaxpr
from jax._language.zeros import UndefinedPrimal
from jax._transforms.linearize import linearize_flat
from jax._transforms.transpose import backward_pass
from jax.tree_util import Partial, tree_flatten, tree_unflatten


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> Any:
    """The value of ``fun`` at ``primals`` and its derivative there as a linear function of tangents.

    The derivative holds what it needs from the evaluation of ``fun``, so it may be applied many times cheaply.

    Returns:
      ``(output, f_jvp)``, with ``aux`` as a third element if ``has_aux``; ``f_jvp(*tangents)`` returns the output's
      tangent.
    """
    check_callable(fun, "linearize")
    leaves, tree = tree_flatten((primals, {}))
    check_leaf_types(leaves, tree, "argument ", "linearize")
    active = active_leaves(primals, leaves, in_nzs)
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, lin = linearize_flat(flat, leaves, debug_info(fun, tree, "linearize"), active)
    n = flat.out_tree.num_leaves
    lin = first_outputs(lin, n)
    static = LinStatic(lin.with_consts([]), tree, flat.out_tree)
    f_jvp = Partial(functools.partial(_apply_linear, static), lin.consts)
    result = tree_unflatten(flat.out_tree, outs[:n])
    if has_aux:
        return result, f_jvp, tree_unflatten(flat.aux_tree, outs[n:])  # type: ignore[attr-defined]
    return result, f_jvp


def _apply_linear(static: LinStatic, consts: Any, *tangents: Any) -> Any:
    lin = static.lin
    leaves, tree = tree_flatten((tangents, {}))
    if tree != static.in_tree:
        raise TypeError(f"linearize: the tangents must have the structure of the primals, {static.in_tree}, got {tree}")
    for t, a in zip(leaves, lin.in_avals, strict=True):
        got = typeof(t)
        if is_ref_type(got) != is_ref_type(a) or got.shape != a.shape or (got.dtype != a.dtype and not got.weak_type):
            raise ValueError(f"linearize: a tangent of type {got.str_short()} was given where the primal's type asks for "
                             f"{a.str_short()}")
    leaves = [t if typeof(t).dtype == a.dtype else convert(t, a.dtype)
              for t, a in zip(leaves, lin.in_avals, strict=True)]
    full = lin.with_consts(consts)
    return tree_unflatten(static.out_tree, [weak_as(instantiate_zeros(t), a)
                                            for t, a in zip(full.apply(*leaves), lin.out_avals, strict=True)])


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The transpose of a function that is linear in all of its arguments.

    Args:
      fun: a linear function of trees of arrays.
      primals: example arguments, or ``jax.ShapeDtypeStruct`` in their place: only shapes and dtypes matter.
      reduce_axes: must be empty; kept for callers of its former meaning.

    Returns:
      A function from a cotangent shaped like the output to a tuple of cotangents shaped like ``primals``.

    Raises:
      NotImplementedError: ``fun`` is not linear; the message names the operation and its line.
    """
    check_callable(fun, "linear_transpose")
    if reduce_axes:
        raise NotImplementedError("linear_transpose: reduce_axes is not supported; leave it out")
    leaves, tree = tree_flatten((primals, {}))
    in_avals = [ShapedArray(x.shape, x.dtype) if not hasattr(x, "aval") and hasattr(x, "shape") else typeof(x)
                for x in leaves]
    in_avals = [a.strip_weak_type() for a in in_avals]
    flat = FlatFun(fun, tree)
    jaxpr, consts = trace_to_jaxpr(flat, in_avals, debug_info(fun, tree, "linear_transpose"))
    _check_same_field(jaxpr, in_avals)
    out_tree = flat.out_tree

    @api_boundary
    def transposed(cotangent: Any) -> Any:
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != out_tree:
            raise TypeError(f"linear_transpose: the cotangent must have the structure of the output, {out_tree}, got "
                            f"{ct_tree}")
        for c, v in zip(cts, jaxpr.outvars, strict=True):
            if typeof(c).shape != v.aval.shape or (typeof(c).dtype != v.aval.dtype and not typeof(c).weak_type):
                raise TypeError(f"linear_transpose: an output of type {v.aval.str_short()} was given a cotangent of "
                                f"type {typeof(c).str_short()}")
        found = backward_pass(jaxpr, consts, [UndefinedPrimal(a) for a in in_avals], cts)
        args, _ = tree_unflatten(tree, [instantiate_zeros(c) for c in found])
        return args
    return transposed


def _check_same_field(jaxpr: Any, in_avals: Any) -> None:
    for v in [*in_avals, *[o.aval for o in jaxpr.outvars]]:
        if not dtypes.issubdtype(v.dtype, np.inexact) and not dtypes.issubdtype(v.dtype, np.integer):
            raise TypeError(f"linear_transpose: arguments and outputs must be numbers, got {v.str_short()}")
