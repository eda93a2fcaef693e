"""Reductions that leave NaN out."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._language.avals import typeof
from jax.lax._reduce import identity_of
from jax.lax._select import where as _where
from jax.numpy import _reductions as red
from jax.numpy import _statistics as stats
from jax.numpy._promotion import broadcast_args, refuse_out, static_axis, unwrap

_STATIC = ("name", "axis", "dtype", "keepdims")


def _has_nan(a: Any) -> bool:
    return category(typeof(a).dtype) in ("floating", "complex")


def _present(a: Any, where: Any = None) -> Any:
    """Which elements take part: those that are not NaN, and in ``where`` if that is given."""
    mask = lax.eq(a, a) if _has_nan(a) else lax.broadcast_in_dim(np.bool_(True), typeof(a).shape, ())
    return mask if where is None else lax.bitwise_and(mask, where)


def _with_where(name: str, a: Any, where: Any) -> tuple[Any, Any]:
    a = red.operand(name, a)
    if where is None:
        return a, None
    where, a = broadcast_args(name, unwrap(where), a)
    return a, where


# --- sums and products ----------------------------------------------------------------------------------------------

@composite(static_argnames=_STATIC)
def _total(a: Any, name: str, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a = red.operand(name, a)
    neutral = 0 if name == "nansum" else 1
    if _has_nan(a):
        a = _where(lax.eq(a, a), a, constant(typeof(a).dtype, neutral))
    return (red.sum if name == "nansum" else red.prod)(a, axis, dtype, None, keepdims, initial, where)


def _call(function: Any, name: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, **arrays: Any) -> Any:
    refuse_out(name, out)
    return function(a, name=name, axis=static_axis(axis), keepdims=builtins.bool(keepdims),
                    dtype=None if dtype is None else dtypes.requested_dtype(dtype, name), **arrays)


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The sum over ``axis`` with NaN taken as 0. Arguments as for ``jnp.sum``."""
    return _call(_total, "nansum", a, axis, dtype, out, keepdims, initial=initial, where=where)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
            where: Any = None) -> Any:
    """The product over ``axis`` with NaN taken as 1. Arguments as for ``jnp.sum``."""
    return _call(_total, "nanprod", a, axis, dtype, out, keepdims, initial=initial, where=where)


# --- extremes -------------------------------------------------------------------------------------------------------

@composite(static_argnames=_STATIC)
def _extreme(a: Any, name: str, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a, where = _with_where(name, a, where)
    function = red.max if name == "nanmax" else red.min
    if not _has_nan(a):
        return function(a, axis, None, keepdims, initial, where)
    have = typeof(a).dtype
    mask = lax.eq(a, a)
    worst = constant(have, identity_of(name.removeprefix("nan"), have).item())
    out = function(_where(mask, a, worst), axis, None, keepdims, initial, where)
    if initial is None:  # nothing but NaN
        out = _where(red.any(mask, axis, keepdims=keepdims), out, constant(have, np.nan))
    return out


def nanmax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The largest element over ``axis`` that is not NaN; NaN where all are. Arguments as for ``jnp.max``."""
    return _call(_extreme, "nanmax", a, axis, None, out, keepdims, initial=initial, where=where)


def nanmin(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The smallest element over ``axis`` that is not NaN; NaN where all are. Arguments as for ``jnp.max``."""
    return _call(_extreme, "nanmin", a, axis, None, out, keepdims, initial=initial, where=where)


# --- means and variances --------------------------------------------------------------------------------------------

@composite(static_argnames=_STATIC)
def _mean(a: Any, name: str, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    a, where = _with_where(name, a, where)
    return stats.mean(a, axis, dtype, None, keepdims, where=_present(a, where))


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
            where: Any = None) -> Any:
    """The mean over ``axis`` of elements that are not NaN; NaN where all are. Arguments as for ``jnp.mean``."""
    return _call(_mean, "nanmean", a, axis, dtype, out, keepdims, where=where)


@composite(static_argnames=_STATIC)
def _variance(a: Any, name: str, axis: Any, dtype: Any, keepdims: bool, ddof: Any, where: Any, mean: Any) -> Any:
    a, where = _with_where(name, a, where)
    present = _present(a, where)
    a = _where(present, a, constant(typeof(a).dtype, 0))  # so that no NaN enters, not even where it is masked
    axes = red.reduced_axes(name, axis, typeof(a).shape)
    out = stats.var(a, axes, dtype, None, ddof, keepdims, where=present, mean=mean)
    return lax.sqrt(out) if name == "nanstd" else out


def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False,
           where: Any = None, mean: Any = None) -> Any:
    """The variance over ``axis`` of elements that are not NaN; NaN where too few are left.

    Arguments as for ``jnp.var``.
    """
    return _call(_variance, "nanvar", a, axis, dtype, out, keepdims, ddof=ddof, where=where, mean=mean)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False,
           where: Any = None, mean: Any = None) -> Any:
    """The standard deviation over ``axis`` of elements that are not NaN. Arguments as for ``jnp.var``."""
    return _call(_variance, "nanstd", a, axis, dtype, out, keepdims, ddof=ddof, where=where, mean=mean)
