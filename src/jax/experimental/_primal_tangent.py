"""Dtypes whose tangents have a dtype of one's own choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._base._jaxlib import Array
from jax._language.avals import ShapedArray
from jax._runtime import transfer


class primal_tangent_dtype_scalar(dtypes.extended):
    """The class of elements of such dtypes, for ``jax.dtypes.issubdtype``."""


class PrimalTangentDType(dtypes.ExtendedDType):
    """See :func:`primal_tangent_dtype`."""

    __slots__ = ("primal_dtype", "tangent_dtype", "name")
    type = primal_tangent_dtype_scalar

    def __init__(self, primal_dtype: Any, tangent_dtype: Any, name: str | None) -> None:
        self.primal_dtype, self.tangent_dtype = dtypes.dtype(primal_dtype), dtypes.dtype(tangent_dtype)
        for what, d in (("primal", self.primal_dtype), ("tangent", self.tangent_dtype)):
            if not isinstance(d, np.dtype) or d == dtypes.float0:
                raise TypeError(f"primal_tangent_dtype: the {what} dtype must be one that arrays on devices have, got {d}")
        if not dtypes.issubdtype(self.tangent_dtype, np.inexact):
            raise TypeError(f"primal_tangent_dtype: tangents are floating or complex numbers, got {self.tangent_dtype}")
        short = "/".join(map(dtypes.short_name, (self.primal_dtype, self.tangent_dtype)))
        self.name = name or f"PrimalTangentDType{{{short}}}"

    @property
    def representation(self) -> np.dtype:  # type: ignore[override]
        return self.primal_dtype

    @property
    def itemsize(self) -> int:  # type: ignore[override]
        return int(self.primal_dtype.itemsize)

    def physical_element_aval(self) -> tuple[tuple[int, ...], np.dtype]:
        return (), self.primal_dtype

    def wrap(self, physical: Any) -> Any:
        return PrimalTangentArray(self, physical)

    def unwrap(self, value: Any) -> Any:
        return value._base_array

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return lax.convert_element_type(lax.full(shape, 0, self.primal_dtype), self)

    def _key(self) -> tuple[Any, ...]:
        return self.primal_dtype, self.tangent_dtype, self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimalTangentDType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return PrimalTangentDType, self._key()


def primal_tangent_dtype(primal_dtype: Any, tangent_dtype: Any, name: str | None = None) -> dtypes.ExtendedDType:
    """An extended dtype of arrays that are stored as ``primal_dtype`` and have tangents of ``tangent_dtype``.

    Args:
      primal_dtype: what an element is stored as, such as ``int8`` for quantised weights.
      tangent_dtype: the floating or complex dtype of tangents and cotangents.
      name: how the dtype is printed.

    Returns:
      The dtype. :func:`jax.lax.convert_element_type` turns arrays of ``primal_dtype`` into arrays of it and back; what moves
      elements without computing with them (slices, reshapes, ``vmap``, loops) acts on both alike. What the elements mean is
      said by a function with a derivative of its own (``jax.custom_vjp``): it converts, computes, and hands back cotangents
      of ``tangent_dtype``, which derivatives with respect to ``primal_dtype`` itself could not be.

    Raises:
      TypeError: a dtype that arrays cannot have, or tangents that are no floating or complex numbers.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import primal_tangent_dtype
    >>> dtype = primal_tangent_dtype(jnp.int8, jnp.float32)
    >>> q = jax.lax.convert_element_type(jnp.array([1, 2], jnp.int8), dtype)
    >>> jax.typeof(q).to_tangent_aval()
    ShapedArray(float32[2])
    """
    return PrimalTangentDType(primal_dtype, tangent_dtype, name)


class PrimalTangentArray(Array):
    """A concrete array of such a dtype, carried by an array of its primal dtype."""

    __slots__ = ("_base_array", "aval", "__weakref__")

    def __init__(self, dtype: PrimalTangentDType, base: Any) -> None:
        self._base_array = base
        self.aval = ShapedArray(base.shape, dtype)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    itemsize = property(lambda self: self.aval.dtype.itemsize)
    weak_type = property(lambda self: False)

    def _same(self, base: Any) -> Any:
        return PrimalTangentArray(self.dtype, base)

    def __len__(self) -> int:
        return len(self._base_array)

    def __iter__(self) -> Any:
        return map(self._same, self._base_array)

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self._base_array}"

    __str__ = __repr__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"arrays of dtype {self.dtype} have no NumPy form; jax.lax.convert_element_type(x, "
                        f"{str(self.dtype.primal_dtype)!r}) gives what they are stored as")

    def __hash__(self) -> int:
        raise TypeError("arrays are not hashable")

    def __reduce__(self) -> Any:
        return _unpickle, (self.dtype, np.asarray(self._base_array))

    def block_until_ready(self) -> Any:
        self._base_array.block_until_ready()
        return self

    def copy(self) -> Any:
        return self._same(self._base_array.copy())

    def __copy__(self) -> Any:
        return self._same(self._base_array)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def addressable_data(self, index: int) -> Any:
        return self._same(self._base_array.addressable_data(index))


def _of_base(name: str) -> property:
    return property(lambda self: getattr(self._base_array, name))


# Where the array is, and whether it is there, is what its carrier says.
for _name in ("nbytes", "sharding", "committed", "_committed", "device", "devices", "is_fully_addressable",
              "is_fully_replicated", "copy_to_host_async", "is_deleted", "delete", "unsafe_buffer_pointer"):
    setattr(PrimalTangentArray, _name, _of_base(_name))


def _unpickle(dtype: PrimalTangentDType, data: Any) -> PrimalTangentArray:
    return PrimalTangentArray(dtype, transfer.to_device(data))


def _put(x: PrimalTangentArray, aval: Any, sharding: Any, committed: bool) -> Any:
    return x._same(transfer.to_device(x._base_array, None, sharding, committed=committed))


transfer.put_handlers[PrimalTangentArray] = _put
