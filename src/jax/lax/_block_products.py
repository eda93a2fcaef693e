"""Products of arrays in blocks: ragged groups of rows, and blocks with common scales."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import INTEGERS, category
from jax._ground.structural import broadcast_in_dim, convert, full, move_axis
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._arithmetic import mul, sub
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import ge, lt
from jax.lax._creation import broadcasted_iota
from jax.lax._cumulative import cumsum
from jax.lax._dot import DotDimensionNumbers, dot_general
from jax.lax._select import select
from jax.lax._shape import reshape


@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The dimensions of a :func:`ragged_dot_general`.

    Attributes:
      dot_dimension_numbers: those of the :func:`dot_general` that is done in each group.
      lhs_ragged_dimensions: the one dimension of ``lhs`` that is divided in groups.
      rhs_group_dimensions: the dimension of ``rhs`` that numbers the groups; none where the ragged dimension is
        contracted or a batch dimension.
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        (lc, rc), (lb, rb) = self.dot_dimension_numbers
        object.__setattr__(self, "dot_dimension_numbers", ((tuple(lc), tuple(rc)), (tuple(lb), tuple(rb))))
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(self.rhs_group_dimensions))


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None,
               group_offset: Any = None, out_sharding: Any = None) -> Any:
    """A product of matrices in which groups of rows have matrices of their own.

    Args:
      lhs: of shape (m, k).
      rhs: of shape (g, k, n), one matrix for each group.
      group_sizes: integers of shape (g,): how many rows belong to each group, the first ones to the first. Rows behind
        the last group give zeros.
      precision, preferred_element_type: as for :func:`dot_general`.

    Returns:
      An array of shape (m, n).
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset,
                              out_sharding)


def ragged_dot_general(lhs: Any, rhs: Any, group_sizes: Any, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                       precision: Any = None, preferred_element_type: Any = None, group_offset: Any = None,
                       out_sharding: Any = None) -> Any:
    """A :func:`dot_general` in which a dimension of ``lhs`` is divided in groups of different sizes.

    With a ragged dimension that is kept, ``rhs`` has one more dimension with the operand of each group; with one that is
    contracted, the result has one more dimension in front, the product of each group. A ragged batch dimension makes no
    difference. The result is that of a product as large as that of all groups together.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers, of shape (groups,) or with the batch dimensions in front.
      ragged_dot_dimension_numbers: which dimension means what.
      precision, preferred_element_type, out_sharding: as for :func:`dot_general`.
      group_offset: not supported.

    Raises:
      TypeError: when dimensions or dtypes do not fit.
      NotImplementedError: for more than one ragged dimension, or a group offset.
    """
    numbers = ragged_dot_dimension_numbers
    if group_offset is not None:
        raise NotImplementedError("ragged_dot_general: group_offset is not supported; slice the groups instead")
    if len(numbers.lhs_ragged_dimensions) != 1 or len(numbers.rhs_group_dimensions) > 1:
        raise NotImplementedError("ragged_dot_general: there must be one ragged dimension and at most one group dimension, "
                                  f"got {numbers}")
    sizes = typeof(group_sizes)
    if category(sizes.dtype) not in INTEGERS:
        raise TypeError(f"ragged_dot_general: group_sizes must be integers, got {sizes.dtype}")
    (contracting, rhs_contracting), (batch, rhs_batch) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    plain = numbers.dot_dimension_numbers
    if ragged in batch:
        return dot_general(lhs, rhs, plain, precision, preferred_element_type, out_sharding=out_sharding)
    grouped = _by_group(lhs, group_sizes, ragged, batch)
    last = len(typeof(lhs).shape)
    if ragged in contracting:
        if numbers.rhs_group_dimensions:
            raise TypeError("ragged_dot_general: with a contracted ragged dimension rhs has no group dimension")
        out = dot_general(grouped, rhs, plain, precision, preferred_element_type, out_sharding=out_sharding)
        kept = last - len(contracting) - len(batch)
        return move_axis(out, len(batch) + kept, 0)
    if not numbers.rhs_group_dimensions:
        raise TypeError("ragged_dot_general: with a ragged dimension that is kept, rhs needs a group dimension")
    (group,) = numbers.rhs_group_dimensions
    if not dims.dim_eq(typeof(rhs).shape[group], sizes.shape[-1]):
        raise TypeError(f"ragged_dot_general: group_sizes of shape {sizes.shape} are for {sizes.shape[-1]} groups, and rhs "
                        f"of shape {typeof(rhs).shape} has {typeof(rhs).shape[group]} along dimension {group}")
    together = (((*contracting, last), (*rhs_contracting, group)), (batch, rhs_batch))
    return dot_general(grouped, rhs, together, precision, preferred_element_type, out_sharding=out_sharding)


