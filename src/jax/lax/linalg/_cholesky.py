"""The Cholesky factor, its update, and products of a matrix with its transpose."""

from __future__ import annotations

from typing import Any

from jax._ground.families import constant
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun
from jax.lax._arithmetic import add, mul, sub
from jax.lax._dynamic_slice import dynamic_index_in_dim
from jax.lax._dynamic_slice import dynamic_update_index_in_dim as put
from jax.lax._power import sqrt
from jax.lax._while import fori_loop
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack, nan_unless, succeeded
from jax.lax.linalg._triangular import solve

# --- cholesky -------------------------------------------------------------------------------------------------------

cholesky_p = Primitive("cholesky")


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular matrices ``l`` with ``l l^H = x``, for Hermitian positive definite matrices ``x``.

    Args:
      x: floats or complex numbers of shape ``(..., n, n)``.
      symmetrize_input: factor ``(x + x^H) / 2``; the derivative is symmetric, too. Without it the lower triangle is read.

    Returns:
      An array like ``x``; NaN for matrices that are not positive definite.

    Raises:
      TypeError, ValueError: for operands that are not stacks of square matrices of numbers.
      NotImplementedError: for half-precision floats.
    """
    mat.check_matrix("cholesky", typeof(x), square=True)
    if symmetrize_input:
        x = mat.symmetrize(x)
    return mat.tril(cholesky_p.bind(x))


def _abstract(x: Any) -> Any:
    mat.check_matrix("cholesky", x, square=True)
    return ShapedArray(x.shape, x.dtype)


def _on_cpu(x: Any) -> Any:
    shape, dtype = typeof(x).shape, typeof(x).dtype
    out, info = lapack("potrf", (x,), [(shape, dtype), (shape[:-2], INT32)], lead=len(shape) - 2, replaces={0: 0},
                       uplo="L")
    return nan_unless(succeeded(info), out)


def factor_tangent(factor: Any, tangent: Any) -> Any:
    """The derivative ``l phi(l^-1 dx l^-H)`` of the factor ``l``; phi takes the lower half, with half the diagonal.

    See S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010), and
    I. Murray, "Differentiation of the Cholesky decomposition" (2016).
    """
    inner = solve(factor, tangent, left=False, lower=True, transpose=True, conjugate=mat.is_complex(factor))
    inner = mat.tril(solve(factor, inner, left=True, lower=True))
    half = constant(typeof(inner).dtype, 0.5)
    return mat.mm(factor, sub(inner, mul(mat.diagonal_matrix(mat.diagonal(inner)), half)))


def _jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    out = mat.tril(cholesky_p.bind(x))
    return out, (Zero.from_primal_value(out) if type(dx) is Zero else factor_tangent(out, dx))


cholesky_p.def_abstract_eval(_abstract)
register_lowering(cholesky_p, lambda ctx, x: [hlo.cholesky(x, lower=True)])
register_lowering(cholesky_p, lower_fun(_on_cpu, multiple_results=False), platform="cpu")
rules.primitive_jvps[cholesky_p] = _jvp
mat.batch_leading(cholesky_p)

# --- cholesky_update ------------------------------------------------------------------------------------------------

cholesky_update_p = Primitive("cholesky_update")


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular factor ``s`` with ``s^T s = r^T r + w w^T``, in ``O(n^2)`` operations.

    Args:
      r_matrix: an upper triangular matrix, real floats of shape ``(n, n)``.
      w_vector: of shape ``(n,)`` and the same dtype.

    Raises:
      TypeError, ValueError: for other shapes and dtypes.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def _update_abstract(r: Any, w: Any) -> Any:
    mat.check_matrix("cholesky_update", r, square=True)
    if r.dtype.kind == "c" or r.dtype != w.dtype:
        raise TypeError(f"cholesky_update: operands must have one real dtype, got {r.dtype} and {w.dtype}")
    if w.shape != r.shape[:-1]:
        raise ValueError(f"cholesky_update: a matrix of shape {r.shape} needs a vector of shape {r.shape[:-1]}, got "
                         f"{w.shape}")
    return ShapedArray(r.shape, r.dtype)


def _update(r: Any, w: Any) -> Any:
    """A Givens rotation for each row takes one element of ``w`` into the diagonal (Golub and Van Loan, 6.5.4)."""
    n, lead = typeof(r).shape[-1], len(typeof(w).shape) - 1

    def rotate(k: Any, state: Any) -> Any:
        r, w = state
        row = dynamic_index_in_dim(r, k, lead, keepdims=False)
        a = dynamic_index_in_dim(row, k, lead, keepdims=True)
        b = dynamic_index_in_dim(w, k, lead, keepdims=True)
        norm = sqrt(add(mul(a, a), mul(b, b)))
        scale = mat.safe_reciprocal(norm)
        c, s = mul(a, scale), mul(b, scale)
        return put(r, add(mul(c, row), mul(s, w)), k, lead), sub(mul(c, w), mul(s, row))

    return fori_loop(0, n, rotate, (mat.triu(r), w))[0]


def _update_jvp(primals: Any, tangents: Any) -> Any:
    (r, w), (dr, dw) = primals, [instantiate_zeros(v) for v in tangents]
    out = cholesky_update_p.bind(r, w)
    left = mat.mm(mat.t(mat.triu(r)), mat.triu(dr))
    both = mat.mm(mat.columns(w), mat.rows(dw))
    total = add(add(left, mat.t(left)), add(both, mat.t(both)))
    return out, mat.t(factor_tangent(mat.t(out), total))


cholesky_update_p.def_abstract_eval(_update_abstract)
register_lowering(cholesky_update_p, cache_lowering(lower_fun(_update, multiple_results=False)))
rules.primitive_jvps[cholesky_update_p] = _update_jvp
mat.batch_leading(cholesky_update_p)

# --- symmetric_product ----------------------------------------------------------------------------------------------

symmetric_product_p = Primitive("symmetric_product")


def symmetric_product(a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False) -> Any:
    """``alpha * a a^T + beta * c``, for symmetric ``c``.

    Args:
      a_matrix: real floats of shape ``(..., n, k)``.
      c_matrix: of shape ``(..., n, n)``.
      alpha, beta: Python numbers.
      symmetrize_output: make the result exactly symmetric, from its lower triangle.

    Raises:
      TypeError, ValueError: for other shapes and dtypes.
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    return add(mat.tril(out), mat.t(mat.tril(out, -1))) if symmetrize_output else out


