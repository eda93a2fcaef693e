"""Differences, derivatives and integrals of samples; covariances."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._ground.structural import convert
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_axis
from jax.numpy._joining import concatenate
from jax.numpy._promotion import (
    as_dtype,
    broadcast_to,
    check_arraylike,
    check_arraylike_or_none,
    promote_dtypes,
    promote_dtypes_inexact,
    shape_of,
    unwrap,
)
from jax.numpy._reductions import sum as _sum
from jax.numpy._shape import ravel
from jax.numpy._ufuncs_arithmetic import absolute, remainder


def _cut(x: Any, start: int, stop: int | None, axis: int, step: int = 1) -> Any:
    return lax.slice_in_dim(x, start, stop, step, axis)


def _along(values: Any, rank: int, axis: int) -> Any:
    """A vector as an array of rank ``rank`` that lies along ``axis``."""
    return lax.broadcast_in_dim(values, [shape_of(values)[0] if d == axis else 1 for d in range(rank)], (axis,))


# --- integrals ------------------------------------------------------------------------------------------------------

def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: samples along ``axis``.
      x: where they were taken: a vector, or an array that broadcasts with ``y``. None: ``dx`` apart.
      dx: their distance.
      axis: the axis to integrate over.

    Raises:
      ValueError: when ``x`` does not fit.
    """
    return _trapezoid(y, x, dx, axis=operator.index(axis))


@functools.partial(composite, static_argnames=("axis",))
def _trapezoid(y: Any, x: Any, dx: Any, axis: int) -> Any:
    check_arraylike_or_none("trapezoid", y, x, dx)
    if x is None:
        y, dx = promote_dtypes_inexact(unwrap(y), unwrap(dx))
        axis = canonical_axis(axis, len(shape_of(y)), "trapezoid")
        width = dx
        if shape_of(dx):  # distances between neighbours
            width = _along(dx, len(shape_of(y)), axis) if len(shape_of(dx)) == 1 else dx
    else:
        y, x = promote_dtypes_inexact(unwrap(y), unwrap(x))
        axis = canonical_axis(axis, len(shape_of(y)), "trapezoid")
        rank = len(shape_of(y))
        if len(shape_of(x)) == 1:
            x = _along(x, rank, axis)
        elif len(shape_of(x)) < rank:
            x = lax.expand_dims(x, tuple(range(rank - len(shape_of(x)))))
        width = _cut(x, 1, None, axis) - _cut(x, 0, -1, axis)
    heights = _cut(y, 1, None, axis) + _cut(y, 0, -1, axis)
    return as_dtype(0.5, typeof(heights).dtype, False) * _sum(heights * width, axis)


# --- differences ----------------------------------------------------------------------------------------------------

