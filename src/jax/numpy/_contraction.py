"""Products of two arrays whose axes have labels: what ``matmul`` and ``einsum`` have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from jax import lax
from jax._ground.structural import permute, sum_axes
from jax._language.avals import typeof
from jax.lax._precision import reverse_precision

Labels = Sequence[Hashable]


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any, preferred_element_type: Any) -> Any:
    return lax.dot_general_p.bind(lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
                                  preferred_element_type=preferred_element_type, out_sharding=None)


def contract(x: Any, x_labels: Labels, y: Any, y_labels: Labels, out: Labels, precision: Any, dtype: Any,
             dot: Callable[..., Any] = dot_general) -> Any:
    """The product of ``x`` and ``y`` summed over the labels that are not in ``out``, with the axes of ``out``.

    The labels of one operand differ; axes of one label have one size, or size 1, which is broadcast without repeating
    anything in memory: such axes are dropped here.
    """
    x, x_labels = _drop_ones(x, x_labels, y, y_labels)
    y, y_labels = _drop_ones(y, y_labels, x, x_labels)
    x, x_labels = _sum_alone(x, x_labels, y_labels, out)
    y, y_labels = _sum_alone(y, y_labels, x_labels, out)
    batch = [k for k in out if k in x_labels and k in y_labels]
    summed = [k for k in x_labels if k in y_labels and k not in out]
    kept_x = [k for k in x_labels if k not in batch and k not in summed]
    kept_y = [k for k in y_labels if k not in batch and k not in summed]
    if kept_x and kept_y and [*batch, *kept_y, *kept_x] == list(out):  # as it comes out with the operands exchanged
        x, x_labels, kept_x, y, y_labels, kept_y = y, y_labels, kept_y, x, x_labels, kept_x
        precision = reverse_precision(precision)
    numbers = ((_positions(x_labels, summed), _positions(y_labels, summed)),
               (_positions(x_labels, batch), _positions(y_labels, batch)))
    product = dot(x, y, numbers, precision, dtype)
    return permute(product, _positions([*batch, *kept_x, *kept_y], out))


def _positions(labels: Labels, of: Labels) -> tuple[int, ...]:
    return tuple([labels.index(k) for k in of])


def _drop_ones(x: Any, labels: Labels, other: Any, other_labels: Labels) -> tuple[Any, list[Hashable]]:
    """``x`` without the axes of size 1 that stretch to the size which the other operand has under that label."""
    sizes = dict(zip(other_labels, typeof(other).shape, strict=True))
    shape = typeof(x).shape
    drop = tuple([i for i, (k, n) in enumerate(zip(labels, shape, strict=True))
                  if type(n) is int and n == 1 and k in sizes and not (type(sizes[k]) is int and sizes[k] == 1)])
    return (lax.squeeze(x, drop), [k for i, k in enumerate(labels) if i not in drop]) if drop else (x, list(labels))


def _sum_alone(x: Any, labels: Labels, other: Labels, out: Labels) -> tuple[Any, list[Hashable]]:
    """``x`` summed over the axes whose label occurs nowhere else."""
    alone = [i for i, k in enumerate(labels) if k not in other and k not in out]
    return (sum_axes(x, alone), [k for i, k in enumerate(labels) if i not in alone]) if alone else (x, list(labels))
