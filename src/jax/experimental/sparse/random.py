"""Random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, random
from jax import numpy as jnp
from jax._api.vmap import vmap
from jax.experimental._reexports import reexporting
from jax.experimental.sparse._bcoo_layout import BCOO, bcoo_sort_indices, make


def random_bcoo(key: Any, shape: Sequence[int], *, dtype: Any = np.float32, indices_dtype: Any = None,
                nse: int | float = 0.2, n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True,
                sorted_indices: bool = True, generator: Callable[..., Any] = random.uniform, **kwds: Any) -> BCOO:
    """A random BCOO array.

    Args:
      key: a key of :mod:`jax.random`.
      shape: the array's.
      dtype: of the entries.
      indices_dtype: of the indices; int32 by default.
      nse: how many entries to store for each batch, or, if less than 1, which share of all places.
      n_batch, n_dense: the layout.
      unique_indices: whether the places of a batch are all different.
      sorted_indices: whether the entries are in order.
      generator: ``generator(key, shape=..., dtype=..., **kwds)`` gives the entries.

    Raises:
      ValueError: when there are fewer places than different ones are asked for.

    >>> import jax
    >>> random_bcoo(jax.random.key(0), (4, 5), nse=3)
    BCOO(float32[4, 5], nse=3)
    """
    shape = tuple(operator.index(n) for n in shape)
    n_sparse = len(shape) - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(f"random_bcoo: n_batch={n_batch} and n_dense={n_dense} for an array of shape {shape}")
    batch, sparse, dense = shape[:n_batch], shape[n_batch:n_batch + n_sparse], shape[n_batch + n_sparse:]
    places = math.prod(sparse)
    count = math.ceil(nse * places) if 0 <= nse < 1 else operator.index(nse)
    if unique_indices and count > places:
        raise ValueError(f"random_bcoo: {count} different places among {places}")
    index_dtype = dtypes.canonicalize_dtype(indices_dtype or np.int32)
    place_key, data_key = random.split(key)

    def draw(key: Any) -> Any:
        if not n_sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = random.choice(key, places, (count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat, sparse), axis=-1).astype(index_dtype)
    fun = draw
    for _ in batch:
        fun = vmap(fun)
    keys = random.split(place_key, batch) if batch else place_key
    data = generator(data_key, shape=(*batch, count, *dense), dtype=dtype, **kwds)
    out = make(data, fun(keys), shape, unique_indices=unique_indices)
    return bcoo_sort_indices(out) if sorted_indices else out


__getattr__ = reexporting(__name__, "sparse")