def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The ``n``-th difference of neighbours along ``axis``; of booleans, whether they differ.

    Args:
      a: an array of rank 1 at least.
      n: how often to take differences.
      axis: the axis.
      prepend, append: values to put at the ends of ``a`` along ``axis`` before: scalars, or arrays of its other sizes.

    Raises:
      ValueError: for scalars, a negative ``n``, or an axis that does not exist.
    """
    return _diff(a, prepend, append, n=operator.index(n), axis=operator.index(axis))


@functools.partial(composite, static_argnames=("n", "axis"))
def _diff(a: Any, prepend: Any, append: Any, n: int, axis: int) -> Any:
    check_arraylike_or_none("diff", a, prepend, append)
    if n < 0:
        raise ValueError(f"diff: the order n must not be negative, got {n}")
    a = unwrap(a)
    shape = shape_of(a)
    if not shape:
        raise ValueError("diff: an array of rank 1 at least is needed, got a scalar")
    if n == 0:
        return a
    axis = canonical_axis(axis, len(shape), "diff")
    parts = [a]
    for value, where in ((prepend, 0), (append, len(parts) + 1)):
        if value is not None:
            value = unwrap(value)
            if not shape_of(value):
                value = broadcast_to(value, (*shape[:axis], 1, *shape[axis + 1:]))
            parts.insert(where, value)
    a = concatenate(parts, axis) if len(parts) > 1 else a
    different = typeof(a).dtype == np.bool_
    for _ in range(n):
        if dims.is_zero(shape_of(a)[axis]):
            break
        high, low = _cut(a, 1, None, axis), _cut(a, 0, -1, axis)
        a = lax.ne(high, low) if different else lax.sub(high, low)
    return a


@composite
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of the flattened array, with ``to_begin`` before and ``to_end`` behind them.

    Values for the ends are converted to the dtype of ``ary``.
    """
    check_arraylike_or_none("ediff1d", ary, to_end, to_begin)
    ary = ravel(unwrap(ary))
    dtype = typeof(ary).dtype
    out = [lax.sub(_cut(ary, 1, None, 0), _cut(ary, 0, -1, 0)) if shape_of(ary)[0] else ary]
    if to_begin is not None:
        out.insert(0, convert(ravel(unwrap(to_begin)), dtype))
    if to_end is not None:
        out.append(convert(ravel(unwrap(to_end)), dtype))
    return concatenate(out) if len(out) > 1 else out[0]


# --- gradient -------------------------------------------------------------------------------------------------------

