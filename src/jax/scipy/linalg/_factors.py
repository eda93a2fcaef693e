"""Factorisations of matrices, under SciPy's names."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg import eigh as lax_eigh
from jax.lax.linalg import hessenberg as lax_hessenberg
from jax.lax.linalg import householder_product, qdwh
from jax.lax.linalg import lu as lax_lu
from jax.lax.linalg import qr as lax_qr
from jax.lax.linalg import schur as lax_schur
from jax.lax.linalg._cholesky import cholesky as lax_cholesky
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy import linalg as numpy_linalg
from jax.numpy._promotion import promote_dtypes_inexact
from jax.numpy.linalg._solving import matrices

# --- lu and qr ------------------------------------------------------------------------------------------------------


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The factors ``a = p @ l @ u``.

    Args:
      a: of shape ``(..., m, n)``.
      permute_l: return ``(p @ l, u)``.
      overwrite_a, check_finite: accepted, without effect.

    Returns:
      ``(p, l, u)``.
    """
    del overwrite_a, check_finite
    return _lu(a, permute_l=bool(permute_l))


@functools.partial(composite, static_argnames=("permute_l",))
def _lu(a: Any, permute_l: bool) -> Any:
    (a,) = matrices("lu", a)
    packed, _, order = lax_lu(a)
    m, n = typeof(a).shape[-2:]
    k = min(m, n)
    low = mat.tril(packed[..., :k], -1) + jnp.eye(m, k, dtype=typeof(a).dtype).reshape((1,) * (packed.ndim - 2) + (m, k))
    up = mat.triu(packed[..., :k, :])
    if permute_l:
        return mat.put_rows(low, order), up
    return mat.put_rows(mat.eye_like(a, m), order), low, up


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> Any:
    """The factors ``a = q @ r``, or ``a[:, p] = q @ r`` with ``pivoting``.

    Args:
      a: of shape ``(..., m, n)``.
      mode: ``"full"``: ``q`` is square; ``"economic"``: it has ``min(m, n)`` columns; ``"r"``: only ``r`` is returned.
      pivoting: exchange columns so that the diagonal of ``r`` does not increase in size.
      overwrite_a, lwork, check_finite: accepted, without effect.

    Returns:
      ``(q, r)``, ``(q, r, p)`` with ``pivoting``, without ``q`` for mode ``"r"``.

    Raises:
      ValueError: for another mode.
    """
    del overwrite_a, lwork, check_finite
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"linalg.qr: mode must be 'full', 'economic' or 'r', got {mode!r}")
    return _qr(a, mode=mode, pivoting=bool(pivoting))


@functools.partial(composite, static_argnames=("mode", "pivoting"))
def _qr(a: Any, mode: str, pivoting: bool) -> Any:
    (a,) = matrices("qr", a)
    q, *rest = lax_qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


def qr_multiply(a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
                overwrite_a: bool = False, overwrite_c: bool = False) -> Any:
    """The product of ``c`` and the factor ``q`` of ``a = q @ r`` (with ``min(m, n)`` columns).

    Args:
      a: a matrix of shape ``(m, n)``.
      c: a matrix or vector.
      mode: ``"left"``: ``q @ c``; ``"right"``: ``c @ q``.
      pivoting: as for :func:`qr`.
      conjugate: take the conjugate of ``q``.
      overwrite_a, overwrite_c: accepted, without effect.

    Returns:
      ``(product, r)``, or ``(product, r, p)`` with ``pivoting``.

    Raises:
      ValueError: for another mode, and shapes that do not fit.
    """
    del overwrite_a, overwrite_c
    if mode not in ("left", "right"):
        raise ValueError(f"linalg.qr_multiply: mode must be 'left' or 'right', got {mode!r}")
    return _qr_multiply(a, c, mode=mode, pivoting=bool(pivoting), conjugate=bool(conjugate))


@functools.partial(composite, static_argnames=("mode", "pivoting", "conjugate"))
def _qr_multiply(a: Any, c: Any, mode: str, pivoting: bool, conjugate: bool) -> Any:
    a, c = promote_dtypes_inexact(a, c)
    (a,) = matrices("qr_multiply", a)
    q, *rest = lax_qr(a, pivoting=pivoting, full_matrices=False)
    q = mat.conj(q) if conjugate else q
    size = q.shape[-1] if mode == "left" else q.shape[-2]
    have = c.shape[0] if c.ndim == 1 or mode == "left" else c.shape[-1]
    if have != size:
        raise ValueError(f"linalg.qr_multiply: with a of shape {typeof(a).shape}, q has shape {q.shape[-2:]}, which does "
                         f"not fit c of shape {c.shape} for mode={mode!r}")
    return (jnp.matmul(q, c, precision="highest") if mode == "left" else jnp.matmul(c, q, precision="highest"), *rest)


# --- eigenvalues and singular values --------------------------------------------------------------------------------

