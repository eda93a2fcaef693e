"""The places of extremes."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._reduce import identity_of
from jax.lax._select import where as _where
from jax.numpy import _reductions as red
from jax.numpy._promotion import refuse_out


def _axis(axis: Any) -> int | None:
    if axis is None or type(axis) is int:
        return axis
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"axis must be one integer or None, got {axis!r} of type {type(axis).__name__}") from None


def _place(name: str, prim: Any, a: Any, axis: int | None, keepdims: bool) -> Any:
    shape = typeof(a).shape
    kept = shape
    if axis is None:
        a = lax.reshape(a, (dims.size_of(shape),))
        place, removed = 0, tuple(range(len(shape)))
    else:
        if not shape:
            a = lax.reshape(a, (1,))
            kept = (1,)
        (place,) = red.reduced_axes(name, axis, kept)
        removed = (place,) if shape else ()
    n = typeof(a).shape[place]
    if dims.is_zero(n):
        raise ValueError(f"attempt to get {name} of an empty sequence: the array has shape {shape}, axis {axis}")
    index_dtype = dtypes.scalar_dtype(int)
    if category(typeof(a).dtype) == "complex":
        out = _complex_place(prim, a, place, index_dtype)
    else:
        out = prim.bind(a, axes=(place,), index_dtype=index_dtype)
    return red.restore_axes(out, shape, removed) if keepdims and removed else out


def _complex_place(prim: Any, a: Any, place: int, index_dtype: Any) -> Any:
    """Complex numbers are ordered by real part, then by imaginary part; NaN comes first."""
    extreme = (lax.reduce_max if prim is lax.argmax_p else lax.reduce_min)(a, (place,))
    shape = typeof(a).shape
    kept = [d for d in range(len(shape)) if d != place]
    found = lax.bitwise_or(lax.eq(a, lax.broadcast_in_dim(extreme, shape, kept)), lax.ne(a, a))
    return lax.argmax(found, place, index_dtype)


@composite(static_argnames=("axis", "keepdims"))
def _argmax(a: Any, axis: int | None, keepdims: bool) -> Any:
    return _place("argmax", lax.argmax_p, red.operand("argmax", a), axis, keepdims)


@composite(static_argnames=("axis", "keepdims"))
def _argmin(a: Any, axis: int | None, keepdims: bool) -> Any:
    return _place("argmin", lax.argmin_p, red.operand("argmin", a), axis, keepdims)


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first largest element along ``axis``; that of the first NaN if there is one.

    Args:
      a: an array or scalar.
      axis: an axis, or None for the flattened array.
      out: not supported.
      keepdims: keep the reduced axis, or all of them, with size 1.

    Returns:
      Indices in the default integer dtype.

    Raises:
      ValueError: for an axis of size 0.
    """
    refuse_out("argmax", out)
    return _argmax(a, _axis(axis), builtins.bool(keepdims))


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first smallest element along ``axis``. Arguments as for ``jnp.argmax``."""
    refuse_out("argmin", out)
    return _argmin(a, _axis(axis), builtins.bool(keepdims))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first largest element that is not NaN; -1 where all are NaN (NumPy raises an error).

    Arguments as for ``jnp.argmax``.
    """
    refuse_out("nanargmax", out)
    return _nan_place(a, "nanargmax", _axis(axis), builtins.bool(keepdims))


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first smallest element that is not NaN; -1 where all are NaN (NumPy raises an error).

    Arguments as for ``jnp.argmax``.
    """
    refuse_out("nanargmin", out)
    return _nan_place(a, "nanargmin", _axis(axis), builtins.bool(keepdims))


@composite(static_argnames=("name", "axis", "keepdims"))
def _nan_place(a: Any, name: str, axis: int | None, keepdims: bool) -> Any:
    a = red.operand(name, a)
    find, worst = (_argmax, "max") if name == "nanargmax" else (_argmin, "min")
    dtype = typeof(a).dtype
    if category(dtype) not in ("floating", "complex"):
        return find(a, axis, keepdims)
    missing = lax.ne(a, a)
    fill = constant(dtype, identity_of(worst, dtype).item())
    out = find(_where(missing, fill, a), axis, keepdims)
    nothing = red.all(missing, axis, keepdims=keepdims)
    return _where(nothing, np.asarray(-1, typeof(out).dtype), out)
