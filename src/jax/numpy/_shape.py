"""Changing the shape of one array: order of axes, new axes, broadcasting, reversing, rolling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.avals import typeof
from jax._language.dims import canonical_axes, canonical_axis, canonical_dim, canonicalize_shape
from jax._language.trace import Tracer
from jax.lax._shape import copy_p
from jax.numpy._creation import array, asarray
from jax.numpy._promotion import as_dtype, check_arraylike, promote_dtypes, shape_of, unwrap
from jax.numpy._promotion import broadcast_shapes as common_shape
from jax.numpy._promotion import broadcast_to as spread

_Array = xla.Array


# --- reshape --------------------------------------------------------------------------------------------------------

def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The elements of ``a`` in another shape.

    Args:
      a: an array or scalar.
      shape: an integer or a sequence of integers; one of them may be -1, and is then worked out.
      order: how elements are counted: ``"C"``, the last axis fastest, or ``"F"``, the first one.
      copy: whether the result is an array of its own even if nothing changes.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      TypeError: when the numbers of elements differ, or a size is traced.
      ValueError: for an unknown order.

    >>> import jax.numpy as jnp
    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if type(a) is not xla.ArrayImpl:
        check_arraylike("reshape", a)
        a = unwrap(a)
    if type(shape) is not tuple:
        shape = _sizes(shape)
    for d in shape:
        if type(d) is not int or d < 0:
            shape = _with_inferred(shape_of(a), shape)
            break
    if order != "C":
        return _reshape_ordered(a, shape, order)
    if copy and isinstance(a, _Array) and a.shape == shape:
        return copy_p.bind(a)
    if dims.size_of(shape_of(a)) != dims.size_of(shape):
        raise _cannot_reshape(shape_of(a), shape)
    return lax.reshape(a, shape, out_sharding=out_sharding)


def _sizes(shape: Any) -> Any:
    if isinstance(shape, (_Array, np.ndarray)) and not isinstance(shape, Tracer):
        shape = np.asarray(shape).tolist()
    return canonicalize_shape(shape, "reshape: shape")


def _with_inferred(have: tuple[Any, ...], shape: Sequence[Any]) -> tuple[Any, ...]:
    """``shape`` with the size given as -1 worked out."""
    sizes = [canonical_dim(d, "reshape: shape") for d in shape]
    unknown = [i for i, d in enumerate(sizes) if type(d) is int and d < 0]
    if not unknown:
        return tuple(sizes)
    if len(unknown) > 1 or sizes[unknown[0]] != -1:
        if len(unknown) > 1:
            raise ValueError(f"reshape: only one size can be -1, got shape {tuple(shape)}")
        raise TypeError(f"reshape: sizes must not be negative (but for one -1), got shape {tuple(shape)}")
    rest = dims.size_of([d for i, d in enumerate(sizes) if i != unknown[0]])
    total = dims.size_of(have)
    if (type(rest) is int and rest == 0) or (type(total) is type(rest) is int and total % rest):
        raise _cannot_reshape(have, tuple(shape))
    sizes[unknown[0]] = total // rest
    return tuple(sizes)


def _cannot_reshape(have: Any, shape: Any) -> TypeError:
    return TypeError(f"cannot reshape array of shape {tuple(have)} (size {dims.size_of(have)}) into shape {tuple(shape)} "
                     f"(size {dims.size_of(shape)})")


def _reshape_ordered(a: Any, shape: tuple[Any, ...], order: str) -> Any:
    if order == "F":
        if dims.size_of(shape_of(a)) != dims.size_of(shape):
            raise _cannot_reshape(shape_of(a), shape)
        return _reshape_columns(a, shape=shape)
    if order == "A":
        raise NotImplementedError("reshape: order='A' depends on the layout in memory, which is the compiler's; use 'C' or "
                                  "'F'")
    raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")


@composite(static_argnames=("shape",))
def _reshape_columns(a: Any, shape: tuple[Any, ...]) -> Any:
    rank = len(shape_of(a))
    turned = lax.reshape(lax.transpose(a, range(rank - 1, -1, -1)), shape[::-1])
    return lax.transpose(turned, range(len(shape) - 1, -1, -1))


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements of ``a`` in one dimension; see :func:`reshape` for ``order``."""
    if order == "K":
        raise NotImplementedError("ravel: order='K' depends on the layout in memory, which is the compiler's; use 'C' or "
                                  "'F'")
    check_arraylike("ravel", a)
    return reshape(a, (dims.size_of(shape_of(a)),), order, out_sharding=out_sharding)


