"""Putting arrays together, taking them apart, repeating them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim, canonicalize_shape
from jax._language.trace import Tracer
from jax.errors import ConcretizationTypeError
from jax.numpy._creation import _strong, asarray
from jax.numpy._promotion import as_dtype, check_arraylike, refuse_out, shape_of, unwrap
from jax.numpy._shape import atleast_1d, atleast_2d, atleast_3d, moveaxis, ravel

_Array = xla.Array


# --- concatenate ----------------------------------------------------------------------------------------------------

def _sequence(name: str, arrays: Any) -> list[Any]:
    """The arrays of a sequence, or the slices of an array along its first axis."""
    if isinstance(arrays, _Array):
        if not arrays.shape:
            raise ValueError(f"{name}: a sequence of arrays is needed, got an array without dimensions")
        return list(lax.unstack(arrays))
    if isinstance(arrays, np.ndarray):
        return list(arrays)
    if not isinstance(arrays, (list, tuple)):
        if not isinstance(arrays, Sequence):
            raise TypeError(f"{name}: a list or tuple of arrays is needed, got {type(arrays).__name__}")
        arrays = list(arrays)
    check_arraylike(name, *arrays)
    return [unwrap(x) for x in arrays]


def _promoted(name: str, arrays: Sequence[Any], dtype: Any) -> list[Any]:
    """The arrays in their common dtype, or in ``dtype``."""
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, name)
        return [_strong(x, dtype) for x in arrays]
    first = arrays[0]
    if isinstance(first, _Array):
        aval = typeof(first)
        for x in arrays:
            if not isinstance(x, _Array) or x.dtype != aval.dtype or typeof(x).weak_type != aval.weak_type:
                break
        else:
            return list(arrays)
    dtype, weak = dtypes.promote_entries(tuple([dtypes.entry_of(x) for x in arrays]))
    return [as_dtype(x, dtype, weak) for x in arrays]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along ``axis``, in their common dtype.

    Args:
      arrays: a sequence of arrays whose shapes agree but for ``axis``, or an array, whose slices are joined.
      axis: an axis of the arrays; with None they are raveled first.
      dtype: of the result, if another one is wanted.

    Raises:
      ValueError: without arrays, or for an axis that does not exist.
      TypeError: when the shapes do not agree.

    >>> import jax.numpy as jnp
    >>> jnp.concatenate([jnp.arange(2), jnp.arange(3.0)])
    Array([0., 1., 0., 1., 2.], dtype=float32)
    """
    arrays = _sequence("concatenate", arrays)
    if not arrays:
        raise ValueError("concatenate: at least one array is needed")
    if axis is None:
        return concatenate([ravel(x) for x in arrays], 0, dtype)
    rank = len(shape_of(arrays[0]))
    if not rank:
        raise ValueError("concatenate: arrays without dimensions cannot be joined, use jnp.stack")
    return _join(tuple(_promoted("concatenate", arrays, dtype)), canonical_axis(axis, rank, "concatenate"))


# The compiler's time grows with the number of operands more than in proportion.
_MANY = 64


