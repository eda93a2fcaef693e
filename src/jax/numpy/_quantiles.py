"""Quantiles, percentiles and medians: positions in sorted data.

The estimators are those of Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50
(1996), under NumPy's names.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._order_statistics import order_statistics
from jax.lax._select import where as _where
from jax.numpy import _reductions as red
from jax.numpy._promotion import as_dtype, check_arraylike, promote_dtypes_inexact, static_axis, unwrap

# Estimators given by where the quantile q of n elements lies: n q + alpha + q (1 - alpha - beta) - 1, counted from 0.
_CONTINUOUS = {"linear": (1.0, 1.0), "weibull": (0.0, 0.0), "hazen": (0.5, 0.5), "median_unbiased": (1 / 3, 1 / 3),
               "normal_unbiased": (3 / 8, 3 / 8), "interpolated_inverted_cdf": (0.0, 1.0)}
_DISCRETE = ("lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def quantile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
             keepdims: bool = False, *, weights: Any = None) -> Any:
    """The values below which fractions ``q`` of the elements over ``axis`` lie; NaN if there is a NaN or nothing.

    Args:
      a: a real array; integers are converted to the default float.
      q: a number or a one-dimensional array of numbers in [0, 1]; others are taken to the nearer bound.
      axis: an axis, a tuple of axes, or None for all.
      out: not supported.
      overwrite_input: not supported.
      method: how to estimate between elements, one of NumPy's names.
      keepdims: keep reduced axes with size 1.
      weights: of elements, broadcast against ``a``, for ``method="inverted_cdf"``.

    Returns:
      An array; if ``q`` has a dimension, it comes first.

    >>> import jax.numpy as jnp
    >>> float(jnp.quantile(jnp.array([1., 2., 4.]), 0.5))
    2.0
    """
    return _call("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights)


def nanquantile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Any:
    """``jnp.quantile`` of the elements that are not NaN; NaN where all are."""
    return _call("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights)


def percentile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, weights: Any = None, out_sharding: Any = None) -> Any:
    """``jnp.quantile`` with ``q`` in percent."""
    return _call("percentile", a, q, axis, out, overwrite_input, method, keepdims, weights)


def nanpercentile(a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Any:
    """``jnp.nanquantile`` with ``q`` in percent."""
    return _call("nanpercentile", a, q, axis, out, overwrite_input, method, keepdims, weights)


def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle element over ``axis``, or the mean of the middle two; NaN if there is a NaN or nothing.

    Arguments as for ``jnp.quantile``.
    """
    _refuse("median", out, overwrite_input)
    return _median(a, static_axis(axis), builtins.bool(keepdims))


def nanmedian(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Any:
    """``jnp.median`` of the elements that are not NaN; NaN where all are."""
    return _call("nanmedian", a, 0.5, axis, out, overwrite_input, "linear", keepdims, None)


def _refuse(name: str, out: Any, overwrite_input: bool) -> None:
    if out is not None or overwrite_input:
        raise ValueError(f"{name}: arrays cannot be written into, so out= and overwrite_input= are not supported; use "
                         "the returned array")


def _call(name: str, a: Any, q: Any, axis: Any, out: Any, overwrite_input: bool, method: str, keepdims: Any,
          weights: Any) -> Any:
    _refuse(name, out, overwrite_input)
    if method not in _CONTINUOUS and method not in _DISCRETE:
        raise ValueError(f"{name}: method={method!r} is not known; use one of "
                         f"{', '.join(map(repr, (*_CONTINUOUS, *_DISCRETE)))}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{name}: weights are for method='inverted_cdf', got method={method!r}")
    return _quantile(a, q, weights, name, static_axis(axis), method, builtins.bool(keepdims))


# --- sorting --------------------------------------------------------------------------------------------------------

def _real(name: str, *args: Any) -> list[Any]:
    check_arraylike(name, *args)
    for x in args:
        if category(typeof(unwrap(x)).dtype) == "complex":
            raise ValueError(f"{name}: complex numbers have no order; take the quantiles of a real function of them")
    return [red.strongly(x) if hasattr(x, "aval") else x for x in promote_dtypes_inexact(*args)]


def _rows(a: Any, axes: tuple[int, ...]) -> Any:
    """``a`` with the reduced axes made one, the last."""
    shape = typeof(a).shape
    kept = [d for d in range(len(shape)) if d not in axes]
    a = lax.transpose(a, (*kept, *axes))
    return lax.reshape(a, (*[shape[d] for d in kept], dims.size_of([shape[d] for d in axes])))


def _take(x: Any, places: Any) -> Any:
    """``x`` at ``places`` along the last axis; the other axes run in parallel."""
    rank = len(typeof(x).shape)
    others = tuple(range(rank - 1))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(rank - 1,), start_index_map=(rank - 1,), operand_batching_dims=others,
        start_indices_batching_dims=others)
    return lax.gather(x, lax.expand_dims(places, (rank,)), numbers, (1,) * rank, mode="promise_in_bounds")


