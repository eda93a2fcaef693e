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
        return _halves(rows, n, [words], lambda rows, parts: _sorted_rows(module, *parts, dtype, rows, n))
    return _sorted_rows(module, words, dtype, rows, n)


def _sorted_rows(module: ModuleContext, words: Any, dtype: Any, rows: int, n: int) -> Any:
    bits, passes = _digits(dtype, n)

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        def one(source: Any, target: Any, shift: Any, top: Any) -> Any:
            digit = _Digit(dtype, bits, shift, top, n)
            return _moved(module, source, target, _ends(module, source, digit), digit)

        def row(top: Any, buffers: list[Any]) -> list[Any]:
            if passes <= 2:
                first = one(args[0], buffers[0], _constant(0, dtype), top)
                return [first] if passes == 1 else [first, one(first, buffers[1], _constant(bits, dtype), top)]

            def there_and_back(number: Any, offset: int, here: Any, there: Any) -> list[Any]:
                shift = hlo.convert(hlo.multiply(number, index(2 * bits)), scalar(dtype))
                there = one(here, there, shift, top)
                return [one(there, here, hlo.add(shift, _constant(bits, dtype)), top), there]

            return loop(passes // 2, buffers, there_and_back, unroll=1)

        buffers = [hlo.full(0, (rows * n,), dtype) for _ in range(min(passes, 2))]
        if passes > 2:
            buffers[0] = args[0]
        return [_each_row(rows, n, buffers, row)[0 if passes > 2 else -1]]

    return call_kernel(module, ("radix_sort", rows, n, dtype), [words], [ShapedArray((rows * n,), dtype)], fill)[0]


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

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        def value(number: Any, below: Any) -> Any:
            return hlo.subtract(index(n - 1), below) if len(args) == 1 else at(args[1], number)

        def pair(word: Any, number: Any, below: Any) -> Any:
            high = hlo.shift_left(hlo.convert(word, scalar(_PAIR)), _constant(32, _PAIR))
            return hlo.or_(high, hlo.convert(value(number, below), scalar(_PAIR)))

        def row(top: Any, buffers: list[Any]) -> list[Any]:
            source = args[0]
            for j in range(passes):
                of_word = _Digit(dtype, bits, _constant(bits * j, dtype), top, n)
                digit = _Digit(_PAIR, bits, _constant(32 + bits * j, _PAIR), top, n) if j else of_word
                carried = (None if 0 < j < passes - 1 else pair if passes > 1 and not j else
                           (lambda word, *_: hlo.convert(word, scalar(INDEX))) if j else lambda word, *at: value(*at))
                to = min(j % 2, passes - 1) if j < passes - 1 else len(buffers) - 1
                buffers[to] = source = _moved(module, source, buffers[to], _ends(module, args[0], of_word), digit, carried)
            return buffers

        pairs = [hlo.full(0, (rows * n,), _PAIR) for _ in range(min(passes - 1, 2))]
        return [_each_row(rows, n, [*pairs, hlo.full(0, (rows * n,), INDEX)], row)[-1]]

    return call_kernel(module, ("radix_order", rows, n, dtype, len(operands)), operands, [ShapedArray((rows * n,), INDEX)],
                       fill)[0]


_PAIR = np.dtype(np.uint64)


def _digits(dtype: Any, n: int) -> tuple[int, int]:
    """How many bits the digits of words of ``dtype`` have, and how many digits there are."""
    size = 8 * dtype.itemsize
    bits = min(size, 16 if n >= _LONG else 8)
    return bits, size // bits


def _constant(value: int, dtype: Any) -> Any:
    return hlo.scalar_constant(value, dtype)


def _halves(rows: int, n: int, operands: Sequence[Any], f: Callable[[int, list[Any]], Any]) -> Any:
    """``f(rows, operands)`` for half of the rows at a time, in kernels that XLA runs beside each other."""
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
