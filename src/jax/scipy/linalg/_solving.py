"""Systems of equations, with factors given or made."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg import lu as lax_lu
from jax.lax.linalg import lu_pivots_to_permutation, tridiagonal_solve
from jax.lax.linalg._cholesky import cholesky as lax_cholesky
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy._promotion import promote_dtypes_inexact
from jax.numpy.linalg import _solving as numpy_solving
from jax.numpy.linalg import det as numpy_det

_lead_to = numpy_solving.lead_to


def right_hand_sides(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Square matrices and right-hand sides as matrices with the same leading dimensions; whether these were vectors.

    Raises:
      ValueError: for shapes that do not fit.
    """
    a, b = promote_dtypes_inexact(a, b)
    (a,) = numpy_solving.matrices(name, a, square=True)
    s, t = typeof(a).shape, typeof(b).shape
    vector = len(t) == 1
    b = mat.columns(b) if vector else b
    if not t or typeof(b).shape[-2] != s[-1]:
        raise ValueError(f"linalg.{name}: systems of shape {s} and right-hand sides of shape {t} do not fit")
    lead = np.broadcast_shapes(s[:-2], typeof(b).shape[:-2])
    return _lead_to(a, lead, 2), _lead_to(b, lead, 2), vector


def _as_given(x: Any, vector: bool) -> Any:
    return x[..., 0] if vector else x


# --- triangular matrices --------------------------------------------------------------------------------------------

