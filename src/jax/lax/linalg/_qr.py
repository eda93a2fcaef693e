"""QR factors and the products of reflections that they come as."""

from __future__ import annotations

from typing import Any

from jax._ground.structural import full
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, sub
from jax.lax._complex import complex as make_complex
from jax.lax._complex import imag
from jax.lax._join import concatenate
from jax.lax._slice import slice_in_dim
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack
from jax.lax.linalg._triangular import solve

# --- geqrf, geqp3: what LAPACK returns ------------------------------------------------------------------------------

geqrf_p = Primitive("geqrf", multiple_results=True)
geqp3_p = Primitive("geqp3", multiple_results=True)


def geqrf(a: Any) -> tuple[Any, Any]:
    """``(packed, taus)``: ``r`` in the upper triangle, below it the reflections whose product is ``q``."""
    packed, taus = geqrf_p.bind(a)
    return packed, taus


def _geqrf_abstract(a: Any) -> list[Any]:
    mat.check_matrix("qr", a)
    *lead, m, n = a.shape
    return [ShapedArray(a.shape, a.dtype), ShapedArray((*lead, min(m, n)), a.dtype)]


def _geqrf_on_cpu(a: Any) -> list[Any]:
    shape, dtype = typeof(a).shape, typeof(a).dtype
    *lead, m, n = shape
    return lapack("geqrf", (a,), [(shape, dtype), ((*lead, min(m, n)), dtype)], lead=len(lead), replaces={0: 0})


def _geqp3_abstract(a: Any) -> list[Any]:
    *rest, taus = _geqrf_abstract(a)
    return [*rest, ShapedArray((*a.shape[:-2], a.shape[-1]), INT32), taus]


def _geqp3_on_cpu(a: Any) -> list[Any]:
    shape, dtype = typeof(a).shape, typeof(a).dtype
    *lead, m, n = shape
    free = full((*lead, n), 0, INT32)  # no column is fixed in front
    packed, order, taus = lapack("geqp3", (a, free), [(shape, dtype), ((*lead, n), INT32), ((*lead, min(m, n)), dtype)],
                                 lead=len(lead), replaces={0: 0, 1: 1})
    return [packed, sub(order, full((*lead, n), 1, INT32)), taus]  # LAPACK counts from 1


geqrf_p.def_abstract_eval(_geqrf_abstract)
register_lowering(geqrf_p, lower_fun(_geqrf_on_cpu), platform="cpu")
mat.batch_leading(geqrf_p)
geqp3_p.def_abstract_eval(_geqp3_abstract)
register_lowering(geqp3_p, lower_fun(_geqp3_on_cpu), platform="cpu")
mat.batch_leading(geqp3_p)

# --- householder_product --------------------------------------------------------------------------------------------

householder_product_p = Primitive("householder_product")


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of a product of elementary reflections ``1 - tau v v^H``.

    Args:
      a: floats or complex numbers of shape ``(..., m, n)`` with ``m >= n``. Column ``i`` holds the vector ``v`` of
        reflection ``i`` below the diagonal; above are zeros, on it a one, whatever ``a`` has there.
      taus: of shape ``(..., k)`` with ``k <= n``.

    Returns:
      The first ``n`` columns of the product, of shape ``(..., m, n)``. It cannot be differentiated; :func:`qr` can.

    Raises:
      TypeError, ValueError: for other shapes and dtypes.
    """
    return householder_product_p.bind(a, taus)


def _product_abstract(a: Any, taus: Any) -> Any:
    mat.check_matrix("householder_product", a)
    *lead, m, n = a.shape
    if taus.dtype != a.dtype:
        raise TypeError(f"householder_product: operands must have one dtype, got {a.dtype} and {taus.dtype}")
    if m < n or len(taus.shape) != len(lead) + 1 or taus.shape[:-1] != tuple(lead) or taus.shape[-1] > n:
        raise ValueError("householder_product: operands of shapes (..., m, n) and (..., k) with m >= n >= k are "
                         f"needed, got {a.shape} and {taus.shape}")
    return ShapedArray(a.shape, a.dtype)


def _product_on_cpu(a: Any, taus: Any) -> Any:
    shape, dtype = typeof(a).shape, typeof(a).dtype
    if not typeof(taus).shape[-1]:
        return mat.triu(mat.tril(full(shape, 1, dtype)))
    return lapack("orgqr", (a, taus), [(shape, dtype)], lead=len(shape) - 2, replaces={0: 0})[0]


householder_product_p.def_abstract_eval(_product_abstract)
register_lowering(householder_product_p, lower_fun(_product_on_cpu, multiple_results=False), platform="cpu")
mat.batch_leading(householder_product_p)

# --- ormqr ----------------------------------------------------------------------------------------------------------

ormqr_p = Primitive("ormqr")


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """The product of ``c`` and the square matrix ``q`` of a QR factorisation, without making ``q``.

    Args:
      a, taus: reflections, as for :func:`householder_product`; ``a`` of shape ``(..., m, k)``, ``taus`` ``(..., k)``.
      c: of shape ``(..., m, n)``, or ``(..., n, m)`` without ``left``.
      left: ``q c`` instead of ``c q``.
      transpose: ``q^H`` instead of ``q``.

    Returns:
      An array like ``c``.

    Raises:
      TypeError, ValueError: for other shapes and dtypes.
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


