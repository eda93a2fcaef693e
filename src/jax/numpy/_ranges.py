"""Numbers at even distances, and the grids that they span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.vmap import vmap
from jax._base._jaxlib import xla
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim, canonicalize_shape
from jax._language.trace import concrete_or_error
from jax.numpy._creation import _placed, arange, asarray
from jax.numpy._joining import concatenate
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, check_rank_promotion, shape_of
from jax.numpy._promotion import broadcast_shapes as common_shape
from jax.numpy._ufuncs_arithmetic import power
from jax.numpy._ufuncs_elementary import exp, log
from jax.numpy._ufuncs_floating import floor, real

_Array = xla.Array


# --- linspace and its relatives -------------------------------------------------------------------------------------

def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0, *, device: Any = None) -> Any:
    """``num`` numbers at even distances from ``start`` to ``stop``.

    Args:
      start, stop: scalars or arrays that broadcast.
      num: how many; known while tracing.
      endpoint: whether ``stop`` is the last of them.
      retstep: return ``(numbers, distance)``.
      dtype: of the result; a floating one by default. Integers are rounded down.
      axis: where the new axis goes when ``start`` and ``stop`` are arrays.
      device: a device or sharding to put the result on.

    Raises:
      ValueError: for a negative ``num``.

    >>> import jax.numpy as jnp
    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    check_arraylike("linspace", start, stop)
    num = _count("linspace", num)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "linspace")
    out, step = _linspace(start, stop, num=num, endpoint=bool(endpoint), dtype=dtype, axis=axis)
    out = _placed(out, device)
    return (out, step) if retstep else out


def _count(name: str, num: Any) -> int:
    num = canonical_dim(concrete_or_error(None, num, f"the argument num of jnp.{name}"), f"{name}: num")
    if num < 0:
        raise ValueError(f"{name}: the number of samples must not be negative, got {num}")
    return num


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    shapes = [shape_of(start), shape_of(stop)]
    check_rank_promotion("linspace", shapes)
    shape = common_shape("linspace", shapes)
    common = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    integral = dtype is not None and dtypes.issubdtype(dtype, np.integer)
    computed: Any = common if dtype is None or integral else _wider(common, dtype)
    start, stop = (broadcast_to(as_dtype(x, computed, False), shape) for x in (start, stop))
    parts = num - 1 if endpoint else num
    if parts > 0:
        step = lax.div(lax.sub(stop, start), np.asarray(parts, computed))
    else:
        step = lax.full(shape, np.nan, computed)
    if num == 0:
        out = lax.full((0, *shape), 0, computed)
    elif num == 1:
        out = lax.broadcast(start, (1,))
    else:
        out = _interpolated(start, stop, parts, computed)
        if endpoint:
            out = lax.concatenate([out, lax.broadcast(stop, (1,))], 0)
    axis = canonical_axis(axis, len(shape) + 1, "linspace")
    order = list(range(1, len(shape) + 1))
    order.insert(axis, 0)
    out = lax.transpose(out, order)
    if integral and not dtypes.issubdtype(computed, np.complexfloating):
        out = floor(out)
    return as_dtype(out, dtype, False) if dtype is not None else out, step


def _wider(common: Any, dtype: Any) -> Any:
    """The dtype to compute in when ``dtype`` is asked for: narrow floats hold too few different numbers of steps."""
    return dtypes.promote_types(common, dtype) if dtypes.issubdtype(dtype, np.inexact) else common


