"""The COO format: matrices by rows, columns and values of their entries."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import numpy as jnp
from jax.experimental._reexports import reexporting
from jax.experimental.sparse import bcoo
from jax.experimental.sparse._bcoo_layout import BCOO, make
from jax.experimental.sparse._formats import JAXSparse
from jax.numpy._promotion import is_arraylike
from jax.tree_util import register_pytree_node_class


class COOInfo(NamedTuple):
    """What is known of a COO matrix but its entries."""
    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(JAXSparse):
    """A matrix in coordinate format. For more than products with dense arrays use BCOO.

    Args:
      args: ``(data, row, col)``, arrays of one axis.
      shape: the matrix's.
      rows_sorted, cols_sorted: promises about the order of entries.

    >>> import jax.numpy as jnp
    >>> COO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]])).row.tolist()
    [0, 1]
    """

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int], rows_sorted: bool = False,
                 cols_sorted: bool = False) -> None:
        self.data, self.row, self.col = (jnp.asarray(a) for a in args)
        self._shape = tuple(operator.index(n) for n in shape)
        if len(self._shape) != 2 or self.data.ndim != 1 or not self.data.shape == self.row.shape == self.col.shape:
            raise ValueError(f"COO: data, row and col of shapes {self.data.shape}, {self.row.shape} and {self.col.shape} do "
                             f"not fit a matrix of shape {self._shape}")
        self._rows_sorted, self._cols_sorted = bool(rows_sorted), bool(cols_sorted)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The leaves ``data``, ``row`` and ``col``, and the rest."""
        return (self.data, self.row, self.col), COOInfo(self._shape, self._rows_sorted, self._cols_sorted)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> COO:
        """The inverse of :meth:`tree_flatten`."""
        out = object.__new__(cls)
        out.data, out.row, out.col = children
        out._shape, out._rows_sorted, out._cols_sorted = aux_data
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def nse(self) -> int:
        """The number of entries."""
        return int(self.data.shape[0])

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """A dense matrix as a sparse one."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def todense(self) -> Any:
        """The dense matrix."""
        return coo_todense(self)

    def transpose(self, axes: Any = None) -> COO:
        """The matrix with rows and columns exchanged."""
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError(f"COO.transpose: axes must be (1, 0), got {axes}")
        return COO((self.data, self.col, self.row), shape=self._shape[::-1], rows_sorted=self._cols_sorted,
                   cols_sorted=self._rows_sorted)

    def to_bcoo(self) -> BCOO:
        """The same matrix in BCOO format."""
        return make(self.data, jnp.stack([self.row, self.col], axis=-1), self._shape)

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ other if is_arraylike(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo() if is_arraylike(other) else NotImplemented


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """A dense matrix as a COO one; ``nse`` as for :func:`bcoo_fromdense`."""
    if jnp.ndim(mat) != 2:
        raise ValueError(f"coo_fromdense: a matrix is needed, got shape {jnp.shape(mat)}")
    a = bcoo.bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return COO((a.data, a.indices[:, 0], a.indices[:, 1]), shape=a.shape, rows_sorted=True)


def coo_todense(mat: COO) -> Any:
    """The dense matrix that ``mat`` stands for."""
    return mat.to_bcoo().todense()


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product with a vector, of ``mat`` or of its transpose."""
    if jnp.ndim(v) != 1:
        raise ValueError(f"coo_matvec: a vector is needed, got shape {jnp.shape(v)}")
    return (mat.T if transpose else mat) @ v


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The product with a dense matrix, of ``mat`` or of its transpose."""
    if jnp.ndim(B) != 2:
        raise ValueError(f"coo_matmat: a matrix is needed, got shape {jnp.shape(B)}")
    return (mat.T if transpose else mat) @ B


__getattr__ = reexporting(__name__, "ad core dispatch hlo lax mlir tree_util")
