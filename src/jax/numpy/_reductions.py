"""Reductions over axes: sums, products, extremes, logical reductions, means and variances."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.jit import jit
from jax._base.source import filter_traceback, filters_errors
from jax._ground.families import category, constant
from jax._language.avals import typeof
from jax._language.trace import bottom, current_trace
from jax.lax._reduce import identity_of
from jax.lax._select import where as _where
from jax.numpy import _calls as calls
from jax.numpy._promotion import (
    as_dtype,
    broadcast_args,
    check_arraylike,
    refuse_out,
    static_axis,
    unwrap,
)
from jax.numpy._ufuncs_arithmetic import _as_array
from jax.numpy._ufuncs_logical import truth

_get_trace = current_trace.get
_BOOL = np.dtype(bool)
_HALF = frozenset([np.dtype(np.float16), np.dtype(dtypes.bfloat16)])
_WIDE = frozenset(np.dtype(t) for t in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, np.complex64,
                                        np.complex128))
Axis = int | tuple[int, ...] | None


# --- what reductions share ------------------------------------------------------------------------------------------

def reduced_axes(name: str, axis: Axis, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """The axes to reduce, counted from the front.

    Raises:
      ValueError: for axes out of range or named twice.
    """
    ndim = len(shape)
    if axis is None:
        return tuple(range(ndim))
    axes = axis if type(axis) is tuple else (axis,)
    out = []
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"{name}: axis {a} is out of bounds for an array of shape {shape} with {ndim} dimensions")
        out.append(a % ndim)
    if len(set(out)) != len(out):
        raise ValueError(f"{name}: duplicate value in axis={axis} for an array of shape {shape}")
    return tuple(sorted(out))


def restore_axes(x: Any, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with the reduced axes put back with size 1."""
    if not axes:
        return x
    kept = tuple([d for d in range(len(shape)) if d not in axes])
    out = tuple([1 if d in axes else n for d, n in enumerate(shape)])
    return lax.broadcast_in_dim(x, out, kept)


def strongly(x: Any) -> Any:
    """``x`` without weakness: reductions return values of their own dtype."""
    if typeof(x).weak_type:
        return lax.convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=False, sharding=None)
    return x


def operand(name: str, a: Any) -> Any:
    """The array argument of a reduction, checked, not weakly typed."""
    check_arraylike(name, a)
    return strongly(_as_array(unwrap(a)))


def _computed_in(have: Any, promote_integers: bool) -> Any:
    """The dtype in which elements are added or multiplied: booleans and narrow integers in the default integer."""
    kind = category(have)
    if kind == "bool":
        return dtypes.scalar_dtype(int)
    if promote_integers and kind in ("signed", "unsigned"):
        default = dtypes.scalar_dtype(int)
        if dtypes.itemsize_bits(have) < dtypes.itemsize_bits(default):
            return default if kind == "signed" else np.dtype(f"uint{default.itemsize * 8}")
    return have


def masked(name: str, a: Any, where: Any, fill: Any) -> Any:
    """``a`` with ``fill`` where ``where`` is False."""
    check_arraylike(name, where)
    where = unwrap(where)
    if typeof(where).dtype != _BOOL:
        raise ValueError(f"{name}: where= must be boolean, got {typeof(where).dtype}; compare it first: where != 0")
    where, a = broadcast_args(name, where, a)
    return _where(where, a, fill)


def initial_scalar(name: str, initial: Any, dtype: Any) -> Any:
    """``initial=`` as a 0-d operand.

    Raises:
      ValueError: when it is not 0-d.
    """
    check_arraylike(name, initial)
    initial = unwrap(initial)
    if np.ndim(initial) != 0:
        raise ValueError(f"{name}: initial= must be a scalar, got an array of shape {np.shape(initial)}")
    return as_dtype(initial, dtype, False)


