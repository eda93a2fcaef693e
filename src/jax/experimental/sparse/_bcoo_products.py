"""Products of BCOO arrays: contractions and element by element."""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax.experimental.sparse._bcoo_layout import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_update_layout,
    columns,
    entries,
    expand,
    make,
    ordered,
    outside,
    per_batch,
    trimmed,
    valid,
)
from jax.experimental.sparse._bcoo_shape import bcoo_broadcast_in_dim
from jax.experimental.sparse.util import compiled
from jax.lax._precision import canonical_precision
from jax.numpy._promotion import check_arraylike

# --- contractions ---------------------------------------------------------------------------------------------------


def _numbers(name: str, lhs: Any, rhs: Any, dimension_numbers: Any) -> tuple[Any, Any, Any, Any]:
    (lc, rc), (lb, rb) = (tuple(tuple(operator.index(d) for d in side) for side in pair) for pair in dimension_numbers)
    for what, left, right in (("contracting", lc, rc), ("batch", lb, rb)):
        if len(left) != len(right) or any(lhs.shape[i] != rhs.shape[j] for i, j in zip(left, right, strict=False)):
            raise TypeError(f"{name} requires {what} dimensions of the same sizes: {left} and {right} of arrays of shapes "
                            f"{lhs.shape} and {rhs.shape} are not")
    return lc, rc, lb, rb


