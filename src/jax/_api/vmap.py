"""``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from jax._api.common import FlatFun, arg_names, check_callable, flatten_args, flatten_axes
from jax._api.vmappable import is_spec, vmap_of_types
from jax._base._jaxlib import Array
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax._transforms.batch import AxisData, batch_flat, match_axis, vmappables
from jax.tree_util import keystr, tree_flatten_with_path, tree_unflatten


def vmap(fun: Callable[..., Any], in_axes: int | None | Sequence[Any] = 0, out_axes: Any = 0,
         axis_name: Hashable | None = None, axis_size: int | None = None,
         spmd_axis_name: Hashable | tuple[Hashable, ...] | None = None, sum_match: bool = False,
         ) -> Callable[..., Any]:
    """Maps ``fun`` over an axis of its arguments, computing all examples at once.

    Args:
      fun: the function for one example.
      in_axes: which axis of each positional argument is mapped: an integer for all of them, or a tuple with one entry
        per argument, each an integer, ``None`` (the argument is the same for every example) or a tree of them that
        matches the start of the argument's tree. Keyword arguments are mapped over their axis 0.
      out_axes: where the mapped axis goes in each output; ``None`` for outputs that are the same for every example.
      axis_name: a name by which collectives in ``fun`` (``jax.lax.psum`` ...) refer to the axis.
      axis_size: the size of the axis; needed only if no argument is mapped.
      spmd_axis_name: mesh axes along which the mapped axis is sharded.
      sum_match: sum over the axis where ``out_axes`` is ``None`` but the output is mapped.

    Returns:
      The mapped function.

    Raises:
      ValueError: mapped axes of different sizes, an axis out of range, trees that do not match.

    >>> import jax, jax.numpy as jnp
    >>> jax.vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple)) or is_spec(in_axes)):
        raise TypeError(f"vmap: in_axes must be an int, None, or a tuple with one entry per positional argument, "
                        f"got {in_axes!r} of type {type(in_axes).__name__}")
    _check_axes_types(in_axes, "in_axes")
    _check_axes_types(out_axes, "out_axes")
    if not isinstance(axis_name, Hashable):
        raise TypeError(f"vmap: axis_name must be hashable, such as a string; got {axis_name!r} of type "
                        f"{type(axis_name).__name__}")

    @functools.wraps(fun)
    @api_boundary
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        return _vmap_call(fun, args, kwargs, in_axes, out_axes, axis_name, axis_size, spmd_axis_name, sum_match)
    return vmapped


def _check_axes_types(axes: Any, name: str) -> None:
    leaves = [a for _, a in tree_flatten_with_path(axes)[0]]
    for a in leaves:
        if (not isinstance(a, int) or isinstance(a, bool)) and not is_spec(a):
            raise TypeError(f"vmap: {name} must be made of ints and None, got {a!r} of type {type(a).__name__}")


def _vmap_call(fun: Any, args: Any, kwargs: Any, in_axes: Any, out_axes: Any, axis_name: Any, axis_size: Any,
               spmd_axis_name: Any, sum_match: bool) -> Any:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(f"vmap: in_axes has {len(in_axes)} entries for {len(args)} positional arguments; it must be "
                         "an int, None, or a tuple with one entry per positional argument")
    if vmappables:
        axis = AxisData(axis_name, axis_size, spmd_axis_name)
        return vmap_of_types(fun, args, kwargs, in_axes, out_axes, axis, _mapped_size)
    leaves, in_tree = flatten_args(args, kwargs)
    if type(in_axes) is int:
        dims = [in_axes] * len(leaves)
    else:
        spread = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        dims = flatten_axes("vmap: in_axes", in_tree, (spread, dict.fromkeys(kwargs, 0)), tupled_args=True)
    # What is not mapped may be anything: a function, a string.
    dims = [None if d is None else _normalize(d, typeof(x), i, fun, in_tree)
            for i, (d, x) in enumerate(zip(dims, leaves, strict=True))]
    size = _mapped_size(leaves, dims, axis_size, fun, in_tree)
    flat = FlatFun(fun, in_tree)
    axis = AxisData(axis_name, size, spmd_axis_name)
    outs, out_dims = batch_flat(flat, axis, leaves, dims)
    if flat.last_out is not None:
        _check_outputs(fun, flat)
    if type(out_axes) is int:
        dst = [out_axes] * len(outs)
    else:
        dst = flatten_axes("vmap: out_axes", flat.out_tree, out_axes)
    outs = [_place(x, d, t, size, flat.out_tree, i, sum_match) for i, (x, d, t) in
            enumerate(zip(outs, out_dims, dst, strict=True))]
    return tree_unflatten(flat.out_tree, outs)


