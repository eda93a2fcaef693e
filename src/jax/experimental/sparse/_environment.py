"""Sparse and dense values as references into an environment of buffers, which is what :func:`sparsify` computes with.

A value says its shape and where its parts are kept. An array is kept once, so that values whose indices are the same array
have the same reference: that is how rules know that two values are stored at the same places.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from jax import numpy as jnp
from jax._language.avals import ShapedArray, typeof
from jax.experimental.sparse._bcoo_layout import BCOO
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.bcsr import BCSR
from jax.tree_util import tree_map


class SparsifyValue(NamedTuple):
    """A value in a :class:`SparsifyEnv`: its shape and the numbers of the buffers that hold it.

    A dense value has ``data_ref`` alone, one in BCOO format also ``indices_ref``, one in BCSR format also ``indptr_ref``.
    ``indices_sorted`` and ``unique_indices`` are the promises of the formats.
    """

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool = False
    unique_indices: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Whether it is stored in a sparse format."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Whether it is stored in full."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Whether it is stored in BCOO format."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Whether it is stored in BCSR format."""
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """The buffers that :class:`SparsifyValue` objects refer to, by number.

    Args:
      bufs: the first buffers, numbered from 0 on.

    >>> import jax.numpy as jnp
    >>> from jax.experimental.sparse.transform import SparsifyEnv
    >>> env = SparsifyEnv()
    >>> a = env.sparse((3,), jnp.ones(1), jnp.array([[2]]))
    >>> b = env.sparse((3,), jnp.zeros(1), indices_ref=a.indices_ref)
    >>> a.data_ref, b.data_ref, env.indices(b).tolist()
    (0, 2, [[2]])
    """

    def __init__(self, bufs: Iterable[Any] = ()) -> None:
        self._buffers = list(bufs)
        # By identity: buffers are kept, so that no identity is given to another object.
        self._numbers: dict[int, int] = {}
        for number, buffer in enumerate(self._buffers):
            self._numbers.setdefault(id(buffer), number)

    def _keep(self, array: Any) -> int:
        number = self._numbers.setdefault(id(array), len(self._buffers))
        if number == len(self._buffers):
            self._buffers.append(array)
        return number

    def _fetch(self, number: int | None, what: str, value: SparsifyValue) -> Any:
        if number is None:
            raise ValueError(f"SparsifyEnv: {value} has no {what}")
        return self._buffers[number]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The entries of a sparse value; a dense value itself."""
        return self._fetch(spvalue.data_ref, "data", spvalue)

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The indices of a sparse value. Raises ``ValueError`` for a dense one."""
        return self._fetch(spvalue.indices_ref, "indices", spvalue)

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """Where the rows of a value in BCSR format begin. Raises ``ValueError`` for others."""
        return self._fetch(spvalue.indptr_ref, "indptr", spvalue)

    def dense(self, data: Any) -> SparsifyValue:
        """A dense value."""
        return SparsifyValue(typeof(data).shape, self._keep(data))

    def sparse(self, shape: Any, data: Any = None, indices: Any = None, indptr: Any = None, *, data_ref: int | None = None,
               indices_ref: int | None = None, indptr_ref: int | None = None, indices_sorted: bool = False,
               unique_indices: bool = False) -> SparsifyValue:
        """A sparse value: each part is an array, or the number of a buffer that is here.

        Raises:
          ValueError: data or indices are given neither or both ways.
        """
        if (data is None) == (data_ref is None) or (indices is None) == (indices_ref is None) or (
                indptr is not None and indptr_ref is not None):
            raise ValueError("SparsifyEnv.sparse takes data or data_ref, indices or indices_ref, and for BCSR indptr or "
                             "indptr_ref")
        refs = [self._keep(part) if part is not None else ref
                for part, ref in ((data, data_ref), (indices, indices_ref), (indptr, indptr_ref))]
        return SparsifyValue(tuple(shape), *refs, indices_sorted, unique_indices)


def is_sparse_array(x: Any) -> bool:
    """Whether ``x`` is an array of one of the sparse formats."""
    return isinstance(x, JAXSparse)


def is_value(x: Any) -> bool:
    """Whether ``x`` refers into an environment."""
    return isinstance(x, SparsifyValue)


def array_to_spvalue(spenv: SparsifyEnv, x: Any) -> SparsifyValue:
    """An array, sparse or dense, as a value; its parts are added to the environment."""
    if isinstance(x, BCOO):
        return spenv.sparse(x.shape, x.data, x.indices, indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)
    if isinstance(x, BCSR):
        return spenv.sparse(x.shape, x.data, x.indices, x.indptr, indices_sorted=x.indices_sorted,
                            unique_indices=x.unique_indices)
    if isinstance(x, JAXSparse):
        raise NotImplementedError(f"sparsify: {type(x).__name__} arrays are not supported; use BCOO")
    return spenv.dense(x)


def spvalue_to_array(spenv: SparsifyEnv, value: SparsifyValue) -> Any:
    """The array, sparse or dense, that a value stands for."""
    if value.is_dense():
        return spenv.data(value)
    parts = (spenv.data(value), spenv.indices(value))
    promises = {"shape": value.shape, "indices_sorted": value.indices_sorted, "unique_indices": value.unique_indices}
    return BCOO(parts, **promises) if value.is_bcoo() else BCSR((*parts, spenv.indptr(value)), **promises)


def spvalue_to_aval(spenv: SparsifyEnv, value: SparsifyValue) -> ShapedArray:
    """The type of the dense array that a value stands for."""
    aval = typeof(spenv.data(value))
    return aval if value.is_dense() else ShapedArray(value.shape, aval.dtype, aval.weak_type)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """A tree of arrays, of which some are sparse, as one of values.

    Raises:
      NotImplementedError: for arrays of other sparse formats than BCOO and BCSR.
    """
    return tree_map(lambda x: array_to_spvalue(spenv, x if is_sparse_array(x) else _numeric(x)), args,
                    is_leaf=is_sparse_array)


def _numeric(x: Any) -> Any:
    # Lists have become leaves, so what is left to convert are Python scalars and NumPy arrays of other widths.
    return jnp.asarray(x)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A tree of values as one of arrays; the inverse of :func:`arrays_to_spvalues`."""
    return tree_map(lambda v: spvalue_to_array(spenv, v), spvalues, is_leaf=is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A tree of values as one of types: those of the dense arrays that they stand for."""
    return tree_map(lambda v: spvalue_to_aval(spenv, v), spvalues, is_leaf=is_value)
