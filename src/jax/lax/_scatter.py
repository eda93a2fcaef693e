"""Scatter: writing, adding, ... slices of an array at computed positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._base.caching import cache, weak_cache
from jax._ground.structural import broadcast_to_axis, full, instantiate_zeros, move_axis, zeros_of
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.dims import canonicalize_shape
from jax._language.jaxpr import Jaxpr
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.emit import emit_jaxpr
from jax._lowering.rules import extended_by_batching, register_lowering
from jax.lax._arithmetic import add, add_p, div, mul, mul_p, neg, sub_p
from jax.lax._comparison import eq, ne
from jax.lax._creation import iota
from jax.lax._gather import (
    CLIP,
    FILL,
    GatherDimensionNumbers,
    GatherScatterMode,
    check_axes,
    check_batching,
    check_indices,
    check_mode,
    gather_p,
    insert_pair,
    last_starts,
    shift,
    wide_indices,
)
from jax.lax._magnitude import max_p, min_p
from jax.lax._select import select
from jax.lax._shape import reshape


class ScatterDimensionNumbers(NamedTuple):
    """Which axis means what in a :func:`scatter`.

    The last axis of the indices holds index vectors; the other axes of the indices are the batch axes.

    Attributes:
      update_window_dims: the axes of the updates that run inside the slices, in increasing order. Their other axes are
        the batch axes.
      inserted_window_dims: the axes of the operand, of slice size 1, that the updates do not have.
      scatter_dims_to_operand_dims: component ``k`` of an index vector is the start along operand axis
        ``scatter_dims_to_operand_dims[k]``.
      operand_batching_dims: axes of the operand, of slice size 1, along which each slice is put at the place where its
        index vector is along ``scatter_indices_batching_dims``. The updates have them as batch axes only.
      scatter_indices_batching_dims: the axes of the indices that belong to ``operand_batching_dims``, in that order.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


Mode = str | GatherScatterMode | None


def scatter(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
            indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None) -> Any:
    """``operand`` with slices replaced by ``updates`` at the positions ``scatter_indices``.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis holds index vectors, each of which says where one slice starts.
      updates: the slices: along batch axes one for each index vector, along ``update_window_dims`` the elements.
      dimension_numbers: see :class:`ScatterDimensionNumbers`.
      indices_are_sorted: a promise that the index vectors are in increasing order.
      unique_indices: a promise that no element is written twice. Without it, and if an element is, which of the updates
        it gets is undefined; derivatives follow the one that it got, at some cost.
      mode: what happens to slices out of bounds, see :class:`GatherScatterMode`: by default they are dropped.

    Raises:
      TypeError: if dtypes differ, or the dimension numbers and shapes do not fit together.
      ValueError: if the indices are not integers or the mode is unknown.
    """
    return scatter_p.bind(
        operand, scatter_indices, updates, dimension_numbers=dimension_numbers, indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices, mode=GatherScatterMode.from_any(mode), update_jaxpr=None, update_consts=())


def _combining(name: str, how: str, derivative: str) -> Callable[..., Any]:
    def public(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
               indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None) -> Any:
        prim, combine = _primitive_of[name]
        return prim.bind(
            operand, scatter_indices, updates, dimension_numbers=dimension_numbers,
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=GatherScatterMode.from_any(mode),
            update_jaxpr=_update_jaxpr(combine, typeof(operand).dtype), update_consts=())
    public.__name__ = public.__qualname__ = name
    public.__doc__ = f"""``operand`` with ``updates`` {how} at the positions ``scatter_indices``.

    An element for which there are several updates gets all of them, in an undefined order. {derivative}
    Arguments and errors as for :func:`scatter`.
    """
    return public


_primitive_of: dict[str, tuple[Primitive, Primitive]] = {}
scatter_add = _combining("scatter_add", "added to its slices", "")
scatter_sub = _combining("scatter_sub", "subtracted from its slices", "")
scatter_mul = _combining("scatter_mul", "multiplied with its slices",
                         "Derivatives with respect to ``updates`` exist for ``unique_indices=True`` only.")
scatter_min = _combining("scatter_min", "bounding its slices from above (the minimum of both)",
                         "Derivatives are shared equally by all that equal the minimum.")
