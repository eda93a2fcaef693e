"""The face of arrays whose dtypes bring their own rules."""

from __future__ import annotations

from typing import Any

from jax._base._jaxlib import Array
from jax._language.avals import ShapedArray, physical_aval, typeof
from jax.dtypes import ExtendedDType


class _OfExtendedDType(type):
    """Makes ``isinstance`` ask for the dtype."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(getattr(value, "dtype", None), ExtendedDType) and isinstance(value, Array)


class EArray(metaclass=_OfExtendedDType):
    """An array of an extended dtype, such as an array of random keys, made of the array that carries it.

    Args:
      aval: its type, a :class:`jax.core.ShapedArray` of an extended dtype.
      data: the plain array: of shape ``aval.shape`` followed by the block that carries one element.

    Returns:
      The array, of the class that belongs to the dtype. ``isinstance(x, EArray)`` says whether ``x`` is of an extended
      dtype.

    Raises:
      TypeError: ``aval`` is of a plain dtype, or ``data`` does not fit.

    >>> import jax
    >>> from jax.experimental import EArray
    >>> key = jax.random.key(0)
    >>> isinstance(key, EArray), isinstance(jax.random.key_data(key), EArray)
    (True, False)
    >>> EArray(jax.typeof(key), jax.random.key_data(key)).shape
    ()
    """

    def __new__(cls, aval: Any, data: Any) -> Any:
        if not isinstance(aval, ShapedArray) or not isinstance(aval.dtype, ExtendedDType):
            raise TypeError(f"EArray takes the type of an array of an extended dtype, such as "
                            f"jax.typeof(jax.random.key(0)), got {aval!r}")
        want, got = physical_aval(aval), typeof(data)
        if (want.shape, want.dtype) != (got.shape, got.dtype):
            raise TypeError(f"EArray: an array of type {aval.str_short()} is carried by one of type {want.str_short()}, got "
                            f"{got.str_short()}")
        return aval.dtype.wrap(data)
