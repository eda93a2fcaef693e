"""Loops over single elements that XLA's CPU compiler turns into one kernel each.

A ``while`` runs its body operation by operation, at a tenth of a microsecond for each. A function whose call is marked as
small is compiled as a whole instead: loops in it become machine loops, at a few instructions for each operation, and
arrays of the loop's state are written in place. That holds as long as XLA sees no need for copies. So what a step reads of
an array that it also writes is read by a call of its own (:func:`read`), which is not fused with the update; and what is
written has to follow from what was read. A kernel has to need all its operands: XLA ends the process when simplification
leaves it with one that it does not read (``passes.cones.reads_all``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.context import ModuleContext
from jax._lowering.subprograms import APART, build_function, call_function, call_shared
from jax._lowering.types import ir_type

INDEX = np.dtype(np.uint32)  # without a sign, for which starts of slices would be clamped from below too
ONE_KERNEL = {**APART, "xla_cpu_small_call": "true"}
_UNROLL = 4  # what keeps a loop going costs as much as an element


def call_kernel(module: ModuleContext, key: tuple[Any, ...], operands: Sequence[Any], avals_out: Sequence[Any],
                fill: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """Calls the function that ``fill`` writes, as one kernel. It is written once per module and ``key``, of which the
    first part is its name."""
    return call_shared(module, key, [ir_type(a) for a in avals_out], operands, fill, ONE_KERNEL)


def scalar(dtype: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(dtype))


def index(value: int) -> Any:
    """A constant index."""
    return hlo.scalar_constant(value, INDEX)


def plus(i: Any, offset: int) -> Any:
    """``i + offset``."""
    return hlo.add(i, index(offset)) if offset else i


def at(x: Any, i: Any) -> Any:
    """Element ``i`` of the vector ``x``."""
    element = hlo.dynamic_slice(x, [i], (1,))
    return hlo.op1("stablehlo.reshape", _tensor((), x), (element,))


def put(x: Any, value: Any, i: Any) -> Any:
    """The vector ``x`` with ``value`` as element ``i``."""
    return hlo.dynamic_update_slice(x, hlo.op1("stablehlo.reshape", _tensor((1,), x), (value,)), [i])


def _tensor(shape: tuple[int, ...], like: Any) -> Any:
    return _jaxlib.ir.RankedTensorType.get(shape, like.type.element_type)


def read(module: ModuleContext, f: Callable[..., Any], *args: Any) -> Any:
    """The index ``f(*args)``, computed before what follows from it and not again with it."""
    out = ir_type(scalar(INDEX))
    symbol = build_function(module, "read", [x.type for x in args], [out], lambda args: [f(*args)])
    return call_function(symbol, [out], args, APART)[0]


def loop(count: int, state: Sequence[Any], step: Callable[..., Sequence[Any]], unroll: int = _UNROLL) -> list[Any]:
    """``state = step(i, offset, *state)`` for each number ``i + offset`` below ``count``, in order."""
    def several(i: Any, size: int, state: Sequence[Any]) -> Sequence[Any]:
        for offset in range(size):
            state = step(i, offset, *state)
        return state

    def steps(begin: int, end: int, size: int, state: list[Any]) -> list[Any]:
        if end - begin <= size:
            return list(several(index(begin), end - begin, state))
        return hlo.while_loop([index(begin), *state],
                              lambda i, *state: hlo.compare(i, index(end), "LT", "UNSIGNED"),
                              lambda i, *state: [plus(i, size), *several(i, size, state)])[1:]

    whole = count // unroll * unroll if count > unroll else 0
    return steps(whole, count, 1, steps(0, whole, unroll, list(state)))