scatter_max = _combining("scatter_max", "bounding its slices from below (the maximum of both)",
                         "Derivatives are shared equally by all that equal the maximum.")


def scatter_apply(operand: Any, scatter_indices: Any, func: Callable[[Any], Any],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Any = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None) -> Any:
    """``operand`` with ``func`` applied to the elements of the slices at the positions ``scatter_indices``.

    ``func`` maps a scalar to a scalar of the same dtype and closes over no traced values. An element that several
    slices contain has ``func`` applied as often. ``update_shape`` is the shape that updates would have in
    :func:`scatter`, whose other arguments and errors this function shares. It has no derivatives.
    """
    dtype = typeof(operand).dtype
    jaxpr, consts = _applied(func, dtype)
    updates = full(canonicalize_shape(update_shape, "scatter_apply: update_shape"), 0, dtype)
    return scatter_p.bind(
        operand, scatter_indices, updates, dimension_numbers=dimension_numbers, indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices, mode=GatherScatterMode.from_any(mode), update_jaxpr=jaxpr,
        update_consts=consts)


@weak_cache
def _applied(func: Callable[[Any], Any], dtype: Any) -> tuple[Jaxpr, _Consts]:
    """``func`` as an update function, which ignores the update."""
    jaxpr, consts = trace_to_jaxpr(lambda x, _: [func(x)], [ShapedArray((), dtype)] * 2)
    if any([isinstance(c, Tracer) for c in consts]):
        raise NotImplementedError("scatter_apply: func closes over a traced value; gather the slices, apply the "
                                  "function to them and scatter the result instead")
    if jaxpr.out_avals[0].shape or jaxpr.out_avals[0].dtype != dtype:
        raise TypeError(f"scatter_apply: func must map a scalar of dtype {dtype} to one, and it returned "
                        f"{jaxpr.out_avals[0].str_short()}")
    return jaxpr, _Consts(consts)


