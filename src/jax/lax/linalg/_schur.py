"""Schur and Hessenberg forms, and reduction of Hermitian matrices to tridiagonal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack, nan_unless, succeeded

# --- schur ----------------------------------------------------------------------------------------------------------

schur_p = Primitive("schur", multiple_results=True)


def schur(x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable[..., Any] | None = None) -> tuple[Any, Any]:
    """The Schur form ``x = v t v^H`` with unitary ``v``.

    Args:
      x: floats or complex numbers of shape ``(..., n, n)``.
      compute_schur_vectors: whether to return ``v``.
      sort_eig_vals, select_callable: not supported.

    Returns:
      ``(t, v)``, or a list of ``t`` alone: ``t`` is upper triangular for complex ``x``, and has 2 by 2 blocks on the
      diagonal for pairs of complex eigenvalues of real ``x``. NaN where the iteration does not converge. It cannot be
      differentiated.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers.
      NotImplementedError: for half-precision floats, and what is not supported.
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: eigenvalues cannot be sorted; leave out sort_eig_vals and select_callable or "
                                  "call scipy.linalg.schur(x, sort=...) through jax.pure_callback")
    return schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False, select_callable=None)


def _schur_abstract(x: Any, *, compute_schur_vectors: bool, **params: Any) -> list[Any]:
    mat.check_matrix("schur", x, square=True)
    return [ShapedArray(x.shape, x.dtype)] * (1 + compute_schur_vectors)


def _schur_on_cpu(x: Any, *, compute_schur_vectors: bool, **params: Any) -> list[Any]:
    shape, dtype = typeof(x).shape, typeof(x).dtype
    values = [(shape[:-1], dtype)] * (1 if dtype.kind == "c" else 2)
    outs = [(shape, dtype), (shape, dtype), *values, (shape[:-2], INT32), (shape[:-2], INT32)]
    form, vectors, *_, info = lapack("gees", (x,), outs, lead=len(shape) - 2, replaces={0: 0},
                                     mode="V" if compute_schur_vectors else "N", sort="N")
    ok = succeeded(info)
    return [nan_unless(ok, v) for v in ([form, vectors] if compute_schur_vectors else [form])]


schur_p.def_abstract_eval(_schur_abstract)
register_lowering(schur_p, lower_fun(_schur_on_cpu), platform="cpu")
mat.batch_leading(schur_p)

# --- hessenberg -----------------------------------------------------------------------------------------------------

hessenberg_p = Primitive("hessenberg", multiple_results=True)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """The Hessenberg form ``a = q h q^H``, with ``q`` as reflections.

    Args:
      a: floats or complex numbers of shape ``(..., n, n)``.

    Returns:
      ``(packed, taus)``: ``h`` in the upper triangle and the first subdiagonal; below, and in ``taus`` of shape
      ``(..., n - 1)``, the reflections whose product (see :func:`householder_product`) is ``q`` without its first row
      and column. It cannot be differentiated.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers.
      NotImplementedError: for half-precision floats.
    """
    packed, taus = hessenberg_p.bind(a)
    return packed, taus


def _hessenberg_abstract(a: Any) -> list[Any]:
    mat.check_matrix("hessenberg", a, square=True)
    if not a.shape[-1]:
        raise ValueError("hessenberg: a matrix of shape (0, 0) has no Hessenberg form")
    return [ShapedArray(a.shape, a.dtype), ShapedArray((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]


def _hessenberg_on_cpu(a: Any) -> list[Any]:
    shape, dtype = typeof(a).shape, typeof(a).dtype
    *lead, n, _ = shape
    out, taus, info = lapack("gehrd", (a,), [(shape, dtype), ((*lead, n - 1), dtype), (lead, INT32)], lead=len(lead),
                             replaces={0: 0}, low=1, high=n)
    ok = succeeded(info)
    return [nan_unless(ok, out), nan_unless(ok, taus)]


hessenberg_p.def_abstract_eval(_hessenberg_abstract)
register_lowering(hessenberg_p, lower_fun(_hessenberg_on_cpu), platform="cpu")
mat.batch_leading(hessenberg_p)

# --- tridiagonal ----------------------------------------------------------------------------------------------------

tridiagonal_p = Primitive("tridiagonal", multiple_results=True)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form ``a = q t q^H`` of Hermitian matrices, with ``q`` as reflections.

    Args:
      a: floats or complex numbers of shape ``(..., n, n)``; one triangle is read.
      lower: which one.

    Returns:
      ``(packed, d, e, taus)``: the real diagonal of ``t``, of shape ``(..., n)``, its real off-diagonal, ``(..., n -
      1)``, and the reflections in a triangle of ``packed`` and in ``taus``, ``(..., n - 1)``. It cannot be
      differentiated.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers.
      NotImplementedError: for half-precision floats.
    """
    packed, d, e, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return packed, d, e, taus


def _tridiagonal_abstract(a: Any, *, lower: bool) -> list[Any]:
    mat.check_matrix("tridiagonal", a, square=True)
    *lead, n, _ = a.shape
    if not n:
        raise ValueError("tridiagonal: a matrix of shape (0, 0) has no tridiagonal form")
    real = mat.real_dtype(a.dtype)
    return [ShapedArray(a.shape, a.dtype), ShapedArray((*lead, n), real), ShapedArray((*lead, n - 1), real),
            ShapedArray((*lead, n - 1), a.dtype)]


def _tridiagonal_on_cpu(a: Any, *, lower: bool) -> list[Any]:
    shape, dtype = typeof(a).shape, typeof(a).dtype
    *lead, n, _ = shape
    real = mat.real_dtype(dtype)
    outs = [(shape, dtype), ((*lead, n), real), ((*lead, n - 1), real), ((*lead, n - 1), dtype), (lead, INT32)]
    *found, info = lapack("sytrd", (a,), outs, lead=len(lead), replaces={0: 0}, uplo="L" if lower else "U")
    ok = succeeded(info)
    return [nan_unless(ok, v) for v in found]


tridiagonal_p.def_abstract_eval(_tridiagonal_abstract)
register_lowering(tridiagonal_p, lower_fun(_tridiagonal_on_cpu), platform="cpu")
mat.batch_leading(tridiagonal_p)
