"""Sorting and the largest elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import _jaxlib
from jax._base.config import cpu_radix_sort, cpu_sorting_networks
from jax._ground.families import ANY, BOOL, COMPLEX, FLOAT, SIGNED, UNSIGNED, category, check_category
from jax._ground.structural import broadcast_to_axis, instantiate_zeros, move_axis
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread
from jax.lax import _network
from jax.lax._creation import broadcasted_iota
from jax.lax._gather import GatherDimensionNumbers, GatherScatterMode, gather_p
from jax.lax._radix import sorted_words, values_in_order
from jax.lax._shape import expand_dims

# --- sort -----------------------------------------------------------------------------------------------------------

sort_p = Primitive("sort", multiple_results=True)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts along ``dimension``, in increasing order.

    Args:
      operand: an array, or a sequence of arrays of one shape, which are sorted together: by the first, or by the first
        ``num_keys`` in lexicographic order.
      dimension: the axis that is sorted.
      is_stable: whether elements with equal keys keep their order.
      num_keys: how many of several operands are keys.

    NaN comes last; zeros of both signs are equal as keys (when a single array is sorted, where it does not show
    otherwise, the negative ones may come first). Complex numbers are ordered by real and then by imaginary part.

    Returns:
      The sorted array, or a tuple of them.

    Raises:
      TypeError: when shapes differ or there is no operand.
      ValueError: when ``dimension`` or ``num_keys`` is out of range.
    """
    if isinstance(operand, Sequence):
        operands = tuple(operand)
        if not operands:
            raise TypeError("sort: at least one operand is needed")
        if not 1 <= num_keys <= len(operands):
            raise ValueError(f"sort: num_keys must lie between 1 and the number of operands, {len(operands)}; got "
                             f"{num_keys}")
        dimension = dims.canonical_axis(dimension, len(typeof(operands[0]).shape), "sort", "dimension")
        return tuple(sort_p.bind(*operands, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys))
    dimension = dims.canonical_axis(dimension, len(typeof(operand).shape), "sort", "dimension")
    return sort_p.bind(operand, dimension=dimension, is_stable=bool(is_stable), num_keys=1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sorts ``keys`` along ``dimension`` and ``values``, of the same shape, along with them. See :func:`sort`."""
    return sort((keys, values), dimension, is_stable)


def _sort_abstract(*avals: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    shape = avals[0].shape
    if any(a.shape != shape for a in avals):
        raise TypeError(f"sort: all operands must have the same shape, got {', '.join(str(a.shape) for a in avals)}")
    for a in avals[:num_keys]:
        check_category("sort", ANY, a.dtype)
    if not 0 <= dimension < len(shape):
        raise ValueError(f"sort: dimension {dimension} is out of range for operands of shape {shape}")
    return list(avals)


def _comparable(dtype: Any, x: Any) -> list[Any]:
    """Scalars to compare one after the other in the total order of their type, instead of the key ``x``."""
    kind = category(dtype)
    if kind == COMPLEX:
        part = dtypes.to_real_dtype(dtype)
        return [*_comparable(part, hlo.real(x)), *_comparable(part, hlo.imag(x))]
    if kind != FLOAT:
        return [x]
    zero, nan = hlo.scalar_constant(0, dtype), hlo.scalar_constant(np.nan, dtype)
    return [hlo.select(hlo.compare(x, x, "NE", "FLOAT"), nan,
                       hlo.select(hlo.compare(x, zero, "EQ", "FLOAT"), zero, x))]


def _comes_before(keys: Sequence[Any], *pairs: Any) -> Any:
    """The comparator: lexicographic order of the keys, whose dtypes are ``keys``."""
    result = None
    for i in reversed(range(len(keys))):
        kind = category(keys[i])
        mode = "TOTALORDER" if kind in (FLOAT, COMPLEX) else hlo.compare_kind(keys[i])
        ours, theirs = (_comparable(keys[i], pairs[2 * i + j]) for j in (0, 1))
        for a, b in zip(reversed(ours), reversed(theirs), strict=True):
            less = hlo.compare(a, b, "LT", mode)
            result = less if result is None else hlo.or_(less, hlo.and_(hlo.compare(a, b, "EQ", mode), result))
    return result


def _sort_lower(ctx: Any, *xs: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    keys = [a.dtype for a in ctx.avals_in[:num_keys]]
    return hlo.sort(xs, dimension, functools.partial(_comes_before, keys), is_stable)


# On CPUs floats are mapped to integers in the same order. Long rows of these are sorted by counting (``_radix``),
# together with their places if there are other operands, which are then gathered. Many rows of up to some thousand
# integers are sorted by networks of comparisons (``_network``). What is left, XLA sorts: integers by plain "less than"
# natively; every other comparison is a call of compiled code, five to ten times slower. A key of up to 32 bits is packed
# together with its place into one integer, which makes the sort stable as well.

_INTEGER_OF = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def _ordered_integers(x: Any, aval: Any, merge_zeros: bool) -> tuple[Any, Any]:
    """``x`` as integers in the same order, NaN last; ``merge_zeros`` makes zeros of both signs equal."""
    dtype = aval.dtype
    if category(dtype) == BOOL:
        out = aval.update(dtype=np.dtype(np.int8))
        return hlo.convert(x, out), out
    if category(dtype) != FLOAT:
        return x, aval
    integer = np.dtype(_INTEGER_OF[dtype.itemsize])
    out = aval.update(dtype=integer)
    x = hlo.select(hlo.compare(x, x, "NE", "FLOAT"), hlo.full(np.nan, aval.shape, dtype), x)
    if merge_zeros:
        zero = hlo.full(0, aval.shape, dtype)
        x = hlo.select(hlo.compare(x, zero, "EQ", "FLOAT"), zero, x)
    return _flip(hlo.bitcast_convert(x, out), out), out


def _flip(bits: Any, aval: Any) -> Any:
    """Reverses the order of the bit patterns of negative floats (as integers they ascend); its own inverse."""
    size = 8 * aval.dtype.itemsize
    sign = hlo.shift_right_arithmetic(bits, hlo.full(size - 1, aval.shape, aval.dtype))
    return hlo.xor(bits, hlo.and_(sign, hlo.full(dtypes.iinfo(aval.dtype).max, aval.shape, aval.dtype)))


def _less(a: Any, b: Any) -> Any:
    return hlo.compare(a, b, "LT")


def _sort_lower_cpu(ctx: Any, *xs: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    avals = ctx.avals_in
    key = avals[0]
    n = key.shape[dimension]
    packs = num_keys == 1 and _packs(key.dtype) and dims.is_static(n) and n < 2**31
    if packs and (n <= 1 or dims.is_zero(key.size)):
        return list(xs)
    if packs and len(xs) == 1:
        return [_sorted_alone(ctx, xs[0], key, dimension)]
    packs = packs and key.dtype.itemsize <= 4  # together with places
    by_network = packs and n <= _MOST_PACKED and _has_network(ctx, _packed_type(key, dimension), dimension)
    if not by_network and all(_counts(ctx, a, dimension) for a in avals[:num_keys]):
        return _sorted_together(ctx, xs, dimension, num_keys)
    if not packs:
        return _sort_lower(ctx, *xs, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    keys, aval = _ordered_integers(xs[0], key, merge_zeros=True)
    places = places_in_order(ctx, keys, aval, dimension)
    return [gather_along(x, places, a, dimension) for x, a in zip(xs, avals, strict=True)]


def _sorted_alone(ctx: Any, x: Any, aval: Any, dimension: int) -> Any:
    keys, integers = _ordered_integers(x, aval, merge_zeros=False)
    out = _sorted_integers(ctx, keys, integers, dimension)
    if category(aval.dtype) == FLOAT:
        return hlo.bitcast_convert(_flip(out, integers), aval)
    return hlo.convert(out, aval) if category(aval.dtype) == BOOL else out


def _sorted_integers(ctx: Any, x: Any, aval: Any, dimension: int) -> Any:
    """Integers in increasing order: by a network, by counting, or by XLA."""
    if _has_network(ctx, aval, dimension):
        return _network.sort(ctx.module_context, x, aval, dimension)
    if _counts(ctx, aval, dimension):
        return _sorted_by_counting(ctx.module_context, x, aval, dimension)
    return hlo.sort([x], dimension, _less, False)[0]


def _has_network(ctx: Any, aval: Any, dimension: int) -> bool:
    return cpu_sorting_networks.value and not is_spread(ctx.module_context) and _network.fits(aval, dimension)


def _packs(dtype: Any) -> bool:
    """Whether values of ``dtype`` are ordered like integers of the same size."""
    if category(dtype) == FLOAT:
        return dtype.itemsize >= 2
    return category(dtype) != COMPLEX and not dtype.name.endswith(("int2", "int4", "int1"))


# --- by counting ----------------------------------------------------------------------------------------------------

# Shorter rows are sorted as fast by comparing, and programs with such sorts compile faster.
LEAST_LENGTH, LEAST_SIZE = 256, 1 << 16
_MOST_PACKED = 2048  # longer rows are sorted faster by counting than keys and places by a network


def _counts(ctx: Any, aval: Any, dimension: int) -> bool:
    """Whether rows of ``aval`` along ``dimension`` are sorted by counting."""
    if not cpu_radix_sort.value or is_spread(ctx.module_context):
        return False
    real = dtypes.to_real_dtype(aval.dtype) if category(aval.dtype) == COMPLEX else aval.dtype
    return (all(map(dims.is_static, aval.shape)) and aval.shape[dimension] >= LEAST_LENGTH
            and LEAST_SIZE <= aval.size < 2**31 and _packs(real))


def _unsigned(x: Any, aval: Any) -> tuple[Any, Any]:
    """Integers ``x`` as unsigned ones in the same order, and their type."""
    if category(aval.dtype) == UNSIGNED:
        return x, aval
    out = aval.update(dtype=np.dtype(f"uint{8 * aval.dtype.itemsize}"))
    return hlo.xor(hlo.bitcast_convert(x, out), _top_bits(out)), out


def _top_bits(aval: Any) -> Any:
    return hlo.full(1 << (8 * aval.dtype.itemsize - 1), aval.shape, aval.dtype)


def _words(x: Any, aval: Any) -> list[tuple[Any, Any]]:
    """Unsigned integers of up to 32 bits to compare one after the other instead of ``x``, and their dtypes."""
    if category(aval.dtype) == COMPLEX:
        part = aval.update(dtype=dtypes.to_real_dtype(aval.dtype))
        return [*_words(hlo.real(x), part), *_words(hlo.imag(x), part)]
    x, aval = _unsigned(*_ordered_integers(x, aval, merge_zeros=True))
    if aval.dtype.itemsize <= 4:
        return [(x, aval.dtype)]
    word = aval.update(dtype=np.dtype(np.uint32))
    high = hlo.shift_right_logical(x, hlo.full(32, aval.shape, aval.dtype))
    return [(hlo.convert(high, word), word.dtype), (hlo.convert(x, word), word.dtype)]


def _last(shape: Sequence[int], dimension: int) -> tuple[list[int], list[int]]:
    """The permutation that makes ``dimension`` the last, and its inverse."""
    order = [*(d for d in range(len(shape)) if d != dimension), dimension]
    return order, [order.index(d) for d in range(len(shape))]


def _as_vector(x: Any, shape: Sequence[int], dtype: Any, order: Sequence[int]) -> Any:
    moved = hlo.transpose(x, ShapedArray(tuple([shape[d] for d in order]), dtype), order)
    return hlo.reshape(moved, ShapedArray((dims.size_of(tuple(shape)),), dtype))


def _from_vector(x: Any, shape: Sequence[int], dtype: Any, order: Sequence[int], back: Sequence[int]) -> Any:
    moved = hlo.reshape(x, ShapedArray(tuple([shape[d] for d in order]), dtype))
    return hlo.transpose(moved, ShapedArray(tuple(shape), dtype), back)


def _sorted_by_counting(module: Any, x: Any, aval: Any, dimension: int) -> Any:
    """Integers in increasing order."""
    order, back = _last(aval.shape, dimension)
    keys, out = _unsigned(x, aval)
    n = aval.shape[dimension]
    keys = sorted_words(module, _as_vector(keys, aval.shape, out.dtype, order), out.dtype, aval.size // n, n)
    keys = _from_vector(keys, aval.shape, out.dtype, order, back)
    return keys if out is aval else hlo.bitcast_convert(hlo.xor(keys, _top_bits(out)), aval)


def _sorted_together(ctx: Any, xs: Sequence[Any], dimension: int, num_keys: int) -> list[Any]:
    """Several operands in the order of the first ``num_keys``."""
    module, avals = ctx.module_context, ctx.avals_in
    shape = avals[0].shape
    words = [w for x, a in zip(xs, avals[:num_keys], strict=False) for w in _words(x, a)]
    if len(xs) == 2 and len(words) == 1 and category(avals[0].dtype) != FLOAT and _is_word(avals[1].dtype):
        # Which of the two is not used, XLA drops.
        carried = _in_order(module, *words[0], hlo.bitcast_convert(xs[1], ShapedArray(shape, _WORD)), shape, dimension)
        return [_sorted_alone(ctx, xs[0], avals[0], dimension), hlo.bitcast_convert(carried, avals[1])]
    places = _places_by_counting(module, words, shape, dimension)
    return [places if a.dtype == _PLACE and _counts_up(x, dimension) else gather_along(x, places, a, dimension)
            for x, a in zip(xs, avals, strict=True)]


def _places_by_counting(module: Any, words: Sequence[tuple[Any, Any]], shape: Sequence[int], dimension: int) -> Any:
    """The places (int32) along ``dimension`` in the lexicographic order of ``words``, as :func:`_words` returns them."""
    places = ShapedArray(tuple(shape), _PLACE)
    at: Any = None
    for word, dtype in reversed(words):
        if at is None:
            at = _in_order(module, word, dtype, None, shape, dimension)
        else:  # words of greater weight, in the order so far
            word = gather_along(word, hlo.bitcast_convert(at, places), places.update(dtype=dtype), dimension)
            at = _in_order(module, word, dtype, at, shape, dimension)
    return hlo.bitcast_convert(at, places)


_WORD, _PLACE = np.dtype(np.uint32), np.dtype(np.int32)


def _is_word(dtype: Any) -> bool:
    return dtype.itemsize == 4 and category(dtype) in (FLOAT, SIGNED, UNSIGNED)


def _counts_up(x: Any, dimension: int) -> bool:
    """Whether ``x`` is 0, 1, 2 ... along ``dimension``."""
    made_by = getattr(x.owner, "name", None)
    return made_by == "stablehlo.iota" and int(x.owner.attributes["iota_dimension"]) == dimension


def _in_order(module: Any, words: Any, dtype: Any, values: Any, shape: Sequence[int], dimension: int) -> Any:
    """``values`` (uint32) in the order of ``words``, unsigned integers of up to 32 bits; None for the places along
    ``dimension``."""
    order, back = _last(shape, dimension)
    n = shape[dimension]
    words = _as_vector(words, shape, dtype, order)
    values = None if values is None else _as_vector(values, shape, _WORD, order)
    out = values_in_order(module, words, dtype, values, dims.size_of(tuple(shape)) // n, n)
    return _from_vector(out, shape, _WORD, order, back)


# --- by comparing ---------------------------------------------------------------------------------------------------

def places_in_order(ctx: Any, keys: Any, aval: Any, dimension: int) -> Any:
    """The places (int32) of integer ``keys`` of up to 32 bits in increasing order, equal ones in their own order."""
    wide = _packed_type(aval, dimension)
    half = 4 * wide.dtype.itemsize
    shift = hlo.full(half, aval.shape, wide.dtype)
    packed = hlo.or_(hlo.shift_left(hlo.convert(keys, wide), shift), hlo.iota(wide, dimension))
    packed = _sorted_integers(ctx, packed, wide, dimension)
    places = hlo.convert(packed, aval.update(dtype=_PLACE))
    return places if half == 32 else hlo.and_(places, hlo.full((1 << half) - 1, aval.shape, _PLACE))


def _packed_type(aval: Any, dimension: int) -> Any:
    """The type of integers of which one half is a key of type ``aval`` and the other its place."""
    half = 2 if aval.dtype.itemsize <= 2 and aval.shape[dimension] <= 1 << 16 else 4
    return aval.update(dtype=np.dtype(f"{'u' if category(aval.dtype) == UNSIGNED else ''}int{16 * half}"))


def gather_along(x: Any, places: Any, aval: Any, dimension: int) -> Any:
    """``x`` at ``places`` along ``dimension``; ``aval`` is the type of the result."""
    rank = len(aval.shape)
    others = [d for d in range(rank) if d != dimension]
    indices = hlo.reshape(places, ShapedArray((*aval.shape, 1), np.dtype(np.int32)))
    return hlo.gather(x, indices, aval, offset_dims=(), collapsed_slice_dims=(dimension,), operand_batching_dims=others,
                      start_indices_batching_dims=others, start_index_map=(dimension,), index_vector_dim=rank,
                      slice_sizes=(1,) * rank)


def _sort_jvp(primals: Any, tangents: Any, *, dimension: int, **params: Any) -> Any:
    shape = typeof(primals[0]).shape
    if all(type(t) is Zero for t in tangents):
        outs = sort_p.bind(*primals, dimension=dimension, **params)
        return outs, [Zero.from_primal_value(o) for o in outs]
    n = shape[dimension]
    places = broadcasted_iota(np.int64 if dims.is_static(n) and n >= 2**31 else np.int32, shape, dimension)
    *outs, places = sort_p.bind(*primals, places, dimension=dimension, **params)
    moved = [Zero.from_primal_value(o) if type(t) is Zero else take_along(t, places, dimension)
             for t, o in zip(tangents, outs, strict=True)]
    return outs, moved


def take_along(x: Any, places: Any, dimension: int) -> Any:
    """``x`` at ``places`` along ``dimension``, which differ from one another along it."""
    rank = len(typeof(x).shape)
    others = tuple([d for d in range(rank) if d != dimension])
    numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(dimension,), start_index_map=(dimension,),
                                     operand_batching_dims=others, start_indices_batching_dims=others)
    return gather_p.bind(x, expand_dims(places, (rank,)), dimension_numbers=numbers, slice_sizes=(1,) * rank,
                         unique_indices=True, indices_are_sorted=False,
                         mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill_value=None)


def _sort_batch(args: Any, batch_dims: Any, *, dimension: int, **params: Any) -> Any:
    at = next(d for d in batch_dims if d is not None)
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)
    aligned = [broadcast_to_axis(x, size, at) if d is None else move_axis(x, d, at)
               for x, d in zip(args, batch_dims, strict=True)]
    return sort_p.bind(*aligned, dimension=dimension + (dimension >= at), **params), [at] * len(args)


sort_p.def_abstract_eval(_sort_abstract)
register_lowering(sort_p, _sort_lower)
register_lowering(sort_p, _sort_lower_cpu, platform="cpu")
rules.primitive_jvps[sort_p] = _sort_jvp
rules.primitive_batchers[sort_p] = _sort_batch


# --- top_k ----------------------------------------------------------------------------------------------------------

top_k_p = Primitive("top_k", multiple_results=True)


def top_k(operand: Any, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Any]:
    """The ``k`` largest elements along ``axis`` in decreasing order, and their indices (int32).

    Of equal elements the first comes first (``is_stable`` is accepted, and the result is always so). NaN counts as
    larger than all numbers.

    Args:
      operand: an array of real numbers or booleans.
      k: how many elements, at most the size of the axis.
      axis: the axis that is searched.

    Raises:
      TypeError: for complex operands.
      ValueError: when ``k`` or ``axis`` is out of range.
    """
    axis = dims.canonical_axis(axis, len(typeof(operand).shape), "top_k")
    return top_k_p.bind(operand, k=dims.canonical_dim(k, "top_k: k"), axis=axis)


def _top_k_abstract(x: Any, *, k: Any, axis: int) -> Any:
    if category(x.dtype) == COMPLEX:
        raise TypeError(f"top_k: complex numbers have no order, got {x.dtype}; take the absolute value or a part first")
    check_category("top_k", ANY, x.dtype)
    if dims.is_static(k) and k < 0:
        raise ValueError(f"top_k: k must not be negative, got {k}")
    if dims.is_static(k) and dims.is_static(x.shape[axis]) and k > x.shape[axis]:
        raise ValueError(f"top_k: k={k} elements cannot be found along axis {axis} of an operand of shape {x.shape}, "
                         f"which has size {x.shape[axis]}")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, np.dtype(np.int32))]


def _top_k_lower(ctx: Any, x: Any, *, k: Any, axis: int, search: Any = None) -> Any:
    (aval,), avals_out = ctx.avals_in, ctx.avals_out
    rank = len(aval.shape)
    search = search or (lambda ctx, x, aval, k: hlo.top_k(x, k))
    if axis == rank - 1:
        return search(ctx, x, aval, k)
    order = [*(d for d in range(rank) if d != axis), axis]
    aval = aval.update(shape=tuple([aval.shape[d] for d in order]))
    back = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return [hlo.transpose(v, out, back)
            for v, out in zip(search(ctx, hlo.transpose(x, aval, order), aval, k), avals_out, strict=True)]


_FEW = 50  # XLA finds one in so many elements of float32 in less time than sorting takes


def _top_k_last_cpu(ctx: Any, x: Any, aval: Any, k: Any) -> list[Any]:
    """Along the last axis. XLA has fast code for float32 only; other numbers of 32 and 64 bits are sorted."""
    size = aval.dtype.itemsize
    if size <= 2:
        values, places = hlo.top_k(hlo.convert(x, aval.update(dtype=np.dtype(np.float32))), k)
        return [hlo.convert(values, aval.update(shape=(*aval.shape[:-1], k))), places]
    last, n = len(aval.shape) - 1, aval.shape[-1]
    if dims.is_static(k) and (aval.dtype != np.float32 or k > n // _FEW) and _counts(ctx, aval, last):
        keys, bits = x, aval
        if category(aval.dtype) == FLOAT:  # here signs tell zeros apart, and NaN too
            bits = aval.update(dtype=np.dtype(_INTEGER_OF[size]))
            keys = _flip(hlo.bitcast_convert(x, bits), bits)
        words = [(hlo.not_(word), dtype) for word, dtype in _words(keys, bits)]
        places = _places_by_counting(ctx.module_context, words, aval.shape, last)
    elif size != 4 or category(aval.dtype) == FLOAT or not dims.is_static(n) or n >= 2**31 or dims.is_zero(aval.size):
        return hlo.top_k(x, k)
    else:
        places = places_in_order(ctx, hlo.not_(x), aval, last)
    shape = (*aval.shape[:-1], k)
    places = hlo.slice(places, (0,) * len(shape), shape)
    return [gather_along(x, places, aval.update(shape=shape), last), places]


def _top_k_jvp(primals: Any, tangents: Any, *, k: Any, axis: int) -> Any:
    (x,), (t,) = primals, tangents
    values, places = top_k_p.bind(x, k=k, axis=axis)
    no_tangent = Zero.from_primal_value(places)
    if type(t) is Zero:
        return [values, places], [Zero.from_primal_value(values), no_tangent]
    return [values, places], [take_along(instantiate_zeros(t), places, axis), no_tangent]


def _top_k_batch(args: Any, batch_dims: Any, *, k: Any, axis: int) -> Any:
    (d,) = batch_dims
    return top_k_p.bind(args[0], k=k, axis=axis + (axis >= d)), [d, d]


top_k_p.def_abstract_eval(_top_k_abstract)
register_lowering(top_k_p, _top_k_lower)
register_lowering(top_k_p, functools.partial(_top_k_lower, search=_top_k_last_cpu), platform="cpu")
rules.primitive_jvps[top_k_p] = _top_k_jvp
rules.primitive_batchers[top_k_p] = _top_k_batch


# --- approximate search ---------------------------------------------------------------------------------------------

approx_top_k_p = Primitive("approx_top_k", multiple_results=True)


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The ``k`` largest elements along an axis and their indices (int32), found exactly.

    The arguments that govern an approximation are accepted; the exact answer satisfies them all.

    Args:
      operand: an array of floating-point numbers.
      k: how many elements.
      reduction_dimension: the axis that is searched.
      recall_target: the fraction of true maxima that the approximation finds on average, in (0, 1].
      reduction_input_size_override: the size of the axis that the recall is computed for, where the operand is a part
        of a larger one; -1 for the operand's own.
      aggregate_to_topk: without it the result holds all candidates (more than ``k``), unsorted.

    Raises:
      TypeError: for operands that are not floating-point.
      ValueError: when ``k``, the axis or the recall is out of range.
    """
    return _approx(operand, k, reduction_dimension, recall_target, True, reduction_input_size_override,
                   aggregate_to_topk)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The ``k`` smallest elements along an axis and their indices; as :func:`approx_max_k` otherwise."""
    return _approx(operand, k, reduction_dimension, recall_target, False, reduction_input_size_override,
                   aggregate_to_topk)


def _approx(operand: Any, k: int, dimension: int, recall: float, is_max: bool, size: int, aggregate: bool) -> list[Any]:
    name = f"approx_{'max' if is_max else 'min'}_k"
    dimension = dims.canonical_axis(dimension, len(typeof(operand).shape), name, "reduction_dimension")
    return approx_top_k_p.bind(
        operand, k=dims.canonical_dim(k, f"{name}: k"), reduction_dimension=dimension, recall_target=float(recall),
        is_max_k=is_max, reduction_input_size_override=size, aggregate_to_topk=bool(aggregate))


def _approx_abstract(x: Any, *, k: Any, reduction_dimension: int, recall_target: float, is_max_k: bool,
                     reduction_input_size_override: int, aggregate_to_topk: bool) -> Any:
    check_category("approx_top_k", frozenset({FLOAT}), x.dtype)
    n = x.shape[reduction_dimension]
    if not 0 < recall_target <= 1:
        raise ValueError(f"approx_top_k: recall_target must lie in (0, 1], got {recall_target}")
    if not 0 <= k <= n:
        raise ValueError(f"approx_top_k: k={k} must lie between 0 and the size of axis {reduction_dimension} of the "
                         f"operand of shape {x.shape}")
    if not aggregate_to_topk:
        k = _candidates(n, len(x.shape), k, recall_target, reduction_input_size_override)
    shape = (*x.shape[:reduction_dimension], k, *x.shape[reduction_dimension + 1:])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, np.dtype(np.int32))]


def _candidates(n: int, rank: int, k: int, recall: float, size: int) -> int:
    return int(_jaxlib.xla.approx_top_k_reduction_output_size(n, rank, k, recall, False, size)[0])


def _approx_lower(ctx: Any, x: Any, *, k: Any, reduction_dimension: int, is_max_k: bool, **params: Any) -> Any:
    """The exact answer; as many as the candidates are where those are asked for."""
    n = ctx.avals_out[0].shape[reduction_dimension]
    values, places = _top_k_lower(ctx, x if is_max_k else hlo.negate(x), k=n, axis=reduction_dimension,
                                  search=_top_k_last_cpu if ctx.platforms == ("cpu",) else None)
    return [values if is_max_k else hlo.negate(values), places]


def _approx_jvp(primals: Any, tangents: Any, *, reduction_dimension: int, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    values, places = approx_top_k_p.bind(x, reduction_dimension=reduction_dimension, **params)
    no_tangent = Zero.from_primal_value(places)
    if type(t) is Zero:
        return [values, places], [Zero.from_primal_value(values), no_tangent]
    return [values, places], [take_along(t, places, reduction_dimension), no_tangent]


def _approx_batch(args: Any, batch_dims: Any, *, reduction_dimension: int, **params: Any) -> Any:
    (d,) = batch_dims
    moved = reduction_dimension + (reduction_dimension >= d)
    return approx_top_k_p.bind(args[0], reduction_dimension=moved, **params), [d, d]


approx_top_k_p.def_abstract_eval(_approx_abstract)
register_lowering(approx_top_k_p, _approx_lower)
rules.primitive_jvps[approx_top_k_p] = _approx_jvp
rules.primitive_batchers[approx_top_k_p] = _approx_batch

__all__ = ["approx_max_k", "approx_min_k", "approx_top_k_p", "sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]
