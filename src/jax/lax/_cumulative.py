"""Cumulative sums, products, extrema and log-sum-exps along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax._ground.families import COMPLEX, INEXACT, NUMERIC, category, check_category
from jax._ground.structural import deflinear
from jax._language import dims, rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, mul, neg, sub
from jax.lax._comparison import eq, ne
from jax.lax._creation import full_like
from jax.lax._exponential import exp, log1p
from jax.lax._magnitude import abs, max, min
from jax.lax._recurrence import linear_recurrence, shifted, tree_scan
from jax.lax._reduce import combine_extremum, identity_of
from jax.lax._select import select
from jax.lax._shape import rev

# --- what cumulative operations share -------------------------------------------------------------------------------

def _bind(prim: Primitive, operand: Any, axis: Any, reverse: Any) -> Any:
    if type(axis) is not int or axis < 0:
        axis = dims.canonical_axis(axis, len(typeof(operand).shape), prim.name)
    return prim.bind(operand, axis=axis, reverse=bool(reverse))


def _cumulative(name: str, accepted: frozenset[str], combine: Callable[[Any, Any], Any],
                scalar: Callable[[Any, Any, Any], Any], monoid: str, cut: tuple[int, int]) -> Primitive:
    """A cumulative primitive.

    ``combine(a, b)`` is the operation on arrays, ``scalar(dtype, a, b)`` its builder. Up to ``cut`` elements, along the
    last axis and along others, are done by XLA's windowed reduction, which is quadratic but one operation.
    """
    prim = Primitive(name)

    def abstract(x: Any, *, axis: int, reverse: bool) -> Any:
        check_category(name, accepted, x.dtype)
        if not 0 <= axis < len(x.shape):
            raise ValueError(f"{name}: axis {axis} is out of range for an operand of shape {x.shape}")
        return x

    def in_tree(x: Any, *, axis: int, reverse: bool) -> Any:
        limit = cut[axis != len(typeof(x).shape) - 1]
        if reverse:
            x = rev(x, (axis,))
        (out,) = tree_scan(lambda a, b: [combine(a[0], b[0])], [x], axis,
                           lambda xs: [prim.bind(xs[0], axis=axis, reverse=False)], limit)
        return rev(out, (axis,)) if reverse else out

    as_tree = lower_fun(in_tree, multiple_results=False)

    def lower(ctx: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        (aval,) = ctx.avals_in
        shape, n = aval.shape, aval.shape[axis]
        if dims.is_static(n) and n > cut[axis != len(shape) - 1]:
            return as_tree(ctx, x, axis=axis, reverse=reverse)
        if n <= 1 or dims.is_zero(aval.size):
            return [x]
        window, padding = [1] * len(shape), [(0, 0)] * len(shape)
        window[axis], padding[axis] = n, (0, n - 1) if reverse else (n - 1, 0)
        init = hlo.scalar_constant(identity_of(monoid, aval.dtype), aval.dtype)
        return hlo.reduce_window([x], [init], ctx.avals_out, functools.partial(scalar, aval.dtype), window=window,
                                 strides=[1] * len(shape), padding=padding)

    def batch(args: Any, batch_dims: Any, *, axis: int, reverse: bool) -> Any:
        (d,) = batch_dims
        return prim.bind(args[0], axis=axis + (axis >= d), reverse=reverse), d

    prim.def_abstract_eval(abstract)
    register_lowering(prim, lower)
    rules.primitive_batchers[prim] = batch
    return prim


def _derivative(prim: Primitive, coefficients: Callable[..., tuple[Any, Any]]) -> None:
    """The jvp as a recurrence ``t_out[i] = a[i] * t_out[i - 1] + w[i] * t[i]``.

    ``coefficients(x, out, axis, reverse) -> (a, w)``.
    """
    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, axis=axis, reverse=reverse)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        a, w = coefficients(x, out, axis, reverse)
        return out, linear_recurrence(a, mul(w, t), axis, reverse)

    rules.primitive_jvps[prim] = jvp


# --- sum ------------------------------------------------------------------------------------------------------------

def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Sums of the elements up to each place along ``axis``; with ``reverse``, from each place on.

    Args:
      operand: an array of numbers; the result has its shape and dtype.
      axis: the axis along which sums are formed.

    Sums are formed pairwise, which is more accurate than one after the other, and different in the last digits.

    Raises:
      TypeError: for booleans.
      ValueError: if the axis is out of range.
    """
    return _bind(cumsum_p, operand, axis, reverse)