def _check_outputs(fun: Any, flat: FlatFun) -> None:
    """Raises for an output that is no array or scalar."""
    for i, x in enumerate(flat.last_out or ()):
        if not isinstance(x, Array):
            try:
                typeof(x)
            except TypeError as error:
                raise TypeError(f"vmap of {getattr(fun, '__name__', repr(fun))}: the output {_path(flat.out_tree, i)} "
                                f"has no examples to stack: {error}") from None


def _place(x: Any, d: Any, dst: Any, size: Any, out_tree: Any, i: int, sum_match: bool) -> Any:
    if dst is None:
        if d is None:
            return x
        if sum_match:
            from jax._ground.structural import sum_axes  # only this option sums
            return sum_axes(x, (d,))
        raise ValueError(f"vmap: out_axes is None for the output {_path(out_tree, i)}, but that output differs from "
                         "example to example; give it an axis")
    ndim = typeof(x).ndim + (d is None)
    if not -ndim <= dst < ndim:
        raise ValueError(f"vmap: out_axes is {dst} for the output {_path(out_tree, i)}, which has {ndim} axes with "
                         "the mapped one")
    return match_axis(size, d, dst % ndim, x)


def _path(tree: Any, i: int) -> str:
    return keystr(_key_path(tree, i)) or "(the only one)"


def _key_path(tree: Any, i: int) -> Any:
    return tree_flatten_with_path(tree_unflatten(tree, list(range(tree.num_leaves))))[0][i][0]


def _normalize(d: int, aval: Any, i: int, fun: Any, in_tree: Any) -> int:
    ndim = len(aval.shape)
    if not -ndim <= d < ndim:
        what = arg_names(fun, in_tree)[i]
        raise ValueError(f"vmap: axis {d} was to be mapped over {what}, which has shape {aval.shape}: it has "
                         f"{'no axes' if ndim == 0 else f'only {ndim} axes'}. Use None in in_axes for an argument "
                         "that is the same for all examples.")
    return d % ndim


def _mapped_size(leaves: Any, dims: Any, axis_size: Any, fun: Any, in_tree: Any) -> Any:
    sizes: dict[Any, list[int]] = {}
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is not None:
            sizes.setdefault(typeof(x).shape[d], []).append(i)
    if axis_size is not None:
        sizes.setdefault(axis_size, [])
    if len(sizes) == 1:
        return next(iter(sizes))
    name = getattr(fun, "__name__", repr(fun))
    if not sizes:
        raise ValueError(f"vmap of {name}: no argument has a mapped axis, so the size of the axis is unknown; map at "
                         "least one argument or pass axis_size")
    names = arg_names(fun, in_tree)
    listed = "\n".join(
        f"  size {n}: " + (", ".join(f"axis {dims[i]} of {names[i]} with shape {typeof(leaves[i]).shape}"
                                     for i in where) or "the axis_size argument")
        for n, where in sizes.items())
    raise ValueError(f"vmap of {name}: the mapped axes of the arguments must have one size, got "
                     f"sizes {', '.join(map(str, sizes))}:\n{listed}")
