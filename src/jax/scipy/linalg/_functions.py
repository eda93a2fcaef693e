"""Functions of matrices and Sylvester's equation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._api.forward import jvp
from jax._api.vmap import vmap
from jax._language.avals import typeof
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg import eig as lax_eig
from jax.lax.linalg import schur as lax_schur
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy.linalg._solving import matrices, solve_matrices
from jax.scipy.linalg._factors import as_complex

# --- exponentials ---------------------------------------------------------------------------------------------------


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponentials of matrices.

    A Pade approximant of the matrix divided by a power of two, squared as often: N. J. Higham, "The scaling and squaring
    method for the matrix exponential revisited" (2005). Always of the highest order there, 13 (7 for 32-bit dtypes).

    Args:
      A: of shape ``(..., n, n)``.
      upper_triangular: whether the matrices are.
      max_squarings: matrices that need more give NaN.
    """
    return _expm(A, upper=bool(upper_triangular), limit=int(max_squarings))


@functools.partial(composite, static_argnames=("upper", "limit"))
def _expm(a: Any, upper: bool, limit: int) -> Any:
    (a,) = matrices("expm", a, square=True)
    shape = typeof(a).shape
    if len(shape) == 2:
        return _expm_one(a, upper, limit)
    flat = a.reshape((math.prod(shape[:-2]), *shape[-2:]))
    return vmap(lambda x: _expm_one(x, upper, limit))(flat).reshape(shape)


def _pade_coefficients(order: int) -> list[float]:
    f = math.factorial
    return [float(f(2 * order - k) // (f(k) * f(order - k))) for k in range(order + 1)]


def _expm_one(a: Any, upper: bool, limit: int) -> Any:
    dtype = typeof(a).dtype
    if not typeof(a).shape[-1]:
        return a
    double = mat.real_dtype(dtype) == np.float64
    order, theta = (13, 5.371920351148152) if double else (7, 3.925724783138660)
    norm = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(a), axis=0)))
    steps = jnp.maximum(0, jnp.ceil(jnp.log2(norm / theta)))
    steps = jnp.where(jnp.isfinite(steps), steps, 0).astype(np.int32)
    scale = jnp.exp2(-jnp.minimum(steps, limit).astype(mat.real_dtype(dtype)))
    a = a * scale.astype(dtype)
    even, odd = _pade(a, _pade_coefficients(order), order)
    p, q = even + odd, even - odd
    out = triangular(q, p, left=True, lower=False) if upper else solve_matrices(q, p)

    def square(k: Any, x: Any) -> Any:
        return lax.cond(k < steps, lambda y: mat.mm(y, y), lambda y: y, x)

    out = lax.fori_loop(0, limit, square, out)
    return jnp.where(steps > limit, jnp.full_like(out, np.nan), out)