@compiled("dimension_numbers", "precision", "preferred_element_type", "out_sharding")
def bcoo_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any = None,
                     preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """A contraction of which one or both operands are BCOO arrays; see :func:`jax.lax.dot_general`.

    Args:
      lhs, rhs: arrays, dense or BCOO.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      precision, preferred_element_type: as for dense arrays.
      out_sharding: not supported.

    Returns:
      A dense array, or a BCOO array if both operands are.

    Raises:
      NotImplementedError: for contractions over dense axes of two BCOO arrays.
      TypeError: for dimensions that do not fit.

    >>> import jax.numpy as jnp
    >>> a = BCOO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> bcoo_dot_general(a, jnp.array([1.0, 5.0]), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [10.0, 1.0]
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_dot_general: out_sharding= is not supported")
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    if not isinstance(lhs, BCOO):
        check_arraylike("bcoo_dot_general", lhs)
        lhs = jnp.asarray(lhs)
    if not isinstance(rhs, BCOO):
        check_arraylike("bcoo_dot_general", rhs)
        rhs = jnp.asarray(rhs)
    numbers = _numbers("bcoo_dot_general", lhs, rhs, dimension_numbers)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _sparse_sparse(lhs, rhs, *numbers, options)
    if isinstance(lhs, BCOO):
        return _sparse_dense(lhs, rhs, *numbers, options)
    if not isinstance(rhs, BCOO):
        return lax.dot_general(lhs, rhs, dimension_numbers, **options)
    lc, rc, lb, rb = numbers
    out = _sparse_dense(rhs, lhs, rc, lc, rb, lb, options)
    # batch axes, those of rhs, those of lhs: exchange the last two groups
    first, second = len(lb), len(lb) + rhs.ndim - len(rc) - len(rb)
    return jnp.transpose(out, [*range(first), *range(second, out.ndim), *range(first, second)])


def _leading_batch(mat: BCOO, batch: Sequence[int]) -> bool:
    """Whether the batch axes of ``mat`` are the first batch axes of the contraction."""
    return tuple(batch[:mat.n_batch]) == tuple(range(mat.n_batch))


def _sparse_dense(lhs: BCOO, rhs: Any, lc: Any, rc: Any, lb: Any, rb: Any, options: Any) -> Any:
    if not _leading_batch(lhs, lb):
        lhs = bcoo_update_layout(lhs, n_batch=0)
    n = lhs.n_batch
    rest = [d for d in range(rhs.ndim) if d not in rb[:n]]
    rhs = jnp.transpose(rhs, [*rb[:n], *rest])
    inner = [d - n for d in lc], [rest.index(d) for d in rc], [d - n for d in lb[n:]], [rest.index(d) for d in rb[n:]]
    tail, ordered_first = lhs._tail, lhs.indices_sorted

    def one(data: Any, indices: Any, rhs: Any) -> Any:
        return _entries_dense(data, indices, rhs, tail, ordered_first, inner, options)
    return per_batch(one, n)(*entries(lhs), rhs)


def _entries_dense(data: Any, indices: Any, rhs: Any, shape: Sequence[int], in_order: bool, numbers: Any,
                   options: Any) -> Any:
    """Each entry times the part of ``rhs`` that it meets, added where it belongs in the result."""
    lc, rc, lb, rb = numbers
    n_sparse = indices.shape[-1]
    if any(d >= n_sparse for d in lb):
        raise NotImplementedError("bcoo_dot_general: batch dimensions of the contraction that are dense axes of the BCOO "
                                  "array; see update_layout")
    met = [(l, r) for l, r in zip(lc, rc, strict=True) if l < n_sparse]  # noqa: E741 - left, right
    across = [(l, r) for l, r in zip(lc, rc, strict=True) if l >= n_sparse]  # noqa: E741
    free = [d for d in range(rhs.ndim) if d not in rc and d not in rb]
    rhs = jnp.transpose(rhs, [*rb, *[r for _, r in met], *[r for _, r in across], *free])
    keys = [*lb, *[d for d, _ in met]]
    if keys:
        rhs = rhs.at[columns(indices, keys)].get(mode="fill", fill_value=0)
        label = "z"
    else:
        label = ""
    letters = iter(string.ascii_lowercase)
    dense = [next(letters) for _ in range(data.ndim - 1)]
    frees = [next(letters) for _ in free]
    shared = [dense[d - n_sparse] for d, _ in across]
    kept = [c for c in dense if c not in shared]
    rows = [d for d in range(n_sparse) if d not in lc and d not in lb]
    targets = [*lb, *rows]
    there = valid(indices, shape[:n_sparse])
    data = jnp.where(expand(there, data.ndim), data, jnp.zeros((), data.dtype))
    result = "".join([*(["z"] if targets else []), *kept, *frees])
    product = jnp.einsum(f"z{''.join(dense)},{label}{''.join(shared + frees)}->{result}", data, rhs, **options)
    if not targets:
        return product
    zeros = jnp.zeros((*[shape[d] for d in targets], *product.shape[1:]), product.dtype)
    sorted_targets = in_order and targets == list(range(len(targets)))
    return zeros.at[columns(indices, targets)].add(product, mode="drop", indices_are_sorted=sorted_targets)


def _sparse_sparse(lhs: BCOO, rhs: BCOO, lc: Any, rc: Any, lb: Any, rb: Any, options: Any) -> BCOO:
    """All pairs of entries whose contracted indices are equal; others get indices that are out of bounds."""
    if not (_leading_batch(lhs, lb) and _leading_batch(rhs, rb) and lhs.n_batch == rhs.n_batch):
        lhs, rhs = bcoo_update_layout(lhs, n_batch=0), bcoo_update_layout(rhs, n_batch=0)
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_dot_general: of two BCOO arrays neither may have dense axes; use "
                                  "update_layout(n_dense=0)")
    n = lhs.n_batch
    met = [(a - n, b - n) for a, b in zip((*lc, *lb[n:]), (*rc, *rb[n:]), strict=True)]
    inner_batch = [d - n for d in lb[n:]]
    left = [d for d in range(lhs.n_sparse) if d + n not in lc and d + n not in lb]
    right = [d for d in range(rhs.n_sparse) if d + n not in rc and d + n not in rb]
    shape = [*lhs.shape[:n], *[lhs._tail[d] for d in (*inner_batch, *left)], *[rhs._tail[d] for d in right]]
    sparse_shape = shape[n:]
    dtype = options["preferred_element_type"] or jnp.result_type(lhs.data.dtype, rhs.data.dtype)
    dtype = dtypes.canonicalize_dtype(dtype)
    index_dtype = jnp.promote_types(lhs.indices.dtype, rhs.indices.dtype)

    def one(a: Any, i: Any, b: Any, j: Any) -> Any:
        pair = valid(i, lhs._sparse_shape)[:, None] & valid(j, rhs._sparse_shape)[None]
        for x, y in met:
            pair &= i[:, None, x] == j[None, :, y]
        product = jnp.where(pair, a.astype(dtype)[:, None] * b.astype(dtype)[None], jnp.zeros((), dtype))
        count = product.shape
        cols = [jnp.broadcast_to(i[:, None, d], count) for d in (*inner_batch, *left)]
        cols += [jnp.broadcast_to(j[None, :, d], count) for d in right]
        places = jnp.stack(cols, axis=-1).astype(index_dtype) if cols else jnp.zeros((*count, 0), index_dtype)
        places = jnp.where(pair[..., None], places, outside(sparse_shape, index_dtype))
        return product.reshape(-1), places.reshape(math.prod(count), len(sparse_shape))
    data, indices = per_batch(one, n)(*entries(lhs), *entries(rhs))
    out = make(data, indices, shape)
    return trimmed(out)


@compiled("dimension_numbers")
def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """Some elements of the contraction of two dense arrays.

    Args:
      A, B, dimension_numbers: as for :func:`jax.lax.dot_general`.
      indices: of which elements, of shape ``(*batch, nse, n_sparse)``: the batch axes are the first ones of the result,
        ``n_sparse`` axes follow, and what remains is dense.

    Returns:
      The data of a BCOO array with these indices, of shape ``(*batch, nse, *dense)``.
    """
    check_arraylike("bcoo_dot_general_sampled", A, B, indices)
    A, B, indices = jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices)
    lc, rc, lb, rb = _numbers("bcoo_dot_general_sampled", A, B, dimension_numbers)
    left = [d for d in range(A.ndim) if d not in lc and d not in lb]
    right = [d for d in range(B.ndim) if d not in rc and d not in rb]
    n, n_sparse = indices.ndim - 2, indices.shape[-1]
    if n > len(lb):
        raise NotImplementedError(f"bcoo_dot_general_sampled: {n} batch axes of indices, but only {len(lb)} of "
                                  "the contraction")
    if n + n_sparse < len(lb) + len(left):
        raise NotImplementedError("bcoo_dot_general_sampled: axes of A cannot be dense axes of the result")
    A, B = jnp.transpose(A, [*lb, *left, *lc]), jnp.transpose(B, [*rb, *right, *rc])
    batch = len(lb) - n
    k = len(lc)

    def one(a: Any, b: Any, i: Any) -> Any:
        rows = columns(i, range(batch + len(left)))
        cols = columns(i, [*range(batch), *range(batch + len(left), n_sparse)])
        a = a.at[rows].get(mode="fill", fill_value=0) if rows else jnp.broadcast_to(a, (i.shape[0], *a.shape))
        b = b.at[cols].get(mode="fill", fill_value=0) if cols else jnp.broadcast_to(b, (i.shape[0], *b.shape))
        a = a.reshape(a.shape[0], math.prod(a.shape[1:]))
        dense = b.shape[1:b.ndim - k]
        b = b.reshape(b.shape[0], math.prod(dense), a.shape[1])
        return jnp.einsum("zc,zdc->zd", a, b).reshape(-1, *dense)
    return per_batch(one, n)(A, B, indices)


# --- element by element ---------------------------------------------------------------------------------------------


@compiled()
def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The data of ``sp_mat * v`` for a dense array ``v`` that can be broadcast to the shape of ``sp_mat``."""
    check_arraylike("bcoo_multiply_dense", v)
    v = jnp.asarray(v)
    if not v.ndim:
        return sp_mat.data * v
    if v.ndim > sp_mat.ndim or np.broadcast_shapes(v.shape, sp_mat.shape) != sp_mat.shape:
        raise NotImplementedError(f"bcoo_multiply_dense: a dense array of shape {v.shape} and a BCOO array of shape "
                                  f"{sp_mat.shape}: the dense one must be broadcast to the sparse one")
    v = v.reshape((1,) * (sp_mat.ndim - v.ndim) + v.shape)
    n, s = sp_mat.n_batch, sp_mat.n_batch + sp_mat.n_sparse
    varying = [d - n for d in range(n, s) if v.shape[d] != 1 or sp_mat.shape[d] == 1]
    data, indices = entries(sp_mat)
    v = jnp.broadcast_to(v, (*sp_mat.shape[:n], *v.shape[n:]))

    def one(data: Any, indices: Any, v: Any) -> Any:
        v = v.reshape([v.shape[d] for d in varying] + list(v.shape[s - n:]))
        factor = v.at[columns(indices, varying)].get(mode="fill", fill_value=0) if varying else v[None]
        return data * factor
    return per_batch(one, n)(data, indices, v)


