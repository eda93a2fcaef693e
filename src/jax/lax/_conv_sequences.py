"""Convolutions of long sequences as matrix products.

With blocks of ``b`` results, ``out[q b + r] = sum_s x[q b + s] w[s - r]``: the product of overlapping frames of the
sequence with a matrix whose rows are the kernel, shifted. That takes ``1 + b/k`` times the multiplications of the sum
itself, at the speed of matrix products. Where the kernel is longer than the result, it is the kernel that is cut into
blocks: the products of all its blocks with frames as long as a block and the result, summed along diagonals.

Every result is a sum of the same products as by definition, so each has a small error even where others are many orders
of magnitude larger. A Fourier transform is faster from some thousand elements of both on, but its errors are those of the
largest results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._ground.structural import convert
from jax._language.avals import typeof
from jax.lax._arithmetic import add
from jax.lax._conv_lowering import accumulator
from jax.lax._creation import full
from jax.lax._dot import dot_general
from jax.lax._dynamic_slice import dynamic_slice_in_dim
from jax.lax._gather import GatherDimensionNumbers, GatherScatterMode, gather
from jax.lax._reduce import reduce_sum
from jax.lax._scan import scan
from jax.lax._shape import reshape
from jax.lax._slice import pad, slice_in_dim

LEAST_KERNEL = 24
LEAST_PRODUCTS = 1 << 17
BLOCK, LARGEST_BLOCK = 128, 512
MOST_FRAMES = 1 << 22  # elements of the frames that are multiplied at once


def worthwhile(results: int, kernel: int, batch: int) -> bool:
    """Whether a convolution is long enough; several sequences are taken with kernels that are not longer than they."""
    return (min(results, kernel) >= LEAST_KERNEL and results * kernel * batch >= LEAST_PRODUCTS
            and (batch == 1 or kernel <= results))


def correlated(x: Any, w: Any, dtype: Any, precision: Any) -> Any:
    """``out[n, t] = sum_j x[n, t + j] w[j]``, where ``w`` fits completely into a row of ``x``."""
    batch, k = typeof(x).shape[0], typeof(w).shape[0]
    results = typeof(x).shape[1] - k + 1
    if k > results and batch == 1:
        return convert(_with_blocks_of_kernel(x, w, results, accumulator(dtype), precision), dtype)
    piece = BLOCK * max(1, MOST_FRAMES // (batch * results))
    if k <= piece:
        return convert(_with_frames(x, w, results, accumulator(dtype), precision), dtype)
    count = -(-k // piece)
    x, w = _longer(x, count * piece + results - 1), _longer(reshape(w, (1, k)), count * piece)

    def step(total: Any, at: Any) -> Any:
        part = dynamic_slice_in_dim(x, at, piece + results - 1, 1)
        kernel = reshape(dynamic_slice_in_dim(w, at, piece, 1), (piece,))
        return add(total, _with_frames(part, kernel, results, accumulator(dtype), precision)), None

    start = full((batch, results), 0, accumulator(dtype))
    total, _ = scan(step, start, np.arange(0, count * piece, piece, dtype=np.int32))
    return convert(total, dtype)


def _longer(x: Any, n: int) -> Any:
    return pad(x, np.zeros((), typeof(x).dtype), [(0, 0, 0), (0, n - typeof(x).shape[1], 0)])


def _frames(x: Any, starts: Any, length: int) -> Any:
    """``out[n, q, s] = x[n, starts[q] + s]`` for places ``s`` below ``length``."""
    numbers = GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(), start_index_map=(1,))
    return gather(x, starts.astype(np.int32)[:, None], numbers, (typeof(x).shape[0], length),
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _with_frames(x: Any, w: Any, results: int, dtype: Any, precision: Any) -> Any:
    batch, k = typeof(x).shape[0], typeof(w).shape[0]
    count, length = -(-results // BLOCK), BLOCK + k - 1
    frames = _frames(_longer(x, (count - 1) * BLOCK + length), np.arange(count) * BLOCK, length)
    around = pad(reshape(w, (1, k)), np.zeros((), typeof(w).dtype), [(0, 0, 0), (BLOCK - 1, BLOCK - 1, 0)])
    shifted = reshape(_frames(around, np.arange(BLOCK - 1, -1, -1), length), (BLOCK, length))
    out = dot_general(frames, shifted, (((2,), (1,)), ((), ())), precision, dtype)
    return slice_in_dim(reshape(out, (batch, count * BLOCK)), 0, results, axis=1)


def _with_blocks_of_kernel(x: Any, w: Any, results: int, dtype: Any, precision: Any) -> Any:
    k = typeof(w).shape[0]
    block = min(LARGEST_BLOCK, max(BLOCK, results // BLOCK * BLOCK))
    count, length = -(-k // block), block + results - 1
    blocks = reshape(_longer(reshape(w, (1, k)), count * block), (count, block))
    frames = _frames(_longer(x, (count - 1) * block + length), np.arange(count) * block, length)
    frames = reshape(frames, (count, length))
    products = dot_general(blocks, frames, (((0,), (0,)), ((), ())), precision, dtype)  # by place in block and in frame
    # The sums over (i, i + t): in rows of one element more these are columns.
    skewed = reshape(_longer(reshape(products, (1, block * length)), block * (length + 1)), (block, length + 1))
    return reshape(reduce_sum(slice_in_dim(skewed, 0, results, axis=1), (0,)), (1, results))