def _pade(a: Any, c: list[float], order: int) -> tuple[Any, Any]:
    """The even and the odd part of the numerator."""
    one = mat.eye_like(a)
    a2 = mat.mm(a, a)
    a4 = mat.mm(a2, a2)
    a6 = mat.mm(a4, a2)

    def s(k: int, x: Any) -> Any:
        return x * np.asarray(c[k], typeof(a).dtype)
    if order == 7:
        return s(6, a6) + s(4, a4) + s(2, a2) + s(0, one), mat.mm(a, s(7, a6) + s(5, a4) + s(3, a2) + s(1, one))
    odd = mat.mm(a6, s(13, a6) + s(11, a4) + s(9, a2)) + s(7, a6) + s(5, a4) + s(3, a2) + s(1, one)
    even = mat.mm(a6, s(12, a6) + s(10, a4) + s(8, a2)) + s(6, a6) + s(4, a4) + s(2, a2) + s(0, one)
    return even, mat.mm(a, odd)


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """The derivative of :func:`expm` at ``A`` in the direction ``E``.

    Args:
      A, E: matrices of one shape ``(n, n)``.
      method: ``"SPS"`` (None) or ``"blockEnlarge"``; both are the forward derivative of :func:`expm` here.
      compute_expm: return ``(expm(A), derivative)`` instead of the derivative.

    Raises:
      ValueError: for another method, and shapes that do not fit.
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"linalg.expm_frechet: method must be 'SPS' or 'blockEnlarge', got {method!r}")
    return _expm_frechet(A, E, both=bool(compute_expm))


@functools.partial(composite, static_argnames=("both",))
def _expm_frechet(a: Any, e: Any, both: bool) -> Any:
    a, e = matrices("expm_frechet", a, e, square=True)
    if typeof(a).shape != typeof(e).shape:
        raise ValueError(f"linalg.expm_frechet: matrices of one shape are needed, got {typeof(a).shape} and "
                         f"{typeof(e).shape}")
    value, slope = jvp(lambda x: _expm(x, False, 16), (jnp.asarray(a),), (jnp.asarray(e),))
    return (value, slope) if both else slope


# --- functions of triangular matrices -------------------------------------------------------------------------------

def _by_columns(start: Any, column: Callable[..., Any]) -> Any:
    """An upper triangular matrix, from its diagonal, column by column.

    ``column(j, f, before)`` returns the elements above the diagonal of column ``j``; ``before`` marks these places.
    """
    n = typeof(start).shape[-1]
    index = jnp.arange(n)

    def step(j: Any, f: Any) -> Any:
        before = index < j
        new = jnp.where(before, column(j, f, before), f[:, j])
        return f.at[:, j].set(new)

    return lax.fori_loop(1, n, step, start) if n > 1 else start


def _leading(matrix: Any, before: Any) -> Any:
    """``matrix`` where both indices are marked, the identity elsewhere."""
    both = jnp.expand_dims(before, 0) & jnp.expand_dims(before, 1)
    return jnp.where(both, matrix, jnp.eye(typeof(matrix).shape[-1], dtype=typeof(matrix).dtype))


def _one_matrix(name: str, a: Any) -> Any:
    (a,) = matrices(name, a, square=True)
    if len(typeof(a).shape) != 2:
        raise ValueError(f"linalg.{name}: one square matrix is needed, got shape {typeof(a).shape}; use jax.vmap for stacks")
    return jnp.asarray(a)


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a square matrix, complex.

    Through the Schur form: A. Bjorck and S. Hammarling, "A Schur method for the square root of a matrix" (1983). It
    cannot be differentiated.

    Args:
      A: a matrix of shape ``(n, n)``.
      blocksize: only 1.

    Raises:
      NotImplementedError: for another ``blocksize``.
    """
    if blocksize > 1:
        raise NotImplementedError("linalg.sqrtm: blocks are not supported; leave out blocksize=")
    return _sqrtm(A)


