"""Inserting and deleting elements, trimming and resizing."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_axes, canonical_axis, canonicalize_shape
from jax._language.trace import Tracer
from jax.errors import ConcretizationTypeError
from jax.numpy._at import getitem
from jax.numpy._creation import array, asarray, zeros
from jax.numpy._index_run import Options, get
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, shape_of
from jax.numpy._shape import moveaxis, ravel

_Array = xla.Array


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """``arr`` with ``values`` inserted before the places ``obj`` along ``axis``.

    Args:
      arr: an array.
      obj: known places: an integer, a slice, a sequence or array of integers, or a mask.
      values: they broadcast to the slices inserted.
      axis: with None ``arr`` is raveled first.

    Raises:
      IndexError: for places out of bounds.
      ValueError: for places in more than one dimension.
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, (slice, list, tuple)) else obj, values)
    arr, values = asarray(arr), asarray(values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim, "insert")
    n = arr.shape[axis]
    places = _known_places("insert", obj, n)
    if places.ndim > 1:
        raise ValueError(f"insert: the places must be an integer or one-dimensional, got shape {places.shape}")
    if places.size and (places.min() < -n or places.max() > n):
        raise IndexError(f"insert: a place is out of bounds for axis {axis} of size {n}")
    places = np.where(places < 0, places + n, places)
    values = lax.broadcast_to_rank(values, arr.ndim)
    if places.ndim == 0:
        # With one place given as a number the values lie along the axis, as in an assignment to arr[..., place, ...].
        values = moveaxis(values, 0, axis)
    if places.size == 1:
        places = np.repeat(places.reshape(1), values.shape[axis])
    order = np.argsort(places, kind="stable")
    targets = places.copy()
    targets[order] += np.arange(len(places))
    return _insert(arr, values, targets=tuple(targets.tolist()), axis=axis)


@composite(static_argnames=("targets", "axis"))
def _insert(arr: Any, values: Any, targets: tuple[int, ...], axis: int) -> Any:
    shape, count = shape_of(arr), len(targets)
    total = shape[axis] + count
    new = np.array(targets, np.int64)
    old = np.setdiff1d(np.arange(total), new)
    source = np.empty(total, np.int32)
    source[old] = np.arange(shape[axis])
    source[new] = np.arange(count) + shape[axis]
    values = broadcast_to(as_dtype(values, typeof(arr).dtype, False), (*shape[:axis], count, *shape[axis + 1:]))
    return _take_known(lax.concatenate([arr, values], axis), source, axis)


def _take_known(x: Any, places: np.ndarray, axis: int) -> Any:
    plan = (*("all",) * axis, "array", *("all",) * (len(shape_of(x)) - 1 - axis))
    return get(x, plan, (places.astype(np.int32),), Options(wrap=False))


def _known_places(name: str, obj: Any, n: int) -> np.ndarray:
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    if isinstance(obj, Tracer):
        value = obj._concrete()
        if value is None:
            raise ConcretizationTypeError(obj, f"the places given to jnp.{name} decide about shapes, so they must be known")
        obj = value
    places = np.asarray(obj)
    if places.dtype == np.bool_:
        if places.shape != (n,) and name == "delete":
            raise ValueError(f"{name}: a mask must have the length {n} of the axis, got shape {places.shape}")
        return places.nonzero()[0]
    if places.size == 0:
        return places.astype(np.int64)
    if places.dtype.kind not in "iu":
        raise TypeError(f"{name}: places must be integers, got {places.dtype}")
    return places.astype(np.int64)


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """``arr`` without the slices at the places ``obj`` along ``axis``.

    Args:
      arr: an array.
      obj: an integer (possibly traced), a slice, an array of integers, or a mask.
      axis: with None ``arr`` is raveled first.
      assume_unique_indices: a promise that no place is named twice; an array of places may then be traced.

    Raises:
      IndexError: for known places out of bounds.
    """
    check_arraylike("delete", arr, 0 if isinstance(obj, (slice, list, tuple)) else obj)
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim, "delete")
    n = arr.shape[axis]
    if isinstance(obj, Tracer) and obj._concrete() is None and obj.dtype != np.bool_ and \
            (obj.ndim == 0 or assume_unique_indices):
        if not dtypes.issubdtype(obj.dtype, np.integer):
            raise TypeError(f"delete: places must be integers, got {obj.dtype}")
        return _delete_traced(arr, obj, axis=axis)
    places = _known_places("delete", obj, n)
    if places.size and (places.min() < -n or places.max() >= n):
        raise IndexError(f"delete: a place is out of bounds for axis {axis} of size {n}")
    kept = np.delete(np.arange(n), places)
    return _take_static(arr, places=tuple(kept.tolist()), axis=axis)