def _ormqr_abstract(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    mat.check_matrix("ormqr", a)
    mat.check_matrix("ormqr", c)
    if not a.dtype == taus.dtype == c.dtype:
        raise TypeError(f"ormqr: operands must have one dtype, got {a.dtype}, {taus.dtype} and {c.dtype}")
    m = c.shape[-2] if left else c.shape[-1]
    if a.shape[-2] != m or (*a.shape[:-2], a.shape[-1]) != taus.shape or a.shape[:-2] != c.shape[:-2]:
        raise ValueError(f"ormqr: operands of shapes {a.shape}, {taus.shape} and {c.shape} do not fit: (..., m, k), "
                         f"(..., k) and (..., {'m, n' if left else 'n, m'}) are needed")
    return ShapedArray(c.shape, c.dtype)


def _ormqr_on_cpu(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    shape = typeof(c).shape
    if not typeof(taus).shape[-1]:
        return c
    return lapack("ormqr", (a, taus, c), [(shape, typeof(c).dtype)], lead=len(shape) - 2, replaces={0: 2}, left=left,
                  transpose=transpose)[0]


ormqr_p.def_abstract_eval(_ormqr_abstract)
register_lowering(ormqr_p, lower_fun(_ormqr_on_cpu, multiple_results=False), platform="cpu")
mat.batch_leading(ormqr_p)

# --- qr -------------------------------------------------------------------------------------------------------------

qr_p = Primitive("qr", multiple_results=True)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """The factors of ``x = q r`` with orthonormal columns of ``q`` and upper triangular ``r``.

    Args:
      x: floats or complex numbers of shape ``(..., m, n)``.
      pivoting: exchange columns so that the diagonal of ``r`` does not increase in size.
      full_matrices: whether ``q`` is square, ``m`` by ``m``, or has ``min(m, n)`` columns.
      use_magma: for GPUs; ignored here.

    Returns:
      ``(q, r)``, or with ``pivoting`` ``(q, r, order)``, where ``x[..., order] = q r``.

    Raises:
      TypeError: for operands that are not stacks of matrices of numbers.
      NotImplementedError: for half-precision floats; when differentiated with more columns in ``q`` than ``x`` has,
        which ``x`` does not determine.
    """
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma))


def _abstract(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Any]:
    mat.check_matrix("qr", x)
    *lead, m, n = x.shape
    k = m if full_matrices else min(m, n)
    out = [ShapedArray((*lead, m, k), x.dtype), ShapedArray((*lead, k, n), x.dtype)]
    return [*out, ShapedArray((*lead, n), INT32)] if pivoting else out


def _from_reflections(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Any]:
    *lead, m, n = typeof(x).shape
    k = m if full_matrices else min(m, n)
    if pivoting:
        packed, order, taus = geqp3_p.bind(x)
    else:
        packed, taus = geqrf_p.bind(x)
    if k < n:
        vectors = slice_in_dim(packed, 0, k, axis=len(lead) + 1)
    elif k > n:
        vectors = concatenate([packed, full((*lead, m, k - n), 0, typeof(x).dtype)], len(lead) + 1)
    else:
        vectors = packed
    q = householder_product_p.bind(vectors, taus)
    r = mat.triu(slice_in_dim(packed, 0, k, axis=len(lead)))
    return [q, r, order] if pivoting else [q, r]


def _jvp(primals: Any, tangents: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> Any:
    """With ``w = q^H dq``, skew-Hermitian: ``dr = q^H dx - w r`` and ``dq = q w + (1 - q q^H) dx r^-1``.

    ``w`` follows from ``c = q^H dx r^-1``, as ``c - w`` is upper triangular with a real diagonal. See Walter and
    Lehmann (2010). Of a wide matrix the first columns determine ``q``.
    """
    (x,), (dx,) = primals, tangents
    outs = qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    if type(dx) is Zero:
        return outs, [Zero.from_primal_value(o) for o in outs]
    q, r = outs[:2]
    *lead, m, n = typeof(x).shape
    if full_matrices and m > n:
        raise NotImplementedError(f"qr of matrices of shape {(m, n)} with full_matrices=True has no derivative: the "
                                  f"last {m - n} columns of q are not determined. Use full_matrices=False, in "
                                  "jnp.linalg.qr mode='reduced'.")
    if pivoting:
        dx = mat.t(mat.take_rows(mat.t(dx), outs[2]))
    axis = len(lead) + 1
    k = min(m, n)
    left = slice_in_dim(r, 0, k, axis=axis) if n > k else r
    scaled = solve(left, slice_in_dim(dx, 0, k, axis=axis) if n > k else dx, left=False, lower=False)
    c = mat.mm(mat.h(q), scaled)
    below = mat.tril(c, -1)
    w = sub(below, mat.h(below))
    if mat.is_complex(c):
        phases = imag(mat.diagonal(c))
        w = add(w, mat.diagonal_matrix(make_complex(mat.zeros_like(phases), phases)))
    dq = mat.mm(q, w) if m == k else add(mat.mm(q, sub(w, c)), scaled)
    dr = mat.triu(sub(mat.mm(mat.h(q), dx), mat.mm(w, r)))
    return outs, [dq, dr, *[Zero.from_primal_value(o) for o in outs[2:]]]


qr_p.def_abstract_eval(_abstract)
register_lowering(qr_p, lower_fun(_from_reflections))
rules.primitive_jvps[qr_p] = _jvp
mat.batch_leading(qr_p)
