"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import enum
from typing import Any

from jax._ground.structural import broadcast_in_dim, convert
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import div, mul, sub
from jax.lax._comparison import eq
from jax.lax._complex import complex as make_complex
from jax.lax._complex import imag
from jax.lax._creation import broadcasted_iota
from jax.lax._magnitude import abs
from jax.lax._reduce import argmax, reduce_sum
from jax.lax._select import select_n_p
from jax.lax._slice import slice_in_dim
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack, nan_unless, succeeded
from jax.lax.linalg._lu import lu_p
from jax.lax.linalg._triangular import solve

# --- Hermitian matrices ---------------------------------------------------------------------------------------------

eigh_p = Primitive("eigh", multiple_results=True)


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are found. On CPUs there is ``QR`` (LAPACK's divide and conquer)."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None, implementation: EighImplementation | None = None) -> Any:
    """Eigenvectors and eigenvalues of Hermitian matrices: ``x v = v diag(w)``.

    Args:
      x: floats or complex numbers of shape ``(..., n, n)``.
      lower: which triangle to read, without ``symmetrize_input``.
      symmetrize_input: take ``(x + x^H) / 2``; the derivative is symmetric then, too.
      sort_eigenvalues: whether eigenvalues must be in increasing order; here they always are.
      subset_by_index: only eigenvalues (and eigenvectors) ``a`` to ``b - 1`` of the sorted ones.
      implementation: see :class:`EighImplementation`.

    Returns:
      ``(v, w)``: orthonormal columns, of shape ``(..., n, n)``, and real eigenvalues, ``(..., n)``. NaN where the
      iteration does not converge.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers, or a wrong subset.
      NotImplementedError: for half-precision floats and other implementations.
    """
    aval = typeof(x)
    mat.check_matrix("eigh", aval, square=True)
    n = aval.shape[-1]
    if symmetrize_input:
        x = mat.symmetrize(x)
    v, w = eigh_p.bind(x, lower=bool(lower), sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None,
                       algorithm=None if implementation is None else EighImplementation(implementation))
    if subset_by_index is None or tuple(subset_by_index) == (0, n):
        return v, w
    start, stop = subset_by_index
    if not 0 <= start < stop <= n:
        raise ValueError(f"eigh: subset_by_index must be (start, stop) with 0 <= start < stop <= {n}, got "
                         f"{subset_by_index}")
    lead = len(aval.shape) - 2
    return slice_in_dim(v, start, stop, axis=lead + 1), slice_in_dim(w, start, stop, axis=lead)


def _eigh_abstract(x: Any, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[Any]:
    mat.check_matrix("eigh", x, square=True)
    return [ShapedArray(x.shape, x.dtype), ShapedArray(x.shape[:-1], mat.real_dtype(x.dtype))]


def _eigh_on_cpu(x: Any, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[Any]:
    if algorithm in (EighImplementation.JACOBI, EighImplementation.QDWH):
        raise NotImplementedError(f"eigh: {algorithm} is not available on CPUs; use EighImplementation.QR")
    shape, dtype = typeof(x).shape, typeof(x).dtype
    v, w, info = lapack("syevd", (x,), [(shape, dtype), (shape[:-1], mat.real_dtype(dtype)), (shape[:-2], INT32)],
                        lead=len(shape) - 2, replaces={0: 0}, mode="V", uplo="L" if lower else "U")
    ok = succeeded(info)
    return [nan_unless(ok, v), nan_unless(ok, w)]


def _eigh_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """With ``m = v^H dx v``: ``dw`` is its diagonal and ``dv = v (f * m)``, ``f[i, j] = 1 / (w[j] - w[i])``.

    See M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008).
    """
    (x,), (dx,) = primals, tangents
    v, w = eigh_p.bind(x, **params)
    if type(dx) is Zero:
        return [v, w], [Zero.from_primal_value(v), Zero.from_primal_value(w)]
    inner = mat.mm(mat.mm(mat.h(v), dx), v)
    dw = mat.real(mat.diagonal(inner))
    return [v, w], [mat.mm(v, mul(convert(mat.gaps(w), typeof(v).dtype), inner)), dw]


eigh_p.def_abstract_eval(_eigh_abstract)
register_lowering(eigh_p, lower_fun(_eigh_on_cpu), platform="cpu")
rules.primitive_jvps[eigh_p] = _eigh_jvp
mat.batch_leading(eigh_p)

# --- other matrices -------------------------------------------------------------------------------------------------

eig_p = Primitive("eig", multiple_results=True)


class EigImplementation(enum.Enum):
    """How eigenvalues are found. On CPUs there is ``LAPACK``."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
        use_magma: bool | None = None) -> list[Any]:
    """Eigenvalues and eigenvectors of square matrices: ``x v = v diag(w)`` and ``u^H x = diag(w) u^H``.

    Args:
      x: floats or complex numbers of shape ``(..., n, n)``.
      compute_left_eigenvectors, compute_right_eigenvectors: whether to return ``u``, and ``v``.
      enable_eigvec_derivs: allow derivatives of eigenvectors. They exist where eigenvalues differ, and hold with the
        convention that columns have norm 1 and a real largest element.
      implementation: see :class:`EigImplementation`.
      use_magma: for GPUs; ignored here.

    Returns:
      A list of ``w``, complex of shape ``(..., n)``, in no particular order, and of ``u`` and ``v`` where asked for,
      complex of shape ``(..., n, n)``. NaN where the iteration does not converge.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers.
      NotImplementedError: for half-precision floats; for derivatives of eigenvectors without ``enable_eigvec_derivs``.
    """
    del use_magma
    return list(eig_p.bind(
        x, compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors), enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=None if implementation is None else EigImplementation(implementation)))


def _eig_abstract(x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any) -> Any:
    mat.check_matrix("eig", x, square=True)
    dtype = mat.complex_dtype(x.dtype)
    vectors = [ShapedArray(x.shape, dtype)] * (compute_left_eigenvectors + compute_right_eigenvectors)
    return [ShapedArray(x.shape[:-1], dtype), *vectors]


def _eig_on_cpu(x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
                implementation: Any, **params: Any) -> list[Any]:
    if implementation in (EigImplementation.CUSOLVER, EigImplementation.MAGMA):
        raise NotImplementedError(f"eig: {implementation} is not available on CPUs; use EigImplementation.LAPACK")
    shape, dtype = typeof(x).shape, typeof(x).dtype
    wide = mat.complex_dtype(dtype)
    values = [(shape[:-1], dtype)] * (1 if dtype.kind == "c" else 2)
    modes = {"compute_left": "V" if compute_left_eigenvectors else "N",
             "compute_right": "V" if compute_right_eigenvectors else "N"}
    *w, left, right, info = lapack("geev", (x,), [*values, (shape, wide), (shape, wide), (shape[:-2], INT32)],
                                   lead=len(shape) - 2, **modes)
    values_out = w[0] if len(w) == 1 else make_complex(*w)
    ok = succeeded(info)
    chosen = [values_out, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors]
    return [nan_unless(ok, v) for v in chosen]


def _eig_jvp(primals: Any, tangents: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
             enable_eigvec_derivs: bool, implementation: Any) -> Any:
    """With ``m = v^-1 dx v``: ``dw`` is its diagonal; eigenvectors move by ``v (f * m)``, then are normalised again.

    Left eigenvectors are the right ones of ``x^H``. See M. Giles (2008); N. van der Aa et al., "Computation of
    eigenvalue and eigenvector derivatives for a general complex-valued eigensystem" (2007).
    """
    (x,), (dx,) = primals, tangents
    vectors = compute_left_eigenvectors or compute_right_eigenvectors
    # Higher derivatives of eigenvalues go through eigenvectors, in ways that do not depend on their norms.
    outs = eig_p.bind(x, compute_left_eigenvectors=compute_left_eigenvectors, compute_right_eigenvectors=True,
                      enable_eigvec_derivs=enable_eigvec_derivs or not vectors, implementation=implementation)
    w, *left, v = outs
    results = [w, *left, *[v] * compute_right_eigenvectors]
    if type(dx) is Zero:
        return results, [Zero.from_primal_value(o) for o in results]
    dx = convert(dx, typeof(v).dtype)
    inner = _solve_general(v, mat.mm(dx, v))
    dw = mat.diagonal(inner)
    if not vectors:
        return results, [dw]
    if not enable_eigvec_derivs:
        raise NotImplementedError("derivatives of eigenvectors of general matrices hold only where all eigenvalues "
                                  "differ, which cannot be checked: say that they do with "
                                  "jax.lax.linalg.eig(..., enable_eigvec_derivs=True), or use jnp.linalg.eigvals or "
                                  "jnp.linalg.eigh")
    moved = []
    if compute_left_eigenvectors:
        (u,) = left
        inner_left = _solve_general(u, mat.mm(mat.h(dx), u))
        moved.append(_normalised_tangent(u, mat.mm(u, mul(mat.conj(mat.gaps(w)), inner_left))))
    if compute_right_eigenvectors:
        moved.append(_normalised_tangent(v, mat.mm(v, mul(mat.gaps(w), inner))))
    return results, [dw, *moved]


def _solve_general(a: Any, b: Any) -> Any:
    packed, _, order = lu_p.bind(a)
    y = solve(packed, mat.take_rows(b, order), left=True, lower=True, unit=True)
    return solve(packed, y, left=True, lower=False)


def _normalised_tangent(v: Any, dv: Any) -> Any:
    """The tangent of columns that keep norm 1 and a real largest element, given one up to multiples of the columns."""
    axis = len(typeof(v).shape) - 2
    shape = typeof(v).shape
    along = mat.real(reduce_sum(mul(mat.conj(v), dv), (axis,)))
    largest = argmax(abs(v), axis, INT32)
    index = broadcasted_iota(INT32, shape, axis)
    chosen = eq(index, broadcast_in_dim(largest, shape, [d for d in range(len(shape)) if d != axis]))
    zero = mat.zeros_like(v)
    at = [reduce_sum(select_n_p.bind(chosen, zero, x), (axis,)) for x in (v, dv)]
    turn = div(imag(at[1]), mat.real(at[0]))
    return sub(dv, mul(v, mat.rows(make_complex(along, turn))))


eig_p.def_abstract_eval(_eig_abstract)
register_lowering(eig_p, lower_fun(_eig_on_cpu), platform="cpu")
rules.primitive_jvps[eig_p] = _eig_jvp
mat.batch_leading(eig_p)
