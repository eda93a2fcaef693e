"""``grad``, ``vjp``, ``jvp``, ``linearize``, ``linear_transpose``."""

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
    fix_arguments,
    normalize_argnums,
)
from jax._base import source as source_info
from jax._base.source import api_boundary
from jax._ground.structural import instantiate_zeros, scalar
from jax._language.avals import ShapedArray, typeof
from jax._language.jaxpr import ClosedJaxpr, eval_jaxpr
from jax._language.staging import trace_to_jaxpr
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms.jvp import jvp_flat
from jax._transforms.linearize import Linearized, linearize_flat
from jax._transforms.transpose import backward_pass
from jax.tree_util import (
    Partial,
    register_pytree_node,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
)


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
    value_and_grad_fun = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

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
    check_callable(fun, "grad")
    if reduce_axes:
        raise NotImplementedError("grad: reduce_axes is no longer supported; use jax.lax.psum in the function instead")
    if not isinstance(argnums, int):
        argnums = tuple(argnums)

    @functools.wraps(fun)
    @api_boundary
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums(argnums, len(args), f"grad of {getattr(fun, '__name__', 'function')}")
        partial, dyn = fix_arguments(fun, nums, args, kwargs)
        target = dyn[0] if isinstance(argnums, int) else tuple(dyn)
        wrapped = partial if not isinstance(argnums, int) else partial
        leaves, tree = tree_flatten((tuple(dyn), {}))
        _check_grad_inputs(leaves, tree, holomorphic, allow_int)
        flat = (FlatFunAux if has_aux else FlatFun)(wrapped, tree)
        info = debug_info(fun, tree, "grad")
        outs, lin = linearize_flat(flat, leaves, info, [_differentiable(x) for x in leaves])
        _check_grad_output(outs, flat.out_tree, holomorphic, fun)
        seed = scalar(1, typeof(outs[0]).dtype)
        gradients = _pull_back(lin, [seed, *(Zero(a) for a in lin.out_avals[1:])], leaves)
        del target
        result = tree_unflatten(tree, gradients)[0]
        if isinstance(argnums, int):
            result = result[0]
        value = tree_unflatten(flat.out_tree, outs[:1])
        if has_aux:
            value = (value, tree_unflatten(flat.aux_tree, outs[1:]))  # type: ignore[attr-defined]
        return value, result
    return value_and_grad_fun


def _differentiable(x: Any) -> bool:
    return typeof(x).to_tangent_aval().dtype != dtypes.float0


def _pull_back(lin: Linearized, cotangents: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    """Cotangents of all inputs; those that nothing reaches are zeros."""
    jaxpr = lin.jaxpr
    args = [UndefinedPrimal(v.aval) for v in jaxpr.invars]
    live = [c for c, nz in zip(cotangents, lin.out_nonzero, strict=True) if nz]
    found = iter(backward_pass(jaxpr, lin.consts, args, live) if jaxpr.invars else ())
    out = []
    for aval, active in zip(lin.in_avals, lin.in_nonzero, strict=True):
        ct = next(found) if active else Zero(aval)
        out.append(instantiate_zeros(ct))
    return out


def _check_grad_inputs(leaves: Sequence[Any], tree: Any, holomorphic: bool, allow_int: bool) -> None:
    for x, aval in zip(leaves, check_leaf_types(leaves, tree, "argument ", "grad"), strict=True):
        dtype = aval.dtype
        if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(f"grad with holomorphic=True needs complex arguments, got {aval.str_short()}; convert "
                            "them with .astype(complex), or leave holomorphic out")
        if dtypes.issubdtype(dtype, np.floating):
            continue
        if dtypes.issubdtype(dtype, np.complexfloating):
            if not holomorphic:
                # Allowed: the result is the gradient in JAX's convention for real-valued functions of complex inputs.
                continue
        elif not allow_int:
            raise TypeError(f"grad needs floating-point (or complex) arguments, got {aval.str_short()}"
                            f"{_value_hint(x)}. Pass 1.0 instead of 1, convert with .astype(float), choose other "
                            "argnums, or pass allow_int=True for zero gradients of dtype float0.")


def _value_hint(x: Any) -> str:
    return f" ({x!r})" if isinstance(x, (int, bool)) else ""


def _check_grad_output(outs: Sequence[Any], out_tree: Any, holomorphic: bool, fun: Any) -> None:
    name = getattr(fun, "__name__", "the function")
    if out_tree != tree_structure(0):
        raise TypeError(f"grad needs a function that returns one scalar, but {name} returned a tree: {out_tree}. "
                        "Return the value to differentiate, or (value, aux) with has_aux=True.")
    try:
        aval = typeof(outs[0])
    except TypeError as err:
        raise TypeError(f"grad: the output of {name} is not an array: {err}") from None
    if aval.shape != ():
        raise TypeError(f"grad is defined for scalar outputs only, but {name} returned an array of shape {aval.shape}. "
                        "Reduce it (jnp.sum, jnp.mean), or use jax.jacrev / jax.vjp for vector outputs.")
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            raise TypeError(f"grad with holomorphic=True needs a complex output, but {name} returned {aval.dtype}")
    elif dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"grad needs a real output, but {name} returned {aval.dtype}. For complex-differentiable "
                        "functions pass holomorphic=True; otherwise return a real value such as jnp.abs or .real.")
    elif not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"grad needs a floating-point output, but {name} returned {aval.dtype}")


