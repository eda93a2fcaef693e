"""Means, variances, standard deviations and weighted averages."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._language import dims
from jax._language.avals import typeof
from jax._language.trace import bottom, current_trace
from jax.lax._select import where as _where
from jax.numpy import _reductions as red
from jax.numpy._promotion import (
    as_dtype,
    broadcast_args,
    broadcast_to,
    check_arraylike,
    promote_dtypes_inexact,
    refuse_out,
    static_axis,
    unwrap,
)

_get_trace = current_trace.get
_PLAIN = frozenset(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


def _requested(name: str, dtype: Any) -> Any:
    return None if dtype is None else dtypes.requested_dtype(dtype, name)


def _count(shape: tuple[Any, ...], axes: tuple[int, ...], dtype: Any) -> Any:
    return constant(dtype, dims.size_of([shape[d] for d in axes]))


# --- mean -----------------------------------------------------------------------------------------------------------

def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
         where: Any = None) -> Any:
    """The arithmetic mean over ``axis``; NaN of nothing.

    64-bit integers are averaged in the default float, narrower ones, booleans and half-precision floats in float32.

    Args:
      a: an array or scalar.
      axis: an axis, a tuple of axes, or None for all.
      dtype: dtype of the result.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: booleans, broadcast with ``a``: which elements to take.

    >>> import jax.numpy as jnp
    >>> float(jnp.mean(jnp.array([1, 2, 6])))
    3.0
    """
    if dtype is None and out is None and where is None:
        aval = getattr(a, "aval", None)
        if _get_trace() is bottom or aval is None or aval.dtype not in _PLAIN or aval.weak_type:
            return _fast_mean(a, axis, keepdims)
        return _plain_mean(a, aval, red.reduced_axes("mean", static_axis(axis), aval.shape), keepdims)
    refuse_out("mean", out)
    return _mean(a, static_axis(axis), _requested("mean", dtype), builtins.bool(keepdims), where)


def _plain_mean(a: Any, aval: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The mean of elements that need no conversion."""
    total = lax.reduce_sum_p.bind(a, axes=axes, out_sharding=None)
    mean = lax.div_p.bind(total, _count(aval.shape, axes, aval.dtype))
    return red.restore_axes(mean, aval.shape, axes) if keepdims else mean


@composite(static_argnames=("axis", "dtype", "keepdims"))
def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    a = red.operand("mean", a)
    aval = typeof(a)
    result = dtypes.to_inexact_dtype(aval.dtype) if dtype is None else dtype
    inner = np.dtype(np.float32) if result in red._HALF else result
    whole = not dtypes.issubdtype(inner, np.inexact)
    counted_in = dtypes.scalar_dtype(int) if whole else inner
    a = as_dtype(a, inner, False)
    shape = typeof(a).shape
    axes = red.reduced_axes("mean", axis, shape)
    if where is None:
        count = _count(shape, axes, counted_in)
    else:
        where, a = broadcast_args("mean", unwrap(where), a)
        shape = typeof(a).shape
        axes = red.reduced_axes("mean", axis, shape)
        count = red.sum(where, axes, dtype=counted_in, keepdims=keepdims)
    total = red.sum(a, axes, dtype=None, keepdims=keepdims, where=where)
    if whole:  # the quotient of integers is rounded towards zero
        return as_dtype(lax.div(*promote_dtypes_inexact(total, count)), result, False)
    return as_dtype(lax.div(total, count), result, False) if result != inner else lax.div(total, count)


_fast_mean = red.fast(None, lambda a, axis, keepdims: _mean(a, axis, None, keepdims), frozenset(), {}, "mean")


# --- variance -------------------------------------------------------------------------------------------------------

def var(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False, *,
        where: Any = None, mean: Any = None, correction: Any = None) -> Any:
    """The variance over ``axis``: the mean squared distance from the mean; real for complex numbers.

    Args:
      a: an array or scalar.
      axis: an axis, a tuple of axes, or None for all.
      dtype: dtype of the result.
      out: not supported.
      ddof: what is subtracted from the number of elements in the divisor. NaN where the divisor is not positive.
      keepdims: keep reduced axes with size 1.
      where: booleans, broadcast with ``a``: which elements to take.
      mean: the mean, if known, with the reduced axes in place.
      correction: another name of ``ddof``.

    Raises:
      ValueError: when both ``ddof`` and ``correction`` are given; for a real dtype of complex numbers' variance.
    """
    refuse_out("var", out)
    return _var(a, mean, _correction("var", ddof, correction), static_axis(axis), _requested("var", dtype),
                builtins.bool(keepdims), where)


def std(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False, *,
        where: Any = None, mean: Any = None, correction: Any = None) -> Any:
    """The standard deviation over ``axis``: the square root of ``jnp.var``, whose arguments it takes."""
    refuse_out("std", out)
    dtype = _requested("std", dtype)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"std: dtype must be floating or complex, got {dtype}")
    return _std(a, mean, _correction("std", ddof, correction), static_axis(axis), dtype, builtins.bool(keepdims),
                where)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError(f"{name}: ddof and correction are the same; give one of them")
    return correction


