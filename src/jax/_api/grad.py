"""``grad`` and ``value_and_grad``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import (
    Described,
    FlatFun,
    FlatFunAux,
    as_argnums,
    check_callable,
    check_leaf_types,
    debug_info,
    fix_arguments,
    normalize_argnums,
)
from jax._api.cotangents import differentiable, pull_back
from jax._base.source import api_boundary
from jax._ground.structural import scalar
from jax._language.avals import typeof
from jax._language.refs import is_ref_type
from jax._language.zeros import Zero
from jax._transforms.linearize import linearize_flat
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The gradient of a scalar-valued function.

    Args:
      fun: returns a real scalar (a complex one with ``holomorphic``); with ``has_aux``, a pair of it and any tree.
      argnums: which positional arguments to differentiate with respect to: an integer, or a sequence for a tuple of
        gradients. These are trees of floating-point (or complex) arrays.
      has_aux: whether ``fun`` returns ``(output, aux)``; the result is then ``(gradient, aux)``.
      holomorphic: ``fun`` is complex-differentiable, with complex arguments and output.
      allow_int: accept integer arguments; their gradients are zeros of dtype ``float0``.
      reduce_axes: must be empty; kept for callers of its former meaning.

    Returns:
      A function of the same arguments that returns the gradient, shaped like the argument(s) at ``argnums``.

    Raises:
      TypeError: the output is not a real scalar, or an argument is not of a differentiable dtype.

    >>> import jax
    >>> float(jax.grad(lambda x: x ** 2)(3.0))
    6.0
    """
    value_and_grad_fun = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @functools.wraps(fun)
    @api_boundary
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, gradient = value_and_grad_fun(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient
    return grad_fun


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False, reduce_axes: Sequence[Any] = (),
                   ) -> Callable[..., Any]:
    """Like :func:`grad`, returning ``(value, gradient)``; the value is ``(output, aux)`` with ``has_aux``."""
    return _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)


def _value_and_grad(api: str, fun: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool,
                    reduce_axes: Sequence[Any]) -> Callable[..., Any]:
    check_callable(fun, api)
    if reduce_axes:
        raise NotImplementedError(f"{api}: reduce_axes is no longer supported; use jax.lax.psum in the function instead")
    argnums = as_argnums(argnums, api)

    @functools.wraps(fun)
    @api_boundary
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(argnums, len(args), f"{api} of {getattr(fun, '__name__', 'function')}")
        partial, dyn = fix_arguments(fun, nums, args, kwargs)
        leaves, tree = tree_flatten((tuple(dyn), {}))
        _check_grad_inputs(api, leaves, tree, holomorphic, allow_int, fun, nums)
        flat = (FlatFunAux if has_aux else FlatFun)(partial, tree)
        info = debug_info(fun, tree, "grad")
        outs, lin = linearize_flat(flat, leaves, info, [differentiable(x) for x in leaves])
        _check_grad_output(api, outs, flat.out_tree, holomorphic, fun)
        seed = scalar(1, typeof(outs[0]).dtype)
        gradients = pull_back(lin, [seed, *(Zero(a) for a in lin.out_avals[1:])], leaves)
        result = tree_unflatten(tree, gradients)[0]
        if isinstance(argnums, int):
            result = result[0]
        value = tree_unflatten(flat.out_tree, outs[:1])
        if has_aux:
            value = (value, tree_unflatten(flat.aux_tree, outs[1:]))  # type: ignore[attr-defined]
        return value, result
    return value_and_grad_fun


def _check_grad_inputs(api: str, leaves: Sequence[Any], tree: Any, holomorphic: bool, allow_int: bool, fun: Any,
                       nums: Sequence[int]) -> None:
    for i, (x, aval) in enumerate(zip(leaves, check_leaf_types(leaves, tree, "argument ", api), strict=True)):
        dtype = aval.dtype
        if is_ref_type(aval):
            raise TypeError(f"{api} cannot differentiate with respect to a reference ({aval.str_short()}): its gradient has "
                            "to be accumulated in a reference too. Use jax.vjp and bind one with "
                            "f_vjp.with_refs(grad_ref), or leave the reference out of argnums: it is read as a constant.")
        if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(f"{api} with holomorphic=True needs complex arguments, got {aval.str_short()}; convert "
                            "them with .astype(complex), or leave holomorphic out")
        if dtypes.issubdtype(dtype, np.floating):
            continue
        if dtypes.issubdtype(dtype, np.complexfloating):
            if not holomorphic:
                # Allowed: the result is the gradient in JAX's convention for real-valued functions of complex inputs.
                continue
        elif not allow_int:
            raise TypeError(f"{api} needs floating-point (or complex) arguments, got {aval.str_short()}"
                            f"{_value_hint(x)} for {_argument_name(fun, nums, tree, i)}. Pass 1.0 instead "
                            "of 1, convert with .astype(float), choose other argnums, or pass allow_int=True for zero "
                            "gradients of dtype float0.")


def _argument_name(fun: Any, nums: Sequence[int], tree: Any, i: int) -> str:
    """What ``fun`` calls leaf ``i`` of the arguments at ``nums``, like ``params['w']``."""
    path = tree_flatten_with_path(tree_unflatten(tree, list(range(tree.num_leaves))))[0][i][0]
    names = Described(fun).parameters()
    position = nums[path[1].idx]
    return (names[position] if position < len(names) else f"args[{position}]") + keystr(path[2:])


def _value_hint(x: Any) -> str:
    return f" ({x!r})" if isinstance(x, (int, bool)) else ""


def _check_grad_output(api: str, outs: Sequence[Any], out_tree: Any, holomorphic: bool, fun: Any) -> None:
    name = getattr(fun, "__name__", "the function")
    if out_tree != tree_structure(0):
        raise TypeError(f"{api} needs a function that returns one scalar, but {name} returned a tree: {out_tree}. "
                        "Return the value to differentiate, or (value, aux) with has_aux=True.")
    try:
        aval = typeof(outs[0])
    except TypeError as err:
        raise TypeError(f"{api}: the output of {name} is not an array: {err}") from None
    if aval.shape != ():
        raise TypeError(f"{api} is defined for scalar outputs only, but {name} returned an array of shape {aval.shape}. "
                        "Reduce it (jnp.sum, jnp.mean), or use jax.jacrev / jax.vjp for vector outputs.")
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            raise TypeError(f"{api} with holomorphic=True needs a complex output, but {name} returned {aval.dtype}")
    elif dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"{api} needs a real output, but {name} returned {aval.dtype}. For complex-differentiable "
                        "functions pass holomorphic=True; otherwise return a real value such as jnp.abs or .real.")
    elif not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"{api} needs a floating-point output, but {name} returned {aval.dtype}")
