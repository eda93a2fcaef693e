"""Cutting blocks out of arrays, and putting them back, in interpreted kernels.

Where a block may stick out of its array, the array is continued by unspecified elements. Bounds of the index map tell by how
many; without them the array gets a whole block on either side, and blocks that are farther away count as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._language.avals import typeof
from jax.experimental.pallas import _dims as dims
from jax.experimental.pallas._mapping import BlockMapping


def unspecified(shape: Sequence[int], dtype: Any, neutral: bool = False) -> Any:
    """What nobody has written yet: NaN, the least integer, or False; or ones (``neutral``), where these would mislead.

    >>> import numpy as np
    >>> unspecified((2,), np.dtype("int8")).tolist()
    [-128, -128]
    """
    if isinstance(dtype, dtypes.ExtendedDType):
        raise NotImplementedError(f"pallas_call: there are no unspecified elements of dtype {dtype}. Blocks of such arrays "
                                  "must lie within them, and results must alias an operand (input_output_aliases).")
    return lax.full(tuple(shape), 1 if neutral else _least(dtype), dtype)


def _least(dtype: np.dtype) -> Any:
    if dtypes.issubdtype(dtype, np.integer):
        return dtypes.iinfo(dtype).min
    return False if dtype == np.bool_ else np.nan


class _Axis(NamedTuple):
    """How blocks are cut along an axis.

    Attributes:
      size: of a block.
      scale: elements for each step of what the index map returns.
      low, high: elements that the array is continued by.
      shift: where the element 0 of the index map's numbers is then.
      limit: the last place where a block can start, if the index map may go beyond it or below 0; None if not.
      whole: whether the block is all there is.
    """

    size: int
    scale: int
    low: int
    high: int
    shift: int
    limit: int | None
    whole: bool


def _axis(d: dims.BlockDim, n: int, bounds: tuple[int, int] | None) -> _Axis:
    if isinstance(d, dims.Indirect):
        return _Axis(n, 0, 0, 0, 0, None, True)
    size = 1 if isinstance(d, dims.Squeezed) else d.block_size
    scale = size if isinstance(d, dims.Blocked) else 1
    low, high = d.padding if isinstance(d, dims.Element) else (0, 0)
    if isinstance(d, dims.Blocked):
        high = -n % size if size else 0
    length = low + n + high
    if scale == 0:
        return _Axis(size, 0, low, high, 0, None, True)
    below = above = size
    limited = True
    if bounds is not None:
        needed = max(0, -bounds[0] * scale), max(0, bounds[1] * scale + size - length)
        limited = max(needed) > size
        below, above = min(needed[0], size), min(needed[1], size)
    total = length + below + above
    return _Axis(size, scale, low + below, high + above, below, total - size if limited else None, size == total)


class Cut:
    """The blocks of one array."""

    __slots__ = ("mapping", "neutral", "axes", "squeezed", "shape")

    def __init__(self, mapping: BlockMapping, grid: tuple[int, ...], neutral: bool) -> None:
        self.mapping = mapping
        self.neutral = neutral
        n = mapping.array_aval.shape
        self.axes = [_axis(*entry) for entry in zip(mapping.block_shape, n, mapping.bounds(grid), strict=True)]
        self.squeezed = tuple([i for i, d in enumerate(mapping.block_shape) if isinstance(d, dims.Squeezed)])
        self.shape = tuple([a.low + size + a.high for a, size in zip(self.axes, n, strict=True)])

    # --- the array as the loop holds it ------------------------------------------------------------------------------

    def continued(self, x: Any) -> Any:
        """The array with unspecified elements around it."""
        if self.shape == typeof(x).shape:
            return x
        fill = unspecified((), typeof(x).dtype, self.neutral)
        return lax.pad(x, fill, [(a.low, a.high, 0) for a in self.axes])

    def empty(self) -> Any:
        """An array that nothing has been written to."""
        return unspecified(self.shape, self.mapping.array_aval.dtype, self.neutral)

    def without_rest(self, x: Any) -> Any:
        """The array itself."""
        shape = self.mapping.array_aval.shape
        if self.shape == shape:
            return x
        return lax.slice(x, [a.low for a in self.axes], [a.low + n for a, n in zip(self.axes, shape, strict=True)])

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _starts(self, places: Sequence[tuple[Any, Any]]) -> list[Any]:
        out = []
        for axis, (place, _) in zip(self.axes, places, strict=True):
            if axis.whole:
                out.append(np.int32(0))
                continue
            start = lax.mul(place, np.int32(axis.scale)) if axis.scale != 1 else place
            if axis.shift:
                start = lax.add(start, np.int32(axis.shift))
            if axis.limit is not None:
                start = lax.clamp(np.int32(0), start, np.int32(axis.limit))
            out.append(start)
        return out

    def _slice(self, x: Any, starts: Sequence[Any]) -> Any:
        if all(a.whole for a in self.axes):
            return x
        return lax.dynamic_slice(x, starts, [a.size for a in self.axes])

    def read(self, x: Any, places: Sequence[tuple[Any, Any]]) -> Any:
        """The block at the places that the index map returns."""
        block = self._slice(x, self._starts(places))
        mesh = self._mesh(block, places)
        if mesh is not None:
            block = block.at[mesh].get(mode="fill", fill_value=1 if self.neutral else _least(block.dtype))
        taken = self._taken(places)
        if taken is not None:
            block = lax.select(taken, block, unspecified(block.shape, block.dtype, self.neutral))
        return lax.squeeze(block, self.squeezed) if self.squeezed else block

    def write(self, x: Any, places: Sequence[tuple[Any, Any]], block: Any) -> Any:
        """The array with another block there."""
        if self.squeezed:
            block = lax.expand_dims(block, self.squeezed)
        starts = self._starts(places)
        mesh, taken = self._mesh(x, places), self._taken(places)
        if mesh is not None:
            old = self._slice(x, starts)
            if taken is not None:
                block = lax.select(taken, block, old.at[mesh].get(mode="fill", fill_value=0))
            block = old.at[mesh].set(block, mode="drop")
        elif taken is not None:
            block = lax.select(taken, block, self._slice(x, starts))
        return block if all(a.whole for a in self.axes) else lax.dynamic_update_slice(x, block, starts)

    def _mesh(self, x: Any, places: Sequence[tuple[Any, Any]]) -> tuple[Any, ...] | None:
        """Where the elements are, for each axis, if they are taken one by one along any."""
        entries = self.mapping.block_shape
        if not any(isinstance(d, dims.Indirect) for d in entries):
            return None
        out = []
        for i, (d, axis, (place, _)) in enumerate(zip(entries, self.axes, places, strict=True)):
            if isinstance(d, dims.Indirect):  # negative places are outside, and do not count from the end
                at = lax.select(lax.lt(place, np.int32(0)), jnp.full_like(place, axis.size), place)
            else:
                at = lax.iota(np.int32, axis.size)
            out.append(lax.broadcast_in_dim(at, (1,) * i + at.shape + (1,) * (len(entries) - i - 1), (i,)))
        return tuple(out)

    def _taken(self, places: Sequence[tuple[Any, Any]]) -> Any:
        """Which elements are within bounded slices; None if there are none of these."""
        entries = self.mapping.block_shape
        shape = tuple([d.block_size if isinstance(d, dims.Indirect) else a.size
                       for d, a in zip(entries, self.axes, strict=True)])
        found = None
        for i, (_, size) in enumerate(places):
            if size is not None:
                inside = lax.lt(lax.broadcasted_iota(np.int32, shape, i), lax.broadcast(size, shape))
                found = inside if found is None else lax.bitwise_and(found, inside)
        return found


__all__ = ["Cut", "unspecified"]
