"""Primitives whose meaning is a program of other operations, element by element.

Eagerly such a primitive is one compiled call, and in a jaxpr one equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax._ground.families import FLOATING, broadcast_shapes_of, broadcast_to_result, defjvp, like, nary
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun
from jax._transforms.jvp import jvp_flat
from jax.lax._arithmetic import add, mul
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import lt
from jax.lax._creation import full, full_like
from jax.lax._reduce import reduce_or
from jax.lax._select import where
from jax.lax._while import while_loop

_FLOAT32 = np.dtype(np.float32)
_MOST_STEPS = 20000


def composed(name: str, fun: Callable[..., Any], arity: int) -> Primitive:
    """The primitive that computes ``fun`` of ``arity`` floating operands, differentiated as ``fun`` is.

    Its tangents are products with derivatives of ``fun``, so that they can be transposed even where ``fun`` has loops.
    """
    wide = _in_float32(name, fun)
    prim = nary(name, FLOATING, "")
    register_lowering(prim, cache_lowering(lower_fun(wide, multiple_results=False)))

    def rule(position: int) -> Callable[..., Any]:
        return lambda t, *args: mul(t, partial_derivative(wide, position, args)[1])

    defjvp(prim, *[rule(i) for i in range(arity)])
    return prim


def _in_float32(name: str, fun: Callable[..., Any]) -> Callable[..., Any]:
    """``fun`` on operands broadcast to one shape; 16-bit floats are computed with 32 bits."""
    def wide(*args: Any) -> Any:
        shape = broadcast_shapes_of(name, [typeof(x) for x in args])
        args = tuple([broadcast_to_result(x, shape) for x in args])
        dtype = typeof(args[0]).dtype
        if dtype.itemsize >= 4:
            return fun(*args)
        return convert(fun(*[convert(x, _FLOAT32) for x in args]), dtype)
    return wide


def partial_derivative(fun: Callable[..., Any], position: int, args: Any) -> tuple[Any, Any]:
    """``fun(*args)`` and its derivative with respect to one argument, element by element."""
    def of_one(x: Any) -> list[Any]:
        return [fun(*args[:position], x, *args[position + 1:])]
    (out,), (slope,) = jvp_flat(of_one, [args[position]], [full_like(args[position], 1)])
    return out, slope


def iterate(step: Callable[..., Any], state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Repeats ``(n, *state) -> (unfinished, *state)`` for each element while it is unfinished; ``n`` counts from 1.

    Finished elements stay as they are: going on would let rounding errors drift.
    """
    first = state[0]
    shape = typeof(first).shape

    def unfinished(carry: Any) -> Any:
        n, more, *_ = carry
        return bitwise_and(reduce_or(more, tuple(range(len(shape)))), lt(n, like(n, _MOST_STEPS)))

    def body(carry: Any) -> Any:
        n, active, *now = carry
        n = add(n, like(n, 1))
        more, *new = step(convert(n, typeof(first).dtype), *now)
        return (n, bitwise_and(active, more), *(where(active, b, a) for a, b in zip(now, new, strict=True)))

    _, _, *out = while_loop(unfinished, body, (full((), 0, np.int32), full(shape, True), *state))
    return tuple(out)


def epsilon(x: Any) -> Any:
    """The spacing of floats at 1."""
    return like(x, float(np.finfo(typeof(x).dtype).eps))
