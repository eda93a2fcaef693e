"""Jacobians and Hessians of functions of trees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import check_callable, fix_arguments, normalize_argnums
from jax._api.forward import jvp
from jax._api.reverse import vjp
from jax._api.vmap import vmap
from jax._base.source import api_boundary
from jax._ground.structural import instantiate_zeros
from jax._language.avals import typeof
from jax.lax import reshape
from jax.numpy import asarray, eye
from jax.tree_util import tree_flatten, tree_map, tree_unflatten


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable[..., Any]:
    """The Jacobian of ``fun``, computed column by column in forward mode: good for tall Jacobians.

    Args:
      fun: a function of trees of arrays; with ``has_aux`` it returns ``(output, aux)``.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: return ``(jacobian, aux)``.
      holomorphic: ``fun`` is complex-differentiable; its arguments must be complex.

    Returns:
      A function that returns the Jacobian: a tree like the output of trees like the argument; each leaf has the
      output's axes, then the argument's.
    """
    check_callable(fun, "jacfwd")

    @functools.wraps(fun)
    @api_boundary
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(argnums, len(args), "jacfwd")
        partial, dyn = fix_arguments(fun, nums, args, kwargs)
        primals = tuple(dyn)
        leaves, tree = tree_flatten(primals)
        _check_dtypes("jacfwd", leaves, holomorphic, np.floating)
        basis = standard_basis(leaves)

        def push(*tangents: Any) -> Any:
            return jvp(partial, primals, tree_unflatten(tree, tangents), has_aux=has_aux)
        if has_aux:
            out, columns, aux = vmap(push, in_axes=0, out_axes=(None, -1, None))(*basis)
        elif holomorphic:
            out, columns = vmap(push, in_axes=0, out_axes=(None, -1))(*basis)
        else:  # the output may be one that vmap maps although it does not differ (references in the function)
            columns = vmap(lambda *tangents: push(*tangents)[1], in_axes=0, out_axes=-1)(*basis)
        if holomorphic:
            _check_output("jacfwd", tree_flatten(out)[0], holomorphic)

        def split(column: Any) -> Any:
            parts = _split_last(column, leaves)
            found = tree_unflatten(tree, parts)
            return found[0] if isinstance(argnums, int) else found
        jacobian = tree_map(split, columns)
        return (jacobian, aux) if has_aux else jacobian
    return jacobian_fun


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable[..., Any]:
    """The Jacobian of ``fun``, computed row by row in reverse mode: good for wide Jacobians.

    Arguments and result are those of :func:`jacfwd`, but that arguments may be complex where results are real, as in
    :func:`jax.grad`; ``allow_int`` accepts integer arguments (with zero derivatives of
    dtype ``float0``).
    """
    check_callable(fun, "jacrev")

    @functools.wraps(fun)
    @api_boundary
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(argnums, len(args), "jacrev")
        partial, dyn = fix_arguments(fun, nums, args, kwargs)
        leaves, tree = tree_flatten(tuple(dyn))
        _check_dtypes("jacrev", leaves, holomorphic, np.inexact, allow_int)
        if has_aux:
            out, pullback, aux = vjp(partial, *dyn, has_aux=True)
        else:
            out, pullback = vjp(partial, *dyn)
        outs, out_tree = tree_flatten(out)
        _check_output("jacrev", outs, holomorphic)
        basis = standard_basis(outs)
        rows = vmap(lambda *cts: pullback(tree_unflatten(out_tree, cts)))(*basis)
        row_leaves = tree_flatten(rows)[0]
        per_out: list[list[Any]] = [[] for _ in outs]
        for leaf, x in zip(row_leaves, leaves, strict=True):
            for j, part in enumerate(_split_first(leaf, outs, typeof(x).shape)):
                per_out[j].append(part)
        jacobians = []
        for parts in per_out:
            found = tree_unflatten(tree, parts)
            jacobians.append(found[0] if isinstance(argnums, int) else found)
        jacobian = tree_unflatten(out_tree, jacobians)
        return (jacobian, aux) if has_aux else jacobian
    return jacobian_fun


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable[..., Any]:
    """The Hessian of a scalar-valued function: ``jacfwd(jacrev(fun))``.

    Its leaves have the output's axes, then the argument's twice.
    """
    check_callable(fun, "hessian")
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums, has_aux=has_aux,
                  holomorphic=holomorphic)


def standard_basis(leaves: Sequence[Any]) -> list[Any]:
    """Arrays stacking the unit vectors of the space of trees with these leaves."""
    avals = [typeof(x) for x in leaves]
    total = sum(a.size for a in avals)
    out, start = [], 0
    for aval in avals:
        n = aval.size
        tangent = aval.to_tangent_aval()
        if tangent.dtype == dtypes.float0:
            out.append(np.zeros((total, *aval.shape), dtypes.float0))
        else:
            block = eye(total, n, k=-start, dtype=tangent.dtype)
            out.append(reshape(block, (total, *aval.shape)))
        start += n
    return out


def _split_last(x: Any, leaves: Sequence[Any]) -> list[Any]:
    x = asarray(x)
    out, start = [], 0
    for leaf in leaves:
        aval = typeof(leaf)
        out.append(reshape(x[..., start:start + aval.size], (*x.shape[:-1], *aval.shape)))
        start += aval.size
    return out


def _split_first(x: Any, outs: Sequence[Any], in_shape: tuple[int, ...]) -> list[Any]:
    out, start = [], 0
    is_float0 = typeof(x).dtype == dtypes.float0
    for o in outs:
        aval = typeof(o)
        if is_float0:
            out.append(np.zeros((*aval.shape, *in_shape), dtypes.float0))
        else:
            out.append(reshape(x[start:start + aval.size], (*aval.shape, *in_shape)))
        start += aval.size
    return out


def _check_dtypes(api: str, leaves: Sequence[Any], holomorphic: bool, real: Any, allow_int: bool = False) -> None:
    for x in leaves:
        dtype = typeof(x).dtype
        if holomorphic:
            if not dtypes.issubdtype(dtype, np.complexfloating):
                raise TypeError(f"{api} with holomorphic=True needs complex arguments, got dtype {dtype}")
        elif dtypes.issubdtype(dtype, np.complexfloating) and not dtypes.issubdtype(np.complexfloating, real):
            raise TypeError(f"{api} needs real arguments, got dtype {dtype}; pass holomorphic=True for "
                            "complex-differentiable functions, or use jax.jvp / jax.vjp")
        elif not dtypes.issubdtype(dtype, real) and not allow_int:
            raise TypeError(f"{api} needs floating-point arguments, got dtype {dtype}; convert them with "
                            ".astype(float)" + (" or pass allow_int=True" if api == "jacrev" else ""))


def _check_output(api: str, outs: Sequence[Any], holomorphic: bool) -> None:
    for x in outs:
        dtype = typeof(x).dtype
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(f"{api} with holomorphic=True needs complex outputs, got dtype {dtype}")
        if not holomorphic and is_complex:
            raise TypeError(f"{api} needs real outputs, got dtype {dtype}; pass holomorphic=True for "
                            "complex-differentiable functions")
        if not dtypes.issubdtype(dtype, np.inexact):
            raise TypeError(f"{api} needs floating-point outputs, got dtype {dtype}; return what has no derivative as aux, "
                            "with has_aux=True")


__all__ = ["hessian", "instantiate_zeros", "jacfwd", "jacobian", "jacrev", "standard_basis"]