@composite(static_argnames=("places", "axis"))
def _take_static(arr: Any, places: tuple[int, ...], axis: int) -> Any:
    if places and places == tuple(range(places[0], places[0] + len(places))):
        return lax.slice_in_dim(arr, places[0], places[0] + len(places), axis=axis)
    return _take_known(arr, np.array(places, np.int32), axis)


@composite(static_argnames=("axis",))
def _delete_traced(arr: Any, obj: Any, axis: int) -> Any:
    n = arr.shape[axis]
    gone = ravel(lax.convert_element_type(obj, np.int32))
    count = gone.shape[0]
    gone = lax.select(lax.lt(gone, np.int32(0)), lax.add(gone, np.int32(n)), gone)
    gone = lax.clamp(np.int32(0), gone, np.int32(max(n - 1, 0))) if count == 1 else gone
    # Place i is what is left of i + (how many places deleted up to there).
    gone = lax.sub(lax.sort(gone), lax.iota(np.int32, count))
    left = lax.iota(np.int32, n - count)
    shape = (n - count, count)
    passed = lax.le(lax.broadcast_in_dim(gone, shape, (1,)), lax.broadcast_in_dim(left, shape, (0,)))
    source = lax.add(left, lax.reduce_sum(lax.convert_element_type(passed, np.int32), (1,)))
    plan = (*("all",) * axis, "array", *("all",) * (arr.ndim - 1 - axis))
    return get(arr, plan, (source,), Options(wrap=False))


def resize(a: Any, new_shape: Any) -> Any:
    """The elements of ``a``, repeated or cut off as necessary, in the shape ``new_shape``.

    Raises:
      ValueError: for negative sizes.
    """
    check_arraylike("resize", a)
    shape = canonicalize_shape(new_shape, "resize: new_shape")
    if any([d < 0 for d in shape]):
        raise ValueError(f"resize: sizes must not be negative, got {shape}")
    flat = ravel(a)
    total, n = dims.size_of(shape), flat.shape[0]
    if total == 0 or n == 0:
        return zeros(shape, flat.dtype)
    turns = -(-total // n)
    flat = lax.tile(flat, (turns,)) if turns > 1 else flat
    return lax.reshape(lax.slice_in_dim(flat, 0, total), shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """``filt`` without the zeros at its ends, along all axes or along ``axis``; it must be known.

    Args:
      filt: an array.
      trim: where to trim: ``"f"`` at the front, ``"b"`` at the back, ``"fb"`` on both sides.
      axis: an integer or several.
    """
    filt = array(filt) if isinstance(filt, (list, tuple)) else filt
    check_arraylike("trim_zeros", filt)
    side = trim.lower()
    if side not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    if isinstance(filt, Tracer) and filt._concrete() is None:
        raise ConcretizationTypeError(filt, "the size of the result of jnp.trim_zeros depends on the values")
    value = np.asarray(filt if not isinstance(filt, Tracer) else filt._concrete())
    rank = value.ndim
    if not rank:
        return asarray(filt)  # it has no ends
    axes = range(rank) if axis is None else canonical_axes(
        tuple(axis) if isinstance(axis, (tuple, list)) else (axis,), rank, "trim_zeros", "axis")
    found = value.nonzero()
    index = []
    for d in range(rank):
        if d not in axes:
            index.append(slice(None))
        elif len(found[0]) == 0:
            index.append(slice(0, 0))
        else:
            index.append(slice(int(found[d].min()) if "f" in side else None,
                               int(found[d].max()) + 1 if "b" in side else None))
    return getitem(asarray(filt), tuple(index))