def _by_group(x: Any, sizes: Any, ragged: int, batch: Sequence[int]) -> Any:
    """``x`` once for each group along a new last dimension, zero where the elements belong to others."""
    shape, sizes_shape = typeof(x).shape, typeof(sizes).shape
    lead = len(sizes_shape) - 1
    if lead not in (0, len(batch)):
        raise TypeError(f"ragged_dot_general: group_sizes must have the shape (groups,), or the {len(batch)} batch "
                        f"dimensions in front of that; got {sizes_shape}")
    sizes = convert(sizes, np.dtype(np.int32))
    ends = cumsum(sizes, axis=lead)
    full_shape = (*shape, sizes_shape[-1])
    where = (*(batch if lead else ()), len(shape))
    stop, start = (broadcast_in_dim(v, full_shape, where) if list(where) == sorted(where) else
                   _spread(v, full_shape, where) for v in (ends, sub(ends, sizes)))
    row = broadcasted_iota(np.int32, full_shape, ragged)
    mine = bitwise_and(ge(row, start), lt(row, stop))
    return select(mine, broadcast_in_dim(x, full_shape, range(len(shape))), full(full_shape, 0, typeof(x).dtype))


def _spread(v: Any, shape: Any, where: Sequence[int]) -> Any:
    from jax._ground.structural import permute  # batch dimensions that are out of order
    order = sorted(range(len(where)), key=where.__getitem__)
    return broadcast_in_dim(permute(v, order), shape, sorted(where))


# --- scaled_dot -----------------------------------------------------------------------------------------------------

def scaled_dot(lhs: Any, rhs: Any, *, lhs_scale: Any = None, rhs_scale: Any = None,
               dimension_numbers: DotDimensionNumbers | None = None, preferred_element_type: Any = None) -> Any:
    """A product of operands that are stored in blocks with a common scale along the contracted dimension.

    Args:
      lhs, rhs: arrays, usually of 8-bit floats.
      lhs_scale, rhs_scale: factors in the shape of their operand, except for contracted dimensions, which are shorter:
        each factor is for a block of as many elements as fit.
      dimension_numbers: as for :func:`dot_general`; by default a matrix product, in a batch for operands of rank 3.
      preferred_element_type: dtype of the result, bfloat16 by default.

    The scaled operands are multiplied in float32.

    Raises:
      TypeError: when shapes do not fit.
    """
    if dimension_numbers is None:
        rank = len(typeof(lhs).shape)
        if rank not in (2, 3) or len(typeof(rhs).shape) != rank:
            raise TypeError("scaled_dot: without dimension_numbers both operands must have rank 2 or 3, got shapes "
                            f"{typeof(lhs).shape} and {typeof(rhs).shape}")
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    (lc, rc), _ = dimension_numbers
    x, y = _scaled("lhs", lhs, lhs_scale, lc), _scaled("rhs", rhs, rhs_scale, rc)
    out = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    result = dot_general(x, y, dimension_numbers, preferred_element_type=np.float32)
    return convert(result, dtypes.requested_dtype(out, "scaled_dot"))


def _scaled(name: str, x: Any, scale: Any, contracting: Sequence[int]) -> Any:
    x = convert(x, np.dtype(np.float32))
    if scale is None:
        return x
    shape, blocks = typeof(x).shape, typeof(scale).shape
    if len(shape) != len(blocks):
        raise TypeError(f"scaled_dot: {name} of shape {shape} and its scale of shape {blocks} must have the same rank")
    split: list[Any] = []
    where = []
    for d, (n, b) in enumerate(zip(shape, blocks, strict=True)):
        if d not in contracting and n != b:
            raise TypeError(f"scaled_dot: {name} has shape {shape} and its scale {blocks}; dimension {d} is not contracted, "
                            "so its sizes must be equal")
        if d in contracting and (b == 0 or n % b):
            raise TypeError(f"scaled_dot: the contracted dimension {d} of {name}, of size {n}, cannot be divided in the "
                            f"{b} blocks of its scale of shape {blocks}")
        where.append(len(split))
        split += [b, n // b] if d in contracting else [n]
    factors = broadcast_in_dim(convert(scale, np.dtype(np.float32)), split, where)
    return mul(x, reshape(factors, shape))
