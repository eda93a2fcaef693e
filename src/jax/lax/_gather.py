"""Gather: slices of an array at computed positions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax._ground.families import BOOL, INTEGERS, SIGNED, category
from jax._ground.structural import move_axis, zeros_of
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonicalize_shape
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, register_lowering
from jax.lax._slice import insert


class GatherDimensionNumbers(NamedTuple):
    """Which axis means what in a :func:`gather`.

    The last axis of the indices holds index vectors; the other axes of the indices are the batch axes.

    Attributes:
      offset_dims: the axes of the result that run inside the slices, in increasing order. Its other axes are the batch
        axes.
      collapsed_slice_dims: the axes of the operand, of slice size 1, that the result does not have.
      start_index_map: component ``k`` of an index vector is the start along operand axis ``start_index_map[k]``.
      operand_batching_dims: axes of the operand, of slice size 1, along which each slice is taken at the place where
        its index vector is along ``start_indices_batching_dims``. The result has them as batch axes only.
      start_indices_batching_dims: the axes of the indices that belong to ``operand_batching_dims``, in that order.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What happens to slices that are not within bounds.

    * ``CLIP``: they are moved until they are.
    * ``FILL_OR_DROP``: a gather returns the fill value in their place, a scatter does not write them.
    * ``PROMISE_IN_BOUNDS``: the caller promises that there are none; otherwise the result is undefined (but an access
      is never outside of the array).
    * ``ONE_HOT``: the name exists for compatibility; operations refuse it.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode named ``"clip"``, ``"fill"``, ``"drop"`` or ``"promise_in_bounds"``; ``None`` means ``"fill"``."""
        if isinstance(mode, GatherScatterMode):
            return mode
        found = _MODES.get(mode)
        if found is None:
            raise ValueError(f"unknown gather/scatter mode {mode!r}; modes are 'clip', 'fill', 'drop', and "
                             "'promise_in_bounds'")
        return found

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"


_MODES: dict[Any, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS, "one_hot": GatherScatterMode.ONE_HOT,
}
CLIP, FILL, PROMISE = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS


def gather(operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Any, *,
           unique_indices: bool = False, indices_are_sorted: bool = False,
           mode: str | GatherScatterMode | None = None, fill_value: Any = None) -> Any:
    """Slices of ``operand`` at the positions ``start_indices``.

    Args:
      operand: an array.
      start_indices: integers; the last axis holds index vectors, each of which says where one slice starts.
      dimension_numbers: see :class:`GatherDimensionNumbers`.
      slice_sizes: the size of the slices along each axis of the operand.
      unique_indices: a promise that no element of the operand is taken twice; derivatives are then cheaper.
      indices_are_sorted: a promise that the index vectors are in increasing order.
      mode: what happens to slices out of bounds, see :class:`GatherScatterMode`; the default is a promise that there
        are none.
      fill_value: the scalar that ``"fill"`` puts in place of slices out of bounds. By default NaN for inexact dtypes,
        the smallest number for signed integers, the largest for unsigned ones, and True for booleans.

    Returns:
      The slices: along batch axes the index vectors, along ``offset_dims`` the elements of a slice.

    Raises:
      TypeError: if the dimension numbers, slice sizes and shapes do not fit together.
      ValueError: if the indices are not integers or the mode is unknown.
    """
    mode = PROMISE if mode is None else GatherScatterMode.from_any(mode)
    if mode is FILL:
        fill_value = _canonical_fill(fill_value, typeof(operand).dtype)
    elif fill_value is not None:
        fill_value = None
    return gather_p.bind(operand, start_indices, dimension_numbers=dimension_numbers,
                         slice_sizes=canonicalize_shape(slice_sizes, "gather: slice_sizes"),
                         unique_indices=bool(unique_indices), indices_are_sorted=bool(indices_are_sorted), mode=mode,
                         fill_value=fill_value)


def _canonical_fill(value: Any, dtype: Any) -> Any:
    """A hashable scalar; every NaN is one object, so that equal parameters are found equal."""
    if value is None:
        return default_fill_value(dtype)
    if getattr(value, "shape", ()) != ():
        raise ValueError(f"gather: fill_value must be a scalar, got shape {value.shape}")
    if hasattr(value, "dtype") and not isinstance(value, np.generic):
        value = np.asarray(value)[()]
    return np.nan if value != value and not isinstance(value, (complex, np.complexfloating)) else value


def default_fill_value(dtype: Any) -> Any:
    """What the mode FILL_OR_DROP puts in place of slices out of bounds if the caller does not say."""
    kind = category(dtype)
    if kind == BOOL:
        return True
    if kind in INTEGERS:
        info = dtypes.iinfo(dtype)
        return int(info.min if kind == SIGNED else info.max)
    return np.nan if isinstance(dtype, np.dtype) else None


gather_p = Primitive("gather")


# --- abstract evaluation --------------------------------------------------------------------------------------------

def check_indices(op: str, indices: Any) -> None:
    """That the indices are integers and hold index vectors."""
    if category(indices.dtype) not in INTEGERS:
        raise ValueError(f"{op}: indices must have an integer dtype, got {indices.dtype}; convert them, for example "
                         "with x.astype(int)")
    if not indices.shape:
        raise TypeError(f"{op}: the last axis of the indices holds the index vectors, and the indices are a scalar; "
                        "give them the shape (1,)")


def check_axes(op: str, name: str, axes: Sequence[int], rank: int, of: str, in_order: bool = True) -> None:
    """That ``axes`` are different axes of an array of ``rank``, given in increasing order."""
    for a in axes:
        if not 0 <= a < rank:
            raise TypeError(f"{op}: {name} must be axes of the {of}, which lie in [0, {rank}); got {a} in "
                            f"{name}={tuple(axes)}")
    if len(set(axes)) != len(axes):
        raise TypeError(f"{op}: {name} must not repeat an axis, got {tuple(axes)}")
    if in_order and list(axes) != sorted(axes):
        raise TypeError(f"{op}: {name} must be sorted, got {tuple(axes)}")


def check_batching(op: str, operand: Any, indices: Any, operand_dims: Sequence[int], indices_dims: Sequence[int],
                   index_map: Sequence[int], map_name: str) -> None:
    """The parts of dimension numbers that gather and scatter share."""
    rank, batch_rank = len(operand.shape), len(indices.shape) - 1
    check_axes(op, map_name, index_map, rank, "operand", in_order=False)
    if len(index_map) != indices.shape[-1]:
        raise TypeError(f"{op}: {map_name} has {len(index_map)} entries, and the index vectors (the last axis of the "
                        f"indices of shape {indices.shape}) have {indices.shape[-1]} components")
    check_axes(op, "operand_batching_dims", operand_dims, rank, "operand")
    check_axes(op, "the indices' batching dims", indices_dims, batch_rank, "indices (the last aside)", in_order=False)
    both = set(operand_dims) & set(index_map)
    if both:
        raise TypeError(f"{op}: axis {min(both)} is both in {map_name} and in operand_batching_dims")
    sizes = tuple([operand.shape[d] for d in operand_dims]), tuple([indices.shape[d] for d in indices_dims])
    if sizes[0] != sizes[1]:
        raise TypeError(f"{op}: the batching axes of the operand have sizes {sizes[0]} and those of the indices "
                        f"{sizes[1]}; they must be equal")


def _gather_abstract(x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any,
                     **params: Any) -> Any:
    numbers, shape = dimension_numbers, x.shape
    check_mode("gather", mode)
    check_indices("gather", indices)
    check_batching("gather", x, indices, numbers.operand_batching_dims, numbers.start_indices_batching_dims,
                   numbers.start_index_map, "start_index_map")
    if len(slice_sizes) != len(shape):
        raise TypeError(f"gather: slice_sizes must have one entry for each axis of the operand of shape {shape}, got "
                        f"{slice_sizes}")
    check_axes("gather", "collapsed_slice_dims", numbers.collapsed_slice_dims, len(shape), "operand")
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    if len(dropped) != len(numbers.collapsed_slice_dims) + len(numbers.operand_batching_dims):
        raise TypeError("gather: an axis is both in collapsed_slice_dims and in operand_batching_dims: "
                        f"{numbers.collapsed_slice_dims}, {numbers.operand_batching_dims}")
    for i, (n, size) in enumerate(zip(shape, slice_sizes, strict=True)):
        if type(size) is type(n) is int and not 0 <= size <= n:
            raise TypeError(f"gather: the slice size {size} along axis {i} is not in [0, {n}] (operand of shape "
                            f"{shape}, slice_sizes={slice_sizes})")
        if i in dropped and size != 1:
            raise TypeError(f"gather: axis {i} is collapsed or batched, so its slice size must be 1, got {size}")
    window = [size for i, size in enumerate(slice_sizes) if i not in dropped]
    offset_dims = numbers.offset_dims
    batch = indices.shape[:-1]
    if len(offset_dims) != len(window):
        raise TypeError(f"gather: offset_dims={offset_dims} must name one axis of the result for each operand axis "
                        f"that is neither collapsed nor batched, and there are {len(window)} of these "
                        f"(operand of shape {shape})")
    rank = len(batch) + len(window)
    check_axes("gather", "offset_dims", offset_dims, rank, "result")
    sizes, rest = iter(window), iter(batch)
    out = tuple([next(sizes) if i in offset_dims else next(rest) for i in range(rank)])
    return ShapedArray(out, x.dtype, x.weak_type)


def check_mode(op: str, mode: Any) -> None:
    """Refuses the mode that exists in name only."""
    if mode is GatherScatterMode.ONE_HOT:
        raise NotImplementedError(f"{op}: the mode ONE_HOT is not supported; use 'clip' or 'fill', or multiply by "
                                  "jax.nn.one_hot(indices, size) yourself")


gather_p.def_abstract_eval(_gather_abstract)


# --- lowering -------------------------------------------------------------------------------------------------------

def wide_indices(indices: Any, aval: Any) -> tuple[Any, Any]:
    """Indices of at least 32 bits: bounds of the operand might not fit a narrower dtype."""
    if aval.dtype.itemsize >= 4:
        return indices, aval
    wide = aval.update(dtype=np.dtype(np.int32))
    return hlo.convert_element_type(indices, aval, wide), wide


def last_starts(aval: Any, limits: Sequence[int]) -> Any:
    """``limits``, the greatest index per component of the index vectors, spread over the shape of the indices."""
    greatest = dtypes.iinfo(aval.dtype).max
    values = np.array([min(n, greatest) for n in limits], aval.dtype)
    if len(set(limits)) == 1:
        return hlo.full(values[0], aval.shape, aval.dtype)
    return hlo.broadcast_in_dim(hlo.ir_constant(values), aval, (len(aval.shape) - 1,))


def _within_bounds(indices: Any, aval: Any, limits: Sequence[int]) -> Any:
    """For each index vector whether its slice is inside: booleans in the shape of the batch axes."""
    ok = hlo.compare(indices, last_starts(aval, limits), "LE", hlo.compare_kind(aval.dtype))
    if category(aval.dtype) == SIGNED:
        zero = hlo.full(0, aval.shape, aval.dtype)
        ok = hlo.and_(hlo.compare(indices, zero, "GE", "SIGNED"), ok)
    batch = ShapedArray(aval.shape[:-1], np.dtype(bool))
    if aval.shape[-1] == 1:
        return hlo.reshape(ok, batch)
    true = hlo.scalar_constant(True, np.bool_)
    return hlo.reduce([ok], [true], [len(aval.shape) - 1], lambda a, b: hlo.and_(a, b))[0]


def _gather_lower(ctx: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, unique_indices: bool,
                  indices_are_sorted: bool, mode: Any, fill_value: Any) -> Any:
    numbers, out = dimension_numbers, ctx.avals_out[0]
    indices, aval = wide_indices(indices, ctx.avals_in[1])
    # XLA moves starts so that slices are inside: that is the mode CLIP.
    taken = hlo.gather(x, indices, out, offset_dims=numbers.offset_dims,
                       collapsed_slice_dims=numbers.collapsed_slice_dims,
                       operand_batching_dims=numbers.operand_batching_dims,
                       start_indices_batching_dims=numbers.start_indices_batching_dims,
                       start_index_map=numbers.start_index_map, index_vector_dim=len(aval.shape) - 1,
                       slice_sizes=slice_sizes, indices_are_sorted=indices_are_sorted)
    if mode is not FILL or not numbers.start_index_map:
        return [taken]
    shape = ctx.avals_in[0].shape
    ok = _within_bounds(indices, aval, [shape[d] - slice_sizes[d] for d in numbers.start_index_map])
    places = [i for i in range(len(out.shape)) if i not in numbers.offset_dims]
    ok = hlo.broadcast_in_dim(ok, ShapedArray(out.shape, np.dtype(bool)), places)
    if fill_value is None:
        fill_value = default_fill_value(out.dtype)
    return [hlo.select(ok, taken, hlo.full(fill_value, out.shape, out.dtype))]


register_lowering(gather_p, _gather_lower)


# --- derivatives (the transpose is a scatter: see the module of that) -----------------------------------------------

def _gather_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = gather_p.bind(*primals, **params)
    t = tangents[0]
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    if params["mode"] is FILL:
        params = dict(params, fill_value=0)
    return out, gather_p.bind(t, primals[1], **params)


rules.primitive_jvps[gather_p] = _gather_jvp


# --- batching -------------------------------------------------------------------------------------------------------

def shift(axes: Sequence[int], at: int) -> tuple[int, ...]:
    """``axes`` after a new axis was put in at ``at``."""
    return tuple([a + (a >= at) for a in axes])


def insert_pair(operand_dims: Sequence[int], indices_dims: Sequence[int], operand_dim: int, indices_dim: int,
                ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One more pair of batching axes, in the order of the operand's."""
    at = sum([d < operand_dim for d in operand_dims])
    return insert(tuple(operand_dims), at, operand_dim), insert(tuple(indices_dims), at, indices_dim)


