"""``vjp`` and the split of a function in a forward and a backward one."""

from __future__ import annotations

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
    fix_arguments,
    normalize_argnums,
)
from jax._api.cotangents import LinStatic, active_leaves, first_outputs, pull_back
from jax._base.source import api_boundary
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax._language.zeros import Zero
from jax._transforms.linearize import Linearized, linearize_flat
from jax.tree_util import register_pytree_node, tree_flatten, tree_unflatten


class VJP:
    """The pullback that :func:`vjp` returns: a tree whose leaves are the residuals, so it may cross ``jit``."""

    __slots__ = ("lin", "primals_in", "in_tree", "out_tree", "__weakref__")

    def __init__(self, lin: Linearized, in_tree: Any, out_tree: Any) -> None:
        self.lin = lin
        self.in_tree = in_tree
        self.out_tree = out_tree

    @api_boundary
    def __call__(self, cotangent: Any) -> Any:
        leaves, tree = tree_flatten(cotangent)
        if tree != self.out_tree:
            raise TypeError(f"vjp: the cotangent must have the structure of the function's output, {self.out_tree}, "
                            f"got {tree}")
        leaves = [_check_cotangent(c, a) for c, a in zip(leaves, self.lin.out_avals, strict=True)]
        args, _ = tree_unflatten(self.in_tree, pull_back(self.lin, leaves, ()))
        return args

    @property
    def args_res(self) -> Any:
        return self.lin.consts


def _check_cotangent(ct: Any, want: Any) -> Any:
    if type(ct) is Zero:
        return ct
    got = typeof(ct)
    if want.dtype == dtypes.float0:
        if got.dtype != dtypes.float0:
            raise TypeError(f"vjp: the cotangent of an integer output of shape {want.shape} must have dtype float0, got "
                            f"{got.str_short()}; use numpy.zeros(shape, jax.dtypes.float0)")
        return Zero(want)
    if got.shape != want.shape:
        raise ValueError(f"vjp: an output of shape {want.shape} was given a cotangent of shape {got.shape}; they must "
                         "be equal")
    if got.dtype != want.dtype:
        if not got.weak_type:
            raise TypeError(f"vjp: an output of dtype {want.dtype} was given a cotangent of dtype {got.dtype}; convert "
                            f"it with .astype({want.dtype})")
        return np.asarray(ct, want.dtype) if isinstance(ct, (int, float, complex)) else convert(ct, want.dtype)
    return ct


def _vjp_flatten(f: VJP) -> tuple[Any, Any]:
    lin = f.lin
    bare = Linearized(lin.jaxpr, [], lin.in_avals, lin.in_nonzero, lin.out_avals, lin.out_nonzero)
    return tuple(lin.consts), LinStatic(bare, f.in_tree, f.out_tree)


def _vjp_unflatten(static: LinStatic, consts: Any) -> VJP:
    lin = static.lin
    full = Linearized(lin.jaxpr, list(consts), lin.in_avals, lin.in_nonzero, lin.out_avals, lin.out_nonzero)
    return VJP(full, static.in_tree, static.out_tree)


register_pytree_node(VJP, _vjp_flatten, _vjp_unflatten)


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (),
        saveable_args: Any = None, in_nzs: Any = None) -> Any:
    """The value of ``fun`` at ``primals`` and its pullback.

    Args:
      fun: a function of trees of arrays.
      primals: its arguments.
      has_aux: whether ``fun`` returns ``(output, aux)``.
      reduce_axes: must be empty; kept for callers of its former meaning.
      saveable_args: must be ``None``; not supported.
      in_nzs: for each primal whether it is differentiated (default: all).

    Returns:
      ``(output, vjp_fun)``, with ``aux`` as a third element if ``has_aux``. ``vjp_fun`` takes a cotangent shaped like
      the output and returns a tuple of cotangents shaped like ``primals``.
    """
    check_callable(fun, "vjp")
    if reduce_axes or saveable_args is not None:
        raise NotImplementedError("vjp: reduce_axes and saveable_args are not supported; leave them out")
    leaves, tree = tree_flatten((primals, {}))
    check_leaf_types(leaves, tree, "argument ", "vjp")
    active = active_leaves(primals, leaves, in_nzs)
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, lin = linearize_flat(flat, leaves, debug_info(fun, tree, "vjp"), active)
    n = flat.out_tree.num_leaves
    check_leaf_types(outs[:n], flat.out_tree, "output ", "vjp")
    result = tree_unflatten(flat.out_tree, outs[:n])
    pullback = VJP(first_outputs(lin, n), tree, flat.out_tree)
    if has_aux:
        return result, pullback, tree_unflatten(flat.aux_tree, outs[n:])  # type: ignore[attr-defined]
    return result, pullback


def fwd_and_bwd(fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True,
                ) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Splits differentiation in two functions, each of which can be compiled by itself.

    Returns:
      ``fwd(*args)``, which returns ``(output, residuals)`` (with ``aux`` as a third element if ``has_aux``), and
      ``bwd(residuals, cotangent)``, which returns the cotangents of the arguments at ``argnums``.
    """
    check_callable(fun, "fwd_and_bwd")

    def fwd(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(argnums, len(args), "fwd_and_bwd")
        partial, dyn = fix_arguments(fun, nums, args, kwargs)
        return vjp(partial, *dyn, has_aux=has_aux)

    def bwd(pullback: Any, cotangent: Any) -> Any:
        grads = pullback(cotangent)
        return grads[0] if isinstance(argnums, int) else grads
    if jitted:
        from jax._api.jit import jit  # jit is a sibling; only this option compiles
        return jit(fwd), jit(bwd)
    return fwd, bwd
