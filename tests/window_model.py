"""Windows and convolutions in plain NumPy loops: what the operations on windows are tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Pairs = Sequence[tuple[int, int]]


def spread(x: np.ndarray, fill: Any, padding: Pairs, dilation: Sequence[int]) -> np.ndarray:
    """``x`` with its elements apart by ``dilation`` and padded (negative padding cuts)."""
    sizes = [(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape, dilation, strict=True)]
    out = np.full(sizes, fill, x.dtype)
    out[tuple(slice(None, None, d) for d in dilation)] = x
    out = np.pad(out, [(max(a, 0), max(b, 0)) for a, b in padding], constant_values=fill)
    return out[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(padding, out.shape, strict=True))]


def windows(x: np.ndarray, window: Sequence[int], strides: Sequence[int],
            dilation: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """The index of each window and the slices that cut it out."""
    counts = [max((n - (w - 1) * d - 1) // s + 1, 0)
              for n, w, s, d in zip(x.shape, window, strides, dilation, strict=True)]
    for i in np.ndindex(*counts):
        yield i, tuple(slice(k * s, k * s + (w - 1) * d + 1, d)
                       for k, s, w, d in zip(i, strides, window, dilation, strict=True))


def reduce_window(x: np.ndarray, init: Any, reduce: Callable[[np.ndarray], Any], window: Sequence[int],
                  strides: Sequence[int] | None = None, padding: Pairs | None = None,
                  base_dilation: Sequence[int] | None = None, window_dilation: Sequence[int] | None = None) -> np.ndarray:
    ones = (1,) * x.ndim
    dilation = window_dilation or ones
    padded = spread(x, init, padding or ((0, 0),) * x.ndim, base_dilation or ones)
    found = {i: reduce(padded[w]) for i, w in windows(padded, window, strides or ones, dilation)}
    shape = np.max(list(found), axis=0) + 1 if found else np.zeros(x.ndim, int)
    out = np.zeros(shape, x.dtype)
    for i, v in found.items():
        out[i] = v
    return out


def convolve(x: np.ndarray, kernel: np.ndarray, strides: Sequence[int], padding: Pairs,
             lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
             feature_groups: int = 1, batch_groups: int = 1) -> np.ndarray:
    """Convolution of (batch, feature, spatial ...) with (out, in, spatial ...)."""
    rank = x.ndim - 2
    ones = (1,) * rank
    padded = spread(x, 0, [(0, 0)] * 2 + list(padding), (1, 1, *(lhs_dilation or ones)))
    batch, outs, ins = x.shape[0] // batch_groups, kernel.shape[0], x.shape[1] // feature_groups
    frame = padded[0, 0]
    places = list(windows(frame, kernel.shape[2:], strides, rhs_dilation or ones))
    shape = np.max([i for i, _ in places], axis=0) + 1
    out = np.zeros((batch, outs, *shape), np.result_type(x, kernel))
    for i, cut in places:
        for o in range(outs):
            f, b = o // (outs // feature_groups), o // (outs // batch_groups)
            images = padded[(slice(b * batch, (b + 1) * batch), slice(f * ins, (f + 1) * ins), *cut)]
            out[(slice(None), o, *i)] = images.reshape(batch, -1) @ kernel[o].reshape(-1)
    return out
