"""Names of the array API standard: products and views of matrices under ``linalg``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._language.avals import typeof
from jax.numpy import _products as products
from jax.numpy._cross import cross as cross_product
from jax.numpy._promotion import check_arraylike, unwrap


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of three components along ``axis``; other axes are broadcast.

    Raises:
      ValueError: for other numbers of components; ``jnp.cross`` takes two as well.
    """
    check_arraylike("linalg.cross", x1, x2)
    s, t = typeof(unwrap(x1)).shape, typeof(unwrap(x2)).shape
    if not (-len(s) <= axis < len(s) and -len(t) <= axis < len(t)) or s[axis] != 3 or t[axis] != 3:
        raise ValueError(f"linalg.cross: vectors of three components along axis {axis} are needed, got shapes {s} "
                         f"and {t}")
    return cross_product(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """The matrix of all products of elements of two vectors.

    Raises:
      ValueError: for other ranks than 1; ``jnp.outer`` flattens.
    """
    check_arraylike("linalg.outer", x1, x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(f"linalg.outer: vectors are needed, got shapes {np.shape(x1)} and {np.shape(x2)}; jnp.outer "
                         "flattens its operands")
    return products.outer(x1, x2)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes; see ``jnp.diagonal``."""
    return jnp.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the matrices in the last two axes; see ``jnp.trace``."""
    return jnp.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def matrix_transpose(x: Any, /) -> Any:
    """``x`` with its last two axes swapped.

    Raises:
      ValueError: for vectors and scalars.
    """
    return jnp.matrix_transpose(x)


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The matrix product; see ``jnp.matmul``."""
    return products.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum over ``axis`` of ``conj(x1) * x2``; see ``jnp.vecdot``."""
    return products.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None,
              out_sharding: Any = None) -> Any:
    """The sum of products over pairs of axes; see ``jnp.tensordot``."""
    return products.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
                              out_sharding=out_sharding)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of matrices in the order that costs the fewest multiplications.

    Args:
      arrays: two or more matrices; the first and the last can be vectors.
      precision: as for ``jnp.matmul``.

    Raises:
      ValueError: for fewer arrays, or other ranks.
      TypeError: when sizes do not match; the message shows both shapes.
    """
    arrays = list(arrays)
    check_arraylike("linalg.multi_dot", *arrays)
    shapes = [typeof(unwrap(x)).shape for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"linalg.multi_dot: at least two arrays are needed, got {len(arrays)}")
    if any(len(s) != 2 for s in shapes[1:-1]) or any(len(s) not in (1, 2) for s in (shapes[0], shapes[-1])):
        raise ValueError("linalg.multi_dot: matrices are needed, and vectors only first or last, got shapes "
                         f"{', '.join(map(str, shapes))}")
    for s, t in zip(shapes, shapes[1:], strict=False):
        if s[-1] != t[0]:
            raise TypeError(f"linalg.multi_dot: matrices of shapes {s} and {t} cannot be multiplied: sizes {s[-1]} and "
                            f"{t[0]} differ")
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *[s[0] for s in shapes[1:]],
             1 if len(shapes[-1]) == 1 else shapes[-1][1]]
    if len(shapes[0]) == 1:
        sizes[1] = shapes[0][0]
    order = _cheapest(tuple(sizes))
    product = functools.partial(products.matmul, precision=precision)

    def between(i: int, j: int) -> Any:
        return arrays[i] if i == j else product(between(i, order[i, j]), between(order[i, j] + 1, j))
    return between(0, len(arrays) - 1)


@functools.lru_cache(256)
def _cheapest(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices ``i`` to ``j``, of ``sizes[k]`` by ``sizes[k + 1]``."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return split
