"""Matrices with a pattern: identities, triangles, diagonals; and their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax._language.trace import Tracer
from jax.lax._creation import eye as eye_pattern
from jax.lax._creation import tri as tri_pattern
from jax.numpy._at import IndexUpdater
from jax.numpy._creation import _placed, asarray
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, refuse_out, shape_of
from jax.numpy._reductions import sum as total
from jax.numpy._selection import nonzero
from jax.numpy._shape import ravel

# --- patterns -------------------------------------------------------------------------------------------------------

def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An ``N`` by ``M`` matrix with ones on the ``k``-th diagonal and zeros elsewhere.

    Args:
      N: number of rows.
      M: number of columns; ``N`` if None.
      k: 0 is the main diagonal, positive ones are above it. Can be traced.
      dtype: the default float if None.
      device: a device or sharding to put the result on.
    """
    dtype = dtypes.requested_dtype(dtype, "eye")
    shape = _matrix_shape("eye", N, M)
    offset = _offset("eye", k)
    if offset is None:
        return _placed(_eye_traced(asarray(k), shape=shape, dtype=dtype), device)
    return _placed(_pattern(shape=shape, dtype=dtype, offset=offset, kind="eye"), device)


def identity(n: int, dtype: Any = None) -> Any:
    """The square identity matrix with ``n`` rows."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """An ``N`` by ``M`` matrix with ones on and below the ``k``-th diagonal and zeros above."""
    dtype = dtypes.requested_dtype(dtype, "tri")
    return _pattern(shape=_matrix_shape("tri", N, M), dtype=dtype, offset=canonical_dim(k, "tri: k"), kind="tri")


def _matrix_shape(name: str, n: Any, m: Any) -> tuple[int, int]:
    rows = canonical_dim(n, f"{name}: N")
    columns = rows if m is None else canonical_dim(m, f"{name}: M")
    if min(rows, columns) < 0:
        raise ValueError(f"{name}: sizes must not be negative, got {(rows, columns)}")
    return rows, columns


def _offset(name: str, k: Any) -> int | None:
    """``k`` as a number, or None if it is traced."""
    if isinstance(k, Tracer) and k._concrete() is None:
        if typeof(k).shape or typeof(k).dtype.kind not in "iu":
            raise ValueError(f"{name}: k must be a scalar integer, got {typeof(k).str_short()}")
        return None
    if np.ndim(k) or not hasattr(k, "__index__"):
        raise ValueError(f"{name}: k must be a scalar integer, got {k}")
    return k.__index__()


@composite(static_argnames=("shape", "dtype", "offset", "kind"))
def _pattern(shape: Any, dtype: Any, offset: int, kind: str) -> Any:
    bound = 2**30
    offset = max(-bound, min(offset, bound))
    return eye_pattern(dtype, shape, offset) if kind == "eye" else tri_pattern(dtype, shape, offset)


@composite(static_argnames=("shape", "dtype"))
def _eye_traced(k: Any, shape: Any, dtype: Any) -> Any:
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    columns = lax.broadcasted_iota(np.int32, shape, 1)
    return as_dtype(lax.eq(lax.add(rows, lax.convert_element_type(k, np.int32)), columns), dtype, False)


# --- triangles ------------------------------------------------------------------------------------------------------

def tril(m: Any, k: int = 0) -> Any:
    """``m`` (the last two axes are matrices) with zeros above the ``k``-th diagonal."""
    return _triangle("tril", m, k)


def triu(m: Any, k: int = 0) -> Any:
    """``m`` (the last two axes are matrices) with zeros below the ``k``-th diagonal."""
    return _triangle("triu", m, k)


def _triangle(name: str, m: Any, k: Any) -> Any:
    check_arraylike(name, m)
    if len(shape_of(m)) < 2:
        raise ValueError(f"{name}: an array of at least two dimensions is needed, got shape {shape_of(m)}")
    return _masked_triangle(m, k=canonical_dim(k, f"{name}: k"), upper=name == "triu")


@composite(static_argnames=("k", "upper"))
def _masked_triangle(m: Any, k: int, upper: bool) -> Any:
    aval = typeof(m)
    rank = len(aval.shape)
    below = tri_pattern(np.bool_, aval.shape[-2:], max(-2**30, min(k - upper, 2**30)))
    mask = lax.broadcast_in_dim(below, aval.shape, (rank - 2, rank - 1))
    zeros = lax.full_like(m, 0)
    return lax.select(mask, zeros, m) if upper else lax.select(mask, m, zeros)


# --- diagonals ------------------------------------------------------------------------------------------------------

def diag(v: Any, k: int = 0) -> Any:
    """The ``k``-th diagonal of a matrix, or the square matrix with a vector as its ``k``-th diagonal.

    Raises:
      ValueError: for other ranks than 1 and 2.
    """
    check_arraylike("diag", v)
    k = canonical_dim(k, "diag: k")
    rank = len(shape_of(v))
    if rank == 1:
        return _diag(v, k=k)
    if rank == 2:
        return diagonal(v, k)
    raise ValueError(f"diag: a vector or a matrix is needed, got shape {shape_of(v)}")


@composite(static_argnames=("k",))
def _diag(v: Any, k: int) -> Any:
    aval = typeof(v)
    n = aval.shape[0] + abs(k)
    column = lax.pad(v, np.zeros((), aval.dtype), ((max(0, k), max(0, -k), 0),))
    # Row i holds element i - k (shifted by the padding) in column i + k: columns are what the padding counts.
    spread = lax.broadcast_in_dim(column, (n, n), (1,))
    return lax.select(eye_pattern(np.bool_, (n, n), k), spread, lax.full_like(spread, 0))


def diagflat(v: Any, k: int = 0) -> Any:
    """The square matrix with the elements of ``v``, raveled, as its ``k``-th diagonal."""
    check_arraylike("diagflat", v)
    return _diag(ravel(v), k=canonical_dim(k, "diagflat: k"))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements of ``a`` whose index along ``axis2`` is that along ``axis1`` plus ``offset``; as the last axis.

    Raises:
      ValueError: for arrays of lower rank than 2, or equal axes.
    """
    check_arraylike("diagonal", a)
    i, j, offset = _matrix_axes("diagonal", a, axis1, axis2, offset)
    return _diagonal(a, offset=offset, i=i, j=j)


