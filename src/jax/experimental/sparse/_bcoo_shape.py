"""BCOO arrays of other shapes: axes in another order, parts, sums, arrays put together."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._language.trace import Tracer
from jax.experimental.sparse._bcoo_layout import (
    BCOO,
    bcoo_todense,
    bcoo_update_layout,
    columns,
    entries,
    expand,
    make,
    outside,
    per_batch,
    trimmed,
    valid,
)
from jax.experimental.sparse.util import compiled


def _axes(name: str, mat: BCOO, axes: Sequence[int]) -> list[int]:
    out = [operator.index(d) for d in axes]
    if any(not -mat.ndim <= d < mat.ndim for d in out):
        raise ValueError(f"{name}: axes {tuple(out)} are out of bounds for an array of shape {mat.shape}")
    out = [d % mat.ndim for d in out]
    if len(set(out)) < len(out):
        raise ValueError(f"{name}: axes {tuple(out)} name an axis twice")
    return out


def _plain_sparse(mat: BCOO) -> BCOO:
    """All batch axes as sparse ones."""
    return bcoo_update_layout(mat, n_batch=0)


# --- order and sums -------------------------------------------------------------------------------------------------


@compiled("permutation")
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order. Batch, sparse and dense axes must stay among themselves.

    Raises:
      NotImplementedError: for axes of different kinds that change places; see :func:`bcoo_update_layout`.
    """
    permutation = _axes("bcoo_transpose", mat, permutation)
    if len(permutation) != mat.ndim:
        raise ValueError(f"bcoo_transpose: {tuple(permutation)} is no permutation of {mat.ndim} axes")
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    parts = permutation[:b], permutation[b:s], permutation[s:]
    if any(sorted(part) != list(r) for part, r in zip(parts, (range(b), range(b, s), range(s, mat.ndim)), strict=True)):
        raise NotImplementedError(f"bcoo_transpose: permutation {tuple(permutation)} exchanges axes of different kinds in "
                                  f"an array with n_batch={b}, n_sparse={mat.n_sparse}, n_dense={mat.n_dense}; change that "
                                  "first, with update_layout")
    data = jnp.transpose(mat.data, [*parts[0], b, *[d - s + b + 1 for d in parts[2]]])
    indices = jnp.transpose(mat.indices, [*parts[0], b, b + 1])[..., [d - b for d in parts[1]]]
    unmoved = list(parts[1]) == sorted(parts[1])
    return make(data, indices, [mat.shape[d] for d in permutation], indices_sorted=mat.indices_sorted and unmoved,
                unique_indices=mat.unique_indices)


@compiled("axes")
def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum over some axes, as a BCOO array."""
    axes = _axes("bcoo_reduce_sum", mat, axes)
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    if not axes:
        return mat
    summed_batch = [d for d in axes if d < b]
    kept_batch = [d for d in range(b) if d not in axes]
    kept_sparse = [d - b for d in range(b, s) if d not in axes]
    data, indices = entries(mat)
    there = valid(indices, mat._sparse_shape)
    data = jnp.where(expand(there, data.ndim), data, jnp.zeros((), data.dtype))
    indices = jnp.where(there[..., None], indices, outside(mat._sparse_shape, indices.dtype))[..., kept_sparse]
    data = jnp.sum(data, axis=tuple(d - s + b + 1 for d in axes if d >= s), dtype=data.dtype)
    # entries of batches that are added to each other come one after another
    order = [*kept_batch, *summed_batch]
    n = len(kept_batch)
    data = jnp.transpose(data, [*order, *range(b, data.ndim)])
    indices = jnp.transpose(indices, [*order, b, b + 1])
    count = math.prod(data.shape[n:b + 1])
    data = data.reshape(*data.shape[:n], count, *data.shape[b + 1:])
    indices = indices.reshape(*indices.shape[:n], count, len(kept_sparse))
    shape = [size for d, size in enumerate(mat.shape) if d not in axes]
    return trimmed(make(data, indices, shape))


@compiled("dimensions")
def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some axes of size 1."""
    dimensions = _axes("bcoo_squeeze", arr, dimensions)
    if any(arr.shape[d] != 1 for d in dimensions):
        raise ValueError(f"bcoo_squeeze: axes {tuple(dimensions)} of an array of shape {arr.shape} have not all size 1")
    return bcoo_reduce_sum(arr, axes=dimensions) if dimensions else arr


