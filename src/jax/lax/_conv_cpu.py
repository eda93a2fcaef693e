"""Convolutions on CPUs, where the compiler has no good code for groups, for single pixels and for long sequences.

Each rewrite is a function on arrays, traced and written in the place of the convolution:

- Convolutions with several groups: sums of products of shifted images where groups are small (`_conv_lowering`), one
  convolution per group where they are not.
- Gradients of their kernels (which are convolutions with groups of the batch, of few places with large windows): of
  depthwise kernels sums of products for each place; otherwise all pairs of a few groups at once, of which those within a
  group are kept.
- Kernels of one pixel on images with features first, and their gradients: matrix products without transpositions.
- Long sequences: see `_conv_sequences`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes
from jax._base.config import cpu_fast_convolutions
from jax._ground.families import BOOL, COMPLEX, FLOAT, category
from jax._ground.structural import broadcast_in_dim, convert
from jax._language.avals import typeof
from jax._lowering.emit import emit_jaxpr
from jax._lowering.passes.fences import fence_p
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import trace_rule
from jax.lax._arithmetic import add, mul, sub
from jax.lax._comparison import eq
from jax.lax._complex import complex as from_parts
from jax.lax._complex import imag, real
from jax.lax._conv import conv_general_dilated_p, merge_axes, split_axis
from jax.lax._conv_lowering import accumulator, lower, lower_by_shifting, shiftable
from jax.lax._conv_sequences import correlated, worthwhile
from jax.lax._creation import broadcasted_iota, full
from jax.lax._dot import dot_general
from jax.lax._dynamic_slice import dynamic_slice_in_dim
from jax.lax._join import concatenate
from jax.lax._precision import is_algorithm
from jax.lax._reduce import reduce_sum
from jax.lax._scan import scan
from jax.lax._select import select
from jax.lax._shape import reshape, transpose
from jax.lax._slice import pad, slice

# Thresholds: by times on two cores of images of 8 x 64 x 64 and 32 features.
MOST_PLACES = 64  # of a depthwise kernel
MOST_WRITTEN_OUT = 9  # places beyond which rows of the kernel are a loop
MOST_CONVOLUTIONS = 32
LEAST_WORK = 1 << 20  # multiplications for which a convolution is split
PAIRED_FEATURES = 32  # features of groups that are paired with all others of these groups


def _convolve(x: Any, y: Any, groups: int = 1, **params: Any) -> Any:
    return conv_general_dilated_p.bind(x, y, **{**params, "feature_group_count": groups, "batch_group_count": 1})


def _part(x: Any, axis: int, start: int, limit: int) -> Any:
    shape = typeof(x).shape
    return slice(x, [start * (d == axis) for d in range(len(shape))],
                 [limit if d == axis else n for d, n in enumerate(shape)])


def _parts(x: Any, axis: int, count: int) -> list[Any]:
    each = typeof(x).shape[axis] // count
    return [_part(x, axis, i * each, (i + 1) * each) for i in range(count)]


def _arranged(x: Any, axes: Any) -> Any:
    """``x``, whose axes are those of the result in the order ``axes``, as the result has them."""
    return transpose(x, [list(axes).index(d) for d in range(len(axes))])


# --- groups ---------------------------------------------------------------------------------------------------------

def _one_by_one(x: Any, y: Any, *, feature_group_count: int, **params: Any) -> Any:
    """A convolution for each group of features."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    pairs = zip(_parts(x, lhs_spec[1], feature_group_count), _parts(y, rhs_spec[0], feature_group_count), strict=True)
    return concatenate([_convolve(a, b, **params) for a, b in pairs], out_spec[1])