def _reduce(name: str, prim: Any, monoid: str, combine: Callable[..., Any], a: Any, axis: Axis, dtype: Any,
            keepdims: bool, initial: Any, where: Any, promote_integers: bool = True, **params: Any) -> Any:
    """``sum`` and ``prod``: elements in the computation's dtype, those left out replaced by the identity."""
    a = operand(name, a)
    aval = typeof(a)
    axes = reduced_axes(name, axis, aval.shape)
    result = _computed_in(aval.dtype, promote_integers) if dtype is None else dtype
    # Half-precision sums are computed in float32, and rounded once.
    inner = np.dtype(np.float32) if result in _HALF else result
    a = strongly(as_dtype(a, inner, False))
    if inner == _BOOL:  # asked for explicitly
        inner = dtypes.scalar_dtype(int)
        a = as_dtype(a, inner, False)
    if where is not None:
        a = masked(name, a, where, constant(inner, identity_of(monoid, inner).item()))
        axes = reduced_axes(name, axis, typeof(a).shape)
    shape = typeof(a).shape
    out = prim.bind(a, axes=axes, **params)
    if initial is not None:
        out = combine(initial_scalar(name, initial, inner), out)
    if inner != result:
        out = as_dtype(out, result, False) if result != _BOOL else truth(out)
    return restore_axes(out, shape, axes) if keepdims else out


def fast(prim: Any, general: Any, accepted: frozenset[Any], params: dict[str, Any], name: str,
          of_nothing: bool = True) -> Callable[..., Any]:
    """The call of a reduction that was given nothing but axes: one compiled call, or the primitive under a trace.

    ``accepted`` dtypes need no conversion; without ``of_nothing``, empty arrays are left to the general function.
    """
    def compiled_all(a: Any) -> Any:
        nonlocal compiled_all
        def whole(a: Any) -> Any:
            return general(a, None, False)
        whole.__name__ = name
        compiled_all = jit(whole)
        return compiled_all(a)

    def compiled_axes(a: Any, axis: Any, keepdims: Any) -> Any:
        nonlocal compiled_axes
        def along(a: Any, axis: Any, keepdims: Any) -> Any:
            return general(a, axis, keepdims)
        along.__name__ = name
        compiled_axes = jit(along, static_argnums=(1, 2))
        return compiled_axes(a, axis, keepdims)

    def call(a: Any, axis: Any, keepdims: Any) -> Any:
        try:
            trace = _get_trace()
            if trace is bottom:
                if axis is None and keepdims is False:
                    return compiled_all(a)
                return compiled_axes(a, static_axis(axis), builtins.bool(keepdims))
            axis = static_axis(axis)
            aval = getattr(a, "aval", None)
            if aval is not None and aval.dtype in accepted and not aval.weak_type and (of_nothing or 0 not in aval.shape):
                axes = reduced_axes(name, axis, aval.shape)
                out = trace.process(prim, (a,), {"axes": axes, **params})
                return restore_axes(out, aval.shape, axes) if keepdims else out
            if trace.staged:
                return general(a, axis, keepdims)
            return compiled_axes(a, axis, builtins.bool(keepdims))
        except Exception as error:
            filter_traceback(error)
            raise
    return call


# --- sum and product ------------------------------------------------------------------------------------------------

@composite(static_argnames=("axis", "dtype", "keepdims", "promote_integers"))
def _sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None,
         promote_integers: bool = True) -> Any:
    return _reduce("sum", lax.reduce_sum_p, "add", lax.add, a, axis, dtype, keepdims, initial, where, promote_integers,
                   out_sharding=None)


@composite(static_argnames=("axis", "dtype", "keepdims", "promote_integers"))
def _prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None,
          promote_integers: bool = True) -> Any:
    return _reduce("prod", lax.reduce_prod_p, "mul", lax.mul, a, axis, dtype, keepdims, initial, where,
                   promote_integers)


# Integers of the default width and wider need no promotion; 64-bit ones exist in both modes.
_DIRECT = frozenset(d for d in _WIDE if d.kind in "fc" or d.itemsize == 8)
_fast_sum = fast(lax.reduce_sum_p, lambda a, axis, keepdims: _sum(a, axis, None, keepdims), _DIRECT,
                  {"out_sharding": None}, "sum")
_fast_prod = fast(lax.reduce_prod_p, lambda a, axis, keepdims: _prod(a, axis, None, keepdims), _DIRECT, {}, "prod")


