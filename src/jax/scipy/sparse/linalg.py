"""``jax.scipy.sparse.linalg``: iterative solvers for linear systems of which only products are known.

Solutions are differentiated as such (by further solutions, see :func:`jax.lax.custom_linear_solve`), not through the
iterations. Right-hand sides and solutions are pytrees of arrays.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.linear import linear_transpose
from jax._api.staged import eval_shape
from jax.flatten_util import ravel_pytree
from jax.tree_util import Partial, tree_leaves, tree_map, tree_structure

_HIGHEST = lax.Precision.HIGHEST


# --- vectors that are trees -----------------------------------------------------------------------------------------


def _dot(x: Any, y: Any) -> Any:
    """``sum(conj(x) * y)`` over all leaves."""
    parts = [jnp.vdot(a, b, precision=_HIGHEST) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True)]
    return functools.reduce(operator.add, parts)


def _square(x: Any) -> Any:
    """``sum(abs(x)**2)``, real."""
    return functools.reduce(operator.add, [jnp.sum(jnp.square(jnp.abs(a))) for a in tree_leaves(x)])


def _plus(x: Any, factor: Any, y: Any) -> Any:
    """``x + factor * y`` in the dtypes of ``x``."""
    return tree_map(lambda a, b: (a + factor * b).astype(a.dtype), x, y)


def _minus(x: Any, y: Any) -> Any:
    return tree_map(operator.sub, x, y)


# --- what the solvers share -----------------------------------------------------------------------------------------


def _operator(name: str, what: str, a: Any) -> Callable[[Any], Any]:
    if callable(a):
        return a
    if not (hasattr(a, "shape") and hasattr(a, "ndim")):
        raise TypeError(f"{name}: linear operator {what} must be either a function or a matrix, got {type(a).__name__}")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{name}: linear operator must be a square matrix, but {what} has shape: {a.shape}")
    if isinstance(a, np.ndarray):
        a = jnp.asarray(a)
    # sparse matrices know no precision
    return (lambda v: jnp.matmul(a, v, precision=_HIGHEST)) if hasattr(a, "at") else (lambda v: a @ v)


def _solve(name: str, iterations: Callable[..., Any], a: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any,
           preconditioner: Any) -> tuple[Any, Any]:
    """The solution and what ``iterations`` say about it."""
    matvec = _operator(name, "A", a)
    inverse = _operator(name, "M", preconditioner) if preconditioner is not None else None
    b = tree_map(lambda v: jnp.asarray(v).astype(dtypes.to_inexact_dtype(jnp.asarray(v).dtype)), b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"{name}: x0 and b must have matching tree structure: {tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[v.shape for v in tree_leaves(t)] for t in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    product = eval_shape(matvec, b)
    if tree_structure(product) != tree_structure(b):
        raise ValueError(f"{name}: A() output must have the structure of b, got {tree_structure(product)} and "
                         f"{tree_structure(b)}")
    got = [v.shape for v in tree_leaves(product)]
    if got != shapes[1]:
        raise ValueError(f"{name}: A() output shapes must match b, got {got} and {shapes[1]}")
    # a complex operator makes complex vectors of real ones
    common = tree_map(lambda v, p: jnp.promote_types(v.dtype, p.dtype), b, product)
    b, x0 = (tree_map(lambda v, d: v.astype(d), t, common) for t in (b, x0))
    size = sum(v.size for v in tree_leaves(b))
    limit = 10 * size if maxiter is None else maxiter

    def forward(matvec: Any, b: Any) -> Any:
        return iterations(matvec, b, x0, tol, atol, limit, inverse or (lambda v: v))

    def backward(vecmat: Any, b: Any) -> Any:
        transposed = (lambda v: linear_transpose(inverse, v)(v)[0]) if inverse else (lambda v: v)
        return iterations(vecmat, b, tree_map(jnp.zeros_like, b), tol, atol, limit, transposed)

    return lax.custom_linear_solve(matvec, b, forward, backward, has_aux=True)


def _threshold(b: Any, tol: Any, atol: Any) -> Any:
    """The squared norm at which a residual is small enough."""
    square = _square(b)
    return jnp.maximum(jnp.square(jnp.asarray(tol, square.dtype)) * square, jnp.square(jnp.asarray(atol, square.dtype)))


# --- conjugate gradients --------------------------------------------------------------------------------------------


def _cg(matvec: Any, b: Any, x0: Any, tol: Any, atol: Any, limit: Any, inverse: Any) -> Any:
    enough = _threshold(b, tol, atol)
    r = _minus(b, matvec(x0))
    z = inverse(r)

    def unfinished(state: Any) -> Any:
        _, r, _, _, k = state
        return (_square(r) > enough) & (k < limit)

    def step(state: Any) -> Any:
        x, r, p, gamma, k = state
        q = matvec(p)
        alpha = gamma / _dot(p, q)
        x, r = _plus(x, alpha, p), _plus(r, -alpha, q)
        z = inverse(r)
        following = _dot(r, z)
        return x, r, _plus(z, following / gamma, p), following, k + 1

    return lax.while_loop(unfinished, step, (x0, r, z, _dot(r, z), 0))[0], None


def cg(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None) -> Any:
    """Solves ``A x = b`` by conjugate gradients, for a symmetric (Hermitian) positive definite ``A``.

    Args:
      A: a square matrix (dense or sparse), or a linear function from trees like ``b`` to such trees.
      b: the right-hand side, a tree of arrays. Integers are converted to floats.
      x0: where to start; zero by default.
      tol, atol: the iteration ends when ``norm(b - A x) <= max(tol * norm(b), atol)``.
      maxiter: the greatest number of iterations; 10 times the number of unknowns by default.
      M: an approximation of the inverse of ``A``, given in the same ways: a preconditioner, positive definite too.

    Returns:
      ``(x, None)``. The second part stands where SciPy has information on convergence.

    Raises:
      TypeError, ValueError: for operators that are neither, and for shapes that do not fit.

    The method is that of M. R. Hestenes and E. Stiefel (1952). Deviation from SciPy: no ``callback``.

    >>> import jax.numpy as jnp
    >>> x, _ = cg(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    >>> [round(v, 4) for v in x.tolist()]
    [1.0, 0.5]
    """
    return _solve("cg", _cg, A, b, x0, tol, atol, maxiter, M)


# --- stabilised biconjugate gradients -------------------------------------------------------------------------------


def _bicgstab(matvec: Any, b: Any, x0: Any, tol: Any, atol: Any, limit: Any, inverse: Any) -> Any:
    enough = _threshold(b, tol, atol)
    shadow = _minus(b, matvec(x0))
    one = jnp.ones_like(_dot(shadow, shadow))

    def unfinished(state: Any) -> Any:
        r, rho, omega, k = state[1], state[4], state[6], state[7]
        # without these products the method cannot go on
        return (_square(r) > enough) & (k < limit) & (rho != 0) & (omega != 0)

    def step(state: Any) -> Any:
        x, r, p, q, rho, alpha, omega, k = state
        following = _dot(shadow, r)
        p = _plus(r, following / rho * (alpha / omega), _plus(p, -omega, q))
        p_hat = inverse(p)
        q = matvec(p_hat)
        alpha = following / _dot(shadow, q)
        s = _plus(r, -alpha, q)
        done = _square(s) <= enough  # half a step is enough, the other half would be 0 / 0
        s_hat = inverse(s)
        t = matvec(s_hat)
        square = _square(t)
        omega = jnp.where(done | (square == 0), jnp.zeros_like(omega), _dot(t, s) / jnp.where(square == 0, 1, square))
        x = _plus(_plus(x, alpha, p_hat), omega, s_hat)
        return x, _plus(s, -omega, t), p, q, following, alpha, omega, k + 1

    zero = tree_map(jnp.zeros_like, b)
    return lax.while_loop(unfinished, step, (x0, shadow, zero, zero, one, one, one, 0))[0], None


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None,
             M: Any = None) -> Any:
    """Solves ``A x = b`` by stabilised biconjugate gradients (H. van der Vorst, 1992), for any regular ``A``.

    Arguments, result and errors as for :func:`cg`. The iteration also ends where the method breaks down.

    >>> import jax.numpy as jnp
    >>> x, _ = bicgstab(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))
    >>> [round(v, 4) for v in x.tolist()]
    [1.0, 1.0]
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M)


