"""Sorting by counting, on CPUs: radix sort, from the least significant digit to the most significant.

For each digit one pass counts how often each of its values occurs, which says where the elements with that digit end. A
second one moves every element to its place, starting from the last element and the last place, so that equal digits keep
their order (Knuth, The Art of Computer Programming, volume 3, section 5.2.5). The time does not depend on the values. XLA's
own sort compares, and takes six times as long for a million numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.context import ModuleContext
from jax._lowering.kernels import INDEX, at, call_kernel, index, loop, plus, put, read, scalar

# Digits of 16 bits need 65536 counters for every row, digits of 8 bits twice as many passes.
_LONG = 40_000


def sorted_words(module: ModuleContext, words: Any, dtype: Any, rows: int, n: int) -> Any:
    """Unsigned integers ``words``, a vector of ``rows`` rows of ``n``, with each row in increasing order."""
    if rows > 1:
        return _halves(rows, n, [words], lambda rows, parts: _sorted_rows(module, parts[0], dtype, rows, n))
    return _sorted_rows(module, words, dtype, rows, n)


def _sorted_rows(module: ModuleContext, words: Any, dtype: Any, rows: int, n: int, lowest: int = 0) -> Any:
    """As :func:`sorted_words`; in the order of the bits from bit ``lowest`` on, of which there are 32 if it is not 0."""
    bits, passes = _digits(INDEX if lowest else dtype, n)

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        def one(source: Any, target: Any, shift: Any, top: Any) -> Any:
            digit = _Digit(dtype, bits, shift, top, n)
            return _moved(module, source, target, _ends(module, source, digit), digit)

        def row(top: Any, buffers: list[Any]) -> list[Any]:
            if passes <= 2:
                first = one(args[0], buffers[0], _constant(lowest, dtype), top)
                if passes == 1:
                    return [first]
                return [first, one(first, buffers[1], _constant(lowest + bits, dtype), top)]

            def there_and_back(number: Any, offset: int, here: Any, there: Any) -> list[Any]:
                shift = hlo.convert(plus(hlo.multiply(number, index(2 * bits)), lowest), scalar(dtype))
                there = one(here, there, shift, top)
                return [one(there, here, hlo.add(shift, _constant(bits, dtype)), top), there]

            return loop(passes // 2, buffers, there_and_back, unroll=1)

        buffers = [hlo.full(0, (rows * n,), dtype) for _ in range(min(passes, 2))]
        if passes > 2:
            buffers[0] = args[0]
        return [_each_row(rows, n, buffers, row)[0 if passes > 2 else -1]]

    return call_kernel(module, ("radix_sort", rows, n, dtype, lowest), [words], [ShapedArray((rows * n,), dtype)], fill)[0]


def values_in_order(module: ModuleContext, words: Any, dtype: Any, values: Any, rows: int, n: int) -> Any:
    """``values`` (uint32) in the order of ``words``, unsigned integers of up to 32 bits, within each row; those with equal
    words in their own order. Both are vectors of ``rows`` rows of ``n``. None are the numbers 0, 1, 2 ... in each row.

    In between, what is left of a word and its value are in one integer, so that a move touches one place in memory.
    """
    operands = [words] if values is None else [words, values]
    if rows > 1:
        return _halves(rows, n, operands, lambda rows, parts: _ordered_rows(module, parts, dtype, rows, n))
    return _ordered_rows(module, operands, dtype, rows, n)


def _ordered_rows(module: ModuleContext, operands: Sequence[Any], dtype: Any, rows: int, n: int) -> Any:
    bits, passes = _digits(dtype, n)
    if passes > 2:  # a loop over passes is compiled faster than passes of different types
        return _ordered_pairs(module, operands, rows, n)

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        def value(word: Any, number: Any, below: Any) -> Any:
            return hlo.subtract(index(n - 1), below) if len(args) == 1 else at(args[1], number)

        def pair(word: Any, number: Any, below: Any) -> Any:
            high = hlo.shift_left(hlo.convert(word, scalar(_PAIR)), _constant(32, _PAIR))
            return hlo.or_(high, hlo.convert(value(word, number, below), scalar(_PAIR)))

        def value_of_pair(word: Any, number: Any, below: Any) -> Any:
            return hlo.convert(word, scalar(INDEX))

        def row(top: Any, buffers: list[Any]) -> list[Any]:
            low = _Digit(dtype, bits, _constant(0, dtype), top, n)
            first = _moved(module, args[0], buffers[0], _ends(module, args[0], low), low, value if passes == 1 else pair)
            if passes == 1:
                return [first]
            ends = _ends(module, args[0], _Digit(dtype, bits, _constant(bits, dtype), top, n))
            high = _Digit(_PAIR, bits, _constant(32 + bits, _PAIR), top, n)
            return [first, _moved(module, first, buffers[1], ends, high, value_of_pair)]

        buffers = [hlo.full(0, (rows * n,), t) for t in (_PAIR, INDEX)[2 - passes:]]
        return [_each_row(rows, n, buffers, row)[-1]]

    return call_kernel(module, ("radix_order", rows, n, dtype, len(operands)), operands, [ShapedArray((rows * n,), INDEX)],
                       fill)[0]


def _ordered_pairs(module: ModuleContext, operands: Sequence[Any], rows: int, n: int) -> Any:
    pairs = ShapedArray((rows * n,), _PAIR)
    if len(operands) == 1:
        each = hlo.iota(ShapedArray((rows, n), _PAIR), 1)
        values = hlo.reshape(each, pairs)
    else:
        values = hlo.convert(operands[1], pairs)
    high = hlo.shift_left(hlo.convert(operands[0], pairs), hlo.full(32, (rows * n,), _PAIR))
    ordered = _sorted_rows(module, hlo.or_(high, values), _PAIR, rows, n, lowest=32)
    return hlo.convert(ordered, ShapedArray((rows * n,), INDEX))


_PAIR = np.dtype(np.uint64)


def _digits(dtype: Any, n: int) -> tuple[int, int]:
    """How many bits the digits of words of ``dtype`` have, and how many digits there are."""
    size = 8 * dtype.itemsize
    bits = min(size, 16 if n >= _LONG else 8)
    return bits, size // bits


def _constant(value: int, dtype: Any) -> Any:
    return hlo.scalar_constant(value, dtype)


def _halves(rows: int, n: int, operands: Sequence[Any], f: Callable[[int, list[Any]], Any]) -> Any:
    """``f(rows, operands)`` for half of the rows at a time, whose arrays fit caches better."""
    half = rows // 2
    parts = [f(end - begin, [hlo.slice(x, (begin * n,), (end * n,)) for x in operands])
             for begin, end in ((0, half), (half, rows))]
    return hlo.concatenate(parts, 0)


def _each_row(rows: int, n: int, buffers: list[Any], row: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """``buffers = row(number of the row's last element, buffers)`` for one row after the other."""
    if rows == 1:
        return row(index(n - 1), buffers)

    def step(number: Any, offset: int, *buffers: Any) -> list[Any]:
        return row(plus(hlo.multiply(number, index(n)), n - 1), list(buffers))

    return loop(rows, buffers, step, unroll=1)


class _Digit:
    """A digit of the words of one row: ``bits`` bits from bit ``shift`` on. The row's last word has the number ``top``."""

    def __init__(self, dtype: Any, bits: int, shift: Any, top: Any, n: int) -> None:
        self.bits, self.n, self.top = bits, n, top
        self.where = (shift, _constant((1 << bits) - 1, dtype), top)

    def of(self, words: Any, where: Sequence[Any], i: Any, offset: int) -> Any:
        shift, mask, top = where
        word = at(words, hlo.subtract(top, plus(i, offset)))
        return hlo.convert(hlo.and_(hlo.shift_right_logical(word, shift), mask), scalar(INDEX))


# Words are read again, by each operation that needs one, where a value in common would have to be stored.

def _ends(module: ModuleContext, words: Any, digit: _Digit) -> Any:
    """Where in the order the words with each value of the digit end."""
    def count(i: Any, offset: int, counts: Any) -> list[Any]:
        more = read(module, lambda counts, words, i, *where: plus(at(counts, digit.of(words, where, i, offset)), 1),
                    counts, words, i, *digit.where)
        return [put(counts, more, digit.of(words, digit.where, i, offset))]

    def add_up(i: Any, offset: int, total: Any, counts: Any) -> list[Any]:
        total = read(module, lambda total, counts, i: hlo.add(total, at(counts, plus(i, offset))), total, counts, i)
        return [total, put(counts, total, plus(i, offset))]

    counts = loop(digit.n, [hlo.full(0, (1 << digit.bits,), INDEX)], count)
    return loop(1 << digit.bits, [hlo.subtract(digit.top, index(digit.n - 1)), *counts], add_up)[1]


def _moved(module: ModuleContext, source: Any, target: Any, ends: Any, digit: _Digit,
           carried: Callable[[Any, Any, Any], Any] | None = None) -> Any:
    """``target`` with the words of a row of ``source`` in their places by one digit; with ``carried(word, its number, its
    number from the row's end)`` in place of each, if given."""
    def place(ends: Any, source: Any, i: Any, *where: Any, offset: int) -> Any:
        return hlo.subtract(at(ends, digit.of(source, where, i, offset)), index(1))

    def step(i: Any, offset: int, ends: Any, target: Any) -> list[Any]:
        to = read(module, lambda *args: place(*args, offset=offset), ends, source, i, *digit.where)
        below = plus(i, offset)
        number = hlo.subtract(digit.top, below)
        word = at(source, number)
        value = word if carried is None else carried(word, number, below)
        return [put(ends, to, digit.of(source, digit.where, i, offset)), put(target, value, to)]

    return loop(digit.n, [ends, target], step)[1]