def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Derivatives of samples, by central differences inside and one-sided ones at the ends.

    Args:
      f: samples.
      *varargs: nothing (distance 1), one distance for all axes, or for each axis a distance or a vector of positions.
      axis: one axis or several; None: all.
      edge_order: accuracy at the ends, 1 (None) or 2.

    Returns:
      An array like ``f``, or a list of them when there are several axes.

    Raises:
      ValueError: when distances do not fit, or an axis has too few samples.
    """
    order = 1 if edge_order is None else operator.index(edge_order)
    if order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    if axis is not None and not isinstance(axis, int):
        axis = tuple(map(operator.index, axis)) if hasattr(axis, "__len__") else operator.index(axis)
    return _gradient(f, list(varargs), axis=axis, order=order)


@functools.partial(composite, static_argnames=("axis", "order"))
def _gradient(f: Any, spacing: list[Any], axis: Any, order: int) -> Any:
    check_arraylike("gradient", f, *spacing)
    f, *spacing = promote_dtypes_inexact(unwrap(f), *map(unwrap, spacing))
    shape = shape_of(f)
    axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple([canonical_axis(d, len(shape), "gradient") for d in axes])
    if not spacing:
        spacing = [as_dtype(1, typeof(f).dtype, False)] * len(axes)
    elif len(spacing) == 1 and not shape_of(spacing[0]):
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise ValueError(f"gradient: {len(spacing)} distances for {len(axes)} axes; give one for all, or one for each")
    out = []
    for d, h in zip(axes, spacing, strict=True):
        if shape[d] < order + 1:
            raise ValueError(f"gradient: axis {d} of an array of shape {shape} has too few samples, at least {order + 1} "
                             "are needed")
        if not shape_of(h):
            out.append(_gradient_even(f, h, d, order))
        elif len(shape_of(h)) == 1 and dims.dim_eq(shape_of(h)[0], shape[d]):
            out.append(_gradient_uneven(f, h, d, order))
        else:
            raise ValueError(f"gradient: positions along axis {d} must be a vector of {shape[d]} elements, got shape "
                             f"{shape_of(h)}")
    return out if len(axes) != 1 else out[0]


def _gradient_even(f: Any, h: Any, axis: int, order: int) -> Any:
    dtype = typeof(f).dtype

    def c(value: float) -> Any:
        return as_dtype(value, dtype, False)

    inner = (_cut(f, 2, None, axis) - _cut(f, 0, -2, axis)) * c(0.5)
    at = [_cut(f, i, i + 1, axis) for i in range(order + 1)]
    n = shape_of(f)[axis]
    end = [_cut(f, n - 1 - i, n - i, axis) for i in range(order + 1)]
    if order == 1:
        first, last = at[1] - at[0], end[0] - end[1]
    else:
        first = c(2) * at[1] - c(1.5) * at[0] - c(0.5) * at[2]
        last = c(1.5) * end[0] - c(2) * end[1] + c(0.5) * end[2]
    return concatenate([first, inner, last], axis) / h


def _gradient_uneven(f: Any, x: Any, axis: int, order: int) -> Any:
    """Second-order differences for neighbours at unequal distances, from the parabola through three samples."""
    rank, n = len(shape_of(f)), shape_of(f)[axis]
    steps = _along(x[1:] - x[:-1], rank, axis)
    at = [_cut(f, i, i + 1, axis) for i in range(order + 1)]
    end = [_cut(f, n - 1 - i, n - i, axis) for i in range(order + 1)]
    before, after = _cut(steps, 0, -1, axis), _cut(steps, 1, None, axis)
    total = before + after
    inner = (_cut(f, 2, None, axis) * before / (after * total)
             + _cut(f, 1, -1, axis) * (after - before) / (before * after)
             - _cut(f, 0, -2, axis) * after / (before * total))
    h = [_cut(steps, i, i + 1, axis) for i in range(order)]
    g = [_cut(steps, n - 2 - i, n - 1 - i, axis) for i in range(order)]
    if order == 1:
        first, last = (at[1] - at[0]) / h[0], (end[0] - end[1]) / g[0]
    else:
        first, last = _parabola_end(at, h[0], h[1]), -_parabola_end(end, g[0], g[1])
    return concatenate([first, inner, last], axis)


def _parabola_end(f: list[Any], h1: Any, h2: Any) -> Any:
    """The slope at the first of three samples at distances ``h1`` and ``h2``."""
    total = h1 + h2
    return -f[0] * (h1 + total) / (h1 * total) + f[1] * total / (h1 * h2) - f[2] * h1 / (h2 * total)


# --- unwrap ---------------------------------------------------------------------------------------------------------

def unwrap_phase(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """Angles without jumps: multiples of ``period`` are added so that neighbours differ by half of it at most.

    Args:
      p: angles along ``axis``.
      discont: differences up to this size stay; at least (None) half of ``period``.
      axis: the axis.
      period: of the angles.
    """
    return _unwrap_phase(p, discont, period, axis=operator.index(axis))


unwrap_phase.__name__ = unwrap_phase.__qualname__ = "unwrap"


@functools.partial(composite, static_argnames=("axis",))
def _unwrap_phase(p: Any, discont: Any, period: Any, axis: int) -> Any:
    check_arraylike_or_none("unwrap", p, discont, period)
    p, period = promote_dtypes(unwrap(p), unwrap(period))
    dtype = typeof(p).dtype
    if category(dtype) == "complex":
        raise ValueError(f"unwrap: angles are real numbers, got {dtype}")
    if not shape_of(p):
        raise ValueError("unwrap: an array of rank 1 at least is needed, got a scalar")
    axis = canonical_axis(axis, len(shape_of(p)), "unwrap")
    whole = category(dtype) in ("signed", "unsigned")
    half = period // 2 if whole else period / 2
    step = _cut(p, 1, None, axis) - _cut(p, 0, -1, axis)
    wrapped = remainder(step + half, period) - half
    at_end = (wrapped == -half) & (step > 0)
    if whole:  # an odd period has no middle
        at_end = at_end & (remainder(period, constant(dtype, 2)) == 0)
    wrapped = lax.select(at_end, broadcast_to(half, shape_of(wrapped)), wrapped)
    limit = half if discont is None else unwrap(discont)
    small = absolute(step) < limit
    change = lax.select(small, lax.full_like(step, 0), wrapped - step)
    rest = lax.cumsum(change, axis) + _cut(p, 1, None, axis)
    return concatenate([_cut(p, 0, 1, axis), rest], axis)
