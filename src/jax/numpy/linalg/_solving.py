"""Linear systems: solutions, inverses, least squares."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._api.jit import jit
from jax._ground.families import constant
from jax._ground.structural import broadcast_in_dim, convert, full
from jax._language import dims
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.lax._solves import custom_linear_solve
from jax.lax._stop_gradient import stop_gradient
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._eigen import eigh
from jax.lax.linalg._lu import lu
from jax.lax.linalg._svd import svd
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy import _products as products
from jax.numpy._promotion import broadcast_to, check_arraylike, promote_dtypes_inexact

Array = Any


# --- what the functions share ---------------------------------------------------------------------------------------

def matrices(name: str, *args: Any, square: bool = False) -> list[Any]:
    """Operands that are stacks of matrices, in one floating or complex dtype.

    Raises:
      ValueError: for vectors and scalars, and matrices that are not square.
    """
    check_arraylike(f"linalg.{name}", *args)
    out = promote_dtypes_inexact(*args)
    for x in out:
        shape = typeof(x).shape
        if len(shape) < 2:
            raise ValueError(f"linalg.{name}: a matrix or a stack of matrices is needed, got an array of shape {shape}")
        if square and not dims.dim_eq(shape[-1], shape[-2]):
            raise ValueError(f"linalg.{name}: matrices must be square, got an array of shape {shape}")
    return out


def lead_to(x: Any, lead: tuple[Any, ...], kept: int) -> Any:
    """``x`` with its leading dimensions broadcast to ``lead``; the last ``kept`` ones stay."""
    shape = typeof(x).shape
    return broadcast_to(x, (*lead, *shape[len(shape) - kept:]))


# --- solve ----------------------------------------------------------------------------------------------------------

def solve(a: Any, b: Any) -> Any:
    """The solution ``x`` of ``a @ x = b``, by LU factors with partial pivoting.

    Args:
      a: of shape ``(..., n, n)``.
      b: one vector ``(n,)``, or matrices ``(..., n, k)``; leading dimensions are broadcast. As in NumPy 2, more
        dimensions than one make it matrices.

    Returns:
      An array of shape ``(..., n)`` or ``(..., n, k)``; infinities or NaN for singular matrices.

    Raises:
      ValueError: for shapes that do not fit.

    >>> import jax.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2., 0.], [1., 1.]]), jnp.array([2., 3.])).tolist()
    [1.0, 2.0]
    """
    return _solve(a, b)


@composite
def _solve(a: Any, b: Any) -> Any:
    check_arraylike("linalg.solve", a, b)
    a, b = promote_dtypes_inexact(a, b)
    (a,) = matrices("solve", a, square=True)
    s, t = typeof(a).shape, typeof(b).shape
    vector = len(t) == 1
    if not t or not dims.dim_eq(t[0] if vector else t[-2], s[-1]):
        hint = " A stack of vectors is solved as solve(a, b[..., None])[..., 0]." if t[:-1] == s[:-2] and t else ""
        raise ValueError(f"linalg.solve: systems of shape {s} and right-hand sides of shape {t} do not fit.{hint}")
    out = solve_matrices(a, mat.columns(b) if vector else b)
    return lax.squeeze(out, (len(typeof(out).shape) - 1,)) if vector else out


def solve_matrices(a: Any, b: Any) -> Any:
    """``solve`` for operands of one dtype: ``(..., n, n)`` and ``(..., n, k)``."""
    s, t = typeof(a).shape, typeof(b).shape
    if len(s) == 2 and len(t) > 2:  # one matrix: right-hand sides side by side
        count = len(t) - 2
        wide = lax.transpose(b, (count, *range(count), count + 1))
        flat = _solve_systems(a, lax.reshape(wide, (t[-2], dims.size_of(t[:-2]) * t[-1])))
        return lax.transpose(lax.reshape(flat, typeof(wide).shape), (*range(1, count + 1), 0, count + 1))
    lead = dims.broadcast_shapes([s[:-2], t[:-2]])
    if lead is None:
        raise ValueError(f"linalg.solve: systems of shape {s} and right-hand sides of shape {t} do not fit: their "
                         "leading dimensions do not broadcast")
    return _solve_systems(a, lead_to(b, lead, 2))


@jit  # the functions of the linear solve are traced once for all programs
def _solve_systems(a: Any, b: Any) -> Any:
    lead = typeof(b).shape[:-2]
    packed, _, order = lu(stop_gradient(a))
    packed, order = lead_to(packed, lead, 2), lead_to(order, lead, 1)
    whole = lead_to(a, lead, 2)
    return custom_linear_solve(
        lambda x: mat.mm(whole, x), b,
        lambda _, right: lu_solve(packed, order, right),
        lambda _, right: lu_solve(packed, order, right, transpose=True))


def lu_solve(packed: Any, order: Any, b: Any, transpose: bool = False, conjugate: bool = False) -> Any:
    """The solution of a system with the matrix whose factors and order of rows :func:`lax.linalg.lu` returned."""
    if transpose:
        y = triangular(packed, b, left=True, lower=False, transpose=True, conjugate=conjugate)
        y = triangular(packed, y, left=True, lower=True, transpose=True, conjugate=conjugate, unit=True)
        return mat.put_rows(y, order)
    y = triangular(packed, mat.take_rows(b, order), left=True, lower=True, unit=True)
    return triangular(packed, y, left=True, lower=False)


@composite
def inv(a: Any) -> Any:
    """The inverses of square matrices, of shape ``(..., n, n)``; infinities or NaN where there is none.

    To solve systems, :func:`solve` is faster and more accurate.
    """
    (a,) = matrices("inv", a, square=True)
    return solve_matrices(a, mat.eye_like(a))


# --- pseudo-inverse and least squares -------------------------------------------------------------------------------

def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The Moore-Penrose inverses, of shape ``(..., n, m)`` for ``a`` of shape ``(..., m, n)``.

    Args:
      a: an array.
      rtol: singular values up to ``rtol`` times the largest count as zero; an array of shape ``(...)`` or a scalar. By
        default ``10 * max(m, n)`` times the dtype's precision.
      hermitian: whether ``a`` is Hermitian, which is faster.
      rcond: another name of ``rtol``.

    The derivative takes the rank as constant: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
    nonlinear least squares problems whose variables separate" (1973).

    Raises:
      TypeError: when both ``rtol`` and ``rcond`` are given.
    """
    return _pinv(a, _one_of("pinv", rtol, rcond), hermitian=bool(hermitian))


