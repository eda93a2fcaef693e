"""``jax.scipy.interpolate``: interpolation of samples on grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax._language.trace import Tracer
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap

_METHODS = ("linear", "nearest")
_NAN = float("nan")


class RegularGridInterpolator:
    """Interpolation between samples on a rectangular grid.

    Args:
      points: for each of the grid's ``d`` axes, where its lines are: strictly ascending or descending.
      values: the samples, of shape ``(n_1, ..., n_d, ...)``; further axes are kept.
      method: ``"linear"`` or ``"nearest"`` (the lower of two equally near).
      bounds_error: must be False: nothing can be raised for values that are not known while a program is traced.
      fill_value: the result outside of the grid; None extrapolates. NaN by default.

    Raises:
      ValueError: for other methods, for points that are not monotonic, and for shapes that do not fit.
      NotImplementedError: when ``bounds_error`` is set.

    >>> import jax.numpy as jnp
    >>> grid = RegularGridInterpolator((jnp.array([0.0, 1.0, 2.0]),), jnp.array([0.0, 1.0, 4.0]))
    >>> grid(jnp.array([[0.5], [1.5]])).tolist()
    [0.5, 2.5]
    """

    def __init__(self, points: Sequence[Any], values: Any, method: str = "linear", bounds_error: bool = False,
                 fill_value: Any = _NAN) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error=True cannot be honoured in compiled programs; "
                                      "points outside of the grid get fill_value")
        check_arraylike("RegularGridInterpolator", values, *points)
        values = jnp.asarray(promote_dtypes_inexact(unwrap(values))[0])
        if len(points) > values.ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {values.ndim} dimensions")
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            if not np.can_cast(dtypes.dtype(fill_value), values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        grid = []
        for axis, p in enumerate(points):
            p = jnp.asarray(promote_dtypes_inexact(unwrap(p))[0])
            if p.ndim != 1 or p.shape[0] != values.shape[axis]:
                raise ValueError(f"there are {p.shape} points along axis {axis}, where values have {values.shape[axis]}")
            if not p.shape[0]:
                raise ValueError(f"RegularGridInterpolator: axis {axis} is empty")
            p, values = _ascending(p, values, axis)
            grid.append(p)
        self.grid, self.values = tuple(grid), values
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points.

        Args:
          xi: an array of shape ``(..., d)``, or a tuple of ``d`` arrays that are broadcast.
          method: instead of that of the interpolator.

        Returns:
          An array of shape ``(..., *values.shape[d:])``.
        """
        method = self.method if method is None else method
        _check_method(method)
        columns, shape = self._columns(xi)
        cells, outside, missing = [], jnp.zeros(shape, bool), jnp.zeros(shape, bool)
        for x, p in zip(columns, self.grid, strict=True):
            cells.append(_cell(x, p))
            outside = outside | (x < p[0]) | (x > p[-1])
            missing = missing | jnp.isnan(x)
        trailing = (1,) * (self.values.ndim - len(self.grid))
        out = (self._nearest if method == "nearest" else self._linear)(cells, trailing)
        if self.fill_value is not None:
            fill = jnp.asarray(self.fill_value).astype(out.dtype)
            out = jnp.where(outside.reshape(shape + trailing), fill, out)
        return jnp.where(missing.reshape(shape + trailing), jnp.asarray(np.nan, out.dtype), out)

    def _columns(self, xi: Any) -> tuple[list[Any], tuple[int, ...]]:
        d = len(self.grid)
        if isinstance(xi, tuple):
            check_arraylike("RegularGridInterpolator", *xi)
            columns = [jnp.asarray(unwrap(x)) for x in xi]
            shape = jnp.broadcast_shapes(*[c.shape for c in columns])
            columns = [jnp.broadcast_to(c, shape) for c in columns]
        else:
            check_arraylike("RegularGridInterpolator", xi)
            xi = jnp.asarray(unwrap(xi))
            if xi.ndim == 1 and d == 1:
                xi = xi[:, None]
            xi = jnp.atleast_1d(xi)
            shape = xi.shape[:-1]
            columns = [xi[..., i] for i in range(xi.shape[-1])]
        if len(columns) != d:
            raise ValueError(f"the requested sample points xi have dimension {len(columns)}, but this "
                             f"RegularGridInterpolator has dimension {d}")
        return columns, shape

    def _linear(self, cells: list[tuple[Any, Any]], trailing: tuple[int, ...]) -> Any:
        out: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = None
            for (_, t), upper in zip(cells, corner, strict=True):
                part = t if upper else 1 - t
                weight = part if weight is None else weight * part
            index = tuple(_beside(i, upper, p.shape[0]) for (i, _), upper, p in zip(cells, corner, self.grid, strict=True))
            out = out + self.values[index] * weight.reshape(weight.shape + trailing)
        return out

    def _nearest(self, cells: list[tuple[Any, Any]], trailing: tuple[int, ...]) -> Any:
        index = tuple(_beside(i, (t > 0.5).astype(i.dtype), p.shape[0]) for (i, t), p in zip(cells, self.grid, strict=True))
        return self.values[index]


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined: RegularGridInterpolator has 'linear' and 'nearest'")


def _ascending(p: Any, values: Any, axis: int) -> tuple[Any, Any]:
    """Points and values in ascending order. Points that are not known yet are taken to be so already."""
    if isinstance(p, Tracer):
        return p, values
    steps = np.diff(np.asarray(p).astype(float))
    if (steps > 0).all():
        return p, values
    if (steps < 0).all():
        return p[::-1], jnp.flip(values, axis)
    raise ValueError(f"RegularGridInterpolator: the points along axis {axis} must be strictly ascending or descending")


def _cell(x: Any, p: Any) -> tuple[Any, Any]:
    """The line of the grid below ``x``, and how far into the cell it is (0 to 1 inside)."""
    if p.shape[0] == 1:
        return jnp.zeros(x.shape, int), jnp.zeros(x.shape, p.dtype)
    i = jnp.clip(jnp.searchsorted(p, x, side="right") - 1, 0, p.shape[0] - 2)
    return i, (x - p[i]) / (p[i + 1] - p[i])


def _beside(i: Any, upper: Any, n: int) -> Any:
    return jnp.minimum(i + upper, n - 1)
