"""Choosing elements by conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.jit import jit
from jax._api.vmap import vmap
from jax._base._jaxlib import xla
from jax._base.config import numpy_rank_promotion
from jax._ground.structural import broadcast_in_dim_p
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax._language.trace import Tracer, bottom, current_trace
from jax.errors import ConcretizationTypeError
from jax.lax._select import select_n_p
from jax.numpy._creation import array, asarray, host_constant
from jax.numpy._index_run import Options, get
from jax.numpy._promotion import (
    as_dtype,
    broadcast_args,
    broadcast_shapes,
    broadcast_to,
    check_arraylike,
    check_rank_promotion,
    promote_dtypes,
    refuse_out,
    shape_of,
    unwrap,
)
from jax.numpy._shape import moveaxis, ravel, reshape
from jax.numpy._ufuncs_arithmetic import remainder

_Array = xla.Array
_get_trace = current_trace.get
_BOOL = np.dtype(bool)


# --- where ----------------------------------------------------------------------------------------------------------

def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """``x`` where ``condition`` is true, ``y`` elsewhere; with ``condition`` alone :func:`nonzero`.

    Args:
      condition: booleans, or numbers, which are true if not zero.
      x, y: arrays or scalars, which broadcast together with ``condition``.
      size, fill_value: with ``condition`` alone, as for :func:`nonzero`.

    Both ``x`` and ``y`` are computed, and their derivatives too: where one of them is NaN so is the derivative. Keep the
    argument of the other one in its domain as well.

    Raises:
      ValueError: when only one of ``x`` and ``y`` is given, or shapes do not broadcast.

    >>> import jax.numpy as jnp
    >>> jnp.where(jnp.array([True, False, True]), 1, jnp.zeros(3))
    Array([1., 0., 1.], dtype=float32)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where: x and y are given both or not at all")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value go with the condition alone, without x and y")
    trace = _get_trace()
    if trace is bottom:
        if numpy_rank_promotion.value == "warn":
            return _where(condition, x, y)
        return _where_compiled(condition, x, y)
    if trace.staged:
        return _where(condition, x, y)
    return _where_compiled(condition, x, y)


def _where(condition: Any, x: Any, y: Any) -> Any:
    check_arraylike("where", condition, x, y)
    condition = unwrap(condition)
    x, y = promote_dtypes(x, y)
    if typeof(condition).dtype != _BOOL:
        condition = lax.ne(condition, lax.full_like(condition, 0)) if isinstance(condition, _Array) else \
            np.asarray(condition) != 0
    shape = typeof(x).shape
    if typeof(y).shape == shape and isinstance(x, _Array) and isinstance(y, _Array):
        have = typeof(condition).shape
        if have == shape or not have:
            return select_n_p.bind(condition, y, x)
    shapes = [typeof(condition).shape, shape, typeof(y).shape]
    check_rank_promotion("where", shapes)
    shape = broadcast_shapes("where", shapes)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    if shapes[0] and shapes[0] != shape:
        condition = broadcast_to(condition, shape)
    return select_n_p.bind(condition, y, x)


_where_compiled = jit(_where, inline=True)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Element by element the choice of the first condition that is true, else ``default``.

    Args:
      condlist: a sequence of boolean arrays; numbers are true if not zero.
      choicelist: as many arrays.
      default: an array or scalar. All of them broadcast together.

    Raises:
      ValueError: when the lists are empty or of different lengths.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: as many conditions as choices are needed, got {len(condlist)} and {len(choicelist)}")
    if not len(condlist):
        raise ValueError("select: at least one condition is needed")
    check_arraylike("select", *condlist, *choicelist, default)
    if numpy_rank_promotion.value == "warn":
        return _select(list(condlist), list(choicelist), default)
    return _select_call(list(condlist), list(choicelist), default)


def _select(conditions: list[Any], choices: list[Any], default: Any) -> Any:
    conditions = [as_dtype(c, _BOOL, False) for c in conditions]
    values = promote_dtypes(*choices, default)
    spread = broadcast_args("select", *conditions, *values)
    conditions, out = spread[:len(conditions)], spread[-1]
    for c, choice in zip(reversed(conditions), reversed(spread[len(conditions):-1]), strict=True):
        out = lax.select(c, choice, out)
    return out


