"""Determinants."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._api.jit import jit
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
    return _large_det(a)


@jit  # the derivative is traced once for all programs
def _large_det(a: Any) -> Any:
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
def _jacobi_formula(primals: Any, tangents: Any) -> Any:
    """``d det(a)`` is the trace of ``adj(a) da``, with ``adj(a) = adj(u) adj(l) p`` up to a sign.

    It is linear in each pivot, so where one is zero it is extrapolated from 1 and 2 in its place. With two such pivots
    (not counting the last one) it is taken to be zero, as for matrices whose rank is two less than full.
    """
    (a,), (da,) = primals, tangents
    packed, pivots, order = lu(a)
    inner = triangular(packed, mat.take_rows(da, order), left=True, lower=True, unit=True)
    dtype, rank = typeof(a).dtype, len(typeof(a).shape)
    early = lax.slice_in_dim(mat.diagonal(packed), 0, typeof(a).shape[-1] - 1, axis=rank - 2)
    zero = convert(lax.eq(early, mat.zeros_like(early)), dtype)
    ones = mat.diagonal_matrix(lax.pad(zero, constant(dtype, 0), [(0, 0, 0)] * (rank - 2) + [(0, 1, 0)]))
    both = lax.stack([lax.add(packed, ones), lax.add(packed, lax.add(ones, ones))])
    traces = _adjugate_trace(both, lax.stack([inner, inner]))
    first, second = (lax.index_in_dim(traces, i, keepdims=False) for i in (0, 1))
    count = mat.real(_sum(zero))
    trace = lax.select(lax.gt(count, constant(typeof(count).dtype, 1.5)), mat.zeros_like(first),
                       lax.sub(lax.add(first, first), second))
    return _det_of_factors(packed, pivots), lax.mul(_parity(pivots, dtype), trace)


def _adjugate_trace(u: Any, m: Any) -> Any:
    """The trace of ``adj(u) m`` for upper triangular ``u``, without dividing by the last element of its diagonal.

    With ``u = [[v, c], [0, e]]`` and ``v`` regular it is that of ``det(v) [[e v^-1, -v^-1 c], [0, 1]] m``.
    """
    n, i, j = typeof(u).shape[-1], len(typeof(u).shape) - 2, len(typeof(u).shape) - 1
    (v, c), (_, e) = _blocks(u, n, i, j)
    (inner, _), (head, last) = _blocks(m, n, i, j)
    inverse_m, inverse_c = (triangular(v, x, left=True, lower=False) for x in (inner, c))
    trace = lax.mul(lax.squeeze(e, (i, j)), _sum(mat.diagonal(inverse_m)))
    trace = lax.sub(trace, _sum(lax.mul(lax.squeeze(head, (i,)), lax.squeeze(inverse_c, (j,)))))
    return lax.mul(_product(mat.diagonal(v)), lax.add(trace, lax.squeeze(last, (i, j))))


def _blocks(x: Any, n: int, i: int, j: int) -> list[list[Any]]:
    """``x`` with its last row and column cut off."""
    rows = [lax.slice_in_dim(x, 0, n - 1, axis=i), lax.slice_in_dim(x, n - 1, n, axis=i)]
    return [[lax.slice_in_dim(r, 0, n - 1, axis=j), lax.slice_in_dim(r, n - 1, n, axis=j)] for r in rows]


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
    return SlogdetResult(*(_sign_and_log_qr(a) if method == "qr" else _sign_and_log(a)))


def _of_diagonal(diagonal: Any, sign: Any) -> tuple[Any, Any]:
    size = lax.abs(diagonal)
    unit = lax.sign(diagonal)
    return lax.mul(sign, _product(unit)), _sum(lax.log(size))


@custom_jvp
def _sign_and_log(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = lu(a)
    return _of_diagonal(mat.diagonal(packed), _parity(pivots, typeof(a).dtype))


@_sign_and_log.defjvp
def _sign_and_log_rule(primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    packed, pivots, order = lu(a)
    sign, size = _of_diagonal(mat.diagonal(packed), _parity(pivots, typeof(a).dtype))
    trace = _sum(mat.diagonal(lu_solve(packed, order, da)))
    if not mat.is_complex(a):
        return (sign, size), (mat.zeros_like(sign), trace)
    turn = lax.complex(mat.zeros_like(size), lax.imag(trace))
    return (sign, size), (lax.mul(sign, turn), lax.real(trace))


def _sign_and_log_qr(a: Any) -> tuple[Any, Any]:
    """The determinant of a product of reflections follows from their factors; its derivative is that of the QR."""
    q, r = lax_qr(a, full_matrices=False)
    sign, size = _of_diagonal(mat.diagonal(r), full((), 1, typeof(a).dtype))
    return lax.mul(sign, _sign_and_log(q)[0]), size
