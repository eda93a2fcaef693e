"""Arrays from nothing: constants and counting."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.placement import device_put
from jax._base._jaxlib import ArrayImpl
from jax._ground.families import NUMERIC, check_category, constant
from jax._ground.structural import broadcast_in_dim_p, convert_element_type_p
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.primitive import Primitive
from jax._language.trace import Tracer
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import fusible, register_lowering
from jax.errors import JAXTypeError, explain
from jax.lax._arithmetic import add
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import eq, ge

# --- full -----------------------------------------------------------------------------------------------------------


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of ``shape`` with ``fill_value`` everywhere.

    Args:
      shape: its shape; an integer for a vector.
      fill_value: a scalar or 0-d array.
      dtype: its dtype; if None that of ``fill_value`` (weak for a Python number).
      sharding: how it is laid out over devices, if not left to the compiler.

    Raises:
      TypeError: when ``fill_value`` is not a scalar.
    """
    shape = as_shape((shape,) if type(shape) is int else shape)
    aval = typeof(fill_value)
    if aval.shape:
        raise TypeError(f"full: fill_value must be a scalar, got an array of shape {aval.shape}; jnp.full and "
                        "jnp.broadcast_to broadcast.")
    if dtype is None:
        dtype, weak = aval.dtype, aval.weak_type
    else:
        dtype, weak = dtypes.requested_dtype(dtype, "full"), False
    if isinstance(dtype, dtypes.ExtendedDType):
        return _broadcast(fill_value, shape, sharding)
    return _broadcast(_scalar(fill_value, aval, dtype, weak), shape, sharding)


