"""Helpers of the transformations that libraries import from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import debug_info as _debug_info
from jax._api.common import flatten_axes as _flatten_axes
from jax._language.avals import typeof as shaped_abstractify
from jax._language.jaxpr import DebugInfo
from jax.extend.linear_util import WrappedFun, transformation_with_aux
from jax.tree_util import tree_flatten, tree_structure, tree_unflatten
from jax.util import safe_map as safe_map


def debug_info(traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *,
               static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
               result_paths_thunk: Any = None, sourceinfo: str | None = None, signature: Any = None) -> DebugInfo:
    """What messages say about a traced function and its arguments."""
    dyn = tuple(a for i, a in enumerate(args) if i not in set(static_argnums))
    dyn_kwargs = {k: v for k, v in kwargs.items() if k not in set(static_argnames)}
    info = _debug_info(fun, tree_structure((dyn, dyn_kwargs)), traced_for)
    return info if sourceinfo is None else info._replace(func_src_info=sourceinfo)


@transformation_with_aux
def flatten_fun(in_tree: Any, *args_flat: Any) -> Any:
    """A function of ``(args, kwargs)`` as one of leaves; the second result is its output's tree, once known."""
    args, kwargs = tree_unflatten(in_tree, args_flat)
    out = yield tuple(args), kwargs
    yield tree_flatten(out)


@transformation_with_aux
def flatten_fun_nokwargs(in_tree: Any, *args_flat: Any) -> Any:
    """:func:`flatten_fun` for functions without keyword arguments."""
    out = yield tuple(tree_unflatten(in_tree, args_flat)), {}
    yield tree_flatten(out)


def flatten_axes(name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False) -> list[Any]:
    """A prefix tree of axes spread over the leaves of ``treedef``."""
    return _flatten_axes(name, treedef, axis_tree, tupled_args=tupled_args)


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A function of the arguments at ``dyn_argnums`` alone, and these arguments."""
    nums = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    nums = tuple(n % len(args) for n in nums)
    fixed = list(args)
    if require_static_args_hashable:
        for i, x in enumerate(fixed):
            if i not in nums:
                hash(x)

    def partial(*dyn: Any, **kwargs: Any) -> Any:
        full = list(fixed)
        for i, x in zip(nums, dyn, strict=True):
            full[i] = x
        return f.call_wrapped(*full, **kwargs)
    return WrappedFun(partial, f.params, f.debug_info), tuple(args[i] for i in nums)


def donation_vector(donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: Any,
                    kws: bool = True) -> tuple[bool, ...]:
    """For each leaf of the arguments whether it is donated."""
    if kws:
        args_tree, kwargs_tree = in_tree.children()
        named = zip(kwargs_tree.node_data()[1] or (), kwargs_tree.children(), strict=True)
    else:
        args_tree, named = in_tree, iter(())
    out: list[bool] = []
    for i, child in enumerate(args_tree.children()):
        out.extend([i in donate_argnums] * child.num_leaves)
    for name, child in named:
        out.extend([name in donate_argnames] * child.num_leaves)
    return tuple(out)


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """Positions of donated arguments after the static ones are taken out.

    Raises:
      ValueError: an argument is both.
    """
    if set(donate_argnums) & set(static_argnums):
        raise ValueError(f"arguments cannot be both donated and static: {sorted(set(donate_argnums) & set(static_argnums))}")
    return tuple(d - sum(s < d for s in set(static_argnums)) for d in sorted(donate_argnums))


__all__ = ["argnums_partial", "debug_info", "donation_vector", "flatten_axes", "flatten_fun", "flatten_fun_nokwargs",
           "rebase_donate_argnums", "safe_map", "shaped_abstractify"]