# --- jvp ------------------------------------------------------------------------------------------------------------

@api_boundary
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of ``fun`` at ``primals`` and its directional derivative along ``tangents``.

    Args:
      fun: a function of trees of arrays.
      primals: a tuple (or list) of arguments.
      tangents: a tuple of the same structure, with equal shapes and the tangent dtypes of the primals (``float0`` for
        integers).
      has_aux: whether ``fun`` returns ``(output, aux)``.

    Returns:
      ``(output, output_tangent)``, with ``aux`` as a third element if ``has_aux``.

    Raises:
      TypeError: structures, shapes or dtypes of primals and tangents do not match.
    """
    check_callable(fun, "jvp")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"jvp takes primals and tangents as tuples or lists, one entry per argument of the function; "
                        f"got {type(primals).__name__} and {type(tangents).__name__}")
    leaves, tree = tree_flatten((tuple(primals), {}))
    t_leaves, t_tree = tree_flatten((tuple(tangents), {}))
    if tree != t_tree:
        raise TypeError(f"jvp: primals and tangents must have the same tree structure, got {tree} and {t_tree}")
    check_leaf_types(leaves, tree, "primal ", "jvp")
    t_leaves = [_check_tangent(p, t) for p, t in zip(leaves, t_leaves, strict=True)]
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, out_tangents = jvp_flat(flat, leaves, t_leaves)
    n = flat.out_tree.num_leaves
    check_leaf_types(outs[:n], flat.out_tree, "output ", "jvp")
    out_tangents = [instantiate_zeros(t) for t in out_tangents[:n]]
    result = tree_unflatten(flat.out_tree, outs[:n]), tree_unflatten(flat.out_tree, out_tangents)
    if has_aux:
        return (*result, tree_unflatten(flat.aux_tree, outs[n:]))  # type: ignore[attr-defined]
    return result


def _check_tangent(p: Any, t: Any) -> Any:
    want = typeof(p).to_tangent_aval()
    if type(t) is Zero:
        return t
    got = typeof(t)
    if want.dtype == dtypes.float0 or got.dtype == dtypes.float0:
        if want.dtype != got.dtype:
            raise TypeError(f"jvp: the tangent of a primal of type {typeof(p).str_short()} must have dtype "
                            f"{want.dtype}, got {got.str_short()}. Tangents of integers are "
                            "numpy.zeros(shape, jax.dtypes.float0).")
        return Zero(want)
    if got.shape != want.shape:
        raise TypeError(f"jvp: a primal of shape {want.shape} was given a tangent of shape {got.shape}; they must be "
                        "equal")
    if got.dtype != want.dtype:
        if not got.weak_type and dtypes.canonicalize_dtype(got.dtype) != want.dtype:
            raise TypeError(f"jvp: a primal of dtype {typeof(p).dtype} needs a tangent of dtype {want.dtype}, got "
                            f"{got.dtype}")
        return np.asarray(t, want.dtype) if isinstance(t, (int, float, complex)) else _convert(t, want.dtype)
    return t


def _convert(x: Any, dtype: Any) -> Any:
    from jax._ground.structural import convert  # a rare path
    return convert(x, dtype)


# --- vjp ------------------------------------------------------------------------------------------------------------

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
        args, _ = tree_unflatten(self.in_tree, _pull_back(self.lin, leaves, ()))
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
        return np.asarray(ct, want.dtype) if isinstance(ct, (int, float, complex)) else _convert(ct, want.dtype)
    return ct


class _LinStatic:
    """The part of a :class:`Linearized` that is not data; compared by identity of its jaxpr."""

    __slots__ = ("lin", "in_tree", "out_tree")

    def __init__(self, lin: Linearized, in_tree: Any, out_tree: Any) -> None:
        self.lin = lin
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LinStatic) and self.lin.jaxpr is other.lin.jaxpr and self.in_tree == other.in_tree

    def __hash__(self) -> int:
        return hash((id(self.lin.jaxpr), self.in_tree))


def _vjp_flatten(f: VJP) -> tuple[Any, Any]:
    lin = f.lin
    bare = Linearized(lin.jaxpr, [], lin.in_avals, lin.in_nonzero, lin.out_avals, lin.out_nonzero)
    return tuple(lin.consts), _LinStatic(bare, f.in_tree, f.out_tree)


def _vjp_unflatten(static: _LinStatic, consts: Any) -> VJP:
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
    active = _active_leaves(primals, leaves, in_nzs)
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, lin = linearize_flat(flat, leaves, debug_info(fun, tree, "vjp"), active)
    n = flat.out_tree.num_leaves
    check_leaf_types(outs[:n], flat.out_tree, "output ", "vjp")
    result = tree_unflatten(flat.out_tree, outs[:n])
    pullback = VJP(_first_outputs(lin, n), tree, flat.out_tree)
    if has_aux:
        return result, pullback, tree_unflatten(flat.aux_tree, outs[n:])  # type: ignore[attr-defined]
    return result, pullback


def _active_leaves(primals: Any, leaves: Any, in_nzs: Any) -> list[bool]:
    active = [_differentiable(x) for x in leaves]
    if in_nzs is None:
        return active
    asked = []
    for p, nz in zip(primals, in_nzs, strict=True):
        asked.extend([bool(nz)] * len(tree_flatten(p)[0]))
    return [a and b for a, b in zip(active, asked, strict=True)]


def _first_outputs(lin: Linearized, n: int) -> Linearized:
    """``lin`` without the tangents of auxiliary outputs."""
    if len(lin.out_avals) == n:
        return lin
    keep = sum(lin.out_nonzero[:n])
    jaxpr = lin.jaxpr.replace(outvars=lin.jaxpr.outvars[:keep], effects=lin.jaxpr.effects)
    return Linearized(jaxpr, lin.consts, lin.in_avals, lin.in_nonzero, lin.out_avals[:n], lin.out_nonzero[:n])


# --- linearize and linear_transpose ---------------------------------------------------------------------------------

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
    active = _active_leaves(primals, leaves, in_nzs)
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, lin = linearize_flat(flat, leaves, debug_info(fun, tree, "linearize"), active)
    n = flat.out_tree.num_leaves
    lin = _first_outputs(lin, n)
    static = _LinStatic(Linearized(lin.jaxpr, [], lin.in_avals, lin.in_nonzero, lin.out_avals, lin.out_nonzero), tree,
                        flat.out_tree)
    f_jvp = Partial(functools.partial(_apply_linear, static), lin.consts)
    result = tree_unflatten(flat.out_tree, outs[:n])
    if has_aux:
        return result, f_jvp, tree_unflatten(flat.aux_tree, outs[n:])  # type: ignore[attr-defined]
    return result, f_jvp


def _apply_linear(static: _LinStatic, consts: Any, *tangents: Any) -> Any:
    lin = static.lin
    leaves, tree = tree_flatten((tangents, {}))
    if tree != static.in_tree:
        raise TypeError(f"linearize: the tangents must have the structure of the primals, {static.in_tree}, got {tree}")
    for t, a in zip(leaves, lin.in_avals, strict=True):
        got = typeof(t)
        if got.shape != a.shape or (got.dtype != a.dtype and not got.weak_type):
            raise TypeError(f"linearize: a tangent of type {got.str_short()} was given where the primal's type asks for "
                            f"{a.str_short()}")
    leaves = [t if typeof(t).dtype == a.dtype else _convert(t, a.dtype)
              for t, a in zip(leaves, lin.in_avals, strict=True)]
    full = Linearized(lin.jaxpr, consts, lin.in_avals, lin.in_nonzero, lin.out_avals, lin.out_nonzero)
    return tree_unflatten(static.out_tree, [instantiate_zeros(t) for t in full.apply(*leaves)])


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


__all__ = ["ClosedJaxpr", "VJP", "eval_jaxpr", "fwd_and_bwd", "grad", "jvp", "linear_transpose", "linearize",
           "source_info", "tree_map", "value_and_grad", "vjp"]
