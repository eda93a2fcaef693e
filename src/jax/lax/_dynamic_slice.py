"""Slices of known size at computed positions, and their replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._ground.families import INTEGERS, SIGNED, category
from jax._ground.structural import broadcast_to_axis, convert, full, instantiate_zeros, move_axis
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonical_axis, canonicalize_shape
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, register_lowering
from jax.lax._arithmetic import add_p, rem
from jax.lax._comparison import lt_p
from jax.lax._gather import CLIP, PROMISE, GatherDimensionNumbers, gather_p
from jax.lax._join import stack_p, unstack
from jax.lax._scatter import ScatterDimensionNumbers, scatter_p
from jax.lax._select import select_n_p
from jax.lax._shape import expand_dims, squeeze_p
from jax.lax._slice import insert, scalar

_Array = xla.Array
_INT32 = np.dtype(np.int32)
Negative = bool | Sequence[bool]


# --- the indices of both operations ---------------------------------------------------------------------------------

def _prepare(op: str, shape: Any, start_indices: Any, sizes: Any, allow_negative: Negative,
             ) -> tuple[list[Any], tuple[bool, ...] | None]:
    """The start indices as scalars of one dtype, and which of them still have to be counted from the end if negative.

    Known numbers are counted and clamped right here.
    """
    if isinstance(start_indices, (_Array, np.ndarray)):
        if start_indices.ndim != 1:
            raise ValueError(f"{op}: start_indices must be a sequence of scalars or an array of rank 1, got shape "
                             f"{start_indices.shape}")
        start_indices = unstack(start_indices) if isinstance(start_indices, _Array) else start_indices.tolist()
    rank = len(shape)
    if len(start_indices) != rank:
        raise ValueError(f"{op}: there must be one start index for each axis of the operand of shape {shape}, got "
                         f"{len(start_indices)}")
    negative = (allow_negative,) * rank if isinstance(allow_negative, bool) else tuple(allow_negative)
    if len(negative) != rank:
        raise ValueError(f"{op}: allow_negative_indices must be one bool, or one for each axis of the operand of shape "
                         f"{shape}, got {allow_negative}")
    starts: list[Any] = list(start_indices)
    computed = [i for i, s in enumerate(starts) if type(s) is not int and not isinstance(s, np.integer)]
    if not computed:
        return [_known_start(*known) for known in zip(starts, shape, sizes, negative, strict=False)], None
    avals = [typeof(starts[i]) for i in computed]
    dtype = next((a.dtype for a in avals if not a.weak_type), avals[0].dtype)
    if dtype.itemsize < 4 and category(dtype) in INTEGERS and max(shape) > dtypes.iinfo(dtype).max:
        dtype = _INT32
        avals = [a.update(dtype=dtype, weak_type=True) if category(a.dtype) in INTEGERS else a for a in avals]
    wraps = [False] * rank
    for i, a in zip(computed, avals, strict=True):
        if a.weak_type and typeof(starts[i]).dtype != dtype and category(a.dtype) in INTEGERS:
            starts[i] = convert(starts[i], dtype)
        wraps[i] = negative[i] and category(dtype) == SIGNED
    for i, s in enumerate(starts):
        if i not in computed:
            starts[i] = scalar(_known_start(s, shape[i], sizes[i] if i < len(sizes) else 0, negative[i]), dtype)
    return starts, tuple(wraps) if any(wraps) else None


def _known_start(start: Any, n: Any, size: Any, negative: bool) -> Any:
    if negative and start < 0:
        start = start + n
    return max(0, min(int(start), n - size)) if type(n) is int else start


def _count_from_end(shape: Any, starts: Sequence[Any], wraps: tuple[bool, ...]) -> list[Any]:
    out = list(starts)
    for i, wrap in enumerate(wraps):
        if wrap:
            start, dtype = out[i], typeof(out[i]).dtype
            out[i] = select_n_p.bind(lt_p.bind(start, scalar(0, dtype)), start,
                                     add_p.bind(start, scalar(shape[i], dtype)))
    return out


def _check_starts(op: str, shape: Any, starts: Sequence[Any]) -> None:
    for s in starts:
        if s.shape:
            listed = ", ".join([str(s.shape) for s in starts])
            raise TypeError(f"{op}: start indices must be scalars, got shapes {listed}")
        if s.dtype != starts[0].dtype or category(s.dtype) not in INTEGERS:
            raise TypeError(f"{op}: start indices must be integers of one dtype, got "
                            f"{', '.join([str(s.dtype) for s in starts])}")
    if len(starts) != len(shape):
        raise TypeError(f"{op}: there must be one start index for each axis of the operand of shape {shape}, got "
                        f"{len(starts)}")


def _index_vectors(starts: Sequence[Any], start_dims: Sequence[Any], axes: Sequence[int]) -> tuple[Any, Any]:
    """The start indices along ``axes`` as index vectors, and the mapped axis of these."""
    if all([start_dims[a] is None for a in axes]):
        return stack_p.bind(*[starts[a] for a in axes], axis=0), None
    size = next(typeof(starts[a]).shape[start_dims[a]] for a in axes if start_dims[a] is not None)
    columns = [broadcast_to_axis(starts[a], size, 0) if start_dims[a] is None else starts[a] for a in axes]
    return stack_p.bind(*columns, axis=1), 0


# --- dynamic_slice --------------------------------------------------------------------------------------------------

def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any, *,
                  allow_negative_indices: Negative = True) -> Any:
    """The slice of ``operand`` of the given sizes that starts at computed indices.

    Args:
      operand: an array.
      start_indices: one integer scalar for each axis, or an array of them. They are moved so that the slice is inside.
      slice_sizes: the sizes of the slice: known numbers, at most those of the operand.
      allow_negative_indices: whether negative indices count from the end, for all or for each of the axes; where they
        do not they are moved to 0, which saves some operations.

    Raises:
      TypeError: for indices that are not integer scalars of one dtype, or sizes that are too large.
      ValueError: for the wrong number of indices.
    """
    sizes = canonicalize_shape(slice_sizes, "dynamic_slice: slice_sizes")
    starts, wraps = _prepare("dynamic_slice", typeof(operand).shape, start_indices, sizes, allow_negative_indices)
    if wraps is None:
        return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)
    return _slice_from_end(operand, *starts, slice_sizes=sizes, wraps=wraps)


@composite(static_argnames=("slice_sizes", "wraps"))
def _slice_from_end(operand: Any, *starts: Any, slice_sizes: Any, wraps: Any) -> Any:
    return dynamic_slice_p.bind(operand, *_count_from_end(typeof(operand).shape, starts, wraps),
                                slice_sizes=slice_sizes)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True) -> Any:
    """:func:`dynamic_slice` along one axis: ``operand[start_index:start_index + slice_size]`` there."""
    shape = typeof(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_slice_in_dim")
    starts: list[Any] = [0] * len(shape)
    starts[axis] = start_index
    return dynamic_slice(operand, starts, (*shape[:axis], slice_size, *shape[axis + 1:]),
                         allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True) -> Any:
    """The elements at a computed ``index`` along ``axis``, which stays as an axis of size 1 with ``keepdims``.

    An index out of bounds is moved to the nearest one.
    """
    axis = canonical_axis(axis, len(typeof(operand).shape), "dynamic_index_in_dim")
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else squeeze_p.bind(out, dimensions=(axis,))


dynamic_slice_p = Primitive("dynamic_slice")


def _slice_abstract(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    shape = x.shape
    if len(slice_sizes) != len(shape):
        raise TypeError(f"dynamic_slice: slice_sizes must have one entry for each axis of the operand of shape "
                        f"{shape}, got {slice_sizes}")
    for i, (n, size) in enumerate(zip(shape, slice_sizes, strict=True)):
        if type(n) is type(size) is int and not 0 <= size <= n:
            raise TypeError(f"dynamic_slice: the slice size {size} along axis {i} is not in [0, {n}] (operand of shape "
                            f"{shape}, slice_sizes={slice_sizes})")
    _check_starts("dynamic_slice", shape, starts)
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


def _slice_jvp(primals: Any, tangents: Any, *, slice_sizes: Any) -> Any:
    out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
    t = tangents[0]
    return out, (Zero.from_primal_value(out) if type(t) is Zero
                 else dynamic_slice_p.bind(t, *primals[1:], slice_sizes=slice_sizes))


def _slice_transpose(ct: Any, x: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval), *[None] * len(starts)]
    zeros = full(x.aval.shape, 0, typeof(ct).dtype)
    return [dynamic_update_slice_p.bind(zeros, ct, *starts), *[None] * len(starts)]


def _slice_batch(args: Any, batch_dims: Any, *, slice_sizes: Any) -> Any:
    (x, *starts), (b, *start_dims) = args, batch_dims
    if all([d is None for d in start_dims]):
        size, zero = typeof(x).shape[b], scalar(0, typeof(starts[0]).dtype if starts else _INT32)
        return dynamic_slice_p.bind(x, *insert(tuple(starts), b, zero), slice_sizes=insert(slice_sizes, b, size)), b
    # Different places: a gather of one slice for each example. Along axes that the slice fills nothing is indexed.
    shape = typeof(x).shape if b is None else typeof(x).shape[:b] + typeof(x).shape[b + 1:]
    axes = tuple([i for i, (n, size) in enumerate(zip(shape, slice_sizes, strict=True)) if n != size])
    if not axes:
        return x, b
    indices, i = _index_vectors(starts, start_dims, axes)
    numbers = GatherDimensionNumbers(tuple(range(len(shape))), (), axes)
    return rules.primitive_batchers[gather_p](
        (x, indices), (b, i), dimension_numbers=numbers, slice_sizes=slice_sizes, unique_indices=True,
        indices_are_sorted=True, mode=CLIP, fill_value=None)


dynamic_slice_p.def_abstract_eval(_slice_abstract)
register_lowering(dynamic_slice_p,
                  lambda ctx, x, *starts, slice_sizes: [hlo.dynamic_slice(x, starts, slice_sizes) if starts else x])
rules.primitive_jvps[dynamic_slice_p] = _slice_jvp
rules.primitive_transposes[dynamic_slice_p] = _slice_transpose
rules.primitive_batchers[dynamic_slice_p] = _slice_batch


# --- dynamic_update_slice -------------------------------------------------------------------------------------------

def dynamic_update_slice(operand: Any, update: Any, start_indices: Any, *,
                         allow_negative_indices: Negative = True) -> Any:
    """``operand`` with the slice that starts at computed indices replaced by ``update``.

    Args:
      operand: an array.
      update: an array of the same rank and dtype that is nowhere larger.
      start_indices: one integer scalar for each axis, or an array of them. They are moved so that the slice is inside.
      allow_negative_indices: see :func:`dynamic_slice`.

    Raises:
      TypeError: for indices that are not integer scalars of one dtype, or an update that does not fit.
      ValueError: for the wrong number of indices.
    """
    starts, wraps = _prepare("dynamic_update_slice", typeof(operand).shape, start_indices, typeof(update).shape,
                             allow_negative_indices)
    if wraps is None:
        return dynamic_update_slice_p.bind(operand, update, *starts)
    return _update_from_end(operand, update, *starts, wraps=wraps)


@composite(static_argnames=("wraps",))
def _update_from_end(operand: Any, update: Any, *starts: Any, wraps: Any) -> Any:
    return dynamic_update_slice_p.bind(operand, update, *_count_from_end(typeof(operand).shape, starts, wraps))


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int, *,
                                allow_negative_indices: bool = True) -> Any:
    """:func:`dynamic_update_slice` along one axis; along the others the update begins at 0."""
    rank = len(typeof(operand).shape)
    starts: list[Any] = [0] * rank
    starts[canonical_axis(axis, rank, "dynamic_update_slice_in_dim")] = start_index
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int, *,
                                allow_negative_indices: bool = True) -> Any:
    """``operand`` with the elements at a computed ``index`` along ``axis`` replaced by ``update``.

    The update has that axis with size 1, or does not have it. An index out of bounds is moved to the nearest one.
    """
    rank = len(typeof(operand).shape)
    axis = canonical_axis(axis, rank, "dynamic_update_index_in_dim")
    if len(typeof(update).shape) == rank - 1:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)


dynamic_update_slice_p = Primitive("dynamic_update_slice")


def _update_abstract(x: Any, update: Any, *starts: Any) -> Any:
    shape, new = x.shape, update.shape
    if len(new) != len(shape):
        raise TypeError(f"dynamic_update_slice: the update must have the rank of the operand, got shapes {new} and "
                        f"{shape}; lax.expand_dims adds axes")
    if x.dtype != update.dtype:
        raise TypeError(f"dynamic_update_slice: the operand and the update must have one dtype, got {x.dtype} and "
                        f"{update.dtype}; convert the update with lax.convert_element_type")
    for i, (n, size) in enumerate(zip(shape, new, strict=True)):
        if type(n) is type(size) is int and size > n:
            raise TypeError(f"dynamic_update_slice: the update of shape {new} is larger along axis {i} than the "
                            f"operand of shape {shape}")
    _check_starts("dynamic_update_slice", shape, starts)
    return ShapedArray(shape, x.dtype, x.weak_type and update.weak_type)


def _update_jvp(primals: Any, tangents: Any) -> Any:
    out = dynamic_update_slice_p.bind(*primals)
    t, t_update, *_ = tangents
    if type(t) is type(t_update) is Zero:
        return out, Zero.from_primal_value(out)
    return out, dynamic_update_slice_p.bind(instantiate_zeros(t), instantiate_zeros(t_update), *primals[2:])


def _update_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    rest = [None] * len(starts)
    if type(ct) is Zero:
        return [*[Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, update)], *rest]
    ct_x = ct_update = None
    shape = update.aval.shape if type(update) is UndefinedPrimal else typeof(update).shape
    if type(x) is UndefinedPrimal:
        ct_x = dynamic_update_slice_p.bind(ct, full(shape, 0, typeof(ct).dtype), *starts)
    if type(update) is UndefinedPrimal:
        ct_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=shape)
    return [ct_x, ct_update, *rest]


def _update_batch(args: Any, batch_dims: Any) -> Any:
    (x, update, *starts), (b, u, *start_dims) = args, batch_dims
    x_aval, u_aval = typeof(x), typeof(update)
    if all([d is None for d in start_dims]):
        size = x_aval.shape[b] if b is not None else u_aval.shape[u]
        at = b if b is not None else u
        x = broadcast_to_axis(x, size, at) if b is None else x
        update = broadcast_to_axis(update, size, at) if u is None else move_axis(update, u, at)
        zero = scalar(0, typeof(starts[0]).dtype if starts else _INT32)
        return dynamic_update_slice_p.bind(x, update, *insert(tuple(starts), at, zero)), at
    # Different places: a scatter of one slice for each example.
    shape = x_aval.shape if b is None else x_aval.shape[:b] + x_aval.shape[b + 1:]
    new = u_aval.shape if u is None else u_aval.shape[:u] + u_aval.shape[u + 1:]
    axes = tuple([i for i, (n, size) in enumerate(zip(shape, new, strict=True)) if n != size])
    if not axes:
        return update, u
    indices, i = _index_vectors(starts, start_dims, axes)
    numbers = ScatterDimensionNumbers(tuple(range(len(shape))), (), axes)
    return rules.primitive_batchers[scatter_p](
        (x, indices, update), (b, i, u), dimension_numbers=numbers, indices_are_sorted=True, unique_indices=True,
        mode=CLIP, update_jaxpr=None, update_consts=())


dynamic_update_slice_p.def_abstract_eval(_update_abstract)
register_lowering(dynamic_update_slice_p,
                  lambda ctx, x, update, *starts: [hlo.dynamic_update_slice(x, update, starts) if starts else update])
rules.primitive_jvps[dynamic_update_slice_p] = _update_jvp
rules.primitive_transposes[dynamic_update_slice_p] = _update_transpose
rules.primitive_batchers[dynamic_update_slice_p] = _update_batch

extended_by_batching.update({dynamic_slice_p, dynamic_update_slice_p})


# --- index_take -----------------------------------------------------------------------------------------------------

def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> Any:
    """The slices of ``src`` at ``(idxs[0][k], idxs[1][k], ...)`` along ``axes``, for each ``k``.

    Args:
      src: an array.
      idxs: one array of integers of rank 1 for each of the axes, all of one length; indices are taken modulo the size.
      axes: axes of ``src``, in increasing order.

    Returns:
      An array of shape ``(length, *the other sizes of src)``.
    """
    shape = typeof(src).shape
    axes = tuple([canonical_axis(a, len(shape), "index_take", "axes") for a in axes])
    columns = [_modulo(i, shape[a]) for i, a in zip(idxs, axes, strict=True)]
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)), axes, axes)
    return gather_p.bind(
        src, stack_p.bind(*columns, axis=1), dimension_numbers=numbers,
        slice_sizes=tuple([1 if a in axes else n for a, n in enumerate(shape)]), unique_indices=False,
        indices_are_sorted=False, mode=PROMISE, fill_value=None)


def _modulo(index: Any, n: Any) -> Any:
    """``index`` modulo ``n``, which has the sign of ``n``."""
    aval = typeof(index)
    found = rem(index, full(aval.shape, n, aval.dtype))
    if category(aval.dtype) != SIGNED:
        return found
    return select_n_p.bind(lt_p.bind(found, full(aval.shape, 0, aval.dtype)), found,
                           add_p.bind(found, full(aval.shape, n, aval.dtype)))
