"""Norms, condition numbers, ranks."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax._api.composite import composite
from jax._ground.families import category
from jax._language.avals import typeof
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, static_axis, unwrap
from jax.numpy.linalg._factors import svd
from jax.numpy.linalg._solving import inv

Order = int | float | str | None


# --- norms ----------------------------------------------------------------------------------------------------------

def norm(x: Any, ord: Order = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """The norm of vectors or matrices.

    Args:
      x: an array.
      ord: of vectors, any number ``p``: the ``p``-th root of the sum of ``p``-th powers of sizes; ``inf`` and ``-inf``
        the largest and smallest size, 0 the number of elements that are not zero, None the same as 2. Of matrices:
        ``"fro"`` (also None) the root of the sum of squares, ``"nuc"`` the sum of singular values, 2 and -2 the
        largest and smallest singular value, 1 and -1 the largest and smallest sum over a column, ``inf`` and ``-inf``
        over a row.
      axis: an axis for vectors, two for matrices. None: all of ``x``, which is a vector or matrix; of other ranks only
        without ``ord``, as one vector.
      keepdims: keep the reduced axes with size 1.

    Raises:
      ValueError: for orders and axes that do not exist.

    >>> import jax.numpy as jnp
    >>> float(jnp.linalg.norm(jnp.array([3., 4.])))
    5.0
    """
    return _norm(x, ord=_static_order(ord), axis=static_axis(axis), keepdims=bool(keepdims))


def _static_order(ord: Any) -> Any:  # noqa: A002
    if ord is None or isinstance(ord, str | int | float):
        return ord
    return float(ord)


@functools.partial(composite, static_argnames=("ord", "axis", "keepdims"))
def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:  # noqa: A002
    check_arraylike("linalg.norm", x)
    (x,) = promote_dtypes_inexact(unwrap(x))
    rank = len(typeof(x).shape)
    if axis is None:
        axis = tuple(range(rank))
        if ord is None or (ord == 2 and rank == 1) or (ord == "fro" and rank == 2):
            return _root_of_squares(x, axis, keepdims)
        if rank not in (1, 2):
            raise ValueError(f"linalg.norm: with ord={ord!r} an array of shape {typeof(x).shape} needs axis=, one axis "
                             "for vectors or two for matrices")
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(not -rank <= d < rank for d in axes):
        raise ValueError(f"linalg.norm: axis {axis} is out of bounds for an array of shape {typeof(x).shape}")
    axes = tuple([d % rank for d in axes])
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"linalg.norm: axis must be one axis for vectors or two different ones for matrices, got {axis}")


def _root_of_squares(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    squares = jnp.real(x * jnp.conj(x)) if category(typeof(x).dtype) == "complex" else jnp.square(x)
    return jnp.sqrt(jnp.sum(squares, axis=axes, keepdims=keepdims))


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:  # noqa: A002
    if ord is None or ord == 2:
        return _root_of_squares(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"linalg.norm: vectors have no norm of order {ord!r}; give a number")
    if ord == math.inf:
        return jnp.max(jnp.abs(x), axis=axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return jnp.min(jnp.abs(x), axis=axes, keepdims=keepdims, initial=np.inf)
    size = jnp.abs(x)
    if ord == 0:
        return jnp.sum(x != 0, axis=axes, keepdims=keepdims, dtype=typeof(size).dtype)
    if ord == 1:
        return jnp.sum(size, axis=axes, keepdims=keepdims)
    return jnp.sum(size ** ord, axis=axes, keepdims=keepdims) ** (1 / ord)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:  # noqa: A002
    row, column = axes
    if ord is None or ord == "fro":
        return _root_of_squares(x, axes, keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        summed, other = (row, column) if ord in (1, -1) else (column, row)
        totals = jnp.sum(jnp.abs(x), axis=summed, keepdims=True)
        out = jnp.max(totals, axis=other, keepdims=True, initial=0) if ord > 0 else \
            jnp.min(totals, axis=other, keepdims=True, initial=np.inf)
    elif ord in ("nuc", 2, -2):
        s = svd(jnp.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        out = jnp.sum(s, -1) if ord == "nuc" else jnp.max(s, -1, initial=0) if ord == 2 else \
            jnp.min(s, -1, initial=np.inf)
        return jnp.expand_dims(out, axes) if keepdims else out
    else:
        raise ValueError(f"linalg.norm: matrices have no norm of order {ord!r}; there are 'fro', 'nuc', 1, -1, 2, -2, "
                         "inf and -inf")
    return out if keepdims else jnp.squeeze(out, axes)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Order = 2) -> Any:  # noqa: A002
    """The norm over ``axis`` (one, several as one vector, or None for all); ``ord`` as for :func:`norm` of vectors."""
    return _vector_norm_over(x, axis=static_axis(axis), keepdims=bool(keepdims), ord=_static_order(ord))


@functools.partial(composite, static_argnames=("axis", "keepdims", "ord"))
def _vector_norm_over(x: Any, axis: Any, keepdims: bool, ord: Any) -> Any:  # noqa: A002
    check_arraylike("linalg.vector_norm", x)
    (x,) = promote_dtypes_inexact(unwrap(x))
    rank = len(typeof(x).shape)
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if any(not -rank <= d < rank for d in axes):
        raise ValueError(f"linalg.vector_norm: axis {axis} is out of bounds for an array of shape {typeof(x).shape}")
    return _vector_norm(x, ord, tuple([d % rank for d in axes]), keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Order = "fro") -> Any:  # noqa: A002
    """The norm of the matrices in the last two axes; ``ord`` as for :func:`norm` of matrices."""
    return norm(x, ord, (-2, -1), keepdims)


# --- conditions and ranks -------------------------------------------------------------------------------------------

def cond(x: Any, p: Order = None) -> Any:
    """The condition number: the norm of order ``p`` of matrices times that of their inverses.

    Args:
      x: of shape ``(..., m, n)``.
      p: an order of :func:`norm` for matrices; None and 2 divide the largest by the smallest singular value.

    Returns:
      An array of shape ``(...)``; infinite for singular matrices.

    Raises:
      ValueError: for vectors and empty matrices.
    """
    check_arraylike("linalg.cond", x)
    shape = typeof(unwrap(x)).shape
    if len(shape) < 2 or 0 in shape:
        raise ValueError(f"linalg.cond: matrices with elements are needed, got an array of shape {shape}")
    return _cond(x, p=_static_order(p))


@functools.partial(composite, static_argnames=("p",))
def _cond(x: Any, p: Any) -> Any:
    (x,) = promote_dtypes_inexact(unwrap(x))
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        out = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        out = _norm(x, p, (-2, -1), False) * _norm(inv(x), p, (-2, -1), False)
    # A singular matrix gives NaN; only a matrix that has NaN in it stays so.
    unknown = jnp.isnan(out) & ~jnp.any(jnp.isnan(x), axis=(-2, -1))
    return jnp.where(unknown, jnp.inf, out)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """The number of singular values above a limit.

    Args:
      M: of shape ``(..., m, n)``; a vector has rank 1 unless it is zero.
      rtol: the limit relative to the largest singular value, an array of shape ``(...)`` or a scalar; by default
        ``max(m, n)`` times the dtype's precision.
      hermitian: whether the matrices are Hermitian, which is faster.
      tol: an absolute limit, in place of ``rtol``.

    Returns:
      Integers of shape ``(...)``.

    Raises:
      ValueError: when both ``rtol`` and ``tol`` are given.
    """
    if rtol is not None and tol is not None:
        raise ValueError("linalg.matrix_rank: give rtol=, relative to the largest singular value, or tol=, not both")
    return _matrix_rank(M, rtol, tol, hermitian=bool(hermitian))


@functools.partial(composite, static_argnames=("hermitian",))
def _matrix_rank(M: Any, rtol: Any, tol: Any, hermitian: bool) -> Any:
    check_arraylike("linalg.matrix_rank", M)
    (x,) = promote_dtypes_inexact(unwrap(M))
    shape = typeof(x).shape
    if len(shape) < 2:
        return jnp.any(x != 0).astype(dtypes.scalar_dtype(int))
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        relative = max(shape[-2:]) * float(np.finfo(typeof(s).dtype).eps) if rtol is None else rtol
        tol = jnp.max(s, axis=-1, initial=0) * relative
    return jnp.sum(s > jnp.expand_dims(jnp.asarray(tol), -1), axis=-1)