class _Consts(tuple[Any, ...]):
    """The constants of an update function: a parameter, so hashed and compared, by identity."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and tuple(map(id, self)) == tuple(map(id, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


@cache
def _update_jaxpr(combine: Primitive, dtype: Any) -> Jaxpr:
    params = {"out_dtype": None} if combine is mul_p else {}
    return trace_to_jaxpr(lambda old, new: [combine.bind(old, new, **params)], [ShapedArray((), dtype)] * 2)[0]


# --- abstract evaluation --------------------------------------------------------------------------------------------

def _abstract(name: str, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any,
              **params: Any) -> Any:
    numbers, shape = dimension_numbers, x.shape
    check_mode(name, mode)
    if x.dtype != updates.dtype:
        raise TypeError(f"lax.{name} requires the operand and the updates to have one dtype, got {x.dtype} and "
                        f"{updates.dtype}; convert the updates with lax.convert_element_type, or use x.at[...], which "
                        "does")
    check_indices(name, indices)
    check_batching(name, x, indices, numbers.operand_batching_dims, numbers.scatter_indices_batching_dims,
                   numbers.scatter_dims_to_operand_dims, "scatter_dims_to_operand_dims")
    check_axes(name, "inserted_window_dims", numbers.inserted_window_dims, len(shape), "operand")
    if set(numbers.inserted_window_dims) & set(numbers.operand_batching_dims):
        raise TypeError(f"{name}: an axis is both in inserted_window_dims and in operand_batching_dims: "
                        f"{numbers.inserted_window_dims}, {numbers.operand_batching_dims}")
    window = _window_axes(numbers, len(shape))
    if len(window) != len(numbers.update_window_dims):
        raise TypeError(f"{name}: update_window_dims={numbers.update_window_dims} must name one axis of the updates "
                        f"for each operand axis that is neither inserted nor batched; there are {len(window)} "
                        f"(operand of shape {shape})")
    batch = indices.shape[:-1]
    rank = len(batch) + len(window)
    if len(updates.shape) != rank:
        raise TypeError(f"{name}: the updates must have rank {rank} ({len(batch)} batch axes of the indices of shape "
                        f"{indices.shape} and {len(window)} window axes), got shape {updates.shape}")
    check_axes(name, "update_window_dims", numbers.update_window_dims, rank, "updates")
    for d, axis in zip(numbers.update_window_dims, window, strict=True):
        if updates.shape[d] > shape[axis]:
            raise TypeError(f"{name}: axis {d} of the updates of shape {updates.shape} is longer than axis {axis} of "
                            f"the operand of shape {shape} in which it is put")
    found = tuple([n for d, n in enumerate(updates.shape) if d not in numbers.update_window_dims])
    if found != batch:
        raise TypeError(f"{name}: the batch axes of the updates of shape {updates.shape} have sizes {found}, those of "
                        f"the indices of shape {indices.shape} {batch}; they must be equal")
    return x


def _window_axes(numbers: ScatterDimensionNumbers, rank: int) -> list[int]:
    """The axes of the operand that run inside the slices."""
    return [d for d in range(rank) if d not in numbers.inserted_window_dims and d not in numbers.operand_batching_dims]


def _window_sizes(numbers: ScatterDimensionNumbers, rank: int, update_shape: Any) -> list[Any]:
    """The slice sizes, one for each axis of the operand."""
    sizes: list[Any] = [1] * rank
    for d, axis in zip(numbers.update_window_dims, _window_axes(numbers, rank), strict=True):
        sizes[axis] = update_shape[d]
    return sizes


# --- lowering -------------------------------------------------------------------------------------------------------

def _lowering(combine: Callable[..., Any] | None) -> Callable[..., Any]:
    def rule(ctx: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, indices_are_sorted: bool,
             unique_indices: bool, mode: Any, update_jaxpr: Any, update_consts: Any) -> Any:
        numbers, shape = dimension_numbers, ctx.avals_in[0].shape
        indices, aval = wide_indices(indices, ctx.avals_in[1])
        if not numbers.scatter_dims_to_operand_dims:
            x, indices, aval, numbers = _with_an_index(ctx.avals_in[0], x, aval, numbers)
        elif mode is CLIP:  # XLA drops slices that are not inside
            sizes = _window_sizes(numbers, len(shape), ctx.avals_in[2].shape)
            limits = [shape[d] - sizes[d] for d in numbers.scatter_dims_to_operand_dims]
            indices = hlo.clamp(hlo.full(0, aval.shape, aval.dtype), indices, last_starts(aval, limits))
        body = combine
        if body is None:
            body = (lambda old, new: new) if update_jaxpr is None else \
                (lambda old, new: emit_jaxpr(ctx, update_jaxpr, update_consts, (old, new)))
        out = hlo.scatter([x], indices, [updates], body, update_window_dims=numbers.update_window_dims,
                          inserted_window_dims=numbers.inserted_window_dims,
                          input_batching_dims=numbers.operand_batching_dims,
                          scatter_indices_batching_dims=numbers.scatter_indices_batching_dims,
                          scatter_dims_to_operand_dims=numbers.scatter_dims_to_operand_dims,
                          index_vector_dim=len(aval.shape) - 1, indices_are_sorted=indices_are_sorted,
                          unique_indices=unique_indices)
        return out if numbers is dimension_numbers else [hlo.reshape(out[0], ctx.avals_out[0])]
    return rule


def _with_an_index(x_aval: Any, x: Any, aval: Any, numbers: ScatterDimensionNumbers) -> Any:
    """The same scatter with index vectors of one component, 0, along a new first axis of the operand.

    XLA combines with only one of the updates where index vectors are empty.
    """
    x = hlo.reshape(x, x_aval.update(shape=(1, *x_aval.shape)))
    aval = aval.update(shape=(*aval.shape[:-1], 1))
    numbers = ScatterDimensionNumbers(
        numbers.update_window_dims, (0, *shift(numbers.inserted_window_dims, 0)), (0,),
        shift(numbers.operand_batching_dims, 0), numbers.scatter_indices_batching_dims)
    return x, hlo.full(0, aval.shape, aval.dtype), aval, numbers


# --- batching -------------------------------------------------------------------------------------------------------

def _batch(prim: Primitive, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    (x, indices, updates), (b, i, u) = args, batch_dims
    numbers = dimension_numbers
    size = next(typeof(a).shape[d] for a, d in zip(args, batch_dims, strict=True) if d is not None)
    if b is None:
        x, b = broadcast_to_axis(x, size, 0), 0
    inserted = shift(numbers.inserted_window_dims, b)
    index_map = shift(numbers.scatter_dims_to_operand_dims, b)
    if i is None:  # the mapped axis is one more axis of the slices
        before = sum([d < b for d in _window_axes(numbers, typeof(x).ndim - 1)])
        window = numbers.update_window_dims
        at = window[before] if before < len(window) else typeof(updates).ndim - (u is not None)
        updates = broadcast_to_axis(updates, size, at) if u is None else move_axis(updates, u, at)
        numbers = ScatterDimensionNumbers(
            tuple(sorted([*shift(window, at), at])), inserted, index_map, shift(numbers.operand_batching_dims, b),
            numbers.scatter_indices_batching_dims)
    else:
        indices = move_axis(indices, i, 0)
        updates = broadcast_to_axis(updates, size, 0) if u is None else move_axis(updates, u, 0)
        operand_batching, indices_batching = insert_pair(
            shift(numbers.operand_batching_dims, b), shift(numbers.scatter_indices_batching_dims, 0), b, 0)
        numbers = ScatterDimensionNumbers(shift(numbers.update_window_dims, 0), inserted, index_map, operand_batching,
                                          indices_batching)
    return prim.bind(x, indices, updates, dimension_numbers=numbers, **params), b


# --- derivatives ----------------------------------------------------------------------------------------------------

def _take(x: Any, indices: Any, update_shape: Any, numbers: ScatterDimensionNumbers, params: dict[str, Any]) -> Any:
    """The slices that a scatter of updates of ``update_shape`` would write, as an array of that shape.

    Where the scatter drops its updates they are zero.
    """
    sizes = _window_sizes(numbers, typeof(x).ndim, update_shape)
    mode = params["mode"]
    return gather_p.bind(
        x, indices, dimension_numbers=GatherDimensionNumbers(
            tuple(numbers.update_window_dims), tuple(numbers.inserted_window_dims),
            tuple(numbers.scatter_dims_to_operand_dims), tuple(numbers.operand_batching_dims),
            tuple(numbers.scatter_indices_batching_dims)),
        slice_sizes=tuple(sizes), unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"], mode=mode, fill_value=0 if mode is FILL else None)


def _as(prim: Primitive, dtype: Any, params: dict[str, Any]) -> dict[str, Any]:
    """``params`` for the primitive ``prim`` on arrays of ``dtype``."""
    jaxpr = None if prim is scatter_p else _update_jaxpr(_combiner_of[prim], dtype)
    return dict(params, update_jaxpr=jaxpr, update_consts=())


def _add_at(x: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    return scatter_add_p.bind(x, indices, updates, **_as(scatter_add_p, typeof(x).dtype, params))


def _accumulate_jvp(prim: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """The jvp of adding and subtracting, which are linear."""
    x, indices, updates = primals
    out = prim.bind(x, indices, updates, **params)
    t_x, _, t_updates = tangents
    if type(t_updates) is Zero:
        return out, Zero.from_primal_value(out) if type(t_x) is Zero else t_x
    t_x = instantiate_zeros(t_x)
    return out, prim.bind(t_x, indices, t_updates, **_as(prim, typeof(t_x).dtype, params))


def _accumulate_transpose(sign: Callable[[Any], Any], ct: Any, x: Any, indices: Any, updates: Any, *,
                          dimension_numbers: Any, **params: Any) -> Any:
    if type(ct) is Zero:
        return _zeros(x, updates)
    ct_updates = None
    if type(updates) is UndefinedPrimal:
        ct_updates = sign(_take(ct, indices, updates.aval.shape, dimension_numbers, params))
    return [ct if type(x) is UndefinedPrimal else None, None, ct_updates]


def _zeros(x: Any, updates: Any) -> list[Any]:
    return [Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, None, updates)]


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices, updates = primals
    t_x, _, t_updates = tangents
    if params["update_jaxpr"] is not None:
        raise NotImplementedError("scatter_apply has no derivatives; gather the slices, apply the function to them and "
                                  "scatter the result instead")
    if type(t_x) is type(t_updates) is Zero:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, Zero.from_primal_value(out)
    if params["unique_indices"] or type(t_updates) is Zero:
        # Either each element gets one update, or all updates have the same tangent, zero.
        out = scatter_p.bind(x, indices, updates, **params)
        return out, scatter_p.bind(instantiate_zeros(t_x), indices, instantiate_zeros(t_updates), **params)
    kept, won = _winners(typeof(x).shape, indices, typeof(updates).shape, params)

    def write(x: Any, updates: Any) -> Any:
        return _add_at(_where(kept, x), indices, _where(won, updates), params)
    t_out = _add_at(zeros_of(t_x.aval) if type(t_x) is Zero else _where(kept, t_x), indices, _where(won, t_updates),
                    params)
    return write(x, updates), t_out


def _where(mask: Any, x: Any) -> Any:
    aval = typeof(x)
    return select(mask, x, full(aval.shape, 0, aval.dtype))


def _winners(shape: Any, indices: Any, update_shape: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Which elements of the operand no update reaches, and which updates are there in the end.

    When an element is written several times the order is up to the device. So numbers are scattered, which say who won;
    values and tangents then both follow them.
    """
    dtype = np.dtype(np.uint32 if math.prod(update_shape) < 2**32 - 1 else np.uint64)
    numbers = add(reshape(iota(dtype, math.prod(update_shape)), update_shape), np.array(1, dtype))
    last = scatter_p.bind(full(shape, 0, dtype), indices, numbers, **_as(scatter_p, dtype, params))
    rest = {k: v for k, v in params.items() if k != "dimension_numbers"}
    arrived = _take(last, indices, update_shape, params["dimension_numbers"], rest)
    return eq(last, np.array(0, dtype)), eq(numbers, arrived)