def _one_of(name: str, rtol: Any, rcond: Any) -> Any:
    if rtol is not None and rcond is not None:
        raise TypeError(f"linalg.{name}: rtol= and rcond= are two names of one argument; give one of them")
    return rcond if rtol is None else rtol


@functools.partial(composite, static_argnames=("hermitian",))
def _pinv(a: Any, rtol: Any, hermitian: bool) -> Any:
    (a,) = matrices("pinv", a, square=hermitian)
    shape, real = typeof(a).shape, mat.real_dtype(typeof(a).dtype)
    if dims.is_zero(dims.size_of(shape)):
        return full((*shape[:-2], shape[-1], shape[-2]), 0, typeof(a).dtype)
    if rtol is None:
        rtol = constant(real, 10 * max(shape[-2:]) * float(np.finfo(real).eps))
    return _pseudo_inverse(hermitian, a, convert(rtol, real))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _pseudo_inverse(hermitian: bool, a: Any, rtol: Any) -> Any:
    u, s, vh = hermitian_svd(a) if hermitian else svd(a, full_matrices=False)
    inverse = _cut_reciprocals(s, rtol)
    return mat.mm(lax.mul(mat.h(vh), mat.rows(convert(inverse, typeof(a).dtype))), mat.h(u))


@_pseudo_inverse.defjvp
def _pseudo_inverse_jvp(hermitian: bool, primals: Any, tangents: Any) -> Any:
    (a, rtol), (da, _) = primals, tangents
    p = _pseudo_inverse(hermitian, a, rtol)
    m, n = typeof(a).shape[-2:]
    out = lax.neg(mat.mm(p, mat.mm(da, p)))
    dah, ph = mat.h(da), mat.h(p)
    if m > 0:
        part = mat.mm(p, mat.mm(ph, dah))
        out = lax.add(out, lax.sub(part, mat.mm(mat.mm(part, a), p)))
    if n > 0:
        part = mat.mm(mat.mm(dah, ph), p)
        out = lax.add(out, lax.sub(part, mat.mm(p, mat.mm(a, part))))
    return p, out


