"""Histograms in one and more dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_dim
from jax.numpy._creation import array, asarray
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, promote_dtypes, shape_of
from jax.numpy._ranges import _linspace
from jax.numpy._search import _search
from jax.numpy._shape import ravel

_Array = xla.Array


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """The edges of the bins of a histogram.

    Args:
      a: an array.
      bins: the number of bins of one width, or the edges.
      range: ``(lowest, highest)``; by default the least and greatest element, or 0 and 1 for an empty array.
      weights: ignored.

    Raises:
      NotImplementedError: for the name of a method that estimates the number of bins, which depends on the values.
    """
    if isinstance(bins, str):
        raise NotImplementedError("histogram_bin_edges: methods that work out the number of bins are not supported, since "
                                  "shapes cannot depend on values; pass a number")
    bins = array(bins) if isinstance(bins, (list, tuple)) else bins
    check_arraylike("histogram_bin_edges", a, bins)
    if isinstance(range, (_Array, np.ndarray)):
        limits = [range]
    else:
        limits = [] if range is None else [asarray([r for r in range]) if isinstance(range, (list, tuple)) else range]
    if len(shape_of(bins)) == 1:
        return asarray(bins)
    if len(shape_of(bins)) > 1:
        raise ValueError(f"histogram_bin_edges: bins must be a number or a vector of edges, got shape {shape_of(bins)}")
    bins = canonical_dim(bins, "histogram_bin_edges: bins")
    if not limits and dims.is_zero(dims.size_of(shape_of(a))):
        limits = [np.array([0, 1])]
    return _edges(a, limits, bins=bins)


@composite(static_argnames=("bins",))
def _edges(a: Any, limits: list[Any], bins: int) -> Any:
    dtype: Any = dtypes.to_inexact_dtype(typeof(a).dtype)
    if limits:
        span = as_dtype(limits[0], dtype, False)
        low, high = (lax.index_in_dim(span, i, keepdims=False) for i in (0, 1))
    else:
        flat = ravel(as_dtype(a, dtype, False))
        low, high = lax.reduce_min(flat, (0,)), lax.reduce_max(flat, (0,))
    same = lax.eq(low, high)
    half = np.asarray(0.5, dtype)
    low, high = lax.select(same, lax.sub(low, half), low), lax.select(same, lax.add(high, half), high)
    return _linspace(low, high, num=bins + 1, endpoint=True, dtype=dtype, axis=0)[0]


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None,  # noqa: A002
              out_sharding: Any = None) -> tuple[Any, Any]:
    """How many elements of ``a`` are in each bin.

    Args:
      a: an array.
      bins, range: as for :func:`histogram_bin_edges`. Bins include their left edge, the last one both.
      weights: what each element counts, of the shape of ``a``; 1 by default.
      density: scale the counts so that their integral over the bins is 1.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Returns:
      ``(counts, edges)``; floating counts.

    Raises:
      ValueError: when ``weights`` has another shape than ``a``.

    >>> import jax.numpy as jnp
    >>> jnp.histogram(jnp.array([1, 2, 2]), bins=jnp.array([1, 2, 3]))[0]
    Array([1., 2.], dtype=float32)
    """
    a = array(a) if isinstance(a, (list, tuple)) else a
    check_arraylike("histogram", a)
    if weights is not None:
        check_arraylike("histogram", weights)
        if shape_of(weights) != shape_of(a):
            raise ValueError(f"histogram: weights must have the shape of a, got {shape_of(weights)} and {shape_of(a)}")
    edges = histogram_bin_edges(a, bins, range)
    counts = _counts(a, edges, weights, density=bool(density))
    return counts, edges


@composite(static_argnames=("density",))
def _counts(a: Any, edges: Any, weights: Any, density: bool) -> Any:
    flat = ravel(as_dtype(a, dtypes.to_inexact_dtype(typeof(a).dtype), False))
    if weights is None:
        weights = lax.full_like(flat, 1)
    weights = ravel(as_dtype(weights, dtypes.to_inexact_dtype(typeof(weights).dtype), False))
    n = shape_of(edges)[0] - 1
    counts = _add_up(_bin_numbers(flat, edges), weights, n)
    if density:
        dtype = typeof(counts).dtype
        widths = as_dtype(_differences(edges), dtype, False)
        total = lax.reduce_sum(counts, (0,))
        counts = lax.div(lax.div(counts, widths), broadcast_to(total, shape_of(counts)))
    return counts


def _differences(edges: Any) -> Any:
    n = shape_of(edges)[0]
    return lax.sub(lax.slice_in_dim(edges, 1, n), lax.slice_in_dim(edges, 0, n - 1))


def _bin_numbers(x: Any, edges: Any) -> Any:
    """The bin of each element; the number of bins for elements in none."""
    n = shape_of(edges)[0] - 1
    above = lax.sub(_search(edges, x, side="right", method="scan"), np.int32(1))
    last = lax.index_in_dim(edges, n, keepdims=False)
    x, last = as_dtype(x, dtypes.result_type(x, last), False), as_dtype(last, dtypes.result_type(x, last), False)
    inside = lax.bitwise_and(lax.ge(above, np.int32(0)), lax.le(x, broadcast_to(last, shape_of(x))))
    return lax.select(inside, lax.min(above, lax.full_like(above, n - 1)), lax.full_like(above, n))


def _add_up(numbers: Any, weights: Any, size: int) -> Any:
    places = lax.reshape(numbers, (*shape_of(numbers), 1))
    return lax.scatter_add(lax.full((size,), 0, typeof(weights).dtype), places, weights,
                           lax.ScatterDimensionNumbers((), (0,), (0,)), mode="drop")


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None,  # noqa: A002
                density: bool | None = None) -> tuple[Any, Any, Any]:
    """How many of the points ``(x[i], y[i])`` are in each bin of a grid.

    Args:
      x, y: vectors of one length.
      bins: the number of bins in both directions, a vector of edges for both, or a pair of one of these.
      range: ``((lowest, highest), (lowest, highest))``.
      weights: what each point counts.
      density: scale the counts so that their integral is 1.

    Returns:
      ``(counts, edges along x, edges along y)``.
    """
    check_arraylike("histogram2d", x, y)
    if len(shape_of(x)) != 1 or shape_of(x) != shape_of(y):
        raise TypeError(f"histogram2d: x and y must be vectors of one length, got shapes {shape_of(x)} and {shape_of(y)}")
    if isinstance(bins, (_Array, np.ndarray)) and bins.ndim == 1 and bins.shape[0] not in (1, 2):
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple)) and len(bins) not in (1, 2):
        bins = [array(bins)] * 2
    sample = lax.stack(promote_dtypes(asarray(x), asarray(y)), 1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None,  # noqa: A002
                density: bool | None = None) -> tuple[Any, list[Any]]:
    """How many points are in each bin of a grid.

    Args:
      sample: an array of shape (points, dimensions).
      bins: the number of bins along each dimension; or a sequence of numbers and vectors of edges, one per dimension.
      range: a sequence of ``(lowest, highest)``.
      weights: what each point counts.
      density: scale the counts so that their integral is 1.

    Returns:
      ``(counts, list of edges)``.

    Raises:
      ValueError: when there is not one entry for each dimension.
    """
    if isinstance(sample, (list, tuple)):
        raise TypeError("histogramdd: sample must be an array of shape (points, dimensions); make one with jnp.stack")
    check_arraylike("histogramdd", sample)
    if len(shape_of(sample)) != 2:
        raise ValueError(f"histogramdd: sample must have the shape (points, dimensions), got {shape_of(sample)}")
    points, d = shape_of(sample)
    if weights is not None:
        check_arraylike("histogramdd", weights)
        if shape_of(weights) != (points,):
            raise ValueError(f"histogramdd: weights must have one entry for each of the {points} points, got shape "
                             f"{shape_of(weights)}")
    if range is not None and len(range) != d:
        raise ValueError(f"histogramdd: range must have one entry for each of the {d} dimensions, got {len(range)}")
    per_axis = _per_dimension(bins, d)
    columns = [lax.index_in_dim(asarray(sample), i, 1, keepdims=False) for i in np.arange(d).tolist()]
    edges = [histogram_bin_edges(c, b, None if range is None else range[i])
             for i, (c, b) in enumerate(zip(columns, per_axis, strict=True))]
    return _counts_on_grid(columns, edges, weights, density=bool(density)), edges


def _per_dimension(bins: Any, d: int) -> list[Any]:
    if not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0:
        return [bins] * d
    entries: Sequence[Any] = list(bins) if isinstance(bins, (list, tuple)) else np.asarray(bins).tolist()
    if len(entries) != d:
        raise ValueError(f"histogramdd: bins must have one entry for each of the {d} dimensions, got {len(entries)}")
    return list(entries)


@composite(static_argnames=("density",))
def _counts_on_grid(columns: list[Any], edges: list[Any], weights: Any, density: bool) -> Any:
    sizes = tuple([shape_of(e)[0] - 1 for e in edges])
    total = dims.size_of(sizes)
    place: Any = None
    inside: Any = None
    for x, e, n in zip(columns, edges, sizes, strict=True):
        number = _bin_numbers(x, e)
        ok = lax.lt(number, np.int32(n))
        place = number if place is None else lax.add(lax.mul(place, np.int32(n)), number)
        inside = ok if inside is None else lax.bitwise_and(inside, ok)
    if weights is None:
        weights = lax.full(shape_of(place), 1, dtypes.scalar_dtype(int))
    counts = lax.reshape(_add_up(lax.select(inside, place, lax.full_like(place, total)), weights, total), sizes)
    if not density:
        return counts
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(typeof(counts).dtype, typeof(edges[0]).dtype))
    counts = as_dtype(counts, dtype, False)
    for axis, e in enumerate(edges):
        widths = lax.broadcast_in_dim(as_dtype(_differences(e), dtype, False), sizes, (axis,))
        counts = lax.div(counts, widths)
    weights = as_dtype(weights, dtype, False)
    kept = lax.select(inside, weights, lax.full_like(weights, 0))
    return lax.div(counts, broadcast_to(lax.reduce_sum(kept, (0,)), sizes))