def _requested(name: str, dtype: Any) -> Any:
    return None if dtype is None else dtypes.requested_dtype(dtype, name)


@filters_errors
def sum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,  # noqa: A001
        initial: Any = None, where: Any = None, promote_integers: bool = True) -> Any:
    """The sum of elements over ``axis``.

    Booleans and integers narrower than the default are added in the default integer; half-precision floats in float32,
    with the result rounded to their dtype.

    Args:
      a: an array or scalar.
      axis: an axis, a tuple of axes, or None for all.
      dtype: dtype in which to add, and of the result.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      initial: a scalar that is added.
      where: booleans, broadcast with ``a``: which elements to take.
      promote_integers: if False, narrow integers keep their dtype.

    Raises:
      TypeError: for lists; make an array of them.
      ValueError: for axes out of range or named twice.

    >>> import jax.numpy as jnp
    >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    try:
        if dtype is None and out is None and initial is None and where is None and promote_integers is True:
            return _fast_sum(a, axis, keepdims)
        refuse_out("sum", out)
        return _sum(a, static_axis(axis), _requested("sum", dtype), builtins.bool(keepdims), initial, where,
                    builtins.bool(promote_integers))
    except Exception as error:
        filter_traceback(error)
        raise


@filters_errors
def prod(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None, promote_integers: bool = True) -> Any:
    """The product of elements over ``axis``; 1 of nothing. Arguments as for ``jnp.sum``."""
    try:
        if dtype is None and out is None and initial is None and where is None and promote_integers is True:
            return _fast_prod(a, axis, keepdims)
        refuse_out("prod", out)
        return _prod(a, static_axis(axis), _requested("prod", dtype), builtins.bool(keepdims), initial, where,
                     builtins.bool(promote_integers))
    except Exception as error:
        filter_traceback(error)
        raise


# --- extremes -------------------------------------------------------------------------------------------------------

def _extreme(name: str, prim: Any, combine: Callable[..., Any], a: Any, axis: Axis, keepdims: bool, initial: Any,
             where: Any) -> Any:
    a = operand(name, a)
    aval = typeof(a)
    axes = reduced_axes(name, axis, aval.shape)
    if initial is None:
        if where is not None:
            raise ValueError(f"{name}: without elements there is no {name}, so where= needs initial= as well, the "
                             "value to start from")
        for d in axes:
            if aval.shape[d] == 0:
                raise ValueError(f"zero-size array to reduction operation {name}, which has no identity: shape "
                                 f"{aval.shape}, axis {axis}. Give initial=, the result for no elements.")
    if where is not None:
        a = masked(name, a, where, identity_of(name, aval.dtype))
        axes = reduced_axes(name, axis, typeof(a).shape)
    out = prim.bind(a, axes=axes)
    if initial is not None:
        out = combine(initial_scalar(name, initial, aval.dtype), out)
    return restore_axes(out, typeof(a).shape, axes) if keepdims else out


@composite(static_argnames=("axis", "keepdims"))
def _max(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    return _extreme("max", lax.reduce_max_p, lax.max, a, axis, keepdims, initial, where)


@composite(static_argnames=("axis", "keepdims"))
def _min(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    return _extreme("min", lax.reduce_min_p, lax.min, a, axis, keepdims, initial, where)


_fast_max = fast(lax.reduce_max_p, lambda a, axis, keepdims: _max(a, axis, keepdims), calls.ANY, {}, "max", False)
_fast_min = fast(lax.reduce_min_p, lambda a, axis, keepdims: _min(a, axis, keepdims), calls.ANY, {}, "min", False)


@filters_errors
def max(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,  # noqa: A001
        where: Any = None) -> Any:
    """The largest element over ``axis``; NaN if there is one.

    Args:
      a: an array or scalar; complex numbers are compared by real part, then by imaginary part.
      axis: an axis, a tuple of axes, or None for all.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      initial: a scalar that takes part.
      where: booleans, broadcast with ``a``: which elements to take; needs ``initial``.

    Raises:
      ValueError: when there are no elements and no ``initial``; for axes out of range.
    """
    try:
        if out is None and initial is None and where is None:
            return _fast_max(a, axis, keepdims)
        refuse_out("max", out)
        return _max(a, static_axis(axis), builtins.bool(keepdims), initial, where)
    except Exception as error:
        filter_traceback(error)
        raise


@filters_errors
def min(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,  # noqa: A001
        where: Any = None) -> Any:
    """The smallest element over ``axis``; NaN if there is one. Arguments and errors as for ``jnp.max``."""
    try:
        if out is None and initial is None and where is None:
            return _fast_min(a, axis, keepdims)
        refuse_out("min", out)
        return _min(a, static_axis(axis), builtins.bool(keepdims), initial, where)
    except Exception as error:
        filter_traceback(error)
        raise


def amax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None) -> Any:
    """Another name of ``jnp.max``."""
    return max(a, axis, out, keepdims, initial, where)


def amin(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None) -> Any:
    """Another name of ``jnp.min``."""
    return min(a, axis, out, keepdims, initial, where)


def minmax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> tuple[Any, Any]:
    """``(min, max)`` over ``axis``. Arguments and errors as for ``jnp.max``."""
    return min(a, axis, out, keepdims, initial, where), max(a, axis, out, keepdims, initial, where)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest minus the smallest element over ``axis``. Arguments as for ``jnp.max``."""
    refuse_out("ptp", out)
    return _ptp(a, static_axis(axis), builtins.bool(keepdims))