def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Any:
    """The solution ``x`` of ``a @ x = b`` for triangular matrices.

    Args:
      a: of shape ``(..., n, n)``; one triangle is read.
      b: of shape ``(n,)`` or ``(..., n, k)``.
      trans: 0 or ``"N"``; 1 or ``"T"`` to transpose ``a``; 2 or ``"C"`` to conjugate it, too.
      lower: which triangle.
      unit_diagonal: take the diagonal for ones.
      overwrite_b, debug, check_finite: accepted, without effect.

    Raises:
      ValueError: for shapes that do not fit, and another ``trans``.
    """
    del overwrite_b, debug, check_finite
    names = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}
    if trans not in names:
        raise ValueError(f"linalg.solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return _solve_triangular(a, b, trans=names[trans], lower=bool(lower), unit=bool(unit_diagonal))


@functools.partial(composite, static_argnames=("trans", "lower", "unit"))
def _solve_triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
    a, b, vector = right_hand_sides("solve_triangular", a, b)
    out = triangular(a, b, left=True, lower=lower, transpose=trans > 0, conjugate=trans == 2 and mat.is_complex(a),
                     unit=unit)
    return _as_given(out, vector)


# --- Cholesky factors -----------------------------------------------------------------------------------------------

def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The triangular factors of Hermitian positive definite matrices: ``u^H @ u = a``, or ``l @ l^H = a``.

    Args:
      a: of shape ``(..., n, n)``; ``(a + a^H) / 2`` is factored.
      lower: return ``l`` instead of ``u``.
      overwrite_a, check_finite: accepted, without effect.

    Returns:
      An array like ``a``; NaN where a matrix is not positive definite.
    """
    del overwrite_a, check_finite
    return _cholesky(a, lower=bool(lower))


@functools.partial(composite, static_argnames=("lower",))
def _cholesky(a: Any, lower: bool) -> Any:
    (a,) = numpy_solving.matrices("cholesky", a, square=True)
    factor = lax_cholesky(a)
    return factor if lower else mat.h(factor)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """``(factor, lower)`` for :func:`cho_solve`: :func:`cholesky`, with zeros in the other triangle."""
    return cholesky(a, lower), bool(lower)


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution ``x`` of ``a @ x = b``, from what :func:`cho_factor` returned for ``a``.

    Args:
      c_and_lower: ``(factor, lower)``.
      b: of shape ``(n,)`` or ``(..., n, k)``.
      overwrite_b, check_finite: accepted, without effect.
    """
    del overwrite_b, check_finite
    c, lower = c_and_lower
    return _cho_solve(c, b, lower=bool(lower))


@functools.partial(composite, static_argnames=("lower",))
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    c, b, vector = right_hand_sides("cho_solve", c, b)
    return _as_given(_by_factor(c, b, lower), vector)


def _by_factor(c: Any, b: Any, lower: bool) -> Any:
    conjugate = mat.is_complex(c)
    y = triangular(c, b, left=True, lower=lower, transpose=not lower, conjugate=conjugate and not lower)
    return triangular(c, y, left=True, lower=lower, transpose=lower, conjugate=conjugate and lower)


# --- LU factors -----------------------------------------------------------------------------------------------------

def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """``(lu, pivots)`` for :func:`lu_solve`.

    Args:
      a: of shape ``(..., m, n)``.
      overwrite_a, check_finite: accepted, without effect.

    Returns:
      ``u`` in the upper triangle and ``l``, without its diagonal of ones, below; and int32 row exchanges.
    """
    del overwrite_a, check_finite
    return _lu_factor(a)


@composite
def _lu_factor(a: Any) -> tuple[Any, Any]:
    (a,) = numpy_solving.matrices("lu_factor", a)
    packed, pivots, _ = lax_lu(a)
    return packed, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Any:
    """The solution of ``a @ x = b``, from what :func:`lu_factor` returned for ``a``.

    Args:
      lu_and_piv: factors and row exchanges.
      b: of shape ``(n,)`` or ``(..., n, k)``.
      trans: 0; 1 to transpose ``a``; 2 to conjugate it, too.
      overwrite_b, check_finite: accepted, without effect.

    Raises:
      ValueError: for shapes that do not fit, and another ``trans``.
    """
    del overwrite_b, check_finite
    if trans not in (0, 1, 2):
        raise ValueError(f"linalg.lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    return _lu_solve(*lu_and_piv, b, trans=trans)


@functools.partial(composite, static_argnames=("trans",))
def _lu_solve(packed: Any, pivots: Any, b: Any, trans: int) -> Any:
    packed, b, vector = right_hand_sides("lu_solve", packed, b)
    order = lu_pivots_to_permutation(jnp.asarray(pivots), typeof(packed).shape[-1])
    order = _lead_to(order, typeof(packed).shape[:-2], 1)
    conjugate = trans == 2 and mat.is_complex(packed)
    return _as_given(numpy_solving.lu_solve(packed, order, b, trans > 0, conjugate), vector)


# --- solve ----------------------------------------------------------------------------------------------------------

_STRUCTURES = {
    "gen": "gen", "general": "gen", "banded": "gen", "sym": "gen", "symmetric": "gen", "her": "gen", "hermitian": "gen",
    "pos": "pos", "positive definite": "pos", "diagonal": "diagonal", "tridiagonal": "tridiagonal",
    "upper triangular": "upper", "lower triangular": "lower",
}


def solve(a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
          check_finite: bool = True, assume_a: str = "gen") -> Any:
    """The solution ``x`` of ``a @ x = b``.

    Args:
      a: of shape ``(..., n, n)``.
      b: of shape ``(n,)`` or ``(..., n, k)``.
      lower: which triangle to read, for ``assume_a="pos"``.
      overwrite_a, overwrite_b, debug, check_finite: accepted, without effect.
      assume_a: what ``a`` is: ``"gen"``, ``"sym"``, ``"her"``, ``"pos"``, ``"diagonal"``, ``"tridiagonal"``, ``"upper
        triangular"``, ``"lower triangular"``, ``"banded"``, and SciPy's long names. ``"pos"`` uses Cholesky factors.

    Raises:
      ValueError: for shapes that do not fit, and another ``assume_a``.
    """
    del overwrite_a, overwrite_b, debug, check_finite
    if assume_a not in _STRUCTURES:
        raise ValueError(f"linalg.solve: assume_a must be one of {', '.join(map(repr, _STRUCTURES))}, got {assume_a!r}")
    return _solve(a, b, lower=bool(lower), structure=_STRUCTURES[assume_a])


@functools.partial(composite, static_argnames=("lower", "structure"))
def _solve(a: Any, b: Any, lower: bool, structure: str) -> Any:
    if structure == "gen":
        return numpy_solving.solve(a, b)
    a, b, vector = right_hand_sides("solve", a, b)
    if structure == "pos":
        half = mat.tril(a, -1) if lower else mat.triu(a, 1)
        whole = half + mat.h(half) + mat.diagonal_matrix(mat.diagonal(a))
        out = _by_factor(lax_cholesky(whole), b, True)
    elif structure == "diagonal":
        out = b / mat.columns(mat.diagonal(a))
    elif structure == "tridiagonal":
        out = tridiagonal_solve(_diagonal(a, -1), mat.diagonal(a), _diagonal(a, 1), b)
    else:
        out = triangular(a, b, left=True, lower=structure == "lower")
    return _as_given(out, vector)


def _diagonal(a: Any, offset: int) -> Any:
    """A diagonal next to the main one, with a zero where it is shorter."""
    d = jnp.diagonal(a, offset, -2, -1)
    zero = jnp.zeros_like(a[..., :1, 0])
    return jnp.concatenate([zero, d] if offset < 0 else [d, zero], axis=-1)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of square matrices; see ``jnp.linalg.inv``."""
    return numpy_solving.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of square matrices; see ``jnp.linalg.det``."""
    return numpy_det(a)
