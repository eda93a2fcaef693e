"""Determinants."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._ground.families import constant
from jax._ground.structural import convert, full
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lu import lu
from jax.lax.linalg._qr import qr as lax_qr
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy.linalg._solving import lu_solve, matrices


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` returns."""

    sign: Any
    logabsdet: Any


@composite
def det(a: Any) -> Any:
    """The determinants of square matrices ``(..., n, n)``, of shape ``(...)``.

    The derivative is that of Jacobi's formula with the adjugate matrix, so it holds for singular matrices, too.

    Raises:
      ValueError: for arrays that are not stacks of square matrices.
    """
    (a,) = matrices("det", a, square=True)
    n = typeof(a).shape[-1]
    if n <= 3:
        return _small_det(a, n)
    return _det(a)


def _small_det(a: Any, n: int) -> Any:
    shape = typeof(a).shape
    if n == 0:
        return full(shape[:-2], 1, typeof(a).dtype)
    axis = len(shape) - 2
    rows = [lax.index_in_dim(a, i, axis, keepdims=False) for i in range(n)]
    e = [[lax.index_in_dim(r, j, axis, keepdims=False) for j in range(n)] for r in rows]
    if n == 1:
        return e[0][0]

    def minor(i: int, j: int) -> Any:
        return lax.sub(lax.mul(e[n - 2][i], e[n - 1][j]), lax.mul(e[n - 2][j], e[n - 1][i]))
    if n == 2:
        return minor(0, 1)
    terms = [lax.mul(e[0][0], minor(1, 2)), lax.mul(e[0][1], minor(2, 0)), lax.mul(e[0][2], minor(0, 1))]
    return lax.add(lax.add(terms[0], terms[1]), terms[2])


def _parity(pivots: Any, dtype: Any) -> Any:
    """1 or -1 for an even or odd number of row exchanges."""
    shape = typeof(pivots).shape
    moved = lax.ne(pivots, lax.broadcasted_iota(np.int32, shape, len(shape) - 1))
    count = lax.reduce_sum(convert(moved, np.dtype(np.int32)), (len(shape) - 1,))
    odd = lax.bitwise_and(count, constant(np.dtype(np.int32), 1))
    return convert(lax.sub(constant(np.dtype(np.int32), 1), lax.mul(odd, constant(np.dtype(np.int32), 2))), dtype)


def _product(x: Any) -> Any:
    return lax.reduce_prod(x, (len(typeof(x).shape) - 1,))


def _det_of_factors(packed: Any, pivots: Any) -> Any:
    return lax.mul(_parity(pivots, typeof(packed).dtype), _product(mat.diagonal(packed)))


@custom_jvp
def _det(a: Any) -> Any:
    packed, pivots, _ = lu(a)
    return _det_of_factors(packed, pivots)


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    """``d det(a)`` is the trace of ``adj(a) da``, with ``adj(a) = adj(u) adj(l) p`` up to a sign.

    That can be computed where at most the last pivot is zero; if another one is, from QR factors with column
    exchanges, which put zeros last.
    """
    (a,), (da,) = primals, tangents
    packed, pivots, order = lu(a)
    n = typeof(a).shape[-1]
    inner = triangular(packed, mat.take_rows(da, order), left=True, lower=True, unit=True)
    pivot = lax.slice_in_dim(mat.diagonal(packed), 0, n - 1, axis=len(typeof(a).shape) - 2)
    early = lax.eq(pivot, mat.zeros_like(pivot))
    early = lax.reduce_or(early, tuple(range(len(typeof(early).shape))))
    sign = _parity(pivots, typeof(a).dtype)
    tangent = lax.cond(early, _tangent_by_qr, lambda a, da, u, m, s: lax.mul(s, _adjugate_trace(u, m)),
                       a, da, packed, inner, sign)
    return _det_of_factors(packed, pivots), tangent


def _tangent_by_qr(a: Any, da: Any, *rest: Any) -> Any:
    q, r, order = lax_qr(a, pivoting=True)
    moved = mat.t(mat.take_rows(mat.t(da), order))
    # det(q p^T), of the orthonormal matrix with its columns back in order
    packed, pivots, _ = lu(mat.t(mat.put_rows(mat.t(q), order)))
    return lax.mul(_det_of_factors(packed, pivots), _adjugate_trace(r, mat.mm(mat.h(q), moved)))


