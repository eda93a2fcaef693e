"""Names for dtypes that can also be called to make arrays, abstract categories of dtypes, and constants."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from jax import dtypes


class _ScalarMeta(type):
    """The type of ``jnp.float32`` and its kin: they equal and hash like the dtype, and calling them makes an array."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> Any:
        if cls is other:
            return True
        try:
            return cls.dtype == other
        except TypeError:
            return NotImplemented

    def __ne__(cls, other: Any) -> Any:
        return not cls == other

    def __call__(cls, x: Any = 0, /) -> Any:
        from jax.numpy import asarray  # arrays are made by functions that use these names
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jax.numpy.{cls.__name__}'>"


def _scalar_type(name: str, scalar: Any) -> Any:
    return _ScalarMeta(name, (), {"dtype": np.dtype(scalar), "__module__": "jax.numpy",
                                  "__doc__": f"The dtype ``{np.dtype(scalar).name}``. Called, it converts to an array "
                                             f"of that dtype."})


bool_ = _scalar_type("bool_", np.bool_)
int1, int2, int4 = (_scalar_type(n, getattr(ml_dtypes, n)) for n in ("int1", "int2", "int4"))
int8, int16, int32, int64 = (_scalar_type(n, n) for n in ("int8", "int16", "int32", "int64"))
uint1, uint2, uint4 = (_scalar_type(n, getattr(ml_dtypes, n)) for n in ("uint1", "uint2", "uint4"))
uint8, uint16, uint32, uint64 = (_scalar_type(n, n) for n in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (_scalar_type(n, n) for n in ("float16", "float32", "float64"))
complex64, complex128 = (_scalar_type(n, n) for n in ("complex64", "complex128"))
(bfloat16, float4_e2m1fn, float6_e2m3fn, float6_e3m2fn, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn,
 float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu) = (
    _scalar_type(n, getattr(ml_dtypes, n)) for n in (
        "bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
        "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"))

single, double, csingle, cdouble = float32, float64, complex64, complex128
# The default widths are looked up when an array is made: these are the wide ones, narrowed where 64-bit types are off.
int_, uint, float_, complex_ = int64, uint64, float64, complex128

# Abstract categories, for issubdtype: those of NumPy.
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_
ComplexWarning = np.exceptions.ComplexWarning

dtype = np.dtype
finfo = dtypes.finfo
iinfo = dtypes.iinfo

pi = np.pi
e = np.e
inf = np.inf
nan = np.nan
newaxis = None
euler_gamma = np.euler_gamma


def isscalar(element: Any) -> bool:
    """Whether ``element`` is a number, or an array of no dimensions (in NumPy the latter is not a scalar).

    >>> import jax.numpy as jnp
    >>> jnp.isscalar(1.5), jnp.isscalar(jnp.float32(1)), jnp.isscalar([1.5])
    (True, True, False)
    """
    if np.isscalar(element):
        return True
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    return hasattr(element, "dtype") and hasattr(element, "shape") and not element.shape


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether dtype (or category) ``arg1`` is ``arg2`` or belongs to it; ``bfloat16`` is a ``jnp.floating``."""
    return dtypes.issubdtype(arg1, arg2)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether ``dtype`` is of a ``kind`` of the array API standard, such as ``"real floating"``; a tuple means any."""
    return dtypes.isdtype(dtype, kind)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype to which values of the dtypes ``a`` and ``b`` are both converted in an operation.

    Raises:
      jax.dtypes.TypePromotionError: when there is none.
    """
    return dtypes.promote_types(a, b)


def result_type(*args: Any) -> Any:
    """The dtype of the result of an operation on ``args``: arrays, scalars and dtypes.

    >>> import jax.numpy as jnp
    >>> str(jnp.result_type(jnp.bfloat16, 1.0))
    'bfloat16'
    """
    return dtypes.result_type(*args)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether ``from_`` can be converted to the dtype ``to`` under the rule ``casting``, as :func:`numpy.can_cast`."""
    return np.can_cast(from_, to, casting)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of ``x`` is complex, whatever its values."""
    if x is None:
        return False
    return dtypes.issubdtype(dtypes.dtype(x) if not isinstance(x, list | tuple) else np.asarray(x).dtype,
                             np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Whether the dtype of ``x`` is not complex, whatever its values."""
    return not iscomplexobj(x)