# --- generalised minimal residuals ----------------------------------------------------------------------------------


def _orthogonalised(basis: Any, w: Any) -> tuple[Any, Any]:
    """``w`` without its parts along the columns of ``basis``, and these parts. Twice is enough."""
    first = jnp.matmul(basis.conj().T, w, precision=_HIGHEST)
    w = w - jnp.matmul(basis, first, precision=_HIGHEST)
    second = jnp.matmul(basis.conj().T, w, precision=_HIGHEST)
    return w - jnp.matmul(basis, second, precision=_HIGHEST), first + second


def _arnoldi(product: Any, r: Any, norm: Any, restart: int, enough: Any, early: bool) -> tuple[Any, Any]:
    """A basis of the Krylov space (one column for each step) and the Hessenberg matrix; with ``early`` only as many
    steps as make the residual small, the rest being zero."""
    n, dtype = r.size, r.dtype
    basis = jnp.zeros((n, restart + 1), dtype).at[:, 0].set(r / norm.astype(dtype))
    hessenberg = jnp.zeros((restart + 1, restart), dtype)

    def unfinished(state: Any) -> Any:
        _, _, left, k = state
        return (k < restart) & (left > enough) if early else k < restart

    def step(state: Any) -> Any:
        basis, hessenberg, left, k = state
        w = product(basis[:, k])
        size = jnp.sqrt(_square(w))
        w, parts = _orthogonalised(basis, w)
        rest = jnp.sqrt(_square(w))
        # what remains of a vector in the space is rounding: the space is invariant, and holds the solution
        rest = jnp.where(rest > np.finfo(rest.dtype).eps * size, rest, jnp.zeros_like(rest))
        basis = basis.at[:, k + 1].set(jnp.where(rest > 0, w / jnp.where(rest > 0, rest, 1).astype(dtype), 0))
        column = parts.at[k + 1].set(rest.astype(dtype))
        hessenberg = hessenberg.at[:, k].set(column)
        if early:
            left = jnp.sqrt(_square(_least_squares(hessenberg, norm)[1]))
        return basis, hessenberg, left, k + 1

    basis, hessenberg, _, _ = lax.while_loop(unfinished, step, (basis, hessenberg, norm, 0))
    return basis, hessenberg


