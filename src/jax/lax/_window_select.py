"""The derivatives of maxima and minima over windows: what lies at the place of each window's extreme element."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._ground.families import NUMERIC, check_category, constant
from jax._ground.structural import broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax.lax._comparison import ge_p, le_p
from jax.lax._monoids import emit_computation
from jax.lax._reduce import identity_of
from jax.lax._select import select
from jax.lax._window import (
    batched_window,
    build,
    each_window,
    out_shape,
    reduce_window_max_p,
    reduce_window_min_p,
)
from jax.lax._windows import window_counts

# Windows of up to this many elements are handled by whole-array operations for each place in the window. On CPUs these
# are many times faster than XLA's loops over windows.
_UNROLLED = 49


def _ones(values: Any) -> bool:
    return all(v == 1 for v in values)


def gather_chosen(t: Any, x: Any, select_prim: Any, params: dict[str, Any]) -> Any:
    """The elements of ``t`` at the places of the extreme elements of the windows of ``x``; of equal ones the first."""
    if _ones(params["base_dilation"]) and _ones(params["window_dilation"]):
        return select_and_gather_add_p.bind(t, x, select_prim=select_prim, **params)
    dtype = typeof(x).dtype
    values = each_window(x, constant(dtype, identity_of(_monoid(select_prim), dtype)), **params)
    tangents = each_window(t, constant(typeof(t).dtype, 0), **params)
    best, chosen = values[0], tangents[0]
    for v, tv in zip(values[1:], tangents[1:], strict=True):
        keep = select_prim.bind(best, v)
        best, chosen = select(keep, best, v), select(keep, chosen, tv)
    return chosen


def _monoid(select_prim: Any) -> str:
    return "max" if select_prim is ge_p else "min"


def _direction(select_prim: Any) -> str:
    return "GE" if select_prim is ge_p else "LE"


def _places(shape: Sequence[int], window: Sequence[int], strides: Sequence[int], padding: Any) -> Any:
    """For each place in a window where the slice of the padded operand starts and ends, and how many windows there are.
    """
    ones = (1,) * len(shape)
    counts = window_counts(shape, window, strides, padding, ones, ones)
    starts = [[k if c else 0 for k, c in zip(place, counts, strict=True)]
              for place in itertools.product(*map(range, window))]
    ends = [[k + (c - 1) * s + 1 if c else 0 for k, c, s in zip(start, counts, strides, strict=True)]
            for start in starts]
    return starts, ends, counts


def _padded(x: Any, fill: Any, dtype: Any, padding: Any) -> Any:
    if all(p == (0, 0) for p in padding):
        return x
    return hlo.pad(x, hlo.scalar_constant(fill, dtype), [p[0] for p in padding], [p[1] for p in padding],
                   [0] * len(padding))


# --- select_and_gather_add ------------------------------------------------------------------------------------------

select_and_gather_add_p = Primitive("select_and_gather_add")


def _gather_abstract(t: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    check_category("select_and_gather_add", NUMERIC, t.dtype)
    if t.shape != x.shape:
        raise TypeError(f"select_and_gather_add: both operands must have one shape, got {t.shape} and {x.shape}")
    return ShapedArray(out_shape(x.shape, **params), t.dtype)


def _gather_lower(ctx: Any, t: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    t_aval, x_aval = ctx.avals_in
    least = identity_of(_monoid(select_prim), x_aval.dtype)
    direction = _direction(select_prim)
    window, strides, padding = (params[k] for k in ("window_dimensions", "window_strides", "padding"))
    if math.prod(window) > _UNROLLED or not (_ones(params["base_dilation"]) and _ones(params["window_dilation"])):
        def choose(a: Any, ta: Any, b: Any, tb: Any) -> Any:
            keep = hlo.compare(a, b, direction)
            return [hlo.select(keep, a, b), hlo.select(keep, ta, tb)]
        inits = [hlo.scalar_constant(least, x_aval.dtype), hlo.scalar_constant(0, t_aval.dtype)]
        both = ctx.replace(avals_out=[ctx.avals_out[0].update(dtype=x_aval.dtype), ctx.avals_out[0]])
        return [build(both, [x, t], inits, choose, **params)[1]]
    starts, ends, _ = _places(x_aval.shape, window, strides, padding)
    x, t = _padded(x, least, x_aval.dtype, padding), _padded(t, 0, t_aval.dtype, padding)
    best = chosen = None
    for start, end in zip(starts, ends, strict=True):
        v, tv = hlo.slice(x, start, end, strides), hlo.slice(t, start, end, strides)
        if best is None:
            best, chosen = v, tv
            continue
        keep = hlo.compare(best, v, direction)
        best, chosen = hlo.select(keep, best, v), hlo.select(keep, chosen, tv)
    return [chosen]


def _gather_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    t, x = primals
    out = select_and_gather_add_p.bind(t, x, **params)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, select_and_gather_add_p.bind(tangents[0], x, **params)


def _gather_transpose(ct: Any, t: Any, x: Any, *, base_dilation: Any, window_dilation: Any, **params: Any) -> Any:
    if type(x) is UndefinedPrimal:
        raise NotImplementedError("select_and_gather_add is not linear in its second operand")
    if type(ct) is Zero:
        return [Zero(t.aval), None]
    if not (_ones(base_dilation) and _ones(window_dilation)):
        raise NotImplementedError("select_and_gather_add with dilation has no transpose; the derivative of "
                                  "reduce_window takes another way in that case")
    return [select_and_scatter_add_p.bind(ct, x, **params), None]


def _aligned(args: Sequence[Any], batch_dims: Sequence[Any]) -> tuple[list[Any], int]:
    at = next(d for d in batch_dims if d is not None)
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)
    return [broadcast_to_axis(x, size, at) if d is None else move_axis(x, d, at)
            for x, d in zip(args, batch_dims, strict=True)], at


def _gather_batch(args: Any, batch_dims: Any, *, select_prim: Any, **params: Any) -> Any:
    args, at = _aligned(args, batch_dims)
    return select_and_gather_add_p.bind(*args, select_prim=select_prim, **batched_window(at, **params)), at


select_and_gather_add_p.def_abstract_eval(_gather_abstract)
register_lowering(select_and_gather_add_p, _gather_lower)
rules.primitive_jvps[select_and_gather_add_p] = _gather_jvp
rules.primitive_transposes[select_and_gather_add_p] = _gather_transpose
rules.primitive_batchers[select_and_gather_add_p] = _gather_batch


# --- select_and_scatter_add -----------------------------------------------------------------------------------------

select_and_scatter_add_p = Primitive("select_and_scatter_add")


def _scatter_abstract(source: Any, x: Any, *, select_prim: Any, window_dimensions: Any, window_strides: Any,
                      padding: Any) -> Any:
    check_category("select_and_scatter_add", NUMERIC, source.dtype)
    ones = (1,) * len(x.shape)
    expected = window_counts(x.shape, window_dimensions, window_strides, padding, ones, ones)
    if source.shape != expected:
        raise TypeError(f"select_and_scatter_add: the operand of shape {x.shape} has windows in the shape {expected}, "
                        f"and the source has shape {source.shape}")
    return ShapedArray(x.shape, source.dtype)


def _scatter_lower(ctx: Any, source: Any, x: Any, *, select_prim: Any, window_dimensions: Any, window_strides: Any,
                   padding: Any) -> Any:
    """XLA's operation, which wants both operands of one dtype."""
    aval, out = ctx.avals_in[1], ctx.avals_out[0]
    if aval.dtype != out.dtype:
        return _scatter_unrolled(ctx, source, x, select_prim=select_prim, window_dimensions=window_dimensions,
                                 window_strides=window_strides, padding=padding)
    return [hlo.select_and_scatter(x, source, hlo.scalar_constant(0, out.dtype), out,
                                   lambda a, b: hlo.compare(a, b, _direction(select_prim)), hlo.add,
                                   window=window_dimensions, strides=window_strides, padding=padding)]