def _matrix_axes(name: str, a: Any, axis1: Any, axis2: Any, offset: Any) -> tuple[int, int, int]:
    rank = len(shape_of(a))
    if rank < 2:
        raise ValueError(f"{name}: an array of at least two dimensions is needed, got shape {shape_of(a)}")
    i, j = canonical_axis(axis1, rank, name, "axis1"), canonical_axis(axis2, rank, name, "axis2")
    if i == j:
        raise ValueError(f"{name}: axis1 and axis2 must be different axes, got {axis1} and {axis2}")
    return i, j, canonical_dim(offset, f"{name}: offset")


@composite(static_argnames=("offset", "i", "j"))
def _diagonal(a: Any, offset: int, i: int, j: int) -> Any:
    shape = shape_of(a)
    n, m = shape[i], shape[j]
    size = max(0, min(n + min(offset, 0), m - max(offset, 0)))
    rows = lax.slice_in_dim(a, min(-offset, n) if offset < 0 else 0, (min(-offset, n) if offset < 0 else 0) + size, axis=i)
    start = min(offset, m) if offset > 0 else 0
    square = lax.slice_in_dim(rows, start, start + size, axis=j)
    rest = [d for d in range(len(shape)) if d not in (i, j)]
    square = lax.transpose(square, (*rest, i, j))
    kept = [shape[d] for d in rest]
    if size == 0:
        return lax.reshape(square, (*kept, 0))
    # Flattened, neighbours on the diagonal are size + 1 apart.
    flat = lax.reshape(square, (*kept, size * size))
    if size == 1:
        return flat
    return lax.slice_in_dim(flat, 0, size * size, stride=size + 1, axis=len(kept))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """The sum of each :func:`diagonal`.

    Args:
      a: an array.
      offset, axis1, axis2: as for :func:`diagonal`.
      dtype: of the sum; small integers and booleans are summed as the default integer.
      out: not supported.
    """
    check_arraylike("trace", a)
    refuse_out("trace", out)
    i, j, offset = _matrix_axes("trace", a, axis1, axis2, offset)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "trace")
    return _trace(a, offset=offset, i=i, j=j, dtype=dtype)


