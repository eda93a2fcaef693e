"""Elements at given places of sorted data, without sorting them all.

On CPUs the element at a place of a long row is searched bit by bit, by counting how many elements lie below: one pass
over the data for each bit, which takes a fraction of the time of a sort. Elsewhere, and for many places, the row is sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._base.config import enable_x64
from jax._ground.families import ANY, COMPLEX, FLOAT, SIGNED, UNSIGNED, category, check_category
from jax._ground.structural import broadcast_in_dim, instantiate_zeros, move_axis
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import sub
from jax.lax._bitwise import bitwise_or, bitwise_xor, shift_right_arithmetic, shift_right_logical
from jax.lax._comparison import le, lt, ne
from jax.lax._conversion import bitcast_convert_type, convert_element_type
from jax.lax._creation import broadcasted_iota, full_like
from jax.lax._gather import GatherDimensionNumbers, gather
from jax.lax._join import stack
from jax.lax._reduce import reduce_sum
from jax.lax._select import select
from jax.lax._shape import expand_dims
from jax.lax._slice import index_in_dim
from jax.lax._sort import sort, sort_key_val
from jax.lax._while import fori_loop

# Shorter rows are sorted as fast, and so is a row for more places.
LEAST_LENGTH, MOST_PLACES = 2048, 8

order_statistics_p = Primitive("order_statistics")


def order_statistics(rows: Any, places: Any) -> Any:
    """The elements of ``rows`` (..., n) that are at ``places`` (..., m), counted from 0, when each row is sorted.

    The order is that of ``lax.sort``, NaN last. ``places`` is int32, with entries between 0 and n - 1.
    """
    return order_statistics_p.bind(rows, places)


def _abstract(rows: Any, places: Any) -> Any:
    if category(rows.dtype) == COMPLEX:
        raise TypeError("order_statistics: complex numbers have no order")
    check_category("order_statistics", ANY, rows.dtype)
    if len(rows.shape) != len(places.shape) or rows.shape[:-1] != places.shape[:-1] or places.dtype != np.int32:
        raise TypeError(f"order_statistics: places must be int32 of shape (*{rows.shape[:-1]}, m), got "
                        f"{places.str_short()} with rows {rows.str_short()}")
    return ShapedArray(places.shape, rows.dtype, rows.weak_type)


def _take(x: Any, places: Any) -> Any:
    """``x`` at ``places`` along the last axis; places may be equal."""
    if dims.is_zero(dims.size_of(typeof(places).shape)):
        return full_like(x, 0, shape=typeof(places).shape)
    rank = len(typeof(x).shape)
    others = tuple(range(rank - 1))
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(rank - 1,), start_index_map=(rank - 1,), operand_batching_dims=others,
        start_indices_batching_dims=others)
    return gather(x, expand_dims(places, (rank,)), numbers, (1,) * rank, mode="promise_in_bounds")


def _by_sorting(rows: Any, places: Any) -> Any:
    return _take(sort(rows, dimension=rows.ndim - 1), places)


# --- searching ------------------------------------------------------------------------------------------------------

def _ordinals(x: Any, unsigned: Any) -> Any:
    """``x`` as unsigned integers of the same size in the same order, NaN last."""
    top = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    kind = category(x.dtype)
    if kind == UNSIGNED:
        return x
    if kind != FLOAT:
        return bitwise_xor(bitcast_convert_type(x, unsigned), top)
    x = select(ne(x, x), full_like(x, np.nan), x)
    bits = bitcast_convert_type(x, np.dtype(unsigned.name[1:]))
    negative = bitcast_convert_type(shift_right_arithmetic(bits, bits.dtype.type(8 * unsigned.itemsize - 1)), unsigned)
    # All bits of negative floats are reversed, and the sign of others.
    return bitwise_xor(bitcast_convert_type(bits, unsigned), bitwise_or(negative, top))


def _from_ordinals(u: Any, dtype: Any) -> Any:
    """The inverse of :func:`_ordinals`."""
    unsigned = u.dtype
    size = 8 * unsigned.itemsize
    top = unsigned.type(1 << (size - 1))
    kind = category(dtype)
    if kind == UNSIGNED:
        return u
    if kind != FLOAT:
        return bitcast_convert_type(bitwise_xor(u, top), dtype)
    # The top bit is set for what was not negative.
    positive = shift_right_logical(u, unsigned.type(size - 1))
    mask = bitwise_or(sub(positive, unsigned.type(1)), top)
    return bitcast_convert_type(bitwise_xor(u, mask), dtype)


def _search(rows: Any, places: Any) -> Any:
    last, m = rows.ndim - 1, places.shape[-1]
    unsigned = np.dtype(f"uint{8 * rows.dtype.itemsize}")
    with enable_x64(True):
        u = _ordinals(rows, unsigned)
        wanted = [index_in_dim(places, j, last, keepdims=False) for j in range(m)]
        one = unsigned.type(1 << (8 * unsigned.itemsize - 1))

        def narrow(i: Any, found: list[Any]) -> list[Any]:
            bit = shift_right_logical(one, convert_element_type(i, unsigned))
            out = []
            for place, low in zip(wanted, found, strict=True):
                middle = bitwise_or(low, bit)
                below = lt(u, broadcast_in_dim(middle, u.shape, tuple(range(last))))
                count = reduce_sum(convert_element_type(below, np.int32), (last,))
                out.append(select(le(count, place), middle, low))
            return out

        start = [full_like(place, 0, unsigned) for place in wanted]
        found = fori_loop(0, 8 * unsigned.itemsize, narrow, start)
        return _from_ordinals(stack(found, last), rows.dtype)


_sorted_rule = lower_fun(_by_sorting, multiple_results=False)
_search_rule = lower_fun(_search, multiple_results=False)


def _lower_cpu(ctx: Any, rows: Any, places: Any) -> Any:
    aval, m = ctx.avals_in[0], ctx.avals_in[1].shape[-1]
    n = aval.shape[-1]
    fits = (category(aval.dtype) in (FLOAT, SIGNED, UNSIGNED) and aval.dtype.name.lstrip("u") not in ("int2", "int4")
            and aval.dtype.itemsize in (2, 4, 8) and dims.is_static(n) and dims.is_static(m))
    if fits and LEAST_LENGTH <= n < 2**31 and 0 < m <= MOST_PLACES and not dims.is_zero(aval.size):
        return _search_rule(ctx, rows, places)
    return _sorted_rule(ctx, rows, places)


# --- derivatives, batching ------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any) -> Any:
    (rows, places), t = primals, tangents[0]
    if type(t) is Zero:
        out = order_statistics(rows, places)
        return out, Zero.from_primal_value(out)
    # Which element is at a place is known from sorting only, so the elements themselves come from there too.
    last = typeof(rows).ndim - 1
    ordered, origin = sort_key_val(rows, broadcasted_iota(np.int32, typeof(rows).shape, last), dimension=last)
    return _take(ordered, places), _take(instantiate_zeros(t), _take(origin, places))


def _batch(args: Any, batch_dims: Any) -> Any:
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)

    def leading(x: Any, d: Any) -> Any:
        if d is None:
            shape = typeof(x).shape
            return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))
        return move_axis(x, d, 0)

    return order_statistics_p.bind(*map(leading, args, batch_dims)), 0


order_statistics_p.def_abstract_eval(_abstract)
register_lowering(order_statistics_p, _sorted_rule)
register_lowering(order_statistics_p, _lower_cpu, platform="cpu")
rules.primitive_jvps[order_statistics_p] = _jvp
rules.primitive_batchers[order_statistics_p] = _batch
