"""Static slices, and padding: each is the transpose of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._ground.structural import broadcast_in_dim_p, deflinear, full, instantiate_zeros, sum_axes, zeros_of
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonical_axis, canonicalize_shape
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, fusible, register_lowering, structural
from jax.dtypes import ExtendedDType
from jax.lax._select import select
from jax.lax._shape import squeeze_p

Config = Sequence[tuple[Any, Any, Any]]


# --- slice ----------------------------------------------------------------------------------------------------------

def slice(operand: Any, start_indices: Sequence[Any], limit_indices: Sequence[Any],  # noqa: A001
          strides: Sequence[Any] | None = None) -> Any:
    """The elements from ``start_indices`` up to, not including, ``limit_indices``, in steps of ``strides``.

    Indices are known numbers with ``0 <= start <= limit <= size``; see :func:`slice_in_dim` for negative ones and
    :func:`dynamic_slice` for computed ones.

    Raises:
      TypeError: for indices out of bounds, strides below 1, or the wrong number of them.
    """
    return slice_p.bind(operand, start_indices=canonicalize_shape(start_indices, "slice: start_indices"),
                        limit_indices=canonicalize_shape(limit_indices, "slice: limit_indices"),
                        strides=None if strides is None else canonicalize_shape(strides, "slice: strides"))


def slice_in_dim(operand: Any, start_index: Any, limit_index: Any, stride: Any = 1, axis: int = 0) -> Any:
    """``operand[start_index:limit_index:stride]`` along ``axis``; ``None`` and negative indices as in Python.

    Unlike Python's slices an index beyond the end raises ``TypeError``.
    """
    shape = typeof(operand).shape
    axis = canonical_axis(axis, len(shape), "slice_in_dim")
    size = shape[axis]
    start = 0 if start_index is None else dims.canonical_dim(start_index, "slice_in_dim: start_index")
    limit = size if limit_index is None else dims.canonical_dim(limit_index, "slice_in_dim: limit_index")
    if start < 0:
        start += size
    if limit < 0:
        limit += size
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = start, limit
    strides[axis] = dims.canonical_dim(stride, "slice_in_dim: stride")
    return slice_p.bind(operand, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides))


def index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The elements at ``index`` along ``axis``, which stays as an axis of size 1 with ``keepdims``.

    Raises:
      IndexError: if ``index`` is not in ``[-size, size)``.
    """
    shape = typeof(operand).shape
    axis = canonical_axis(axis, len(shape), "index_in_dim")
    index = dims.canonical_dim(index, "index_in_dim: index")
    size = shape[axis]
    at = index + size if index < 0 else index
    if not 0 <= at < size:
        raise IndexError(f"index_in_dim: index {index} is out of bounds for axis {axis} of size {size} "
                         f"(operand of shape {shape})")
    out = take_one(operand, shape, at, axis)
    return out if keepdims else squeeze_p.bind(out, dimensions=(axis,))