def _paired_groups(batch: int, features: int, groups: int) -> int:
    """How many groups are convolved at once, all pairs of them."""
    wanted = max(1, PAIRED_FEATURES // max(batch, features), -(-groups // MOST_CONVOLUTIONS))
    return next(m for m in range(min(wanted, groups), groups + 1) if groups % m == 0)


def _by_pairs(x: Any, y: Any, *, batch_group_count: int, **params: Any) -> Any:
    """A convolution in groups of the batch: some groups at once without regard to groups, of which the diagonal is kept."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    batch, features = typeof(x).shape[lhs_spec[0]], typeof(y).shape[rhs_spec[0]]
    together = _paired_groups(batch // batch_group_count, features // batch_group_count, batch_group_count)
    count = batch_group_count // together
    pairs = zip(_parts(x, lhs_spec[0], count), _parts(y, rhs_spec[0], count), strict=True)
    return concatenate([_diagonal(_convolve(a, b, **params), out_spec[0], out_spec[1], together) for a, b in pairs],
                       out_spec[1])


def _diagonal(x: Any, batch: int, features: int, groups: int) -> Any:
    """Axes ``batch`` and ``features`` are (groups, n): what belongs to one group in both, with groups in ``features``."""
    if groups == 1:
        return x
    low, high = min(batch, features), max(batch, features)
    x = split_axis(split_axis(x, high, groups), low, groups)
    shape = typeof(x).shape
    own = eq(broadcasted_iota(np.int32, shape, low), broadcasted_iota(np.int32, shape, high + 1))
    kept = select(own, x, full(shape, 0, typeof(x).dtype))
    return merge_axes(reduce_sum(kept, (low if batch == low else high + 1,)), features)


# --- gradients of depthwise kernels ---------------------------------------------------------------------------------

def _by_place(x: Any, y: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
              dimension_numbers: Any, out: Any, **params: Any) -> Any:
    """Groups of one: for each place of the result the images at that place times the window, summed.

    Products of several images are added up before anything is stored. What is left is summed as a product with ones:
    the compiler would take the sums of products apart to compute with a library what it thinks is a sum.
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank, channel, spatial = len(lhs_spec), lhs_spec[0], lhs_spec[2:]
    dtype = accumulator(out.dtype)
    x, y = convert(fence_p.bind(x), dtype), convert(fence_p.bind(y), dtype)  # they are read once for each place
    y = transpose(y, [rhs_spec[lhs_spec.index(d)] for d in range(rank)])
    edges = [(0, 0, 0)] * rank
    for d, (low, high), apart in zip(spatial, padding, lhs_dilation, strict=True):
        edges[d] = (low, high, apart - 1)
    x = pad(x, np.zeros((), dtype), edges)
    window = list(typeof(y).shape)
    places = [out.shape[d] for d in out_spec[2:]]
    axis = lhs_spec[1] if window[lhs_spec[1]] > 1 or rank == 2 else spatial[0]
    pieces = max(n for n in range(1, 9) if window[axis] % n == 0)
    window[axis] //= pieces
    parts = _parts(y, axis, pieces)

    def at(x: Any, place: tuple[int, ...]) -> Any:
        start, step = [0] * rank, [1] * rank
        for d, k, stride, apart in zip(spatial, place, window_strides, rhs_dilation, strict=True):
            start[d], step[d] = k * stride, apart
        total = None
        for part in parts:
            limit = [a + (n - 1) * s + 1 for a, n, s in zip(start, window, step, strict=True)]
            product = mul(slice(x, start, limit, step), part)
            total = product if total is None else add(total, product)
            start[axis] += window[axis] * step[axis]
        return reshape(_summed_but(total, channel), (1, out.shape[out_spec[1]]))

    if math.prod(places) <= MOST_WRITTEN_OUT:
        sums = concatenate([at(x, place) for place in np.ndindex(*places)], 0)
    else:  # what is written out is compiled slowly
        rows = spatial[0]
        extent = (pieces if axis == rows else 1) * window[rows]
        extent = (extent - 1) * rhs_dilation[0] + 1

        def row(k: Any, _: Any) -> Any:
            part = dynamic_slice_in_dim(x, mul(k, np.int32(window_strides[0])), extent, rows)
            return add(k, np.int32(1)), concatenate([at(part, (0, *place)) for place in np.ndindex(*places[1:])], 0)

        _, sums = scan(row, np.int32(0), None, length=places[0])
    stacked = reshape(sums, (*places, out.shape[out_spec[1]], 1))
    return convert(_arranged(stacked, (*out_spec[2:], out_spec[1], out_spec[0])), out.dtype)


def _summed_but(x: Any, axis: int) -> Any:
    shape, dtype = typeof(x).shape, typeof(x).dtype
    before, n, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:])
    x = reshape(x, (before, n, after))
    x = dot_general(x, full((after,), 1, dtype), (((2,), (0,)), ((), ()))) if after > 1 else reshape(x, (before, n))
    return dot_general(full((before,), 1, dtype), x, (((0,), (0,)), ((), ())))


# --- kernels of one pixel -------------------------------------------------------------------------------------------

def _by_pixel(x: Any, y: Any, *, dimension_numbers: Any, precision: Any, out: Any, **params: Any) -> Any:
    """Features lie in front of pixels, so that each image is a matrix, and so is the kernel."""
    _, rhs_spec, _ = dimension_numbers
    n, features, *spatial = typeof(x).shape
    kernel = reshape(transpose(y, rhs_spec), (typeof(y).shape[rhs_spec[0]], features))
    kernels = broadcast_in_dim(kernel, (n, *typeof(kernel).shape), (1, 2))
    images = reshape(x, (n, features, math.prod(spatial)))
    product = dot_general(kernels, images, (((2,), (1,)), ((0,), (0,))), precision, out.dtype)
    return reshape(product, out.shape)


