"""The formats CSR and CSC: matrices whose rows, or columns, are stored one after another."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax.experimental._reexports import reexporting
from jax.experimental.sparse._bcoo_layout import BCOO
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.bcsr import BCSR, bcsr_fromdense
from jax.numpy._promotion import is_arraylike
from jax.tree_util import register_pytree_node_class


class _Compressed(JAXSparse):
    """Both formats: one is the transpose of the other."""

    _by_rows: bool

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = (jnp.asarray(a) for a in args)
        self._shape = tuple(operator.index(n) for n in shape)
        lines = self._shape[not self._by_rows] if len(self._shape) == 2 else -1
        if self.data.ndim != 1 or self.data.shape != self.indices.shape or self.indptr.shape != (lines + 1,):
            raise ValueError(f"{type(self).__name__}: data, indices and indptr of shapes {self.data.shape}, "
                             f"{self.indices.shape} and {self.indptr.shape} do not fit a matrix of shape {self._shape}")

    def tree_flatten(self) -> tuple[Any, Any]:
        """The leaves ``data``, ``indices`` and ``indptr``, and the shape."""
        return (self.data, self.indices, self.indptr), self._shape

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The inverse of :meth:`tree_flatten`."""
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        out._shape = aux_data
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def nse(self) -> int:
        """The number of entries."""
        return int(self.data.shape[0])

    def to_bcoo(self) -> BCOO:
        """The same matrix in BCOO format."""
        shape = self._shape if self._by_rows else self._shape[::-1]
        rows = BCSR((self.data, self.indices, self.indptr), shape=shape).to_bcoo()
        return rows if self._by_rows else rows.T

    def todense(self) -> Any:
        """The dense matrix."""
        return self.to_bcoo().todense()

    def transpose(self, axes: Any = None) -> Any:
        """The matrix with rows and columns exchanged, in the other one of the two formats."""
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError(f"{type(self).__name__}.transpose: axes must be (1, 0), got {axes}")
        return (CSC if self._by_rows else CSR)((self.data, self.indices, self.indptr), shape=self._shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ other if is_arraylike(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo() if is_arraylike(other) else NotImplemented


@register_pytree_node_class
class CSR(_Compressed):
    """A matrix in compressed-sparse-row format. For batches use BCSR, for other operations BCOO.

    Args:
      args: ``(data, indices, indptr)``: the entries of row ``i`` are those from ``indptr[i]`` to ``indptr[i + 1]``, in the
        columns ``indices``.
      shape: the matrix's.

    >>> import jax.numpy as jnp
    >>> (CSR.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]])) @ jnp.ones(2)).tolist()
    [2.0, 1.0]
    """

    _by_rows = True

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """A dense matrix as a sparse one."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)


@register_pytree_node_class
class CSC(_Compressed):
    """A matrix in compressed-sparse-column format: as :class:`CSR`, with rows and columns exchanged."""

    _by_rows = False

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """A dense matrix as a sparse one."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """A dense matrix as a CSR one; ``nse`` as for :func:`bcoo_fromdense`."""
    if jnp.ndim(mat) != 2:
        raise ValueError(f"csr_fromdense: a matrix is needed, got shape {jnp.shape(mat)}")
    a = bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return CSR((a.data, a.indices, a.indptr), shape=a.shape)


def csr_todense(mat: CSR) -> Any:
    """The dense matrix that ``mat`` stands for."""
    return mat.todense()


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product with a vector, of ``mat`` or of its transpose."""
    if jnp.ndim(v) != 1:
        raise ValueError(f"csr_matvec: a vector is needed, got shape {jnp.shape(v)}")
    return (mat.T if transpose else mat) @ v


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The product with a dense matrix, of ``mat`` or of its transpose."""
    if jnp.ndim(B) != 2:
        raise ValueError(f"csr_matmat: a matrix is needed, got shape {jnp.shape(B)}")
    return (mat.T if transpose else mat) @ B


__getattr__ = reexporting(__name__, "ad core dispatch lax mlir tree_util")
