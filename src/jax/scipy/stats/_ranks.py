"""Descriptive statistics: modes, ranks, the standard error of the mean."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, static_axis, unwrap


class ModeResult(NamedTuple):
    """What :func:`mode` returns."""
    mode: Any
    count: Any


def _policy(name: str, nan_policy: str, supported: tuple[str, ...] = ("propagate",)) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}")
    if nan_policy == "raise":
        raise NotImplementedError(f"{name}: nan_policy='raise' would need values while a program is traced; check "
                                  "jnp.isnan(a).any() before")
    if nan_policy not in supported:
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not supported; use 'propagate', or give NaNs a "
                                  "value of their own first")


def _along(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """``a`` with the axis to work along; raveled if that is None."""
    check_arraylike(name, a)
    a = jnp.asarray(unwrap(a))
    if axis is None:
        return a.ravel(), 0
    if a.ndim == 0:
        a = a[None]
    if not -a.ndim <= axis < a.ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for an array of shape {a.shape}")
    return a, axis % a.ndim


# --- modes ----------------------------------------------------------------------------------------------------------


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent values along an axis, and how often they come; the least of them in a tie.

    Args:
      a: an array. NaNs count as equal to each other and as larger than all else.
      axis: the axis, or None for the raveled array.
      nan_policy: ``"propagate"``.
      keepdims: keep the axis with size 1.

    Returns:
      ``ModeResult(mode, count)``; NaN and 0 along an empty axis.

    Raises:
      NotImplementedError: for other policies, which SciPy has.

    >>> import jax.numpy as jnp
    >>> int(mode(jnp.array([1, 3, 3, 2])).mode)
    3
    """
    _policy("scipy.stats.mode", nan_policy)
    return ModeResult(*_mode(a, axis=static_axis(axis), keepdims=bool(keepdims)))


@functools.partial(composite, static_argnames=("axis", "keepdims"))
def _mode(a: Any, axis: int | None, keepdims: bool) -> tuple[Any, Any]:
    rank = jnp.ndim(a)
    a, along = _along("scipy.stats.mode", a, axis)
    if not a.shape[along]:
        float_dtype = dtypes.to_inexact_dtype(a.dtype)
        shape = (*a.shape[:along], 1, *a.shape[along + 1:])
        value, count = jnp.full(shape, jnp.nan, float_dtype), jnp.zeros(shape, float_dtype)
    else:
        a = jnp.sort(a, axis=along)
        first, size = _runs(a, along)
        # where runs begin, their sizes; of equal ones argmax takes the first
        count = jnp.where(first, size, jnp.zeros_like(size))
        at = jnp.argmax(count, axis=along, keepdims=True)
        value, count = jnp.take_along_axis(a, at, axis=along), jnp.take_along_axis(count, at, axis=along)
    if not keepdims:
        return jnp.squeeze(value, along), jnp.squeeze(count, along)
    if axis is None and rank > 1:
        return value.reshape((1,) * rank), count.reshape((1,) * rank)
    return value, count


def _runs(a: Any, axis: int) -> tuple[Any, Any]:
    """Of values sorted along ``axis``: where runs of equal ones begin, and the size of each element's run."""
    n = a.shape[axis]
    before, after = lax.slice_in_dim(a, 0, n - 1, axis=axis), lax.slice_in_dim(a, 1, n, axis=axis)
    differ = before != after
    if jnp.issubdtype(a.dtype, jnp.inexact):
        differ &= ~(jnp.isnan(before) & jnp.isnan(after))
    edge = jnp.ones_like(lax.slice_in_dim(a, 0, 1, axis=axis), dtype=bool)
    first = jnp.concatenate([edge, differ], axis=axis)
    last = jnp.concatenate([differ, edge], axis=axis)
    index = lax.broadcasted_iota(dtypes.scalar_dtype(int), a.shape, axis)
    start = lax.cummax(jnp.where(first, index, jnp.zeros_like(index)), axis=axis)
    end = lax.cummin(jnp.where(last, index, jnp.full_like(index, n - 1)), axis=axis, reverse=True)
    return first, end - start + 1


