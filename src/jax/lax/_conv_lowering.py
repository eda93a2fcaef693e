"""How convolutions become StableHLO."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import BOOL, COMPLEX, FLOAT, category
from jax._lowering import barriers, hlo
from jax._lowering.passes.fences import LEAST_WORK_IN_LOOPS
from jax.lax._precision import is_algorithm


def _convolve(x: Any, y: Any, out: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
              dimension_numbers: Any, feature_group_count: int, batch_group_count: int, precision: Any) -> Any:
    if is_algorithm(precision):  # convolutions have levels only
        precision = "HIGHEST" if "F32_F32_F32" in str(precision) else None
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    return hlo.convolution(x, y, out, lhs_spec=lhs_spec, rhs_spec=rhs_spec, out_spec=out_spec, strides=window_strides,
                           padding=padding, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
                           feature_group_count=feature_group_count, batch_group_count=batch_group_count,
                           precision=precision)


def lower(ctx: Any, x: Any, y: Any, *, preferred_element_type: Any, out_sharding: Any, **params: Any) -> Any:
    """XLA's convolution; of complex numbers three."""
    (out,) = ctx.avals_out
    if category(ctx.avals_in[0].dtype) != COMPLEX:
        return [_convolve(x, y, out, **params)]
    # (a + ib)(c + id) = k - b(c + d) + i(k + a(d - c)) with k = c(a + b)
    real_out = out.update(dtype=dtypes.to_real_dtype(ctx.avals_in[0].dtype))
    a, b, c, d = hlo.real(x), hlo.imag(x), hlo.real(y), hlo.imag(y)
    k = _convolve(hlo.add(a, b), c, real_out, **params)
    real = hlo.subtract(k, _convolve(b, hlo.add(c, d), real_out, **params))
    imag = hlo.add(k, _convolve(a, hlo.subtract(d, c), real_out, **params))
    whole = out.update(dtype=ctx.avals_in[0].dtype)
    return [hlo.convert_element_type(hlo.complex(real, imag), whole, out)]


# --- many small groups on CPUs --------------------------------------------------------------------------------------
# XLA has no good code for depthwise convolutions and others with many groups of few features on CPUs. A sum of products
# of shifted images, one for each element of the kernel that a result depends on, is up to seventy times faster.

_MOST_PRODUCTS = {"last": 64, "before": 100}  # where features lie: outputs of a group are side by side if they are last


def shiftable(images: Any, kernel: Any, out: Any, params: dict[str, Any]) -> bool:
    """Whether a convolution has many groups of few features."""
    lhs_spec, rhs_spec, _ = params["dimension_numbers"]
    products = math.prod([kernel.shape[d] for d in rhs_spec[1:]])
    most = _MOST_PRODUCTS["last" if lhs_spec[1] == len(lhs_spec) - 1 else "before"]
    return (params["feature_group_count"] >= 4 and params["batch_group_count"] == 1 and 0 < products <= most
            and category(images.dtype) not in (BOOL, COMPLEX) and all(out.shape) and all(images.shape))


def lower_by_shifting(ctx: Any, x: Any, y: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
                      dimension_numbers: Any, feature_group_count: int, **params: Any) -> Any:
    (images, kernel), (out,) = ctx.avals_in, ctx.avals_out
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank, channel = len(images.shape), lhs_spec[1]
    sizes = [kernel.shape[d] for d in rhs_spec]
    each = sizes[0] // feature_group_count  # output features of a group
    dtype = accumulator(out.dtype)
    # Whatever is fused with this sum would be computed again for each product, and the sum in whatever reads it.
    x = _kept(ctx, x, out)
    x = hlo.convert_element_type(x, images, images.update(dtype=dtype))
    x = _padded(x, lhs_spec, padding, lhs_dilation, rank, dtype)
    # Results while they are summed: in the layout of the images, with the outputs of a group as one more dimension.
    shape = list(images.shape)
    for i, o in zip(lhs_spec[2:], out_spec[2:], strict=True):
        shape[i] = out.shape[o]
    shape[channel] = feature_group_count
    grouped = [*shape[:channel + 1], each, *shape[channel + 1:]]
    without_each = [d for d in range(rank + 1) if d != channel + 1]
    aval = images.update(shape=tuple(grouped), dtype=dtype)
    weight = kernel.update(shape=(feature_group_count, each), dtype=dtype)
    total = None
    for place in itertools.product(*map(range, sizes[1:])):
        start, step = [0] * rank, [1] * rank
        start[channel], step[channel] = place[0], sizes[1]
        for d, k, stride, dilation in zip(lhs_spec[2:], place[1:], window_strides, rhs_dilation, strict=True):
            start[d], step[d] = k * dilation, stride
        limit = [a + (n - 1) * s + 1 for a, n, s in zip(start, shape, step, strict=True)]
        shifted = hlo.broadcast_in_dim(hlo.slice(x, start, limit, step), aval, without_each)
        factor = hlo.broadcast_in_dim(_weights(y, kernel, weight, rhs_spec, place), aval, (channel, channel + 1))
        product = hlo.multiply(shifted, factor)
        total = product if total is None else hlo.add(total, product)
    shape[channel] *= each
    result = images.update(shape=tuple(shape), dtype=dtype)
    total = hlo.reshape(total, result)
    if tuple(lhs_spec) != tuple(out_spec):
        order = [lhs_spec[tuple(out_spec).index(d)] for d in range(rank)]
        result = out.update(dtype=dtype)
        total = hlo.transpose(total, result, order)
    return [_kept(ctx, hlo.convert_element_type(total, result, out), out)]


def _kept(ctx: Any, x: Any, out: Any) -> Any:
    """``x`` behind a fence, unless it is small and in a loop, where fences take some microseconds."""
    small = out.size < LEAST_WORK_IN_LOOPS // 10
    return x if small and ctx.module_context.state.loops else barriers.fence(ctx, x)


def accumulator(dtype: Any) -> Any:
    """Sums of narrow floats are formed in float32."""
    return np.dtype(np.float32) if category(dtype) == FLOAT and dtype.itemsize < 4 else dtype


def _padded(x: Any, spec: Any, padding: Any, dilation: Any, rank: int, dtype: Any) -> Any:
    low, high, interior = [0] * rank, [0] * rank, [0] * rank
    for d, (before, after), apart in zip(spec[2:], padding, dilation, strict=True):
        low[d], high[d], interior[d] = before, after, apart - 1
    if not (any(low) or any(high) or any(interior)):
        return x
    return hlo.pad(x, hlo.scalar_constant(0, dtype), low, high, interior)


def _weights(y: Any, kernel: Any, weight: Any, spec: Any, place: tuple[int, ...]) -> Any:
    """The kernel at one place, for each group and output of the group."""
    start, limit = [0] * len(spec), list(kernel.shape)
    for d, k in zip(spec[1:], place, strict=True):
        start[d], limit[d] = k, k + 1
    one = hlo.reshape(hlo.slice(y, start, limit), weight.update(dtype=kernel.dtype))
    return hlo.convert_element_type(one, weight.update(dtype=kernel.dtype), weight)
