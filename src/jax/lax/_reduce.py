"""Reductions over axes: sums, products, extrema, logical reductions and the places of extrema."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.sharding_constraints import laid_out
from jax._ground.families import (
    ANY,
    BITS,
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGERS,
    NUMERIC,
    category,
    check_category,
    zero_derivative,
)
from jax._ground.structural import add_tangents, broadcast_in_dim, convert, deflinear, reduce_sum_p
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import reducing, register_lowering
from jax.lax._arithmetic import div, mul
from jax.lax._comparison import eq_p
from jax.lax._join import concatenate, slice_along

# --- what reductions share ------------------------------------------------------------------------------------------


def _axes(op: str, axes: Any, operand: Any) -> tuple[int, ...]:
    """The axes as non-negative numbers; they are looked at closely only where one is not that already."""
    if type(axes) is not tuple:
        axes = tuple(axes)
    for a in axes:
        if type(a) is not int or a < 0:
            return dims.canonical_axes(axes, len(typeof(operand).shape), op, "axes")
    return axes


def check_axes(op: str, x: Any, axes: Any) -> None:
    rank = len(x.shape)
    seen = set()
    for a in axes:
        if not 0 <= a < rank:
            raise ValueError(f"{op}: axes {axes} of an operand of shape {x.shape} and rank {rank}: axis {a} is out of "
                             f"range")
        if a in seen:
            raise ValueError(f"{op}: axes {axes} name axis {a} twice")
        seen.add(a)


def reduced_shape(shape: tuple[Any, ...], axes: Any) -> tuple[Any, ...]:
    return tuple([n for d, n in enumerate(shape) if d not in axes])


def spread_back(x: Any, shape: tuple[Any, ...], axes: Any) -> Any:
    """What a reduction returned, repeated along the axes that it removed."""
    return broadcast_in_dim(x, shape, [d for d in range(len(shape)) if d not in axes])


def batched_axes(d: int, axes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Axes of an example as axes of the batch that is mapped at ``d``, and where the result is mapped."""
    moved = tuple([a + (a >= d) for a in axes])
    return moved, d - sum([a < d for a in moved])


def _reduction(prim: Primitive, accepted: frozenset[str], combine: Callable[..., Any], start: Callable[[Any], Any],
               explain: str = "") -> None:
    """The rules that reductions of one operand share. ``combine(dtype, a, b)`` builds the operation on scalars."""
    name = prim.name

    def abstract(x: Any, *, axes: Any, out_sharding: Any = None) -> Any:
        kind = category(x.dtype)
        if kind not in accepted:
            if explain:
                raise TypeError(f"{name} {explain}, got {x.dtype}")
            check_category(name, accepted, x.dtype)
        check_axes(name, x, axes)
        return ShapedArray(reduced_shape(x.shape, axes), x.dtype, x.weak_type)

    def lower(ctx: Any, x: Any, *, axes: Any, out_sharding: Any = None) -> Any:
        dtype = ctx.avals_in[0].dtype
        if not axes:
            return [x]
        init = hlo.scalar_constant(start(dtype), dtype)
        return hlo.reduce([x], [init], axes, functools.partial(combine, dtype), ctx.avals_out)

    def batch(args: Any, batch_dims: Any, *, axes: Any, **params: Any) -> Any:
        moved, out_dim = batched_axes(batch_dims[0], axes)
        return prim.bind(args[0], axes=moved, **params), out_dim

    prim.def_abstract_eval(abstract)
    register_lowering(prim, lower)
    reducing.add(prim)
    rules.primitive_batchers[prim] = batch


def identity_of(name: str, dtype: Any) -> Any:
    """The neutral element of a monoid (``add mul max min and or xor``) in ``dtype``, as a NumPy scalar."""
    dtype = np.dtype(dtype)
    kind = category(dtype)
    if name in ("add", "or", "xor"):
        return np.zeros((), dtype)[()]
    if name == "mul":
        return np.ones((), dtype)[()]
    if name == "and":
        return np.array(True if kind == BOOL else -1 if kind == "signed" else dtypes.iinfo(dtype).max, dtype)[()]
    low = name == "max"
    if kind == BOOL:
        return np.bool_(not low)
    if kind in INTEGERS:
        info = dtypes.iinfo(dtype)
        return np.array(info.min if low else info.max, dtype)[()]
    if kind == FLOAT and not dtypes.supports_inf(dtype):
        limits = dtypes.finfo(dtype)
        return np.array(limits.min if low else limits.max, dtype)[()]
    return np.array(-np.inf if low else np.inf, dtype)[()]


# --- sum ------------------------------------------------------------------------------------------------------------