def _interpolated(start: Any, stop: Any, parts: int, dtype: Any) -> Any:
    """``start (1 - t) + stop t`` at ``t = 0, 1/parts, ..., 1 - 1/parts``: exact at both ends, never beyond them."""
    real_dtype: Any = dtypes.to_real_dtype(dtype)
    t = lax.div(lax.iota(real_dtype, parts), np.asarray(parts, real_dtype))
    shape = (parts, *shape_of(start))
    t = lax.broadcast_in_dim(as_dtype(t, dtype, False), shape, (0,))
    rest = lax.sub(np.asarray(1, dtype), t)
    return lax.add(lax.mul(broadcast_to(start, shape), rest), lax.mul(broadcast_to(stop, shape), t))


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
             axis: int = 0) -> Any:
    """``base`` to the powers :func:`linspace` gives: from ``base ** start`` to ``base ** stop``."""
    check_arraylike("logspace", start, stop, base)
    num = _count("logspace", num)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "logspace")
    return _logspace(start, stop, base, num=num, endpoint=bool(endpoint), dtype=dtype, axis=axis)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start: Any, stop: Any, base: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    common = dtypes.to_inexact_dtype(dtypes.result_type(start, stop, base))
    exponents, _ = _linspace(start, stop, num=num, endpoint=endpoint, dtype=common, axis=axis)
    base = as_dtype(base, common, False)
    if shape_of(base):
        base = lax.expand_dims(base, (canonical_axis(axis, len(shape_of(base)) + 1, "logspace"),))
    out = power(base, exponents)
    return out if dtype is None else as_dtype(out, dtype, False)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """``num`` numbers with even quotients from ``start`` to ``stop``, which have the same sign (or are complex)."""
    check_arraylike("geomspace", start, stop)
    num = _count("geomspace", num)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "geomspace")
    return _geomspace(start, stop, num=num, endpoint=bool(endpoint), dtype=dtype, axis=axis)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    common = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    if dtype is not None and dtypes.issubdtype(dtype, np.inexact):
        common = _wider(common, dtype)
    shapes = [shape_of(start), shape_of(stop)]
    check_rank_promotion("geomspace", shapes)
    shape = common_shape("geomspace", shapes)
    start, stop = (broadcast_to(as_dtype(x, common, False), shape) for x in (start, stop))
    # From 1 in the direction of the start: the numbers are real and positive where they can be.
    if dtypes.issubdtype(common, np.complexfloating):
        direction = lax.div(start, as_dtype(lax.abs(start), common, False))
    else:
        direction = lax.sign(start)
    first, last = lax.div(start, direction), lax.div(stop, direction)
    exponents, _ = _linspace(log(first), log(last), num=num, endpoint=endpoint, dtype=common, axis=0)
    out = lax.mul(exp(exponents), broadcast_to(direction, shape_of(exponents)))
    if num > 0:
        rows = [lax.broadcast(start, (1,)), lax.slice_in_dim(out, 1, num)]
        if endpoint and num > 1:
            rows = [lax.broadcast(start, (1,)), lax.slice_in_dim(out, 1, num - 1), lax.broadcast(stop, (1,))]
        out = lax.concatenate(rows, 0)
    order = list(range(1, len(shape) + 1))
    order.insert(canonical_axis(axis, len(shape) + 1, "geomspace"), 0)
    out = lax.transpose(out, order)
    if dtype is not None and dtypes.issubdtype(dtype, np.integer):
        out = lax.round(real(out), lax.RoundingMethod.TO_NEAREST_EVEN)
    return out if dtype is None else as_dtype(out, dtype, False)


# --- grids ----------------------------------------------------------------------------------------------------------

def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid: one array per vector, of the shape of the grid; a tuple.

    Args:
      *xi: the coordinates along each axis, vectors.
      copy: must be True.
      sparse: leave the other axes at size 1.
      indexing: ``"xy"``: the first vector runs along axis 1 and the second along axis 0; ``"ij"``: vector ``i`` runs
        along axis ``i``.

    Raises:
      ValueError: for arrays that are not vectors, or another ``indexing``.
    """
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("meshgrid: copy=False is not supported, arrays have no views")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    shapes = [shape_of(x) for x in xi]
    if any([len(s) != 1 for s in shapes]):
        raise ValueError(f"meshgrid: the arguments must be vectors, got shapes {shapes}")
    rank = len(xi)
    axes = list(range(rank))
    if indexing == "xy" and rank >= 2:
        axes[0], axes[1] = 1, 0
    sizes: list[Any] = [0] * rank
    for axis, s in zip(axes, shapes, strict=True):
        sizes[axis] = s[0]
    return tuple([lax.broadcast_in_dim(x, [n if not sparse or i == axis else 1 for i, n in enumerate(sizes)], (axis,))
                  for axis, x in zip(axes, xi, strict=True)])


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The indices of a grid of the shape ``dimensions``: one array per axis, stacked, or a tuple with ``sparse``."""
    dimensions = canonicalize_shape(dimensions, "indices: dimensions")
    dtype = dtypes.requested_dtype(int if dtype is None else dtype, "indices")
    rank = len(dimensions)
    if sparse:
        return tuple([lax.broadcasted_iota(dtype, [n if i == axis else 1 for i in range(rank)], axis)
                      for axis, n in enumerate(dimensions)])
    if not rank:
        return lax.full((0,), 0, dtype)
    return lax.stack([lax.broadcasted_iota(dtype, dimensions, axis) for axis in range(rank)])


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """The array whose element at each index is ``function(*index)``.

    ``function`` is called once, mapped over the grid by ``jax.vmap``: with scalars of ``dtype``, and with ``kwargs``.
    What it returns may have axes of its own, which come last.
    """
    shape = canonicalize_shape(shape, "fromfunction: shape")
    for axis in range(len(shape) - 1, -1, -1):
        function = vmap(function, in_axes=tuple([0 if i == axis else None for i in range(len(shape))]))
    return function(*[arange(n, dtype=dtype) for n in shape], **kwargs)


# --- index helpers --------------------------------------------------------------------------------------------------

