"""The methods of ufuncs: what is common to all of them, and faster ways for some."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.vmap import vmap
from jax._language import dims
from jax._language.avals import typeof
from jax.numpy import _cumulative as cumulative
from jax.numpy import _reductions as red
from jax.numpy._promotion import as_dtype, check_arraylike, promote_shapes, static_axis, unwrap
from jax.numpy._ufunc import common_methods, own_ufuncs, ufunc
from jax.numpy._ufuncs_logical import logical_and, logical_or

# --- reduce ---------------------------------------------------------------------------------------------------------

def _sum(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    return red.sum(a, axis, dtype, None, keepdims, initial, where)


def _prod(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    return red.prod(a, axis, dtype, None, keepdims, initial, where)


def _extreme(function: Any, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if dtype is not None:
        a = lax.convert_element_type(unwrap(a), dtype)
    return function(a, axis, None, keepdims, initial, where)


def _logical(function: Any, combine: Any, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any,
             where: Any) -> Any:
    out = function(a, axis, None, keepdims, where=where)
    return out if initial is None else combine(out, initial)


# Reductions that are functions of their own.
_fast_reductions: dict[str, Callable[..., Any]] = {
    "add": _sum, "multiply": _prod, "maximum": functools.partial(_extreme, red.max),
    "minimum": functools.partial(_extreme, red.min),
    "logical_and": functools.partial(_logical, red.all, logical_and),
    "logical_or": functools.partial(_logical, red.any, logical_or),
}


def reduce(f: ufunc, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """The elements combined one after the other along the (flattened) reduced axes."""
    fast = _fast_reductions.get(f.__name__) if f in own_ufuncs else None
    axis = static_axis(axis)
    if fast is not None:
        return fast(a, axis, dtype, bool(keepdims), initial, where)
    a = unwrap(a)
    if dtype is not None:
        a = lax.convert_element_type(a, dtypes.requested_dtype(dtype, f"{f.__name__}.reduce"))
    shape = np.shape(a)
    axes = red.reduced_axes(f"{f.__name__}.reduce", axis, shape)
    if len(axes) > 1 and f.identity is None:
        raise ValueError(f"jnp.{f.__name__}.reduce: a function without identity is reduced over one axis, got {axis}")
    if where is not None:
        fill = f.identity if f.identity is not None else initial
        a = red.masked(f"{f.__name__}.reduce", a, where, as_dtype(fill, typeof(a).dtype, False))
        shape = typeof(a).shape
    kept = [d for d in range(len(shape)) if d not in axes]
    order = (*axes, *kept)
    rows = lax.reshape(lax.transpose(a, order) if hasattr(a, "aval") else np.transpose(a, order),
                       (dims.size_of([shape[d] for d in axes]), *[shape[d] for d in kept]))
    out = _fold(f, rows, initial)
    return red.restore_axes(out, shape, axes) if keepdims else out


def _fold(f: ufunc, rows: Any, initial: Any) -> Any:
    n = typeof(rows).shape[0]
    if initial is None and n == 0 and f.identity is None:
        raise ValueError(f"jnp.{f.__name__}.reduce: there is nothing to reduce, and the function has no identity")
    rest = typeof(rows).shape[1:]
    start = initial if initial is not None else f.identity if n == 0 or f.identity is not None else None
    if n == 0:
        return lax.broadcast_in_dim(as_dtype(start, typeof(rows).dtype, False), rest, ())
    first = lax.index_in_dim(rows, 0, 0, keepdims=False)
    carry = f(start, first) if start is not None else first
    out = typeof(f(carry, first))
    carry = lax.convert_element_type(carry, out.dtype)

    def step(i: Any, carry: Any) -> Any:
        return lax.convert_element_type(f(carry, lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)), out.dtype)
    return lax.fori_loop(1, n, step, carry)


# --- accumulate -----------------------------------------------------------------------------------------------------

def accumulate(f: ufunc, a: Any, axis: int, dtype: Any) -> Any:
    """Running reductions, one step after the other."""
    if f.__name__ in ("add", "multiply") and f in own_ufuncs:
        return (cumulative.cumsum if f.__name__ == "add" else cumulative.cumprod)(a, axis, dtype)
    a = unwrap(a)
    if dtype is not None:
        a = lax.convert_element_type(a, dtypes.requested_dtype(dtype, f"{f.__name__}.accumulate"))
    if axis is None or type(axis) is tuple:
        raise ValueError(f"jnp.{f.__name__}.accumulate takes one axis, got {axis}")
    shape = np.shape(a)
    (axis,) = red.reduced_axes(f"{f.__name__}.accumulate", axis, shape)
    rows = lax.transpose(red.operand("accumulate", a), (axis, *[d for d in range(len(shape)) if d != axis]))
    if shape[axis] == 0:
        return red.operand("accumulate", a)
    first = lax.index_in_dim(rows, 0, 0, keepdims=False)
    out = typeof(f(first, first))
    first = lax.convert_element_type(first, out.dtype)

    def step(carry: Any, x: Any) -> Any:
        carry = lax.convert_element_type(f(carry, x), out.dtype)
        return carry, carry
    _, rest = lax.scan(step, first, lax.slice_in_dim(rows, 1, None, axis=0))
    whole = lax.concatenate([lax.expand_dims(first, (0,)), rest], 0)
    back = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
    return lax.transpose(whole, back)


# --- at -------------------------------------------------------------------------------------------------------------

_SCATTERS = {"add": "add", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def at(f: ufunc, a: Any, indices: Any, b: Any) -> Any:
    """Updates at indices; those of functions without a scatter of their own run one after the other."""
    check_arraylike(f"{f.__name__}.at", a)
    a = red.operand("at", a)
    if f.nin == 1:
        if b is not None:
            raise ValueError(f"jnp.{f.__name__}.at: a function of one argument takes no second operand")
        return a.at[indices].set(f(a[indices]))
    if b is None:
        raise ValueError(f"jnp.{f.__name__}.at: the second operand is missing")
    own = f in own_ufuncs
    if own and f.__name__ in _SCATTERS:
        return getattr(a.at[indices], _SCATTERS[f.__name__])(b)
    if own and f.__name__ == "subtract":
        return a.at[indices].add(-as_dtype(unwrap(b), typeof(a).dtype, False))
    return _one_by_one(f, a, indices, b)


def _one_by_one(f: ufunc, a: Any, indices: Any, b: Any) -> Any:
    shape = typeof(a).shape
    size = dims.size_of(shape)
    places = lax.reshape(lax.iota(np.int32, size), shape)[indices]
    updates = lax.broadcast_in_dim(red.operand("at", b), typeof(places).shape, tuple(
        range(len(typeof(places).shape) - np.ndim(b), len(typeof(places).shape))))
    places, updates = (lax.reshape(x, (dims.size_of(typeof(x).shape),)) for x in (places, updates))

    def step(i: Any, flat: Any) -> Any:
        place = lax.dynamic_index_in_dim(places, i, 0, keepdims=False)
        new = f(lax.dynamic_index_in_dim(flat, place, 0, keepdims=False),
                lax.dynamic_index_in_dim(updates, i, 0, keepdims=False))
        return lax.dynamic_update_index_in_dim(flat, lax.convert_element_type(new, typeof(flat).dtype), place, 0)
    flat = lax.fori_loop(0, typeof(places).shape[0], step, lax.reshape(a, (size,)))
    return lax.reshape(flat, shape)


# --- reduceat -------------------------------------------------------------------------------------------------------

def reduceat(f: ufunc, a: Any, indices: Any, axis: int, dtype: Any) -> Any:
    """Every slice is reduced by running over the whole axis once, beginning anew where a slice begins."""
    name = f"{f.__name__}.reduceat"
    check_arraylike(name, a, indices)
    if axis is None or type(axis) is tuple:
        raise ValueError(f"jnp.{name} takes one axis, got {axis}")
    a = red.operand(name, a)
    if dtype is not None:
        a = lax.convert_element_type(a, dtypes.requested_dtype(dtype, name))
    indices = red.operand(name, indices)
    if len(typeof(indices).shape) != 1 or not dtypes.issubdtype(typeof(indices).dtype, np.integer):
        raise ValueError(f"jnp.{name}: indices must be integers in one dimension, got {typeof(indices).str_short()}")
    shape = typeof(a).shape
    (axis,) = red.reduced_axes(name, axis, shape)
    n = shape[axis]
    rows = lax.transpose(a, (axis, *[d for d in range(len(shape)) if d != axis]))
    ends = lax.concatenate([lax.slice_in_dim(indices, 1, None), lax.full((1,), n, typeof(indices).dtype)], 0)

    def one(start: Any, end: Any) -> Any:
        first = lax.dynamic_index_in_dim(rows, start, 0, keepdims=False)
        out = typeof(f(first, first)).dtype

        def step(i: Any, carry: Any) -> Any:
            x = lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)
            return lax.convert_element_type(f(carry, x), out)
        return lax.fori_loop(lax.add(start, np.asarray(1, typeof(start).dtype)), end, step,
                             lax.convert_element_type(first, out))
    out = vmap(one)(indices, ends)
    back = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
    return lax.transpose(out, back)


# --- outer ----------------------------------------------------------------------------------------------------------

def outer(f: ufunc, A: Any, B: Any) -> Any:
    """Every pair: the operands are laid out along different axes."""
    A, B = unwrap(A), unwrap(B)
    n, m = np.ndim(A), np.ndim(B)
    if n and m:
        A = lax.broadcast_in_dim(A, (*np.shape(A), *(1,) * m), tuple(range(n)))
        B = lax.broadcast_in_dim(B, (*(1,) * n, *np.shape(B)), tuple(range(n, n + m)))
    return f(A, B)


# --- functions of scalars -------------------------------------------------------------------------------------------

def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Makes a :class:`ufunc` of a function of scalars.

    Args:
      func: takes ``nin`` scalars and returns ``nout`` of them; it is traced, and mapped over arrays.
      nin: number of arguments.
      nout: number of results; with more than one they are returned as a tuple.
      identity: see :class:`ufunc`.

    >>> import jax.numpy as jnp
    >>> jnp.frompyfunc(lambda x, y: x + 2 * y, nin=2, nout=1)(jnp.arange(3), 10).tolist()
    [20, 21, 22]
    """
    name = getattr(func, "__name__", "f")

    @functools.wraps(func, updated=())
    def mapped(*args: Any) -> Any:
        check_arraylike(name, *args)
        args = tuple(promote_shapes(name, *[red._as_array(unwrap(x)) for x in args]))
        shape = lax.broadcast_shapes(*[typeof(x).shape for x in args])
        flat = [lax.reshape(lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - typeof(x).ndim, len(shape)))),
                            (dims.size_of(shape),)) for x in args]
        out = vmap(func)(*flat)
        if nout == 1:
            return lax.reshape(out, shape)
        return tuple([lax.reshape(x, shape) for x in out])
    return ufunc(mapped, nin, nout, name=name, identity=identity)


common_methods.update(reduce=reduce, accumulate=accumulate, at=at, reduceat=reduceat, outer=outer)
