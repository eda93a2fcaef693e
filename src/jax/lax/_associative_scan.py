"""``associative_scan``: prefix combinations in logarithmic depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.jit_primitive import bind_jit, call_params
from jax._base import config
from jax._base.caching import cache
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax._language.staging import StagingTrace
from jax._language.trace import current_trace
from jax.lax._chunked_scan import chunked_scan
from jax.lax._control_common import as_array, check_callable, describe, leaf_path, operands, same_type, stage
from jax.lax._join import concatenate, stack
from jax.lax._shape import reshape, rev
from jax.lax._slice import slice_in_dim
from jax.tree_util import tree_flatten, tree_unflatten, treedef_tuple

Leaves = list[Any]


@api_boundary
def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Combines all prefixes of ``elems`` along an axis with an associative function.

    Element ``i`` of the result is ``fn(... fn(fn(e[0], e[1]), e[2]) ..., e[i])``, grouped so that the depth is
    logarithmic and ``fn`` is applied to about ``2 n`` elements (Blelloch, Prefix sums and their applications, 1990). On
    CPUs, arrays of some thousand elements that one operation combines are grouped in chunks of 256, which follow one
    another; floats round otherwise then (``jax_cpu_group_pieces`` switches it off).

    Args:
      fn: ``(a, b) -> c`` on trees like ``elems``, applied to many elements at once: along ``axis`` its arguments and
        its result have equal, arbitrary sizes. It must be associative; it need not be commutative.
      elems: a tree of arrays, their sizes along ``axis`` equal.
      reverse: combine suffixes instead, from the last element to the first.
      axis: which axis to run along.

    Returns:
      A tree of arrays like ``elems``.

    Raises:
      ValueError: sizes that differ, or an axis out of range.
      TypeError: ``fn`` returns another structure, shapes or dtypes than its arguments have.

    >>> import jax.numpy as jnp
    >>> from jax import lax
    >>> lax.associative_scan(jnp.add, jnp.arange(5)).tolist()
    [0, 1, 3, 6, 10]
    """
    check_callable("associative_scan", "fn", fn)
    leaves, tree = tree_flatten(elems)
    if not leaves:
        return elems
    leaves, avals = operands("associative_scan", "elems", tree, leaves)
    axis = _checked_axis(avals, tree, axis)
    adapt = _runner(bool(reverse), axis)
    if isinstance(current_trace.get(), StagingTrace) or config.disable_jit.value:
        leaves = [as_array(x, a) for x, a in zip(leaves, avals, strict=True)]
        return adapt(fn)(tree_unflatten(tree, leaves))
    # Outside of a staged program the many small operations run as one compiled call.
    staged = stage("associative_scan", fn, treedef_tuple((tree,)), avals, adapt)
    outs = bind_jit(*staged.consts, *leaves, **call_params(staged.jaxpr, "associative_scan", {"inline": True}))
    return tree_unflatten(tree, outs)


def _checked_axis(avals: Sequence[Any], tree: Any, axis: int) -> int:
    for i, a in enumerate(avals):
        if not -len(a.shape) <= axis < len(a.shape):
            raise ValueError(f"lax.associative_scan: axis {axis} is out of range for elems{leaf_path(tree, i)} of type "
                             f"{a.str_short()}")
    axes = {axis % len(a.shape) if axis < 0 else axis for a in avals}
    if len(axes) > 1:
        raise ValueError(f"lax.associative_scan: axis {axis} is not the same axis of all arrays, for their ranks "
                         f"differ: {', '.join(a.str_short() for a in avals)}. Count the axis from the front.")
    axis = axes.pop()
    if len({a.shape[axis] for a in avals}) > 1:
        listed = "\n".join(f"  elems{leaf_path(tree, i)}: {a.str_short()}" for i, a in enumerate(avals))
        raise ValueError(f"lax.associative_scan: sizes along axis {axis} must be equal, got\n{listed}")
    return axis


@cache
def _runner(reverse: bool, axis: int) -> Callable[..., Any]:
    """From a combining function to the one that scans; one object for each setting, as it is part of cache keys."""
    def adapt(fn: Callable[..., Any]) -> Callable[..., Any]:
        def run(elems: Any) -> Any:
            leaves, tree = tree_flatten(elems)

            def combine(a: Leaves, b: Leaves) -> Leaves:
                return _combined(fn, tree, a, b)

            if reverse:
                leaves = [rev(x, (axis,)) for x in leaves]
            found = chunked_scan(_scan, combine, leaves, axis)
            leaves = _scan(combine, leaves, axis) if found is None else found
            if reverse:
                leaves = [rev(x, (axis,)) for x in leaves]
            return tree_unflatten(tree, leaves)
        return run
    return adapt


def _combined(fn: Callable[..., Any], tree: Any, a: Leaves, b: Leaves) -> Leaves:
    out, out_tree = tree_flatten(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))
    if out_tree != tree:
        raise TypeError(f"lax.associative_scan: fn must return a tree like its arguments, {tree}, but {describe(fn)} "
                        f"returned {out_tree}")
    for i, (x, y) in enumerate(zip(a, out, strict=True)):
        want, got = typeof(x), typeof(y)
        if not same_type(want, got):
            raise TypeError(f"lax.associative_scan: fn must return arrays of the types of its arguments, but "
                            f"{describe(fn)} returned {got.str_short()} for elems{leaf_path(tree, i)}, of type "
                            f"{want.str_short()} here. It is applied to many elements at once, along the axis.")
    return out


def _scan(combine: Callable[[Leaves, Leaves], Leaves], elems: Leaves, axis: int) -> Leaves:
    """Pairs of neighbours are combined and scanned; that gives every second element, and one more step the others."""
    n = elems[0].shape[axis]
    if n < 2:
        return elems

    def part(x: Any, start: int, stop: int, step: int = 1) -> Any:
        return slice_in_dim(x, start, stop, step, axis)

    even = [part(x, 0, n - 1, 2) for x in elems]  # elements 0, 2, 4 ..., without the last one of an odd number
    after_odd = _scan(combine, combine(even, [part(x, 1, n, 2) for x in elems]), axis)  # results 1, 3, 5 ...
    m = n // 2
    if n % 2:
        after_even = combine(after_odd, [part(x, 2, n, 2) for x in elems])
        return [concatenate([part(x, 0, 1), _interleaved(a, b, axis)], axis)
                for x, a, b in zip(elems, after_odd, after_even, strict=True)]
    heads = [part(x, 0, 1) for x in even]
    if m > 1:
        rest = combine([part(x, 0, m - 1) for x in after_odd], [part(x, 1, m) for x in even])
        heads = [concatenate([h, r], axis) for h, r in zip(heads, rest, strict=True)]
    return [_interleaved(a, b, axis) for a, b in zip(heads, after_odd, strict=True)]


def _interleaved(x: Any, y: Any, axis: int) -> Any:
    """``x[0], y[0], x[1], y[1] ...`` along ``axis``."""
    shape = typeof(x).shape
    return reshape(stack([x, y], axis + 1), (*shape[:axis], 2 * shape[axis], *shape[axis + 1:]))