# --- ranks ----------------------------------------------------------------------------------------------------------


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """The ranks of values, from 1.

    Args:
      a: an array.
      method: what equal values get: ``"average"``, ``"min"`` or ``"max"`` of their places, ``"dense"`` (consecutive
        ranks for distinct values) or ``"ordinal"`` (their places, in order of appearance).
      axis: the axis to rank along; None ranks the raveled array.
      nan_policy: ``"propagate"``: ranks along an axis with a NaN are NaN.

    Returns:
      An array of the default float dtype (SciPy returns integers unless ``method`` is ``"average"``); one-dimensional
      when ``axis`` is None.

    Raises:
      ValueError: for other methods.
      NotImplementedError: for other policies.

    >>> import jax.numpy as jnp
    >>> rankdata(jnp.array([3, 1, 1])).tolist()
    [3.0, 1.5, 1.5]
    """
    _policy("scipy.stats.rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method {method!r}: scipy.stats.rankdata has 'average', 'min', 'max', 'dense' and "
                         "'ordinal'")
    return _rankdata(a, method=method, axis=static_axis(axis))


@functools.partial(composite, static_argnames=("method", "axis"))
def _rankdata(a: Any, method: str, axis: int | None) -> Any:
    a, along = _along("scipy.stats.rankdata", a, axis)
    out_dtype = dtypes.scalar_dtype(float)
    if not a.size:
        return jnp.zeros(a.shape, out_dtype)
    order = jnp.argsort(a, axis=along)
    places = jnp.argsort(order, axis=along)  # the inverse permutation
    if method == "ordinal":
        ranks = places + 1
    else:
        first, size = _runs(jnp.take_along_axis(a, order, axis=along), along)
        index = lax.broadcasted_iota(size.dtype, a.shape, along)
        if method == "dense":
            ranks = jnp.cumsum(first, axis=along, dtype=size.dtype)
        else:
            low = lax.cummax(jnp.where(first, index, jnp.zeros_like(index)), axis=along) + 1
            ranks = {"min": low, "max": low + size - 1, "average": low + 0.5 * (size - 1).astype(out_dtype)}[method]
        ranks = jnp.take_along_axis(ranks, places, axis=along)
    ranks = ranks.astype(out_dtype)
    if jnp.issubdtype(a.dtype, jnp.inexact):
        ranks = jnp.where(jnp.any(jnp.isnan(a), axis=along, keepdims=True), jnp.nan, ranks)
    return ranks


# --- the mean -------------------------------------------------------------------------------------------------------


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean, ``std(a, ddof) / sqrt(n)``.

    Args:
      a: a real array.
      axis: the axis, or None for all values.
      ddof: what is subtracted from the number of values in the variance.
      nan_policy: ``"propagate"``, or ``"omit"`` to leave NaNs out.
      keepdims: keep the axis with size 1.

    Raises:
      NotImplementedError: for ``nan_policy="raise"``.

    >>> import jax.numpy as jnp
    >>> round(float(sem(jnp.array([1.0, 2.0, 3.0]))), 4)
    0.5774
    """
    _policy("scipy.stats.sem", nan_policy, ("propagate", "omit"))
    return _sem(a, axis=static_axis(axis), ddof=ddof, omit=nan_policy == "omit", keepdims=bool(keepdims))


@functools.partial(composite, static_argnames=("axis", "ddof", "omit", "keepdims"))
def _sem(a: Any, axis: int | None, ddof: int, omit: bool, keepdims: bool) -> Any:
    check_arraylike("scipy.stats.sem", a)
    a = jnp.asarray(unwrap(a))
    a = a.astype(dtypes.to_inexact_dtype(a.dtype))
    if axis is not None and not a.ndim:
        a = a[None]
    if omit:
        count = jnp.sum(~jnp.isnan(a), axis=axis, keepdims=keepdims).astype(a.dtype)
        return jnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count)
    count = a.size if axis is None else a.shape[axis]
    return jnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(jnp.asarray(count, a.dtype))