def _product_abstract(a: Any, c: Any, **params: Any) -> Any:
    mat.check_matrix("symmetric_product", a)
    mat.check_matrix("symmetric_product", c, square=True)
    if a.dtype != c.dtype or a.dtype.kind == "c":
        raise TypeError(f"symmetric_product: operands must have one real dtype, got {a.dtype} and {c.dtype}")
    if (*a.shape[:-1], a.shape[-2]) != c.shape:
        raise ValueError(f"symmetric_product: operands of shapes {a.shape} and {c.shape} do not fit: the second must "
                         f"have shape {(*a.shape[:-1], a.shape[-2])}")
    return ShapedArray(c.shape, c.dtype)


def _product(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    dtype = typeof(c).dtype
    out = mul(mat.mm(a, mat.t(a)), constant(dtype, alpha))
    return add(out, mul(c, constant(dtype, beta))) if beta else out


def _product_jvp(primals: Any, tangents: Any, *, alpha: float, beta: float) -> Any:
    (a, c), (da, dc) = primals, tangents
    out = symmetric_product_p.bind(a, c, alpha=alpha, beta=beta)
    total: Any = Zero.from_primal_value(out)
    if type(da) is not Zero:
        half = mul(mat.mm(a, mat.t(da)), constant(typeof(out).dtype, alpha))
        total = add(half, mat.t(half))
    if type(dc) is not Zero and beta:
        moved = mul(dc, constant(typeof(out).dtype, beta))
        total = moved if type(total) is Zero else add(total, moved)
    return out, total


symmetric_product_p.def_abstract_eval(_product_abstract)
register_lowering(symmetric_product_p, lower_fun(_product, multiple_results=False))
rules.primitive_jvps[symmetric_product_p] = _product_jvp
mat.batch_leading(symmetric_product_p)
