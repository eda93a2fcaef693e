"""Packing booleans into bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax.numpy._creation import asarray
from jax.numpy._promotion import check_arraylike, shape_of
from jax.numpy._shape import moveaxis, ravel


def _order(name: str, bitorder: str) -> bool:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    return bitorder == "big"


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Bits packed into bytes (uint8): eight neighbours along ``axis`` become one, the last ones filled up with zeros.

    Args:
      a: integers or booleans; what is not zero is a set bit.
      axis: with None ``a`` is raveled first.
      bitorder: whether the first of eight is the most (``"big"``) or the least significant bit (``"little"``).

    Raises:
      TypeError: for other dtypes.
    """
    check_arraylike("packbits", a)
    dtype = typeof(a).dtype
    if not dtypes.issubdtype(dtype, np.integer) and dtype != np.bool_:
        raise TypeError(f"packbits: a must hold integers or booleans, got {dtype}")
    big = _order("packbits", bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    return _packed(asarray(a), axis=canonical_axis(axis, len(shape_of(a)), "packbits"), big=big)


@composite(static_argnames=("axis", "big"))
def _packed(a: Any, axis: int, big: bool) -> Any:
    bits = moveaxis(lax.convert_element_type(lax.ne(a, lax.full_like(a, 0)), np.uint8), axis, -1)
    shape = shape_of(bits)
    n = shape[-1]
    bits = lax.pad(bits, np.uint8(0), [*[(0, 0, 0)] * (len(shape) - 1), (0, -n % 8, 0)])
    bits = lax.reshape(bits, (*shape[:-1], -(-n // 8), 8))
    weights = lax.broadcast_in_dim(np.array([128 >> i if big else 1 << i for i in range(8)], np.uint8), shape_of(bits),
                                   (len(shape),))
    return moveaxis(lax.reduce_or(lax.mul(bits, weights), (len(shape),)), -1, axis)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """The bits of bytes: each element of ``a`` (uint8) becomes eight along ``axis``, zeros and ones.

    Args:
      a: an array of dtype uint8.
      axis: with None ``a`` is raveled first.
      count: how many bits to return; a negative number leaves as many off at the end.
      bitorder: as for :func:`packbits`.

    Raises:
      TypeError: for another dtype.
    """
    check_arraylike("unpackbits", a)
    if typeof(a).dtype != np.uint8:
        raise TypeError(f"unpackbits: a must be of dtype uint8, got {typeof(a).dtype}")
    big = _order("unpackbits", bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)), "unpackbits")
    total = shape_of(a)[axis] * 8
    size = total if count is None else canonical_dim(count, "unpackbits: count")
    size = max(0, total + size) if size < 0 else size
    return _unpacked(asarray(a), axis=axis, size=size, big=big)


@composite(static_argnames=("axis", "size", "big"))
def _unpacked(a: Any, axis: int, size: int, big: bool) -> Any:
    last = moveaxis(a, axis, -1)
    shape = shape_of(last)
    whole = (*shape, 8)
    shifts = lax.broadcast_in_dim(np.array([7 - i if big else i for i in range(8)], np.uint8), whole, (len(shape),))
    spread = lax.broadcast_in_dim(last, whole, tuple(range(len(shape))))
    bits = lax.bitwise_and(lax.shift_right_logical(spread, shifts), lax.full(whole, 1, np.uint8))
    bits = lax.reshape(bits, (*shape[:-1], shape[-1] * 8))
    rest = size - shape[-1] * 8
    bits = lax.pad(bits, np.uint8(0), [*[(0, 0, 0)] * (len(shape) - 1), (0, rest, 0)])
    return moveaxis(bits, -1, axis)