def take_one(operand: Any, shape: Any, at: Any, axis: int) -> Any:
    """``operand[at:at+1]`` along ``axis``."""
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = at, at + 1
    return slice_p.bind(operand, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


slice_p = Primitive("slice")


def _slice_abstract(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    shape = x.shape
    for name, given in (("start_indices", start_indices), ("limit_indices", limit_indices), ("strides", strides)):
        if given is not None and len(given) != len(shape):
            raise TypeError(f"slice: {name} must have one entry for each axis of the operand of shape {shape}, got "
                            f"{given}")
    sizes = []
    for i, (n, start, limit) in enumerate(zip(shape, start_indices, limit_indices, strict=True)):
        step = 1 if strides is None else strides[i]
        if type(start) is type(limit) is type(n) is int and not 0 <= start <= limit <= n:
            what = f"start index {start} is negative" if start < 0 else \
                f"limit index {limit} is less than the start index {start}" if limit < start else \
                f"limit index {limit} is beyond the size {n}"
            raise TypeError(f"slice: along axis {i} of an operand of shape {shape} the {what} "
                            f"(start_indices={start_indices}, limit_indices={limit_indices})")
        if step < 1:
            raise TypeError(f"slice: strides must be positive, got {strides}; lax.rev reverses an axis")
        sizes.append(dims.sliced_dim(start, limit, step))
    return ShapedArray(tuple(sizes), x.dtype, x.weak_type)


def _slice_lower(ctx: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    return [hlo.slice(x, start_indices, limit_indices, strides)]


def _slice_transpose(ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    config = []
    for i, (n, start, count) in enumerate(zip(x.aval.shape, start_indices, typeof(ct).shape, strict=True)):
        step = 1 if strides is None else strides[i]
        config.append((start, n - start - dims.dilate_dim(count, step), step - 1))
    return [pad_p.bind(ct, scalar(0.0, typeof(ct).dtype), padding_config=tuple(config))]


def _slice_batch(args: Any, batch_dims: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    (x,), (b,) = args, batch_dims
    if strides is not None:
        strides = insert(strides, b, 1)
    return slice_p.bind(x, start_indices=insert(start_indices, b, 0),
                        limit_indices=insert(limit_indices, b, typeof(x).shape[b]), strides=strides), b


def scalar(value: Any, dtype: Any) -> Any:
    """A constant operand: a Python number if that has the dtype (it is quickest to pass), else a NumPy one.

    For extended dtypes it is zero.
    """
    if typeof(value).dtype == dtype:
        return value
    return zeros_of(ShapedArray((), dtype)) if isinstance(dtype, ExtendedDType) else np.array(value, dtype)


def insert(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    """``items`` with ``item`` at position ``at``."""
    return (*items[:at], item, *items[at:])


slice_p.def_abstract_eval(_slice_abstract)
register_lowering(slice_p, _slice_lower)
fusible[slice_p] = 0
structural["slice"] = slice_p
deflinear(slice_p, _slice_transpose)
rules.primitive_batchers[slice_p] = _slice_batch


# --- pad ------------------------------------------------------------------------------------------------------------

def pad(operand: Any, padding_value: Any, padding_config: Config) -> Any:
    """``operand`` with ``padding_value`` around and between its elements.

    Args:
      operand: an array.
      padding_value: a scalar of the operand's dtype.
      padding_config: for each axis ``(low, high, interior)``: how many to put before the first element, after the last,
        and between neighbours. Negative ``low`` and ``high`` cut elements off, after the interior padding.

    Raises:
      ValueError: for a negative interior, a result of negative size, or the wrong number of triples.
      TypeError: if the dtypes differ.
    """
    return pad_p.bind(operand, padding_value, padding_config=tuple([
        (low, high, interior) if type(low) is type(high) is type(interior) is int
        else canonicalize_shape((low, high, interior), "pad: padding_config")
        for low, high, interior in padding_config]))


pad_p = Primitive("pad")


def _pad_abstract(x: Any, value: Any, *, padding_config: Any) -> Any:
    shape = x.shape
    if x.dtype != value.dtype:
        raise TypeError(f"pad: the operand and padding_value must have one dtype, got {x.dtype} and {value.dtype}")
    if value.shape:
        raise TypeError(f"pad: padding_value must be a scalar, got shape {value.shape}")
    if len(padding_config) != len(shape):
        raise ValueError(f"pad: padding_config must have one (low, high, interior) for each axis of the operand of "
                         f"shape {shape}, got {padding_config}")
    sizes = []
    for i, (n, (low, high, interior)) in enumerate(zip(shape, padding_config, strict=True)):
        if interior < 0:
            raise ValueError(f"pad: interior padding must not be negative, got {interior} for axis {i}; "
                             "lax.slice with strides drops elements")
        size = dims.padded_dim(n, low, high, interior)
        if type(size) is int and size < 0:
            raise ValueError(f"pad: padding axis {i} of an operand of shape {shape} by {(low, high, interior)} would "
                             f"give it the size {size}")
        sizes.append(size)
    return ShapedArray(tuple(sizes), x.dtype, x.weak_type and value.weak_type)


def _pad_lower(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Any:
    low, high, interior = ([c[i] for c in padding_config] for i in range(3))
    return [hlo.pad(x, value, low, high, interior)]


def _pad_jvp(primals: Any, tangents: Any, *, padding_config: Any) -> Any:
    out = pad_p.bind(*primals, padding_config=padding_config)
    t, value_t = tangents
    if type(t) is type(value_t) is Zero:
        return out, Zero.from_primal_value(out)
    if type(value_t) is Zero:
        value_t = scalar(0.0, value_t.aval.dtype)
    return out, pad_p.bind(instantiate_zeros(t), value_t, padding_config=padding_config)


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: Any) -> Any:
    ct_x = ct_value = None
    if type(ct) is Zero:
        return [Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, value)]
    if type(x) is UndefinedPrimal:
        ct_x = pad_p.bind(ct, scalar(0.0, typeof(ct).dtype),
                          padding_config=tuple([(-low, -high, 0) for low, high, _ in padding_config]))
        if any([c[2] for c in padding_config]):
            shape = typeof(ct_x).shape
            ct_x = slice_p.bind(ct_x, start_indices=(0,) * len(shape), limit_indices=shape,
                                strides=tuple([c[2] + 1 for c in padding_config]))
    if type(value) is UndefinedPrimal:
        shape = x.aval.shape if type(x) is UndefinedPrimal else typeof(x).shape
        outside = select(_padding_mask(shape, padding_config), ct, full(typeof(ct).shape, 0, typeof(ct).dtype))
        ct_value = sum_axes(outside, range(len(shape)))
    return [ct_x, ct_value]


def _padding_mask(shape: Any, padding_config: Any) -> Any:
    """Where the result of padding an array of ``shape`` holds the padding value."""
    return pad_p.bind(full(shape, False, np.bool_), True, padding_config=padding_config)


def _pad_batch(args: Any, batch_dims: Any, *, padding_config: Any) -> Any:
    (x, value), (b, value_b) = args, batch_dims
    if value_b is None:
        return pad_p.bind(x, value, padding_config=insert(padding_config, b, (0, 0, 0))), b
    # A padding value for each example: pad with anything, then choose.
    if b is None:
        b, out_b = 0, 0
        example = typeof(x).shape
        x = broadcast_in_dim_p.bind(x, shape=(typeof(value).shape[0], *example),
                                    broadcast_dimensions=tuple(range(1, len(example) + 1)), sharding=None)
    else:
        out_b = b
    config = insert(padding_config, b, (0, 0, 0))
    aval = typeof(x)
    padded = pad_p.bind(x, scalar(0.0, aval.dtype), padding_config=config)
    spread = broadcast_in_dim_p.bind(value, shape=typeof(padded).shape, broadcast_dimensions=(b,), sharding=None)
    return select(_padding_mask(aval.shape, config), spread, padded), out_b


pad_p.def_abstract_eval(_pad_abstract)
register_lowering(pad_p, _pad_lower)
fusible[pad_p] = 1
structural["pad"] = pad_p
rules.primitive_jvps[pad_p] = _pad_jvp
rules.primitive_transposes[pad_p] = _pad_transpose
rules.primitive_batchers[pad_p] = _pad_batch

extended_by_batching.update({slice_p, pad_p})
