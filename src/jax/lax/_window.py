"""Reductions over windows that slide over an array."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._ground.families import ANY, NUMERIC, check_category, constant
from jax._ground.structural import broadcast_to_axis, deflinear, move_axis
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._transforms.jvp import jvp_flat
from jax.lax import _monoids as monoids
from jax.lax._join import concatenate
from jax.lax._reduce import combine_extremum, identity_of
from jax.lax._shape import expand_dims
from jax.lax._slice import insert, pad, slice
from jax.lax._windows import (
    canonical_pairs,
    pads_of_transpose,
    padtype_to_pads,
    positive,
    window_counts,
)
from jax.tree_util import tree_unflatten

reduce_window_p = Primitive("reduce_window", multiple_results=True)
reduce_window_p.abstract_cache = None


def reduce_window(operand: Any, init_value: Any, computation: Callable[[Any, Any], Any],
                  window_dimensions: Sequence[int], window_strides: Sequence[int] | None = None,
                  padding: str | Sequence[tuple[int, int]] = "VALID", base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None) -> Any:
    """Reduces every window of an array with a function of two arguments.

    Args:
      operand: an array or a pytree of arrays of one shape, which are reduced together.
      init_value: scalars in the same structure, with which each reduction starts; neutral elements of the computation.
        Others may also enter for elements of the padding, depending on the platform.
      computation: ``(accumulated, element) -> accumulated`` on scalars in that structure, associative and commutative.
      window_dimensions: the size of the windows along each axis.
      window_strides: how far windows are apart (1).
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"`` or (before, after) for each axis.
      base_dilation: how far the elements of the operand are spread apart, with ``init_value`` between them (1).
      window_dilation: how far the elements of a window are apart (1).

    Sums from zero, and maxima and minima from the least and largest number, have primitives of their own, and of
    maximal elements of a window the first gets the derivative. Other computations have derivatives too, by way of a
    program with an operation for each element of the window.

    Raises:
      TypeError: when the arguments' lengths do not fit the rank or entries are not positive.
      ValueError: when structures differ, or initial values are not scalars.
    """
    xs, inits, tree = monoids.matched("reduce_window", operand, init_value)
    avals = [typeof(x) for x in xs]
    params = window_params("reduce_window", avals[0].shape, window_dimensions, window_strides, padding, base_dilation,
                           window_dilation)
    closed = None
    if len(xs) == 1 and tree.num_nodes == 1:
        name = monoids.known_function(computation)
        if name is None:
            closed = monoids.traced("reduce_window", computation, avals, tree)
            name = monoids.known_jaxpr(closed)
        prim = _KNOWN.get(name) if name is not None else None
        dtype = avals[0].dtype
        if prim is not None and name is not None and not (name == "add" and dtype == np.bool_):
            if monoids.is_identity(name, inits[0], dtype):
                return prim.bind(xs[0], **params)
    if closed is None:
        closed = monoids.traced("reduce_window", computation, avals, tree)
    return tree_unflatten(tree, reduce_window_p.bind(*xs, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts),
                                                     **params))


def window_params(op: str, shape: Any, window: Any, strides: Any, padding: Any, base_dilation: Any,
                  window_dilation: Any) -> dict[str, Any]:
    """The parameters that reductions over windows share, complete and checked."""
    rank = len(shape)
    window = positive(op, "window_dimensions", window, rank, f"axes of the operand of shape {shape}")
    strides = positive(op, "window_strides", strides, rank, "axes", 1)
    base = positive(op, "base_dilation", base_dilation, rank, "axes", 1)
    dilation = positive(op, "window_dilation", window_dilation, rank, "axes", 1)
    if isinstance(padding, str):
        reach = [dims.dilate_dim(w, d) for w, d in zip(window, dilation, strict=True)]
        padding = tuple(padtype_to_pads(shape, reach, strides, padding))  # whatever base_dilation is
    else:
        padding = canonical_pairs(op, padding, rank, "axes")
    return {"window_dimensions": window, "window_strides": strides, "padding": padding, "base_dilation": base,
            "window_dilation": dilation}


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int],
                              window_strides: Sequence[int], padding: Sequence[tuple[int, int]],
                              base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> tuple[int, ...]:
    """The shape of the result of :func:`reduce_window` with these arguments."""
    p = window_params("reduce_window", tuple(operand_shape), window_dimensions, window_strides, padding, base_dilation,
                      window_dilation)
    return out_shape(tuple(operand_shape), **p)


def out_shape(shape: Any, *, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
              window_dilation: Any) -> tuple[Any, ...]:
    return window_counts(shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)


def check_window(op: str, x: Any, window: Any, padding: Any) -> None:
    if len(window) != len(x.shape) or len(padding) != len(x.shape):
        raise TypeError(f"{op}: the operand of shape {x.shape} needs {len(x.shape)} window dimensions and pairs of "
                        f"padding, got {window} and {padding}")


def build(ctx: Any, xs: Any, inits: Any, combine: Callable[..., Any], *, window_dimensions: Any, window_strides: Any,
          padding: Any, base_dilation: Any, window_dilation: Any) -> list[Any]:
    return hlo.reduce_window(xs, inits, ctx.avals_out, combine, window=window_dimensions, strides=window_strides,
                             padding=padding, base_dilation=base_dilation, window_dilation=window_dilation)


def batched_window(d: int, *, window_dimensions: Any, window_strides: Any, padding: Any, **dilations: Any,
                   ) -> dict[str, Any]:
    """The parameters with a window of one element along the mapped axis ``d``."""
    out = {"window_dimensions": insert(window_dimensions, d, 1), "window_strides": insert(window_strides, d, 1),
           "padding": insert(padding, d, (0, 0))}
    out.update({k: insert(v, d, 1) for k, v in dilations.items()})
    return out


# --- any computation ------------------------------------------------------------------------------------------------

def _split(args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    n = len(args) // 2
    return args[:n], args[n:]


def _abstract(*avals: Any, jaxpr: Any, consts: Any, **params: Any) -> Any:
    xs, _ = _split(avals)
    for x in xs:
        if x.shape != xs[0].shape:
            raise TypeError("reduce_window: all operands must have one shape, got "
                            f"{', '.join(str(a.shape) for a in xs)}")
    check_window("reduce_window", xs[0], params["window_dimensions"], params["padding"])
    shape = out_shape(xs[0].shape, **params)
    return [ShapedArray(shape, x.dtype) for x in xs]


def _lower(ctx: Any, *args: Any, jaxpr: Any, consts: Any, **params: Any) -> Any:
    xs, inits = _split(args)
    return build(ctx, xs, inits, monoids.emit_computation(ctx, ClosedJaxpr(jaxpr, consts)), **params)


def each_window(x: Any, fill: Any, *, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
                window_dilation: Any) -> list[Any]:
    """For each place in a window the array of what all windows have there. ``fill`` is the padding (rank 0)."""
    config = [(low, high, b - 1) for (low, high), b in zip(padding, base_dilation, strict=True)]
    counts = window_counts(typeof(x).shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    if any(c != (0, 0, 0) for c in config):
        x = pad(x, fill, config)
    out = []
    for place in itertools.product(*map(range, window_dimensions)):
        start = [k * d if c else 0 for k, d, c in zip(place, window_dilation, counts, strict=True)]
        stop = [s + (c - 1) * by + 1 if c else s for s, c, by in zip(start, counts, window_strides, strict=True)]
        out.append(slice(x, start, stop, window_strides))
    return out


def _by_folding(closed: ClosedJaxpr, params: dict[str, Any], *args: Any) -> list[Any]:
    xs, inits = _split(args)
    stacked = [concatenate([expand_dims(w, (0,)) for w in each_window(x, v, **params)], 0)
               for x, v in zip(xs, inits, strict=True)]
    return monoids.fold(closed, stacked, inits)


def _jvp(primals: Any, tangents: Any, *, jaxpr: Any, consts: Any, **params: Any) -> Any:
    outs = reduce_window_p.bind(*primals, jaxpr=jaxpr, consts=consts, **params)
    if all(type(t) is Zero for t in tangents):
        return outs, [Zero.from_primal_value(o) for o in outs]
    closed = ClosedJaxpr(jaxpr, consts)
    _, out_tangents = jvp_flat(functools.partial(_by_folding, closed, params), primals, tangents)
    return outs, out_tangents


def _batch(args: Any, batch_dims: Any, *, jaxpr: Any, consts: Any, **params: Any) -> Any:
    (xs, inits), (x_dims, init_dims) = _split(args), _split(batch_dims)
    if any(d is not None for d in init_dims):
        raise NotImplementedError("reduce_window: an initial value of its own for each example of a vmap is not "
                                  "supported; start from a common one and apply the computation once more")
    at = next(d for d in x_dims if d is not None)
    size = next(typeof(x).shape[d] for x, d in zip(xs, x_dims, strict=True) if d is not None)
    xs = [broadcast_to_axis(x, size, at) if d is None else move_axis(x, d, at)
          for x, d in zip(xs, x_dims, strict=True)]
    outs = reduce_window_p.bind(*xs, *inits, jaxpr=jaxpr, consts=consts, **batched_window(at, **params))
    return outs, [at] * len(outs)


reduce_window_p.def_abstract_eval(_abstract)
register_lowering(reduce_window_p, _lower, cacheable=False)
rules.primitive_jvps[reduce_window_p] = _jvp
rules.primitive_batchers[reduce_window_p] = _batch


# --- sums and extrema -----------------------------------------------------------------------------------------------

def _family(name: str, accepted: frozenset[str], monoid: str, combine: Callable[..., Any]) -> Primitive:
    """A reduction over windows of one operand. ``combine(dtype, a, b)`` builds the operation on scalars."""
    prim = Primitive(name)

    def abstract(x: Any, **params: Any) -> Any:
        check_category(name, accepted, x.dtype)
        check_window(name, x, params["window_dimensions"], params["padding"])
        return ShapedArray(out_shape(x.shape, **params), x.dtype, x.weak_type)

    def lower(ctx: Any, x: Any, **params: Any) -> Any:
        dtype = ctx.avals_in[0].dtype
        init = hlo.scalar_constant(identity_of(monoid, dtype), dtype)
        return build(ctx, [x], [init], functools.partial(combine, dtype), **params)

    def batch(args: Any, batch_dims: Any, **params: Any) -> Any:
        (d,) = batch_dims
        return prim.bind(args[0], **batched_window(d, **params)), d

    prim.def_abstract_eval(abstract)
    register_lowering(prim, lower)
    rules.primitive_batchers[prim] = batch
    return prim


def _sum_transpose(ct: Any, x: Any, *, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
                   window_dilation: Any) -> Any:
    """The windows that each element was in are themselves a window over the cotangent."""
    config = []
    for n, out, window, stride, pads, base, dilation in zip(
            x.aval.shape, typeof(ct).shape, window_dimensions, window_strides, padding, base_dilation, window_dilation,
            strict=True):
        config.append((*pads_of_transpose(n, out, window, stride, pads, base, dilation), stride - 1))
    ones = (1,) * len(config)
    return [reduce_window_sum_p.bind(
        pad(ct, constant(typeof(ct).dtype, 0), config), window_dimensions=window_dimensions,
        window_strides=base_dilation, padding=((0, 0),) * len(config), base_dilation=ones,
        window_dilation=window_dilation)]


reduce_window_sum_p = _family("reduce_window_sum", NUMERIC, "add", lambda dtype, a, b: hlo.add(a, b))
reduce_window_max_p = _family("reduce_window_max", ANY, "max", functools.partial(combine_extremum, "max"))
reduce_window_min_p = _family("reduce_window_min", ANY, "min", functools.partial(combine_extremum, "min"))
deflinear(reduce_window_sum_p, _sum_transpose)
_KNOWN = {"add": reduce_window_sum_p, "max": reduce_window_max_p, "min": reduce_window_min_p}

__all__ = ["reduce_window", "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p",
           "reduce_window_shape_tuple", "reduce_window_sum_p"]