def _adjugate_trace(u: Any, m: Any) -> Any:
    """The trace of ``adj(u) m`` for upper triangular ``u``, without dividing by the last element of its diagonal.

    With ``u = [[v, c], [0, e]]`` it is ``det(v) [[e v^-1, -v^-1 c], [0, 1]]``; zero where ``v`` is singular.
    """
    shape = typeof(u).shape
    n, i, j = shape[-1], len(shape) - 2, len(shape) - 1
    top = lax.slice_in_dim(u, 0, n - 1, axis=i)
    v, c = lax.slice_in_dim(top, 0, n - 1, axis=j), lax.slice_in_dim(top, n - 1, n, axis=j)
    e = lax.index_in_dim(mat.diagonal(u), n - 1, i, keepdims=False)
    det_v = _product(mat.diagonal(v))
    singular = lax.eq(det_v, mat.zeros_like(det_v))
    blank = lax.broadcast_in_dim(singular, typeof(v).shape, range(i))
    v = lax.select(blank, mat.eye_like(v), v)
    inner = lax.slice_in_dim(lax.slice_in_dim(m, 0, n - 1, axis=i), 0, n - 1, axis=j)
    inverse_m, inverse_c = (triangular(v, x, left=True, lower=False) for x in (inner, c))
    last = lax.slice_in_dim(m, n - 1, n, axis=i)
    head = lax.slice_in_dim(last, 0, n - 1, axis=j)
    trace = lax.mul(e, _sum(mat.diagonal(inverse_m)))
    trace = lax.sub(trace, _sum(lax.mul(lax.squeeze(head, (i,)), lax.squeeze(inverse_c, (j,)))))
    trace = lax.add(trace, lax.squeeze(lax.slice_in_dim(last, n - 1, n, axis=j), (i, j)))
    return lax.select(singular, mat.zeros_like(trace), lax.mul(det_v, trace))


def _sum(x: Any) -> Any:
    return lax.reduce_sum(x, (len(typeof(x).shape) - 1,))


# --- slogdet --------------------------------------------------------------------------------------------------------

def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its size, which neither overflow nor underflow.

    Args:
      a: of shape ``(..., n, n)``.
      method: ``"lu"`` (the default) or ``"qr"``.

    Returns:
      A named tuple ``(sign, logabsdet)`` of shape ``(...)``: the sign is 0 for singular matrices, and a complex number
      of size 1 for complex ones.

    Raises:
      ValueError: for another method, or arrays that are not stacks of square matrices.
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"linalg.slogdet: method must be 'lu' or 'qr', got {method!r}")
    return _slogdet(a, method=method or "lu")


@functools.partial(composite, static_argnames=("method",))
def _slogdet(a: Any, method: str) -> SlogdetResult:
    (a,) = matrices("slogdet", a, square=True)
    return SlogdetResult(*(_slogdet_qr(a) if method == "qr" else _slogdet_lu(a)))


def _of_diagonal(diagonal: Any, sign: Any) -> tuple[Any, Any]:
    size = lax.abs(diagonal)
    unit = lax.sign(diagonal)
    return lax.mul(sign, _product(unit)), _sum(lax.log(size))


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = lu(a)
    return _of_diagonal(mat.diagonal(packed), _parity(pivots, typeof(a).dtype))


@_slogdet_lu.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    packed, pivots, order = lu(a)
    sign, size = _of_diagonal(mat.diagonal(packed), _parity(pivots, typeof(a).dtype))
    trace = _sum(mat.diagonal(lu_solve(packed, order, da)))
    if not mat.is_complex(a):
        return (sign, size), (mat.zeros_like(sign), trace)
    turn = lax.complex(mat.zeros_like(size), lax.imag(trace))
    return (sign, size), (lax.mul(sign, turn), lax.real(trace))


def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    """The determinant of a product of reflections follows from their factors; its derivative is that of the QR."""
    q, r = lax_qr(a, full_matrices=False)
    sign, size = _of_diagonal(mat.diagonal(r), full((), 1, typeof(a).dtype))
    return lax.mul(sign, _slogdet_lu(q)[0]), size
