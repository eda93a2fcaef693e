"""Finding places in sorted arrays, counting, and interpolating between points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_dim
from jax._language.trace import Tracer
from jax.errors import ConcretizationTypeError
from jax.numpy._creation import asarray
from jax.numpy._index_run import Options, get
from jax.numpy._promotion import (
    as_dtype,
    broadcast_to,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
    shape_of,
)
from jax.numpy._shape import ravel
from jax.numpy._ufuncs_arithmetic import remainder

_IN_BOUNDS = Options(wrap=False)


def at_places(x: Any, places: Any) -> Any:
    """The slices of ``x`` along its first axis at places known to be within bounds."""
    return get(x, ("array" if shape_of(places) else "scalar", *("all",) * (len(shape_of(x)) - 1)), (places,), _IN_BOUNDS)


# --- searchsorted ---------------------------------------------------------------------------------------------------

_METHODS = ("default", "scan", "scan_unrolled", "sort", "compare_all")


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """For each element of ``v`` the place in the sorted vector ``a`` where it can be inserted.

    Args:
      a: a vector, in increasing order (NaN last).
      v: an array.
      side: with ``"left"`` the first such place, with ``"right"`` the last one.
      sorter: indices that sort ``a``, if it is not sorted.
      method: ``"scan"`` (the default): binary search in a loop; ``"scan_unrolled"``: without a loop; ``"sort"``: by
        sorting both; ``"compare_all"``: by comparing all with all, for a short ``a``.

    Returns:
      Integers of the shape of ``v``.

    Raises:
      ValueError: when ``a`` is no vector, and for unknown options.

    >>> import jax.numpy as jnp
    >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 4]))
    Array([0, 1, 2], dtype=int32)
    """
    check_arraylike("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if method not in _METHODS:
        raise ValueError(f"searchsorted: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    if len(shape_of(a)) != 1:
        raise ValueError(f"searchsorted: a must be a vector, got shape {shape_of(a)}")
    if sorter is not None:
        check_arraylike("searchsorted", sorter)
        return _search_in_order(a, v, sorter, side=side, method=method)
    return _search(a, v, side=side, method=method)


@composite(static_argnames=("side", "method"))
def _search_in_order(a: Any, v: Any, sorter: Any, side: str, method: str) -> Any:
    return _search(get(a, ("array",), (sorter,)), v, side=side, method=method)


@composite(static_argnames=("side", "method"))
def _search(a: Any, v: Any, side: str, method: str) -> Any:
    a, v = promote_dtypes(a, v)
    n = shape_of(a)[0]
    dtype = np.dtype(np.int32 if type(n) is not int or n < 2**31 - 1 else np.int64)
    if dims.is_zero(n):
        return lax.full(shape_of(v), 0, dtype)
    if method == "compare_all":
        return _search_by_comparing(a, v, side, dtype)
    if method == "sort":
        return _search_by_sorting(a, v, side, dtype)
    return _search_by_halving(a, v, side, dtype, method == "scan_unrolled")


def _search_by_halving(a: Any, v: Any, side: str, dtype: Any, unrolled: bool) -> Any:
    n = shape_of(a)[0]
    if dtypes.issubdtype(typeof(a).dtype, np.complexfloating):
        def after(found: Any, x: Any) -> Any:
            return precedes(found, x) if side == "left" else lax.bitwise_not(precedes(x, found))
        return _halve(a, v, after, dtype, unrolled)
    # NaN among the elements of the vector, which are last, compare as false and so as larger, as they should.
    out = _halve(a, v, lax.lt if side == "left" else lax.le, dtype, unrolled)
    if not dtypes.issubdtype(typeof(a).dtype, np.floating):
        return out
    end = np.asarray(n, dtype) if side == "right" else _halve(a, np.zeros((), typeof(a).dtype), lambda x, _: lax.eq(x, x),
                                                              dtype, unrolled)
    return lax.select(lax.ne(v, v), broadcast_to(end, shape_of(v)), out)


def _halve(a: Any, v: Any, after: Callable[[Any, Any], Any], dtype: Any, unrolled: bool) -> Any:
    """Binary search for the first place whose element is not ``after(element, v)``, for each element of ``v``."""
    n, shape = shape_of(a)[0], shape_of(v)
    two, one = np.asarray(2, dtype), np.asarray(1, dtype)

    def step(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = lax.div(lax.add(low, high), two)
        right = lax.bitwise_and(after(at_places(a, middle), v), lax.lt(low, high))
        return lax.select(right, lax.add(middle, one), low), lax.select(right, high, middle)

    bounds = (lax.full(shape, 0, dtype), lax.full(shape, n, dtype))
    steps = int(n).bit_length()
    if unrolled:
        for i in range(steps):
            bounds = step(i, bounds)
        return bounds[0]
    return lax.fori_loop(0, steps, step, bounds)[0]


def precedes(x: Any, y: Any) -> Any:
    """``x < y`` in the order of sorting: NaN is last, complex numbers are ordered by real and then imaginary part."""
    dtype = typeof(x).dtype
    if dtypes.issubdtype(dtype, np.complexfloating):
        real = precedes(lax.real(x), lax.real(y))
        same = lax.bitwise_not(lax.bitwise_or(real, precedes(lax.real(y), lax.real(x))))
        return lax.bitwise_or(real, lax.bitwise_and(same, precedes(lax.imag(x), lax.imag(y))))
    less = lax.lt(x, y)
    if not dtypes.issubdtype(dtype, np.floating):
        return less
    return lax.bitwise_or(less, lax.bitwise_and(lax.ne(y, y), lax.eq(x, x)))


def _search_by_comparing(a: Any, v: Any, side: str, dtype: Any) -> Any:
    shape, rank = (*shape_of(v), shape_of(a)[0]), len(shape_of(v))
    a = lax.broadcast_in_dim(a, shape, (rank,))
    v = lax.broadcast_in_dim(v, shape, tuple(range(rank)))
    before = precedes(a, v) if side == "left" else lax.bitwise_not(precedes(v, a))
    return lax.reduce_sum(lax.convert_element_type(before, dtype), (rank,))


def _search_by_sorting(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """In the sorted whole, the number of elements of ``a`` up to each element of ``v``."""
    flat = ravel(asarray(v))
    n, k = shape_of(a)[0], shape_of(flat)[0]
    parts = [flat, a] if side == "left" else [a, flat]
    places = [lax.iota(dtype, k), lax.full((n,), k, dtype)]
    whole = lax.concatenate(parts, 0)
    origin = lax.concatenate(places if side == "left" else places[::-1], 0)
    origin = lax.sort((whole, origin), dimension=0, is_stable=True, num_keys=1)[1]
    count = lax.cumsum(lax.convert_element_type(lax.eq(origin, np.asarray(k, dtype)), dtype))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    out = lax.scatter(lax.full((k,), 0, dtype), lax.reshape(origin, (n + k, 1)), count, numbers, mode="drop")
    return lax.reshape(out, shape_of(v))


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """For each element of ``x`` the number of the bin it is in, between the edges ``bins``.

    Args:
      x: an array.
      bins: a vector in increasing or decreasing order.
      right: whether bins include their right edge instead of the left one.
      method: as for :func:`searchsorted`.

    Raises:
      ValueError: when ``bins`` is no vector.
    """
    check_arraylike("digitize", x, bins)
    if len(shape_of(bins)) != 1:
        raise ValueError(f"digitize: bins must be a vector, got shape {shape_of(bins)}")
    return _digitize(x, bins, right=bool(right), method="scan" if method is None else method)


@composite(static_argnames=("right", "method"))
def _digitize(x: Any, bins: Any, right: bool, method: str) -> Any:
    x, bins = promote_dtypes(x, bins)
    n = shape_of(bins)[0]
    if n == 0:
        return lax.full(shape_of(x), 0, np.int32)
    side = "left" if right else "right"
    up = _search(bins, x, side=side, method=method)
    down = lax.sub(np.asarray(n, typeof(up).dtype), _search(lax.rev(bins, (0,)), x, side=side, method=method))
    rising = lax.le(lax.index_in_dim(bins, 0, keepdims=False), lax.index_in_dim(bins, n - 1, keepdims=False))
    return lax.select(rising, up, down)


# --- bincount -------------------------------------------------------------------------------------------------------

def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None,
             out_sharding: Any = None) -> Any:
    """How often each of the integers ``0, 1, ...`` occurs in the vector ``x``.

    Args:
      x: integers; negative ones count as 0.
      weights: what each occurrence counts, 1 by default.
      minlength: the least size of the result.
      length: the size of the result; larger integers are not counted. Needed when ``x`` is traced.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      TypeError: when ``x`` does not hold integers.
      ValueError: when it is no vector, or ``weights`` has another shape.

    >>> import jax.numpy as jnp
    >>> jnp.bincount(jnp.array([1, 1, 3]))
    Array([0, 2, 0, 1], dtype=int32)
    """
    check_arraylike("bincount", x)
    dtype = typeof(x).dtype
    if not dtypes.issubdtype(dtype, np.integer) and dtype != np.bool_:
        raise TypeError(f"bincount: x must hold integers, got {dtype}")
    if len(shape_of(x)) != 1:
        raise ValueError(f"bincount: x must be a vector, got shape {shape_of(x)}")
    if weights is not None:
        check_arraylike("bincount", weights)
        if shape_of(weights) != shape_of(x):
            raise ValueError(f"bincount: weights must have the shape of x, got {shape_of(weights)} and {shape_of(x)}")
    minlength = canonical_dim(minlength, "bincount: minlength")
    if length is None:
        if isinstance(x, Tracer) and x._concrete() is None:
            raise ConcretizationTypeError(x, "the size of the result of jnp.bincount depends on the values; pass length=")
        value = np.asarray(x if not isinstance(x, Tracer) else x._concrete())
        length = max(int(value.max()) + 1 if value.size else 0, minlength, 0)
    else:
        length = canonical_dim(length, "bincount: length")
    return _bincount(x, weights, length=length)


@composite(static_argnames=("length",))
def _bincount(x: Any, weights: Any, length: int) -> Any:
    n = shape_of(x)[0]
    if weights is None:
        weights = lax.full((n,), 1, dtypes.scalar_dtype(int))
    x = lax.convert_element_type(x, np.int32) if typeof(x).dtype.itemsize < 4 else x
    x = lax.max(x, lax.full_like(x, 0))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter_add(lax.full((length,), 0, typeof(weights).dtype), lax.reshape(x, (n, 1)), weights, numbers,
                           mode="drop")


# --- interp ---------------------------------------------------------------------------------------------------------

def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The piecewise linear function through the points ``(xp, fp)``, at ``x``.

    Args:
      x: where to evaluate.
      xp: a vector, in increasing order (without ``period``).
      fp: the values at ``xp``.
      left, right: the values before the first and after the last point; by default those at these points.
        ``"extrapolate"`` continues the first or last line.
      period: ``x`` and ``xp`` count modulo this number; ``left`` and ``right`` are then ignored.

    Raises:
      ValueError: when ``xp`` and ``fp`` are not vectors of one length, or ``period`` is 0.
    """
    check_arraylike("interp", x, xp, fp)
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp) or dims.is_zero(shape_of(xp)[0]):
        raise ValueError(f"interp: xp and fp must be vectors of one length, not empty, got shapes {shape_of(xp)} and "
                         f"{shape_of(fp)}")
    modes = []
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str):
            if value != "extrapolate":
                raise ValueError(f"interp: {name} must be a number or 'extrapolate', got {value!r}")
            modes.append("extrapolate")
        else:
            modes.append("edge" if value is None else "value")
    ends = [v for v, m in zip((left, right), modes, strict=True) if m == "value"]
    check_arraylike("interp", *ends)
    if period is not None:
        if len(shape_of(period)):
            raise ValueError(f"interp: period must be a scalar, got shape {shape_of(period)}")
        if not isinstance(period, Tracer) and not np.asarray(period).any():
            raise ValueError("interp: the period must not be 0")
        return _interp_periodic(x, xp, fp, period)
    return _interp(x, xp, fp, ends, modes=tuple(modes))