def _scatter_lower_cpu(ctx: Any, source: Any, x: Any, *, window_dimensions: Any, **params: Any) -> Any:
    rule: Callable[..., Any] = _scatter_unrolled if math.prod(window_dimensions) <= _UNROLLED else _scatter_lower
    return rule(ctx, source, x, window_dimensions=window_dimensions, **params)


def _scatter_unrolled(ctx: Any, source: Any, x: Any, *, select_prim: Any, window_dimensions: Any, window_strides: Any,
                      padding: Any) -> Any:
    """First the number of the place that each window chooses, then a sum over the places."""
    aval, out = ctx.avals_in[1], ctx.avals_out[0]
    direction, strides = _direction(select_prim), window_strides
    if not all(ctx.avals_in[0].shape):  # no windows
        return [hlo.full(0, out.shape, out.dtype)]
    starts, ends, counts = _places(aval.shape, window_dimensions, strides, padding)
    x = _padded(x, identity_of(_monoid(select_prim), aval.dtype), aval.dtype, padding)
    number = np.dtype(np.int32)
    best = chosen = None
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        v, here = hlo.slice(x, start, end, strides), hlo.full(i, counts, number)
        if best is None:
            best, chosen = v, here
            continue
        keep = hlo.compare(best, v, direction)
        best, chosen = hlo.select(keep, best, v), hlo.select(keep, chosen, here)
    (chosen,) = hlo.optimization_barrier([chosen])  # else it is computed anew for each place
    zeros, zero = hlo.full(0, counts, out.dtype), hlo.scalar_constant(0, out.dtype)
    padded = [n + low + high for n, (low, high) in zip(aval.shape, padding, strict=True)]
    total = None
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        part = hlo.select(hlo.compare(chosen, hlo.full(i, counts, number), "EQ"), source, zeros)
        part = hlo.pad(part, zero, start, [n - e for n, e in zip(padded, end, strict=True)], [s - 1 for s in strides])
        total = part if total is None else hlo.add(total, part)
    if any(p != (0, 0) for p in padding):
        total = hlo.pad(total, zero, [-low for low, _ in padding], [-high for _, high in padding], [0] * len(padding))
    return [total]


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    source, x = primals
    out = select_and_scatter_add_p.bind(source, x, **params)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, select_and_scatter_add_p.bind(tangents[0], x, **params)


