"""Kronecker and cross products."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.numpy._products import operands
from jax.numpy._promotion import broadcast_shapes, broadcast_to


@composite
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: ``b`` scaled by each element of ``a``, put together as blocks.

    The operand of lower rank gets leading axes of size 1. Sizes of the result are products of sizes.

    >>> import jax.numpy as jnp
    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    (a, b), dtype = operands("kron", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    rank = max(len(s), len(t))
    s, t = (1,) * (rank - len(s)) + s, (1,) * (rank - len(t)) + t
    a = lax.reshape(a, tuple([n for d in s for n in (d, 1)]))
    b = lax.reshape(b, tuple([n for d in t for n in (1, d)]))
    both = lax.bitwise_and(a, b) if dtype == np.bool_ else lax.mul(a, b)
    return lax.reshape(both, tuple([m * n for m, n in zip(s, t, strict=True)]))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors of 2 or 3 components; other axes are broadcast.

    A missing third component is zero. Of two vectors of 2 components only the third component of the product is
    returned, without an axis for it.

    Args:
      a, b: arrays.
      axisa, axisb: the axes with the components.
      axisc: the axis for the components of the result.
      axis: in place of all three.

    Raises:
      ValueError: when there are other than 2 or 3 components.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, axisa=operator.index(axisa), axisb=operator.index(axisb), axisc=operator.index(axisc))


@functools.partial(composite, static_argnames=("axisa", "axisb", "axisc"))
def _cross(a: Any, b: Any, axisa: int, axisb: int, axisc: int) -> Any:
    (a, b), _ = operands("cross", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    for shape, d in ((s, axisa), (t, axisb)):
        if not -len(shape) <= d < len(shape):
            raise ValueError(f"cross: axis {d} is out of bounds for an operand of shape {shape}")
        if shape[d] not in (2, 3):
            raise ValueError(f"cross: vectors have 2 or 3 components, got shapes {s} and {t} with components along axes "
                             f"{axisa} and {axisb}")
    x, y = _components(a, axisa), _components(b, axisb)
    shape = broadcast_shapes("cross", [typeof(x[0]).shape, typeof(y[0]).shape])
    x, y = [broadcast_to(v, shape) for v in x], [broadcast_to(v, shape) for v in y]
    third = lax.sub(lax.mul(x[0], y[1]), lax.mul(x[1], y[0]))
    if len(x) == len(y) == 2:
        return third
    first = _difference(x[1], _at(y, 2), _at(x, 2), y[1])
    second = _difference(_at(x, 2), y[0], x[0], _at(y, 2))
    if not -len(shape) - 1 <= axisc <= len(shape):
        raise ValueError(f"cross: axisc={axisc} is out of bounds for a result with {len(shape) + 1} dimensions")
    return lax.stack([first, second, third], axisc % (len(shape) + 1))


def _components(x: Any, axis: int) -> list[Any]:
    return [lax.index_in_dim(x, i, axis, keepdims=False) for i in range(typeof(x).shape[axis])]


def _at(x: list[Any], i: int) -> Any:
    return x[i] if i < len(x) else None


def _difference(a: Any, b: Any, c: Any, d: Any) -> Any:
    """``a b - c d``, where None stands for zero (not in both products)."""
    if a is None or b is None:
        return lax.neg(lax.mul(c, d))
    return lax.mul(a, b) if c is None or d is None else lax.sub(lax.mul(a, b), lax.mul(c, d))
