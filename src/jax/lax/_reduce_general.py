"""Reductions with a computation written in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._ground.structural import broadcast_in_dim, broadcast_to_axis, move_axis, permute
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._transforms.jvp import jvp_flat
from jax.lax import _monoids as monoids
from jax.lax._reduce import (
    batched_axes,
    check_axes,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
    reduced_shape,
)
from jax.lax._shape import reshape
from jax.tree_util import tree_unflatten

reduce_p = Primitive("reduce", multiple_results=True)
reduce_p.abstract_cache = None
_REDUCTIONS = {"add": reduce_sum_p, "mul": reduce_prod_p, "max": reduce_max_p, "min": reduce_min_p,
               "and": reduce_and_p, "or": reduce_or_p, "xor": reduce_xor_p}


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int],
           out_sharding: Any = None) -> Any:
    """Reduces arrays over ``dimensions`` with a function of two arguments.

    Args:
      operands: an array or a pytree of arrays of one shape, which are reduced together.
      init_values: scalars in the same structure: what the reduction of no elements is.
      computation: ``(accumulated, element) -> accumulated`` on scalars in that structure. It must be associative and
        commutative, because the order of evaluation is not defined.
      dimensions: the axes that are removed.

    One array reduced by addition, multiplication, maximum, minimum or a logical operation is a reduction of that kind
    (:func:`reduce_sum` ...). Other computations have derivatives too, by way of a slower equivalent program.

    Raises:
      ValueError: when structures differ, initial values are not scalars, or ``dimensions`` do not fit.
      TypeError: when dtypes differ or the computation returns other types than it is given.

    >>> jax.lax.reduce(np.array([1., 2., 3.]), 0., lambda a, b: a + b, (0,))
    Array(6., dtype=float32)
    """
    xs, inits, tree = monoids.matched("reduce", operands, init_values)
    avals = [typeof(x) for x in xs]
    axes = dims.canonical_axes(tuple(dimensions), len(avals[0].shape), "reduce", "dimensions")
    name = closed = None
    if len(xs) == 1:
        name = monoids.known_function(computation) if tree.num_nodes == 1 else None
        if name is None:
            closed = monoids.traced("reduce", computation, avals, tree)
            name = monoids.known_jaxpr(closed)
        if name is not None:
            return tree_unflatten(tree, [_known(name, xs[0], inits[0], axes)])
    if closed is None:
        closed = monoids.traced("reduce", computation, avals, tree)
    return tree_unflatten(tree, reduce_p.bind(*xs, *inits, computation=computation, jaxpr=closed, dimensions=axes))


def _known(name: str, x: Any, init: Any, axes: tuple[int, ...]) -> Any:
    prim = _REDUCTIONS[name]
    total = prim.bind(x, axes=axes, **({"out_sharding": None} if prim is reduce_sum_p else {}))
    if monoids.is_identity(name, init, typeof(x).dtype):
        return total
    return monoids.operations[name](total, init)


def _split(args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    n = len(args) // 2
    return args[:n], args[n:]


def _abstract(*avals: Any, computation: Any, jaxpr: ClosedJaxpr, dimensions: Any) -> Any:
    xs, inits = _split(avals)
    if any(a.shape != xs[0].shape for a in xs):
        raise TypeError(f"reduce: all operands must have one shape, got {', '.join(str(a.shape) for a in xs)}")
    check_axes("reduce", xs[0], dimensions)
    shape = reduced_shape(xs[0].shape, dimensions)
    return [ShapedArray(shape, x.dtype, x.weak_type and v.weak_type) for x, v in zip(xs, inits, strict=True)]


def _lower(ctx: Any, *args: Any, computation: Any, jaxpr: ClosedJaxpr, dimensions: Any) -> Any:
    xs, inits = _split(args)
    return hlo.reduce(xs, inits, dimensions, monoids.emit_computation(ctx, jaxpr), ctx.avals_out)


def _by_folding(jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], *args: Any) -> list[Any]:
    xs, inits = _split(args)
    shape = typeof(xs[0]).shape
    kept = [d for d in range(len(shape)) if d not in dimensions]
    size = 1
    for d in dimensions:
        size *= shape[d]
    target = (size, *[shape[d] for d in kept])
    return monoids.fold(jaxpr, [reshape(permute(x, (*dimensions, *kept)), target) for x in xs], inits)


def _jvp(primals: Any, tangents: Any, *, computation: Any, jaxpr: ClosedJaxpr, dimensions: Any) -> Any:
    outs = reduce_p.bind(*primals, computation=computation, jaxpr=jaxpr, dimensions=dimensions)
    if all(type(t) is Zero for t in tangents):
        return outs, [Zero.from_primal_value(o) for o in outs]
    _, out_tangents = jvp_flat(lambda *args: _by_folding(jaxpr, dimensions, *args), primals, tangents)
    return outs, out_tangents


def _batch(args: Any, batch_dims: Any, *, computation: Any, jaxpr: ClosedJaxpr, dimensions: Any) -> Any:
    (xs, inits), (x_dims, init_dims) = _split(args), _split(batch_dims)
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)
    at = next((d for d in x_dims if d is not None), 0)
    xs = [broadcast_to_axis(x, size, at) if d is None else move_axis(x, d, at)
          for x, d in zip(xs, x_dims, strict=True)]
    moved, out_dim = batched_axes(at, dimensions)
    if all(d is None for d in init_dims):
        outs = reduce_p.bind(*xs, *inits, computation=computation, jaxpr=jaxpr, dimensions=moved)
        return outs, [out_dim] * len(outs)
    return _batch_inits(xs, inits, init_dims, jaxpr, moved, out_dim)


def _batch_inits(xs: Any, inits: Any, init_dims: Any, jaxpr: ClosedJaxpr, axes: Any, out_dim: int) -> Any:
    """An initial value for each example: the elements are folded, and it joins at the end."""
    shape = reduced_shape(typeof(xs[0]).shape, axes)
    spread = [broadcast_in_dim(v, shape, () if d is None else (out_dim,))
              for v, d in zip(inits, init_dims, strict=True)]
    outs = _by_folding(jaxpr, axes, *xs, *spread)
    return outs, [out_dim] * len(outs)


reduce_p.def_abstract_eval(_abstract)
register_lowering(reduce_p, _lower, cacheable=False)
rules.primitive_jvps[reduce_p] = _jvp
rules.primitive_batchers[reduce_p] = _batch
