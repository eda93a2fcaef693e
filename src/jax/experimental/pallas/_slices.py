"""``ds``: neighbouring elements, in indices and in index maps."""

from __future__ import annotations

import dataclasses
from typing import Any

from jax._api.indexing import Slice
from jax._api.indexing import ds as of_known_size
from jax._base.source import api_boundary
from jax._language.trace import Tracer


@dataclasses.dataclass(frozen=True)
class Part:
    """As many elements as are known when the kernel runs: what an index map returns for a ``BoundedSlice``."""

    start: Any
    size: Any
    stride: int | None = None

    def __index__(self) -> int:
        """What an index of a reference or an array asks for: there is none."""
        raise TypeError("pl.ds: the size must be known while tracing in an index, because the shape of the result depends "
                        f"on it; got {self.size!r}. Take as many elements as there can be and mask them (jnp.where).")


@api_boundary
def ds(start: Any, size: Any = None, stride: int | None = None) -> slice | Slice | Part:
    """``size`` elements from ``start`` on, with steps of ``stride``: an index, like :func:`jax.ds`.

    Args:
      start: an integer scalar. Given alone it is the size, and the elements are the first ones.
      size: an integer that is known while tracing; in an index map for a :class:`BoundedSlice` it need not be known.
      stride: a positive integer.

    In an index of a reference, a start that is known while tracing must leave room for all elements (``IndexError``). One
    that is computed is moved back to where they all exist, as everywhere.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(x, out):
    ...     out[...] = x[pl.ds(pl.num_programs(0) + 1, 2)]
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((2,), jnp.int32), grid=1, interpret=True)(jnp.arange(5))
    Array([2, 3], dtype=int32)
    """
    if isinstance(size, Tracer):
        return Part(start, size, stride)
    return of_known_size(start, size, stride)


dslice = ds


__all__ = ["Part", "ds", "dslice"]