def _as_slice_values(s: slice) -> Any:
    """The numbers that a slice stands for: ``start:stop:step``, or ``start:stop:5j`` for five numbers."""
    start, stop, step = s.start, s.stop, s.step
    start = 0 if start is None else start
    if stop is None:
        raise ValueError(f"a slice that stands for numbers needs an end, got {s}")
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, 1 if step is None else step)


class GridMaker:
    """``mgrid`` and ``ogrid``: indexed with slices they give the coordinates of a grid.

    A step that is an imaginary number is a number of points, the end included.
    """

    __slots__ = ("name", "sparse")

    def __init__(self, name: str, sparse: bool) -> None:
        self.name = name
        self.sparse = sparse

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _as_slice_values(key)
        rows = [_as_slice_values(k) for k in key]
        if not rows:
            return lax.full((0,), 0, dtypes.scalar_dtype(int)) if not self.sparse else []
        dtype = dtypes.result_type(*rows)
        grid = meshgrid(*[as_dtype(r, dtype, False) for r in rows], sparse=self.sparse, indexing="ij")
        return list(grid) if self.sparse else lax.stack(grid)


mgrid = GridMaker("mgrid", False)
ogrid = GridMaker("ogrid", True)


class Joiner:
    """``r_`` and ``c_``: indexed with arrays, scalars and slices (which stand for ranges) they join these.

    A leading text ``"axis,ndmin,trans"`` of up to three integers says along which axis, to which rank arrays are raised,
    and where their own axes then start; the texts ``"r"`` and ``"c"`` make a matrix of one row or column. ``r_`` joins
    along the first axis, ``c_`` vectors as columns.
    """

    __slots__ = ("name", "axis", "ndmin", "first")

    def __init__(self, name: str, axis: int, ndmin: int, first: int) -> None:
        self.name = name
        self.axis = axis
        self.ndmin = ndmin
        self.first = first

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, first = self.axis, self.ndmin, self.first
        as_matrix = ""
        if items and isinstance(items[0], str):
            text = items.pop(0)
            if text in ("r", "c"):
                as_matrix = text
            else:
                axis, ndmin, first = self._read(text)
        parts = [self._arranged(_as_slice_values(k) if isinstance(k, slice) else asarray(k), ndmin, first) for k in items]
        out = concatenate(parts, axis)
        if as_matrix and out.ndim == 1:
            return lax.expand_dims(out, (0 if as_matrix == "r" else 1,))
        return out

    def _read(self, text: str) -> tuple[int, int, int]:
        try:
            given = [int(t) for t in text.split(",")]
        except ValueError:
            raise ValueError(f"{self.name}: the directive {text!r} is not understood, it may consist of up to three "
                             "integers 'axis,ndmin,trans', or be 'r' or 'c'") from None
        defaults = [self.axis, self.ndmin, self.first]
        axis, ndmin, first = (given + defaults[len(given):])[:3]
        return axis, ndmin, first

    @staticmethod
    def _arranged(x: Any, ndmin: int, first: int) -> Any:
        x = lax.reshape(x, (1,)) if not x.shape else x
        missing = ndmin - x.ndim
        if missing <= 0:
            return x
        if first < 0:
            first = missing + first + 1
        first = min(max(first, 0), missing)
        return lax.expand_dims(x, [i for i in range(ndmin) if not first <= i < first + x.ndim])


r_ = Joiner("r_", 0, 1, -1)
c_ = Joiner("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp


# --- matrices of powers ---------------------------------------------------------------------------------------------

def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of a vector: ``x ** (N - 1), ..., x, 1`` in the columns, or the other way round.

    Args:
      x: a vector.
      N: the number of columns; that of the elements of ``x`` if None.
      increasing: the lowest power first.

    Raises:
      ValueError: when ``x`` is no vector or ``N`` is negative.
    """
    check_arraylike("vander", x)
    if len(shape_of(x)) != 1:
        raise ValueError(f"vander: a vector is needed, got shape {shape_of(x)}")
    n = shape_of(x)[0] if N is None else canonical_dim(N, "vander: N")
    if n < 0:
        raise ValueError(f"vander: N must not be negative, got {n}")
    return _vander(x, n=n, increasing=bool(increasing))


@composite(static_argnames=("n", "increasing"))
def _vander(x: Any, n: int, increasing: bool) -> Any:
    aval = typeof(x)
    dtype = dtypes.scalar_dtype(int) if aval.dtype == np.bool_ else aval.dtype
    shape = (aval.shape[0], n)
    x = lax.broadcast_in_dim(as_dtype(x, dtype, False), shape, (0,))
    exponents = lax.broadcasted_iota(dtypes.scalar_dtype(int), shape, 1)
    if not increasing:
        exponents = lax.rev(exponents, (1,))
    return power(x, exponents)
