"""Types for annotations.

``ArrayLike`` is what array functions accept; they return ``jax.Array``. ``DTypeLike`` is what names a dtype.
Both are meant for static checkers and for documentation, not for ``isinstance``.
"""

from __future__ import annotations

from typing import Any, Protocol, Union, runtime_checkable

import numpy as np

from jax._base._jaxlib import Array
from jax.dtypes import ExtendedDType

__all__ = ["ArrayLike", "DTypeLike"]


@runtime_checkable
class SupportsDType(Protocol):
    """Anything with a ``dtype``, such as ``jax.numpy.float32`` or an array."""

    @property
    def dtype(self) -> Any: ...


ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007 - shown in docs
"""An array, or a NumPy or Python scalar. Not lists or tuples: make an array of them with ``jnp.array``."""

DTypeLike = Union[str, type[Any], np.dtype, ExtendedDType, SupportsDType]  # noqa: UP007
"""A dtype, a scalar type (``float``, ``numpy.float32``, ``jax.numpy.float32``) or a name (``'float32'``)."""

Shape = tuple[int, ...]
DimSize = Union[int, Any]  # noqa: UP007 - a dimension may be symbolic in an exported program
