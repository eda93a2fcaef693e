"""What an index means: NumPy's indexing syntax, read against the shape of an array.

:func:`parse` turns an index into a *plan*, a hashable tuple with one entry per axis and per new axis, and operands, the
values that need not be known while tracing. :func:`basic` and :func:`advanced` work out, once per plan and shape, what
has to be done: the first for plans without index arrays (slices), the second for those with (gather and scatter).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax._api.indexing import Slice
from jax._base._jaxlib import xla
from jax._base.caching import cache
from jax._language.trace import Tracer
from jax.errors import JAXIndexError, NonConcreteBooleanIndexError, TracerIntegerConversionError, explain
from jax.numpy._creation import asarray

_Array = xla.Array

# Entries without parameters. Those with some are tuples: (WINDOW, size), (SLICE, start, size, step), (AT, i),
# (FLAG, bool).
NEW = "new"  # a new axis
ALL = "all"  # a whole axis
INSIDE = "inside"  # a scalar operand, known to be within bounds
SCALAR = "scalar"  # a scalar operand
ARRAY = "array"  # an operand of rank 1 or higher
WINDOW = "window"  # neighbouring elements from an operand on, known to be within bounds
SLICE = "slice"  # every step-th element; the step may be negative
AT = "at"  # a known place within bounds
FLAG = "flag"  # a boolean without dimensions

Plan = tuple[Any, ...]

_ALL_SLICE = slice(None, None, None)
_PLAIN = frozenset((int, slice, type(None), type(Ellipsis), bool))
_INT32_MAX = 2**31 - 1


class Mask(NamedTuple):
    """A boolean array with dimensions: the places where it is true."""

    shape: tuple[int, ...]
    places: tuple[np.ndarray, ...]


# --- reading --------------------------------------------------------------------------------------------------------

def parse(index: Any, shape: tuple[Any, ...], static: bool, wrap: bool = True) -> tuple[Plan, list[Any]]:
    """The plan and the operands of ``index`` into an array of ``shape``.

    Args:
      index: anything that may stand between the brackets.
      shape: of the array indexed.
      static: put known places in the plan (for programs under construction). Otherwise they become operands, so that
        one compiled program serves all of them.
      wrap: whether negative places count from the end.

    Raises:
      TypeError: for floats, strings and lists.
      IndexError: for too many indices, two ellipses, masks of the wrong shape, traced slice bounds, other objects.
      NonConcreteBooleanIndexError: for a traced mask.
    """
    if type(index) is not tuple:
        if isinstance(index, (list, tuple)):
            index = _outer_sequence(index)
        else:
            index = (index,)
    items = [e if type(e) in _PLAIN else _normalize(e) for e in index]
    used, ellipsis, arrays = 0, False, False
    for e in items:
        t = type(e)
        if t is int or t is slice:
            used += 1
        elif e is Ellipsis:
            if ellipsis:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = True
        elif t is Mask:
            used += len(e.shape)
            arrays = True
        elif t is bool:
            arrays = True
        elif t is Slice:
            used += 1
        elif e is not None:
            used += 1
            arrays = arrays or len(e.shape) > 0
    rank = len(shape)
    if used > rank:
        raise IndexError(f"Too many indices: the array has {rank} dimension{'s' * (rank != 1)} (shape {shape}), and "
                         f"{used} of them were indexed")
    if not ellipsis:
        items.append(Ellipsis)
    return _assign(items, shape, rank - used, static, arrays, wrap)


def _assign(items: list[Any], shape: tuple[Any, ...], left: int, static: bool, arrays: bool, wrap: bool,
            ) -> tuple[Plan, list[Any]]:
    plan: list[Any] = []
    operands: list[Any] = []
    axis = 0
    for e in items:
        t = type(e)
        if t is int:
            _place(e, shape[axis], axis, static, wrap, plan, operands)
            axis += 1
        elif t is slice:
            _range(e, shape[axis], axis, static or arrays, plan, operands)
            axis += 1
        elif e is None:
            plan.append(NEW)
        elif e is Ellipsis:
            plan.extend([ALL] * left)
            axis += left
        elif t is Mask:
            k = len(e.shape)
            if e.shape != shape[axis:axis + k]:
                raise IndexError(f"boolean index did not match the shape of the indexed array along axes from {axis} on: "
                                 f"the mask has shape {e.shape}, and the array {shape[axis:axis + k]} there")
            plan.extend([ARRAY] * k)
            operands.extend(e.places)
            axis += k
        elif t is bool:
            plan.append((FLAG, e))
        elif t is Slice:
            _window(e, shape[axis], axis, arrays, plan, operands)
            axis += 1
        else:
            plan.append(ARRAY if len(e.shape) else SCALAR)
            operands.append(e)
            axis += 1
    return tuple(plan), operands


def _place(i: int, n: Any, axis: int, static: bool, wrap: bool, plan: list[Any], operands: list[Any]) -> None:
    if type(n) is int:
        if n == 0:
            raise IndexError(f"index {i} is out of bounds for axis {axis}, which has size 0")
        if 0 <= i < n or (wrap and -n <= i < 0):
            i = i + n if i < 0 else i
            if static:
                plan.append((AT, i))
            else:
                plan.append(INSIDE)
                operands.append(i)
            return
    elif static and i >= 0:
        plan.append((AT, i))
        return
    plan.append(SCALAR)
    operands.append(max(min(i, _INT32_MAX), -_INT32_MAX) if type(n) is not int or n < _INT32_MAX else i)


def _range(s: slice, n: Any, axis: int, static: bool, plan: list[Any], operands: list[Any]) -> None:
    if s == _ALL_SLICE:
        plan.append(ALL)
        return
    try:
        start, stop, step = s.indices(n)
    except TracerIntegerConversionError:
        traced = next(x for x in (s.start, s.stop, s.step) if isinstance(x, Tracer))
        raise JAXIndexError(explain(
            f"slice bounds must be known while tracing, or the size of the result would depend on values, and {s} along "
            f"axis {axis} has", traced, "", "for a slice of known size at a computed place use "
            "jax.lax.dynamic_slice_in_dim(x, start, size, axis), or make the bound a static argument (static_argnums or "
            "static_argnames of jax.jit).")) from None
    if step == 1:
        size = stop - start if stop > start else 0
        if size == n:
            plan.append(ALL)
        elif static or not size:
            plan.append((SLICE, start, size, 1))
        else:
            plan.append((WINDOW, size))
            operands.append(start)
        return
    size = len(range(start, stop, step))
    plan.append((SLICE, start, size, step) if size else (SLICE, 0, 0, 1))


def _window(s: Slice, n: Any, axis: int, arrays: bool, plan: list[Any], operands: list[Any]) -> None:
    """A slice of known size at a place that may be computed, moved so that all its elements exist."""
    extent = (s.size - 1) * s.stride + 1 if s.size else 0
    if extent > n:
        every = f", every {s.stride}-th," if s.stride > 1 else ""
        raise IndexError(f"{s} takes {s.size} elements{every} along axis {axis}, which has size {n}")
    if isinstance(s.start, int):
        start = min(max(s.start + n if s.start < 0 else s.start, 0), n - extent)
        plan.append((SLICE, start, s.size, s.stride) if s.size else (SLICE, 0, 0, 1))
        return
    place = _array_item(s.start)
    if isinstance(place, int):
        return _window(Slice(place, s.size, s.stride), n, axis, arrays, plan, operands)
    if len(place.shape):
        raise TypeError(f"jax.ds: the start must be one integer, got an array of shape {place.shape}")
    if arrays or s.stride > 1:
        what = "index arrays" if arrays else "a stride"
        raise NotImplementedError(f"{s} at a computed place is not supported together with {what}: take the slice first, as "
                                  "in x[jax.ds(start, size)][...]")
    length, last = (np.array(v, place.dtype) for v in (n, n - s.size))
    zero = np.zeros((), place.dtype)
    place = lax.clamp(zero, lax.select(lax.lt(place, zero), lax.add(place, length), place), last)
    plan.append((WINDOW, s.size))
    operands.append(place)


def _outer_sequence(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):  # a named tuple
        return tuple(index)
    raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; use `x[jnp.array(seq)]` "
                    "to take the elements at these places, or `x[tuple(seq)]` for one index per axis, instead of "
                    f"`x[seq]` with a list. Got {_brief(index)}.")


def _normalize(e: Any) -> Any:
    """One item of an index as a Python value of a plain type, a :class:`Mask`, or an array of integers."""
    if isinstance(e, (_Array, np.ndarray, np.generic)):
        return _array_item(e)
    if isinstance(e, bool):
        return bool(e)
    if isinstance(e, int):
        return int(e)
    if isinstance(e, (list, tuple)):
        return _array_item(_sequence_item(e))
    if isinstance(e, str):
        raise TypeError(f"arrays cannot be indexed with strings, got {e!r}; structured arrays do not exist here, use a dict "
                        "of arrays")
    if isinstance(e, (float, complex)):
        raise _not_an_integer(type(e).__name__)
    if isinstance(e, Slice):
        return e
    convert = getattr(e, "__jax_array__", None)
    if convert is not None:
        return _normalize(convert())
    if hasattr(e, "__index__"):
        return e.__index__()
    if hasattr(e, "__array__"):
        return _array_item(np.asarray(e))
    raise IndexError("an index consists of integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
                     f"boolean arrays; got {_brief(e)} of type {type(e).__name__}")


def _sequence_item(e: Any) -> Any:
    if any([isinstance(x, _Array) for x in e]):
        return asarray(list(e))
    value = np.asarray(e)
    return value.astype(np.int32) if value.size == 0 else value


def _array_item(e: Any) -> Any:
    dtype = e.dtype
    if dtype == np.bool_:
        return _mask(e)
    if not isinstance(dtype, np.dtype) or not dtypes.issubdtype(dtype, np.integer):
        raise _not_an_integer(dtype)
    if isinstance(e, _Array):
        return e
    return np.asarray(e) if e.ndim else int(e)


def _mask(e: Any) -> Any:
    if isinstance(e, Tracer):
        known = e._concrete()
        if known is None:
            raise NonConcreteBooleanIndexError(e)
        e = known
    value = np.asarray(e)
    return Mask(value.shape, value.nonzero()) if value.ndim else bool(value)


def _not_an_integer(what: Any) -> TypeError:
    return TypeError(f"Indexer must have integer or boolean type, got indexer with type {what}; convert it, for example "
                     "with .astype(int)")


def _brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


# --- plans without index arrays -------------------------------------------------------------------------------------

class Basic(NamedTuple):
    """The steps of a plan without index arrays, in this order.

    Attributes:
      cut: ``(starts, limits, strides)`` of the static slice of the array, or None.
      cut_shape: the shape after it.
      flips: the axes reversed.
      moving: ``(axis, whether the operand's bounds are unknown)`` for each operand.
      sizes: the shape of the slice at computed places.
      dropped: the axes of size 1 that go.
      region: the shape after that.
      new: the positions of new axes in the result.
      shape: of the result.
    """

    cut: Any
    cut_shape: tuple[Any, ...]
    flips: tuple[int, ...]
    moving: tuple[tuple[int, bool], ...]
    sizes: tuple[Any, ...]
    dropped: tuple[int, ...]
    region: tuple[Any, ...]
    new: tuple[int, ...]
    shape: tuple[Any, ...]


@cache
def basic(plan: Plan, shape: tuple[Any, ...]) -> Basic:
    """What a plan without ARRAY and FLAG entries does to an array of ``shape``."""
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    flips: list[int] = []
    moving: list[tuple[int, bool]] = []
    dropped: list[int] = []
    new: list[int] = []
    sizes: list[Any] = []
    out: list[Any] = []
    axis = 0
    for entry in plan:
        if entry is NEW or entry == NEW:
            new.append(len(out))
            out.append(1)
            continue
        kind = entry if type(entry) is str else entry[0]
        n = shape[axis]
        if kind == ALL:
            sizes.append(n)
            out.append(n)
        elif kind == SLICE:
            starts[axis], limits[axis], strides[axis] = bounds(*entry[1:])
            if entry[3] < 0:
                flips.append(axis)
            sizes.append(entry[2])
            out.append(entry[2])
        elif kind == AT:
            starts[axis], limits[axis] = entry[1], entry[1] + 1
            dropped.append(axis)
            sizes.append(1)
        elif kind == WINDOW:
            moving.append((axis, False))
            sizes.append(entry[1])
            out.append(entry[1])
        else:
            moving.append((axis, kind == SCALAR))
            dropped.append(axis)
            sizes.append(1)
        axis += 1
    cut: Any = None
    cut_shape = tuple(shape)
    if starts != [0] * len(shape) or limits != list(shape) or any([s != 1 for s in strides]):
        cut = (tuple(starts), tuple(limits), None if all([s == 1 for s in strides]) else tuple(strides))
        still = {a for a, _ in moving}
        cut_shape = tuple([n if a in still else size for a, (n, size) in enumerate(zip(shape, sizes, strict=True))])
    region = tuple([n for a, n in enumerate(sizes) if a not in dropped])
    return Basic(cut, cut_shape, tuple(flips), tuple(moving), tuple(sizes), tuple(dropped), region, tuple(new),
                 tuple(out))


def bounds(start: int, size: int, step: int) -> tuple[int, int, int]:
    """Start, limit and stride of a static slice; one with a negative step is taken forwards, and reversed later."""
    if step > 0:
        return start, start + (size - 1) * step + 1 if size else start, step
    first = start + (size - 1) * step
    return first, start + 1, -step


# --- plans with index arrays ----------------------------------------------------------------------------------------

class Advanced(NamedTuple):
    """The geometry of a plan with index arrays.

    The result consists of the axes of the broadcast index arrays (the *batch*), which stay together, and those of the
    slices and new axes around them.

    Attributes:
      axes: ``(axis, kind, parameter)`` for the axes indexed by places, in order: kinds ARRAY and SCALAR (the operand's
        number, bounds unknown), INSIDE (the operand's number) and AT (the place).
      slices: ``(axis, start, size, step)`` of the partial slices.
      before: how many of the other axes of the array come before the batch.
      new: ``(position among the other axes and new axes)`` of the new axes.
      insert: how many of these other and new axes come before the batch.
      rest: the other axes of the array, in order.
    """

    axes: tuple[tuple[int, str, int], ...]
    slices: tuple[tuple[int, int, int, int], ...]
    before: int
    new: tuple[int, ...]
    insert: int
    rest: tuple[int, ...]


@cache
def advanced(plan: Plan) -> Advanced:
    """The geometry of a plan with ARRAY entries (and without FLAG)."""
    axes: list[Any] = []
    slices, new, rest = [], [], []
    others = before = insert = 0
    axis = operand = 0
    together, last = True, -1
    for position, entry in enumerate(plan):
        if entry == NEW:
            new.append(others)
            others += 1
            continue
        kind = entry if type(entry) is str else entry[0]
        if kind == ALL or kind == SLICE:
            if kind == SLICE:
                slices.append((axis, *entry[1:]))
            rest.append(axis)
            others += 1
        else:
            if not axes:
                before, insert = len(rest), others
            elif last != position - 1:
                together = False
            last = position
            axes.append((axis, kind, entry[1] if kind == AT else operand))
            operand += kind != AT
        axis += 1
    if not together:
        before = insert = 0
    return Advanced(tuple(axes), tuple(slices), before, tuple(new), insert, tuple(rest))


def has_arrays(plan: Plan) -> bool:
    """Whether the plan has index arrays, so that :func:`advanced` describes it."""
    for entry in plan:
        if entry == ARRAY or (type(entry) is tuple and entry[0] == FLAG):
            return True
    return False


def without_flags(plan: Plan, operands: Sequence[Any]) -> tuple[Plan, list[Any], tuple[int, ...]]:
    """A plan in which boolean scalars are index arrays into new axes of the array: also the positions of these.

    ``True`` takes the one element of such an axis, ``False`` none.
    """
    out: list[Any] = []
    values: list[Any] = []
    expand = []
    rest = iter(operands)
    axis = 0
    for entry in plan:
        if type(entry) is tuple and entry[0] == FLAG:
            out.append(ARRAY)
            values.append(np.zeros(1 if entry[1] else 0, np.int32))
            expand.append(axis)
            axis += 1
            continue
        out.append(entry)
        if entry != NEW:
            axis += 1
        if entry in (ARRAY, SCALAR, INSIDE):
            values.append(next(rest))
    return tuple(out), values, tuple(expand)