@composite(static_argnames=("axis", "keepdims"))
def _median(a: Any, axis: Any, keepdims: bool) -> Any:
    """The places are known: one, or two in the middle."""
    (a,) = _real("median", a)
    shape = typeof(a).shape
    axes = red.reduced_axes("median", axis, shape)
    rows = _rows(a, axes)
    n = typeof(rows).shape[-1]
    last = len(typeof(rows).shape) - 1
    dtype = typeof(rows).dtype
    if n == 0:
        out = lax.full(typeof(rows).shape[:-1], np.nan, dtype)
    else:
        middle = np.array([n // 2] if n % 2 else [n // 2 - 1, n // 2], np.int32)
        places = lax.broadcast_in_dim(middle, (*typeof(rows).shape[:-1], len(middle)), (last,))
        found = order_statistics(rows, places)
        out, *high = (lax.index_in_dim(found, j, last, keepdims=False) for j in range(len(middle)))
        if high:
            out = _between(out, high[0], constant(dtype, 0.5))
        missing = lax.reduce_or(lax.ne(rows, rows), (last,))
        out = _where(missing, constant(dtype, np.nan), out)
    return red.restore_axes(out, shape, axes) if keepdims else out


def _between(low: Any, high: Any, weight: Any) -> Any:
    """``low + weight * (high - low)``, exact at both ends and for equal infinities."""
    one = constant(typeof(low).dtype, 1)
    mix = lax.add(lax.mul(low, lax.sub(one, weight)), lax.mul(high, weight))
    return _where(lax.eq(low, high), low, mix)


# --- estimating -----------------------------------------------------------------------------------------------------

@composite(static_argnames=("name", "axis", "method", "keepdims"))
def _quantile(a: Any, q: Any, weights: Any, name: str, axis: Any, method: str, keepdims: bool) -> Any:
    a, q = _real(name, a, q)
    q_shape = typeof(q).shape
    if len(q_shape) > 1:
        raise ValueError(f"{name}: q must be a number or one-dimensional, got shape {q_shape}")
    dtype = typeof(a).dtype
    fine = dtype if dtype == np.float64 else np.dtype(np.float32)  # positions need more digits than half precision has
    q = lax.reshape(as_dtype(q, fine, False), (dims.size_of(q_shape),))
    if "percentile" in name:
        q = lax.div(q, constant(fine, 100))
    q = lax.clamp(constant(fine, 0), q, constant(fine, 1))
    shape = typeof(a).shape
    axes = red.reduced_axes(name, axis, shape)
    rows = _rows(a, axes)
    if dims.is_zero(dims.size_of(typeof(rows).shape)):
        out = lax.full((*typeof(rows).shape[:-1], *typeof(q).shape), np.nan, dtype)
    elif weights is None:
        out = _unweighted(rows, q, fine, method, name.startswith("nan"))
    else:
        out = _weighted(rows, _rows(_spread_weights(name, weights, shape, axis, fine), axes), q, name.startswith("nan"))
    rank = len(typeof(out).shape)
    out = lax.transpose(out, (rank - 1, *range(rank - 1)))  # q comes first
    if keepdims:
        out = _keep(out, shape, axes)
    return out if q_shape else lax.squeeze(out, (0,))


def _keep(out: Any, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Any:
    kept = [d for d in range(len(shape)) if d not in axes]
    full = tuple([1 if d in axes else n for d, n in enumerate(shape)])
    return lax.broadcast_in_dim(out, (typeof(out).shape[0], *full), (0, *[d + 1 for d in kept]))


def _unweighted(rows: Any, q: Any, fine: Any, method: str, skip_nan: bool) -> Any:
    shape = typeof(rows).shape
    full = (*shape[:-1], typeof(q).shape[0])
    missing = lax.ne(rows, rows)
    row_axes = tuple(range(len(shape) - 1))
    q = lax.broadcast_in_dim(q, full, (len(full) - 1,))
    if skip_nan:
        n = lax.reduce_sum(lax.convert_element_type(lax.bitwise_not(missing), fine), (len(shape) - 1,))
        n = lax.broadcast_in_dim(n, full, row_axes)
    else:
        n = lax.full(full, shape[-1], fine)
    low, high, weight = _places(q, n, fine, method)
    dtype = typeof(rows).dtype
    low, high = (lax.convert_element_type(p, np.int32) for p in (low, high))
    if weight is None:
        out = order_statistics(rows, low)
    else:
        found = order_statistics(rows, lax.concatenate([low, high], len(shape) - 1))
        a, b = lax.split(found, (full[-1], full[-1]), len(shape) - 1)
        out = _between(a, b, lax.convert_element_type(weight, dtype))
    if skip_nan:
        bad = lax.eq(n, constant(fine, 0))
    else:
        bad = lax.broadcast_in_dim(lax.reduce_or(missing, (len(shape) - 1,)), full, row_axes)
    return _where(bad, constant(dtype, np.nan), out)


def _places(q: Any, n: Any, fine: Any, method: str) -> tuple[Any, Any, Any]:
    """The places between which each quantile lies and the weight of the upper one (None if there is only one place)."""
    zero, half, one = (constant(fine, v) for v in (0, 0.5, 1))
    last = lax.max(lax.sub(n, one), zero)
    weight = None
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        at = lax.mul(n, q)
        low = lax.sub(lax.ceil(at), one)
        high = low
        if method == "averaged_inverted_cdf":
            whole = lax.eq(at, lax.floor(at))
            high = _where(whole, lax.add(low, one), low)
            weight = _where(whole, half, zero)
        elif method == "closest_observation":
            low = high = lax.sub(lax.round(at, lax.RoundingMethod.TO_NEAREST_EVEN), one)
    else:
        alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
        if (alpha, beta) == (1.0, 1.0):
            at = lax.mul(q, last)
        else:
            shift = lax.add(constant(fine, alpha - 1), lax.mul(q, constant(fine, 1 - alpha - beta)))
            at = lax.add(lax.mul(n, q), shift)
        at = lax.clamp(lax.full_like(at, 0), at, last)
        low, high = lax.floor(at), lax.ceil(at)
        weight = lax.sub(at, low)
        if method == "lower":
            high, weight = low, None
        elif method == "higher":
            low, weight = high, None
        elif method == "nearest":
            low = high = lax.round(at, lax.RoundingMethod.TO_NEAREST_EVEN)
            weight = None
        elif method == "midpoint":
            weight = lax.full_like(at, 0.5)
    zeros = lax.full_like(last, 0)
    return lax.clamp(zeros, low, last), lax.clamp(zeros, high, last), weight


def _spread_weights(name: str, weights: Any, shape: tuple[Any, ...], axis: Any, dtype: Any) -> Any:
    check_arraylike(name, weights)
    weights = as_dtype(unwrap(weights), dtype, False)
    have = typeof(weights).shape
    if have == shape:
        return weights
    if axis is None:
        raise ValueError(f"{name}: weights of shape {have} for an array of shape {shape} need an axis")
    axes = red.reduced_axes(name, axis, shape)
    if have != tuple([shape[d] for d in axes]):
        raise ValueError(f"{name}: weights of shape {have} must have the shape of the array, {shape}, or its shape "
                         f"along axis={axis}")
    return lax.broadcast_in_dim(weights, shape, axes)


def _weighted(rows: Any, weights: Any, q: Any, skip_nan: bool) -> Any:
    """The first element at which the sum of weights reaches the fraction ``q`` of all of it."""
    shape = typeof(rows).shape
    last = len(shape) - 1
    fine = typeof(q).dtype
    missing = lax.ne(rows, rows)
    if skip_nan:
        weights = _where(missing, constant(fine, 0), weights)
    ordered, weights = lax.sort((rows, weights), dimension=last, num_keys=1)
    sums = lax.cumsum(weights, last)
    total = lax.slice_in_dim(sums, shape[last] - 1, shape[last], axis=last)
    goals = lax.mul(lax.broadcast_in_dim(total, (*shape[:-1], typeof(q).shape[0]), tuple(range(len(shape)))),
                    lax.broadcast_in_dim(q, (*shape[:-1], typeof(q).shape[0]), (last,)))
    cube = (*shape[:-1], typeof(q).shape[0], shape[-1])
    rows_at = (*range(last), last + 1)
    below = lax.lt(lax.broadcast_in_dim(sums, cube, rows_at), lax.broadcast_in_dim(goals, cube, tuple(range(last + 1))))
    unweighted = lax.eq(lax.broadcast_in_dim(sums, cube, rows_at), constant(fine, 0))  # before the first weight
    skipped = lax.convert_element_type(lax.bitwise_or(below, unweighted), np.int32)
    places = lax.min(lax.reduce_sum(skipped, (last + 1,)), np.int32(shape[-1] - 1))
    out = _take(ordered, places)
    dtype = typeof(rows).dtype
    bad = lax.eq(total, constant(fine, 0)) if skip_nan else \
        lax.expand_dims(lax.reduce_or(missing, (last,)), (last,))
    return _where(lax.broadcast_in_dim(bad, typeof(out).shape, tuple(range(len(shape)))), constant(dtype, np.nan), out)