@composite
def _sqrtm(a: Any) -> Any:
    t, z = lax_schur(as_complex(_one_matrix("sqrtm", a)))
    roots = jnp.sqrt(jnp.diagonal(t))

    def column(j: Any, f: Any, before: Any) -> Any:
        system = _leading(f, before) + jnp.diag(jnp.where(before, roots[j], jnp.zeros_like(roots)))
        right = jnp.where(before, t[:, j], jnp.zeros_like(roots))
        return triangular(system, right[:, None], left=True, lower=False)[:, 0]

    root = _by_columns(jnp.diag(roots), column)
    return mat.mm(mat.mm(z, root), mat.h(z))


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a square matrix, given for scalars.

    Through the Schur form and Parlett's recurrence, which loses accuracy where eigenvalues are close. It cannot be
    differentiated.

    Args:
      A: a matrix of shape ``(n, n)``.
      func: a function of arrays, element by element.
      disp: return the matrix alone; else ``(matrix, estimate of its error)``.
    """
    a = _one_matrix("funm", A)
    t, z = lax_schur(as_complex(a))
    values = func(jnp.diagonal(t))
    dtype = typeof(t).dtype
    values = jnp.asarray(values).astype(dtype)
    eps = float(np.finfo(dtype).eps)
    poles = jnp.diagonal(t)

    def column(j: Any, f: Any, before: Any) -> Any:
        gap = poles - poles[j]
        gap = jnp.where(jnp.abs(gap) == 0, jnp.full_like(gap, eps), gap)
        system = jnp.where(jnp.eye(len(gap), dtype=bool), jnp.diag(gap), t)
        top = jnp.where(before, t[:, j], jnp.zeros_like(gap))
        right = jnp.where(before, f @ top - top * values[j], jnp.zeros_like(gap))
        return -triangular(_leading(system, before), -right[:, None], left=True, lower=False)[:, 0]

    form = _by_columns(jnp.diag(values), column)
    out = mat.mm(mat.mm(z, form), mat.h(z))
    if disp:
        return out
    n = len(poles)
    off = jnp.abs(jnp.expand_dims(poles, 0) - jnp.expand_dims(poles, 1))
    smallest = jnp.min(jnp.where(jnp.eye(n, dtype=bool), jnp.full_like(off, np.inf), off), initial=np.inf)
    smallest = jnp.where(smallest == 0, eps, jnp.minimum(smallest, 1))
    above = jnp.max(jnp.sum(jnp.abs(mat.triu(t, 1)), axis=0), initial=0)
    return out, jnp.minimum(1.0, jnp.maximum(eps, eps / smallest * above))


# --- Sylvester's equation -------------------------------------------------------------------------------------------

def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """The solution ``X`` of ``A @ X + X @ B = C``.

    Args:
      A: a matrix of shape ``(m, m)``.
      B: of shape ``(n, n)``.
      C: of shape ``(m, n)``.
      method: ``"schur"`` (R. H. Bartels and G. W. Stewart, 1972), or ``"eigen"``, for matrices with a basis of
        eigenvectors.
      tol: the result is NaN where a sum of eigenvalues of ``A`` and ``B`` is smaller than this.

    Raises:
      ValueError: for another method, and shapes that do not fit.
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"linalg.solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    return _solve_sylvester(A, B, C, method=method, tol=float(tol))


@functools.partial(composite, static_argnames=("method", "tol"))
def _solve_sylvester(a: Any, b: Any, c: Any, method: str, tol: float) -> Any:
    a, b, c = matrices("solve_sylvester", a, b, c)
    m, n = typeof(a).shape[-1], typeof(b).shape[-1]
    if typeof(a).shape != (m, m) or typeof(b).shape != (n, n) or typeof(c).shape != (m, n):
        raise ValueError("linalg.solve_sylvester: matrices of shapes (m, m), (n, n) and (m, n) are needed, got "
                         f"{typeof(a).shape}, {typeof(b).shape} and {typeof(c).shape}")
    dtype = typeof(c).dtype
    a, b, c = (as_complex(x) for x in (a, b, c))
    if method == "schur":
        (r, u), (s, v) = lax_schur(a), lax_schur(b)
        left, right = jnp.diagonal(r), jnp.diagonal(s)
        y = _triangular_sylvester(r, s, mat.mm(mat.mm(mat.h(u), c), v))
        x = mat.mm(mat.mm(u, y), mat.h(v))
    else:
        (left, u), (right, v) = (lax_eig(x, compute_left_eigenvectors=False) for x in (a, b))
        f = solve_matrices(u, mat.mm(c, v))
        x = mat.mm(u, f / (left[:, None] + right[None, :]))
        x = mat.t(solve_matrices(mat.t(v), mat.t(x)))
    singular = jnp.any(jnp.abs(left[:, None] + right[None, :]) < tol)
    x = jnp.where(singular, jnp.full_like(x, complex(np.nan, np.nan)), x)
    return x if dtype.kind == "c" else x.real


def _triangular_sylvester(r: Any, s: Any, f: Any) -> Any:
    """The solution of ``r y + y s = f`` for upper triangular ``r`` and ``s``, column by column."""
    m, n = typeof(f).shape
    index = jnp.arange(n)

    def step(j: Any, y: Any) -> Any:
        known = jnp.where(index < j, s[:, j], jnp.zeros_like(s[:, 0]))
        right = f[:, j] - y @ known
        system = r + s[j, j] * jnp.eye(m, dtype=typeof(r).dtype)
        return y.at[:, j].set(triangular(system, right[:, None], left=True, lower=False)[:, 0])

    return lax.fori_loop(0, n, step, jnp.zeros_like(f))
