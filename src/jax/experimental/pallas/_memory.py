"""Where kernels keep arrays: memory spaces, types of scratch memory, semaphores."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._language.avals import ShapedArray
from jax._language.refs import AbstractRef
from jax.lax._creation import as_shape

SEMAPHORE = "semaphore"  # the kind of references to semaphores


class semaphore(dtypes.extended):
    """The dtype of semaphores: counters that programs of a kernel signal and wait for.

    It is for types of scratch memory. Semaphores are not read and written like arrays, but with
    :func:`semaphore_signal`, :func:`semaphore_wait` and :func:`semaphore_read`; they start at zero.

    >>> from jax.experimental import pallas as pl
    >>> pl.ANY((2,), pl.semaphore).shape
    (2,)
    """


class MemorySpace(enum.Enum):
    """Kinds of memory that every backend has a place for.

    A member called with a shape and a dtype is the type of scratch memory there. Interpreted kernels have one memory, where
    all of these are.

    >>> import jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> pl.MemorySpace.ANY((8, 128), jnp.float32)
    MemoryRef(inner_aval=ShapedArray(float32[8,128]), memory_space=<MemorySpace.ANY: 'any'>)
    """

    ANY = "any"  # wherever the compiler puts it
    DEFAULT = "default"  # where the backend puts blocks
    ERROR = "error"  # for error codes of checks
    INDEX = "index"  # for indices and sizes of grids
    KEY = "key"  # for keys of random numbers

    def __str__(self) -> str:
        return self.value

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        return memory_ref(shape, dtype, self)


@dataclasses.dataclass(frozen=True)
class MemoryRef:
    """The type of memory that a kernel works in: scratch memory, or a result in a certain place.

    Attributes:
      inner_aval: the type of the array.
      memory_space: where it is.

    >>> import jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> pl.ANY((2, 3), jnp.int32).get_ref_aval()
    Ref{int32[2,3] in any}
    """

    inner_aval: Any
    memory_space: Any
    kind: Any = dataclasses.field(default=None, kw_only=True, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return semaphore if self.kind == SEMAPHORE else self.inner_aval.dtype

    def get_array_aval(self) -> Any:
        """The type of the array."""
        return self.inner_aval

    def get_ref_aval(self) -> AbstractRef:
        """The type of references to it."""
        return AbstractRef(self.inner_aval, self.memory_space, self.kind)


def memory_ref(shape: Sequence[int], dtype: Any, space: Any) -> MemoryRef:
    """The type of memory of a shape and dtype in a space."""
    shape = as_shape(shape)
    if isinstance(dtype, type) and issubclass(dtype, semaphore):
        return MemoryRef(ShapedArray(shape, np.dtype(np.int32)), space, kind=SEMAPHORE)
    if not isinstance(dtype, dtypes.ExtendedDType):
        dtype = dtypes.canonicalize_dtype(dtype)
    return MemoryRef(ShapedArray(shape, dtype), space)


def ref_type(api: str, what: Any) -> AbstractRef:
    """The type of references to memory of a type that users give."""
    get = getattr(what, "get_ref_aval", None)
    if get is None or isinstance(what, type):
        raise TypeError(f"{api} needs a type of memory, such as pl.ANY(shape, dtype), got {what!r}")
    found = get()
    if not isinstance(found, AbstractRef):
        raise TypeError(f"{api}: get_ref_aval() of {what!r} is to be the type of a reference, got {found!r}")
    return found


class DeviceIdType(enum.Enum):
    """How a device is named: by coordinates along mesh axes, or by its number."""

    MESH = "mesh"
    LOGICAL = "logical"


__all__ = ["DeviceIdType", "MemoryRef", "MemorySpace", "SEMAPHORE", "memory_ref", "ref_type", "semaphore"]
