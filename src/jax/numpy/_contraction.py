"""Products of two arrays whose axes have labels: what ``matmul`` and ``einsum`` have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from jax import lax
from jax._ground.structural import sum_axes
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._precision import reverse_precision

Labels = tuple[Hashable, ...]


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any, preferred_element_type: Any) -> Any:
    return lax.dot_general_p.bind(lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
                                  preferred_element_type=preferred_element_type, out_sharding=None)


class _Steps(NamedTuple):
    """What :func:`contract` does to operands of certain shapes."""

    drop: tuple[tuple[int, ...], tuple[int, ...]]  # axes of size 1 to take away, of each operand
    sums: tuple[tuple[int, ...], tuple[int, ...]]  # axes to sum over before, of each operand
    swap: bool  # whether the second operand goes first
    numbers: Any
    order: tuple[int, ...] | None  # permutation of the product's axes


def contract(x: Any, x_labels: Labels, y: Any, y_labels: Labels, out: Labels, precision: Any, dtype: Any,
             dot: Callable[..., Any] = dot_general) -> Any:
    """The product of ``x`` and ``y`` summed over the labels that are not in ``out``, with the axes of ``out``.

    The labels of one operand differ; axes of one label have one size, or size 1, which is broadcast without repeating
    anything in memory: such axes are dropped here.
    """
    steps = _steps(x_labels, typeof(x).shape, y_labels, typeof(y).shape, out)
    if steps.drop != _NONE:
        x, y = (lax.squeeze(a, d) if d else a for a, d in zip((x, y), steps.drop, strict=True))
    if steps.sums != _NONE:
        x, y = (sum_axes(a, d) for a, d in zip((x, y), steps.sums, strict=True))
    if steps.swap:
        x, y, precision = y, x, reverse_precision(precision)
    product = dot(x, y, steps.numbers, precision, dtype)
    return product if steps.order is None else lax.transpose_p.bind(product, permutation=steps.order)


@functools.lru_cache(4096)
def _steps(x_labels: Labels, x_shape: Any, y_labels: Labels, y_shape: Any, out: Labels) -> _Steps:
    drop = _ones(x_labels, x_shape, y_labels, y_shape), _ones(y_labels, y_shape, x_labels, x_shape)
    x_labels, y_labels = _without(x_labels, drop[0]), _without(y_labels, drop[1])
    sums = _alone(x_labels, y_labels, out), _alone(y_labels, x_labels, out)
    x_labels, y_labels = _without(x_labels, sums[0]), _without(y_labels, sums[1])
    batch = [k for k in out if k in x_labels and k in y_labels]
    summed = [k for k in x_labels if k in y_labels and k not in out]
    kept_x = [k for k in x_labels if k not in batch and k not in summed]
    kept_y = [k for k in y_labels if k not in batch and k not in summed]
    # With the operands exchanged the axes may come out as they should be.
    swap = bool(kept_x and kept_y) and (*batch, *kept_y, *kept_x) == out
    if swap:
        x_labels, y_labels, kept_x, kept_y = y_labels, x_labels, kept_y, kept_x
    numbers = ((_positions(x_labels, summed), _positions(y_labels, summed)),
               (_positions(x_labels, batch), _positions(y_labels, batch)))
    order = _positions((*batch, *kept_x, *kept_y), out)
    return _Steps(drop, sums, swap, numbers, None if order == tuple(range(len(order))) else order)


_NONE: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def _positions(labels: Labels, of: Sequence[Hashable]) -> tuple[int, ...]:
    return tuple([labels.index(k) for k in of])


def _without(labels: Labels, axes: tuple[int, ...]) -> Labels:
    return tuple([k for i, k in enumerate(labels) if i not in axes]) if axes else labels


def _ones(labels: Labels, shape: Any, other_labels: Labels, other_shape: Any) -> tuple[int, ...]:
    """The axes of size 1 that stretch to the size which the other operand has under that label."""
    sizes = dict(zip(other_labels, other_shape, strict=True))
    return tuple([i for i, (k, n) in enumerate(zip(labels, shape, strict=True))
                  if dims.is_one(n) and k in sizes and not dims.is_one(sizes[k])])


def _alone(labels: Labels, other: Labels, out: Labels) -> tuple[int, ...]:
    """The axes whose label occurs nowhere else: they are summed over."""
    return tuple([i for i, k in enumerate(labels) if k not in other and k not in out])