@composite(static_argnames=("offset", "i", "j", "dtype"))
def _trace(a: Any, offset: int, i: int, j: int, dtype: Any) -> Any:
    found = _diagonal(a, offset=offset, i=i, j=j)
    return total(found, axis=-1, dtype=dtype)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """``a`` with the elements at equal indices along all axes replaced by ``val``, repeated as necessary.

    Args:
      a: an array of rank 2, or of higher rank with equal sizes.
      val: a scalar or an array.
      wrap: for matrices with more rows than columns, start the diagonal again after a gap of one row.
      inplace: must be False: a new array is returned.

    Raises:
      NotImplementedError: for ``inplace=True``.
      ValueError: when the sizes are not equal.
    """
    if inplace:
        raise NotImplementedError("jnp.fill_diagonal: arrays cannot be changed in place; pass inplace=False and use the "
                                  "array returned")
    check_arraylike("fill_diagonal", a, val)
    shape = shape_of(a)
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal: an array of at least two dimensions is needed, got shape {shape}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError(f"fill_diagonal: all sizes must be equal for more than two dimensions, got shape {shape}")
    return _fill_diagonal(a, val, wrap=bool(wrap))


@composite(static_argnames=("wrap",))
def _fill_diagonal(a: Any, val: Any, wrap: bool) -> Any:
    shape = shape_of(a)
    val = as_dtype(val, typeof(a).dtype, False)
    if len(shape) == 2:
        step = shape[1] + 1
        end = shape[0] * shape[1] if wrap else min(shape[0] * shape[1], shape[1] * shape[1])
        places = np.arange(0, end, step)
    else:
        places = np.ravel_multi_index((np.arange(shape[0]),) * len(shape), shape)
    flat = ravel(val)
    n = len(places)
    if shape_of(val):
        flat = lax.slice_in_dim(lax.tile(flat, (-(-n // max(flat.shape[0], 1)),)), 0, n)
    else:
        flat = broadcast_to(val, (n,))
    out = IndexUpdater(ravel(a))[places.astype(np.int32)].set(flat, unique_indices=True, indices_are_sorted=True)
    return lax.reshape(out, shape)


# --- indices of patterns --------------------------------------------------------------------------------------------

def _index_arrays(found: Any) -> tuple[Any, ...]:
    dtype = dtypes.scalar_dtype(int)
    return tuple([asarray(i.astype(dtype)) for i in found])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Row and column indices of the elements on and below the ``k``-th diagonal of an ``n`` by ``m`` matrix."""
    n, m = _matrix_shape("tril_indices", n, m)
    rows, columns = _index_arrays(np.tril_indices(n, canonical_dim(k, "tril_indices: k"), m))
    return rows, columns


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Row and column indices of the elements on and above the ``k``-th diagonal of an ``n`` by ``m`` matrix."""
    n, m = _matrix_shape("triu_indices", n, m)
    rows, columns = _index_arrays(np.triu_indices(n, canonical_dim(k, "triu_indices: k"), m))
    return rows, columns


def _matrix_only(name: str, arr: Any) -> tuple[int, int]:
    shape = np.shape(arr) if not hasattr(arr, "shape") else arr.shape
    if len(shape) != 2:
        raise ValueError(f"{name}: a matrix is needed, got shape {shape}")
    return shape[0], shape[1]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """:func:`tril_indices` of a matrix of the shape of ``arr``."""
    n, m = _matrix_only("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """:func:`triu_indices` of a matrix of the shape of ``arr``."""
    n, m = _matrix_only("triu_indices_from", arr)
    return triu_indices(n, k, m)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None) -> tuple[Any, Any]:
    """Row and column indices where ``mask_func(ones((n, n)), k)`` is not zero. ``size`` as for :func:`nonzero`."""
    found = nonzero(mask_func(lax.full((n, n), 1, dtypes.scalar_dtype(int)), k), size=size)
    return found[0], found[1]


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with ``ndim`` axes of size ``n``."""
    n, ndim = canonical_dim(n, "diag_indices: n"), canonical_dim(ndim, "diag_indices: ndim")
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must not be negative, got {n} and {ndim}")
    return (lax.iota(dtypes.scalar_dtype(int), n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """:func:`diag_indices` of an array like ``arr``, of rank 2 or higher and with equal sizes."""
    shape = arr.shape if hasattr(arr, "shape") else np.shape(arr)
    if len(shape) < 2:
        raise ValueError(f"diag_indices_from: an array of at least two dimensions is needed, got shape {shape}")
    if len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: all sizes must be equal, got shape {shape}")
    return diag_indices(shape[0], len(shape))
