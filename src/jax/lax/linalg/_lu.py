"""LU factors with row exchanges."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jax._ground.families import constant, zero_derivative
from jax._ground.structural import broadcast_in_dim, full
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun
from jax.lax._arithmetic import add, sub
from jax.lax._comparison import eq
from jax.lax._creation import broadcasted_iota
from jax.lax._dynamic_slice import dynamic_index_in_dim
from jax.lax._dynamic_slice import dynamic_update_index_in_dim as put
from jax.lax._join import concatenate
from jax.lax._reduce import reduce_sum
from jax.lax._select import select_n_p
from jax.lax._shape import squeeze
from jax.lax._slice import slice_in_dim
from jax.lax._while import fori_loop
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, accepted, lapack, nan_unless
from jax.lax.linalg._triangular import solve

# --- lu -------------------------------------------------------------------------------------------------------------

lu_p = Primitive("lu", multiple_results=True)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """The factors of ``x[permutation] = l u``, with partial pivoting.

    Args:
      x: floats or complex numbers of shape ``(..., m, n)``.

    Returns:
      ``(lu, pivots, permutation)``: an array like ``x`` with ``u`` in the upper triangle and ``l`` below the diagonal,
      which is one; int32 row exchanges of shape ``(..., min(m, n))``: row ``i`` was exchanged with row ``pivots[i]``;
      and the order of rows that they make, of shape ``(..., m)``. Zeros on the diagonal of ``u`` tell of a singular
      matrix.

    Raises:
      TypeError: for operands that are not stacks of matrices of numbers.
      NotImplementedError: for half-precision floats.
    """
    out, pivots, permutation = lu_p.bind(x)
    return out, pivots, permutation


def _abstract(x: Any) -> list[Any]:
    mat.check_matrix("lu", x)
    *lead, m, n = x.shape
    return [ShapedArray(x.shape, x.dtype), ShapedArray((*lead, min(m, n)), INT32), ShapedArray((*lead, m), INT32)]


def _on_cpu(x: Any) -> tuple[Any, Any, Any]:
    shape, dtype = typeof(x).shape, typeof(x).dtype
    *lead, m, n = shape
    out, pivots, info = lapack("getrf", (x,), [(shape, dtype), ((*lead, min(m, n)), INT32), (lead, INT32)],
                               lead=len(lead), replaces={0: 0})
    pivots = sub(pivots, constant(INT32, 1))  # LAPACK counts from 1
    return nan_unless(accepted(info), out), pivots, lu_pivots_to_permutation_p.bind(pivots, permutation_size=m)


def _jvp(primals: Any, tangents: Any) -> Any:
    """With ``f = l^-1 (p dx) u^-1``: ``dl = l tril(f, -1)`` and ``du = triu(f) u``.

    Factors of matrices that are not square are completed by identity matrices. See Walter and Lehmann (2010).
    """
    (x,), (dx,) = primals, tangents
    packed, pivots, permutation = lu_p.bind(x)
    constants = [Zero.from_primal_value(pivots), Zero.from_primal_value(permutation)]
    if type(dx) is Zero:
        return [packed, pivots, permutation], [Zero.from_primal_value(packed), *constants]
    *lead, m, n = typeof(x).shape
    k = min(m, n)
    dx = mat.take_rows(dx, permutation)
    lower = mat.tril(slice_in_dim(packed, 0, k, axis=len(lead) + 1), -1)
    lower = add(_completed(lower, m, len(lead) + 1), mat.eye_like(packed, m))
    upper = mat.triu(slice_in_dim(packed, 0, k, axis=len(lead)))
    upper = _completed(upper, n, len(lead))
    if k < n:
        upper = add(upper, _identity_behind(upper, k))
    f = solve(upper, solve(lower, dx, left=True, lower=True, unit=True), left=False, lower=False)
    below = slice_in_dim(mat.tril(f, -1), 0, k, axis=len(lead) + 1)
    below = mat.mm(lower, _completed(below, n, len(lead) + 1))
    above = slice_in_dim(mat.triu(f), 0, k, axis=len(lead))
    above = _completed(mat.mm(above, upper), m, len(lead))
    return [packed, pivots, permutation], [add(below, above), *constants]


def _completed(x: Any, size: int, axis: int) -> Any:
    """``x`` with zeros behind, up to ``size``."""
    shape = list(typeof(x).shape)
    missing = size - shape[axis]
    if missing <= 0:
        return x
    shape[axis] = missing
    return concatenate([x, full(tuple(shape), 0, typeof(x).dtype)], axis)


def _identity_behind(x: Any, k: int) -> Any:
    """Matrices like ``x`` with ones on the diagonal from element ``k`` on."""
    shape = typeof(x).shape
    n = shape[-1]
    ones = np.diag((np.arange(n) >= k).astype(typeof(x).dtype))
    return broadcast_in_dim(ones, shape, (len(shape) - 2, len(shape) - 1))


lu_p.def_abstract_eval(_abstract)
register_lowering(lu_p, lower_fun(_on_cpu), platform="cpu")
rules.primitive_jvps[lu_p] = _jvp
mat.batch_leading(lu_p)

# --- row exchanges --------------------------------------------------------------------------------------------------

lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The order of rows that row exchanges make.

    Args:
      pivots: int32 of shape ``(..., k)``, as :func:`lu` returns them.
      permutation_size: the number of rows.

    Returns:
      An int32 array of shape ``(..., permutation_size)``.

    Raises:
      TypeError, ValueError: for other dtypes, or fewer rows than exchanges.
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=operator.index(permutation_size))


def _permutation_abstract(pivots: Any, *, permutation_size: int) -> Any:
    if len(pivots.shape) < 1 or pivots.dtype != INT32:
        raise TypeError(f"lu_pivots_to_permutation: int32 vectors are needed, got {pivots.str_short()}")
    if permutation_size < pivots.shape[-1]:
        raise ValueError(f"lu_pivots_to_permutation: {pivots.shape[-1]} exchanges of {permutation_size} rows; there "
                         "must be at least as many rows")
    return ShapedArray((*pivots.shape[:-1], permutation_size), INT32)


def _permutation(pivots: Any, *, permutation_size: int) -> Any:
    *lead, k = typeof(pivots).shape
    shape, axis = (*lead, permutation_size), len(lead)
    position = broadcasted_iota(INT32, shape, axis)
    if not k:
        return position

    def exchange(i: Any, order: Any) -> Any:
        here = dynamic_index_in_dim(order, i, axis)
        j = dynamic_index_in_dim(pivots, i, axis)
        if not lead:
            there = dynamic_index_in_dim(order, squeeze(j, (0,)))
            return put(put(order, there, i, 0), here, squeeze(j, (0,)), 0)
        at_other = eq(position, broadcast_in_dim(j, shape, range(axis + 1)))
        there = reduce_sum(select_n_p.bind(at_other, full(shape, 0, INT32), order), (axis,))
        order = select_n_p.bind(at_other, order, broadcast_in_dim(here, shape, range(axis + 1)))
        return put(order, there, i, axis)

    return fori_loop(constant(INT32, 0), constant(INT32, k), exchange, position)


lu_pivots_to_permutation_p.def_abstract_eval(_permutation_abstract)
register_lowering(lu_pivots_to_permutation_p, cache_lowering(lower_fun(_permutation, multiple_results=False)))
zero_derivative(lu_pivots_to_permutation_p)
mat.batch_leading(lu_pivots_to_permutation_p)
