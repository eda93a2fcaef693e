"""Linear algebra with sparse matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._callbacks.pure import pure_callback
from jax.experimental._reexports import reexporting
from jax.experimental.sparse.bcsr import BCSR
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact

_ORDERS = {0: "NATURAL", 1: "COLAMD", 2: "MMD_AT_PLUS_A", 3: "MMD_ATA"}


# --- direct ---------------------------------------------------------------------------------------------------------


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution ``x`` of ``A x = b`` for a square matrix in CSR format.

    Computed by SciPy's SuperLU on the host, also within ``jit``; differentiable with respect to ``data`` and ``b``.

    Args:
      data, indices, indptr: the matrix, as in :class:`CSR`.
      b: a vector.
      tol: below which pivots count as zero in solvers of accelerators; SuperLU pivots, and has no such threshold, so that
        only the default is accepted.
      reorder: how columns are put in order to keep factors sparse: 0 as they are, 1 ``COLAMD``, 2 ``MMD_AT_PLUS_A``,
        3 ``MMD_ATA``.

    Raises:
      ValueError: for shapes that do not fit and other orders.
      NotImplementedError: for another ``tol``.

    The result is NaN or infinite for singular matrices.

    >>> import jax.numpy as jnp
    >>> spsolve(jnp.array([2.0, 4.0]), jnp.array([0, 1]), jnp.array([0, 1, 2]), jnp.array([1.0, 2.0])).tolist()
    [0.5, 0.5]
    """
    check_arraylike("spsolve", data, indices, indptr, b)
    if tol != 1e-6:
        raise NotImplementedError("spsolve: tol= has no meaning for the solver used here; leave it out")
    if reorder not in _ORDERS:
        raise ValueError(f"spsolve: reorder must be one of {sorted(_ORDERS)}, got {reorder!r}")
    data, b = (jnp.asarray(v) for v in promote_dtypes_inexact(data, b))
    if data.dtype.itemsize < 4:
        raise TypeError(f"spsolve: {data.dtype} is not supported; convert to float32")
    if b.ndim != 1 or jnp.shape(indptr) != (b.shape[0] + 1,):
        raise ValueError(f"spsolve: indptr of shape {jnp.shape(indptr)} and b of shape {b.shape} do not fit a square matrix")
    indices, indptr = jnp.asarray(indices), jnp.asarray(indptr)
    shape = (b.shape[0], b.shape[0])
    fixed = lax.stop_gradient(data)  # derivatives come from the product below

    def solver(transposed: bool) -> Callable[..., Any]:
        def solve(product: Any, b: Any) -> Any:
            del product

            def on_host(data: Any, indices: Any, indptr: Any, b: Any) -> Any:
                return _superlu(data, indices, indptr, b, transposed, _ORDERS[reorder])
            return pure_callback(on_host, b, fixed, indices, indptr, b, vmap_method="sequential")
        return solve
    return lax.custom_linear_solve(lambda x: BCSR((data, indices, indptr), shape=shape) @ x, b, solver(False), solver(True))


def _superlu(data: Any, indices: Any, indptr: Any, b: Any, transposed: bool, order: str) -> Any:
    from scipy.sparse import csc_matrix, csr_matrix  # heavy: loaded when a system is solved
    from scipy.sparse.linalg import MatrixRankWarning
    from scipy.sparse.linalg import spsolve as solve
    n = len(b)
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    # the transpose of a matrix by rows is the same thing by columns
    matrix = (csc_matrix if transposed else csr_matrix)((data, indices, indptr), (n, n)).tocsc()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)  # the result says it
        return np.asarray(solve(matrix, b, permc_spec=order), b.dtype)


# --- eigenvalues ----------------------------------------------------------------------------------------------------


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: float | None = None) -> tuple[Any, Any, Any]:
    """The greatest eigenvalues of a symmetric positive definite matrix, and eigenvectors, from products alone.

    The method is A. Knyazev's "locally optimal block preconditioned conjugate gradients" (2001), without preconditioner.

    Args:
      A: a matrix, or a function of matrices of shape ``(n, k)`` that gives their products with it.
      X: where to start, of shape ``(n, k)`` with ``5 k <= n``; linearly independent columns.
      m: the greatest number of iterations.
      tol: the iteration ends when all residuals ``A u - theta u`` are smaller than ``10 n tol (norm(A u) + theta)``; the
        spacing of floats by default.

    Returns:
      ``(theta, U, i)``: the ``k`` eigenvalues in descending order, eigenvectors as columns, and the number of iterations.

    Raises:
      ValueError: for shapes that do not fit.

    >>> import jax.numpy as jnp
    >>> theta, _, _ = lobpcg_standard(jnp.diag(jnp.arange(1.0, 21.0)), jnp.eye(20)[:, ::10] + 0.1)
    >>> [round(v, 2) for v in theta.tolist()]
    [20.0, 19.0]
    """
    check_arraylike("lobpcg_standard", X)
    (X,) = promote_dtypes_inexact(X)
    X = jnp.asarray(X)
    if X.ndim != 2 or X.shape[0] < 5 * X.shape[1] or not X.shape[1]:
        raise ValueError(f"lobpcg_standard: the search directions must have shape (n, k) with 0 < 5 k <= n, got {X.shape}")
    if not callable(A) and A.shape != (X.shape[0],) * 2:
        raise ValueError(f"lobpcg_standard: a matrix of shape {A.shape} and directions of shape {X.shape} do not fit")
    product = A if callable(A) else lambda x: A @ x
    k = X.shape[1]
    precision = float(np.finfo(X.dtype).eps) if tol is None else tol

    def residuals(X: Any, AX: Any) -> tuple[Any, Any, Any]:
        theta = jnp.sum(X * AX, axis=0)
        R = AX - X * theta
        limit = 10 * X.shape[0] * precision * (jnp.linalg.norm(AX, axis=0) + jnp.abs(theta))
        return theta, R, jnp.all(jnp.linalg.norm(R, axis=0) <= limit)

    def unfinished(state: Any) -> Any:
        _, _, _, done, i = state
        return ~done & (i < m)

    def step(state: Any) -> Any:
        X, P, R, _, i = state
        basis = _orthonormal(jnp.concatenate([X, R, P], axis=1))
        small = basis.T @ product(basis)
        values, vectors = jnp.linalg.eigh(0.5 * (small + small.T))
        coefficients = vectors[:, ::-1][:, :k]
        new = basis @ coefficients
        # the direction of the step: what the new vectors have outside of the old ones
        step = new - X @ (X.T @ new)
        new = _orthonormal(new)
        _, R, done = residuals(new, product(new))
        return new, step, R, done, i + 1

    X = _orthonormal(X)
    _, R, done = residuals(X, product(X))
    X, _, _, _, i = lax.while_loop(unfinished, step, (X, jnp.zeros_like(X), R, done, jnp.zeros((), int)))
    theta = jnp.sum(X * product(X), axis=0)
    order = jnp.argsort(-theta)
    return theta[order], X[:, order], i


def _orthonormal(X: Any) -> Any:
    """An orthonormal basis, of scaled columns; directions that have no length are replaced by others (by QR)."""
    norm = jnp.linalg.norm(X, axis=0)
    return jnp.linalg.qr(X / jnp.where(norm > 0, norm, 1))[0]


__getattr__ = reexporting(__name__, "ad core dispatch ffi mlir sparse")
