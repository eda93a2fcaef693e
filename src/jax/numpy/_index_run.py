"""Carrying out plans of :mod:`jax.numpy._index_plan`: taking elements, and updating them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._base._jaxlib import xla
from jax._ground.families import UNSIGNED, category
from jax._ground.structural import broadcast_in_dim_p, convert, full, zeros_of
from jax._language import dims
from jax._language.avals import typeof
from jax.lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    add,
    bitwise_and,
    bitwise_or,
    concatenate,
    dynamic_slice_p,
    dynamic_update_slice_p,
    expand_dims,
    gather,
    ge,
    lt,
    max,
    min,
    mul,
    pad,
    reshape,
    rev,
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
    select,
    slice_p,
    squeeze,
    squeeze_p,
    sub,
)
from jax.lax._gather import default_fill_value
from jax.numpy._index_plan import (
    AT,
    SCALAR,
    Advanced,
    Basic,
    Plan,
    advanced,
    basic,
    bounds,
    has_arrays,
    without_flags,
)
from jax.numpy._promotion import broadcast_to, check_rank_promotion

_Array = xla.Array
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
CLIP, FILL, PROMISE = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS


class Options(NamedTuple):
    """What may be said about an index besides the index.

    Attributes:
      mode: what happens out of bounds; None is the default of the operation.
      fill_value: what takes the place of elements out of bounds.
      wrap: whether negative places count from the end.
      unique: a promise that no element is named twice.
      sorted: a promise that places increase.
    """

    mode: GatherScatterMode | None = None
    fill_value: Any = None
    wrap: bool = True
    unique: bool = False
    sorted: bool = False


DEFAULT = Options()


# --- places ---------------------------------------------------------------------------------------------------------

def _index_dtype(values: Sequence[Any], shape: tuple[Any, ...]) -> np.dtype:
    """int32, unless a place or a size needs more."""
    for n in shape:
        if type(n) is int and n > 2**31 - 1:
            return _INT64
    for v in values:
        if isinstance(v, (_Array, np.ndarray)):
            aval = typeof(v)
            if aval.dtype.itemsize == 8 and not aval.weak_type:
                return _INT64
    return _INT32


def _as_places(i: Any, n: Any, dtype: np.dtype, wrap: bool) -> Any:
    """Integers as places along an axis of size ``n``: of ``dtype``, negative ones counted from the end."""
    if not isinstance(i, _Array):
        value = np.asarray(i)
        if value.dtype.kind == "u":
            return np.minimum(value, np.array(min_int(n, value.dtype), value.dtype)).astype(dtype)
        value = value.astype(np.int64)
        return (np.where(value < 0, value + n, value) if wrap else value).astype(dtype)
    have = typeof(i).dtype
    if category(have) == UNSIGNED:
        if have.itemsize >= dtype.itemsize:
            i = min(i, full(typeof(i).shape, min_int(n, have), have))
        return convert(i, dtype)
    i = convert(i, dtype)
    if not wrap:
        return i
    return select(lt(i, np.array(0, dtype)), add(i, np.array(n, dtype)), i)


def min_int(n: Any, dtype: Any) -> int:
    """``n``, or the largest number of an integer dtype that cannot hold it."""
    greatest = int(np.iinfo(dtype).max)
    return n if n < greatest else greatest


def _is_within(i: Any, n: Any) -> Any:
    dtype = typeof(i).dtype
    return bitwise_and(ge(i, np.array(0, dtype)), lt(i, np.array(n, dtype)))


# --- taking ---------------------------------------------------------------------------------------------------------

def get(x: Any, plan: Plan, operands: Sequence[Any], o: Options = DEFAULT) -> Any:
    """The elements of ``x`` that a plan describes."""
    if has_arrays(plan):
        return _get_advanced(x, plan, operands, o)
    b = basic(plan, typeof(x).shape)
    if b.cut is not None:
        x = slice_p.bind(x, start_indices=b.cut[0], limit_indices=b.cut[1], strides=b.cut[2])
    if b.flips:
        x = rev(x, b.flips)
    if b.moving:
        starts, within = _starts(b, b.cut_shape, operands, o.wrap, o.mode is FILL)
        x = dynamic_slice_p.bind(x, *starts, slice_sizes=b.sizes)
        if within is not None:
            x = _blank_outside(x, within, o.fill_value)
    if b.dropped:
        x = squeeze_p.bind(x, dimensions=b.dropped)
    if b.new:
        kept = tuple([i for i in range(len(b.shape)) if i not in b.new])
        x = broadcast_in_dim_p.bind(x, shape=b.shape, broadcast_dimensions=kept, sharding=None)
    return x


def _starts(b: Basic, shape: Any, operands: Sequence[Any], wrap: bool, check: bool,
            base: Sequence[int] | None = None) -> tuple[list[Any], Any]:
    """The start of the slice along each axis, and with ``check`` whether the unknown ones are within bounds, if any."""
    dtype = _index_dtype(operands, shape)
    starts: list[Any] = [np.array(0, dtype)] * len(shape) if base is None else [np.array(s, dtype) for s in base]
    within = None
    for (axis, unknown), i in zip(b.moving, operands, strict=True):
        if unknown:
            if dims.is_zero(shape[axis]):
                raise IndexError(f"an index points into an axis of size 0: axis {axis} of an array of shape {shape}")
            i = _as_places(i, shape[axis], dtype, wrap)
            if check:
                ok = _is_within(i, shape[axis])
                within = ok if within is None else bitwise_and(within, ok)
        else:
            i = convert(i, dtype) if isinstance(i, _Array) else np.array(i, dtype)
        starts[axis] = i
    return starts, within


def _blank_outside(x: Any, within: Any, fill_value: Any) -> Any:
    aval = typeof(x)
    value = default_fill_value(aval.dtype) if fill_value is None else fill_value
    return select(within, x, full(aval.shape, value, aval.dtype))


def _get_advanced(x: Any, plan: Plan, operands: Sequence[Any], o: Options) -> Any:
    plan, operands, expand = without_flags(plan, operands)
    if expand:
        x = expand_dims(x, expand)
    a = advanced(plan)
    if a.slices:
        x = _cut(x, a.slices)
    aval = typeof(x)
    shape, batch = aval.shape, _batch_shape(operands)
    rank = len(batch)
    kept = [shape[r] for r in a.rest]
    out_shape = (*kept[:a.before], *batch, *kept[a.before:])
    axes = tuple([axis for axis, _, _ in a.axes])
    out: Any
    if any([dims.is_zero(shape[axis]) for axis in axes]):
        if not any([dims.is_zero(n) for n in out_shape]) and o.mode is not FILL:
            raise IndexError(f"an index array of shape {batch} points into an axis of size 0 (array of shape {shape})")
        out = _blank_outside(zeros_of(aval.update(shape=out_shape)), np.array(False), o.fill_value)
    else:
        numbers = GatherDimensionNumbers(
            (*range(a.before), *range(a.before + rank, rank + len(kept))), axes, axes)
        out = gather(x, _index_vectors(a, operands, shape, batch, o.wrap), numbers,
                     tuple([1 if i in axes else n for i, n in enumerate(shape)]),
                     unique_indices=o.unique, indices_are_sorted=o.sorted, mode=PROMISE if o.mode is None else o.mode,
                     fill_value=o.fill_value)
    if a.new:
        out = expand_dims(out, [p if p < a.insert else p + rank for p in a.new])
    return out


def _cut(x: Any, slices: Sequence[tuple[int, int, int, int]]) -> Any:
    shape = typeof(x).shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    for axis, start, size, step in slices:
        starts[axis], limits[axis], strides[axis] = bounds(start, size, step)
    x = slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides))
    flips = [axis for axis, _, _, step in slices if step < 0]
    return rev(x, flips) if flips else x


def _batch_shape(operands: Sequence[Any]) -> tuple[Any, ...]:
    shapes = [np.shape(i) if not isinstance(i, _Array) else i.shape for i in operands]
    out = dims.broadcast_shapes(shapes)
    if out is None:
        raise IndexError("shape mismatch: the index arrays cannot be broadcast together, they have shapes "
                         f"{', '.join([str(s) for s in shapes])}")
    return out


def _index_vectors(a: Advanced, operands: Sequence[Any], shape: tuple[Any, ...], batch: tuple[Any, ...], wrap: bool,
                   ) -> Any:
    dtype = _index_dtype(operands, shape)
    columns = [_column(kind, value, operands, shape[axis], dtype, wrap) for axis, kind, value in a.axes]
    return _join_columns(columns, [None] * len(columns), batch, dtype)


def _column(kind: str, value: int, operands: Sequence[Any], n: Any, dtype: np.dtype, wrap: bool) -> Any:
    if kind == AT:
        return np.array(value, dtype)
    return _as_places(operands[value], n, dtype, wrap)


def _join_columns(columns: Sequence[Any], along: Sequence[int | None], batch: tuple[Any, ...], dtype: np.dtype) -> Any:
    """Index vectors of the components ``columns``: each broadcast to ``batch``, or (of rank 1) along one of its axes."""
    if not any([isinstance(c, _Array) for c in columns]):
        spread = [np.broadcast_to(c if k is None else c.reshape((-1,) + (1,) * (len(batch) - k - 1)), batch)
                  for c, k in zip(columns, along, strict=True)]
        return np.stack(spread, axis=-1)
    shape = (*batch, 1)
    out = []
    for c, k in zip(columns, along, strict=True):
        rank = len(c.shape)
        places = tuple(range(len(batch) - rank, len(batch))) if k is None else (k,)
        if isinstance(c, np.ndarray) and rank == 0 and len(columns) == 1 and not batch:
            return np.reshape(c, (1,))
        out.append(broadcast_in_dim_p.bind(c, shape=shape, broadcast_dimensions=places, sharding=None))
    return out[0] if len(out) == 1 else concatenate(out, len(batch))


# --- updating -------------------------------------------------------------------------------------------------------

Combine = Callable[[Any, Any], Any] | None
_combine: dict[str, Combine] = {"set": None, "add": add, "subtract": sub, "multiply": mul, "min": min, "max": max}
_scatters: dict[str, Callable[..., Any]] = {
    "set": scatter, "add": scatter_add, "subtract": scatter_sub, "multiply": scatter_mul, "min": scatter_min,
    "max": scatter_max,
}
_on_booleans = {"add": bitwise_or, "multiply": bitwise_and, "min": bitwise_and, "max": bitwise_or}
_scatters_of_booleans = {"add": "max", "multiply": "min"}


def update(x: Any, plan: Plan, operands: Sequence[Any], values: Any, op: str, o: Options = DEFAULT,
           func: Callable[[Any], Any] | None = None) -> Any:
    """``x`` with the elements that a plan describes combined with ``values``.

    Args:
      x: an array.
      plan, operands: which elements.
      values: of the dtype of ``x``, and of a shape that broadcasts to that of the elements; None for ``apply``.
      op: ``set``, ``add``, ``subtract``, ``multiply``, ``min``, ``max`` or ``apply``.
      o: see :class:`Options`.
      func: what ``apply`` applies.

    Raises:
      ValueError: when the values do not broadcast.
    """
    if has_arrays(plan):
        return _update_advanced(x, plan, operands, values, op, o, func)
    b = basic(plan, typeof(x).shape)
    if values is not None:
        if not typeof(values).shape:
            values = broadcast_to(values, b.sizes)
        else:
            values = _arranged(values, b.shape, op)
            if b.shape != b.sizes:
                values = reshape(values, b.sizes)
            if b.flips:
                values = rev(values, b.flips)
    if any([dims.is_zero(n) for n in b.sizes]):
        return x
    combine = _combine_of(op, typeof(x).dtype, func)
    if b.cut is not None and b.cut[2] is not None:
        return _update_strided(x, b, operands, values, combine, o)
    return _update_block(x, b, operands, lambda block: values if combine is None else combine(block, values), o,
                         combine is None)


def _combine_of(op: str, dtype: Any, func: Any) -> Combine:
    if op == "apply":
        def apply(block: Any, _: Any) -> Any:
            out = func(block)
            aval = typeof(out)
            if aval.shape != typeof(block).shape:
                raise TypeError(f"x.at[...].apply: the function must keep the shape of its argument; it turned "
                                f"{typeof(block).shape} into {aval.shape}")
            return convert(out, dtype)
        return apply
    if dtype == np.bool_ and op in _on_booleans:
        return _on_booleans[op]
    return _combine[op]


def _arranged(values: Any, shape: tuple[Any, ...], op: str) -> Any:
    """``values`` broadcast to ``shape``, under the rule of rank promotion."""
    have = typeof(values).shape
    if have == shape:
        return values
    if len(have) < len(shape):
        check_rank_promotion(f"x.at[...].{op}", [have, shape])
    if len(have) > len(shape) or dims.broadcast_shapes([have, shape]) != shape:
        raise ValueError(f"x.at[...].{op}: values of shape {have} cannot be broadcast to the shape {shape} of the "
                         "elements indexed")
    return broadcast_to(values, shape)


def _update_block(x: Any, b: Basic, operands: Sequence[Any], new_block: Callable[[Any], Any], o: Options,
                  overwrites: bool, base: Sequence[int] | None = None) -> Any:
    """Replaces a block of neighbouring elements by what ``new_block`` makes of it."""
    shape = typeof(x).shape
    if b.sizes == shape and not b.moving:
        return _whole(x, new_block(x))
    if base is None and b.cut is not None:
        base = b.cut[0]
    check = o.mode is None or o.mode is FILL
    starts, within = _starts(b, shape, operands, o.wrap, check, base)
    block = None
    if not overwrites or within is not None:
        if b.moving:
            block = dynamic_slice_p.bind(x, *starts, slice_sizes=b.sizes)
        else:
            block = slice_p.bind(x, start_indices=b.cut[0], limit_indices=b.cut[1], strides=None)
    new = _whole(block, new_block(block), b.sizes)
    if within is not None:
        new = select(within, new, block)
    return dynamic_update_slice_p.bind(x, new, *starts)


def _whole(old: Any, new: Any, shape: Any = None) -> Any:
    """``new`` as an array of the shape of ``old``: a Python scalar is spread and gets the dtype."""
    if shape is None:
        shape = typeof(old).shape
    return new if isinstance(new, _Array) and typeof(new).shape == shape else broadcast_to(new, shape)


def _update_strided(x: Any, b: Basic, operands: Sequence[Any], values: Any, combine: Combine, o: Options) -> Any:
    """Updates every k-th element: the new ones are spread by padding, and chosen where their places are."""
    def update_rows(rows: Any) -> Any:
        shape = typeof(rows).shape
        starts, limits, strides = [list(c) for c in b.cut]
        for axis, _ in b.moving:
            starts[axis], limits[axis], strides[axis] = 0, shape[axis], 1
        new = values
        if combine is not None:
            old = slice_p.bind(rows, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides))
            new = combine(old, values)
        config = [(start, n - start - (size - 1) * step - 1, step - 1)
                  for start, n, size, step in zip(starts, shape, b.sizes, strides, strict=True)]
        aval = typeof(rows)
        spread = pad(new, zeros_of(aval.update(shape=(), weak_type=False)), config)
        return select(_grid(shape, starts, limits, strides), spread, rows)

    if not b.moving:
        return update_rows(x)
    shape = typeof(x).shape
    moving = {axis for axis, _ in b.moving}
    sizes = tuple([size if axis in moving else n
                   for axis, (n, size) in enumerate(zip(shape, b.sizes, strict=True))])
    rows = b._replace(sizes=sizes)
    return _update_block(x, rows, operands, update_rows, o, False, base=[0] * len(shape))


def _grid(shape: Any, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Any:
    """Where the elements of a strided slice are."""
    mask: Any = None
    for axis, (n, start, limit, step) in enumerate(zip(shape, starts, limits, strides, strict=True)):
        if start == 0 and limit == n and step == 1:
            continue
        at = np.arange(n)
        hit = (at >= start) & (at < limit) & ((at - start) % step == 0)
        along = broadcast_in_dim_p.bind(hit, shape=shape, broadcast_dimensions=(axis,), sharding=None)
        mask = along if mask is None else bitwise_and(mask, along)
    return mask


def _update_advanced(x: Any, plan: Plan, operands: Sequence[Any], values: Any, op: str, o: Options, func: Any) -> Any:
    plan, operands, expand = without_flags(plan, operands)
    if expand:
        x = expand_dims(x, expand)
    a = advanced(plan)
    shape, batch = typeof(x).shape, _batch_shape(operands)
    steps = {axis: (start, size, step) for axis, start, size, step in a.slices}
    kept = [steps[r][1] if r in steps else shape[r] for r in a.rest]
    out_shape = (*kept[:a.before], *batch, *kept[a.before:])
    if values is not None:
        with_new = list((*_with_new(kept, a)[:a.insert], *batch, *_with_new(kept, a)[a.insert:]))
        values = _arranged(values, tuple(with_new), op)
        if a.new:
            values = reshape(values, out_shape)
    if not any([dims.is_zero(n) for n in (*out_shape, *shape)]):
        indices, numbers = _scatter_geometry(a, operands, shape, batch, steps, o.wrap)
        x = _scatter(x, indices, values, numbers, op, o, func, out_shape)
    return squeeze(x, expand) if expand else x


def _with_new(kept: Sequence[Any], a: Advanced) -> list[Any]:
    rest = iter(kept)
    return [1 if p in a.new else next(rest) for p in range(len(kept) + len(a.new))]


def _scatter_geometry(a: Advanced, operands: Sequence[Any], shape: Any, batch: Any, steps: dict[int, Any], wrap: bool,
                      ) -> tuple[Any, ScatterDimensionNumbers]:
    rank = len(batch)
    dtype = _index_dtype(operands, shape)
    columns = [_column(kind, value, operands, shape[axis], dtype, wrap) for axis, kind, value in a.axes]
    axes = [axis for axis, _, _ in a.axes]
    inserted, window = list(axes), []
    batch_sizes: list[Any] = []
    along: list[int | None] = []
    strided: list[Any] = []
    where_batch = 0
    for o, r in enumerate(a.rest):
        if o == a.before:
            where_batch = len(batch_sizes)
            batch_sizes.extend(batch)
        start, size, step = steps.get(r, (0, 0, 1))
        if step == 1:
            window.append(o if o < a.before else o + rank)
            if start:
                strided.append((r, np.array(start, dtype), None))
        else:
            strided.append((r, np.arange(size, dtype=dtype) * step + start, len(batch_sizes)))
            batch_sizes.append(size)
            inserted.append(r)
    if a.before >= len(a.rest):
        where_batch = len(batch_sizes)
        batch_sizes.extend(batch)
    total = len(batch_sizes)
    behind = total - where_batch - rank
    columns = [_trailing(c, behind) for c in columns]
    along = [None] * len(columns)
    for r, column, k in strided:
        axes.append(r)
        columns.append(column)
        along.append(k)
    indices = _join_columns(columns, along, tuple(batch_sizes), dtype)
    return indices, ScatterDimensionNumbers(tuple(window), tuple(sorted(inserted)), tuple(axes))


def _trailing(c: Any, count: int) -> Any:
    """``c`` with ``count`` axes of size 1 behind its own, unless it has none."""
    if not count or not c.shape:
        return c
    return reshape(c, (*c.shape, *(1,) * count)) if isinstance(c, _Array) else c.reshape(c.shape + (1,) * count)


def _scatter(x: Any, indices: Any, values: Any, numbers: ScatterDimensionNumbers, op: str, o: Options, func: Any,
             out_shape: Any) -> Any:
    options: dict[str, Any] = {"indices_are_sorted": o.sorted, "unique_indices": o.unique,
                               "mode": FILL if o.mode is None else o.mode}
    if op == "apply":
        return scatter_apply(x, indices, func, numbers, update_shape=out_shape, **options)
    if typeof(x).dtype == np.bool_:
        op = _scatters_of_booleans.get(op, op)
    return _scatters[op](x, indices, values, numbers, **options)


__all__ = ["DEFAULT", "SCALAR", "Options", "get", "update"]
