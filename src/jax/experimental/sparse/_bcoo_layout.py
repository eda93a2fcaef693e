"""The BCOO format, conversions from and to dense arrays, and changes of layout.

An array of shape ``(*batch, *sparse, *dense)`` is stored as ``data`` of shape ``(*batch, nse, *dense)`` and integer
``indices`` of shape ``(*batch, nse, n_sparse)``. Entries whose indices are out of bounds count as not there: they fill up
what is stored to a size known while a program is traced. Entries with equal indices are added.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.vmap import vmap
from jax._language.trace import Tracer
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.util import SparseEfficiencyError, SparseEfficiencyWarning, compiled
from jax.numpy._promotion import check_arraylike
from jax.tree_util import register_pytree_node_class


class BCOOProperties(NamedTuple):
    """How a BCOO array is laid out."""
    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class Buffer(NamedTuple):
    """Shape and dtype of an array."""
    shape: tuple[int, ...]
    dtype: Any


@register_pytree_node_class
class BCOO(JAXSparse):
    """A batch of arrays in coordinate format, the most versatile one.

    Args:
      args: ``(data, indices)`` of shapes ``(*batch, nse, *dense)`` and ``(*batch, nse, n_sparse)``; batch axes may have
        size 1.
      shape: ``(*batch, *sparse, *dense)``.
      indices_sorted: a promise: the indices of each batch are in lexicographic order.
      unique_indices: a promise: no indices come twice in a batch.

    Arithmetic, comparison with nothing but itself left out, works as with dense arrays: ``a + b``, ``2 * a``, ``a @ b``,
    ``a[1:, 0]``, ``a.sum(0)``. Other functions are applied by :func:`sparsify`.

    Raises:
      ValueError: for arrays that do not fit together.

    >>> import jax.numpy as jnp
    >>> a = BCOO((jnp.array([1.0, 2.0]), jnp.array([[0, 1], [1, 2]])), shape=(2, 3))
    >>> a.todense().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
    """

    indices: Any

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False) -> None:
        data, indices = (jnp.asarray(a) for a in args)
        shape = tuple(operator.index(n) for n in shape)
        _check(data, indices, shape)
        n_batch = indices.ndim - 2
        if np.broadcast_shapes(data.shape[:n_batch], indices.shape[:n_batch]) != shape[:n_batch]:
            data = jnp.broadcast_to(data, (*shape[:n_batch], *data.shape[n_batch:]))  # neither had the batch's sizes
        self.data, self.indices, self._tail = data, indices, shape[n_batch:]
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The leaves ``data`` and ``indices``, and the rest. The sizes of a batch are those of the leaves, so that
        ``jax.vmap`` can take it away and add it."""
        return (self.data, self.indices), (self._tail, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCOO:
        """The inverse of :meth:`tree_flatten`."""
        out = object.__new__(cls)
        out.data, out.indices = children
        out._tail, out.indices_sorted, out.unique_indices = aux_data
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, batch axes first, then sparse ones, then dense ones."""
        n = self.n_batch
        return (*np.broadcast_shapes(self.data.shape[:n], self.indices.shape[:n]), *self._tail)

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 2)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return int(self.data.ndim - 1 - self.n_batch)

    @property
    def nse(self) -> int:
        """The number of entries of each batch."""
        return int(self.indices.shape[-2])

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        return self._tail[:self.n_sparse]

    def _layout(self) -> str:
        return "".join(f", {name}={n}" for name, n in (("n_batch", self.n_batch), ("n_dense", self.n_dense)) if n)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
                  n_batch: int = 0) -> BCOO:
        """A dense array as a sparse one; see :func:`bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """A matrix of ``scipy.sparse`` as a BCOO array."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: n_batch and n_dense must be 0; use update_layout after it")
        mat = mat.tocoo()
        indices = np.stack([mat.row, mat.col], axis=-1)
        indices = jnp.asarray(indices, dtypes.canonicalize_dtype(index_dtype or indices.dtype))
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

    def todense(self) -> Any:
        """The dense array."""
        return bcoo_todense(self)

    def sort_indices(self) -> BCOO:
        """The same array with its entries in order."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with every place stored once; see :func:`bcoo_sum_duplicates`.

        Args:
          nse: how many entries to store; as many as there are by default.
          remove_zeros: whether entries that are zero are left out.
        """
        return bcoo_eliminate_zeros(self, nse=nse) if remove_zeros else bcoo_sum_duplicates(self, nse=nse)

    def update_layout(self, *, n_batch: int | None = None, n_dense: int | None = None,
                      on_inefficient: str | None = "error") -> BCOO:
        """The same array with other batch and dense axes; see :func:`bcoo_update_layout`."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)

    def astype(self, *args: Any, **kwargs: Any) -> BCOO:
        """The array with its entries in another dtype."""
        return with_data(self, self.data.astype(*args, **kwargs))


def _check(data: Any, indices: Any, shape: tuple[int, ...]) -> None:
    n_batch = indices.ndim - 2
    n_dense = data.ndim - 1 - n_batch
    described = f"data of shape {data.shape} and indices of shape {indices.shape} for an array of shape {shape}"
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise ValueError(f"BCOO: indices must be integers, got {indices.dtype}")
    if n_batch < 0 or n_dense < 0 or n_batch + indices.shape[-1] + n_dense != len(shape):
        raise ValueError(f"BCOO: the numbers of axes do not fit: {described}")
    if data.shape[n_batch] != indices.shape[-2]:
        raise ValueError(f"BCOO: {data.shape[n_batch]} entries with {indices.shape[-2]} indices: {described}")
    if any(m not in (1, n) for s in (data.shape, indices.shape) for m, n in zip(s[:n_batch], shape[:n_batch], strict=True)):
        raise ValueError(f"BCOO: the batch axes do not fit: {described}")
    if n_dense and data.shape[-n_dense:] != shape[-n_dense:]:
        raise ValueError(f"BCOO: the dense axes do not fit: {described}")


# --- what the operations share --------------------------------------------------------------------------------------


def make(data: Any, indices: Any, shape: Sequence[int], *, like: BCOO | None = None, indices_sorted: bool = False,
         unique_indices: bool = False) -> BCOO:
    """A BCOO array; with ``like``, with the promises of that one."""
    if like is not None:
        indices_sorted, unique_indices = like.indices_sorted, like.unique_indices
    return BCOO((data, indices), shape=shape, indices_sorted=indices_sorted, unique_indices=unique_indices)


def with_data(mat: BCOO, data: Any) -> BCOO:
    """``mat`` with other entries."""
    return make(data, mat.indices, mat.shape, like=mat)


def properties(mat: BCOO) -> BCOOProperties:
    """The layout of ``mat``."""
    return BCOOProperties(mat.n_batch, mat.n_sparse, mat.n_dense, mat.nse)


def entries(mat: BCOO) -> tuple[Any, Any]:
    """Data and indices with full batch axes."""
    n = mat.n_batch
    batch = mat.shape[:n]
    return (jnp.broadcast_to(mat.data, (*batch, *mat.data.shape[n:])),
            jnp.broadcast_to(mat.indices, (*batch, *mat.indices.shape[n:])))


def per_batch(fun: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """``fun`` mapped over ``n_batch`` leading axes of all arguments."""
    for _ in range(n_batch):
        fun = vmap(fun)
    return fun


def valid(indices: Any, sparse_shape: Sequence[int]) -> Any:
    """Which entries are there."""
    limit = np.asarray(sparse_shape, indices.dtype).reshape((1,) * (indices.ndim - 1) + (-1,))
    return jnp.all((indices >= 0) & (indices < limit), axis=-1)


def outside(sparse_shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Indices of an entry that is not there."""
    return np.asarray(sparse_shape, dtype)


def expand(mask: Any, rank: int) -> Any:
    """A mask with further axes of size 1, up to a rank."""
    return mask.reshape(mask.shape + (1,) * (rank - mask.ndim))


def columns(indices: Any, which: Sequence[int] | None = None) -> tuple[Any, ...]:
    """The indices along each (or some) of the sparse axes."""
    return tuple(indices[..., i] for i in (range(indices.shape[-1]) if which is None else which))


def concrete_nse(name: str, count: Any, nse: int | None) -> int:
    """The number of entries to store: as asked for, or the greatest count of a batch."""
    if nse is not None:
        return operator.index(nse)
    if isinstance(count, Tracer):
        raise ValueError(f"{name}: how many entries there are is not known while a program is traced; say how many to "
                         "store, nse=...")
    return int(np.max(np.asarray(count), initial=0))


# --- dense arrays ---------------------------------------------------------------------------------------------------


@compiled()
def bcoo_todense(mat: BCOO) -> Any:
    """The dense array that ``mat`` stands for."""
    shape = mat._tail

    def one(data: Any, indices: Any) -> Any:
        if not indices.shape[-1]:
            return jnp.sum(data, axis=0, dtype=data.dtype)
        zeros = jnp.zeros(shape, data.dtype)
        return zeros.at[columns(indices)].add(data, mode="drop", indices_are_sorted=mat.indices_sorted,
                                              unique_indices=False)
    return per_batch(one, mat.n_batch)(*entries(mat))


def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCOO:
    """A dense array as a BCOO array.

    Args:
      mat: an array.
      nse: how many entries to store (for each batch); as many as are not zero by default, which has to be known: within
        ``jit`` it must be given. Entries beyond it are left out.
      n_batch: how many leading axes are batch axes.
      n_dense: how many trailing axes are dense: entries are arrays of them.
      index_dtype: the dtype of the indices.

    >>> import jax.numpy as jnp
    >>> bcoo_fromdense(jnp.array([[0.0, 5.0], [0.0, 0.0]])).indices.tolist()
    [[0, 1]]
    """
    check_arraylike("bcoo_fromdense", mat)
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(f"bcoo_fromdense: n_batch={n_batch} and n_dense={n_dense} for an array of shape {mat.shape}")
    mask = jnp.any(mat != 0, axis=tuple(range(n_batch + n_sparse, mat.ndim)))
    nse = concrete_nse("bcoo_fromdense", jnp.sum(mask, axis=tuple(range(n_batch, n_batch + n_sparse))), nse)
    sparse_shape = mat.shape[n_batch:n_batch + n_sparse]
    index_dtype = dtypes.canonicalize_dtype(index_dtype)

    def places(mask: Any) -> Any:
        if not n_sparse:
            return jnp.zeros((nse, 0), index_dtype)
        found = jnp.nonzero(mask, size=nse, fill_value=tuple(sparse_shape))
        return jnp.stack(found, axis=-1).astype(index_dtype)
    indices = per_batch(places, n_batch)(mask)
    data = _extract(mat, indices, n_batch, nse)
    return make(data, indices, mat.shape, indices_sorted=True, unique_indices=True)


def _extract(dense: Any, indices: Any, n_batch: int, nse: int) -> Any:
    def one(dense: Any, indices: Any) -> Any:
        if not indices.shape[-1]:  # a single place, so only one entry can hold it
            return jnp.concatenate([dense[None], jnp.zeros((max(nse - 1, 0), *dense.shape), dense.dtype)])[:nse]
        return dense.at[columns(indices)].get(mode="fill", fill_value=0)
    return per_batch(one, n_batch)(dense, indices)


@compiled("assume_unique")
def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the places of a sparse one.

    Args:
      sparr: says which places.
      arr: a dense array of the same shape.
      assume_unique: whether no place comes twice; as ``sparr`` promises by default. Otherwise the element is stored with
        the first of equal places, and zero with the others.
    """
    check_arraylike("bcoo_extract", arr)
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: shapes {sparr.shape} and {arr.shape} differ")
    indices = entries(sparr)[1]
    data = _extract(arr, indices, sparr.n_batch, sparr.nse)
    if not (sparr.unique_indices if assume_unique is None else assume_unique) and sparr.n_sparse:
        first = per_batch(lambda i: ~_repeated(i, sparr._sparse_shape), sparr.n_batch)(indices)
        data = jnp.where(expand(first, data.ndim), data, jnp.zeros_like(data))
    return make(data, indices, sparr.shape, like=sparr)


def _repeated(indices: Any, sparse_shape: Sequence[int]) -> Any:
    """Which entries have the indices of an earlier one."""
    order, _, first = ordered(indices, sparse_shape)
    return jnp.zeros(indices.shape[0], bool).at[order].set(~first)


# --- order ----------------------------------------------------------------------------------------------------------


def ordered(indices: Any, sparse_shape: Sequence[int]) -> tuple[Any, Any, Any]:
    """A permutation (stable) that puts indices in order, the indices in order (with those that are not there at the
    end), and which of these differ from the one before."""
    n = indices.shape[0]
    there = valid(indices, sparse_shape)
    clean = jnp.where(there[:, None], indices, outside(sparse_shape, indices.dtype)[None])
    *cols, order = lax.sort([*columns(clean), lax.iota(np.int32, n)], num_keys=indices.shape[1], is_stable=True)
    out = jnp.stack(cols, axis=-1)
    first = jnp.concatenate([jnp.ones(min(n, 1), bool), jnp.any(out[1:] != out[:-1], axis=-1)])
    return order, out, first


@compiled()
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with its entries in lexicographic order, those that are not there last."""
    if not mat.n_sparse or mat.indices_sorted:
        return make(mat.data, mat.indices, mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)

    def one(data: Any, indices: Any) -> Any:
        order, indices, _ = ordered(indices, mat._sparse_shape)
        return data[order], indices
    data, indices = per_batch(one, mat.n_batch)(*entries(mat))
    return make(data, indices, mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array in order, with every place stored once.

    Args:
      mat: an array.
      nse: how many entries to store, more being left out. By default as many as there are; while a program is traced,
        where that is not known, as many as ``mat`` stores.
    """
    return _unique(mat, nse, zeros=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array in order, with every place stored once that is not zero; ``nse`` as for
    :func:`bcoo_sum_duplicates`."""
    return _unique(_unique(mat, None, zeros=True), nse, zeros=False)


def _unique(mat: BCOO, nse: int | None, zeros: bool) -> BCOO:
    if nse is None:
        count = _places(mat, zeros=zeros)
        nse = mat.nse if isinstance(count, Tracer) else concrete_nse("bcoo_sum_duplicates", count, None)
    return _stored_once(mat, nse=operator.index(nse), zeros=zeros)


def _without_zeros(mat: BCOO) -> Any:
    data, indices = entries(mat)
    nothing = jnp.all(data == 0, axis=tuple(range(mat.n_batch + 1, data.ndim)))
    return jnp.where(nothing[..., None], outside(mat._sparse_shape, indices.dtype), indices)


@compiled("zeros")
def _places(mat: BCOO, zeros: bool) -> Any:
    """The number of different places, of each batch."""
    if not mat.n_sparse:
        return jnp.ones(mat.shape[:mat.n_batch], int)

    def count(indices: Any) -> Any:
        _, indices, first = ordered(indices, mat._sparse_shape)
        return jnp.sum(first & valid(indices, mat._sparse_shape))
    return per_batch(count, mat.n_batch)(entries(mat)[1] if zeros else _without_zeros(mat))


@compiled("nse", "zeros")
def _stored_once(mat: BCOO, nse: int, zeros: bool) -> BCOO:
    sparse_shape = mat._sparse_shape
    data, indices = entries(mat)
    if not mat.n_sparse:
        total = jnp.sum(data, axis=mat.n_batch, keepdims=True, dtype=data.dtype)
        pad = [(0, 0)] * mat.n_batch + [(0, max(nse - 1, 0))] + [(0, 0)] * mat.n_dense
        data = lax.slice_in_dim(jnp.pad(total, pad), 0, nse, axis=mat.n_batch)
        return make(data, jnp.zeros((*mat.shape[:mat.n_batch], nse, 0), indices.dtype), mat.shape, indices_sorted=True,
                    unique_indices=True)

    def one(data: Any, indices: Any) -> Any:
        order, indices, first = ordered(indices, sparse_shape)
        there = valid(indices, sparse_shape)
        data = jnp.where(expand(there, data.ndim), data[order], jnp.zeros((), data.dtype))
        places = jnp.cumsum(first) - 1
        new = jnp.broadcast_to(outside(sparse_shape, indices.dtype), (nse, len(sparse_shape)))
        return (jnp.zeros((nse, *data.shape[1:]), data.dtype).at[places].add(data, mode="drop"),
                new.at[places].set(indices, mode="drop"))
    data, indices = per_batch(one, mat.n_batch)(data, indices if zeros else _without_zeros(mat))
    return make(data, indices, mat.shape, indices_sorted=True, unique_indices=True)


def trimmed(mat: BCOO) -> BCOO:
    """``mat``, stored with no more entries than it has places."""
    places = math.prod(mat._sparse_shape)
    return bcoo_sum_duplicates(mat, nse=places) if mat.nse > places else mat


# --- layout ---------------------------------------------------------------------------------------------------------


def bcoo_update_layout(mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None,
                       on_inefficient: str | None = "error") -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Args:
      mat: an array.
      n_batch, n_dense: how many; unchanged by default.
      on_inefficient: what to do when axes that were sparse become batch or dense axes, which stores many zeros:
        ``"error"``, ``"warn"`` or None.

    Raises:
      SparseEfficiencyError: by ``on_inefficient``.
      ValueError: for numbers that do not fit.
    """
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(f"bcoo_update_layout: n_batch={n_batch} and n_dense={n_dense} for an array of shape {mat.shape}")
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"on_inefficient={on_inefficient!r} not recognized; it is 'error', 'warn' or None")
    if n_batch > mat.n_batch or n_dense > mat.n_dense:
        message = (f"bcoo_update_layout: from n_batch={mat.n_batch}, n_dense={mat.n_dense} to n_batch={n_batch}, "
                   f"n_dense={n_dense}, axes that were sparse are stored in full; on_inefficient=None does it nevertheless")
        if on_inefficient == "error":
            raise SparseEfficiencyError(message)
        if on_inefficient == "warn":
            warnings.warn(message, SparseEfficiencyWarning, stacklevel=2)
    while mat.n_dense > n_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    return mat


@compiled()
def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The last batch axis as the first sparse one."""
    data, indices = entries(mat)
    axis = mat.n_batch - 1
    size = mat.shape[axis]
    own = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), axis)
    indices = jnp.concatenate([own, indices], axis=-1)
    # an entry is there if all of its indices are in bounds, so that of an entry that is not stays so
    data, indices = (a.reshape(*a.shape[:axis], size * a.shape[axis + 1], *a.shape[axis + 2:]) for a in (data, indices))
    # entries that are not there may stand between others now
    return make(data, indices, mat.shape, indices_sorted=mat.indices_sorted and size <= 1, unique_indices=mat.unique_indices)


@compiled()
def _dense_to_sparse(mat: BCOO) -> BCOO:
    """The first dense axis as the last sparse one."""
    data, indices = entries(mat)
    n, size = mat.n_batch, mat.data.shape[mat.n_batch + 1]
    indices = jnp.broadcast_to(indices[..., None, :], (*indices.shape[:-1], size, indices.shape[-1]))
    own = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), n + 1)
    indices = jnp.concatenate([indices, own], axis=-1)
    data, indices = (a.reshape(*a.shape[:n], a.shape[n] * size, *a.shape[n + 2:]) for a in (data, indices))
    return make(data, indices, mat.shape, unique_indices=mat.unique_indices)


@compiled()
def _sparse_to_batch(mat: BCOO) -> BCOO:
    """The first sparse axis as the last batch one: every batch stores all entries, most of them out of bounds."""
    data, indices = entries(mat)
    n, size = mat.n_batch, mat._tail[0]
    own = np.arange(size, dtype=indices.dtype).reshape(-1, 1)
    mine = jnp.expand_dims(indices[..., 0], n) == own
    rest = jnp.expand_dims(indices[..., 1:], n)
    data = jnp.expand_dims(data, n)
    data = jnp.where(expand(mine, data.ndim), data, jnp.zeros((), data.dtype))
    indices = jnp.where(mine[..., None], rest, outside(mat._sparse_shape[1:], indices.dtype))
    return trimmed(make(data, indices, mat.shape, unique_indices=mat.unique_indices and indices.shape[-1] > 0))


@compiled()
def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The last sparse axis as the first dense one: every entry stores a row with one element."""
    data, indices = entries(mat)
    n, size = mat.n_batch, mat._sparse_shape[-1]
    mine = indices[..., -1:] == np.arange(size, dtype=indices.dtype)
    data = jnp.where(expand(mine, data.ndim + 1), jnp.expand_dims(data, n + 1), jnp.zeros((), data.dtype))
    return trimmed(make(data, indices[..., :-1], mat.shape))
