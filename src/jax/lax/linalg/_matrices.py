"""Stacks of matrices: what the rules of linear algebra compute with, and how the primitives are batched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._ground.families import COMPLEX, INEXACT, category, constant
from jax._ground.structural import (
    broadcast_in_dim,
    broadcast_to_axis,
    full,
    move_axis,
    permute,
    sum_axes,
)
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax.lax._arithmetic import add, div, mul, sub
from jax.lax._comparison import eq
from jax.lax._complex import conj as _conj
from jax.lax._complex import real as _real
from jax.lax._creation import eye as _eye
from jax.lax._creation import tri as _tri
from jax.lax._dot import dot_general_p
from jax.lax._gather import GatherDimensionNumbers, GatherScatterMode, gather
from jax.lax._precision import Precision
from jax.lax._scatter import ScatterDimensionNumbers, scatter
from jax.lax._select import select_n_p
from jax.lax._shape import reshape
from jax.lax._slice import slice_in_dim

_HIGHEST = (Precision.HIGHEST, Precision.HIGHEST)


# --- checks ---------------------------------------------------------------------------------------------------------

def check_matrix(name: str, aval: Any, square: bool = False) -> None:
    """Raises unless the operand is a stack of (square) matrices of floats or complex numbers that LAPACK has.

    Raises:
      TypeError: for other ranks and dtypes.
      ValueError: for matrices that are not square.
      NotImplementedError: for floats of less or more than 32 or 64 bits.
    """
    if len(aval.shape) < 2:
        raise TypeError(f"{name}: a matrix or a stack of matrices is needed, got an operand of shape {aval.shape}")
    check_dtype(name, aval)
    if square and aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"{name}: matrices must be square, got an operand of shape {aval.shape}")


def check_dtype(name: str, aval: Any) -> None:
    dtype = aval.dtype
    if category(dtype) not in INEXACT:
        raise TypeError(f"{name}: floats or complex numbers are needed, got {dtype}; convert with "
                        "x.astype(jnp.float32), or use jnp.linalg, which does")
    if not isinstance(dtype, np.dtype) or dtype not in _LAPACK:
        raise NotImplementedError(f"{name}: not implemented for {dtype}; convert with x.astype(jnp.float32), and the "
                                  f"result back with .astype({dtype})")


_LAPACK = frozenset(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


def real_dtype(dtype: Any) -> Any:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64) if dtype.kind == "c" else dtype


def complex_dtype(dtype: Any) -> Any:
    return np.dtype(np.complex64 if dtype in (np.float32, np.complex64) else np.complex128)


# --- matrices -------------------------------------------------------------------------------------------------------

def mm(x: Any, y: Any) -> Any:
    """The products of two stacks of matrices with equal leading dimensions, in full precision."""
    n = len(typeof(x).shape)
    batch = tuple(range(n - 2))
    return dot_general_p.bind(x, y, dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)), precision=_HIGHEST,
                              preferred_element_type=None, out_sharding=None)


def t(x: Any) -> Any:
    """Transposed."""
    n = len(typeof(x).shape)
    return permute(x, (*range(n - 2), n - 1, n - 2))


def is_complex(x: Any) -> bool:
    return category(typeof(x).dtype) == COMPLEX


def conj(x: Any) -> Any:
    return _conj(x) if is_complex(x) else x


def h(x: Any) -> Any:
    """Transposed and conjugated."""
    return conj(t(x))


def real(x: Any) -> Any:
    return _real(x) if is_complex(x) else x


def _mask(x: Any, offset: int) -> Any:
    shape = typeof(x).shape
    mask = _tri(np.bool_, shape[-2:], offset)
    return broadcast_in_dim(mask, shape, range(len(shape) - 2, len(shape)))


def tril(x: Any, offset: int = 0) -> Any:
    """The elements on and below a diagonal, zeros elsewhere."""
    return select_n_p.bind(_mask(x, offset), zeros_like(x), x)


def triu(x: Any, offset: int = 0) -> Any:
    """The elements on and above a diagonal, zeros elsewhere."""
    return select_n_p.bind(_mask(x, offset - 1), x, zeros_like(x))


def zeros_like(x: Any) -> Any:
    aval = typeof(x)
    return full(aval.shape, 0, aval.dtype)


def eye_like(x: Any, n: int | None = None) -> Any:
    """Identity matrices, of the dtype and leading dimensions of ``x`` and the size of its last (or ``n``)."""
    aval = typeof(x)
    n = aval.shape[-1] if n is None else n
    lead = aval.shape[:-2]
    return broadcast_in_dim(_eye(aval.dtype, (n, n), 0), (*lead, n, n), (len(lead), len(lead) + 1))


def diagonal(x: Any) -> Any:
    """The main diagonals of square matrices: every (n+1)th element of each of them."""
    shape = typeof(x).shape
    n = shape[-1]
    flat = reshape(x, (*shape[:-2], n * n))
    return slice_in_dim(flat, 0, None, n + 1, len(shape) - 2)


def diagonal_matrix(x: Any) -> Any:
    """Vectors as diagonals of matrices."""
    shape = typeof(x).shape
    n, lead = shape[-1], len(shape) - 1
    out = broadcast_in_dim(x, (*shape, n), (*range(lead), lead))
    on = broadcast_in_dim(_eye(np.bool_, (n, n), 0), (*shape, n), (lead, lead + 1))
    return select_n_p.bind(on, zeros_like(out), out)


def rows(x: Any) -> Any:
    """Vectors as rows of shape ``(..., 1, n)``, which broadcast over the rows of matrices."""
    shape = typeof(x).shape
    return broadcast_in_dim(x, (*shape[:-1], 1, shape[-1]), (*range(len(shape) - 1), len(shape)))


def columns(x: Any) -> Any:
    """Vectors as columns of shape ``(..., n, 1)``."""
    shape = typeof(x).shape
    return broadcast_in_dim(x, (*shape, 1), range(len(shape)))


def symmetrize(x: Any) -> Any:
    """The Hermitian part ``(x + x^H) / 2``."""
    return mul(add(x, h(x)), constant(typeof(x).dtype, 0.5))


def safe_reciprocal(x: Any) -> Any:
    """``1 / x``, and 0 where ``x`` is 0."""
    dtype = typeof(x).dtype
    zero = eq(x, constant(dtype, 0))
    shape = typeof(x).shape
    one = full(shape, 1, dtype)
    return select_n_p.bind(zero, div(one, select_n_p.bind(zero, x, one)), full(shape, 0, dtype))


def gaps(w: Any) -> Any:
    """``1 / (w[j] - w[i])`` for the pairs of elements of vectors, 0 where these are equal."""
    return safe_reciprocal(sub(rows(w), columns(w)))


def sum_columns(x: Any) -> Any:
    return sum_axes(x, [len(typeof(x).shape) - 2])


# --- rows -----------------------------------------------------------------------------------------------------------

def take_rows(x: Any, order: Any) -> Any:
    """The rows of matrices ``(..., m, n)`` in an order ``(..., k)`` that is their own."""
    shape = typeof(x).shape
    if 0 in shape:
        return x
    lead = tuple(range(len(shape) - 2))
    axis = len(lead)
    numbers = GatherDimensionNumbers((axis + 1,), (axis,), (axis,), lead, lead)
    return gather(x, columns(order), numbers, (*(1,) * (axis + 1), shape[-1]), mode=GatherScatterMode.PROMISE_IN_BOUNDS,
                  unique_indices=True)


def put_rows(x: Any, order: Any) -> Any:
    """The inverse of :func:`take_rows` for permutations: row ``i`` of ``x`` becomes row ``order[i]``."""
    if 0 in typeof(x).shape:
        return x
    lead = tuple(range(len(typeof(x).shape) - 2))
    axis = len(lead)
    numbers = ScatterDimensionNumbers((axis + 1,), (axis,), (axis,), lead, lead)
    return scatter(zeros_like(x), columns(order), x, numbers, mode=GatherScatterMode.PROMISE_IN_BOUNDS,
                   unique_indices=True)


# --- batching -------------------------------------------------------------------------------------------------------

def batch_leading(prim: Primitive) -> None:
    """The batching rule of primitives that take stacks: the mapped axis becomes the first leading dimension."""
    rules.primitive_batchers[prim] = _leading_rule(prim)


def _leading_rule(prim: Primitive) -> Callable[..., Any]:
    def rule(args: Sequence[Any], batch_dims: Sequence[Any], **params: Any) -> Any:
        out = prim.bind(*leading_axis(args, batch_dims), **params)
        return out, ([0] * len(out) if prim.multiple_results else 0)
    return rule


def leading_axis(args: Sequence[Any], batch_dims: Sequence[Any]) -> list[Any]:
    """The operands with the mapped axis in front; those without one are repeated."""
    size = next(typeof(x).shape[d] for x, d in zip(args, batch_dims, strict=True) if d is not None)
    return [broadcast_to_axis(x, size, 0) if d is None else move_axis(x, d, 0)
            for x, d in zip(args, batch_dims, strict=True)]
