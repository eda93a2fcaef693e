"""Conversion between dtypes, by value or by bits, and rounding to fewer bits."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import COMPLEX, FLOATING, category, deflinear_elementwise, unary
from jax._ground.structural import convert_element_type_p, move_axis
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import fusible, register_lowering

# --- convert_element_type -------------------------------------------------------------------------------------------


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """``operand`` with the dtype ``new_dtype``, converted by value.

    Floats become integers by rounding towards zero, anything but zero becomes True, and complex numbers lose their
    imaginary part with a ``ComplexWarning`` when they become real. The result is never weakly typed; an array that has
    the dtype already is returned as it is.

    Args:
      operand: an array or scalar.
      new_dtype: a dtype or what names one.

    Raises:
      TypeError: for lists (use ``jnp.array``), and between PRNG keys and numbers.
      ValueError: when ``new_dtype`` is None.
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must be given, got None")
    return convert_to(operand, dtypes.requested_dtype(new_dtype, "convert_element_type"), False)


def convert_to(operand: Any, dtype: Any, weak_type: bool) -> Any:
    """``operand`` as an array of a canonical dtype and the given weakness."""
    aval = typeof(operand)
    have = aval.dtype
    if have is dtype and aval.weak_type == weak_type and getattr(operand, "aval", None) is aval:
        return operand
    if category(have) == COMPLEX and category(dtype) != COMPLEX and dtype != np.bool_:
        warnings.warn(f"converting {have} to {dtype} drops the imaginary part; use jnp.real to say so",
                      np.exceptions.ComplexWarning, stacklevel=3)
    if not isinstance(operand, np.ndarray):
        kind = type(operand)
        if (kind is float or kind is int) and not weak_type:  # large Python numbers keep their digits
            operand = np.asarray(operand).astype(dtype)
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type, sharding=None)


def dtype(x: Any) -> Any:
    """The dtype that ``x`` (an array, a scalar, or what names a dtype) has on a device."""
    return dtypes.canonicalize_dtype(dtypes.dtype(x), allow_extended_dtype=True)


# --- bitcast_convert_type -------------------------------------------------------------------------------------------

bitcast_convert_type_p = Primitive("bitcast_convert_type")


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of ``operand`` read as elements of ``new_dtype``.

    Where elements of the new dtype are smaller, a trailing axis appears that counts the parts of each element; where
    they are larger, the trailing axis, which must have that many parts, goes. Order is that of the host (little-endian:
    the least significant part comes first).

    Raises:
      TypeError: for booleans and complex numbers, unless the dtypes are the same.
      ValueError: when the trailing axis does not fit.
    """
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.requested_dtype(new_dtype, "bitcast_convert_type"))


def _bitcast_abstract(x: Any, *, new_dtype: Any) -> Any:
    old, new = x.dtype, new_dtype
    if old == new:
        return ShapedArray(x.shape, new)
    for d in (old, new):
        if d == np.bool_ or category(d) == COMPLEX:
            raise TypeError(f"bitcast_convert_type: {d} has no bits of its own to read, got a conversion of {old} to "
                            f"{new}. Split complex numbers with lax.real and lax.imag, or use x.view(dtype).")
    have, want = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new)
    if have == want:
        return ShapedArray(x.shape, new)
    if have > want:
        return ShapedArray((*x.shape, have // want), new)
    if not x.shape or x.shape[-1] * have != want:
        raise ValueError(f"bitcast_convert_type: one {want}-bit {new} is made of {want // have} elements of {old}, so "
                         f"the last axis must have that size; the operand has shape {x.shape}")
    return ShapedArray(x.shape[:-1], new)


def _bitcast_lower(ctx: Any, x: Any, *, new_dtype: Any) -> list[Any]:
    return [hlo.bitcast_convert(x, ctx.avals_out[0])]


def _bitcast_jvp(primals: Any, tangents: Any, *, new_dtype: Any) -> Any:
    out = bitcast_convert_type_p.bind(*primals, new_dtype=new_dtype)
    return out, Zero.from_primal_value(out)


def _bitcast_batch(args: Any, dims: Any, *, new_dtype: Any) -> Any:
    (x,), (d,) = args, dims
    aval = typeof(x)
    if d == aval.ndim - 1 and aval.dtype != new_dtype:  # the last axis takes part in the conversion
        x, d = move_axis(x, d, 0), 0
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), d


bitcast_convert_type_p.def_abstract_eval(_bitcast_abstract)
register_lowering(bitcast_convert_type_p, _bitcast_lower)
fusible[bitcast_convert_type_p] = 1
rules.primitive_jvps[bitcast_convert_type_p] = _bitcast_jvp
rules.primitive_batchers[bitcast_convert_type_p] = _bitcast_batch

# --- reduce_precision -----------------------------------------------------------------------------------------------


def _reduce_precision_lower(ctx: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    return hlo.reduce_precision(x, exponent_bits, mantissa_bits)


reduce_precision_p = unary("reduce_precision", FLOATING, _reduce_precision_lower)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Each float rounded as a format with fewer bits would hold it, in its own dtype.

    The derivative is rounded in the same way.

    Args:
      operand: floating.
      exponent_bits: at least 1; exponents out of range become infinities or zeros.
      mantissa_bits: at least 0, without the leading one.

    Raises:
      ValueError: for numbers of bits out of range.
      TypeError: for numbers of bits that are no integers.
    """
    try:
        exponent_bits, mantissa_bits = operator.index(exponent_bits), operator.index(mantissa_bits)
    except TypeError:
        raise TypeError("reduce_precision: exponent_bits and mantissa_bits must be Python integers, got "
                        f"{exponent_bits!r} and {mantissa_bits!r}") from None
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be at least 1, got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must be at least 0, got {mantissa_bits}")
    return reduce_precision_p.bind(operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


deflinear_elementwise(reduce_precision_p, reduce_precision)