def _gather_batch(args: Any, batch_dims: Any, *, dimension_numbers: Any, slice_sizes: Any, unique_indices: bool,
                  indices_are_sorted: bool, mode: Any, fill_value: Any) -> Any:
    (x, indices), (b, i) = args, batch_dims
    numbers = dimension_numbers
    params: dict[str, Any] = {"mode": mode, "fill_value": fill_value}
    if i is None:  # every example's array at the same places: the mapped axis is one more axis of the slices
        size = typeof(x).shape[b]
        dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        before = sum([d not in dropped for d in range(b)])
        offsets = numbers.offset_dims
        at = offsets[before] if before < len(offsets) else len(offsets) + typeof(indices).ndim - 1
        numbers = GatherDimensionNumbers(
            tuple(sorted([*shift(offsets, at), at])), shift(numbers.collapsed_slice_dims, b),
            shift(numbers.start_index_map, b), shift(numbers.operand_batching_dims, b),
            numbers.start_indices_batching_dims)
        return gather_p.bind(x, indices, dimension_numbers=numbers, slice_sizes=insert(slice_sizes, b, size),
                             unique_indices=unique_indices, indices_are_sorted=indices_are_sorted, **params), at
    indices = move_axis(indices, i, 0)
    offsets = tuple([d + 1 for d in numbers.offset_dims])
    indices_batching = tuple([d + 1 for d in numbers.start_indices_batching_dims])
    if b is None:
        numbers = numbers._replace(offset_dims=offsets, start_indices_batching_dims=indices_batching)
        return gather_p.bind(x, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, unique_indices=False,
                             indices_are_sorted=False, **params), 0
    operand_batching, indices_batching = insert_pair(shift(numbers.operand_batching_dims, b), indices_batching, b, 0)
    numbers = GatherDimensionNumbers(offsets, shift(numbers.collapsed_slice_dims, b), shift(numbers.start_index_map, b),
                                     operand_batching, indices_batching)
    slice_sizes = insert(slice_sizes, b, 1)
    if dims.is_zero(typeof(x).shape[b]):  # no examples: slices of size 1 do not fit
        return _nothing(x, indices, numbers, slice_sizes), 0
    return gather_p.bind(x, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, unique_indices=unique_indices,
                         indices_are_sorted=indices_are_sorted, **params), 0


def _nothing(x: Any, indices: Any, numbers: GatherDimensionNumbers, slice_sizes: Any) -> Any:
    """The empty result of gathering from no examples."""
    aval, dropped = typeof(x), {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([n for d, n in enumerate(slice_sizes) if d not in dropped])
    batch = iter(typeof(indices).shape[:-1])
    rank = len(slice_sizes) - len(dropped) + typeof(indices).ndim - 1
    return zeros_of(aval.update(shape=tuple([next(window) if d in numbers.offset_dims else next(batch)
                                             for d in range(rank)])))


rules.primitive_batchers[gather_p] = _gather_batch
extended_by_batching.add(gather_p)