def _cut_reciprocals(s: Any, rtol: Any) -> Any:
    """``1 / s``, and 0 for singular values of at most ``rtol`` times the largest."""
    largest = lax.reduce_max(s, (len(typeof(s).shape) - 1,))
    limit = lax.mul(broadcast_to(rtol, typeof(largest).shape), largest)
    keep = lax.gt(s, broadcast_in_dim(limit, typeof(s).shape, range(len(typeof(limit).shape))))
    return lax.select(keep, mat.safe_reciprocal(s), mat.zeros_like(s))


def hermitian_svd(a: Any) -> tuple[Any, Any, Any]:
    """The singular values and vectors of Hermitian matrices, from their eigenvalues."""
    v, w = eigh(a)
    size = lax.abs(w)
    axis = len(typeof(w).shape) - 1
    # In decreasing order of size, as singular values are.
    _, order = lax.sort_key_val(lax.neg(size), lax.broadcasted_iota(np.int32, typeof(w).shape, axis), axis)
    w = lax.squeeze(mat.take_rows(mat.columns(w), order), (axis + 1,))
    v = mat.t(mat.take_rows(mat.t(v), order))
    signs = lax.select(lax.lt(w, mat.zeros_like(w)), full(typeof(w).shape, -1, typeof(w).dtype),
                       full(typeof(w).shape, 1, typeof(w).dtype))
    u = lax.mul(v, mat.rows(convert(signs, typeof(v).dtype)))
    return u, lax.abs(w), mat.h(v)


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """The ``x`` of least norm among those that minimise the norm of ``b - a @ x``.

    Args:
      a: a matrix of shape ``(m, n)``.
      b: of shape ``(m,)`` or ``(m, k)``.
      rcond: singular values below ``rcond`` times the largest count as zero; by default the dtype's precision times
        ``max(m, n)``. A Python number.
      numpy_resid: return no residuals where NumPy returns none (the result's shape then depends on the rank, which
        cannot be traced).

    Returns:
      ``(x, residuals, rank, singular values)``: residuals are the squared norms of ``b - a @ x`` for each column, of
      shape ``(k,)``.

    Raises:
      ValueError, TypeError: for shapes that do not fit.
    """
    out = _lstsq(a, b, rcond=None if rcond is None else float(rcond))
    if numpy_resid:
        x, residuals, rank, s = out
        m, n = np.shape(a)
        if int(rank) < n or m <= n:
            residuals = residuals[:0]
        return x, residuals, rank, s
    return out


@functools.partial(composite, static_argnames=("rcond",))
def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    check_arraylike("linalg.lstsq", a, b)
    a, b = promote_dtypes_inexact(a, b)
    s, t = typeof(a).shape, typeof(b).shape
    if len(s) != 2 or len(t) not in (1, 2):
        raise TypeError(f"linalg.lstsq: a matrix and a vector or matrix are needed, got shapes {s} and {t}; use jax.vmap "
                        "for stacks")
    if s[0] != t[0]:
        raise ValueError(f"linalg.lstsq: operands of shapes {s} and {t} differ in their first dimension")
    real = mat.real_dtype(typeof(a).dtype)
    right = mat.columns(b) if len(t) == 1 else b
    if 0 in s:
        values, rank = full((0,), 0, real), full((), 0, np.int32)
        x = full((s[1], typeof(right).shape[1]), 0, typeof(a).dtype)
    else:
        rtol = constant(real, float(np.finfo(real).eps) * max(s) if rcond is None else rcond)
        values = svd(a, compute_uv=False)
        limit = lax.mul(rtol, lax.index_in_dim(values, 0, keepdims=False))
        rank = lax.reduce_sum(convert(lax.gt(values, limit), np.dtype(np.int32)), (0,))
        x = _least_squares(a, right, stop_gradient(rtol))
    gap = lax.sub(right, mat.mm(a, x))
    residuals = lax.reduce_sum(mat.real(lax.mul(gap, mat.conj(gap))), (0,))
    return (lax.squeeze(x, (1,)) if len(t) == 1 else x), residuals, rank, values