def _scatter_transpose(ct: Any, source: Any, x: Any, **params: Any) -> Any:
    if type(x) is UndefinedPrimal:
        raise NotImplementedError("select_and_scatter_add is not linear in its second operand")
    if type(ct) is Zero:
        return [Zero(source.aval), None]
    ones = (1,) * len(typeof(x).shape)
    return [select_and_gather_add_p.bind(ct, x, base_dilation=ones, window_dilation=ones, **params), None]


def _scatter_batch(args: Any, batch_dims: Any, *, select_prim: Any, **params: Any) -> Any:
    args, at = _aligned(args, batch_dims)
    return select_and_scatter_add_p.bind(*args, select_prim=select_prim, **batched_window(at, **params)), at


select_and_scatter_add_p.def_abstract_eval(_scatter_abstract)
register_lowering(select_and_scatter_add_p, _scatter_lower)
register_lowering(select_and_scatter_add_p, _scatter_lower_cpu, platform="cpu")
rules.primitive_jvps[select_and_scatter_add_p] = _scatter_jvp
rules.primitive_transposes[select_and_scatter_add_p] = _scatter_transpose
rules.primitive_batchers[select_and_scatter_add_p] = _scatter_batch


# --- select_and_scatter: any selection, any sum ---------------------------------------------------------------------
# Nothing in this package makes it; programs that libraries build by hand can.

select_and_scatter_p = Primitive("select_and_scatter")
select_and_scatter_p.abstract_cache = None


def _general_abstract(x: Any, source: Any, init: Any, **params: Any) -> Any:
    ones = (1,) * len(x.shape)
    expected = window_counts(x.shape, params["window_dimensions"], params["window_strides"], params["padding"], ones, ones)
    if source.shape != expected or x.dtype != source.dtype:
        raise TypeError(f"select_and_scatter: the operand {x.str_short()} has windows in the shape {expected}, and the "
                        f"source is {source.str_short()}")
    return ShapedArray(x.shape, x.dtype)


def _general_lower(ctx: Any, x: Any, source: Any, init: Any, *, select_jaxpr: Any, select_consts: Any,
                   scatter_jaxpr: Any, scatter_consts: Any, window_dimensions: Any, window_strides: Any,
                   padding: Any) -> Any:
    select_fill, scatter_fill = (emit_computation(ctx, ClosedJaxpr(j, c)) for j, c in
                                 ((select_jaxpr, select_consts), (scatter_jaxpr, scatter_consts)))
    return [hlo.select_and_scatter(x, source, init, ctx.avals_out[0], select_fill, scatter_fill,
                                   window=window_dimensions, strides=window_strides, padding=padding)]


def _general_batch(args: Any, batch_dims: Any, *, window_dimensions: Any, window_strides: Any, padding: Any,
                   **params: Any) -> Any:
    if batch_dims[2] is not None:
        raise NotImplementedError("select_and_scatter: an initial value for each example of a vmap is not supported")
    (x, source), at = _aligned(args[:2], batch_dims[:2])
    windows = batched_window(at, window_dimensions=window_dimensions, window_strides=window_strides, padding=padding)
    return select_and_scatter_p.bind(x, source, args[2], **windows, **params), at


select_and_scatter_p.def_abstract_eval(_general_abstract)
register_lowering(select_and_scatter_p, _general_lower, cacheable=False)
rules.primitive_batchers[select_and_scatter_p] = _general_batch


# --- the jvp of maxima and minima -----------------------------------------------------------------------------------

def _extremum_jvp(prim: Primitive, select_prim: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = prim.bind(x, **params)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    return out, gather_chosen(t, x, select_prim, params)


for _prim, _select_prim in ((reduce_window_max_p, ge_p), (reduce_window_min_p, le_p)):
    rules.primitive_jvps[_prim] = functools.partial(_extremum_jvp, _prim, _select_prim)

__all__ = ["gather_chosen", "select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p"]