@composite(static_argnames=("axis", "dtype", "keepdims"))
def _std(a: Any, mean: Any, ddof: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    check_arraylike("std", a)
    return lax.sqrt(_var(a, mean, ddof, axis, dtype, keepdims, where))


@composite(static_argnames=("axis", "dtype", "keepdims"))
def _var(a: Any, mean: Any, ddof: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    a = red.operand("var", a)
    have = typeof(a).dtype
    if dtype is not None and category(dtype) != "complex" and category(have) == "complex":
        raise ValueError(f"var: the variance of {have} numbers was asked for as {dtype}; use a complex dtype, or "
                         "separate jnp.real(x) and jnp.imag(x)")
    computed = dtypes.to_inexact_dtype(have)
    if dtype is not None:
        computed = dtypes.promote_types(computed, dtypes.to_inexact_dtype(dtype))
    result = dtypes.to_real_dtype(computed) if dtype is None else dtypes.to_real_dtype(dtype)
    if computed in red._HALF:
        computed = np.dtype(np.float32)
    a = as_dtype(a, computed, False)
    if where is not None:
        where, a = broadcast_args("var", unwrap(where), a)
    shape = typeof(a).shape
    axes = red.reduced_axes("var", axis, shape)
    if mean is not None:
        center = _given_mean(mean, computed, shape, axes)
    elif where is None:
        center = _plain_mean(a, typeof(a), axes, len(axes) < len(shape))
    else:
        center = _mean(a, axes, None, True, where)
    distance = lax.sub(a, center)
    if category(computed) == "complex":
        distance = lax.add(lax.square(lax.real(distance)), lax.square(lax.imag(distance)))
    else:
        distance = lax.square(distance)
    real = typeof(distance).dtype
    count = _count(shape, axes, real) if where is None else red.sum(where, axes, dtype=real, keepdims=keepdims)
    if where is None:
        total = lax.reduce_sum_p.bind(distance, axes=axes, out_sharding=None)
        total = red.restore_axes(total, shape, axes) if keepdims else total
    else:
        total = red.sum(distance, axes, keepdims=keepdims, where=where)
    out = _divided(total, count, ddof, real)
    return out if result == real else lax.convert_element_type(out, result)


def _given_mean(mean: Any, dtype: Any, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Any:
    check_arraylike("var", mean)
    mean = as_dtype(unwrap(mean), dtype, False)
    have = typeof(mean).shape
    if len(have) == len(shape) - len(axes) and have == tuple([n for d, n in enumerate(shape) if d not in axes]):
        return red.restore_axes(mean, shape, axes)
    return broadcast_to(mean, shape)


def _divided(total: Any, count: Any, ddof: Any, dtype: Any) -> Any:
    """The quotient with the corrected count, NaN where that is not positive."""
    nan = constant(dtype, np.nan)
    if isinstance(ddof, int | float) and isinstance(count, np.ndarray):
        divisor = constant(dtype, builtins.float(count) - ddof)
        return lax.div(total, divisor) if divisor > 0 else lax.full_like(total, nan)
    divisor = lax.sub(count, as_dtype(unwrap(ddof), dtype, False))
    return _where(lax.gt(divisor, constant(dtype, 0)), lax.div(total, divisor), nan)


# --- average --------------------------------------------------------------------------------------------------------

def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The weighted mean over ``axis``.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      weights: of the shape of ``a``, or of ``a`` along ``axis``; equal ones by default.
      returned: return ``(average, sum of weights)``.
      keepdims: keep reduced axes with size 1.

    Raises:
      ValueError: when shapes differ and there is no ``axis``, or the weights do not have the shape of ``a`` along it.
    """
    out = _average(a, weights, static_axis(axis), builtins.bool(keepdims))
    return out if returned else out[0]


@composite(static_argnames=("axis", "keepdims"))
def _average(a: Any, weights: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    check_arraylike("average", a)
    if weights is None:
        out = _mean(a, axis, None, keepdims)
        n = dims.size_of([np.shape(unwrap(a))[d] for d in red.reduced_axes("average", axis, np.shape(unwrap(a)))])
        return out, lax.full_like(out, n)
    check_arraylike("average", weights)
    a, weights = promote_dtypes_inexact(a, weights)
    shape, have = typeof(a).shape, typeof(weights).shape
    axes = red.reduced_axes("average", axis, shape)
    if have != shape:
        if axis is None:
            raise ValueError(f"average: weights of shape {have} for an array of shape {shape} need an axis")
        wanted = tuple([shape[d] for d in axes])
        order = axis if type(axis) is tuple else (axis,)
        if have != tuple([shape[d] for d in order]):
            raise ValueError(f"average: weights of shape {have} must have the shape of the array, {shape}, or its "
                             f"shape along axis={axis}, {wanted}")
        front = [d % len(shape) for d in order]
        weights = lax.transpose(weights, sorted(range(len(front)), key=front.__getitem__))
        weights = lax.broadcast_in_dim(weights, shape, axes)
    total = red.sum(weights, axes, keepdims=keepdims)
    return lax.div(red.sum(lax.mul(a, weights), axes, keepdims=keepdims), total), total