def _join(arrays: tuple[Any, ...], axis: int) -> Any:
    while len(arrays) > _MANY:
        arrays = tuple([lax.concatenate(arrays[i:i + _MANY], axis) for i in range(0, len(arrays), _MANY)])
    out = lax.concatenate(arrays, axis)
    return out if isinstance(out, _Array) else asarray(out)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """:func:`concatenate` under the name of the array API standard."""
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """The arrays, of one shape, along a new axis at position ``axis`` of the result.

    Raises:
      ValueError: without arrays, for different shapes, or for an axis that does not exist.

    >>> import jax.numpy as jnp
    >>> jnp.stack([jnp.arange(2), jnp.arange(2)]).shape
    (2, 2)
    """
    refuse_out("stack", out)
    if isinstance(arrays, _Array) and arrays.shape:
        axis = canonical_axis(axis, len(arrays.shape), "stack")
        moved = moveaxis(arrays, 0, axis)
        return moved if dtype is None else _strong(moved, dtypes.requested_dtype(dtype, "stack"))
    arrays = _sequence("stack", arrays)
    if not arrays:
        raise ValueError("stack: at least one array is needed")
    shape = shape_of(arrays[0])
    for x in arrays:
        if shape_of(x) != shape:
            raise ValueError(f"stack: all arrays must have the same shape, got {shape} and {shape_of(x)}")
    axis = canonical_axis(axis, len(shape) + 1, "stack")
    arrays = _promoted("stack", arrays, dtype)
    if len(arrays) > _MANY:
        return _join(tuple([lax.stack(arrays[i:i + _MANY], axis) for i in range(0, len(arrays), _MANY)]), axis)
    return lax.stack(arrays, axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of ``x`` along ``axis``, without that axis; a tuple."""
    check_arraylike("unstack", x)
    if not shape_of(x):
        raise ValueError("unstack: the array has no dimensions")
    return lax.unstack(x, canonical_axis(axis, len(shape_of(x)), "unstack"))


def _each(name: str, tup: Any, at_least: Any) -> list[Any]:
    arrays = at_least(*_sequence(name, tup))
    return arrays if isinstance(arrays, list) else [arrays]


def vstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays below one another: joined along axis 0; vectors are rows."""
    return concatenate(_each("vstack", tup, atleast_2d), 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays side by side: joined along axis 1, vectors along axis 0."""
    arrays = _each("hstack", tup, atleast_1d)
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays behind one another: joined along axis 2."""
    return concatenate(_each("dstack", tup, atleast_3d), 2, dtype)


def column_stack(tup: Any) -> Any:
    """The arrays side by side: joined along axis 1; vectors are columns."""
    return concatenate([lax.reshape(a, (*a.shape, *(1,) * (2 - a.ndim))) if a.ndim < 2 else a
                        for a in _each("column_stack", tup, atleast_1d)], 1)


def block(arrays: Any) -> Any:
    """One array of nested lists of blocks: the innermost lists are joined along the last axis, the next along the one
    before it, and so on. Blocks get leading axes of size 1 where they have too few.

    >>> import jax.numpy as jnp
    >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))]])
    Array([[1., 0., 0.]], dtype=float32)
    """
    out, _ = _block(arrays)
    return out


def _block(x: Any) -> tuple[Any, int]:
    """The block and the depth of nesting."""
    if isinstance(x, tuple):
        raise ValueError("block: blocks are given in lists, not in tuples")
    if not isinstance(x, list):
        check_arraylike("block", x)
        return asarray(x), 1
    if not x:
        raise ValueError("block: lists must not be empty")
    parts = [_block(e) for e in x]
    depth = parts[0][1]
    if any([d != depth for _, d in parts]):
        raise ValueError("block: all lists must be nested to the same depth")
    rank = max([depth, *[p.ndim for p, _ in parts]])
    return concatenate([lax.broadcast_to_rank(p, rank) for p, _ in parts], -depth), depth + 1


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` behind ``arr`` along ``axis``; with None both are raveled first."""
    if axis is None:
        check_arraylike("append", arr, values)
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


# --- taking apart ---------------------------------------------------------------------------------------------------

def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``ary`` in pieces along ``axis``; a list.

    Args:
      ary: an array.
      indices_or_sections: the number of equal pieces, or the increasing places at which to cut.
      axis: the axis to cut.

    Raises:
      ValueError: when the axis cannot be divided equally.
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """:func:`split`, but with a number of pieces that need not divide the axis: the first ones are longer by one."""
    return _split("array_split", ary, indices_or_sections, axis)


def _split(name: str, ary: Any, where: Any, axis: int) -> list[Any]:
    check_arraylike(name, ary)
    ary = unwrap(ary)
    shape = shape_of(ary)
    axis = canonical_axis(axis, len(shape), name)
    n = shape[axis]
    if isinstance(where, Tracer):
        known = where._concrete()
        if known is None:
            raise ConcretizationTypeError(where, f"the places to cut at, in jnp.{name}, decide about shapes")
        where = known
    if np.ndim(where) == 0:
        count = canonical_dim(where if isinstance(where, int) else np.asarray(where).item(), f"{name}: sections")
        if count <= 0:
            raise ValueError(f"{name}: the number of sections must be positive, got {count}")
        if n % count and name != "array_split":
            raise ValueError(f"{name}: an axis of size {n} cannot be divided into {count} equal sections; see "
                             "jnp.array_split")
        short, longer = divmod(n, count)
        sizes = [short + (i < longer) for i in range(count)]
        return list(lax.split(ary, sizes, axis))
    cuts = [canonical_dim(c, f"{name}: indices") for c in (where if isinstance(where, (list, tuple))
                                                          else np.asarray(where).tolist())]
    places = [_clipped(c, n) for c in cuts]
    starts, limits = [0, *places], [*places, n]
    if all([a <= b for a, b in zip(starts, limits, strict=True)]):
        return list(lax.split(ary, [b - a for a, b in zip(starts, limits, strict=True)], axis))
    return [lax.slice_in_dim(ary, a, max(a, b), axis=axis) for a, b in zip(starts, limits, strict=True)]


def _clipped(c: int, n: int) -> int:
    """A bound of a Python slice of ``n`` elements, counted from the front."""
    return max(0, c + n) if c < 0 else min(c, n)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 0 of an array of rank 2 or higher."""
    return _split_at_rank("vsplit", ary, indices_or_sections, 0, 2)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 1, or axis 0 of a vector."""
    return _split_at_rank("hsplit", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1, 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """:func:`split` along axis 2 of an array of rank 3 or higher."""
    return _split_at_rank("dsplit", ary, indices_or_sections, 2, 3)


def _split_at_rank(name: str, ary: Any, where: Any, axis: int, rank: int) -> list[Any]:
    check_arraylike(name, ary)
    if len(shape_of(ary)) < rank:
        raise ValueError(f"{name}: an array of at least {rank} dimensions is needed, got shape {shape_of(ary)}")
    return _split("split", ary, where, axis)


# --- repeating ------------------------------------------------------------------------------------------------------

def tile(A: Any, reps: Any) -> Any:
    """``A`` repeated ``reps[i]`` times along axis ``i``; of two ranks the higher one, filled up in front.

    >>> import jax.numpy as jnp
    >>> jnp.tile(jnp.arange(2), (2, 2))
    Array([[0, 1, 0, 1],
           [0, 1, 0, 1]], dtype=int32)
    """
    check_arraylike("tile", A)
    if isinstance(reps, (_Array, np.ndarray)) and not isinstance(reps, Tracer):
        reps = np.asarray(reps).tolist()
    reps = canonicalize_shape(reps, "tile: reps")
    shape = shape_of(A)
    rank = max(len(shape), len(reps))
    A = lax.broadcast_to_rank(A, rank)
    reps = (1,) * (rank - len(reps)) + reps
    if all([dims.is_one(r) for r in reps]):
        return asarray(A)
    return lax.tile(A, reps)


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None,
           out_sharding: Any = None) -> Any:
    """Each element of ``a`` repeated along ``axis``.

    Args:
      a: an array.
      repeats: how often, an integer or one for each element along the axis.
      axis: with None ``a`` is raveled first.
      total_repeat_length: the size of the result along the axis, which must be known under ``jit`` when ``repeats`` is
        traced. A result that is longer is cut off; one that is shorter is filled up with the last element.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      ValueError: when ``repeats`` does not fit the axis, or is negative.
      jax.errors.ConcretizationTypeError: for traced ``repeats`` without a length.

    >>> import jax.numpy as jnp
    >>> jnp.repeat(jnp.arange(3), jnp.array([0, 1, 2]))
    Array([1, 2, 2], dtype=int32)
    """
    check_arraylike("repeat", a)
    if isinstance(repeats, (list, tuple)):
        repeats = np.asarray(repeats) if not any([isinstance(r, _Array) for r in repeats]) else asarray(repeats)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)), "repeat")
    n = shape_of(a)[axis]
    if total_repeat_length is not None:
        total = canonical_dim(total_repeat_length, "repeat: total_repeat_length")
        repeats = asarray(repeats)
        _check_repeats(repeats.shape, n)
        return _repeat_traced(a, repeats, axis=axis, total=total)
    if isinstance(repeats, Tracer):
        known = repeats._concrete()
        if known is None:
            raise ConcretizationTypeError(
                repeats, "jnp.repeat needs to know the size of its result: pass total_repeat_length= when repeats is traced")
        repeats = known
    counts = np.asarray(repeats)
    _check_repeats(counts.shape, n)
    if counts.size and counts.min() < 0:
        raise ValueError("repeat: repeats must not be negative")
    if counts.size == 1:
        return _repeat_evenly(a, axis=axis, count=int(counts.reshape(())))
    places = np.repeat(np.arange(n, dtype=np.int32), counts)
    return lax.gather(a, asarray(places[:, None]), _rows_of(len(shape_of(a)), axis), _row_shape(shape_of(a), axis),
                      indices_are_sorted=True, mode="promise_in_bounds")


def _check_repeats(shape: tuple[Any, ...], n: Any) -> None:
    if len(shape) > 1:
        raise ValueError(f"repeat: repeats must be an integer or one-dimensional, got shape {shape}")
    if len(shape) == 1 and shape[0] not in (1, n):
        raise ValueError(f"repeat: repeats of length {shape[0]} do not fit an axis of size {n}")


def _rows_of(rank: int, axis: int) -> lax.GatherDimensionNumbers:
    return lax.GatherDimensionNumbers(tuple([i for i in range(rank) if i != axis]), (axis,), (axis,))


def _row_shape(shape: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return tuple([1 if i == axis else n for i, n in enumerate(shape)])


@composite(static_argnames=("axis", "count"))
def _repeat_evenly(a: Any, axis: int, count: int) -> Any:
    shape = shape_of(a)
    spread = lax.broadcast_in_dim(a, (*shape[:axis + 1], count, *shape[axis + 1:]),
                                  [i + (i > axis) for i in range(len(shape))])
    return lax.reshape(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1:]))


@composite(static_argnames=("axis", "total"))
def _repeat_traced(a: Any, repeats: Any, axis: int, total: int) -> Any:
    """Element ``i`` starts where the repeats before it end: one mark there, and a running sum names the element."""
    shape = shape_of(a)
    n = shape[axis]
    if n == 0 or total == 0:
        return lax.full((*shape[:axis], 0 if n == 0 else total, *shape[axis + 1:]), 0, typeof(a).dtype)
    counts = lax.convert_element_type(repeats, np.int32)
    counts = lax.broadcast_in_dim(lax.reshape(counts, (dims.size_of(counts.shape),)), (n,), (0,))
    ends = lax.cumsum(counts)
    starts = lax.slice_in_dim(ends, 0, n - 1)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    marks = lax.scatter_add(lax.full((total,), 0, np.int32), lax.reshape(starts, (n - 1, 1)),
                            lax.full((n - 1,), 1, np.int32), numbers, indices_are_sorted=True, mode="drop")
    return lax.gather(a, lax.reshape(lax.cumsum(marks), (total, 1)), _rows_of(len(shape), axis), _row_shape(shape, axis),
                      indices_are_sorted=True, mode="promise_in_bounds")