def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The sum over ``axes``, in the operand's dtype.

    Args:
      operand: an array of numbers.
      axes: the axes that are summed and removed.

    Raises:
      TypeError: for booleans (``jnp.sum`` counts them).
      ValueError: when ``axes`` are out of range or named twice.
    """
    out = reduce_sum_p.bind(operand, axes=_axes("reduce_sum", axes, operand), out_sharding=None)
    return laid_out(out, out_sharding, "reduce_sum")


def _sum_transpose(ct: Any, x: Any, *, axes: Any, out_sharding: Any) -> Any:
    return [spread_back(ct, x.aval.shape, axes)]


_reduction(reduce_sum_p, NUMERIC, lambda dtype, a, b: hlo.add(a, b), lambda dtype: identity_of("add", dtype))
deflinear(reduce_sum_p, _sum_transpose)


# --- product --------------------------------------------------------------------------------------------------------

reduce_prod_p = Primitive("reduce_prod")


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """The product over ``axes``, in the operand's dtype. Arguments and errors as for :func:`reduce_sum`.

    The derivative is exact where elements are zero.
    """
    return reduce_prod_p.bind(operand, axes=_axes("reduce_prod", axes, operand))


def _prod_jvp(primals: Any, tangents: Any, *, axes: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = reduce_prod_p.bind(x, axes=axes)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    return out, _prod_tangent(x, t, axes)


def _prod_tangent(x: Any, t: Any, axes: Any) -> Any:
    """The derivative of the product: halves are multiplied again and again, so that nothing is divided by."""
    shape = typeof(x).shape
    for axis in axes:
        n = shape[axis]
        if n == 0:
            return Zero(typeof(reduce_prod_p.bind(x, axes=axes)).to_tangent_aval())
        while n > 1:
            half = n // 2
            (x1, t1), (x2, t2) = [[slice_along(v, shape, axis, a, a + half) for v in (x, t)] for a in (0, half)]
            odd = [slice_along(v, shape, axis, 2 * half, n) for v in (x, t)] if n % 2 else None
            x, t = mul(x1, x2), add_tangents(mul(t1, x2), mul(x1, t2))
            if odd is not None:
                x, t = (concatenate([v, w], axis) for v, w in zip((x, t), odd, strict=True))
            n -= half
            shape = (*shape[:axis], n, *shape[axis + 1:])
    return reduce_sum_p.bind(t, axes=axes, out_sharding=None)


_reduction(reduce_prod_p, NUMERIC, lambda dtype, a, b: hlo.multiply(a, b), lambda dtype: identity_of("mul", dtype))
rules.primitive_jvps[reduce_prod_p] = _prod_jvp


# --- extrema --------------------------------------------------------------------------------------------------------

reduce_max_p = Primitive("reduce_max")
reduce_min_p = Primitive("reduce_min")


def reduce_max(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The largest element over ``axes``: NaN if there is one; of nothing the least value of the dtype.

    Complex numbers are compared by real and then by imaginary part. The derivative is shared equally between equal
    extremes. Arguments and errors as for :func:`reduce_sum`.
    """
    return reduce_max_p.bind(operand, axes=_axes("reduce_max", axes, operand))