def _by_image(x: Any, y: Any, *, dimension_numbers: Any, precision: Any, out: Any, **params: Any) -> Any:
    """The window is as large as the image: one matrix product over all pixels."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    product = dot_general(x, y, ((tuple(lhs_spec[1:]), tuple(rhs_spec[1:])), ((), ())), precision, out.dtype)
    ones = (1,) * (len(lhs_spec) - 2)
    return _arranged(reshape(product, (*typeof(product).shape, *ones)), out_spec)


# --- long sequences -------------------------------------------------------------------------------------------------

def _is_sequence(x: Any, y: Any, out: Any, params: dict[str, Any]) -> bool:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    return (len(lhs_spec) == 3 and x.shape[lhs_spec[1]] == 1 == y.shape[rhs_spec[0]]
            and params["window_strides"] == params["lhs_dilation"] == params["rhs_dilation"] == (1,)
            and worthwhile(out.shape[out_spec[2]], y.shape[rhs_spec[2]], x.shape[lhs_spec[0]]))


def _by_frames(x: Any, y: Any, *, dimension_numbers: Any, padding: Any, precision: Any, out: Any, **params: Any) -> Any:
    """Sequences of one feature and a kernel for it."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x = reshape(transpose(x, lhs_spec), (typeof(x).shape[lhs_spec[0]], typeof(x).shape[lhs_spec[2]]))
    x = pad(x, np.zeros((), typeof(x).dtype), [(0, 0, 0), (*padding[0], 0)])
    result = correlated(x, reshape(y, (typeof(y).shape[rhs_spec[2]],)), out.dtype, precision)
    n, results = typeof(result).shape
    return _arranged(reshape(result, (n, 1, results)), out_spec)


def _by_parts(x: Any, y: Any, *, out: Any, **params: Any) -> Any:
    """Three convolutions of real numbers: (a + ib)(c + id) = k - b(c + d) + i(k + a(d - c)) with k = c(a + b)."""
    params["preferred_element_type"] = None
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    k = conv_general_dilated_p.bind(add(a, b), c, **params)
    re = sub(k, conv_general_dilated_p.bind(b, add(c, d), **params))
    im = add(k, conv_general_dilated_p.bind(a, sub(d, c), **params))
    return convert(from_parts(re, im), out.dtype)


# --- the choice -----------------------------------------------------------------------------------------------------

def _rewrite(x: Any, y: Any, out: Any, params: dict[str, Any]) -> tuple[Callable[..., Any], bool] | None:
    """A function that computes the convolution otherwise, and whether it is told the type of the result."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    kind, groups, batches = category(x.dtype), params["feature_group_count"], params["batch_group_count"]
    if kind == BOOL or not (all(out.shape) and all(x.shape) and all(y.shape)):
        return None
    if kind == COMPLEX:
        a, b, c = [v.update(dtype=dtypes.to_real_dtype(v.dtype)) for v in (x, y, out)]
        return (_by_parts, True) if shiftable(a, b, c, params) or _rewrite(a, b, c, params) is not None else None
    work = out.size * math.prod([y.shape[d] for d in rhs_spec[1:]])
    if batches > 1:
        places = math.prod([out.shape[d] for d in out_spec[2:]])
        if x.shape[lhs_spec[0]] == batches == y.shape[rhs_spec[0]] and places <= MOST_PLACES and kind == FLOAT:
            return _by_place, True
        return (_by_pairs, False) if work >= LEAST_WORK else None
    if groups > 1:
        return None if work < LEAST_WORK or groups > MOST_CONVOLUTIONS else (_one_by_one, False)
    if is_algorithm(params["precision"]):
        return None
    if kind == FLOAT and _is_sequence(x, y, out, params):
        return _by_frames, True
    if not _plain_window(params):
        return None
    if all(out.shape[d] == 1 for d in out_spec[2:]) and max([1, *[y.shape[d] for d in rhs_spec[2:]]]) > 1:
        return _by_image, True
    front = tuple(range(len(lhs_spec)))
    if (tuple(lhs_spec) == tuple(out_spec) == front and len(front) > 2 and all(y.shape[d] == 1 for d in rhs_spec[2:])
            and all(s == 1 for s in params["window_strides"]) and y.size * x.shape[0] <= x.size):
        return _by_pixel, True
    return None


def _plain_window(params: dict[str, Any]) -> bool:
    return (all(tuple(p) == (0, 0) for p in params["padding"])
            and all(d == 1 for d in (*params["lhs_dilation"], *params["rhs_dilation"])))


def _lower(ctx: Any, x: Any, y: Any, **params: Any) -> Any:
    images, kernel = ctx.avals_in
    (out,) = ctx.avals_out
    if cpu_fast_convolutions.value and all(type(n) is int for n in (*images.shape, *kernel.shape)):
        if shiftable(images, kernel, out, params):
            return lower_by_shifting(ctx, x, y, **params)
        found = _rewrite(images, kernel, out, params)
        if found is not None:
            fun, typed = found
            jaxpr, consts = trace_rule(fun, (images, kernel), dict(params, out=out) if typed else params)
            return emit_jaxpr(ctx, jaxpr, consts, [x, y], ctx.eqn)
    return lower(ctx, x, y, **params)


register_lowering(conv_general_dilated_p, _lower, platform="cpu")
