"""The BCSR format: batches of matrices whose rows are stored one after another."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax.experimental._reexports import reexporting
from jax.experimental.sparse import bcoo
from jax.experimental.sparse._bcoo_layout import BCOO, entries, make, per_batch, valid
from jax.experimental.sparse._formats import JAXSparse
from jax.numpy._promotion import is_arraylike
from jax.tree_util import register_pytree_node_class


class BCSRProperties(NamedTuple):
    """How a BCSR array is laid out."""
    n_batch: int
    n_dense: int
    nse: int


@register_pytree_node_class
class BCSR(JAXSparse):
    """A batch of matrices in compressed-sparse-row format.

    Args:
      args: ``(data, indices, indptr)`` of shapes ``(*batch, nse, *dense)``, ``(*batch, nse)`` and ``(*batch, rows + 1)``:
        the entries of row ``i`` are those from ``indptr[i]`` to ``indptr[i + 1]``, in the columns ``indices``.
      shape: ``(*batch, rows, columns, *dense)``.
      indices_sorted, unique_indices: promises about the columns of each row.

    Products with arrays are defined; for all else there is :meth:`to_bcoo`.

    >>> import jax.numpy as jnp
    >>> BCSR.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]])).indptr.tolist()
    [0, 1, 2]
    """

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False) -> None:
        data, indices, indptr = (jnp.asarray(a) for a in args)
        shape = tuple(operator.index(n) for n in shape)
        n = indices.ndim - 1
        fits = (indptr.ndim == n + 1 and data.ndim >= n + 1 and data.shape[n] == indices.shape[n]
                and len(shape) == data.ndim + 1 and indptr.shape[-1] == shape[n] + 1 and data.shape[n + 1:] == shape[n + 2:]
                and all(a.shape[:n] == shape[:n] for a in (data, indices, indptr)))
        if not fits or not all(jnp.issubdtype(a.dtype, jnp.integer) for a in (indices, indptr)):
            raise ValueError(f"BCSR: data {data.dtype}{data.shape}, indices {indices.dtype}{indices.shape} and indptr "
                             f"{indptr.dtype}{indptr.shape} do not fit an array of shape {shape}")
        self.data, self.indices, self.indptr, self._tail = data, indices, indptr, shape[n:]
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The leaves ``data``, ``indices`` and ``indptr``, and the rest."""
        return (self.data, self.indices, self.indptr), (self._tail, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCSR:
        """The inverse of :meth:`tree_flatten`."""
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        out._tail, out.indices_sorted, out.unique_indices = aux_data
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: batch axes, rows, columns, dense axes."""
        return (*self.indices.shape[:-1], *self._tail)

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 1)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes, 2."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return int(self.data.ndim - self.indices.ndim)

    @property
    def nse(self) -> int:
        """The number of entries of each batch."""
        return int(self.indices.shape[-1])

    def _layout(self) -> str:
        return "".join(f", {name}={n}" for name, n in (("n_batch", self.n_batch), ("n_dense", self.n_dense)) if n)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
                  n_batch: int = 0) -> BCSR:
        """A dense array as a sparse one; see :func:`bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """A BCOO array with two sparse axes as a BCSR array."""
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo: two sparse axes are needed, got n_sparse={arr.n_sparse}; see "
                                      "update_layout")
        arr = bcoo.bcoo_sort_indices(arr)
        rows, (data, indices) = arr.shape[arr.n_batch], entries(arr)

        def pointers(indices: Any) -> Any:
            there = valid(indices, arr._sparse_shape)
            row = jnp.where(there, indices[:, 0], rows)
            return jnp.searchsorted(row, jnp.arange(rows + 1, dtype=row.dtype), side="left").astype(indices.dtype)
        indptr = per_batch(pointers, arr.n_batch)(indices)
        return cls((data, indices[..., 1], indptr), shape=arr.shape, indices_sorted=True, unique_indices=arr.unique_indices)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """A matrix of ``scipy.sparse`` as a BCSR array."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: n_batch and n_dense must be 0")
        mat = mat.tocsr()
        dtype = dtypes.canonicalize_dtype(index_dtype or mat.indices.dtype)
        return cls((jnp.asarray(mat.data), jnp.asarray(mat.indices, dtype), jnp.asarray(mat.indptr, dtype)), shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same array in BCOO format."""
        rows = self.shape[self.n_batch]

        def pairs(indices: Any, indptr: Any) -> Any:
            row = jnp.searchsorted(indptr, jnp.arange(indices.shape[0], dtype=indptr.dtype), side="right") - 1
            return jnp.stack([jnp.where(row < 0, rows, row).astype(indices.dtype), indices], axis=-1)
        return make(self.data, per_batch(pairs, self.n_batch)(self.indices, self.indptr), self.shape,
                    indices_sorted=self.indices_sorted, unique_indices=self.unique_indices)

    def todense(self) -> Any:
        """The dense array."""
        return bcsr_todense(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same array with every place stored once; zeros are left out with ``remove_zeros``."""
        return bcsr_eliminate_zeros(self, nse=nse) if remove_zeros else bcsr_sum_duplicates(self, nse=nse)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, BCSR | BCOO) or not is_arraylike(other):
            other = other.to_bcoo() if isinstance(other, BCSR) else other
            return self.to_bcoo() @ other if isinstance(other, BCOO) else NotImplemented
        return self.to_bcoo() @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo() if is_arraylike(other) else NotImplemented


def bcsr_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCSR:
    """A dense array of shape ``(*batch, rows, columns, *dense)`` as a BCSR array; arguments as for
    :func:`bcoo_fromdense`."""
    if jnp.ndim(mat) - n_batch - n_dense != 2:
        raise ValueError(f"bcsr_fromdense: two axes must be sparse; got n_batch={n_batch}, n_dense={n_dense} for an array "
                         f"of shape {jnp.shape(mat)}")
    return BCSR.from_bcoo(bcoo.bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype))


def bcsr_todense(mat: BCSR) -> Any:
    """The dense array that ``mat`` stands for."""
    return bcoo.bcoo_todense(mat.to_bcoo())


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense array at the places given in compressed form, as the data of a BCSR array."""
    n_batch = jnp.ndim(indices) - 1
    shape = jnp.shape(mat)
    data = jnp.zeros((*jnp.shape(indices), *shape[n_batch + 2:]), jnp.asarray(mat).dtype)
    places = BCSR((data, indices, indptr), shape=shape).to_bcoo()
    return bcoo.bcoo_extract(places, mat, assume_unique=True).data


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array in order, with every place stored once; as :func:`bcoo_sum_duplicates`."""
    return BCSR.from_bcoo(bcoo.bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array in order, with every place stored once that is not zero."""
    return BCSR.from_bcoo(bcoo.bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any = None,
                     preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """A contraction of a BCSR and a dense array; as :func:`bcoo_dot_general`."""
    lhs, rhs = (x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs))
    return bcoo.bcoo_dot_general(lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
                                 preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays of one layout, joined along an axis; as :func:`bcoo_concatenate`."""
    return BCSR.from_bcoo(bcoo.bcoo_concatenate([m.to_bcoo() for m in operands], dimension=dimension))


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding: Any = None) -> BCSR:
    """The array repeated along axes, of which two must be sparse in the result; as :func:`bcoo_broadcast_in_dim`."""
    return BCSR.from_bcoo(bcoo.bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions,
                                                     sharding=sharding))


__getattr__ = reexporting(__name__, "ad api_util batching config core dispatch hlo lax mlir tree_util")
