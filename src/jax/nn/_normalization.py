"""Softmax and its kin, one-hot vectors, standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._api.sharding_constraints import laid_out
from jax.custom_derivatives import custom_jvp
from jax.numpy._promotion import promote_args_inexact

Axis = int | Sequence[int] | None


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    return tuple(sorted(a % ndim if -ndim <= a < ndim else _bad_axis(a, ndim) for a in given))


def _bad_axis(a: int, ndim: int) -> int:
    raise ValueError(f"axis {a} is out of bounds for an array with {ndim} dimensions")


def _top(x: Any, axes: tuple[int, ...]) -> Any:
    """The largest elements over ``axes``, which are kept; -inf if there are none."""
    return lax.expand_dims(lax.reduce_max(x, axes), axes)


def _total(x: Any, axes: tuple[int, ...]) -> Any:
    return jnp.sum(x, axis=axes, keepdims=True)  # which accumulates narrow types in wider ones


def _hashable(axis: Axis) -> Any:
    return tuple(axis) if isinstance(axis, (list, np.ndarray)) else axis


def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False,
              where: Any = None) -> Any:
    """``log(sum(b * exp(a)))`` over ``axis`` (all axes by default), without overflow.

    Args:
      a: real or complex array.
      axis: the axes to sum over.
      b: factors, broadcast against ``a``.
      keepdims: keep the summed axes with size 1.
      return_sign: return ``(log of the absolute value, sign)``; without it negative sums give NaN.
      where: which elements count.
    """
    return _logsumexp(a, b, where, axis=_hashable(axis), keepdims=bool(keepdims), return_sign=bool(return_sign))


@composite(static_argnames=("axis", "keepdims", "return_sign"))
def _logsumexp(a: Any, b: Any, where: Any, *, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    if b is not None:
        a, b = promote_args_inexact("logsumexp", a, b)
        a, b = jnp.broadcast_arrays(a, b)
        a = jnp.where(b != 0, a, -np.inf)
    else:
        (a,) = promote_args_inexact("logsumexp", a)
    axes = _axes(axis, a.ndim)
    if where is not None:
        where = jnp.broadcast_to(where, a.shape)
    real = a.real if jnp.iscomplexobj(a) else a
    top = _top(real if where is None else jnp.where(where, real, -np.inf), axes)
    top = lax.stop_gradient(jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top)))
    terms = jnp.exp(a - top)
    if b is not None:
        terms = b * terms
    total = jnp.sum(terms, axis=axes, keepdims=keepdims, where=where)
    shift = top if keepdims else lax.squeeze(top, axes)
    if return_sign:
        sign = jnp.sign(total)
        return jnp.log(jnp.abs(total)) + shift, sign
    if b is not None and not jnp.iscomplexobj(total):
        total = jnp.where(total < 0, np.nan, total)
    return jnp.log(total) + shift


@composite(static_argnames=("axis", "keepdims"))
def _logmeanexp(x: Any, where: Any, *, axis: Any, keepdims: bool) -> Any:
    (x,) = promote_args_inexact("logmeanexp", x)
    axes = _axes(axis, x.ndim)
    total = _logsumexp(x, None, where, axis=axes, keepdims=keepdims, return_sign=False)
    if where is None:
        return total - np.log(np.prod([x.shape[i] for i in axes])).astype(x.dtype)
    count = jnp.sum(jnp.broadcast_to(where, x.shape), axis=axes, keepdims=keepdims)
    return total - jnp.log(count.astype(x.dtype))


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """``log(mean(exp(x)))`` over ``axis``, without overflow."""
    return _logmeanexp(x, where, axis=_hashable(axis), keepdims=bool(keepdims))


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """``x - logsumexp(x)`` along ``axis``; elements outside of ``where`` become ``-inf``."""
    return _log_softmax(x, where, axis=_hashable(axis))


@composite(static_argnames=("axis",))
def _log_softmax(x: Any, where: Any, *, axis: Any) -> Any:
    (x,) = promote_args_inexact("log_softmax", x)
    axes = _axes(axis, x.ndim)
    if where is not None:
        where = jnp.broadcast_to(where, x.shape)
        x = jnp.where(where, x, -np.inf)
    top = lax.stop_gradient(_top(x, axes))
    shifted = x - top
    out = shifted - jnp.log(_total(jnp.exp(shifted), axes))
    return out if where is None else jnp.where(where, out, -np.inf)


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` along ``axis``; elements outside of ``where`` become 0.

    >>> import jax, jax.numpy as jnp
    >>> jax.nn.softmax(jnp.zeros(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return _softmax(x, where, axis=_hashable(axis))


@composite(static_argnames=("axis",))
def _softmax(x: Any, where: Any, *, axis: Any) -> Any:
    (x,) = promote_args_inexact("softmax", x)
    axes = _axes(axis, x.ndim)
    if where is not None:
        where = jnp.broadcast_to(where, x.shape)
        x = jnp.where(where, x, -np.inf)
    return _softmax_rule(axes)(x) if where is None else jnp.where(where, _softmax_rule(axes)(x), 0)


_softmax_rules: dict[tuple[int, ...], Any] = {}


def _softmax_rule(axes: tuple[int, ...]) -> Any:
    """Softmax over fixed axes; its derivative reuses the result instead of the exponentials."""
    found = _softmax_rules.get(axes)
    if found is not None:
        return found

    def softmax(x: Any) -> Any:
        e = lax.exp(lax.sub(x, _top(x, axes)))
        return lax.div(e, _total(e, axes))

    rule = custom_jvp(softmax)

    @rule.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        y = rule(x)
        yt = y * t
        return y, yt - y * _total(yt, axes)
    _softmax_rules[axes] = rule
    return rule


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1, out_sharding: Any = None) -> Any:
    """Vectors with a one at the position that ``x`` gives, zeros elsewhere; out of range, all zeros.

    Args:
      x: integer array (floats are compared as they are).
      num_classes: the length of the vectors.
      dtype: of the result, by default the default float.
      axis: where the new axis goes.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(one_hot(x, num_classes, dtype=dtype, axis=axis), out_sharding, "jax.nn.one_hot")
    if not isinstance(num_classes, (int, np.integer)):
        if not hasattr(type(num_classes), "__index__"):
            raise TypeError(f"one_hot: num_classes must be an integer, got {num_classes!r} of type "
                            f"{type(num_classes).__name__}")
        num_classes = num_classes.__index__()
    dtype = dtypes.canonicalize_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, where="one_hot")
    return _one_hot(x, num_classes=int(num_classes), dtype=dtype, axis=int(axis))