def _least_squares(a: Any, b: Any, rtol: Any) -> Any:
    return mat.mm(_pseudo_inverse(False, a, rtol), b)


# --- tensors and powers ---------------------------------------------------------------------------------------------

def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of ``a`` as a map from its last dimensions to its first ``ind``: the inverse for ``tensordot``.

    Raises:
      ValueError: when ``ind`` is not positive, or the two groups of dimensions have different products.
    """
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"linalg.tensorinv: ind must be positive, got {ind}")
    check_arraylike("linalg.tensorinv", a)
    shape = typeof(a).shape
    n, m = math.prod(shape[:ind]), math.prod(shape[ind:])
    if n != m:
        raise ValueError(f"linalg.tensorinv: an array of shape {shape} is no square map with ind={ind}: "
                         f"{shape[:ind]} has {n} elements and {shape[ind:]} has {m}")
    (a,) = promote_dtypes_inexact(a)
    return lax.reshape(inv(lax.reshape(a, (n, m))), (*shape[ind:], *shape[:ind]))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The ``x`` with ``tensordot(a, x, x.ndim) = b``.

    Args:
      a: of shape ``b.shape + x.shape``, a square map.
      b: an array.
      axes: axes of ``a`` to move to the end before, in this order.

    Raises:
      ValueError: when ``a`` is no square map.
    """
    check_arraylike("linalg.tensorsolve", a, b)
    a, b = promote_dtypes_inexact(a, b)
    rank = len(typeof(a).shape)
    if axes is not None:
        axes = [operator.index(d) % rank for d in axes]
        a = lax.transpose(a, [*[d for d in range(rank) if d not in axes], *axes])
    shape = typeof(a).shape[len(typeof(b).shape):]
    n, m = math.prod(shape), dims.size_of(typeof(b).shape)
    if n != m or n * m != dims.size_of(typeof(a).shape):
        raise ValueError(f"linalg.tensorsolve: with a of shape {typeof(a).shape} and b of shape {typeof(b).shape} the "
                         f"solution would have shape {shape}, which is no square map")
    x = solve(lax.reshape(a, (n, n)), lax.reshape(b, (n,)))
    return lax.reshape(x, shape)


def matrix_power(a: Any, n: int) -> Any:
    """Square matrices multiplied ``n`` times with themselves; of the inverses for negative ``n``.

    Raises:
      TypeError: when ``n`` is not an integer.
      ValueError: for matrices that are not square.
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"linalg.matrix_power: the exponent must be a Python integer, got {n!r}") from None
    return _matrix_power(a, n=n)


@functools.partial(composite, static_argnames=("n",))
def _matrix_power(a: Any, n: int) -> Any:
    check_arraylike("linalg.matrix_power", a)
    aval = typeof(a)
    if len(aval.shape) < 2 or not dims.dim_eq(aval.shape[-1], aval.shape[-2]):
        raise ValueError(f"linalg.matrix_power: square matrices are needed, got an array of shape {aval.shape}")
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return mat.eye_like(a)
    out = None
    while True:
        if n & 1:
            out = a if out is None else products.matmul_of_two(out, a)
        n >>= 1
        if not n:
            return out
        a = products.matmul_of_two(a, a)