@compiled()
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two BCOO arrays, element by element, broadcast to each other.

    Stored with as many entries as ``lhs`` has after that: each of them looks for its partner in ``rhs``.
    """
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    if lhs.n_dense != rhs.n_dense:
        lhs, rhs = bcoo_update_layout(lhs, n_dense=0), bcoo_update_layout(rhs, n_dense=0)
    if lhs.n_batch != rhs.n_batch or lhs.ndim != rhs.ndim or lhs.shape[:lhs.n_batch] != rhs.shape[:rhs.n_batch]:
        lhs, rhs = bcoo_update_layout(lhs, n_batch=0), bcoo_update_layout(rhs, n_batch=0)
    n, s = lhs.n_batch, lhs.ndim - lhs.n_dense
    # what lhs has to be repeated for; axes of rhs that are missing or of size 1 are not looked at
    grown = [n if m == 1 else m for m, n in zip(lhs.shape, shape[len(shape) - lhs.ndim:], strict=True)]
    full = [*shape[:len(shape) - len(grown)], *grown]
    if tuple(full) != lhs.shape:
        lead = len(full) - lhs.ndim
        lhs = bcoo_broadcast_in_dim(lhs, shape=full, broadcast_dimensions=range(lead, len(full)))
        lhs = bcoo_update_layout(lhs, n_batch=n)
        s += lead
    rhs = bcoo_sum_duplicates(rhs, nse=rhs.nse)
    missing = len(full) - rhs.ndim
    watched = [d for d in range(rhs.n_sparse) if not (rhs._sparse_shape[d] == 1 != lhs._sparse_shape[d + missing])]
    own = [d + missing for d in watched]

    def one(a: Any, i: Any, b: Any, j: Any) -> Any:
        return a * _partners(i, j, b, own, watched, rhs._sparse_shape)
    return make(per_batch(one, n)(*entries(lhs), *entries(rhs)), entries(lhs)[1], full, like=lhs)


def _partners(i: Any, j: Any, b: Any, own: Sequence[int], watched: Sequence[int], sparse_shape: Sequence[int]) -> Any:
    """For each index of ``i`` the data ``b`` whose index in ``j`` (unique, and in order) is the same; zero if none is."""
    if not j.shape[0]:
        return jnp.zeros((i.shape[0], *b.shape[1:]), b.dtype)
    keys = jnp.concatenate([j[:, list(watched)], i[:, list(own)].astype(j.dtype)])
    n = j.shape[0]
    some = [sparse_shape[d] for d in watched]
    if watched:
        order, _, first = ordered(keys, some)  # stable: of equal keys that of rhs, if any, comes first
    else:
        order, first = jnp.arange(keys.shape[0]), jnp.arange(keys.shape[0]) == 0
    leader = order[lax.cummax(jnp.where(first, jnp.arange(keys.shape[0]), 0))]
    partner = jnp.zeros(keys.shape[0], order.dtype).at[order].set(leader)[n:]
    found = (partner < n) & valid(keys, some)[n:]
    found &= valid(j, sparse_shape)[jnp.minimum(partner, n - 1)]
    return jnp.where(expand(found, b.ndim), b[jnp.minimum(partner, n - 1)], jnp.zeros((), b.dtype))


# --- convolution ----------------------------------------------------------------------------------------------------


def bcoo_conv_general_dilated(lhs: BCOO, rhs: BCOO, *, window_strides: Any, padding: Any, lhs_dilation: Any = None,
                              rhs_dilation: Any = None, dimension_numbers: Any = None, feature_group_count: int = 1,
                              batch_group_count: int = 1, precision: Any = None, preferred_element_type: Any = None,
                              out_sharding: Any = None) -> BCOO:
    """The convolution of two BCOO arrays of shape ``(1, 1, n)``; see :func:`jax.lax.conv_general_dilated`.

    Products are of pairs of elements, in full precision, which meets every ``precision``.

    Raises:
      NotImplementedError: for more spatial axes, batches, features, groups or strides, and for other dimension numbers.
    """
    if out_sharding is not None or feature_group_count != 1 or batch_group_count != 1:
        raise NotImplementedError("bcoo_conv_general_dilated: groups and out_sharding= are not supported")
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs.ndim != 3 or lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1) or any(
            tuple(spec) != (0, 1, 2) for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)):
        raise NotImplementedError("bcoo_conv_general_dilated: only arrays of shape (1, 1, n) are supported, in the default "
                                  f"order of dimensions; got {lhs.shape} and {rhs.shape}")
    stride = tuple(window_strides)
    if stride != (1,):
        raise NotImplementedError(f"bcoo_conv_general_dilated: strides of 1 are supported, got {stride}")
    left, right = (1 if d is None else operator.index(d[0]) for d in (lhs_dilation, rhs_dilation))
    lhs, rhs = (bcoo_update_layout(m, n_batch=0, n_dense=0) for m in (lhs, rhs))
    sizes = [(m.shape[2] - 1) * d + 1 for m, d in ((lhs, left), (rhs, right))]
    if isinstance(padding, str):
        padding = lax.padtype_to_pads([sizes[0]], [sizes[1]], [1], padding)
    ((low, high),) = padding
    length = max(sizes[0] + low + high - sizes[1] + 1, 0)
    canonical_precision(precision)  # raises for what is none
    dtype = dtypes.canonicalize_dtype(preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype))
    there = valid(lhs.indices, lhs.shape)[:, None] & valid(rhs.indices, rhs.shape)[None]
    place = lhs.indices[:, None, 2] * left + low - rhs.indices[None, :, 2] * right
    there &= (place >= 0) & (place < length)
    data = jnp.where(there, lhs.data.astype(dtype)[:, None] * rhs.data.astype(dtype)[None], jnp.zeros((), dtype)).reshape(-1)
    last = jnp.where(there, place, length).reshape(-1, 1)
    first = jnp.where(there, 0, 1).astype(last.dtype).reshape(-1, 1)
    return trimmed(make(data, jnp.concatenate([first, first, last], axis=-1), (1, 1, length)))
