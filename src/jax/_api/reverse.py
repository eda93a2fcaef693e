"""``vjp`` and the split of a function in a forward and a backward one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax import ad, dtypes
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
from jax._ground.references import addupdate_p, get_p, swap_p
from jax._ground.structural import convert, instantiate_zeros
from jax._language.avals import host_constant, typeof
from jax._language.refs import Ref, is_ref_type
from jax._language.staging import leaf_paths
from jax._language.zeros import Zero
from jax._transforms.linearize import Linearized, linearize_flat
from jax.tree_util import Partial, keystr, register_pytree_node, tree_flatten, tree_unflatten


class VJP:
    """The pullback that :func:`vjp` returns: a tree whose leaves are the residuals, so it may cross ``jit``."""

    __slots__ = ("lin", "primals_in", "in_tree", "out_tree", "__weakref__")

    def __init__(self, lin: Linearized, in_tree: Any, out_tree: Any) -> None:
        self.lin = lin
        self.in_tree = in_tree
        self.out_tree = out_tree

    @api_boundary
    def __call__(self, *cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise TypeError(f"vjp: the pullback takes one cotangent, of the structure of the function's output, "
                            f"{self.out_tree}; got {len(cotangents)} arguments. For an output that is a tuple pass a tuple.")
        cotangent, = cotangents
        leaves, tree = tree_flatten(cotangent)
        if tree != self.out_tree:
            raise ValueError(f"vjp: the cotangent must have the structure of the function's output, {self.out_tree}, "
                             f"got {tree}")
        leaves = [_check_cotangent(c, a) for c, a in zip(leaves, self.lin.out_avals, strict=True)]
        if self.lin.refs:
            raise ValueError(
                "vjp: an argument of the differentiated function is a reference, and its gradient has to be accumulated "
                "in one. Bind it before: f_vjp.with_refs(grad_ref, ...)(cotangent), with one entry per argument; "
                "jax.ad.DontWant() stands for a gradient that is not wanted.")
        args, _ = tree_unflatten(self.in_tree, pull_back(self.lin, leaves, ()))
        return args

    @api_boundary
    def with_refs(self, *entries: Any) -> Any:
        """The pullback with gradients added to references.

        Args:
          *entries: one per argument of the differentiated function, trees of its structure. A :class:`jax.Ref` has the
            gradient of this argument added to it; ``jax.ad.GradValue()`` has it returned, as without ``with_refs``;
            ``jax.ad.DontWant()`` leaves it out. The reference for an argument that is a reference itself holds the
            cotangent of its last value before, and that of its first value after the call.

        Returns:
          A function of the cotangent, which returns ``jax.ad.GradRef()`` and ``jax.ad.DidntWant()`` in place of gradients
          that it does not return.

        Raises:
          ValueError: entries of another structure, references of other types than the gradients.
        """
        leaves, tree = tree_flatten((entries, {}))
        if tree != self.in_tree:
            raise ValueError(f"with_refs takes one entry per array argument, in the structure of the arguments, "
                             f"{self.in_tree}; got {tree}. Entries are references, jax.ad.GradValue() or jax.ad.DontWant().")
        kinds = []
        for i, (x, aval, active) in enumerate(zip(leaves, self.lin.in_avals, self.lin.in_nonzero, strict=True)):
            kinds.append(_entry_kind(x, aval, active, keystr(leaf_paths(self.in_tree)[i])))
        refs = [x for x, kind in zip(leaves, kinds, strict=True) if kind == "ref"]
        return Partial(functools.partial(_pull_into, tuple(kinds)), self, refs)

    @property
    def args_res(self) -> Any:
        return self.lin.consts


def _entry_kind(x: Any, aval: Any, active: bool, where: str) -> str:
    if isinstance(x, Ref):
        want = aval.inner_aval if is_ref_type(aval) else aval
        if not active:
            raise ValueError(f"with_refs: the argument at {where} is not differentiated, so that there is no gradient to "
                             "accumulate; give jax.ad.DontWant() for it")
        if x.aval.shape != want.shape or x.aval.dtype != want.dtype:
            raise ValueError(f"with_refs: the gradient of the argument at {where} is of type {want.str_short()}, and cannot "
                             f"be accumulated in a reference of type {x.aval.str_short()}")
        return "ref"
    if isinstance(x, ad.DontWant):
        return "none"
    if is_ref_type(aval):
        raise ValueError(f"with_refs: the argument at {where} is a reference, whose gradient is accumulated in a reference "
                         f"or not wanted (jax.ad.DontWant()); got {x!r}")
    return "value"


def _pull_into(kinds: tuple[str, ...], pullback: VJP, refs: Sequence[Any], cotangent: Any) -> Any:
    lin = pullback.lin
    leaves, tree = tree_flatten(cotangent)
    if tree != pullback.out_tree:
        raise ValueError(f"vjp: the cotangent must have the structure of the function's output, {pullback.out_tree}, got "
                         f"{tree}")
    leaves = [_check_cotangent(c, a) for c, a in zip(leaves, lin.out_avals, strict=True)]
    given = iter(refs)
    into = [next(given) if kind == "ref" else None for kind in kinds]
    last = [Zero(a.inner_aval) if ref is None else get_p.bind(ref, views=())
            for ref, a in zip(into, lin.in_avals, strict=True) if is_ref_type(a)]
    found = pull_back(lin, leaves, (), last)
    out: list[Any] = []
    for ref, kind, ct, aval in zip(into, kinds, found, lin.in_avals, strict=True):
        if kind != "ref":
            out.append(ct if kind == "value" else ad.DidntWant())
            continue
        if is_ref_type(aval):
            swap_p.bind(ref, instantiate_zeros(Zero(aval.inner_aval) if type(ct) is Zero else ct), views=())
        else:
            addupdate_p.bind(ref, ct, views=())
        out.append(ad.GradRef())
    return tree_unflatten(pullback.in_tree, out)[0]


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
            raise ValueError(f"vjp: an output of dtype {want.dtype} was given a cotangent of dtype {got.dtype}; convert "
                             f"it with .astype({want.dtype})")
        return host_constant(ct, want.dtype) if isinstance(ct, (int, float, complex)) else convert(ct, want.dtype)
    return ct


def _vjp_flatten(f: VJP) -> tuple[Any, Any]:
    lin = f.lin
    return tuple(lin.consts), LinStatic(lin.with_consts([]), f.in_tree, f.out_tree)


def _vjp_unflatten(static: LinStatic, consts: Any) -> VJP:
    return VJP(static.lin.with_consts(list(consts)), static.in_tree, static.out_tree)


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