def _least_squares(hessenberg: Any, norm: Any) -> tuple[Any, Any]:
    """Coefficients that make the residual least, and that residual in the basis."""
    target = jnp.zeros(hessenberg.shape[0], hessenberg.dtype).at[0].set(norm.astype(hessenberg.dtype))
    y = jnp.linalg.lstsq(hessenberg, target)[0]
    return y, target - jnp.matmul(hessenberg, y, precision=_HIGHEST)


def _gmres(matvec: Any, b: Any, x0: Any, tol: Any, atol: Any, limit: Any, inverse: Any, restart: int, early: bool) -> Any:
    flat_b, rebuild = ravel_pytree(b)
    flat_x, _ = ravel_pytree(x0)
    restart = min(restart, flat_b.size)

    def flat(f: Any) -> Any:
        return lambda v: ravel_pytree(f(rebuild(v)))[0].astype(v.dtype)
    matvec, inverse = flat(matvec), flat(inverse)
    enough = jnp.sqrt(_threshold(flat_b, tol, atol))

    def residual(x: Any) -> tuple[Any, Any]:
        r = flat_b - matvec(x)
        return r, jnp.sqrt(_square(r))

    def unfinished(state: Any) -> Any:
        _, _, norm, k = state
        return (norm > enough) & (k < limit)

    def cycle(state: Any) -> Any:
        x, r, norm, k = state
        basis, hessenberg = _arnoldi(lambda v: matvec(inverse(v)), r, norm, restart, enough, early)
        y, _ = _least_squares(hessenberg, norm)
        x = x + inverse(jnp.matmul(basis[:, :-1], y, precision=_HIGHEST))
        return x, *residual(x), k + 1

    x, _, norm, cycles = lax.while_loop(unfinished, cycle, (flat_x, *residual(flat_x), 0))
    info = jnp.where(norm <= enough, 0, jnp.where(jnp.isnan(norm), -1, cycles))
    return rebuild(x), info


def gmres(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20, maxiter: Any = None,
          M: Any = None, solve_method: str = "batched") -> Any:
    """Solves ``A x = b`` by generalised minimal residuals (Y. Saad and M. H. Schultz, 1986), for any regular ``A``.

    Args:
      A, b, x0, tol, atol: as for :func:`cg`.
      restart: the size of the Krylov space; after as many products the method starts anew from what it has.
      maxiter: the greatest number of such cycles.
      M: a preconditioner, as for :func:`cg`; applied from the right, so that ``tol`` is about the true residual.
      solve_method: ``"batched"`` completes every cycle; ``"incremental"`` ends a cycle as soon as the residual is small,
        at the cost of a small least-squares problem for each product.

    Returns:
      ``(x, info)`` with 0 for convergence, the number of cycles if they did not suffice, -1 for NaN.

    Raises:
      ValueError: for other methods; else as :func:`cg`.

    >>> import jax.numpy as jnp
    >>> x, info = gmres(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))
    >>> [round(v, 4) for v in x.tolist()], int(info)
    ([1.0, 1.0], 0)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    restart = operator.index(restart)
    if restart < 1:
        raise ValueError(f"gmres: restart must be positive, got {restart}")
    iterations = Partial(_gmres, restart=restart, early=solve_method == "incremental")
    return _solve("gmres", iterations, A, b, x0, tol, atol, maxiter, M)