def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd") -> Any:
    """The factors ``a = u @ diag(s) @ vh``; see ``jnp.linalg.svd``.

    Args:
      a: of shape ``(..., m, n)``.
      full_matrices, compute_uv: as there.
      overwrite_a, check_finite, lapack_driver: accepted, without effect.

    Returns:
      ``(u, s, vh)``, or ``s`` alone without ``compute_uv``.
    """
    del overwrite_a, check_finite, lapack_driver
    out = numpy_linalg.svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


def eigh(a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, turbo: bool = True, eigvals: tuple[int, int] | None = None, type: int = 1,  # noqa: A002
         check_finite: bool = True) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices: ``a @ v = v * w``, or ``a @ v = b @ v * w``.

    Args:
      a: of shape ``(..., n, n)``; one triangle is read.
      b: Hermitian positive definite matrices of that shape.
      lower: which triangle.
      eigvals_only: return ``w`` alone.
      eigvals: only eigenvalues ``eigvals[0]`` to ``eigvals[1]`` (included) of the sorted ones.
      type: 1; the other kinds of generalised problems are not supported.
      overwrite_a, overwrite_b, turbo, check_finite: accepted, without effect.

    Returns:
      ``(w, v)``, or ``w`` alone.

    Raises:
      NotImplementedError: for other types.
    """
    del overwrite_a, overwrite_b, turbo, check_finite
    if type != 1:
        raise NotImplementedError(f"linalg.eigh: only type=1 (a v = b v w) is supported, got type={type}; for the others "
                                  "multiply by b or by its inverse")
    subset = None if eigvals is None else (int(eigvals[0]), int(eigvals[1]) + 1)
    return _eigh(a, b, lower=bool(lower), eigvals_only=bool(eigvals_only), subset=subset)


@functools.partial(composite, static_argnames=("lower", "eigvals_only", "subset"))
def _eigh(a: Any, b: Any, lower: bool, eigvals_only: bool, subset: Any) -> Any:
    if b is None:
        (a,) = matrices("eigh", a, square=True)
        v, w = lax_eigh(a, lower=lower, symmetrize_input=False)
    else:
        a, b = matrices("eigh", a, b, square=True)
        a, b = (_hermitian(x, lower) for x in (a, b))
        factor = lax_cholesky(b)
        half = triangular(factor, a, left=True, lower=True)
        middle = triangular(factor, half, left=False, lower=True, transpose=True, conjugate=mat.is_complex(factor))
        y, w = lax_eigh(middle)
        v = triangular(factor, y, left=True, lower=True, transpose=True, conjugate=mat.is_complex(factor))
    if subset is not None:
        v, w = v[..., subset[0]:subset[1]], w[..., subset[0]:subset[1]]
    return w if eigvals_only else (w, v)


def _hermitian(x: Any, lower: bool) -> Any:
    half = mat.tril(x, -1) if lower else mat.triu(x, 1)
    return half + mat.h(half) + mat.diagonal_matrix(mat.diagonal(x))


def eigh_tridiagonal(d: Any, e: Any, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[float, float] | None = None, tol: float | None = None, key: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian tridiagonal matrix.

    Args:
      d: its diagonal, real numbers of shape ``(n,)``.
      e: the diagonal below, ``(n - 1,)``.
      eigvals_only: return eigenvalues alone.
      select: ``"a"``: all; ``"i"``: those numbered ``select_range[0]`` to ``select_range[1]`` (included).
      select_range: see ``select``.
      tol, key: accepted, without effect.

    Returns:
      ``(w, v)``, or ``w`` alone, as for :func:`eigh`. The matrix is made dense.

    Raises:
      NotImplementedError: for ``select="v"``, whose result has no known shape.
      ValueError: for other arguments that do not fit.
    """
    del tol, key
    if select in ("v", 1, "value"):
        raise NotImplementedError("linalg.eigh_tridiagonal: select='v' is not supported, as the number of eigenvalues in a "
                                  "range depends on values; compute all and mask them")
    if select in ("a", 0, "all"):
        subset = None
    elif select in ("i", 2, "index"):
        if select_range is None:
            raise ValueError("linalg.eigh_tridiagonal: select='i' needs select_range=(first, last)")
        subset = (int(select_range[0]), int(select_range[1]) + 1)
    else:
        raise ValueError(f"linalg.eigh_tridiagonal: select must be 'a' or 'i', got {select!r}")
    return _eigh_tridiagonal(d, e, eigvals_only=bool(eigvals_only), subset=subset)