def _scatter_transpose(ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    """For scatters that are linear: those with unique indices, and those of updates without cotangent."""
    if type(ct) is Zero:
        return _zeros(x, updates)
    ct_x = ct_updates = None
    linear_updates = type(updates) is UndefinedPrimal
    shape = updates.aval.shape if linear_updates else typeof(updates).shape
    if linear_updates and not params["unique_indices"]:
        raise NotImplementedError("the transpose of scatter with respect to its updates needs unique_indices=True: "
                                  "otherwise which update arrives is not a linear function of them")
    if type(x) is UndefinedPrimal:
        ct_x = scatter_p.bind(ct, indices, full(shape, 0, typeof(ct).dtype), dimension_numbers=dimension_numbers,
                              **params)
    if linear_updates:
        ct_updates = _take(ct, indices, shape, dimension_numbers, params)
    return [ct_x, None, ct_updates]


def _mul_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices, updates = primals
    t_x, _, t_updates = tangents
    out = scatter_mul_p.bind(x, indices, updates, **params)
    parts = []
    if type(t_x) is not Zero:
        parts.append(scatter_mul_p.bind(t_x, indices, updates, **params))
    if type(t_updates) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError("scatter_mul: derivatives with respect to the updates need unique_indices=True")
        parts.append(mul(x, _add_at(full(typeof(x).shape, 0, typeof(x).dtype), indices, t_updates, params)))
    if not parts:
        return out, Zero.from_primal_value(out)
    return out, parts[0] if len(parts) == 1 else add(*parts)


def _mul_transpose(ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    if type(ct) is Zero:
        return _zeros(x, updates)
    if type(updates) is UndefinedPrimal:
        if type(x) is UndefinedPrimal or not params["unique_indices"]:
            raise NotImplementedError("scatter_mul is linear in its operand, and with unique_indices=True in its "
                                      "updates, but not in both")
        return [None, None, _take(mul(ct, x), indices, updates.aval.shape, dimension_numbers, params)]
    return [scatter_mul_p.bind(ct, indices, updates, dimension_numbers=dimension_numbers, **params), None, None]


def _extremum_jvp(prim: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """The tangents of all that equal the extremum have equal weights."""
    x, indices, updates = primals
    t_x, _, t_updates = tangents
    out = prim.bind(x, indices, updates, **params)
    if type(t_x) is type(t_updates) is Zero:
        return out, Zero.from_primal_value(out)
    rest = {k: v for k, v in params.items() if k != "dimension_numbers"}
    there = _take(out, indices, typeof(updates).shape, params["dimension_numbers"], rest)
    x_wins, updates_win = _same(x, out), _same(updates, there)
    dtype = typeof(x).dtype
    ones = full(typeof(updates).shape, 1, dtype)
    count = _add_at(_where(x_wins, full(typeof(x).shape, 1, dtype)), indices, _where(updates_win, ones), params)
    total = full(typeof(x).shape, 0, dtype) if type(t_x) is Zero else _where(x_wins, t_x)
    if type(t_updates) is not Zero:
        total = _add_at(total, indices, _where(updates_win, t_updates), params)
    return out, div(total, count)


def _same(x: Any, extremum: Any) -> Any:
    """Where ``x`` is the extremum: it equals it or, being NaN, made it NaN."""
    return select(ne(x, x), full(typeof(x).shape, True, np.bool_), eq(x, extremum))


# --- the primitives -------------------------------------------------------------------------------------------------

_combiner_of: dict[Primitive, Primitive] = {}


def _scatter_primitive(name: str, lower: Callable[..., Any] | None, combine: Primitive | None = None) -> Primitive:
    prim = Primitive(name)
    public = name.replace("-", "_")
    prim.def_abstract_eval(lambda x, indices, updates, **params: _abstract(public, x, indices, updates, **params))
    register_lowering(prim, _lowering(lower))
    rules.primitive_batchers[prim] = lambda args, batch_dims, **params: _batch(prim, args, batch_dims, **params)
    if combine is not None:
        _primitive_of[public] = prim, combine
        _combiner_of[prim] = combine
    return prim


scatter_p = _scatter_primitive("scatter", None)
rules.primitive_jvps[scatter_p] = _scatter_jvp
rules.primitive_transposes[scatter_p] = _scatter_transpose
extended_by_batching.add(scatter_p)

scatter_add_p = _scatter_primitive("scatter-add", hlo.add, add_p)
rules.primitive_jvps[scatter_add_p] = lambda *args, **params: _accumulate_jvp(scatter_add_p, *args, **params)
rules.primitive_transposes[scatter_add_p] = \
    lambda *args, **params: _accumulate_transpose(lambda ct: ct, *args, **params)

scatter_sub_p = _scatter_primitive("scatter-sub", hlo.subtract, sub_p)
rules.primitive_jvps[scatter_sub_p] = lambda *args, **params: _accumulate_jvp(scatter_sub_p, *args, **params)
rules.primitive_transposes[scatter_sub_p] = lambda *args, **params: _accumulate_transpose(neg, *args, **params)

scatter_mul_p = _scatter_primitive("scatter-mul", hlo.multiply, mul_p)
rules.primitive_jvps[scatter_mul_p] = _mul_jvp
rules.primitive_transposes[scatter_mul_p] = _mul_transpose

scatter_min_p = _scatter_primitive("scatter-min", hlo.minimum, min_p)
rules.primitive_jvps[scatter_min_p] = lambda *args, **params: _extremum_jvp(scatter_min_p, *args, **params)

scatter_max_p = _scatter_primitive("scatter-max", hlo.maximum, max_p)
rules.primitive_jvps[scatter_max_p] = lambda *args, **params: _extremum_jvp(scatter_max_p, *args, **params)


# --- the transpose of gather ----------------------------------------------------------------------------------------

def _gather_transpose(ct: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, fill_value: Any,
                      **params: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval), None]
    numbers = ScatterDimensionNumbers(
        dimension_numbers.offset_dims, dimension_numbers.collapsed_slice_dims, dimension_numbers.start_index_map,
        dimension_numbers.operand_batching_dims, dimension_numbers.start_indices_batching_dims)
    zeros = full(x.aval.shape, 0, typeof(ct).dtype)
    return [_add_at(zeros, indices, ct, dict(params, dimension_numbers=numbers)), None]


rules.primitive_transposes[gather_p] = _gather_transpose
