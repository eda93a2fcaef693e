"""``vmap`` where types have been registered that say themselves how they are mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._api.common import flatten_axes
from jax._language.avals import typeof
from jax._language.axes import extend_axis_env
from jax._language.trace import current_trace, run_in
from jax._transforms.batch import AxisData, BatchTrace, from_elt, to_elt, vmappables
from jax.tree_util import tree_flatten, tree_unflatten


def is_vmappable(x: Any) -> bool:
    """Whether ``x`` is of a registered type."""
    return type(x) in vmappables


def is_spec(x: Any) -> bool:
    """Whether ``x`` says along what to map a value of a registered type."""
    return any(isinstance(x, kind.spec_type) for kind in vmappables.values() if kind.spec_type not in (None, int))


def vmap_of_types(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, out_axes: Any,
                  axis: AxisData, mapped_size: Callable[..., Any]) -> Any:
    """``vmap`` of one call: values of registered types are leaves, and their axes may be specs of those types."""
    leaves, in_tree = tree_flatten((args, kwargs), is_leaf=is_vmappable)
    spread = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    dims = flatten_axes("vmap: in_axes", in_tree, (spread, dict.fromkeys(kwargs, 0)), tupled_args=True)
    if axis.size is None:
        plain = [d if isinstance(d, int) else None for d in dims]
        axis = AxisData(axis.name, mapped_size(leaves, plain, None, fun, in_tree), axis.spmd_name)
    trace = BatchTrace(current_trace.get(), axis)
    try:
        ins = [to_elt(trace, lambda: _indices(trace, axis.size), x, d) for x, d in zip(leaves, dims, strict=True)]
        one_args, one_kwargs = tree_unflatten(in_tree, ins)
        with extend_axis_env(axis.name, axis.size):
            out = run_in(trace, fun, *one_args, **one_kwargs)
    finally:
        trace.finished = True
    outs, out_tree = tree_flatten(out, is_leaf=is_vmappable)
    wanted = flatten_axes("vmap: out_axes", out_tree, out_axes)
    return tree_unflatten(out_tree, [from_elt(trace, axis.size, x, d) for x, d in zip(outs, wanted, strict=True)])


def _indices(trace: BatchTrace, size: Any) -> Any:
    """The number of the example at hand."""
    for kind in vmappables.values():
        if kind.make_iota is not None and (kind.axis_size_type is None or isinstance(size, kind.axis_size_type)):
            numbers = kind.make_iota(size)
            break
    else:
        raise TypeError(f"no registered type makes indices for axes of size {size!r}")
    return trace.wrap(numbers, 0 if typeof(numbers).ndim else None)
