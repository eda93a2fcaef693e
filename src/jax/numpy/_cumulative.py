"""Cumulative sums and products."""

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
from jax.lax._select import where as _where
from jax.numpy import _reductions as red
from jax.numpy._promotion import as_dtype, refuse_out


def _axis(axis: Any) -> int | None:
    if axis is None or type(axis) is int:
        return axis
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"axis must be one integer or None, got {axis!r} of type {type(axis).__name__}") from None


@composite(static_argnames=("name", "axis", "dtype", "promote_integers", "include_initial"))
def _scan(a: Any, name: str, axis: int | None, dtype: Any, promote_integers: bool = False,
          include_initial: bool = False) -> Any:
    a = red.operand(name, a)
    is_sum = name in ("cumsum", "nancumsum", "cumulative_sum")
    if name.startswith("nan") and category(typeof(a).dtype) in ("floating", "complex"):
        a = _where(lax.ne(a, a), constant(typeof(a).dtype, 0 if is_sum else 1), a)
    shape = typeof(a).shape
    if axis is None or (not shape and axis in (0, -1)):  # as in NumPy, a scalar is a vector of one
        a, axis = lax.reshape(a, (dims.size_of(shape),)), 0
    (axis,) = red.reduced_axes(name, axis, typeof(a).shape)
    result = red._computed_in(typeof(a).dtype, promote_integers) if dtype is None else dtype
    inner = np.dtype(np.float32) if result in red._HALF else result
    if inner == np.bool_:
        inner = dtypes.scalar_dtype(int)
    a = as_dtype(a, inner, False)
    out = (lax.cumsum_p if is_sum else lax.cumprod_p).bind(a, axis=axis, reverse=False)
    if include_initial:
        shape = typeof(out).shape
        first = lax.full((*shape[:axis], 1, *shape[axis + 1:]), 0 if is_sum else 1, inner)
        out = lax.concatenate([first, out], axis)
    if inner != result:
        out = lax.ne(out, constant(inner, 0)) if result == np.bool_ else as_dtype(out, result, False)
    return out


def _default_scan(name: str) -> Any:
    def scan(a: Any, axis: int | None) -> Any:
        return _scan(a, name, axis, None)
    scan.__name__ = name
    return composite(scan, static_argnames=("axis",))


_default_scans = {name: _default_scan(name) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")}


def _cumulative(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if dtype is None and out is None:
        return _default_scans[name](a, _axis(axis))
    refuse_out(name, out)
    return _scan(a, name, _axis(axis), None if dtype is None else dtypes.requested_dtype(dtype, name))


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of elements up to each place along ``axis``.

    Booleans are added as integers; other dtypes stay (narrow integers too, unlike in NumPy, see
    ``jnp.cumulative_sum``). Half-precision floats are added in float32.

    Args:
      a: an array or scalar.
      axis: an axis, or None for the flattened array.
      dtype: dtype in which to add, and of the result.
      out: not supported.

    >>> import jax.numpy as jnp
    >>> jnp.cumsum(jnp.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    return _cumulative("cumsum", a, axis, dtype, out)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of elements up to each place along ``axis``. Arguments as for ``jnp.cumsum``."""
    return _cumulative("cumprod", a, axis, dtype, out)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """``jnp.cumsum`` with NaN taken as 0."""
    return _cumulative("nancumsum", a, axis, dtype, out)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """``jnp.cumprod`` with NaN taken as 1."""
    return _cumulative("nancumprod", a, axis, dtype, out)


def _standard(name: str, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    x = red.operand(name, x)
    shape = typeof(x).shape
    if not shape:
        raise ValueError(f"{name}: the array must have at least one dimension, got a scalar")
    if axis is None and len(shape) > 1:
        raise ValueError(f"{name}: axis must be given for an array of {len(shape)} dimensions (shape {shape})")
    return _scan(x, name=name, axis=_axis(0 if axis is None else axis), promote_integers=True,
                 dtype=None if dtype is None else dtypes.requested_dtype(dtype, name),
                 include_initial=builtins.bool(include_initial))


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The sums of elements up to each place along ``axis``, as the array API standard defines them.

    Args:
      x: an array of at least one dimension.
      axis: an axis; only optional for one dimension.
      dtype: dtype in which to add; by default that of ``jnp.sum``, so that narrow integers are widened.
      include_initial: begin with 0, the sum of nothing; the axis is longer by one.
    """
    return _standard("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The products of elements up to each place along ``axis``. Arguments as for ``jnp.cumulative_sum``."""
    return _standard("cumulative_prod", x, axis, dtype, include_initial)
