"""Cumulative sums, products, extrema and log-sum-exps along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.composite import composite
from jax._ground.families import COMPLEX, FLOAT, INEXACT, NUMERIC, category, check_category, like
from jax._ground.structural import add_tangents, deflinear
from jax._language import dims, rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, mul, sub
from jax.lax._comparison import eq, gt, lt, ne
from jax.lax._exponential import exp, log1p
from jax.lax._join import concatenate
from jax.lax._magnitude import abs, max, min
from jax.lax._reduce import combine_extremum, identity_of
from jax.lax._select import select
from jax.lax._shape import rev
from jax.lax._slice import pad, slice

# --- scanning in a tree ---------------------------------------------------------------------------------------------
# Neighbours are combined, the cumulative results of these pairs found by recursion, and those in between filled in: two
# operations per element, all of them on whole arrays. (Blelloch, "Prefix sums and their applications", 1990.)

Arrays = Sequence[Any]


def tree_scan(combine: Callable[[Arrays, Arrays], list[Any]], xs: Arrays, axis: int,
              short: Callable[[Arrays], list[Any]] | None = None, cut: int = 1) -> list[Any]:
    """All prefixes of ``xs``, arrays of one shape, under the associative ``combine``.

    ``short`` does up to ``cut`` elements in another way.
    """
    shape = typeof(xs[0]).shape
    n = shape[axis]
    if n <= 1:
        return list(xs)
    if short is not None and n <= cut:
        return short(xs)

    def part(values: Arrays, start: int, stop: int, step: int = 1) -> list[Any]:
        size = typeof(values[0]).shape
        begin, end, by = [0] * len(shape), list(size), [1] * len(shape)
        begin[axis], end[axis], by[axis] = start, stop, step
        return [slice(v, begin, end, by) for v in values]

    half = n // 2
    even, odd = part(xs, 0, n, 2), part(xs, 1, n, 2)
    pairs = combine(part(even, 0, half), odd)
    at_odd = tree_scan(combine, pairs, axis, short, cut)
    rest = n - half - 1  # even places behind the first
    first = part(even, 0, 1)
    if rest == 0:
        at_even = first
    else:
        between = combine(part(at_odd, 0, rest), part(even, 1, rest + 1))
        at_even = [concatenate([a, b], axis) for a, b in zip(first, between, strict=True)]
    return [_interleave(a, b, axis, n) for a, b in zip(at_even, at_odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int, n: int) -> Any:
    """``even[0], odd[0], even[1], ...`` along ``axis``: both are spread out with zeros and added."""
    rank = len(typeof(even).shape)
    dtype = typeof(even).dtype
    # Minus zero is what leaves every float as it is when added, minus zero included.
    kind = category(dtype)
    zero = np.array(complex(-0.0, -0.0) if kind == COMPLEX else -0.0 if kind == FLOAT else 0, dtype)
    config: list[Any] = [(0, 0, 0)] * rank
    config[axis] = (0, 1 - n % 2, 1)
    spread = pad(even, zero, config)
    config[axis] = (1, n % 2, 1)
    return add(spread, pad(odd, zero, config))


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


def _derivative(prim: Primitive, combine: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> None:
    """The jvp by scanning pairs: ``combine(a, tangent of a, b, tangent of b) -> (value, tangent)``."""
    @composite(static_argnames=("axis", "reverse"))
    def tangent_of(x: Any, t: Any, *, axis: int, reverse: bool) -> Any:
        if reverse:
            x, t = rev(x, (axis,)), rev(t, (axis,))
        _, out = tree_scan(lambda a, b: list(combine(*a, *b)), [x, t], axis)
        return rev(out, (axis,)) if reverse else out

    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, axis=axis, reverse=reverse)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        return out, tangent_of(x, t, axis=axis, reverse=reverse)

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
_derivative(cumprod_p, lambda a, ta, b, tb: (mul(a, b), add_tangents(mul(ta, b), mul(a, tb))))


# --- extrema --------------------------------------------------------------------------------------------------------

def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The largest element up to each place along ``axis``, NaN from the first NaN on.

    Arguments and errors as for :func:`cumsum`. Where elements are equal their derivatives are averaged pairwise.
    """
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The smallest element up to each place along ``axis``; as :func:`cummax` otherwise."""
    return _bind(cummin_p, operand, axis, reverse)


def _share(pick: Callable[[Any, Any], Any], before: Callable[[Any, Any], Any], a: Any, ta: Any, b: Any, tb: Any) -> Any:
    half = like(ta, 0.5)
    mean = add_tangents(mul(ta, half), mul(tb, half))
    chosen = pick(a, b)
    if category(typeof(a).dtype) == COMPLEX:  # lexicographic order: whatever was picked
        return chosen, select(eq(a, b), mean, select(eq(chosen, a), ta, tb))
    return chosen, select(eq(a, b), mean, select(before(a, b), ta, tb))


cummax_p = _cumulative("cummax", NUMERIC, max, functools.partial(combine_extremum, "max"), "max", (64, 32))
cummin_p = _cumulative("cummin", NUMERIC, min, functools.partial(combine_extremum, "min"), "min", (64, 32))
_derivative(cummax_p, functools.partial(_share, max, gt))
_derivative(cummin_p, functools.partial(_share, min, lt))


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
    return select(ne(gap, gap), add(a, b), add(top, log1p(exp(_minus(abs(gap))))))


def _minus(x: Any) -> Any:
    return mul(x, like(x, -1))


def _log_add_exp_tangent(a: Any, ta: Any, b: Any, tb: Any) -> Any:
    out = _log_add_exp(a, b)
    return out, add_tangents(mul(ta, _share_of(a, out)), mul(tb, _share_of(b, out)))


def _share_of(x: Any, total: Any) -> Any:
    return exp(sub(x, total))


def _log_add_exp_scalar(dtype: Any, a: Any, b: Any) -> Any:
    raise NotImplementedError  # never windowed: exponentials would be taken many times


cumlogsumexp_p = _cumulative("cumlogsumexp", INEXACT, _log_add_exp, _log_add_exp_scalar, "max", (1, 1))
_derivative(cumlogsumexp_p, _log_add_exp_tangent)

__all__ = ["cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p", "cumprod", "cumprod_p",
           "cumsum", "cumsum_p", "tree_scan"]
