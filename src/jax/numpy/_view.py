"""Reading the memory of an array as elements of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import category
from jax._language.avals import typeof


def view(x: Any, dtype: Any) -> Any:
    """``x.view(dtype)``: the bits of ``x`` as elements of ``dtype``; the last axis absorbs a difference in size.

    Raises:
      ValueError: when the last axis does not hold whole elements of ``dtype``, or there is none.
    """
    return _view(x, dtype=dtypes.requested_dtype(dtype, "view"))


@composite(static_argnames=("dtype",))
def _view(x: Any, dtype: Any) -> Any:
    have = typeof(x).dtype
    if have == dtype:
        return x
    if have == np.bool_:
        x = lax.convert_element_type(x, np.uint8)
    elif category(have) == "complex":
        x = _interleaved(x)
    want = np.dtype(np.uint8) if dtype == np.bool_ else dtypes.to_real_dtype(dtype)
    out = _resized(x, want, have, dtype)
    if dtype == np.bool_:
        return lax.ne(out, np.uint8(0))
    if category(dtype) == "complex":
        return _joined(out, dtype)
    return out


def _interleaved(x: Any) -> Any:
    """Complex numbers as twice as many real ones: real part, imaginary part, real part ..."""
    shape = typeof(x).shape
    if not shape:
        raise ValueError(f"view: a {typeof(x).dtype} scalar has two parts and no axis for them; add one with x[None]")
    pair = lax.concatenate([lax.expand_dims(lax.real(x), (len(shape),)), lax.expand_dims(lax.imag(x), (len(shape),))],
                           len(shape))
    return lax.reshape(pair, (*shape[:-1], shape[-1] * 2))


def _joined(x: Any, dtype: Any) -> Any:
    shape = typeof(x).shape
    if not shape or shape[-1] % 2:
        raise ValueError(f"view: {dtype} is made of two {typeof(x).dtype} elements; the last axis must hold pairs, and "
                         f"the shape is {shape}")
    pairs = lax.reshape(x, (*shape[:-1], shape[-1] // 2, 2))
    last = len(shape)
    return lax.complex(*[lax.index_in_dim(pairs, i, last, keepdims=False) for i in (0, 1)])


def _resized(x: Any, want: Any, have: Any, dtype: Any) -> Any:
    shape, now = typeof(x).shape, typeof(x).dtype
    a, b = dtypes.itemsize_bits(now), dtypes.itemsize_bits(want)
    if a == b:
        return lax.bitcast_convert_type(x, want)
    if not shape:
        raise ValueError(f"view: a scalar of {have} cannot be read as {dtype}, whose elements have another size")
    if a > b:
        out = lax.bitcast_convert_type(x, want)
        return lax.reshape(out, (*shape[:-1], shape[-1] * (a // b)))
    k = b // a
    if shape[-1] % k:
        raise ValueError(f"view: the last axis of shape {shape} does not hold whole elements: one {dtype} takes {k} of "
                         f"{now}")
    return lax.bitcast_convert_type(lax.reshape(x, (*shape[:-1], shape[-1] // k, k)), want)