cumsum_p = _cumulative("cumsum", NUMERIC, add, lambda dtype, a, b: hlo.add(a, b), "add", (256, 32))
deflinear(cumsum_p, lambda ct, x, *, axis, reverse: [cumsum_p.bind(ct, axis=axis, reverse=not reverse)])


# --- product --------------------------------------------------------------------------------------------------------

def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Products of the elements up to each place along ``axis``. Arguments and errors as for :func:`cumsum`."""
    return _bind(cumprod_p, operand, axis, reverse)


cumprod_p = _cumulative("cumprod", NUMERIC, mul, lambda dtype, a, b: hlo.multiply(a, b), "mul", (256, 32))
_derivative(cumprod_p, lambda x, out, axis, reverse: (x, shifted(out, axis, 1, reverse)))


# --- extrema --------------------------------------------------------------------------------------------------------

def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The largest element up to each place along ``axis``, NaN from the first NaN on.

    Arguments and errors as for :func:`cumsum`. Where elements are equal their derivatives are averaged pairwise.
    """
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The smallest element up to each place along ``axis``; as :func:`cummax` otherwise."""
    return _bind(cummin_p, operand, axis, reverse)


def _chosen(x: Any, out: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """How much each extreme is the one before it and how much the element itself."""
    one, half, zero = (full_like(x, v) for v in (1, 0.5, 0))
    before = shifted(out, axis, 0, reverse)
    kept = select(eq(before, x), half, select(eq(out, x), zero, one))
    # There is nothing before the first.
    kept = shifted(shifted(kept, axis, 0, not reverse), axis, 0, reverse)
    return kept, sub(one, kept)


cummax_p = _cumulative("cummax", NUMERIC, max, functools.partial(combine_extremum, "max"), "max", (64, 32))
cummin_p = _cumulative("cummin", NUMERIC, min, functools.partial(combine_extremum, "min"), "min", (64, 32))
_derivative(cummax_p, _chosen)
_derivative(cummin_p, _chosen)


# --- log-sum-exp ----------------------------------------------------------------------------------------------------

def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The logarithm of the sum of the exponentials of the elements up to each place, without overflow.

    Arguments as for :func:`cumsum`, for floating-point and complex dtypes.

    Raises:
      TypeError: for other dtypes.
      ValueError: if the axis is out of range.
    """
    return _bind(cumlogsumexp_p, operand, axis, reverse)


def _log_add_exp(a: Any, b: Any) -> Any:
    top, bottom = max(a, b), min(a, b)
    if category(typeof(a).dtype) == COMPLEX:
        return add(top, log1p(exp(sub(bottom, top))))
    gap = sub(a, b)
    # Infinities of one sign have no difference; their sum is the answer, as it is for NaN.
    return select(ne(gap, gap), add(a, b), add(top, log1p(exp(neg(abs(gap))))))


def _shares(x: Any, out: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """Which part of each sum is the sum before it and which the element itself."""
    before = shifted(out, axis, -np.inf, reverse)
    return _ratio(before, out), _ratio(x, out)


def _ratio(part: Any, total: Any) -> Any:
    # Equal infinities have no difference.
    return exp(select(eq(part, total), full_like(part, 0), sub(part, total)))


def _log_add_exp_scalar(dtype: Any, a: Any, b: Any) -> Any:
    raise NotImplementedError  # never windowed: exponentials would be taken many times


cumlogsumexp_p = _cumulative("cumlogsumexp", INEXACT, _log_add_exp, _log_add_exp_scalar, "max", (1, 1))
_derivative(cumlogsumexp_p, _shares)

__all__ = ["cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p", "cumprod", "cumprod_p",
           "cumsum", "cumsum_p"]
