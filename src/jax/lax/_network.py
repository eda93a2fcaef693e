"""Sorting many rows of moderate length, on CPUs: a network of comparisons, each made for many rows in vector instructions.

Rows are laid side by side, so that one comparison of the network is the minimum and the maximum of two vectors. The network
is the bitonic sorter (Batcher, Sorting networks and their applications, AFIPS 1968) in the form whose comparisons all put
the smaller element first: a level compares each element ``i`` with element ``i ^ mask``. Missing elements of lengths that
are not powers of two count as the largest number, and what would be compared with them is left alone.

All of it is one kernel, a loop over tables of masks, that sorts so many rows at a time that they stay in a cache. Against
XLA's own sort of integers, which goes through one row after the other, it takes a third to a tenth of the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax._language import dims
from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.context import ModuleContext
from jax._lowering.kernels import INDEX, at, call_kernel, index, loop, plus
from jax._lowering.types import ir_constant

LEAST_ROWS = 64  # fewer fill no vectors
LEAST_SIZE = 1 << 16  # programs that sort less are compiled faster with XLA's sort
_MOST = {1: 2048, 2: 8192, 4: 8192, 8: 8192}  # elements of so many bytes; longer rows are counted faster (``_radix``)
_EXCESS = 1.05  # times as many columns at most as if blocks were as narrow as they can be
_LINE = 64  # bytes of a cache line
_APART = 512  # bytes from which on rows at an even number of lines would meet in the same places of a cache


def fits(aval: ShapedArray, dimension: int) -> bool:
    """Whether rows of ``aval`` (integers) along ``dimension`` are sorted faster by a network."""
    if not all(map(dims.is_static, aval.shape)):
        return False
    n = aval.shape[dimension]
    return (2 <= n <= _MOST[aval.dtype.itemsize] and LEAST_ROWS <= aval.size // n
            and LEAST_SIZE <= aval.size < 2**31)


def sort(module: ModuleContext, x: Any, aval: ShapedArray, dimension: int) -> Any:
    """Integers ``x`` in increasing order along ``dimension``."""
    shape, n = aval.shape, aval.shape[dimension]
    after = dims.size_of(shape[dimension + 1:])
    if after >= _narrowest(aval.dtype):
        columns = aval.update(shape=(aval.size // (n * after), n, after))
        return hlo.reshape(_sorted_columns(module, hlo.reshape(x, columns), columns), aval)
    order = [*(d for d in range(aval.ndim) if d != dimension), dimension]
    moved = aval.update(shape=tuple([shape[d] for d in order]))
    rows = aval.update(shape=(aval.size // n, n))
    x = _sorted_rows(module, hlo.reshape(hlo.transpose(x, moved, order), rows), rows)
    return hlo.transpose(hlo.reshape(x, moved), aval, [order.index(d) for d in range(aval.ndim)])


def _narrowest(dtype: np.dtype[Any]) -> int:
    """How many rows lie side by side at least. XLA writes shorter loops out before they could become vector instructions."""
    return 48 if dtype.itemsize == 8 else 64


def _width(dtype: np.dtype[Any], rows: int) -> int:
    """How many of ``rows`` lie side by side: more have fewer indices to compute, if the last block is not much too large."""
    narrowest = _narrowest(dtype)
    for width in (2 * narrowest,) if dtype.itemsize == 8 else (4 * narrowest, 2 * narrowest):
        if width <= rows and -(-rows // width) * width <= _EXCESS * (-(-rows // narrowest) * narrowest):
            return width
    return narrowest


def _sorted_columns(module: ModuleContext, x: Any, aval: ShapedArray) -> Any:
    """``x`` of shape (p, n, c) in order along the second axis."""
    p, n, c = aval.shape
    width = _width(aval.dtype, c)
    part = aval.update(shape=(1, n, width))
    beside = -(-c // width)

    def start(i: Any) -> list[Any]:
        column = hlo.multiply(hlo.remainder(i, index(beside)), index(width))
        return [hlo.divide(i, index(beside)), index(0), hlo.minimum(column, index(c - width))]

    def take(x: Any, i: Any) -> Any:
        return hlo.reshape(hlo.dynamic_slice(x, start(i), part.shape), aval.update(shape=(n, width)))

    def put(x: Any, block: Any, i: Any) -> Any:
        return hlo.dynamic_update_slice(x, hlo.reshape(block, part), start(i))

    return _in_blocks(module, x, aval, (n, width), p * beside, take, put)


def _sorted_rows(module: ModuleContext, x: Any, aval: ShapedArray) -> Any:
    """``x`` of shape (r, n) in order along the second axis."""
    r, n = aval.shape
    width = _width(aval.dtype, r)
    missing = max(width - r, 0)
    apart = n * aval.dtype.itemsize
    between = _LINE // aval.dtype.itemsize if apart >= _APART and apart % (2 * _LINE) == 0 else 0
    wide = aval.update(shape=(r + missing, n + between))
    if wide is not aval:
        x = hlo.pad(x, hlo.scalar_constant(0, aval.dtype), (0, 0), (missing, between), (0, 0))

    def start(i: Any) -> list[Any]:  # the last rows may have been sorted before, which does no harm
        return [hlo.minimum(hlo.multiply(i, index(width)), index(r + missing - width)), index(0)]

    def take(x: Any, i: Any) -> Any:
        part = hlo.dynamic_slice(x, start(i), (width, n))
        return hlo.transpose(part, aval.update(shape=(n, width)), (1, 0))

    def put(x: Any, block: Any, i: Any) -> Any:
        return hlo.dynamic_update_slice(x, hlo.transpose(block, aval.update(shape=(width, n)), (1, 0)), start(i))

    x = _in_blocks(module, x, wide, (n, width), -(-r // width), take, put)
    return hlo.slice(x, (0, 0), aval.shape)


def _in_blocks(module: ModuleContext, x: Any, aval: ShapedArray, shape: tuple[int, int], count: int,
               take: Callable[[Any, Any], Any], put: Callable[[Any, Any, Any], Any]) -> Any:
    """``x`` with its ``count`` blocks of ``shape`` in order down their columns; ``take`` and ``put`` read and write one."""
    dtype, (n, width) = aval.dtype, shape
    # One row more stands for all that are missing. Lines are added so that rows at distances of powers of two do not meet.
    apart = width + (_LINE // dtype.itemsize if width * dtype.itemsize % (2 * _LINE) == 0 else 0)

    padded = aval.update(shape=(n + 1, apart))
    largest = dtypes.iinfo(dtype).max

    def work_rows() -> Any:
        return hlo.full(0, (4, width), dtype)

    def only_block(args: Any) -> list[Any]:
        return [_sorted_block(args[0], work_rows(), n, width)[0]]

    def all_blocks(args: Any) -> list[Any]:
        def step(i: Any, _: int, x: Any, block: Any, four: Any) -> list[Any]:
            block = hlo.dynamic_update_slice(block, take(x, i), [index(0), index(0)])
            block, four = _sorted_block(block, four, n, width)
            return [put(x, hlo.slice(block, (0, 0), (n, width)), i), block, four]

        return [loop(count, [args[0], hlo.full(largest, padded.shape, dtype), work_rows()], step, unroll=1)[0]]

    if count > 1:
        return call_kernel(module, ("sorting_network", aval, shape, count), [x], [aval], all_blocks)[0]
    # XLA cannot compile a kernel that ends with an operation which it would compute in several threads elsewhere.
    block = hlo.pad(take(x, index(0)), hlo.scalar_constant(largest, dtype), (0, 0), (1, apart - width), (0, 0))
    block = call_kernel(module, ("sorting_network", padded), [block], [padded], only_block)[0]
    return put(x, hlo.slice(block, (0, 0), (n, width)), index(0))


class _Pass(NamedTuple):
    """Two levels of the network, made for four elements at a time, of which ``i`` is the first.

    The first level compares ``i`` with ``i ^ first`` and ``i ^ second`` with ``i ^ second ^ first``. Minimum and maximum of
    the first pair are numbers 0 and 1, those of the second 2 and 3. The second level compares number 0 with ``partner``, for
    ``i`` and ``i ^ second``, and the other two, for ``i ^ other`` and ``i ^ other ^ second``.
    """

    first: int
    second: int
    low: int  # masks of the bits below those that are 0 in every ``i``
    high: int
    other: int
    partner: int
    count: int  # how many ``i`` there are


def _levels(n: int) -> list[int]:
    """The masks of the network for ``n`` elements: those that merge two ordered sequences, of 1, 2, 4 ... elements."""
    masks = []
    for bits in range(1, (n - 1).bit_length() + 1):
        masks += [(1 << bits) - 1, *(1 << b for b in reversed(range(bits - 1)))]
    return masks


def _passes(n: int) -> list[_Pass]:
    levels = _levels(n)
    if len(levels) % 2:
        levels.append(1 << 30)  # with elements that are missing
    passes = []
    for first, second in zip(levels[::2], levels[1::2], strict=True):
        tops = [1 << (mask.bit_length() - 1) for mask in (first, second)]  # the smaller element has bit 0 there
        low, high = (top - 1 for top in sorted(tops))
        other = first ^ second if first & tops[1] else first
        count = bisect_left(range(n), n, key=lambda i, low=low, high=high: _with_zero_bit(_with_zero_bit(i, low), high))
        passes.append(_Pass(first, second, low, high, other, 3 if second & tops[0] else 2, count))
    return passes


def _with_zero_bit(i: Any, mask: Any) -> Any:
    """``i`` with a bit 0 inserted above the bits in ``mask``; numbers, or values of a program."""
    if isinstance(i, int):
        return i + (i & ~mask)
    return hlo.add(i, hlo.subtract(i, hlo.and_(i, mask)))


def _sorted_block(block: Any, four: Any, n: int, width: int) -> tuple[Any, Any]:
    """The first ``n`` rows and ``width`` columns of ``block`` in order down the columns; ``four`` rows are for work."""
    passes = _passes(n)
    tables = [ir_constant(np.array(column, INDEX)) for column in zip(*passes, strict=True)]

    def one(number: Any, _: int, block: Any, four: Any) -> list[Any]:
        this = _Pass(*(at(table, number) for table in tables))

        def some_left(i: Any, block: Any, four: Any) -> Any:
            return hlo.compare(i, this.count, "LT", "UNSIGNED")

        def step(i: Any, block: Any, four: Any) -> list[Any]:
            lowest = _with_zero_bit(_with_zero_bit(i, this.low), this.high)
            return [plus(i, 1), *_compare_four(block, four, lowest, this, n, width)]

        return hlo.while_loop([index(0), block, four], some_left, step)[1:]

    block, four = loop(len(passes), [block, four], one, unroll=1)
    return block, four


def _compare_four(block: Any, four: Any, i: Any, this: _Pass, n: int, width: int) -> list[Any]:
    """The levels of ``this`` pass for the row ``i`` and the three that it is compared with."""
    def row(i: Any) -> list[Any]:
        return [hlo.minimum(i, index(n)), index(0)]

    def both(x: Any, a: list[Any], b: list[Any]) -> list[Any]:
        pair = [hlo.dynamic_slice(x, start, (1, width)) for start in (a, b)]
        return [hlo.minimum(*pair), hlo.maximum(*pair)]

    beyond = hlo.xor(i, this.second)
    results = [*both(block, row(i), row(hlo.xor(i, this.first))),
               *both(block, row(beyond), row(hlo.xor(beyond, this.first)))]
    for number, result in enumerate(results):
        four = hlo.dynamic_update_slice(four, result, [index(number), index(0)])
    other = hlo.xor(i, this.other)
    results = [*both(four, [index(0), index(0)], [this.partner, index(0)]),
               *both(four, [index(1), index(0)], [hlo.subtract(index(5), this.partner), index(0)])]
    for at_row, result in zip((i, beyond, other, hlo.xor(other, this.second)), results, strict=True):
        block = hlo.dynamic_update_slice(block, result, row(at_row))
    return [block, four]