def _scalar(value: Any, aval: Any, dtype: Any, weak: bool) -> Any:
    """``value`` as a scalar of ``dtype``, converted on the host where it is a host value."""
    kind = type(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        if weak or (dtype == aval.dtype and not aval.weak_type):
            return value
        return host_constant(np.asarray(value).astype(dtype), dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        return host_constant(np.asarray(value).astype(dtype), dtype)
    if aval.dtype == dtype and aval.weak_type == weak:
        return value
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak, sharding=None)


def _broadcast(scalar: Any, shape: tuple[Any, ...], sharding: Any) -> Any:
    if shape:
        out = broadcast_in_dim_p.bind(scalar, shape=shape, broadcast_dimensions=(), sharding=None)
    elif isinstance(scalar, (np.ndarray, np.generic, int, float, complex)):
        aval = typeof(scalar)
        out = convert_element_type_p.bind(scalar, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)
    else:
        out = scalar
    return _placed(out, sharding)


def _placed(x: Any, sharding: Any) -> Any:
    return x if sharding is None else device_put(x, sharding)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
    """An array like ``x`` with ``fill_value`` everywhere.

    Args:
      x: an array or scalar.
      fill_value: a scalar or 0-d array.
      dtype, shape: of the result, where not those of ``x``.
      sharding: how it is laid out over devices; by default as ``x``, if that is tied to devices and has the same shape.
    """
    aval = typeof(x)
    shape = aval.shape if shape is None else as_shape(shape)
    if sharding is None and type(x) is ArrayImpl and x._committed and shape == aval.shape:
        sharding = x._sharding  # beside what it is like
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else dtypes.requested_dtype(dtype, "full_like")
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(shape, fill_value)
    fill = typeof(fill_value)
    if fill.shape:
        raise TypeError(f"full_like: fill_value must be a scalar, got an array of shape {fill.shape}")
    scalar = _scalar(fill_value, fill, dtype, False)
    if weak:
        scalar = convert_element_type_p.bind(scalar, new_dtype=dtype, weak_type=True, sharding=None)
    return _broadcast(scalar, shape, sharding)


def zeros_like_array(x: Any) -> Any:
    """Zeros of the shape and dtype of ``x``; kept for old programs, which should use ``jnp.zeros_like``."""
    return full_like(x, 0)


def as_shape(shape: Any) -> tuple[Any, ...]:
    """``shape`` as a tuple of sizes.

    Raises:
      TypeError: when it is not a sequence of non-negative integers.
    """
    try:
        sizes = tuple([d if type(d) is int else _size(d) for d in shape])
    except TypeError:
        traced = _first_tracer(shape)
        if traced is not None:
            raise JAXTypeError(explain(
                f"shapes must be sequences of integers known while tracing, got {shape!r}, which has", traced, "",
                "make the argument that the size comes from static (static_argnums or static_argnames of jax.jit), take "
                "the size from the shape of another argument, or make the array large enough and mask it (jnp.where).",
            )) from None
        raise TypeError(f"shapes must be sequences of integers known while tracing, got {shape!r}") from None
    for d in sizes:
        if type(d) is int and d < 0:
            raise TypeError(f"shapes cannot have negative sizes, got {sizes}")
    return sizes


def _first_tracer(shape: Any) -> Tracer | None:
    sizes = shape if isinstance(shape, (list, tuple)) else (shape,)
    return next((d for d in sizes if isinstance(d, Tracer)), None)


def _size(d: Any) -> Any:
    return d if getattr(d, "_is_symbolic_dimension", False) else operator.index(d)


# --- empty ----------------------------------------------------------------------------------------------------------


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of ``shape`` and ``dtype`` whose values do not matter; here they are zeros."""
    dtype = dtypes.requested_dtype(dtype, "empty")
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.zeros(as_shape(shape))
    return _broadcast(constant(dtype, 0), as_shape(shape), out_sharding)


# --- iota -----------------------------------------------------------------------------------------------------------

iota_p = Primitive("iota")


def iota(dtype: Any, size: int) -> Any:
    """``0, 1, ..., size - 1`` as an array of ``dtype`` (any numeric one)."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None) -> Any:
    """An array of ``shape`` in which every element is its index along ``dimension``.

    Args:
      dtype: any numeric dtype; values wrap around where it is too small.
      shape: of the result.
      dimension: which index to take.
      out_sharding: how it is laid out over devices, if not left to the compiler.
    """
    dtype = dtypes.requested_dtype(dtype, "iota")
    shape = as_shape(shape)
    check_category("iota", NUMERIC, dtype)
    dimension = operator.index(dimension)
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: the dimension must be one of the {len(shape)} of shape {shape}, got {dimension}")
    return _placed(iota_p.bind(dtype=dtype, shape=shape, dimension=dimension, sharding=None), out_sharding)


def _iota_abstract(*sizes: Any, dtype: Any, shape: Any, dimension: int, sharding: Any) -> Any:
    return ShapedArray(shape, dtype)


def _iota_lower(ctx: Any, *sizes: Any, dtype: Any, shape: Any, dimension: int, sharding: Any) -> list[Any]:
    return [hlo.iota(ctx.avals_out[0], dimension)]


def _iota_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = iota_p.bind(*primals, **params)
    return out, Zero.from_primal_value(out)


def _iota_batch(args: Any, dims: Any, **params: Any) -> Any:
    raise NotImplementedError("iota with traced sizes cannot be mapped")


iota_p.def_abstract_eval(_iota_abstract)
register_lowering(iota_p, _iota_lower)
fusible[iota_p] = 0
rules.primitive_jvps[iota_p] = _iota_jvp
rules.primitive_batchers[iota_p] = _iota_batch

# --- matrices of zeros and ones -------------------------------------------------------------------------------------


def eye(dtype: Any, shape: Sequence[int], offset: int) -> Any:
    """Ones where ``row + offset == column``, zeros elsewhere, over two dimensions."""
    rows, columns = _coordinates(shape)
    return _indicator(eq(add(rows, np.int32(offset)), columns), dtype)


def tri(dtype: Any, shape: Sequence[int], offset: int) -> Any:
    """Ones where ``row + offset >= column``, zeros elsewhere, over two dimensions."""
    rows, columns = _coordinates(shape)
    return _indicator(ge(add(rows, np.int32(offset)), columns), dtype)


def delta(dtype: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """Ones where the indices along all of ``axes`` are equal, zeros elsewhere."""
    index = [broadcasted_iota(np.int32, shape, a) for a in axes]
    result = eq(index[0], index[1])
    for a in index[2:]:
        result = bitwise_and(result, eq(index[0], a))
    return _indicator(result, dtype)


def _coordinates(shape: Sequence[int]) -> tuple[Any, Any]:
    n, m = shape
    return broadcasted_iota(np.int32, (n, 1), 0), broadcasted_iota(np.int32, (1, m), 1)


def _indicator(mask: Any, dtype: Any) -> Any:
    dtype = dtypes.requested_dtype(dtype)
    if dtype == np.bool_:
        return mask
    return convert_element_type_p.bind(mask, new_dtype=dtype, weak_type=False, sharding=None)
