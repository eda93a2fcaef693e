"""Gather and scatter in NumPy: loops that follow the definition, for any dimension numbers."""

from __future__ import annotations

import numpy as np


def _starts(indices, shape, sizes, index_map, operand_batching, indices_batching, clip):
    """For each place along the batch axes the start of its slice, and whether the slice is inside."""
    for place in np.ndindex(indices.shape[:-1]):
        start = [0] * len(shape)
        for k, axis in enumerate(index_map):
            start[axis] = int(indices[place][k])
        for axis, batch_axis in zip(operand_batching, indices_batching, strict=True):
            start[axis] = place[batch_axis]
        if clip:
            start = [min(max(s, 0), n - size) for s, n, size in zip(start, shape, sizes, strict=True)]
        inside = all(0 <= s <= n - size for s, n, size in zip(start, shape, sizes, strict=True))
        yield place, tuple(slice(s, s + size) for s, size in zip(start, sizes, strict=True)), inside


def _at(rank, window_dims, place):
    """The index of one slice in the result of a gather, or in the updates."""
    rest = iter(place)
    return tuple(slice(None) if d in window_dims else next(rest) for d in range(rank))


def gather(x, indices, numbers, sizes, *, clip=False, fill=None):
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window = [n for d, n in enumerate(sizes) if d not in dropped]
    rank = indices.ndim - 1 + len(window)
    window_sizes, batch_sizes = iter(window), iter(indices.shape[:-1])
    shape = [next(window_sizes) if d in numbers.offset_dims else next(batch_sizes) for d in range(rank)]
    out = np.zeros(shape, x.dtype)
    for place, where, inside in _starts(indices, x.shape, sizes, numbers.start_index_map, numbers.operand_batching_dims,
                                        numbers.start_indices_batching_dims, clip):
        out[_at(rank, numbers.offset_dims, place)] = x[where].reshape(window) if inside else fill
    return out


def scatter(x, indices, updates, numbers, combine, *, clip=False):
    """``combine(old, new)`` on arrays; slices out of bounds are dropped unless clipped."""
    out = np.array(x)
    sizes = [1] * x.ndim
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    for axis, d in zip([a for a in range(x.ndim) if a not in dropped], numbers.update_window_dims, strict=True):
        sizes[axis] = updates.shape[d]
    for place, where, inside in _starts(indices, x.shape, sizes, numbers.scatter_dims_to_operand_dims,
                                        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, clip):
        if inside:
            new = updates[_at(updates.ndim, numbers.update_window_dims, place)].reshape(sizes)
            out[where] = combine(out[where], new)
    return out