@composite(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, *, num_classes: int, dtype: Any, axis: int) -> Any:
    x = jnp.asarray(x)
    ndim = x.ndim + 1
    at = axis % ndim if -ndim <= axis < ndim else _bad_axis(axis, ndim)
    shape = [1] * ndim
    shape[at] = num_classes
    classes = lax.reshape(jnp.arange(num_classes, dtype=x.dtype), tuple(shape))
    return (lax.expand_dims(x, (at,)) == classes).astype(dtype)


def standardize(x: Any, axis: Axis = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5,
                where: Any = None, *, algorithm: str = "fast") -> Any:
    """``(x - mean) / sqrt(variance + epsilon)``, with statistics along ``axis`` where they are not given.

    ``algorithm="fast"`` computes the variance as the mean of squares minus the squared mean, in one pass;
    ``"stable"`` subtracts the mean first.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    return _standardize(x, mean, variance, epsilon, where, axis=_hashable(axis), algorithm=algorithm)


@composite(static_argnames=("axis", "algorithm"))
def _standardize(x: Any, mean: Any, variance: Any, epsilon: Any, where: Any, *, axis: Any, algorithm: str) -> Any:
    (x,) = promote_args_inexact("standardize", x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            variance = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
            variance = jnp.maximum(variance, 0)  # rounding can lead below
        else:
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
    return (x - mean) * lax.rsqrt(jnp.asarray(variance + epsilon, dtype=x.dtype))
