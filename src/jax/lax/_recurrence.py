"""Scanning in a tree, and first-order linear recurrences: the derivatives of cumulative operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._ground.families import COMPLEX, FLOAT, INEXACT, category, check_category, constant
from jax._ground.structural import add_tangents, broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, mul
from jax.lax._join import concatenate
from jax.lax._shape import optimization_barrier, rev
from jax.lax._slice import pad, slice

Arrays = Sequence[Any]


def tree_scan(combine: Callable[[Arrays, Arrays], list[Any]], xs: Arrays, axis: int,
              short: Callable[[Arrays], list[Any]] | None = None, cut: int = 1) -> list[Any]:
    """All prefixes of ``xs``, arrays of one shape, under the associative ``combine``.

    Neighbours are combined, the prefixes of these pairs found by recursion, and those in between filled in: two
    operations per element, all of them on whole arrays (Blelloch, "Prefix sums and their applications", 1990). ``short``
    does up to ``cut`` elements in another way.
    """
    shape = typeof(xs[0]).shape
    n = shape[axis]
    if n <= 1:
        return list(xs)
    if short is not None and n <= cut:
        return short(xs)

    def part(values: Arrays, start: int, stop: int, step: int = 1) -> list[Any]:
        size = typeof(values[0]).shape
        begin, end, by = [0] * len(shape), list(size), [1] * len(shape)
        begin[axis], end[axis], by[axis] = start, stop, step
        return [slice(v, begin, end, by) for v in values]

    half = n // 2
    even, odd = part(xs, 0, n, 2), part(xs, 1, n, 2)
    pairs = optimization_barrier(combine(part(even, 0, half), odd))
    at_odd = optimization_barrier(tree_scan(combine, pairs, axis, short, cut))
    rest = n - half - 1  # even places behind the first
    first = part(even, 0, 1)
    if rest == 0:
        at_even = first
    else:
        between = combine(part(at_odd, 0, rest), part(even, 1, rest + 1))
        at_even = [concatenate([a, b], axis) for a, b in zip(first, between, strict=True)]
    return [_interleave(a, b, axis, n) for a, b in zip(at_even, at_odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int, n: int) -> Any:
    """``even[0], odd[0], even[1], ...`` along ``axis``: both are spread out with zeros and added."""
    rank = len(typeof(even).shape)
    dtype = typeof(even).dtype
    # Minus zero is what leaves every float as it is when added, minus zero included.
    kind = category(dtype)
    zero = np.array(complex(-0.0, -0.0) if kind == COMPLEX else -0.0 if kind == FLOAT else 0, dtype)
    config: list[Any] = [(0, 0, 0)] * rank
    config[axis] = (0, 1 - n % 2, 1)
    spread = pad(even, zero, config)
    config[axis] = (1, n % 2, 1)
    return add(spread, pad(odd, zero, config))


def shifted(x: Any, axis: int, first: Any, backwards: bool = False) -> Any:
    """What stands before each place of ``x`` along ``axis`` (after it, if ``backwards``), ``first`` at the end."""
    config: list[Any] = [(0, 0, 0)] * len(typeof(x).shape)
    config[axis] = (-1, 1, 0) if backwards else (1, -1, 0)
    return pad(x, constant(typeof(x).dtype, first), config)


# --- linear_recurrence ----------------------------------------------------------------------------------------------

linear_recurrence_p = Primitive("linear_recurrence")


def linear_recurrence(a: Any, b: Any, axis: int, reverse: bool = False) -> Any:
    """``h[i] = a[i] * h[i - 1] + b[i]`` along ``axis``, from ``h[0] = b[0]``; with ``reverse`` from the end on.

    It is differentiable any number of times, and its derivatives are recurrences again.
    """
    return linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)


def _abstract(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    check_category("linear_recurrence", INEXACT, b.dtype)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise TypeError(f"linear_recurrence: both operands must be of one type, got {a.str_short()} and {b.str_short()}")
    return b.strip_weak_type()


def _in_tree(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    if reverse:
        a, b = rev(a, (axis,)), rev(b, (axis,))

    def combine(first: Arrays, second: Arrays) -> list[Any]:
        return [mul(first[0], second[0]), add(mul(second[0], first[1]), second[1])]

    _, h = tree_scan(combine, [a, b], axis)
    return rev(h, (axis,)) if reverse else h


def _jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    (a, b), (ta, tb) = primals, tangents
    h = linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)
    if type(ta) is not Zero:
        tb = add_tangents(tb, mul(ta, shifted(h, axis, 0, reverse)))
    if type(tb) is Zero:
        return h, Zero.from_primal_value(h)
    return h, linear_recurrence_p.bind(a, tb, axis=axis, reverse=reverse)


def _transpose(ct: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    if type(a) is UndefinedPrimal:
        raise NotImplementedError("the function is not linear: linear_recurrence in its first operand")
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    return [None, linear_recurrence_p.bind(shifted(a, axis, 0, not reverse), ct, axis=axis, reverse=not reverse)]


def _batch(args: Any, batch_dims: Any, *, axis: int, reverse: bool) -> Any:
    at = next(d for d in batch_dims if d is not None)
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)
    a, b = (broadcast_to_axis(x, size, at) if d is None else move_axis(x, d, at)
            for x, d in zip(args, batch_dims, strict=True))
    return linear_recurrence_p.bind(a, b, axis=axis + (axis >= at), reverse=reverse), at


linear_recurrence_p.def_abstract_eval(_abstract)
register_lowering(linear_recurrence_p, lower_fun(_in_tree, multiple_results=False))
rules.primitive_jvps[linear_recurrence_p] = _jvp
rules.primitive_transposes[linear_recurrence_p] = _transpose
rules.primitive_batchers[linear_recurrence_p] = _batch
