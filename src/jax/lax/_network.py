"""Sorting many rows of moderate length, on CPUs: a network of comparisons, each made for many rows in vector instructions.

Rows are laid side by side, so that one comparison of the network is the minimum and the maximum of two vectors. The balanced
network (Dowd, Perl, Rudolph and Saks, The periodic balanced sorting network, Journal of the ACM 36, 1989) sorts
``n = 2**k`` elements in ``k`` equal rounds of ``k`` steps. Others need half as many steps, but no two alike: a
round that is compiled once and run ``k`` times is what keeps compilation short. Other lengths are filled up with the largest
number. Against XLA's own sort, which goes through one row after the other, it takes a half to a ninth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes
from jax._language import dims
from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.context import ModuleContext
from jax._lowering.kernels import INDEX, index, plus
from jax._lowering.subprograms import APART, call_shared
from jax._lowering.types import ir_type

LEAST_ROWS = 64  # fewer fill no vectors
LEAST_SIZE = 1 << 16  # programs that sort less are compiled faster with XLA's sort
# The steps for each element, beyond which counting (``_radix``) is faster.
_MOST_STEPS = 200
_NARROW = 256  # numbers of less than 4 bytes need but few rounds of counting, from this length on
# Steps that are computed together: an element then depends on 4, which is still cheap to compute again, and values go
# through memory half as often.
_TOGETHER = 2
_CACHED = 4 << 20  # bytes that are sorted at a time


def fits(aval: ShapedArray, dimension: int) -> bool:
    """Whether rows of ``aval`` (integers) along ``dimension`` are sorted faster by a network."""
    if not all(map(dims.is_static, aval.shape)):
        return False
    n = aval.shape[dimension]
    if n < 2 or (n >= _NARROW and aval.dtype.itemsize < 4):
        return False
    steps = (n - 1).bit_length()
    return (LEAST_ROWS <= aval.size // n and LEAST_SIZE <= aval.size < 2**31
            and steps * steps * (1 << steps) <= _MOST_STEPS * n)


def sort(module: ModuleContext, x: Any, aval: ShapedArray, dimension: int) -> Any:
    """Integers ``x`` in increasing order along ``dimension``."""
    if aval.dtype.itemsize < 4:  # whose minimum has no good code
        wide = aval.update(dtype=np.dtype(np.uint32 if np.issubdtype(aval.dtype, np.unsignedinteger) else np.int32))
        return hlo.convert(sort(module, hlo.convert(x, wide), wide, dimension), aval)
    order = [dimension, *(d for d in range(aval.ndim) if d != dimension)]
    moved = ShapedArray(tuple([aval.shape[d] for d in order]), aval.dtype)
    n = aval.shape[dimension]
    columns = ShapedArray((n, aval.size // n), aval.dtype)
    x = hlo.reshape(hlo.transpose(x, moved, order), columns)
    x = hlo.reshape(_in_blocks(module, x, columns), moved)
    return hlo.transpose(x, aval, [order.index(d) for d in range(aval.ndim)])


def _in_blocks(module: ModuleContext, x: Any, aval: ShapedArray) -> Any:
    """Each column of ``x`` in order; as many columns at a time as caches hold."""
    n, columns = aval.shape
    width = max(LEAST_ROWS, _CACHED // (aval.dtype.itemsize << (n - 1).bit_length()))
    if 2 * columns <= 3 * width:
        return _sorted_columns(module, x, aval)
    block = aval.update(shape=(n, width))

    def step(begin: Any, x: Any) -> list[Any]:
        first = [index(0), hlo.minimum(begin, index(columns - width))]  # the last block may begin before the end of another
        part = hlo.dynamic_slice(x, first, block.shape)
        return [plus(begin, width), hlo.dynamic_update_slice(x, _sorted_columns(module, part, block), first)]
    return hlo.while_loop([index(0), x], lambda begin, _: hlo.compare(begin, index(columns), "LT", "UNSIGNED"), step)[1]


def _sorted_columns(module: ModuleContext, x: Any, aval: ShapedArray) -> Any:
    n, columns = aval.shape
    rounds = (n - 1).bit_length()
    whole = aval.update(shape=(1 << rounds, columns))
    if n < 1 << rounds:
        top = hlo.scalar_constant(dtypes.iinfo(aval.dtype).max, aval.dtype)
        x = hlo.pad(x, top, (0, 0), ((1 << rounds) - n, 0), (0, 0))

    def one_round(i: Any, x: Any) -> list[Any]:
        for first in range(0, rounds, _TOGETHER):
            x = _steps(module, x, whole, first, min(first + _TOGETHER, rounds))
        return [plus(i, 1), x]

    x = hlo.while_loop([index(0), x], lambda i, _: hlo.compare(i, index(rounds), "LT", "UNSIGNED"), one_round)[1]
    return hlo.slice(x, (0, 0), aval.shape)


def _steps(module: ModuleContext, x: Any, aval: ShapedArray, begin: int, end: int) -> Any:
    """Steps ``begin`` to ``end`` of a round, not fused with others."""
    def fill(args: Any) -> list[Any]:
        [x] = args
        for step in range(begin, end):
            x = _step(x, aval, aval.shape[0] >> step)
        return [x]

    return call_shared(module, ("sorting_steps", aval, begin, end), [ir_type(aval)], [x], fill, APART)[0]


def _step(x: Any, aval: ShapedArray, size: int) -> Any:
    """In each block of ``size`` elements, the smaller one of two that are as far from either end comes first."""
    n, columns = aval.shape
    halves = aval.update(shape=(n // size, 2, size // 2, columns))
    x = hlo.reshape(x, halves)
    other = hlo.reverse(x, (1, 2))
    half = hlo.iota(halves.update(dtype=INDEX), 1)
    is_first = hlo.compare(half, hlo.full(0, halves.shape, INDEX), "EQ", "UNSIGNED")
    return hlo.reshape(hlo.select(is_first, hlo.minimum(x, other), hlo.maximum(x, other)), aval)
