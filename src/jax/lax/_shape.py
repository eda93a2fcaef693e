"""Operations that change the shape of one array without choosing among its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import tree_util
from jax._api.sharding_constraints import laid_out
from jax._base._jaxlib import xla
from jax._ground.structural import (
    broadcast_in_dim_p,
    deflinear,
    inverse_permutation,
    move_axis,
    permute,
    transpose_p,
)
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonical_axes, canonical_axis, canonicalize_shape
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, fusible, register_lowering, structural

_Array = xla.Array


# --- reshape --------------------------------------------------------------------------------------------------------

def reshape(operand: Any, new_sizes: Any, dimensions: Sequence[int] | None = None, *, out_sharding: Any = None) -> Any:
    """The elements of ``operand``, in row-major order, in the shape ``new_sizes``.

    Args:
      operand: an array.
      new_sizes: the new shape; its sizes multiply to the number of elements. Unlike ``jnp.reshape`` no size can be -1.
      dimensions: read the operand in this order of its axes instead (transpose, then reshape).
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      TypeError: if the numbers of elements differ, or a size is negative or traced.
    """
    shape = canonicalize_shape(new_sizes, "reshape: new_sizes")
    if dimensions is not None:
        dimensions = tuple(dimensions)
        if dimensions == tuple(range(len(dimensions))):
            dimensions = None
    if dimensions is None and isinstance(operand, _Array) and operand.shape == shape:
        return laid_out(operand, out_sharding, "reshape")
    out = reshape_p.bind(operand, new_sizes=shape, dimensions=dimensions, sharding=None)
    return out if out_sharding is None else laid_out(out, out_sharding, "reshape")


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Joins the axes from ``start_dimension`` up to, not including, ``stop_dimension`` (all following ones if None)."""
    shape = typeof(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(f"collapse: the range of dimensions [{start_dimension}, {stop_dimension}) of an operand of "
                         f"shape {shape} ends before it starts")
    return reshape(operand, (*shape[:start], dims.size_of(shape[start:stop]), *shape[stop:]))


reshape_p = Primitive("reshape")


def _reshape_abstract(x: Any, *dynamic: Any, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    for d in new_sizes:
        if type(d) is int and d < 0:
            raise TypeError(f"reshape: new_sizes must not be negative, got {new_sizes} for an operand of shape "
                            f"{x.shape}; jnp.reshape works out a size given as -1")
    if not dims.same_size(x.shape, new_sizes):
        raise TypeError(f"reshape: an operand of shape {x.shape} has {dims.size_of(x.shape)} elements and the new "
                        f"shape {new_sizes} has {dims.size_of(new_sizes)}")
    if dimensions is not None and sorted(dimensions) != list(range(len(x.shape))):
        raise TypeError(f"reshape: dimensions must be a permutation of the axes of the operand of shape {x.shape}, "
                        f"got {dimensions}")
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


def _reshape_lower(ctx: Any, x: Any, *dynamic: Any, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    if dimensions is not None:
        aval = ctx.avals_in[0]
        x = hlo.transpose(x, aval.update(shape=tuple([aval.shape[d] for d in dimensions])), dimensions)
    return [hlo.reshape(x, ctx.avals_out[0])]


def _reshape_transpose(ct: Any, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    shape = x.aval.shape
    if dimensions is None:
        return [reshape(ct, shape)]
    return [permute(reshape(ct, tuple([shape[d] for d in dimensions])), inverse_permutation(dimensions))]


def _reshape_batch(args: Any, batch_dims: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    x = move_axis(args[0], batch_dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *[d + 1 for d in dimensions])
    return reshape_p.bind(x, new_sizes=(typeof(x).shape[0], *new_sizes), dimensions=dimensions, sharding=None), 0


reshape_p.def_abstract_eval(_reshape_abstract)
register_lowering(reshape_p, _reshape_lower)
fusible[reshape_p] = 0
structural["reshape"] = reshape_p
deflinear(reshape_p, _reshape_transpose)
rules.primitive_batchers[reshape_p] = _reshape_batch


# --- squeeze --------------------------------------------------------------------------------------------------------

def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """``array`` without the axes ``dimensions``, which must have size 1 (negative ones count from the end).

    Raises:
      ValueError: if one of them has another size, does not exist or is named twice.
    """
    axes = canonical_axes(dimensions, len(typeof(array).shape), "squeeze")
    if not axes and isinstance(array, _Array):
        return array
    return squeeze_p.bind(array, dimensions=axes if len(axes) < 2 else tuple(sorted(axes)))


squeeze_p = Primitive("squeeze")


def _squeeze_abstract(x: Any, *, dimensions: Any) -> Any:
    shape = x.shape
    for d in dimensions:
        if not dims.is_one(shape[d]):
            raise ValueError(f"squeeze: only axes of size 1 can be dropped, and axis {d} of an operand of shape "
                             f"{shape} has size {shape[d]} (dimensions={dimensions})")
    return ShapedArray(tuple([n for i, n in enumerate(shape) if i not in dimensions]), x.dtype, x.weak_type)


def _squeeze_batch(args: Any, batch_dims: Any, *, dimensions: Any) -> Any:
    (b,) = batch_dims
    order = [i for i in range(typeof(args[0]).ndim) if i != b]
    dropped = tuple([order[d] for d in dimensions])
    return squeeze_p.bind(args[0], dimensions=dropped), b - sum([d < b for d in dropped])


squeeze_p.def_abstract_eval(_squeeze_abstract)
register_lowering(squeeze_p, lambda ctx, x, dimensions: [hlo.reshape(x, ctx.avals_out[0])])
fusible[squeeze_p] = 0
structural["squeeze"] = squeeze_p
deflinear(squeeze_p, lambda ct, x, dimensions: [reshape(ct, x.aval.shape)])
rules.primitive_batchers[squeeze_p] = _squeeze_batch


# --- broadcasting (the primitive itself belongs to the ground room) -------------------------------------------------

def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """``array`` with new axes of size 1 at the positions ``dimensions`` of the result.

    Raises:
      ValueError: if a position does not exist or is named twice.
    """
    shape = typeof(array).shape
    if type(dimensions) is not int and not len(dimensions) and isinstance(array, _Array):
        return array
    rank = len(shape) + (1 if type(dimensions) is int else len(dimensions))
    axes = canonical_axes(dimensions, rank, "expand_dims")
    kept = tuple([i for i in range(rank) if i not in axes])
    sizes = [1] * rank
    for i, d in zip(kept, shape, strict=True):
        sizes[i] = d
    return broadcast_in_dim_p.bind(array, shape=tuple(sizes), broadcast_dimensions=kept, sharding=None)


def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Sequence[int], *, out_sharding: Any = None) -> Any:
    """``operand`` repeated to fill ``shape``: its axis ``i`` becomes axis ``broadcast_dimensions[i]`` of the result.

    Axes of size 1 are stretched, axes of the result that no operand axis becomes are new.

    Raises:
      TypeError: if ``broadcast_dimensions`` do not increase, or a size is neither 1 nor that of the result's axis.
    """
    shape = canonicalize_shape(shape, "broadcast_in_dim: shape")
    if type(broadcast_dimensions) is not tuple:
        broadcast_dimensions = canonicalize_shape(broadcast_dimensions, "broadcast_in_dim: broadcast_dimensions")
    if isinstance(operand, _Array) and operand.shape == shape and broadcast_dimensions == tuple(range(len(shape))):
        return laid_out(operand, out_sharding, "broadcast_in_dim")
    out = broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=None)
    return out if out_sharding is None else laid_out(out, out_sharding, "broadcast_in_dim")


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """``operand`` repeated along new leading axes of the given ``sizes``."""
    sizes = canonicalize_shape(sizes, "broadcast: sizes")
    if not sizes and isinstance(operand, _Array):
        return laid_out(operand, out_sharding, "broadcast")
    shape = (*sizes, *typeof(operand).shape)
    out = broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=tuple(range(len(sizes), len(shape))),
                                  sharding=None)
    return out if out_sharding is None else laid_out(out, out_sharding, "broadcast")


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """``x`` with leading axes of size 1 until it has ``rank`` axes; an array of that rank or a higher one as it is."""
    shape = typeof(x).shape
    missing = rank - len(shape)
    if missing <= 0:
        return x
    return broadcast_in_dim_p.bind(x, shape=(1,) * missing + shape, broadcast_dimensions=tuple(range(missing, rank)),
                                   sharding=None)


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """``arr`` broadcast, under NumPy's rule, to the shape of ``like_arr``."""
    shape, target = typeof(arr).shape, typeof(like_arr).shape
    if shape == target and isinstance(arr, _Array):
        return arr
    first = len(target) - len(shape)
    if first < 0:
        raise ValueError(f"broadcast_like: an array of shape {shape} cannot be broadcast to the lower rank of {target}")
    return broadcast_in_dim_p.bind(arr, shape=target, broadcast_dimensions=tuple(range(first, len(target))),
                                   sharding=None)


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which ``shapes`` broadcast under NumPy's rule: aligned at the last axis, sizes equal or 1.

    Raises:
      ValueError: if they do not broadcast.
    """
    if not shapes:
        return ()
    canonical = [s if type(s) is tuple else canonicalize_shape(s, "broadcast_shapes: a shape") for s in shapes]
    out = dims.broadcast_shapes(canonical)
    if out is None:
        raise ValueError(f"Incompatible shapes for broadcasting: {', '.join(map(str, canonical))}. Counted from the "
                         "last axis, sizes must be equal or 1.")
    return out


# --- transpose (the primitive itself belongs to the ground room) ----------------------------------------------------

def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """``operand`` with its axes in another order: axis ``i`` of the result is axis ``permutation[i]``.

    Raises:
      TypeError: if ``permutation`` does not name every axis exactly once.
    """
    permutation = tuple(permutation)
    for i, p in enumerate(permutation):
        if type(p) is not int or p < 0:
            ndim = len(typeof(operand).shape)
            permutation = tuple([canonical_axis(p, ndim, "transpose", "permutation") for p in permutation])
        if p != i:
            return transpose_p.bind(operand, permutation=permutation)
    if isinstance(operand, _Array) and len(operand.shape) == len(permutation):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


# --- rev ------------------------------------------------------------------------------------------------------------

def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """``operand`` with the order of elements reversed along ``dimensions`` (negative ones count from the end)."""
    return rev_p.bind(operand, dimensions=canonical_axes(dimensions, len(typeof(operand).shape), "rev"))


rev_p = Primitive("rev")


def _rev_abstract(x: Any, *, dimensions: Any) -> Any:
    canonical_axes(dimensions, len(x.shape), "rev")
    return x


def _rev_batch(args: Any, batch_dims: Any, *, dimensions: Any) -> Any:
    (b,) = batch_dims
    return rev_p.bind(args[0], dimensions=tuple([d + (d >= b) for d in dimensions])), b


rev_p.def_abstract_eval(_rev_abstract)
register_lowering(rev_p, lambda ctx, x, dimensions: [hlo.reverse(x, dimensions)])
fusible[rev_p] = 0
structural["rev"] = rev_p
deflinear(rev_p, lambda ct, x, dimensions: [rev_p.bind(ct, dimensions=dimensions)])
rules.primitive_batchers[rev_p] = _rev_batch


# --- copy -----------------------------------------------------------------------------------------------------------

def _copy(x: Any) -> Any:
    """``x`` in a buffer of its own (evaluated eagerly), and as a value of its own in a program."""
    return copy_p.bind(x)


copy_p = Primitive("copy")
copy_p.def_abstract_eval(lambda x: x)
register_lowering(copy_p, lambda ctx, x: [x])
fusible[copy_p] = 0
deflinear(copy_p, lambda ct, x: [copy_p.bind(ct)])
rules.primitive_batchers[copy_p] = lambda args, batch_dims: (copy_p.bind(args[0]), batch_dims[0])


# --- optimization_barrier -------------------------------------------------------------------------------------------

def optimization_barrier(operand: Any) -> Any:
    """The tree ``operand`` unchanged; the compiler computes all of it before anything that uses the result.

    Nothing is fused, moved or shared across it. Works on its own leaves only: what is computed from ``operand`` itself
    is not held back.
    """
    leaves, tree = tree_util.tree_flatten(operand)
    return tree_util.tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)


def _barrier_jvp(primals: Any, tangents: Any) -> Any:
    outs = optimization_barrier_p.bind(*primals)
    return outs, _barrier_nonzero(tangents)


def _barrier_nonzero(values: Sequence[Any]) -> list[Any]:
    """The barrier between those values that are not symbolic zeros."""
    found = iter(optimization_barrier_p.bind(*[v for v in values if type(v) is not Zero]))
    return [v if type(v) is Zero else next(found) for v in values]


def _barrier_transpose(cts: Any, *args: Any) -> list[Any]:
    wanted = [ct if type(x) is UndefinedPrimal else Zero(typeof(x)) for ct, x in zip(cts, args, strict=True)]
    return [ct if type(x) is UndefinedPrimal else None
            for ct, x in zip(_barrier_nonzero(wanted), args, strict=True)]


optimization_barrier_p.def_abstract_eval(lambda *avals: list(avals))
register_lowering(optimization_barrier_p, lambda ctx, *xs: hlo.optimization_barrier(xs) if xs else [])
rules.primitive_jvps[optimization_barrier_p] = _barrier_jvp
rules.primitive_transposes[optimization_barrier_p] = _barrier_transpose
rules.primitive_batchers[optimization_barrier_p] = \
    lambda args, batch_dims: (optimization_barrier_p.bind(*args), list(batch_dims))

extended_by_batching.update({reshape_p, squeeze_p, broadcast_in_dim_p, transpose_p, rev_p, copy_p,
                             optimization_barrier_p})
