"""Reductions over segments of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.sharding_constraints import laid_out
from jax._base.source import make_boundaries
from jax._ground.families import constant
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.errors import ConcretizationTypeError
from jax.lax import GatherScatterMode
from jax.numpy._promotion import check_arraylike

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """Sums of the rows of ``data`` that have the same segment id.

    Args:
      data: array whose first axis is reduced.
      segment_ids: integer vector with the segment of each row. Rows with negative ids, or ids of ``num_segments`` and
        above, count nowhere.
      num_segments: the number of segments, needed under ``jit``; by default one more than the largest id.
      indices_are_sorted: a promise that the ids ascend, which may be faster.
      unique_indices: a promise that no id occurs twice.
      bucket_size: how many rows are summed before partial sums are combined, for better accuracy.
      mode: what becomes of ids out of range, see :class:`jax.lax.GatherScatterMode`; by default their rows are dropped.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Returns:
      An array of shape ``(num_segments, *data.shape[1:])``; segments without rows are 0.

    Raises:
      ConcretizationTypeError: the number of segments depends on a traced value.
      TypeError, ValueError: ids that are no integer vector as long as ``data``.

    >>> import jax.numpy as jnp
    >>> segment_sum(jnp.array([1, 2, 3]), jnp.array([0, 0, 1])).tolist()
    [3, 3]
    """
    return _reduce_segments("segment_sum", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                            bucket_size, mode, out_sharding)


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                 unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                 out_sharding: Any = None) -> Any:
    """Products of the rows that have the same segment id, 1 for segments without rows. See :func:`segment_sum`."""
    return _reduce_segments("segment_prod", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                            bucket_size, mode, out_sharding)


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """Maxima of the rows that have the same segment id. See :func:`segment_sum`.

    Segments without rows are ``-inf``, or the smallest integer.
    """
    return _reduce_segments("segment_max", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                            bucket_size, mode, out_sharding)


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """Minima of the rows that have the same segment id. See :func:`segment_sum`.

    Segments without rows are ``inf``, or the largest integer.
    """
    return _reduce_segments("segment_min", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                            bucket_size, mode, out_sharding)


def _largest(dtype: Any, sign: int) -> Any:
    """The largest value of ``dtype``, or for ``sign`` -1 the smallest."""
    if dtype == np.bool_:
        return sign > 0
    if dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        return info.max if sign > 0 else info.min
    return sign * np.inf if dtypes.supports_inf(dtype) else sign * dtypes.finfo(dtype).max


_KINDS: dict[str, tuple[Any, Any, Any]] = {
    "segment_sum": (lax.scatter_add, lax.reduce_sum, lambda dtype: 0),
    "segment_prod": (lax.scatter_mul, lax.reduce_prod, lambda dtype: 1),
    "segment_max": (lax.scatter_max, lax.reduce_max, lambda dtype: _largest(dtype, -1)),
    "segment_min": (lax.scatter_min, lax.reduce_min, lambda dtype: _largest(dtype, 1)),
}


def _reduce_segments(name: str, data: Any, segment_ids: Any, num_segments: Any, indices_are_sorted: bool,
                     unique_indices: bool, bucket_size: Any, mode: Any, out_sharding: Any) -> Any:
    check_arraylike(name, data, segment_ids)
    rows, ids = typeof(data), typeof(segment_ids)
    if not dtypes.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"jax.ops.{name}: segment_ids must be integers, got dtype {ids.dtype}")
    if len(ids.shape) != 1 or ids.shape != rows.shape[:1]:
        raise ValueError(f"jax.ops.{name}: segment_ids must be a vector with one id for each row of data, got shape "
                         f"{ids.shape} for data of shape {rows.shape}")
    if bucket_size is not None and bucket_size < 1:
        raise ValueError(f"jax.ops.{name}: bucket_size must be positive, got {bucket_size}")
    mode = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    out = _reduced(data, segment_ids, name=name, size=_segment_count(name, segment_ids, num_segments),
                   sorted_ids=bool(indices_are_sorted), unique=bool(unique_indices), bucket=bucket_size, mode=mode)
    return laid_out(out, out_sharding, f"jax.ops.{name}")


def _segment_count(name: str, segment_ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        if isinstance(segment_ids, Tracer):
            raise ConcretizationTypeError(segment_ids, f"the number of segments of jax.ops.{name} depends on the "
                                          "segment ids, whose values are not known here; give num_segments.")
        ids = np.asarray(segment_ids)
        return max(int(ids.max()) + 1, 0) if ids.size else 0
    if isinstance(num_segments, Tracer):
        raise ConcretizationTypeError(num_segments, f"num_segments of jax.ops.{name} determines the shape of the "
                                      "result, so it must be known; mark it as static.")
    count = num_segments.__index__()
    if count < 0:
        raise ValueError(f"jax.ops.{name}: num_segments must not be negative, got {count}")
    return count


@composite(static_argnames=("name", "size", "sorted_ids", "unique", "bucket", "mode"))
def _reduced(data: Any, ids: Any, *, name: str, size: int, sorted_ids: bool, unique: bool, bucket: Any,
             mode: Any) -> Any:
    scatter, reduce, neutral = _KINDS[name]
    dtype = typeof(data).dtype
    if dtype == np.bool_ and name in ("segment_sum", "segment_prod"):
        raise TypeError(f"jax.ops.{name} does not combine booleans; convert them, as in data.astype(int)")
    rest = tuple(typeof(data).shape[1:])
    count = typeof(data).shape[0]
    start = constant(dtype, neutral(dtype))
    ids = lax.expand_dims(ids, (1,))
    window = tuple(range(1, 1 + len(rest)))
    if bucket is None:
        numbers = lax.ScatterDimensionNumbers(window, (0,), (0,))
        return scatter(lax.full((size, *rest), start), ids, data, numbers, indices_are_sorted=sorted_ids,
                       unique_indices=unique, mode=mode)
    buckets = -(-count // bucket)
    which = lax.div(lax.broadcasted_iota(typeof(ids).dtype, (count, 1), 0), np.asarray(bucket, typeof(ids).dtype))
    numbers = lax.ScatterDimensionNumbers(window, (0, 1), (0, 1))
    parts = scatter(lax.full((buckets, size, *rest), start), lax.concatenate([which, ids], 1), data, numbers,
                    indices_are_sorted=False, unique_indices=unique, mode=mode)
    return reduce(parts, (0,))


make_boundaries(globals())
