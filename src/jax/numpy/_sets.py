"""Operations on sets of numbers: the different elements of arrays, and which of them are in others.

The size of a result depends on the values. Without ``size=`` the arrays must be known, and the work is done on the host;
with it programs of fixed shapes are run, which fill up results that are too short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax._language.trace import Tracer
from jax.errors import ConcretizationTypeError
from jax.numpy._creation import asarray, host_constant
from jax.numpy._index_run import Options, get
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, promote_dtypes, shape_of
from jax.numpy._search import _search, at_places
from jax.numpy._selection import places_of_true
from jax.numpy._shape import moveaxis, ravel

_Array = xla.Array


def _known(name: str, x: Any) -> np.ndarray:
    if isinstance(x, Tracer):
        value = x._concrete()
        if value is None:
            raise ConcretizationTypeError(x, f"the size of the result of jnp.{name} depends on the values of its argument; "
                                             "pass size= to fix it")
        x = value
    return np.asarray(x)


def _sortable(value: np.ndarray) -> np.ndarray:
    """Dtypes that NumPy does not know as floats as one that it does."""
    return value.astype(np.float32) if value.dtype.kind == "V" and dtypes.issubdtype(value.dtype, np.floating) else value


def _array(value: np.ndarray, dtype: Any = None) -> Any:
    dtype = value.dtype if dtype is None else dtype
    value = np.array(value, dtype)
    return host_constant(value, ShapedArray(value.shape, value.dtype))


def _indices(value: np.ndarray) -> Any:
    return _array(value, dtypes.scalar_dtype(int))


# --- unique ---------------------------------------------------------------------------------------------------------

def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, size: int | None = None, fill_value: Any = None,
           sorted: bool = True) -> Any:  # noqa: A002
    """The different elements of ``ar``, in increasing order.

    Args:
      ar: an array.
      return_index: also return where each one occurs first.
      return_inverse: also return, for each element of ``ar``, which one it is.
      return_counts: also return how often each one occurs.
      axis: find different slices along this axis instead.
      equal_nan: whether all NaN are one element.
      size: how many to return; needed when ``ar`` is traced.
      fill_value: what to return where there are fewer, the least element by default. Their counts are 0.
      sorted: kept for compatibility; the elements are always in order.

    Returns:
      The elements, or a tuple of them and what else was asked for.

    Raises:
      jax.errors.ConcretizationTypeError: for a traced array without ``size``.
      ValueError: for an empty array with a ``size`` and no ``fill_value``.

    >>> import jax.numpy as jnp
    >>> jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
    (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    check_arraylike("unique", ar)
    if size is not None:
        found = _unique_of_size(asarray(ar), axis, equal_nan, canonical_dim(size, "unique: size"), fill_value)
    else:
        found = _unique_known(ar, axis, equal_nan, return_index, return_inverse, return_counts)
    wanted = (True, return_index, return_inverse, return_counts)
    out = tuple([f for f, w in zip(found, wanted, strict=True) if w])
    return out if len(out) > 1 else out[0]


def _unique_known(ar: Any, axis: Any, equal_nan: bool, index: bool, inverse: bool, counts: bool) -> tuple[Any, ...]:
    value = _known("unique", ar)
    if axis is not None:
        axis = canonical_axis(axis, value.ndim, "unique")
    dtype = typeof(ar).dtype
    narrow = value.dtype != _sortable(value).dtype
    taken = isinstance(ar, Tracer) or narrow
    # Only what is needed: indices take a stable order of places where values alone are sorted.
    options: dict[str, Any] = {"return_index": index or taken, "return_inverse": inverse, "return_counts": counts}
    found: Any = np.unique(_sortable(value), **options, axis=axis, equal_nan=equal_nan)
    values, *others = found if isinstance(found, tuple) else (found,)
    rest = iter(others)
    parts: list[Any] = [next(rest) if wanted else None for wanted in options.values()]
    first, which, count = parts
    if taken:
        # Taken from the array itself, the elements have its derivatives.
        x = ravel(ar) if axis is None else asarray(ar)
        plan = (*("all",) * (axis or 0), "array", *("all",) * (x.ndim - 1 - (axis or 0)))
        elements = get(x, plan, (first.astype(np.int32),), Options(wrap=False))
    else:
        elements = _array(values, dtype)
    if inverse:
        which = which.reshape(value.shape if axis is None else -1)
    return (elements, _indices(first) if index else None, _indices(which) if inverse else None,
            _indices(count) if counts else None)


def _unique_of_size(x: Any, axis: Any, equal_nan: bool, size: int, fill_value: Any) -> tuple[Any, ...]:
    shape = x.shape
    if axis is None:
        rows = ravel(x)
    else:
        axis = canonical_axis(axis, x.ndim, "unique")
        rows = moveaxis(x, axis, 0)
    if dims.is_zero(dims.size_of(shape)):
        if size and fill_value is None:
            raise ValueError("unique: an empty array has no elements to return; pass fill_value= with size=")
        fill = asarray(0 if fill_value is None else fill_value)
        out = broadcast_to(as_dtype(fill, x.dtype, False), (size, *rows.shape[1:]))
        none = lax.full((size,), 0, dtypes.scalar_dtype(int))
        return (out if axis is None else moveaxis(out, 0, axis), none,
                lax.full(shape if axis is None else (rows.shape[0],), 0, none.dtype), none)
    values, first, which, count = _unique_rows(rows, fill_value, size=size, equal_nan=bool(equal_nan))
    if axis is None:
        which = lax.reshape(which, shape)
    else:
        values = moveaxis(values, 0, axis)
    return values, first, which, count


@composite(static_argnames=("size", "equal_nan"))
def _unique_rows(rows: Any, fill_value: Any, size: int, equal_nan: bool) -> Any:
    """The different slices along the first axis: slices, first places, numbers and counts."""
    n, index_dtype = shape_of(rows)[0], dtypes.scalar_dtype(int)
    order, starts = _runs(rows, equal_nan)
    number = lax.sub(lax.cumsum(lax.convert_element_type(starts, np.int32)), np.int32(1))
    places, total = places_of_true(starts, size)
    present = lax.lt(lax.iota(np.int32, size), total)
    first = at_places(order, places)
    values = at_places(rows, first)
    if fill_value is not None:
        fill = broadcast_to(as_dtype(fill_value, typeof(rows).dtype, False), shape_of(values))
        values = lax.select(lax.broadcast_in_dim(present, shape_of(values), (0,)), values, fill)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    which = lax.scatter(lax.full((n,), 0, np.int32), lax.reshape(order, (n, 1)), number, numbers, unique_indices=True)
    counts = lax.scatter_add(lax.full((size,), 0, np.int32), lax.reshape(number, (n, 1)), lax.full((n,), 1, np.int32),
                             numbers, indices_are_sorted=True, mode="drop")
    return values, *[lax.convert_element_type(i, index_dtype) for i in (first, which, counts)]


def _runs(rows: Any, equal_nan: bool) -> tuple[Any, Any]:
    """The stable order of slices along the first axis, and where in it a new one begins."""
    shape = shape_of(rows)
    n = shape[0]
    columns = [rows] if len(shape) == 1 else list(lax.unstack(lax.reshape(rows, (n, dims.size_of(shape[1:]))), 1))
    found = lax.sort((*columns, lax.iota(np.int32, n)), dimension=0, is_stable=True, num_keys=len(columns))
    differ: Any = None
    for c in found[:-1]:
        before, after = lax.slice_in_dim(c, 0, n - 1), lax.slice_in_dim(c, 1, n)
        d = lax.ne(before, after)
        if equal_nan and dtypes.issubdtype(typeof(c).dtype, np.inexact):
            both = lax.bitwise_and(lax.ne(before, before), lax.ne(after, after))
            d = lax.bitwise_and(d, lax.bitwise_not(both))
        differ = d if differ is None else lax.bitwise_or(differ, d)
    return found[-1], lax.concatenate([lax.full((1,), True, np.bool_), differ], 0)


class UniqueAll(NamedTuple):
    """What :func:`unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The different elements of ``x``, where each occurs first, which one each element is, and how often each occurs.

    As in the array API standard all NaN are different. ``size`` and ``fill_value`` as for :func:`unique`.
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The different elements of ``x`` and how often each occurs; see :func:`unique_all`."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The different elements of ``x`` and which one each element is; see :func:`unique_all`."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of ``x``; see :func:`unique_all`."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- membership -----------------------------------------------------------------------------------------------------

def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         method: str = "auto") -> Any:
    """For each element of ``element`` whether it is in ``test_elements``.

    Args:
      element, test_elements: arrays. NaN is in nothing.
      assume_unique: kept for compatibility.
      invert: return whether it is not.
      method: ``"compare_all"``, ``"binary_search"``, ``"sort"``, or ``"auto"`` to choose by size.

    Raises:
      ValueError: for another method.
    """
    check_arraylike("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}")
    if method == "auto":
        k = dims.size_of(shape_of(test_elements))
        method = "compare_all" if type(k) is int and k <= 32 else "binary_search"
    return _isin(element, test_elements, invert=bool(invert), method=method)


@composite(static_argnames=("invert", "method"))
def _isin(element: Any, test: Any, invert: bool, method: str) -> Any:
    element, test = promote_dtypes(element, test)
    shape, test = shape_of(element), ravel(asarray(test))
    n, rank = shape_of(test)[0], len(shape)
    if n == 0:
        return lax.full(shape, invert, np.bool_)
    if method == "compare_all":
        whole = (*shape, n)
        same = lax.eq(lax.broadcast_in_dim(element, whole, tuple(range(rank))), lax.broadcast_in_dim(test, whole, (rank,)))
        found = lax.reduce_or(same, (rank,))
    else:
        ordered = lax.sort(test)
        places = _search(ordered, element, side="left", method="scan" if method == "binary_search" else "sort")
        places = lax.min(places, lax.full_like(places, n - 1))
        found = lax.eq(at_places(ordered, places), element)
    return lax.bitwise_not(found) if invert else found


# --- two sets -------------------------------------------------------------------------------------------------------

def _two(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_arraylike(name, ar1, ar2)
    a, b = promote_dtypes(ar1, ar2)
    return ravel(asarray(a)), ravel(asarray(b))


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of both arrays, in increasing order. ``size`` and ``fill_value`` as for :func:`unique`."""
    return unique(lax.concatenate(_two("union1d", ar1, ar2), 0), size=size, fill_value=fill_value)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of ``ar1`` that are not in ``ar2``.

    Args:
      ar1, ar2: arrays; they are raveled.
      assume_unique: the elements of ``ar1`` are different: they are returned in their order.
      size, fill_value: as for :func:`unique`.
    """
    a, b = _two("setdiff1d", ar1, ar2)
    if size is None:
        x, y = _known("setdiff1d", a), _known("setdiff1d", b)
        return _array(np.setdiff1d(_sortable(x), _sortable(y), assume_unique=assume_unique), x.dtype)
    return _difference(a, b, fill_value, size=canonical_dim(size, "setdiff1d: size"), unique_given=bool(assume_unique))


@composite(static_argnames=("size", "unique_given"))
def _difference(a: Any, b: Any, fill_value: Any, size: int, unique_given: bool) -> Any:
    if shape_of(a)[0] == 0:
        return _filled_only(typeof(a).dtype, fill_value, size)
    kept = _isin(a, b, invert=True, method="binary_search")
    if not unique_given:
        order, starts = _runs(a, True)
        a, kept = at_places(a, order), lax.bitwise_and(at_places(kept, order), starts)
    return _first_of(a, kept, fill_value, size)


def _filled_only(dtype: Any, fill_value: Any, size: int) -> Any:
    return broadcast_to(as_dtype(asarray(0 if fill_value is None else fill_value), dtype, False), (size,))


def _first_of(values: Any, mask: Any, fill_value: Any, size: int) -> Any:
    """The first ``size`` elements where ``mask`` is true; then the fill value, or the first element."""
    places, total = places_of_true(mask, size)
    out = at_places(values, places)
    if size == 0:
        return out
    first = lax.index_in_dim(out, 0, keepdims=False)
    fill = lax.select(lax.gt(total, np.int32(0)), first, lax.full_like(first, 0)) if fill_value is None else \
        as_dtype(fill_value, typeof(values).dtype, False)
    return lax.select(lax.lt(lax.iota(np.int32, size), total), out, broadcast_to(fill, (size,)))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements that are in one of the arrays only, in increasing order.

    Args:
      ar1, ar2: arrays; they are raveled.
      assume_unique: the elements of each array are different.
      size, fill_value: as for :func:`unique`.
    """
    a, b = _two("setxor1d", ar1, ar2)
    if size is None:
        x, y = _known("setxor1d", a), _known("setxor1d", b)
        return _array(np.setxor1d(_sortable(x), _sortable(y), assume_unique=assume_unique), x.dtype)
    return _exclusive(a, b, fill_value, size=canonical_dim(size, "setxor1d: size"))


@composite(static_argnames=("size",))
def _exclusive(a: Any, b: Any, fill_value: Any, size: int) -> Any:
    both = lax.concatenate([a, b], 0)
    if shape_of(both)[0] == 0:
        return _filled_only(typeof(a).dtype, fill_value, size)
    alone = lax.concatenate([_isin(a, b, invert=True, method="binary_search"),
                             _isin(b, a, invert=True, method="binary_search")], 0)
    order, starts = _runs(both, True)
    return _first_of(at_places(both, order), lax.bitwise_and(at_places(alone, order), starts), fill_value, size)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *,
                size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements that are in both arrays, in increasing order.

    Args:
      ar1, ar2: arrays; they are raveled.
      assume_unique: the elements of each array are different.
      return_indices: also return where each element occurs first in ``ar1`` and in ``ar2``.
      size, fill_value: as for :func:`unique`; indices are filled up with the sizes of the arrays.
    """
    a, b = _two("intersect1d", ar1, ar2)
    if size is None:
        x, y = _known("intersect1d", a), _known("intersect1d", b)
        values, i, j = np.intersect1d(_sortable(x), _sortable(y), assume_unique=assume_unique, return_indices=True)
        out = _array(values, x.dtype)
        return (out, _indices(i), _indices(j)) if return_indices else out
    values, i, j = _intersection(a, b, fill_value, size=canonical_dim(size, "intersect1d: size"))
    return (values, i, j) if return_indices else values


@composite(static_argnames=("size",))
def _intersection(a: Any, b: Any, fill_value: Any, size: int) -> Any:
    n, m, index_dtype = shape_of(a)[0], shape_of(b)[0], dtypes.scalar_dtype(int)
    if n == 0 or m == 0:
        return (_filled_only(typeof(a).dtype, fill_value, size), lax.full((size,), n, index_dtype),
                lax.full((size,), m, index_dtype))
    order, starts = _runs(a, True)
    ordered = at_places(a, order)
    mask = lax.bitwise_and(starts, _isin(ordered, b, invert=False, method="binary_search"))
    values = _first_of(ordered, mask, fill_value, size)
    places, total = places_of_true(mask, size)
    present = lax.lt(lax.iota(np.int32, size), total)
    in_b, order_b = lax.sort((b, lax.iota(np.int32, m)), dimension=0, is_stable=True, num_keys=1)
    found = _search(in_b, at_places(ordered, places), side="left", method="scan")
    found = at_places(order_b, lax.min(found, lax.full_like(found, m - 1)))
    out = [lax.select(present, i, lax.full_like(i, k)) for i, k in ((at_places(order, places), n), (found, m))]
    return values, *[lax.convert_element_type(i, index_dtype) for i in out]
