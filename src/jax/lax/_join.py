"""Operations that put arrays together and take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base._jaxlib import xla
from jax._ground.structural import broadcast_to_axis, deflinear, instantiate_zeros, move_axis, sum_axes
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonical_axis, canonicalize_shape
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal
from jax._lowering import hlo
from jax._lowering.rules import extended_by_batching, fusible, register_lowering, structural
from jax.lax._shape import reshape_p
from jax.lax._slice import insert, slice_p

_Array = xla.Array


def _one_dtype(op: str, avals: Sequence[Any]) -> None:
    dtype = avals[0].dtype
    for a in avals:
        if a.dtype is not dtype and a.dtype != dtype:
            listed = ", ".join([str(a.dtype) for a in avals])
            raise TypeError(f"lax.{op} requires arguments of one dtype, got {listed}. Convert them with "
                            f"lax.convert_element_type, or use jnp.{op}, which promotes dtypes.")


def _batch_together(args: Sequence[Any], batch_dims: Sequence[Any]) -> tuple[list[Any], int]:
    """The operands with the mapped axis at one position in all of them, and that position."""
    at = next(b for b in batch_dims if b is not None)
    size = next(typeof(x).shape[b] for x, b in zip(args, batch_dims, strict=True) if b is not None)
    out = [broadcast_to_axis(x, size, at) if b is None else move_axis(x, b, at)
           for x, b in zip(args, batch_dims, strict=True)]
    return out, at


# --- concatenate ----------------------------------------------------------------------------------------------------

def concatenate(operands: Any, dimension: int) -> Any:
    """The ``operands`` one after the other along ``dimension``; their other sizes, and their dtypes, are equal.

    Args:
      operands: a sequence of arrays of one rank, or an array, whose slices along its first axis are joined.
      dimension: an axis of the operands; negative ones count from the end.

    Raises:
      ValueError: without operands, or for an axis that does not exist.
      TypeError: if ranks, other sizes or dtypes differ.
    """
    if isinstance(operands, _Array):
        operands = unstack(operands)
    if len(operands) == 0:
        raise ValueError("concatenate: at least one operand is needed")
    if type(dimension) is not int or dimension < 0:
        dimension = canonical_axis(dimension, len(typeof(operands[0]).shape), "concatenate", "dimension")
    if len(operands) == 1 and isinstance(operands[0], _Array):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=dimension)


concatenate_p = Primitive("concatenate")


def _concatenate_abstract(*avals: Any, dimension: int) -> Any:
    shape = avals[0].shape
    _one_dtype("concatenate", avals)
    canonical_axis(dimension, len(shape), "concatenate", "dimension")
    total: Any = 0
    before, after = shape[:dimension], shape[dimension + 1:]
    for a in avals:
        s = a.shape
        if len(s) != len(shape) or s[:dimension] != before or s[dimension + 1:] != after:
            listed = ", ".join([str(a.shape) for a in avals])
            differ = "ranks differ" if len(s) != len(shape) else "sizes differ along axis " + str(next(
                i for i in range(len(s)) if i != dimension and s[i] != shape[i]))
            raise TypeError(f"concatenate: along dimension {dimension} all other sizes must be equal, but {differ}: "
                            f"got shapes {listed}")
        total = total + s[dimension]
    return ShapedArray((*before, total, *after), avals[0].dtype, all([a.weak_type for a in avals]))


def _concatenate_transpose(ct: Any, *args: Any, dimension: int) -> list[Any]:
    shape = typeof(ct).shape
    out, start = [], 0
    for x in args:
        linear = type(x) is UndefinedPrimal
        limit = start + (x.aval if linear else typeof(x)).shape[dimension]
        out.append(slice_along(ct, shape, dimension, start, limit) if linear else None)
        start = limit
    return out


def slice_along(x: Any, shape: Any, axis: int, start: Any, limit: Any) -> Any:
    """``x[start:limit]`` along ``axis``."""
    return slice_p.bind(x, start_indices=insert((0,) * (len(shape) - 1), axis, start),
                        limit_indices=(*shape[:axis], limit, *shape[axis + 1:]), strides=None)


def _concatenate_batch(args: Any, batch_dims: Any, *, dimension: int) -> Any:
    args, at = _batch_together(args, batch_dims)
    return concatenate_p.bind(*args, dimension=dimension + (dimension >= at)), at


concatenate_p.def_abstract_eval(_concatenate_abstract)
register_lowering(concatenate_p, lambda ctx, *xs, dimension: [hlo.concatenate(xs, dimension)])
fusible[concatenate_p] = 1
structural["concatenate"] = concatenate_p
deflinear(concatenate_p, _concatenate_transpose)
rules.primitive_batchers[concatenate_p] = _concatenate_batch


# --- split ----------------------------------------------------------------------------------------------------------

def split(operand: Any, sizes: Sequence[Any], axis: int = 0) -> list[Any]:
    """``operand`` cut along ``axis`` in pieces of the given ``sizes``, which sum to its size there.

    Raises:
      ValueError: if they do not, or one is negative, or the axis does not exist.
    """
    return split_p.bind(operand, sizes=canonicalize_shape(sizes, "split: sizes"),
                        axis=canonical_axis(axis, len(typeof(operand).shape), "split"))


split_p = Primitive("split", multiple_results=True)


def _split_abstract(x: Any, *, sizes: Any, axis: int) -> Any:
    shape = x.shape
    for n in sizes:
        if type(n) is int and n < 0:
            raise ValueError(f"split: sizes must not be negative, got {sizes}")
    if not dims.dim_eq(sum(sizes), shape[axis]):
        raise ValueError(f"split: the sizes {sizes} sum to {sum(sizes)}, and axis {axis} of the operand of shape "
                         f"{shape} has size {shape[axis]}")
    return [ShapedArray((*shape[:axis], n, *shape[axis + 1:]), x.dtype, x.weak_type) for n in sizes]


def _split_lower(ctx: Any, x: Any, *, sizes: Any, axis: int) -> Any:
    shape = ctx.avals_in[0].shape
    out, start = [], 0
    for n in sizes:
        out.append(hlo.slice(x, insert((0,) * (len(shape) - 1), axis, start),
                             (*shape[:axis], start + n, *shape[axis + 1:])))
        start += n
    return out


def _split_transpose(cts: Any, x: Any, *, sizes: Any, axis: int) -> Any:
    return [concatenate_p.bind(*map(instantiate_zeros, cts), dimension=axis)]


def _split_batch(args: Any, batch_dims: Any, *, sizes: Any, axis: int) -> Any:
    (b,) = batch_dims
    return split_p.bind(args[0], sizes=sizes, axis=axis + (axis >= b)), [b] * len(sizes)


split_p.def_abstract_eval(_split_abstract)
register_lowering(split_p, _split_lower)
fusible[split_p] = 0
structural["split"] = split_p
deflinear(split_p, _split_transpose)
rules.primitive_batchers[split_p] = _split_batch


# --- stack ----------------------------------------------------------------------------------------------------------

def stack(operands: Any, axis: int = 0) -> Any:
    """The ``operands``, of one shape and dtype, along a new axis of the result.

    Raises:
      ValueError: without operands, or for an axis that does not exist.
      TypeError: if shapes or dtypes differ.
    """
    if isinstance(operands, _Array):
        operands = unstack(operands)
    if len(operands) == 0:
        raise ValueError("stack: at least one operand is needed")
    return stack_p.bind(*operands, axis=canonical_axis(axis, len(typeof(operands[0]).shape) + 1, "stack"))


stack_p = Primitive("stack")


def _stack_abstract(*avals: Any, axis: int) -> Any:
    shape = avals[0].shape
    _one_dtype("stack", avals)
    for a in avals:
        if a.shape != shape:
            raise TypeError(f"stack: operands must have one shape, got {', '.join([str(a.shape) for a in avals])}")
    return ShapedArray(insert(shape, axis, len(avals)), avals[0].dtype, all([a.weak_type for a in avals]))


def _stack_lower(ctx: Any, *xs: Any, axis: int) -> Any:
    one = ctx.avals_out[0].update(shape=insert(ctx.avals_in[0].shape, axis, 1))
    return [hlo.concatenate([hlo.reshape(x, one) for x in xs], axis)]


def _stack_transpose(ct: Any, *args: Any, axis: int) -> list[Any]:
    return [piece if type(x) is UndefinedPrimal else None
            for x, piece in zip(args, unstack_p.bind(ct, axis=axis), strict=True)]


def _stack_batch(args: Any, batch_dims: Any, *, axis: int) -> Any:
    args, at = _batch_together(args, batch_dims)
    at_out = at + (axis <= at)
    return stack_p.bind(*args, axis=axis + (axis > at)), at_out


stack_p.def_abstract_eval(_stack_abstract)
register_lowering(stack_p, _stack_lower)
fusible[stack_p] = 1
structural["stack"] = stack_p
deflinear(stack_p, _stack_transpose)
rules.primitive_batchers[stack_p] = _stack_batch


# --- unstack --------------------------------------------------------------------------------------------------------

def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of ``x`` along ``axis``, without that axis.

    Raises:
      ValueError: if the axis does not exist.
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, len(typeof(x).shape), "unstack")))


unstack_p = Primitive("unstack", multiple_results=True)


def _unstack_abstract(x: Any, *, axis: int) -> Any:
    shape = x.shape
    return [ShapedArray(shape[:axis] + shape[axis + 1:], x.dtype, x.weak_type)] * shape[axis]


def _unstack_lower(ctx: Any, x: Any, *, axis: int) -> Any:
    shape = ctx.avals_in[0].shape
    return [hlo.reshape(hlo.slice(x, insert((0,) * (len(shape) - 1), axis, i),
                                  (*shape[:axis], i + 1, *shape[axis + 1:])), aval)
            for i, aval in enumerate(ctx.avals_out)]


def _unstack_batch(args: Any, batch_dims: Any, *, axis: int) -> Any:
    (b,) = batch_dims
    outs = unstack_p.bind(args[0], axis=axis + (axis >= b))
    return outs, [b - (axis < b)] * len(outs)


unstack_p.def_abstract_eval(_unstack_abstract)
register_lowering(unstack_p, _unstack_lower)
fusible[unstack_p] = 0
structural["unstack"] = unstack_p
deflinear(unstack_p, lambda cts, x, axis: [stack_p.bind(*map(instantiate_zeros, cts), axis=axis)])
rules.primitive_batchers[unstack_p] = _unstack_batch


# --- tile -----------------------------------------------------------------------------------------------------------

def tile(operand: Any, reps: Sequence[Any]) -> Any:
    """``operand`` repeated ``reps[i]`` times along axis ``i``.

    Raises:
      TypeError: if there is not one number for each axis, or one is negative.
    """
    return tile_p.bind(operand, reps=canonicalize_shape(reps, "tile: reps"))


tile_p = Primitive("tile")


def _tile_abstract(x: Any, *, reps: Any) -> Any:
    if len(reps) != len(x.shape):
        raise TypeError(f"tile: reps must have one entry for each axis of the operand of shape {x.shape}, got {reps}; "
                        "jnp.tile also takes fewer or more")
    for r in reps:
        if type(r) is int and r < 0:
            raise TypeError(f"tile: reps must not be negative, got {reps}")
    return ShapedArray(tuple([n * r for n, r in zip(x.shape, reps, strict=True)]), x.dtype, x.weak_type)


def _interleaved(shape: Any, reps: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The shape with an axis for each repetition before the axis repeated, and where the original axes are in it."""
    sizes: list[Any] = []
    places = []
    for n, r in zip(shape, reps, strict=True):
        if not dims.is_one(r):
            sizes.append(r)
        places.append(len(sizes))
        sizes.append(n)
    return tuple(sizes), tuple(places)


def _tile_lower(ctx: Any, x: Any, *, reps: Any) -> Any:
    shape, places = _interleaved(ctx.avals_in[0].shape, reps)
    out = ctx.avals_out[0]
    return [hlo.reshape(hlo.broadcast_in_dim(x, out.update(shape=shape), places), out)]


def _tile_transpose(ct: Any, x: Any, *, reps: Any) -> Any:
    shape, places = _interleaved(x.aval.shape, reps)
    if len(shape) == len(places):
        return [ct]
    ct = reshape_p.bind(ct, new_sizes=shape, dimensions=None, sharding=None)
    return [sum_axes(ct, [i for i in range(len(shape)) if i not in places])]


def _tile_batch(args: Any, batch_dims: Any, *, reps: Any) -> Any:
    (b,) = batch_dims
    return tile_p.bind(args[0], reps=insert(reps, b, 1)), b


tile_p.def_abstract_eval(_tile_abstract)
register_lowering(tile_p, _tile_lower)
fusible[tile_p] = 0
deflinear(tile_p, _tile_transpose)
rules.primitive_batchers[tile_p] = _tile_batch

extended_by_batching.update({concatenate_p, split_p, stack_p, unstack_p, tile_p})
