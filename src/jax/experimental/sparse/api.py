"""Functions that make sparse arrays of every format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax.experimental._reexports import reexporting
from jax.experimental.sparse._bcoo_layout import BCOO
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.bcsr import BCSR
from jax.experimental.sparse.coo import COO
from jax.experimental.sparse.csr import CSC, CSR
from jax.experimental.sparse.transform import todense as todense

_FORMATS = ("bcoo", "bcsr", "coo", "csr", "csc")


def _in_format(name: str, arr: BCOO, sparse_format: str, kwds: dict[str, Any]) -> JAXSparse:
    if sparse_format not in _FORMATS:
        raise ValueError(f"sparse.{name}: sparse_format must be one of {', '.join(_FORMATS)}, got {sparse_format!r}")
    if sparse_format in ("bcoo", "bcsr"):
        unknown = set(kwds) - {"n_batch", "n_dense"}
        if unknown:
            raise TypeError(f"sparse.{name}: {sparse_format} has no option {', '.join(sorted(unknown))}")
        if kwds:
            arr = arr.update_layout(**kwds, on_inefficient=None)
        return arr if sparse_format == "bcoo" else BCSR.from_bcoo(arr)
    if kwds:
        raise TypeError(f"sparse.{name}: {sparse_format} has no option {', '.join(sorted(kwds))}")
    if arr.ndim != 2:
        raise ValueError(f"sparse.{name}: {sparse_format} is a format of matrices, got shape {arr.shape}")
    if sparse_format == "coo":
        return COO((arr.data, arr.indices[:, 0], arr.indices[:, 1]), shape=arr.shape)
    rows = BCSR.from_bcoo(arr if sparse_format == "csr" else arr.T)
    parts = (rows.data, rows.indices, rows.indptr)
    return CSR(parts, shape=arr.shape) if sparse_format == "csr" else CSC(parts, shape=arr.shape)


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = np.int32, sparse_format: str = "bcoo",
          **kwds: Any) -> Any:
    """A sparse array without entries.

    Args:
      shape: the array's.
      dtype: of the entries; the default float if not given.
      index_dtype: of the indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      **kwds: ``n_batch`` and ``n_dense`` for the first two.

    >>> empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    shape = tuple(shape)
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    indices = jnp.zeros((0, len(shape)), dtypes.canonicalize_dtype(index_dtype))
    arr = BCOO((jnp.zeros(0, dtype), indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _in_format("empty", arr, sparse_format, kwds)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = np.int32,
        sparse_format: str = "bcoo", **kwds: Any) -> Any:
    """A matrix with ones on a diagonal.

    Args:
      N, M: the numbers of rows and of columns, which are equal by default.
      k: which diagonal: 0 for the main one, positive numbers for those above.
      dtype, index_dtype, sparse_format, **kwds: as for :func:`empty`.

    >>> eye(3).todense().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    M = N if M is None else M
    first = max(0, -k)
    count = max(0, min(N - first, M - first - k))
    rows = first + np.arange(count)
    indices = jnp.asarray(np.stack([rows, rows + k], axis=-1), dtypes.canonicalize_dtype(index_dtype))
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    arr = BCOO((jnp.ones(count, dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True)
    return _in_format("eye", arr, sparse_format, kwds)


__getattr__ = reexporting(__name__, "ad batching core mlir tree_util")
