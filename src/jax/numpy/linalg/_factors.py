"""Factorisations of matrices, under NumPy's names."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from jax._api.composite import composite
from jax.lax.linalg import _cholesky as lax_cholesky
from jax.lax.linalg import _eigen as lax_eigen
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg import _qr as lax_qr
from jax.lax.linalg import _svd as lax_svd
from jax.numpy.linalg._solving import hermitian_svd, matrices


class QRResult(NamedTuple):
    """What :func:`qr` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What :func:`svd` returns."""

    U: Any
    S: Any
    Vh: Any


class EigResult(NamedTuple):
    """What :func:`eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What :func:`eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


# --- cholesky and qr ------------------------------------------------------------------------------------------------

def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular factors of Hermitian positive definite matrices: ``l @ l^H = a``, or ``u^H @ u = a``.

    Args:
      a: of shape ``(..., n, n)``.
      upper: return ``u`` instead of ``l``.
      symmetrize_input: factor ``(a + a^H) / 2``. Without it the lower triangle is read (the upper one for ``upper``).

    Returns:
      An array like ``a``; NaN (no exception) where a matrix is not positive definite.

    Raises:
      ValueError: for arrays that are not stacks of square matrices.
    """
    return _cholesky(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@functools.partial(composite, static_argnames=("upper", "symmetrize_input"))
def _cholesky(a: Any, upper: bool, symmetrize_input: bool) -> Any:
    (a,) = matrices("cholesky", a, square=True)
    if upper and not symmetrize_input:
        a = mat.h(a)
    out = lax_cholesky.cholesky(a, symmetrize_input=symmetrize_input)
    return mat.h(out) if upper else out


def qr(a: Any, mode: str = "reduced") -> Any:
    """The factors ``a = q @ r``: orthonormal columns and an upper triangular matrix.

    Args:
      a: of shape ``(..., m, n)``.
      mode: ``"reduced"``: ``q`` has ``min(m, n)`` columns; ``"complete"``: ``m``; ``"r"``: only ``r`` is returned;
        ``"raw"``: LAPACK's reflections, ``(h, tau)`` with ``h`` transposed.

    Returns:
      A named tuple ``(Q, R)``, or ``r`` alone.

    Raises:
      ValueError: for other modes, or arrays that are not stacks of matrices.
    """
    if mode == "full":
        mode = "reduced"
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"linalg.qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}")
    return _qr(a, mode=mode)


@functools.partial(composite, static_argnames=("mode",))
def _qr(a: Any, mode: str) -> Any:
    (a,) = matrices("qr", a)
    if mode == "raw":
        packed, taus = lax_qr.geqrf(a)
        return QRResult(mat.t(packed), taus)
    q, r = lax_qr.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


# --- singular values ------------------------------------------------------------------------------------------------

def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Any:
    """The factors ``a = u @ diag(s) @ vh``, with orthonormal columns of ``u`` and rows of ``vh``.

    Args:
      a: of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square, or have ``min(m, n)`` columns and rows (which is needed for
        derivatives of matrices that are not square).
      compute_uv: whether to return them.
      hermitian: whether ``a`` is Hermitian, which is faster.
      subset_by_index: not supported.

    Returns:
      A named tuple ``(U, S, Vh)``, or ``s`` alone: singular values in decreasing order.

    Raises:
      ValueError: for arrays that are not stacks of matrices.
      NotImplementedError: for ``subset_by_index``, and for derivatives that do not exist.
    """
    return _svd(a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian),
                subset_by_index=None if subset_by_index is None else tuple(subset_by_index))


@functools.partial(composite, static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def _svd(a: Any, full_matrices: bool, compute_uv: bool, hermitian: bool, subset_by_index: Any) -> Any:
    (a,) = matrices("svd", a, square=hermitian)
    if hermitian and subset_by_index is None:
        u, s, vh = hermitian_svd(a)
        return SVDResult(u, s, vh) if compute_uv else s
    out = lax_svd.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return SVDResult(*out) if compute_uv else out


def svdvals(x: Any, /) -> Any:
    """The singular values of matrices ``(..., m, n)`` in decreasing order, of shape ``(..., min(m, n))``."""
    return svd(x, compute_uv=False)


# --- eigenvalues ----------------------------------------------------------------------------------------------------

def _lower(name: str, uplo: Any) -> bool:
    if uplo is None or uplo in ("L", "l"):
        return True
    if uplo in ("U", "u"):
        return False
    raise ValueError(f"linalg.{name}: UPLO must be 'L' or 'U', got {uplo!r}")


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices: ``a @ v = v * w``.

    Args:
      a: of shape ``(..., n, n)``.
      UPLO: the triangle to read, ``"L"`` or ``"U"``, without ``symmetrize_input``.
      symmetrize_input: take ``(a + a^H) / 2``.

    Returns:
      A named tuple ``(eigenvalues, eigenvectors)``: real ones in increasing order, ``(..., n)``, and orthonormal columns
      ``(..., n, n)``.

    Raises:
      ValueError: for arrays that are not stacks of square matrices; for another ``UPLO``.
    """
    return _eigh(a, lower=_lower("eigh", UPLO), symmetrize_input=bool(symmetrize_input))


@functools.partial(composite, static_argnames=("lower", "symmetrize_input"))
def _eigh(a: Any, lower: bool, symmetrize_input: bool) -> EighResult:
    (a,) = matrices("eigh", a, square=True)
    v, w = lax_eigen.eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of Hermitian matrices in increasing order. Arguments and errors as for :func:`eigh`."""
    return _eigh(a, lower=_lower("eigvalsh", UPLO), symmetrize_input=bool(symmetrize_input)).eigenvalues


@composite
def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices: ``a @ v = v * w``.

    Args:
      a: of shape ``(..., n, n)``.

    Returns:
      A named tuple ``(eigenvalues, eigenvectors)``, complex: in no particular order, and as columns of norm 1.

    Raises:
      ValueError: for arrays that are not stacks of square matrices.
      NotImplementedError: for derivatives of eigenvectors, see :func:`jax.lax.linalg.eig`.
    """
    (a,) = matrices("eig", a, square=True)
    w, v = lax_eigen.eig(a, compute_left_eigenvectors=False)
    return EigResult(w, v)


@composite
def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices ``(..., n, n)``, complex and in no particular order."""
    (a,) = matrices("eigvals", a, square=True)
    return lax_eigen.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