_select_call = composite(_select)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Element by element the one of ``choices`` that the integer in ``a`` numbers.

    Args:
      a: integers.
      choices: a sequence of arrays that broadcast together with ``a``, or an array of them.
      out: not supported.
      mode: for numbers out of range: ``"raise"`` an error (outside of ``jit`` only), ``"clip"`` takes the nearest,
        ``"wrap"`` counts modulo.

    Raises:
      TypeError: when ``a`` does not hold integers.
      ValueError: for an unknown mode, or numbers out of range.
    """
    refuse_out("choose", out)
    choices = list(lax.unstack(asarray(choices))) if isinstance(choices, (_Array, np.ndarray)) else list(choices)
    check_arraylike("choose", a, *choices)
    if not dtypes.issubdtype(typeof(a).dtype, np.integer):
        raise TypeError(f"choose: a must hold integers, got {typeof(a).dtype}")
    if mode == "raise":
        _check_range("choose", a, len(choices))
    elif mode not in ("clip", "wrap"):
        raise ValueError(f"choose: mode must be 'raise', 'clip' or 'wrap', got {mode!r}")
    return _choose(a, choices, mode=mode)


def _check_range(name: str, a: Any, n: int) -> None:
    if isinstance(a, Tracer) and a._concrete() is None:
        raise ConcretizationTypeError(a, f"jnp.{name} with mode='raise' looks at the values; use mode='clip' or "
                                         "mode='wrap' under jit")
    value = np.asarray(a if not isinstance(a, Tracer) else a._concrete())
    if value.size and (value.min() < 0 or value.max() >= n):
        raise ValueError(f"{name}: numbers must lie in [0, {n}), got one out of range; see mode=")


@composite(static_argnames=("mode",))
def _choose(a: Any, choices: list[Any], mode: str) -> Any:
    a, *values = broadcast_args("choose", a, *promote_dtypes(*choices))
    n = len(values)
    dtype = typeof(a).dtype
    if mode == "wrap":
        a = remainder(a, np.asarray(n, dtype))
    else:
        a = lax.clamp(np.asarray(0, dtype), a, np.asarray(n - 1, dtype))
    return lax.select_n(lax.convert_element_type(a, np.int32), *values) if n > 2 else \
        values[0] if n == 1 else lax.select_n(lax.ne(a, lax.full_like(a, 0)), *values)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """A function given in pieces: the value of the function whose condition is true (the last such one).

    Args:
      x: the argument of the functions.
      condlist: boolean arrays of the shape of ``x``.
      funclist: functions or constants, one for each condition, and possibly one more for where none is true (0 without).
      *args, **kw: further arguments of the functions.

    All functions are evaluated everywhere, on arrays of the shape of ``x``.

    Raises:
      ValueError: when the numbers of conditions and functions do not fit.
    """
    check_arraylike("piecewise", x)
    if isinstance(condlist, (_Array, np.ndarray)):
        conditions = list(lax.unstack(asarray(condlist))) if np.ndim(condlist) > np.ndim(x) or (
            np.ndim(condlist) == 1 and np.ndim(x) == 0) else [condlist]
    elif np.isscalar(condlist):
        conditions = [condlist]
    else:
        conditions = list(condlist)
        if conditions and all([isinstance(c, (bool, np.bool_)) for c in conditions]) and np.ndim(x) == 1:
            conditions = [np.asarray(conditions)]
    if not isinstance(funclist, (list, tuple)):
        raise TypeError(f"piecewise: funclist must be a list of functions and constants, got {type(funclist).__name__}")
    n = len(conditions)
    if len(funclist) not in (n, n + 1):
        raise ValueError(f"piecewise: with {n} conditions {n} or {n + 1} functions are needed, got {len(funclist)}")
    functions = list(funclist[:n])
    rest = funclist[n] if len(funclist) == n + 1 else 0
    dtype = typeof(x).dtype

    def value(f: Any) -> Any:
        return broadcast_to(as_dtype(asarray(f(x, *args, **kw) if callable(f) else f), dtype, False), shape_of(x))

    out = value(rest)
    for c, f in zip(conditions, functions, strict=True):
        out = where(broadcast_to(as_dtype(asarray(c), _BOOL, False), shape_of(x)), value(f), out)
    return out


# --- nonzero --------------------------------------------------------------------------------------------------------

def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of the elements that are not zero: one array per axis, in row-major order.

    Args:
      a: an array.
      size: how many indices to return. Without it the number depends on the values, so that ``a`` must be known; with it
        the function works under ``jit``.
      fill_value: what to return where there are fewer: one number, or one for each axis; 0 by default.

    Raises:
      jax.errors.ConcretizationTypeError: for a traced ``a`` without ``size``.
      ValueError: for a scalar, which has no axes.

    >>> import jax.numpy as jnp
    >>> jnp.nonzero(jnp.array([0, 3, 0, 4]))
    (Array([1, 3], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    if not shape_of(unwrap(a)):
        raise ValueError("nonzero: a scalar has no axes and so no indices; pass jnp.atleast_1d(a)")
    return _nonzero("nonzero", a, size, fill_value)


def _nonzero(name: str, a: Any, size: Any, fill_value: Any) -> tuple[Any, ...]:
    check_arraylike(name, a)
    a = unwrap(a)
    rank = len(shape_of(a))
    if fill_value is not None and not isinstance(fill_value, tuple):
        fill_value = (fill_value,) * rank
    if fill_value is not None and len(fill_value) != rank:
        raise ValueError(f"{name}: fill_value must have one entry for each of the {rank} axes, got {len(fill_value)}")
    if size is None:
        value = np.atleast_1d(np.asarray(known(a, f"{name}: without size= the result has as many entries as there are "
                                                  "elements that are not zero, so the array must be known. Pass size=")))
        dtype = dtypes.scalar_dtype(int)
        return tuple([host_constant(i.astype(dtype), typeof(i.astype(dtype))) for i in value.nonzero()])
    size = canonical_dim(size, f"{name}: size")
    if size < 0:
        raise ValueError(f"{name}: size must not be negative, got {size}")
    if rank == 0:
        a, rank = reshape(a, (1,)), 1
        fill_value = fill_value or None
    return _nonzero_of_size(a, fill_value or (0,) * rank, size=size)


def known(x: Any, context: str) -> Any:
    """``x``, which must have a value, as a concrete array."""
    if isinstance(x, Tracer):
        value = x._concrete()
        if value is None:
            raise ConcretizationTypeError(x, context)
        return value
    return x


@composite(static_argnames=("size",))
def _nonzero_of_size(a: Any, fill_value: tuple[Any, ...], size: int) -> Any:
    shape = shape_of(a)
    dtype = dtypes.scalar_dtype(int)
    n = dims.size_of(shape)
    fills = [lax.convert_element_type(f, dtype) for f in fill_value]
    if n == 0 or size == 0:
        return tuple([broadcast_to(f, (size,)) for f in fills])
    places, count = places_of_true(ravel(lax.ne(a, lax.full_like(a, 0)) if typeof(a).dtype != _BOOL else a), size)
    present = lax.lt(lax.iota(np.int32, size), count)
    out, stride = [], n
    for d, f in zip(shape, fills, strict=True):
        stride //= d
        along = lax.rem(lax.div(places, np.int32(stride)), np.int32(d))
        out.append(lax.select(present, lax.convert_element_type(along, dtype), broadcast_to(f, (size,))))
    return tuple(out)


def places_of_true(mask: Any, size: int) -> tuple[Any, Any]:
    """The places of the first ``size`` true elements of a vector (0 where there are fewer), and how many are true."""
    n = shape_of(mask)[0]
    order = lax.cumsum(lax.convert_element_type(mask, np.int32))
    count = lax.index_in_dim(order, n - 1, keepdims=False)
    # The k-th true element goes to place k - 1, others to none.
    target = lax.select(mask, lax.sub(order, np.int32(1)), lax.full((n,), size, np.int32))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    places = lax.scatter(lax.full((size,), 0, np.int32), lax.reshape(target, (n, 1)), lax.iota(np.int32, n), numbers,
                         mode="drop")
    return places, count


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices into ``ravel(a)`` of the elements that are not zero. Arguments as for :func:`nonzero`."""
    check_arraylike("flatnonzero", a)
    return _nonzero("flatnonzero", ravel(a), size, fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not zero, one row per element. Arguments as for :func:`nonzero`."""
    check_arraylike("argwhere", a)
    rank = len(shape_of(a))
    found = _nonzero("argwhere", a, size, fill_value if rank or fill_value is None else None)
    if rank == 0:
        return lax.full((found[0].shape[0], 0), 0, dtypes.scalar_dtype(int))
    return lax.stack(found, 1)


# --- compress, extract, place ---------------------------------------------------------------------------------------

def compress(condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0,
             out: None = None) -> Any:
    """The slices of ``a`` along ``axis`` where the vector ``condition`` is true.

    Args:
      condition: a boolean vector, not longer than the axis (the rest counts as false) unless it is false there.
      a: an array.
      axis: with None ``a`` is raveled first.
      size: how many slices to return; needed when ``condition`` is traced.
      fill_value: what to return where there are fewer.
      out: not supported.

    Raises:
      ValueError: when ``condition`` is no vector.
    """
    refuse_out("compress", out)
    condition = condition if not isinstance(condition, (list, tuple)) else array(condition)
    check_arraylike("compress", condition, a, fill_value)
    if len(shape_of(condition)) != 1:
        raise ValueError(f"compress: condition must be a vector, got shape {shape_of(condition)}")
    a = asarray(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "compress")
    n, k = a.shape[axis], shape_of(condition)[0]
    if k > n:
        if isinstance(condition, Tracer) and condition._concrete() is None:
            condition = lax.slice_in_dim(condition, 0, n)
        elif np.asarray(known(condition, ""))[n:].any():
            raise ValueError(f"compress: condition, of length {k}, is true beyond the end of an axis of size {n}")
    if size is None:
        value = np.asarray(known(condition, "compress: without size= the condition must be known"))[:n]
        places = value.nonzero()[0].astype(np.int32)
        return get(moveaxis(a, axis, 0), ("array", *("all",) * (a.ndim - 1)), (places,)) if axis == 0 else \
            get(a, (*("all",) * axis, "array", *("all",) * (a.ndim - 1 - axis)), (places,))
    return _compress(condition, a, fill_value, axis=axis, size=canonical_dim(size, "compress: size"))


@composite(static_argnames=("axis", "size"))
def _compress(condition: Any, a: Any, fill_value: Any, axis: int, size: int) -> Any:
    shape = shape_of(a)
    mask = lax.slice_in_dim(condition, 0, min(shape_of(condition)[0], shape[axis]))
    out_shape = (*shape[:axis], size, *shape[axis + 1:])
    fill = broadcast_to(as_dtype(fill_value, typeof(a).dtype, False), out_shape)
    if size == 0 or shape_of(mask)[0] == 0:
        return fill
    mask = mask if typeof(mask).dtype == _BOOL else lax.ne(mask, lax.full_like(mask, 0))
    places, count = places_of_true(mask, size)
    plan = (*("all",) * axis, "array", *("all",) * (len(shape) - 1 - axis))
    taken = get(a, plan, (places,), Options(wrap=False))
    present = broadcast_in_dim_p.bind(lax.lt(lax.iota(np.int32, size), count), shape=out_shape,
                                      broadcast_dimensions=(axis,), sharding=None)
    return lax.select(present, taken, fill)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of ``arr`` where ``condition`` is true, both raveled. Arguments as for :func:`compress`."""
    condition = array(condition) if isinstance(condition, (list, tuple)) else condition
    check_arraylike("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), 0, size=size, fill_value=fill_value)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """``arr`` with the elements where ``mask`` is true replaced by those of ``vals`` in turn, repeated as necessary.

    Args:
      arr: an array.
      mask: booleans, as many as ``arr`` has elements.
      vals: an array, not empty, or a scalar.
      inplace: must be False: a new array is returned.

    Raises:
      ValueError: for ``inplace=True``, and when sizes do not fit.
    """
    if inplace:
        raise ValueError("jnp.place: arrays cannot be changed in place; pass inplace=False and use the array "
                                  "returned")
    check_arraylike("place", arr, mask, vals)
    if dims.size_of(shape_of(arr)) != dims.size_of(shape_of(mask)):
        raise ValueError(f"place: arr and mask must have as many elements, got shapes {shape_of(arr)} and {shape_of(mask)}")
    if dims.size_of(shape_of(vals)) == 0:
        if dims.size_of(shape_of(arr)) and np.asarray(known(mask, "place: with empty vals the mask must be known")).any():
            raise ValueError("place: vals must not be empty")
        return asarray(arr)
    return _place(arr, mask, vals)


@composite
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    aval = typeof(arr)
    vals = ravel(as_dtype(vals, aval.dtype, False))
    mask = ravel(lax.convert_element_type(mask, _BOOL))
    n = shape_of(mask)[0]
    if n == 0:
        return arr
    turn = lax.rem(lax.sub(lax.cumsum(lax.convert_element_type(mask, np.int32)), np.int32(1)),
                   np.int32(shape_of(vals)[0]))
    turn = lax.max(turn, lax.full((n,), 0, np.int32))
    return reshape(lax.select(mask, get(vals, ("array",), (turn,), Options(wrap=False)), ravel(arr)), aval.shape)


# --- functions along axes -------------------------------------------------------------------------------------------

def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``func1d`` applied to each vector along ``axis``, mapped by ``jax.vmap``.

    Args:
      func1d: a function of a vector, and of ``args`` and ``kwargs``. The axes of its result take the place of ``axis``.
      axis: an axis of ``arr``.
      arr: an array.
    """
    check_arraylike("apply_along_axis", arr)
    rank = len(shape_of(arr))
    axis = canonical_axis(axis, rank, "apply_along_axis")

    def function(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    # Inside out: the axes after it, each time the last one, then those before it, each time the first one.
    for _ in range(rank - axis - 1):
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(asarray(arr))


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for each of ``axes`` in turn, each time applied to the last result.

    Where a result has lost the axis, it gets it back with size 1.

    Raises:
      ValueError: when a result has another rank.
    """
    check_arraylike("apply_over_axes", a)
    rank = len(shape_of(a))
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        found = func(a, axis)
        if len(shape_of(found)) == rank - 1:
            found = lax.expand_dims(found, (canonical_axis(axis, rank, "apply_over_axes"),))
        if len(shape_of(found)) != rank:
            raise ValueError(f"apply_over_axes: the function must keep the rank {rank} or lower it by 1, and it returned an "
                             f"array of shape {shape_of(found)}")
        a = found
    return a