# --- reshape and broadcast ------------------------------------------------------------------------------------------


def _split(sizes: Sequence[int], total: int) -> int | None:
    """The length of the shortest prefix with this product."""
    product = 1
    for i, n in enumerate([*sizes, None]):
        if product == total:
            return i
        if n is None:
            break
        product *= n
    return None


@compiled("new_sizes", "dimensions", "sharding")
def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
                 sharding: Any = None) -> BCOO:
    """The array in another shape, with its elements in the same order.

    Args:
      mat: an array. Dense axes cannot be mixed with others; batch axes become sparse ones if need be.
      new_sizes: the shape.
      dimensions: the order in which to take the axes, instead of the present one.
      sharding: not supported.
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_reshape: sharding= is not supported; see jax.lax.with_sharding_constraint")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = [operator.index(n) for n in new_sizes]
    if sizes.count(-1) == 1:
        rest = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = mat.size // rest if rest else 0
    if math.prod(sizes) != mat.size or min(sizes, default=0) < 0:
        raise ValueError(f"bcoo_reshape: an array of shape {mat.shape} cannot take the shape {tuple(sizes)}")
    dense = mat.shape[mat.ndim - mat.n_dense:]
    if dense:
        cut = _split(sizes[::-1], math.prod(dense))
        if cut is None:
            raise NotImplementedError(f"bcoo_reshape: the shape {tuple(sizes)} mixes the dense axes {dense} with others; "
                                      "use update_layout(n_dense=0) first")
        head, tail = sizes[:len(sizes) - cut], sizes[len(sizes) - cut:]
    else:
        head, tail = sizes, []
    cut = _split(head, math.prod(mat.shape[:mat.n_batch])) if mat.n_batch else 0
    if cut is None or mat.n_batch and math.prod(head[cut:]) != math.prod(mat._sparse_shape):
        mat, cut = _plain_sparse(mat), 0
    data, indices = entries(mat)
    there = valid(indices, mat._sparse_shape)
    new = _relinearised(indices, mat._sparse_shape, head[cut:])
    new = jnp.where(there[..., None], new, outside(head[cut:], indices.dtype))
    data = data.reshape(*head[:cut], mat.nse, *tail)
    new = new.reshape(*head[:cut], mat.nse, len(head) - cut)
    return make(data, new, sizes, like=mat)


def _relinearised(indices: Any, old: Sequence[int], new: Sequence[int]) -> Any:
    """Indices into a shape as indices into another one of the same size."""
    if not new:
        return indices[..., :0]
    dtype = indices.dtype
    if math.prod(old) > np.iinfo(dtype).max:
        wide = dtypes.canonicalize_dtype(np.int64)
        if math.prod(old) > np.iinfo(wide).max:
            raise NotImplementedError(f"bcoo_reshape: an array of shape {tuple(old)} has more elements than {wide} can "
                                      "count; enable 64-bit types")
        indices = indices.astype(wide)
    flat = jnp.zeros(indices.shape[:-1], indices.dtype)
    for column, n in zip(columns(indices), old, strict=True):
        flat = flat * n + column
    out = []
    for n in reversed(new):
        out.append(flat % max(n, 1))
        flat = flat // max(n, 1)
    return jnp.stack(out[::-1], axis=-1).astype(dtype)


@compiled("shape", "broadcast_dimensions", "sharding")
def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding: Any = None) -> BCOO:
    """The array repeated along new axes and along axes of size 1.

    Args:
      mat: an array.
      shape: the result's.
      broadcast_dimensions: for each axis of ``mat`` its place in ``shape``, ascending. New axes before the first sparse
        axis are batch axes, the others are of the kind of the axis before them.
      sharding: not supported.
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_broadcast_in_dim: sharding= is not supported; see jax.lax.with_sharding_constraint")
    shape = tuple(shape)
    places = [operator.index(d) for d in broadcast_dimensions]
    if len(places) != mat.ndim or sorted(set(places)) != places or any(not 0 <= d < len(shape) for d in places) or any(
            n not in (1, shape[d]) for n, d in zip(mat.shape, places, strict=True)):
        raise ValueError(f"bcoo_broadcast_in_dim: an array of shape {mat.shape} cannot be broadcast to {shape} along "
                         f"{tuple(places)}")
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    first_sparse = places[b] if b < mat.ndim and mat.n_sparse else places[s] if s < mat.ndim else len(shape)
    first_dense = places[s] if s < mat.ndim else len(shape)
    n_batch, n_sparse = first_sparse, first_dense - first_sparse
    data, indices = entries(mat)
    sources = {d: i for i, d in enumerate(places)}
    # batch and dense axes
    front = tuple(shape[:n_batch])
    view = [mat.shape[sources[d]] if d in sources else 1 for d in range(n_batch)]
    back = [mat.shape[sources[d]] if d in sources else 1 for d in range(first_dense, len(shape))]
    data = jnp.broadcast_to(data.reshape(*view, mat.nse, *back), (*front, mat.nse, *shape[first_dense:]))
    indices = jnp.broadcast_to(indices.reshape(*view, mat.nse, mat.n_sparse), (*front, mat.nse, mat.n_sparse))
    # sparse axes: entries are repeated
    grown = [d for d in range(first_sparse, first_dense) if d not in sources or mat.shape[sources[d]] != shape[d]]
    repeats = math.prod(shape[d] for d in grown)
    grid = np.stack(np.unravel_index(np.arange(repeats), [shape[d] for d in grown]), -1) if grown else np.zeros((1, 0), int)
    there = valid(indices, mat._sparse_shape)[..., None]
    cols = []
    for d in range(first_sparse, first_dense):
        if d in grown:
            column = jnp.broadcast_to(grid[:, grown.index(d)].astype(indices.dtype), (*front, mat.nse, repeats))
        else:
            column = jnp.broadcast_to(indices[..., sources[d] - b][..., None], (*front, mat.nse, repeats))
        cols.append(jnp.where(there, column, np.asarray(shape[d], indices.dtype)))
    count = mat.nse * repeats
    new = jnp.stack(cols, axis=-1).reshape(*front, count, n_sparse) if cols else indices[..., :0]
    data = jnp.repeat(data, repeats, axis=n_batch) if repeats != 1 else data
    return make(data, new, shape, indices_sorted=mat.indices_sorted and not grown, unique_indices=mat.unique_indices)