@composite(static_argnames=("modes",))
def _interp(x: Any, xp: Any, fp: Any, ends: list[Any], modes: tuple[str, str]) -> Any:
    x, xp = promote_dtypes_inexact(x, xp)
    fp, *ends = promote_dtypes_inexact(fp, *ends)
    shape, n, dtype = shape_of(x), shape_of(xp)[0], typeof(fp).dtype
    first, last = (lax.index_in_dim(fp, i, keepdims=False) for i in (0, n - 1))
    if n == 1:
        out = broadcast_to(first, shape)
    else:
        right = lax.clamp(np.int32(1), _search(xp, x, side="right", method="scan"), np.int32(n - 1))
        before = lax.sub(right, np.int32(1))
        x0, f0 = at_places(xp, before), at_places(fp, before)
        width = lax.sub(at_places(xp, right), x0)
        flat = lax.eq(width, lax.full_like(width, 0))  # two points at one place: a jump
        slope = lax.div(lax.sub(at_places(fp, right), f0),
                        as_dtype(lax.select(flat, lax.full_like(width, 1), width), dtype, False))
        step = as_dtype(lax.select(flat, lax.full_like(width, 0), lax.sub(x, x0)), dtype, False)
        out = lax.add(f0, lax.mul(step, slope))
    given = iter(ends)
    sides = (lax.lt(x, broadcast_to(lax.index_in_dim(xp, 0, keepdims=False), shape)),
             lax.gt(x, broadcast_to(lax.index_in_dim(xp, n - 1, keepdims=False), shape)))
    for mode, outside, edge in zip(modes, sides, (first, last), strict=True):
        if mode != "extrapolate":
            value = next(given) if mode == "value" else edge
            out = lax.select(outside, broadcast_to(as_dtype(value, dtype, False), shape), out)
    return out


@composite
def _interp_periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    x, xp, period = promote_dtypes_inexact(x, xp, period)
    period = lax.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    n = shape_of(xp)[0]
    order = lax.sort((xp, lax.iota(np.int32, n)), dimension=0, is_stable=True, num_keys=1)
    xp, fp = order[0], at_places(fp, order[1])

    def around(v: Any, shift: Any) -> Any:
        """The points of one period, and the neighbours on both sides."""
        return lax.concatenate([lax.sub(lax.slice_in_dim(v, n - 1, n), shift), v, lax.add(lax.slice_in_dim(v, 0, 1), shift)],
                               0)

    xp = around(xp, broadcast_to(period, (1,)))
    fp = around(fp, lax.full((1,), 0, typeof(fp).dtype))
    return _interp(x, xp, fp, [], modes=("edge", "edge"))