def reduce_min(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The smallest element over ``axes``: NaN if there is one; of nothing the largest value of the dtype.

    As :func:`reduce_max` otherwise.
    """
    return reduce_min_p.bind(operand, axes=_axes("reduce_min", axes, operand))


def combine_extremum(name: str, dtype: Any, a: Any, b: Any) -> Any:
    """The builder of ``max`` and ``min``, lexicographic for complex numbers."""
    if category(dtype) != COMPLEX:
        return hlo.maximum(a, b) if name == "max" else hlo.minimum(a, b)
    re_a, re_b = hlo.real(a), hlo.real(b)
    direction = "GT" if name == "max" else "LT"
    by_real = hlo.compare(re_a, re_b, direction)
    by_imag = hlo.compare(hlo.imag(a), hlo.imag(b), direction)
    return hlo.select(hlo.select(hlo.compare(re_a, re_b, "EQ"), by_imag, by_real), a, b)


def _extremum(prim: Primitive, name: str) -> None:
    def jvp(primals: Any, tangents: Any, *, axes: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, axes=axes)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        shape = typeof(x).shape
        mask = convert(eq_p.bind(x, spread_back(out, shape, axes)), typeof(t).dtype)
        count = reduce_sum_p.bind(mask, axes=axes, out_sharding=None)
        total = reduce_sum_p.bind(mul(t, mask), axes=axes, out_sharding=None)
        return out, div(total, count)

    _reduction(prim, ANY, functools.partial(combine_extremum, name), functools.partial(identity_of, name))
    rules.primitive_jvps[prim] = jvp


_extremum(reduce_max_p, "max")
_extremum(reduce_min_p, "min")


# --- logical reductions ---------------------------------------------------------------------------------------------

reduce_and_p = Primitive("reduce_and")
reduce_or_p = Primitive("reduce_or")
reduce_xor_p = Primitive("reduce_xor")


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Over ``axes``, whether all elements are true; the bitwise "and" of integers.

    Raises:
      TypeError: for other dtypes than booleans and integers.
    """
    return reduce_and_p.bind(operand, axes=_axes("reduce_and", axes, operand))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Over ``axes``, whether an element is true; the bitwise "or" of integers. Errors as for :func:`reduce_and`."""
    return reduce_or_p.bind(operand, axes=_axes("reduce_or", axes, operand))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Over ``axes``, whether the number of true elements is odd; the bitwise "xor" of integers.

    Errors as for :func:`reduce_and`.
    """
    return reduce_xor_p.bind(operand, axes=_axes("reduce_xor", axes, operand))


for _prim, _name, _build in ((reduce_and_p, "and", hlo.and_), (reduce_or_p, "or", hlo.or_),
                             (reduce_xor_p, "xor", hlo.xor)):
    _reduction(_prim, BITS, lambda dtype, a, b, build=_build: build(a, b), functools.partial(identity_of, _name),
               "takes booleans or integers")
    zero_derivative(_prim)


# --- the place of an extremum ---------------------------------------------------------------------------------------

argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first largest element along ``axis``; that of the first NaN if there is one.

    Args:
      operand: an array of real numbers or booleans.
      axis: the axis that is searched and removed.
      index_dtype: the integer dtype of the result.

    Raises:
      TypeError: for complex numbers, or if ``index_dtype`` is not an integer dtype.
      ValueError: if the axis is out of range or has size zero.
    """
    return _place(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first smallest element along ``axis``; arguments and errors as for :func:`argmax`."""
    return _place(argmin_p, operand, axis, index_dtype)


def _place(prim: Primitive, operand: Any, axis: Any, index_dtype: Any) -> Any:
    if type(axis) is not int or axis < 0:
        axis = dims.canonical_axis(operator.index(axis), len(typeof(operand).shape), prim.name)
    return prim.bind(operand, axes=(axis,), index_dtype=dtypes.requested_dtype(index_dtype, prim.name))


def _place_abstract(name: str, x: Any, *, axes: Any, index_dtype: Any) -> Any:
    if category(x.dtype) not in ANY - {COMPLEX}:
        check_category(name, ANY - {COMPLEX}, x.dtype)
    if category(index_dtype) not in INTEGERS:
        raise TypeError(f"{name}: index_dtype must be an integer dtype, got {index_dtype}")
    check_axes(name, x, axes)
    (axis,) = axes
    if dims.is_zero(x.shape[axis]):
        raise ValueError(f"{name}: axis {axis} of the operand of shape {x.shape} has size zero: nothing can be found "
                         "along it")
    return ShapedArray(reduced_shape(x.shape, axes), index_dtype)


def _place_lower(name: str, ctx: Any, x: Any, *, axes: Any, index_dtype: Any) -> Any:
    """The least index at which the extremum, or NaN, is found: two passes that vectorise."""
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    (axis,) = axes
    extreme = hlo.reduce([x], [hlo.scalar_constant(identity_of(name, aval.dtype), aval.dtype)], axes,
                         functools.partial(combine_extremum, name, aval.dtype))[0]
    kept = [d for d in range(len(aval.shape)) if d != axis]
    found = hlo.compare(x, hlo.broadcast_in_dim(extreme, aval, kept), "EQ")
    if category(aval.dtype) == FLOAT:
        found = hlo.or_(found, hlo.compare(x, x, "NE"))
    narrow = np.dtype(np.int32) if dims.is_static(aval.shape[axis]) and aval.shape[axis] < 2**31 else out.dtype
    places = aval.update(dtype=narrow)
    last = identity_of("min", narrow)
    candidates = hlo.select(found, hlo.iota(places, axis), hlo.full(last, aval.shape, narrow))
    first = hlo.reduce([candidates], [hlo.scalar_constant(last, narrow)], axes, hlo.minimum)[0]
    return [hlo.convert(first, out)]


def _place_batch(prim: Primitive, args: Any, batch_dims: Any, *, axes: Any, index_dtype: Any) -> Any:
    moved, out_dim = batched_axes(batch_dims[0], axes)
    return prim.bind(args[0], axes=moved, index_dtype=index_dtype), out_dim


for _prim, _name in ((argmax_p, "max"), (argmin_p, "min")):
    _prim.def_abstract_eval(functools.partial(_place_abstract, _prim.name))
    register_lowering(_prim, functools.partial(_place_lower, _name))
    zero_derivative(_prim)
    rules.primitive_batchers[_prim] = functools.partial(_place_batch, _prim)

__all__ = ["argmax", "argmax_p", "argmin", "argmin_p", "batched_axes", "check_axes", "combine_extremum", "identity_of",
           "reduce_and", "reduce_and_p", "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p",
           "reduce_or", "reduce_or_p", "reduce_prod", "reduce_prod_p", "reduce_sum", "reduce_sum_p", "reduce_xor",
           "reduce_xor_p", "reduced_shape", "spread_back"]