# --- parts ----------------------------------------------------------------------------------------------------------


@compiled("start_indices", "limit_indices", "strides")
def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
               strides: Sequence[int] | None = None) -> BCOO:
    """The part of the array from ``start_indices`` to ``limit_indices`` (exclusive), with positive ``strides``."""
    starts, limits = [operator.index(i) for i in start_indices], [operator.index(i) for i in limit_indices]
    steps = [1] * mat.ndim if strides is None else [operator.index(i) for i in strides]
    if not len(starts) == len(limits) == len(steps) == mat.ndim or any(
            not 0 <= a <= z <= n or t < 1 for a, z, t, n in zip(starts, limits, steps, mat.shape, strict=True)):
        raise ValueError(f"bcoo_slice: start_indices={tuple(starts)}, limit_indices={tuple(limits)}, strides={strides} do "
                         f"not fit an array of shape {mat.shape}")
    shape = [-(-(z - a) // t) for a, z, t in zip(starts, limits, steps, strict=True)]
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = entries(mat)
    cut = [slice(a, z, t) for a, z, t in zip(starts, limits, steps, strict=True)]
    data = data[(*cut[:b], slice(None), *cut[s:])]
    indices = indices[tuple(cut[:b])]
    if all(c == slice(0, n, 1) for c, n in zip(cut[b:s], mat._sparse_shape, strict=True)):
        return make(data, indices, shape, like=mat)
    low = np.asarray(starts[b:s], indices.dtype)
    step = np.asarray(steps[b:s], indices.dtype)
    high = np.asarray(limits[b:s], indices.dtype)
    there = jnp.all((indices >= low) & (indices < high) & ((indices - low) % step == 0), axis=-1)
    return _kept(data, (indices - low) // step, there, shape, b, mat.unique_indices)


def _kept(data: Any, indices: Any, there: Any, shape: Sequence[int], n_batch: int, unique: bool) -> BCOO:
    """Only those entries that are there."""
    sparse_shape = shape[n_batch:n_batch + indices.shape[-1]]
    data = jnp.where(expand(there, data.ndim), data, jnp.zeros((), data.dtype))
    indices = jnp.where(there[..., None], indices, outside(sparse_shape, indices.dtype))
    return trimmed(make(data, indices, shape, unique_indices=unique and bool(sparse_shape)))


@compiled("slice_sizes")
def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """The part of the array of given sizes from given indices on, which may be traced; they are clamped so that the part
    fits, as by :func:`jax.lax.dynamic_slice`."""
    sizes = [operator.index(n) for n in slice_sizes]
    if not len(sizes) == len(start_indices) == mat.ndim or any(
            not 0 <= m <= n for m, n in zip(sizes, mat.shape, strict=True)):
        raise ValueError(f"bcoo_dynamic_slice: {len(start_indices)} indices and sizes {tuple(sizes)} do not fit an array of "
                         f"shape {mat.shape}")
    data, indices = entries(mat)
    starts = [_clamped(i, n, m, indices.dtype) for i, n, m in zip(start_indices, mat.shape, sizes, strict=True)]
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    zero = jnp.zeros((), indices.dtype)
    data = lax.dynamic_slice(data, [*starts[:b], zero, *starts[s:]], [*sizes[:b], mat.nse, *sizes[s:]])
    indices = lax.dynamic_slice(indices, [*starts[:b], zero, zero], [*sizes[:b], mat.nse, mat.n_sparse])
    if not mat.n_sparse:
        return make(data, indices, sizes, like=mat)
    low = jnp.stack(starts[b:s])
    moved = indices - low
    there = valid(indices, mat._sparse_shape) & valid(moved, sizes[b:s])
    return _kept(data, moved, there, sizes, b, mat.unique_indices)


def _clamped(start: Any, n: int, size: int, dtype: Any) -> Any:
    start = jnp.asarray(start)
    start = jnp.where(start < 0, start + n, start)
    return jnp.clip(start, 0, n - size).astype(dtype)


@compiled("dimensions")
def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with its elements in reversed order along some axes."""
    dimensions = _axes("bcoo_rev", operand, dimensions)
    b, s = operand.n_batch, operand.n_batch + operand.n_sparse
    data, indices = entries(operand)
    data = jnp.flip(data, [d if d < b else d - s + b + 1 for d in dimensions if not b <= d < s])
    indices = jnp.flip(indices, [d for d in dimensions if d < b])
    turned = [d - b for d in dimensions if b <= d < s]
    if turned:
        there = valid(indices, operand._sparse_shape)
        sign = np.ones(operand.n_sparse, indices.dtype)
        sign[turned] = -1
        last = np.where(sign < 0, np.asarray(operand._sparse_shape) - 1, 0).astype(indices.dtype)
        indices = jnp.where(there[..., None], last + sign * indices, outside(operand._sparse_shape, indices.dtype))
    return make(data, indices, operand.shape, indices_sorted=operand.indices_sorted and not turned,
                unique_indices=operand.unique_indices)


@compiled("dimension")
def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays of one layout, joined along an axis. Along a dense axis they must have no batch axes that differ, and are
    stored with the entries of all."""
    operands = list(operands)
    if not operands:
        raise ValueError("bcoo_concatenate: there is no array to join")
    first = operands[0]
    if any(not isinstance(m, BCOO) for m in operands):
        raise ValueError("bcoo_concatenate: all operands must be BCOO arrays")
    (dimension,) = _axes("bcoo_concatenate", first, [dimension])
    layouts = {(m.n_batch, m.n_sparse, m.n_dense) for m in operands}
    shapes = {tuple(n for d, n in enumerate(m.shape) if d != dimension) for m in operands}
    if len(layouts) > 1 or len(shapes) > 1:
        raise ValueError(f"bcoo_concatenate: along axis {dimension}, arrays {operands} of different layouts or shapes "
                         "cannot be joined")
    b, s = first.n_batch, first.n_batch + first.n_sparse
    dtype = jnp.result_type(*[m.data.dtype for m in operands])
    shape = list(first.shape)
    shape[dimension] = sum(m.shape[dimension] for m in operands)
    index_dtype = jnp.result_type(*[m.indices.dtype for m in operands])
    parts = [(data.astype(dtype), indices.astype(index_dtype)) for data, indices in map(entries, operands)]
    unique = all(m.unique_indices for m in operands)
    if dimension < b:
        nse = max(m.nse for m in operands)
        sparse_shape = shape[b:s]
        parts = [padded(*part, nse - m.nse, b, sparse_shape) for m, part in zip(operands, parts, strict=True)]
        data, indices = (jnp.concatenate(v, axis=dimension) for v in zip(*parts, strict=True))
        return make(data, indices, shape, indices_sorted=all(m.indices_sorted for m in operands), unique_indices=unique)
    offset, datas, places = 0, [], []
    for m, (data, indices) in zip(operands, parts, strict=True):
        if dimension < s:
            there = valid(indices, m._sparse_shape)[..., None]
            shift = np.zeros(m.n_sparse, index_dtype)
            shift[dimension - b] = offset
            indices = jnp.where(there, indices + shift, outside(shape[b:s], index_dtype))
        else:
            axis = dimension - s + b + 1
            pad = [(0, 0)] * data.ndim
            pad[axis] = (offset, shape[dimension] - offset - m.shape[dimension])
            data = jnp.pad(data, pad)
        datas.append(data)
        places.append(indices)
        offset += m.shape[dimension]
    in_order = all(m.indices_sorted for m in operands) and dimension == b < s and not b and len(operands) == 1
    return make(jnp.concatenate(datas, axis=b), jnp.concatenate(places, axis=b), shape, indices_sorted=in_order,
                unique_indices=unique and dimension < s)


def padded(data: Any, indices: Any, more: int, n_batch: int, sparse_shape: Sequence[int]) -> tuple[Any, Any]:
    """With further entries that are not there."""
    pad = [(0, 0)] * data.ndim
    pad[n_batch] = (0, more)
    fill = jnp.broadcast_to(outside(sparse_shape, indices.dtype), (*indices.shape[:n_batch], more, indices.shape[-1]))
    return jnp.pad(data, pad), jnp.concatenate([indices, fill], axis=n_batch)


# --- gather and indexing --------------------------------------------------------------------------------------------


def bcoo_gather(operand: BCOO, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *,
                unique_indices: bool = False, indices_are_sorted: bool = False, mode: Any = None,
                fill_value: Any = None) -> BCOO:
    """Parts of the array from given indices on; see :func:`jax.lax.gather`.

    The axes over which indices vary become batch axes where they come first in the result, and sparse ones elsewhere.
    Batch axes of the operand become sparse ones. ``unique_indices`` and ``indices_are_sorted`` are promises of which no use
    is made. Indices out of bounds are clipped by default; ``jax.lax.gather`` fills.

    Raises:
      NotImplementedError: for ``mode="fill"`` with another ``fill_value`` than 0, if indices are out of bounds or not
        known: the result would be dense.
    """
    del unique_indices, indices_are_sorted
    operand = _plain_sparse(operand)
    numbers, start_indices = _without_batching_dims(dimension_numbers, jnp.asarray(start_indices))
    last = np.array([operand.shape[d] - slice_sizes[d] for d in numbers.start_index_map], np.int64)
    fills = mode is not None and lax.GatherScatterMode.from_any(mode) == lax.GatherScatterMode.FILL_OR_DROP
    if fill_value is not None and not fills:
        raise NotImplementedError(f"bcoo_gather: fill_value={fill_value} is for mode='fill', got mode={mode}")
    if fills and _known_inside(start_indices, last):
        fills = False
    elif fills and not (isinstance(fill_value, int | float | np.number) and fill_value == 0):
        raise NotImplementedError("bcoo_gather: mode 'fill' with a fill_value other than 0 is not supported for indices "
                                  "that may be out of bounds: the result would be dense. Pass fill_value=0, or clip the "
                                  "indices, mode='clip'")
    out = _parts(operand, start_indices, map_=tuple(numbers.start_index_map), sizes=tuple(slice_sizes),
                 collapsed=tuple(numbers.collapsed_slice_dims), drop=fills)
    return _varying_axes_at(out, start_indices.ndim - 1, numbers.offset_dims)


def _without_batching_dims(numbers: Any, start_indices: Any) -> tuple[Any, Any]:
    """The same gather with axes along which operand and indices go together as further indices."""
    batching = tuple(getattr(numbers, "operand_batching_dims", ()))
    if not batching:
        return numbers, start_indices
    lead = start_indices.shape[:-1]
    own = [lax.broadcasted_iota(start_indices.dtype, (*lead, 1), d) for d in numbers.start_indices_batching_dims]
    new = lax.GatherDimensionNumbers(offset_dims=tuple(numbers.offset_dims),
                                     collapsed_slice_dims=tuple(sorted((*numbers.collapsed_slice_dims, *batching))),
                                     start_index_map=(*numbers.start_index_map, *batching))
    return new, jnp.concatenate([start_indices, *own], axis=-1)


def _known_inside(start_indices: Any, last: Any) -> bool:
    """Whether indices are known and in bounds."""
    if isinstance(start_indices, Tracer):
        return False
    found = np.asarray(start_indices)
    return bool(np.all((found >= 0) & (found <= last)))


@compiled("map_", "sizes", "collapsed", "drop")
def _parts(operand: BCOO, start_indices: Any, *, map_: Sequence[int], sizes: Sequence[int], collapsed: Sequence[int],
           drop: bool) -> BCOO:
    """The parts at indices, which are clipped; with ``drop``, those that are not in bounds are empty."""
    def one(index: Any) -> BCOO:
        starts: list[Any] = [0] * operand.ndim
        inside = jnp.ones((), bool)
        for k, d in enumerate(map_):
            last = operand.shape[d] - sizes[d]
            starts[d] = jnp.clip(index[k], 0, last)
            inside &= starts[d] == index[k]
        out = bcoo_squeeze(bcoo_dynamic_slice(operand, starts, sizes), dimensions=collapsed)
        if not drop:
            return out
        there = jnp.broadcast_to(inside, out.indices.shape[:-1])
        return _kept(out.data, out.indices, there, out.shape, 0, out.unique_indices)
    return per_batch(one, start_indices.ndim - 1)(start_indices)


def _varying_axes_at(mat: BCOO, lead: int, offset_dims: Sequence[int]) -> BCOO:
    """The leading axes at those places of the result that ``offset_dims`` leave."""
    varying = [d for d in range(mat.ndim) if d not in offset_dims]
    if varying == list(range(lead)):
        return mat
    source = dict(zip([*varying, *offset_dims], range(mat.ndim), strict=True))
    dense = mat.n_dense
    while any(source[d] != d for d in range(mat.ndim - dense, mat.ndim)):
        dense -= 1  # what does not stay at the end becomes sparse
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=dense)
    return bcoo_transpose(mat, permutation=[source[d] for d in range(mat.ndim)])


def basic_index(mat: BCOO, index: Any) -> tuple[Any, ...] | None:
    """``index`` with an entry for every axis, if it is of integers, slices, ``None`` and ``...`` alone."""
    index = index if isinstance(index, tuple) else (index,)
    if any(not (i is None or i is Ellipsis or isinstance(i, slice)) and (jnp.ndim(i) or _is_bool(i)) for i in index):
        return None
    used = sum(1 for i in index if i is not None and i is not Ellipsis)
    if used > mat.ndim or sum(1 for i in index if i is Ellipsis) > 1:
        raise IndexError(f"too many indices for an array of shape {mat.shape}: {index}")
    if Ellipsis not in [i for i in index if i is None or i is Ellipsis]:
        index = (*index, Ellipsis)
    at = next(k for k, i in enumerate(index) if i is Ellipsis)
    return (*index[:at], *[slice(None)] * (mat.ndim - used), *index[at + 1:])


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_


def part_at(mat: BCOO, index: Sequence[Any]) -> BCOO:
    """``mat[index]`` for what :func:`basic_index` returns."""
    starts, sizes, moving, squeezed, turned, steps, added = [], [], [], [], [], [], []
    d = 0
    for place, i in enumerate(index):
        if i is None:
            added.append(place - sum(1 for j in index[:place] if not (j is None or isinstance(j, slice))))
            continue
        n = mat.shape[d]
        if isinstance(i, slice):
            a, z, t = i.indices(n)
            if t < 0:
                count = max(0, -(-(a - z) // -t))
                turned.append(d)
                a, z, t = (a + (count - 1) * t, a + 1, -t) if count else (0, 0, 1)
            starts.append(a)
            sizes.append(max(z - a, 0))
            steps.append(t)
        else:
            if isinstance(i, int | np.integer) and not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for axis {d} of size {n}")
            known = isinstance(i, int | np.integer)
            starts.append(int(i) % n if known else i)
            moving += [] if known else [d]
            sizes.append(1)
            steps.append(1)
            squeezed.append(d)
        d += 1
    if moving:
        mat = bcoo_dynamic_slice(mat, [i if e in moving else 0 for e, i in enumerate(starts)],
                                 [1 if e in moving else n for e, n in enumerate(mat.shape)])
        starts = [0 if e in moving else i for e, i in enumerate(starts)]
    limits = [a + n for a, n in zip(starts, sizes, strict=True)]
    out = bcoo_slice(mat, start_indices=starts, limit_indices=limits, strides=steps)
    out = bcoo_rev(out, turned) if turned else out
    out = bcoo_squeeze(out, dimensions=squeezed)
    if added:
        shape = list(out.shape)
        for place in added:
            shape.insert(place, 1)
        out = bcoo_broadcast_in_dim(out, shape=shape, broadcast_dimensions=[e for e in range(len(shape)) if e not in added])
    return out


def total(mat: BCOO, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over axes; a dense scalar over all of them."""
    axes = range(mat.ndim) if axis is None else [axis] if not isinstance(axis, Sequence) else axis
    axes = _axes("BCOO.sum", mat, axes)
    if dtype is not None:
        mat = make(mat.data.astype(dtype), mat.indices, mat.shape, like=mat)
    elif jnp.issubdtype(mat.dtype, jnp.bool_):
        mat = make(mat.data.astype(int), mat.indices, mat.shape, like=mat)
    out = bcoo_reduce_sum(mat, axes=axes)
    if keepdims:
        shape = [1 if d in axes else n for d, n in enumerate(mat.shape)]
        out = bcoo_broadcast_in_dim(out, shape=shape, broadcast_dimensions=[d for d in range(mat.ndim) if d not in axes])
    return out if out.ndim else bcoo_todense(out)


__all__ = ["bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_dynamic_slice", "bcoo_gather", "bcoo_reduce_sum",
           "bcoo_reshape", "bcoo_rev", "bcoo_slice", "bcoo_squeeze", "bcoo_transpose", "basic_index", "part_at", "per_batch",
           "total"]