@functools.partial(composite, static_argnames=("eigvals_only", "subset"))
def _eigh_tridiagonal(d: Any, e: Any, eigvals_only: bool, subset: Any) -> Any:
    d, e = promote_dtypes_inexact(d, e)
    if np.ndim(d) != 1 or np.shape(e) != (max(np.shape(d)[0] - 1, 0),):
        raise ValueError(f"linalg.eigh_tridiagonal: vectors of n and n - 1 elements are needed, got shapes {np.shape(d)} "
                         f"and {np.shape(e)}")
    below = jnp.diag(e, -1)
    return _eigh(jnp.diag(d) + below + mat.h(below), None, True, eigvals_only, subset)


# --- schur, hessenberg, polar ---------------------------------------------------------------------------------------

def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """The Schur form ``a = z @ t @ z^H`` with unitary ``z``.

    Args:
      a: of shape ``(..., n, n)``.
      output: ``"real"``: of real matrices a real form, with 2 by 2 blocks for pairs of complex eigenvalues;
        ``"complex"``: upper triangular.

    Returns:
      ``(t, z)``. They cannot be differentiated.

    Raises:
      ValueError: for another ``output``.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"linalg.schur: output must be 'real' or 'complex', got {output!r}")
    return _schur(a, output=output)


@functools.partial(composite, static_argnames=("output",))
def _schur(a: Any, output: str) -> tuple[Any, Any]:
    (a,) = matrices("schur", a, square=True)
    t, z = lax_schur(as_complex(a) if output == "complex" else a)
    return t, z


def as_complex(a: Any) -> Any:
    return a.astype(mat.complex_dtype(typeof(a).dtype))


@composite
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """A real Schur form ``(t, z)`` as a complex, upper triangular one."""
    del check_finite
    t, z = matrices("rsf2csf", T, Z, square=True)
    form, turn = lax_schur(as_complex(t))
    return form, mat.mm(as_complex(z), turn)


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The Hessenberg form ``a = q @ h @ q^H``, with zeros below the first subdiagonal.

    Args:
      a: of shape ``(..., n, n)``.
      calc_q: return ``(h, q)`` instead of ``h``.
      overwrite_a, check_finite: accepted, without effect.
    """
    del overwrite_a, check_finite
    return _hessenberg(a, calc_q=bool(calc_q))


@functools.partial(composite, static_argnames=("calc_q",))
def _hessenberg(a: Any, calc_q: bool) -> Any:
    (a,) = matrices("hessenberg", a, square=True)
    packed, taus = lax_hessenberg(a)
    form = mat.triu(packed, -1)
    if not calc_q:
        return form
    inner = householder_product(packed[..., 1:, :-1], taus)
    corner = mat.eye_like(packed, 1)
    n = typeof(a).shape[-1]
    zero = jnp.zeros_like(packed[..., :1, :n - 1])
    top = jnp.concatenate([corner, zero], -1)
    return form, jnp.concatenate([top, jnp.concatenate([mat.t(zero), inner], -1)], -2)


def polar(a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None) -> tuple[Any, Any]:
    """The polar decomposition ``a = u @ p``, or ``a = p @ u``: ``u`` unitary, ``p`` Hermitian and not negative.

    Args:
      a: a matrix of shape ``(m, n)``.
      side: where ``p`` is.
      method: ``"qdwh"``, an iteration for matrices with at least as many rows as columns (columns as rows, for the left
        side), or ``"svd"``.
      eps, max_iterations: of the iteration.

    Returns:
      ``(u, p)``.

    Raises:
      ValueError: for other sides and methods.
      NotImplementedError: for matrices that the iteration does not take.
    """
    if side not in ("right", "left"):
        raise ValueError(f"linalg.polar: side must be 'right' or 'left', got {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"linalg.polar: method must be 'qdwh' or 'svd', got {method!r}")
    return _polar(a, side=side, method=method, eps=eps, max_iterations=max_iterations)


@functools.partial(composite, static_argnames=("side", "method", "eps", "max_iterations"))
def _polar(a: Any, side: str, method: str, eps: Any, max_iterations: Any) -> tuple[Any, Any]:
    (a,) = matrices("polar", a)
    shape = typeof(a).shape
    if len(shape) != 2:
        raise ValueError(f"linalg.polar: one matrix is needed, got shape {shape}; use jax.vmap for stacks")
    if method == "qdwh":
        if (shape[0] < shape[1]) if side == "right" else (shape[0] > shape[1]):
            raise NotImplementedError(f"linalg.polar: method='qdwh' with side={side!r} does not take matrices of shape "
                                      f"{shape}; use method='svd'")
        u, p, _, _ = qdwh(a if side == "right" else mat.h(a), eps=eps, max_iterations=max_iterations)
        return (u, p) if side == "right" else (mat.h(u), p)
    u, s, vh = numpy_linalg.svd(a, full_matrices=False)
    middle = s.astype(typeof(a).dtype)
    unitary = mat.mm(u, vh)
    if side == "right":
        return unitary, mat.mm(mat.h(vh) * mat.rows(middle), vh)
    return unitary, mat.mm(u * mat.rows(middle), mat.h(u))
