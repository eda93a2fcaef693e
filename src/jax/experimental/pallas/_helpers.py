"""Arithmetic about sizes, and small helpers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax.tree_util import tree_map


def _integers(api: str, *values: Any) -> None:
    for x in values:
        if not isinstance(x, int) and not dtypes.issubdtype(typeof(x).dtype, np.integer):
            raise TypeError(f"pl.{api} takes integers, got {x!r} of type {typeof(x).str_short()}")


@api_boundary
def cdiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded up: how many blocks of size ``b`` cover ``a`` elements.

    Args:
      a, b: integers, or arrays of them.

    Raises:
      ZeroDivisionError: ``b`` is the Python integer 0.

    >>> from jax.experimental import pallas as pl
    >>> pl.cdiv(10, 4)
    3
    """
    _integers("cdiv", a, b)
    return -(-a // b)


@api_boundary
def align_to(a: Any, alignment: Any) -> Any:
    """The next multiple of ``alignment`` that is not less than ``a``.

    >>> from jax.experimental import pallas as pl
    >>> pl.align_to(10, 4)
    12
    """
    return cdiv(a, alignment) * alignment


@api_boundary
def next_power_of_2(x: int) -> int:
    """The least power of 2 that is not less than ``x``; 1 for 0.

    Raises:
      ValueError: ``x`` is negative.

    >>> from jax.experimental import pallas as pl
    >>> pl.next_power_of_2(5)
    8
    """
    x = operator.index(x)
    if x < 0:
        raise ValueError(f"pl.next_power_of_2 takes an integer that is not negative, got {x}")
    return 1 << max(x - 1, 0).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """For each axis of an array in row-major order, how many elements one step along it passes over.

    >>> from jax.experimental import pallas as pl
    >>> pl.strides_from_shape((2, 3, 4))
    (12, 4, 1)
    """
    shape = tuple(shape)
    return tuple([math.prod(shape[i + 1:]) for i in range(len(shape))])


@api_boundary
def multiple_of(x: Any, values: int | Sequence[int]) -> Any:
    """``x``, with the promise that it is a multiple of ``values`` (for an array of as many axes, along each of them).

    Compilers of kernels can use the promise; interpreted kernels check it where ``x`` is known while tracing.

    Args:
      x: an integer scalar or an array of integers.
      values: a positive integer, or a sequence of them.

    Raises:
      TypeError: ``x`` is no array of integers, or ``values`` no positive integers.
      ValueError: ``x`` is a number that is known, and no multiple.

    >>> from jax.experimental import pallas as pl
    >>> int(pl.multiple_of(8, 4))
    8
    """
    _integers("multiple_of", x)
    promised = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if not promised or not all(isinstance(v, (int, np.integer)) and v > 0 for v in promised):
        raise TypeError(f"pl.multiple_of: values must be a positive integer or a sequence of them, got {values!r}")
    if isinstance(x, (int, np.integer)) and x % math.lcm(*map(int, promised)):
        raise ValueError(f"pl.multiple_of: {x} is no multiple of {values}")
    return x


@api_boundary
def empty_like(x: Any) -> Any:
    """A tree of arrays with the shapes and dtypes of those in ``x`` (arrays, or types with a shape and a dtype).

    The elements are zero here; programs should not count on it.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> pl.empty_like(jax.ShapeDtypeStruct((2, 3), jnp.int8)).shape
    (2, 3)
    """
    return tree_map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), x)


__all__ = ["align_to", "cdiv", "empty_like", "multiple_of", "next_power_of_2", "strides_from_shape"]
