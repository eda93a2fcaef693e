"""Singular values and vectors."""

from __future__ import annotations

import enum
from typing import Any

from jax._ground.families import constant
from jax._ground.structural import broadcast_in_dim, convert
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, mul, sub
from jax.lax._complex import complex as make_complex
from jax.lax._complex import imag
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack, nan_unless, succeeded

svd_p = Primitive("svd", multiple_results=True)


class SvdAlgorithm(enum.Enum):
    """How singular values are found. On CPUs there are ``DIVIDE_AND_CONQUER`` (the default) and ``QR``."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None) -> Any:
    """The factors of ``x = u diag(s) vh``, with orthonormal columns of ``u`` and rows of ``vh``.

    Args:
      x: floats or complex numbers of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square, or have ``min(m, n)`` columns and rows.
      compute_uv: whether to return them.
      subset_by_index: not supported.
      algorithm: see :class:`SvdAlgorithm`.

    Returns:
      ``(u, s, vh)``, or ``s`` alone without ``compute_uv``: singular values in decreasing order, of shape
      ``(..., min(m, n))``. NaN where the iteration does not converge.

    Raises:
      TypeError: for operands that are not stacks of matrices of numbers.
      NotImplementedError: for half-precision floats and what is not supported; when differentiated with more vectors
        than singular values, as these are not determined.
    """
    if subset_by_index is not None and tuple(subset_by_index) != (0, min(typeof(x).shape[-2:])):
        raise NotImplementedError("svd: subset_by_index is not supported; take the part of all singular values and "
                                  "vectors that you need, as in s[..., a:b]")
    out = svd_p.bind(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), subset_by_index=None,
                     algorithm=None if algorithm is None else SvdAlgorithm(algorithm))
    if not compute_uv:
        return out[0]
    s, u, vh = out
    return u, s, vh


def _abstract(x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any) -> list[Any]:
    mat.check_matrix("svd", x)
    *lead, m, n = x.shape
    k = min(m, n)
    s = ShapedArray((*lead, k), mat.real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    return [s, ShapedArray((*lead, m, m if full_matrices else k), x.dtype),
            ShapedArray((*lead, n if full_matrices else k, n), x.dtype)]


def _on_cpu(x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any) -> list[Any]:
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError(f"svd: {algorithm} is not available on CPUs; use DIVIDE_AND_CONQUER or QR")
    shape, dtype = typeof(x).shape, typeof(x).dtype
    *lead, m, n = shape
    k = min(m, n)
    u, vh = ((m, m if full_matrices else k), (n if full_matrices else k, n))
    if not k:
        outs = [broadcast_in_dim(constant(dtype, 0), (*lead, 0), ())]
        outs[0] = convert(outs[0], mat.real_dtype(dtype)) if dtype.kind != "c" else mat.real(outs[0])
        return [*outs, _eyes(x, u), _eyes(x, vh)] if compute_uv else outs
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    _, s, left, right, info = lapack(
        "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd", (x,),
        [(shape, dtype), ((*lead, k), mat.real_dtype(dtype)), ((*lead, *u), dtype), ((*lead, *vh), dtype),
         (lead, INT32)], lead=len(lead), replaces={0: 0}, mode=mode)
    ok = succeeded(info)
    return [nan_unless(ok, v) for v in ((s, left, right) if compute_uv else (s,))]


def _eyes(x: Any, shape: tuple[int, int]) -> Any:
    ones = broadcast_in_dim(constant(typeof(x).dtype, 1), (*typeof(x).shape[:-2], *shape), ())
    return mat.triu(mat.tril(ones))


def _jvp(primals: Any, tangents: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> Any:
    """With ``m = u^H dx v``: ``ds`` is the real part of its diagonal.

    ``du = u (f * (m s + s m^H)) + (1 - u u^H) dx v / s`` and ``dv = v (f * (s m + m^H s)) + (1 - v v^H) dx^H u / s``,
    where ``f[i, j] = 1 / (s[j]^2 - s[i]^2)`` off the diagonal. The phases of complex vectors are free; here the
    rotation of both is put in ``u``. See J. Townsend, "Differentiating the singular value decomposition" (2016).
    """
    (x,), (dx,) = primals, tangents
    *_, m, n = typeof(x).shape
    if type(dx) is Zero:
        outs = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv, **params)
        return outs, [Zero.from_primal_value(o) for o in outs]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(f"svd of matrices of shape {(m, n)} with full_matrices=True has no derivative: some "
                                  "of the singular vectors are not determined. Use full_matrices=False.")
    s, u, vh = svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    v = mat.h(vh)
    inner = mat.mm(mat.mm(mat.h(u), dx), v)
    ds = mat.real(mat.diagonal(inner))
    if not compute_uv:
        return [s], [ds]
    dtype = typeof(x).dtype
    sigma = convert(s, dtype)
    across, down = mat.rows(s), mat.columns(s)
    f = convert(mat.safe_reciprocal(mul(sub(across, down), add(across, down))), dtype)
    inverse = mat.safe_reciprocal(sigma)
    by_columns, by_rows = mul(inner, mat.rows(sigma)), mul(inner, mat.columns(sigma))
    turn_u = mul(f, add(by_columns, mat.h(by_columns)))
    turn_v = mul(f, add(by_rows, mat.h(by_rows)))
    if dtype.kind == "c":
        phases = mul(imag(mat.diagonal(inner)), mat.safe_reciprocal(s))
        turn_u = add(turn_u, mat.diagonal_matrix(make_complex(mat.zeros_like(phases), phases)))
    du, dv = mat.mm(u, turn_u), mat.mm(v, turn_v)
    if m > n:
        du = add(du, mul(_outside(u, mat.mm(dx, v)), mat.rows(inverse)))
    if n > m:
        dv = add(dv, mul(_outside(v, mat.mm(mat.h(dx), u)), mat.rows(inverse)))
    return [s, u, vh], [ds, du, mat.h(dv)]


def _outside(basis: Any, x: Any) -> Any:
    """The part of ``x`` outside of the space of orthonormal columns."""
    return sub(x, mat.mm(basis, mat.mm(mat.h(basis), x)))


svd_p.def_abstract_eval(_abstract)
register_lowering(svd_p, lower_fun(_on_cpu), platform="cpu")
rules.primitive_jvps[svd_p] = _jvp
mat.batch_leading(svd_p)