@composite(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Any, keepdims: bool) -> Any:
    return lax.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


# --- logical reductions ---------------------------------------------------------------------------------------------

def _logical(name: str, prim: Any, of_nothing: bool, a: Any, axis: Axis, keepdims: bool, where: Any = None) -> Any:
    check_arraylike(name, a)
    a = _as_array(truth(unwrap(a)))
    if where is not None:
        a = masked(name, a, where, np.bool_(of_nothing))
    shape = typeof(a).shape
    axes = reduced_axes(name, axis, shape)
    out = prim.bind(a, axes=axes)
    return restore_axes(out, shape, axes) if keepdims else out


@composite(static_argnames=("axis", "keepdims"))
def _any(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _logical("any", lax.reduce_or_p, False, a, axis, keepdims, where)


@composite(static_argnames=("axis", "keepdims"))
def _all(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _logical("all", lax.reduce_and_p, True, a, axis, keepdims, where)


_fast_any = fast(lax.reduce_or_p, lambda a, axis, keepdims: _any(a, axis, keepdims), calls.BOOLEAN, {}, "any")
_fast_all = fast(lax.reduce_and_p, lambda a, axis, keepdims: _all(a, axis, keepdims), calls.BOOLEAN, {}, "all")


@filters_errors
def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:  # noqa: A001
    """Whether an element over ``axis`` differs from zero (NaN does); False of nothing.

    Args:
      a: an array or scalar.
      axis: an axis, a tuple of axes, or None for all.
      out: not supported.
      keepdims: keep reduced axes with size 1.
      where: booleans, broadcast with ``a``: which elements to take.
    """
    try:
        if out is None and where is None:
            return _fast_any(a, axis, keepdims)
        refuse_out("any", out)
        return _any(a, static_axis(axis), builtins.bool(keepdims), where)
    except Exception as error:
        filter_traceback(error)
        raise


@filters_errors
def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:  # noqa: A001
    """Whether all elements over ``axis`` differ from zero; True of nothing. Arguments as for ``jnp.any``."""
    try:
        if out is None and where is None:
            return _fast_all(a, axis, keepdims)
        refuse_out("all", out)
        return _all(a, static_axis(axis), builtins.bool(keepdims), where)
    except Exception as error:
        filter_traceback(error)
        raise


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The number of elements over ``axis`` that differ from zero, in the default integer dtype."""
    return _count_nonzero(a, static_axis(axis), builtins.bool(keepdims))


@composite(static_argnames=("axis", "keepdims"))
def _count_nonzero(a: Any, axis: Any, keepdims: bool) -> Any:
    check_arraylike("count_nonzero", a)
    return sum(truth(unwrap(a)), axis, dtype=dtypes.scalar_dtype(int), keepdims=keepdims)