# --- order of axes --------------------------------------------------------------------------------------------------

def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """``a`` with its axes in the order ``axes`` (a permutation of them), or reversed if None."""
    check_arraylike("transpose", a)
    rank = len(shape_of(a))
    if axes is None:
        return lax.transpose(a, range(rank - 1, -1, -1))
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if len(axes) != rank:
        raise TypeError(f"transpose: axes {axes} must name each of the {rank} axes of an array of shape {shape_of(a)} once")
    found = tuple([canonical_axis(x, rank, "transpose", "axes") for x in axes])
    if len(set(found)) != rank:
        raise TypeError(f"transpose: axes {axes} name an axis twice")
    return lax.transpose(a, found)


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """:func:`transpose` under the name of the array API standard."""
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """``x``, of rank 2 or higher, with the last two axes swapped."""
    check_arraylike("matrix_transpose", x)
    n = len(shape_of(x))
    if n < 2:
        raise ValueError(f"matrix_transpose: an array of at least two dimensions is needed, got shape {shape_of(x)}")
    return lax.transpose(x, (*range(n - 2), n - 1, n - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """``a`` with the axes ``axis1`` and ``axis2`` swapped."""
    check_arraylike("swapaxes", a)
    n = len(shape_of(a))
    i, j = canonical_axis(axis1, n, "swapaxes", "axis1"), canonical_axis(axis2, n, "swapaxes", "axis2")
    order = list(range(n))
    order[i], order[j] = j, i
    return lax.transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """``a`` with the axes ``source`` at the positions ``destination``; the others keep their order.

    Args:
      a: an array.
      source: an integer or a sequence of integers.
      destination: as many.

    Raises:
      ValueError: when the numbers differ or an axis does not exist.
    """
    check_arraylike("moveaxis", a)
    n = len(shape_of(a))
    source = (source,) if isinstance(source, (int, np.integer)) else tuple(source)
    destination = (destination,) if isinstance(destination, (int, np.integer)) else tuple(destination)
    if len(source) != len(destination):
        raise ValueError(f"moveaxis: source and destination must name as many axes, got {source} and {destination}")
    source = canonical_axes(source, n, "moveaxis", "source")
    destination = canonical_axes(destination, n, "moveaxis", "destination")
    order = [i for i in range(n) if i not in source]
    for to, at in sorted(zip(destination, source, strict=True)):
        order.insert(to, at)
    return lax.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """``a`` with ``axis`` moved before the axis that is at ``start``; :func:`moveaxis` is easier to read."""
    check_arraylike("rollaxis", a)
    n = len(shape_of(a))
    axis = canonical_axis(axis, n, "rollaxis")
    if not -n <= start <= n:
        raise ValueError(f"rollaxis: start {start} must lie in [{-n}, {n}]")
    start = start + n if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


# --- axes of size 1 -------------------------------------------------------------------------------------------------

def squeeze(a: Any, axis: Any = None) -> Any:
    """``a`` without its axes of size 1, or without the axes ``axis``, which must be such.

    Raises:
      ValueError: for an axis of another size.
    """
    check_arraylike("squeeze", a)
    if axis is None:
        axis = [i for i, n in enumerate(shape_of(a)) if dims.is_one(n)]
    elif isinstance(axis, (_Array, np.ndarray)):
        axis = tuple(np.atleast_1d(np.asarray(axis)).tolist())
    elif not isinstance(axis, (tuple, list, range)):
        axis = (axis,)
    if not axis and not isinstance(a, _Array):
        return asarray(a)
    return lax.squeeze(a, tuple(axis))


def expand_dims(a: Any, axis: Any) -> Any:
    """``a`` with new axes of size 1 at the positions ``axis`` (an integer or several) of the result."""
    check_arraylike("expand_dims", a)
    if isinstance(axis, (_Array, np.ndarray)):
        axis = tuple(np.atleast_1d(np.asarray(axis)).tolist())
    elif not isinstance(axis, (tuple, list, range)):
        axis = (axis,)
    if not axis and not isinstance(a, _Array):
        return asarray(a)
    return lax.expand_dims(a, axis)


def _atleast(name: str, arys: Sequence[Any], extend: Any) -> Any:
    if len(arys) == 1 and isinstance(arys[0], (list, tuple)):
        raise TypeError(f"{name}: arrays are needed, not a {type(arys[0]).__name__} of them; write {name}(*arrays), or "
                        "make one array with jnp.array")
    check_arraylike(name, *arys)
    out = [extend(asarray(a)) for a in arys]
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys: Any) -> Any:
    """Each array with at least one dimension; a list of them when several are given."""
    return _atleast("atleast_1d", arys, lambda a: a if a.ndim >= 1 else lax.reshape(a, (1,)))


def atleast_2d(*arys: Any) -> Any:
    """Each array with at least two dimensions, new ones in front; a list of them when several are given."""
    return _atleast("atleast_2d", arys, lambda a: a if a.ndim >= 2 else lax.broadcast_to_rank(a, 2))


def atleast_3d(*arys: Any) -> Any:
    """Each array with at least three dimensions; a list of them when several are given.

    Vectors of length n become arrays of shape (1, n, 1), matrices of shape (m, n) of shape (m, n, 1).
    """
    def extend(a: Any) -> Any:
        if a.ndim == 0:
            return lax.reshape(a, (1, 1, 1))
        if a.ndim == 1:
            return lax.expand_dims(a, (0, 2))
        return a if a.ndim >= 3 else lax.expand_dims(a, (2,))
    return _atleast("atleast_3d", arys, extend)


# --- broadcasting ---------------------------------------------------------------------------------------------------

def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """``array`` repeated to fill ``shape``: aligned at the last axis, its sizes are those of ``shape`` or 1.

    Raises:
      ValueError: when they are not.
    """
    check_arraylike("broadcast_to", array)
    shape = canonicalize_shape(shape, "broadcast_to: shape")
    have = shape_of(array)
    if len(have) > len(shape) or any([h != s and not dims.is_one(h) for h, s in zip(have[::-1], shape[::-1],
                                                                                   strict=False)]):
        raise ValueError(f"broadcast_to: an array of shape {have} cannot be broadcast to the shape {shape}")
    return spread(array, shape)


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which ``shapes`` (sequences of integers, or integers) broadcast under NumPy's rule.

    Raises:
      ValueError: when they do not.
    """
    return lax.broadcast_shapes(*[s if type(s) is tuple else canonicalize_shape(s, "broadcast_shapes") for s in shapes])


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """The arrays, each broadcast to the shape that they have together; a tuple.

    >>> import jax.numpy as jnp
    >>> [a.shape for a in jnp.broadcast_arrays(jnp.ones((3, 1)), jnp.ones((1, 4)))]
    [(3, 4), (3, 4)]
    """
    check_arraylike("broadcast_arrays", *args)
    if not args:
        return ()
    args = tuple([unwrap(x) for x in args])
    shape = common_shape("broadcast_arrays", [shape_of(x) for x in args])
    return tuple([asarray(spread(x, shape)) for x in args])


# --- reversing and rolling ------------------------------------------------------------------------------------------

def flip(m: Any, axis: Any = None) -> Any:
    """``m`` with the order of elements reversed along ``axis``, an integer or several; along all axes if None."""
    check_arraylike("flip", m)
    rank = len(shape_of(m))
    if axis is None:
        axes: Sequence[int] = range(rank)
    else:
        axes = canonical_axes((axis,) if not isinstance(axis, (tuple, list, range)) else axis, rank, "flip", "axis")
    return lax.rev(m, tuple(axes)) if axes else asarray(m)


def fliplr(m: Any) -> Any:
    """``m``, of rank 2 or higher, with axis 1 reversed."""
    return _flip_axis("fliplr", m, 1)


def flipud(m: Any) -> Any:
    """``m``, of rank 1 or higher, with axis 0 reversed."""
    return _flip_axis("flipud", m, 0)


def _flip_axis(name: str, m: Any, axis: int) -> Any:
    check_arraylike(name, m)
    if len(shape_of(m)) <= axis:
        raise ValueError(f"{name}: an array of at least {axis + 1} dimension{'s' * axis} is needed, got shape {shape_of(m)}")
    return lax.rev(m, (axis,))


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """``m`` rotated by ``k`` times 90 degrees in the plane of ``axes``, from the first towards the second."""
    check_arraylike("rot90", m)
    if len(axes) != 2:
        raise ValueError(f"rot90: axes must be two, got {axes}")
    i, j = canonical_axes(tuple(axes), len(shape_of(m)), "rot90", "axes")
    return _rot90(m, k=canonical_dim(k, "rot90: k") % 4, i=i, j=j)


@composite(static_argnames=("k", "i", "j"))
def _rot90(m: Any, k: int, i: int, j: int) -> Any:
    if k == 0:
        return asarray(m)
    if k == 2:
        return lax.rev(m, (i, j))
    order = list(range(len(shape_of(m))))
    order[i], order[j] = j, i
    if k == 1:
        return lax.transpose(lax.rev(m, (j,)), order)
    return lax.rev(lax.transpose(m, order), (j,))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """``a`` with its elements moved by ``shift`` places along ``axis``; those moved past the end come in at the start.

    Args:
      a: an array.
      shift: integers, possibly traced: one, or one for each axis.
      axis: an integer or several; with None the array is rolled as if it had one dimension.

    Raises:
      ValueError: when ``shift`` and ``axis`` do not go together.

    >>> import jax.numpy as jnp
    >>> jnp.roll(jnp.arange(5), 2)
    Array([3, 4, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a)
    shape = shape_of(a)
    if isinstance(shift, (tuple, list)) and any([isinstance(s, Tracer) for s in shift]):
        shift = array(shift)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape)
    axes = _roll_axes(axis, len(shape))
    if isinstance(shift, Tracer):
        return _roll_traced(a, shift, axes=axes)
    shifts = np.asarray(shift) if np.size(shift) else np.zeros(np.shape(shift), int)
    if shifts.dtype.kind not in "iu" or shifts.ndim > 1:
        raise TypeError(f"roll: shift must be an integer or a sequence of integers, got {shift!r}")
    pairs = np.broadcast_arrays(shifts, np.asarray(axes, int)) if shifts.ndim == 0 or len(axes) in (1, len(shifts)) or \
        len(shifts) == 1 else None
    if pairs is None:
        raise ValueError(f"roll: shift and axis must have as many entries, got {shift} and {axis}")
    total: dict[int, int] = {}
    for s, i in zip(np.atleast_1d(pairs[0]).tolist(), np.atleast_1d(pairs[1]).tolist(), strict=True):
        total[i] = total.get(i, 0) + s
    moves = tuple([(i, s % shape[i]) for i, s in sorted(total.items()) if shape[i] and s % shape[i]])
    return _roll(a, moves=moves) if moves else asarray(a)


def _roll_axes(axis: Any, rank: int) -> tuple[int, ...]:
    axes = axis if isinstance(axis, (tuple, list, range)) else (axis,)
    return tuple([canonical_axis(i, rank, "roll") for i in axes])


@composite(static_argnames=("moves",))
def _roll(a: Any, moves: tuple[tuple[int, int], ...]) -> Any:
    for axis, s in moves:
        n = shape_of(a)[axis]
        a = lax.concatenate([lax.slice_in_dim(a, n - s, n, axis=axis), lax.slice_in_dim(a, 0, n - s, axis=axis)], axis)
    return a


@composite(static_argnames=("axes",))
def _roll_traced(a: Any, shift: Any, axes: tuple[int, ...]) -> Any:
    shape = shape_of(a)
    if typeof(shift).ndim > 1 or (typeof(shift).ndim == 1 and len(axes) not in (1, typeof(shift).shape[0])
                                  and typeof(shift).shape[0] != 1):
        raise ValueError(f"roll: shift of shape {typeof(shift).shape} and axis {axes} do not go together")
    if typeof(shift).dtype.kind not in "iu":
        raise TypeError(f"roll: shift must be integers, got {typeof(shift).dtype}")
    count = max(len(axes), typeof(shift).shape[0] if typeof(shift).ndim else 1)
    shifts = [shift] * count if typeof(shift).ndim == 0 else list(lax.unstack(spread(shift, (count,))))
    for axis, s in zip(axes * (count // len(axes)), shifts, strict=True):
        n = shape[axis]
        if n == 0:
            continue
        s, size = promote_dtypes(s, 0)[0], None
        dtype = typeof(s).dtype
        size = as_dtype(n, dtype, False)
        start = lax.rem(lax.sub(size, lax.rem(s, size)), size)
        twice = lax.concatenate([a, a], axis)
        a = lax.dynamic_slice_in_dim(twice, start, n, axis, allow_negative_indices=False)
    return a
