"""Removing trends from data."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: int | Sequence[int] | np.ndarray = 0,  # noqa: A002
            overwrite_data: None = None) -> Any:
    """``data`` without its mean or its linear trend.

    Args:
      data: an array. Integers are converted to floats.
      axis: the axis along which data follow each other.
      type: ``"constant"`` for the mean, ``"linear"`` for the least-squares line.
      bp: where a new line begins, for linear trends: integers.
      overwrite_data: not supported, since arrays do not change.

    Raises:
      ValueError: for other types and for break points outside of the data.
      NotImplementedError: when ``overwrite_data`` is given.

    >>> import jax.numpy as jnp
    >>> detrend(jnp.array([1.0, 2.0, 6.0]), type="constant").tolist()
    [-2.0, -1.0, 3.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError("scipy.signal.detrend: overwrite_data is not supported: arrays do not change")
    if type not in ("constant", "linear"):
        raise ValueError(f"scipy.signal.detrend: Trend type must be 'linear' or 'constant', got {type!r}")
    check_arraylike("scipy.signal.detrend", data)
    shape = np.shape(data)
    axis = operator.index(axis)
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"scipy.signal.detrend: axis {axis} is out of bounds for data of shape {shape}")
    n = shape[axis]
    breaks = [operator.index(b) for b in np.atleast_1d(np.asarray(bp)).tolist()]
    if any(not 0 <= b <= n for b in breaks):
        raise ValueError(f"scipy.signal.detrend: Breakpoints must be non-negative and less than length of data along given "
                         f"axis, {n}; got {breaks}")
    edges = (0, n) if type == "constant" else tuple(sorted({0, *breaks, n}))
    return _detrend(data, axis=axis % len(shape), linear=type == "linear", edges=edges)


@functools.partial(composite, static_argnames=("axis", "linear", "edges"))
def _detrend(data: Any, axis: int, linear: bool, edges: tuple[int, ...]) -> Any:
    data = jnp.moveaxis(jnp.asarray(promote_dtypes_inexact(unwrap(data))[0]), axis, -1)
    parts = [without_trend(data[..., a:b], linear) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    return jnp.moveaxis(jnp.concatenate(parts, axis=-1) if parts else data, -1, axis)


def without_trend(x: Any, linear: bool) -> Any:
    """``x`` without its mean along the last axis, or without the least-squares line."""
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    n = x.shape[-1]
    if not linear or n < 2:
        return x
    t = (np.arange(n) - (n - 1) / 2)
    t = (t / np.sqrt(np.sum(t * t))).astype(np.finfo(x.dtype).dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    return x - jnp.sum(x * t, axis=-1, keepdims=True) * t
