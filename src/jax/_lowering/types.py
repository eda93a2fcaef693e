"""MLIR types and attributes of abstract values, dtypes and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from jax import dtypes
from jax._base import _jaxlib
from jax._language.avals import AbstractToken, ShapedArray, physical_aval, typeof
from jax._lowering.context import _active, current_state


def _element_makers() -> dict[Any, Callable[[], Any]]:
    ir = _jaxlib.ir
    makers: dict[Any, Callable[[], Any]] = {
        np.dtype(bool): lambda: ir.IntegerType.get_signless(1),
        dtypes.float0: lambda: ir.IntegerType.get_signless(1),
        np.dtype(np.float16): ir.F16Type.get,
        np.dtype(np.float32): ir.F32Type.get,
        np.dtype(np.float64): ir.F64Type.get,
        np.dtype(dtypes.bfloat16): ir.BF16Type.get,
        np.dtype(np.complex64): lambda: ir.ComplexType.get(ir.F32Type.get()),
        np.dtype(np.complex128): lambda: ir.ComplexType.get(ir.F64Type.get()),
    }
    for bits in (8, 16, 32, 64):
        makers[np.dtype(f"int{bits}")] = _integer(ir.IntegerType.get_signless, bits)
        makers[np.dtype(f"uint{bits}")] = _integer(ir.IntegerType.get_unsigned, bits)
    for name in ("int1", "int2", "int4", "uint1", "uint2", "uint4"):
        if hasattr(ml_dtypes, name):
            make = ir.IntegerType.get_unsigned if name[0] == "u" else ir.IntegerType.get_signless
            makers[np.dtype(getattr(ml_dtypes, name))] = _integer(make, int(name[-1]))
    for name in dir(ml_dtypes):
        stem, _, layout = name.partition("_")
        found = getattr(ir, f"{stem.capitalize()}{layout.upper()}Type", None) if layout else None
        if found is not None:
            makers[np.dtype(getattr(ml_dtypes, name))] = found.get
    return makers


def _integer(make: Callable[[int], Any], bits: int) -> Callable[[], Any]:
    return lambda: make(bits)


_makers: dict[Any, Callable[[], Any]] = {}


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR element type of a dtype."""
    elements = current_state().elements
    found = elements.get(dtype)
    if found is None:
        if not _makers:
            _makers.update(_element_makers())
        make = _makers.get(np.dtype(dtype))
        if make is None:
            raise TypeError(f"the dtype {dtype} has no counterpart in StableHLO")
        found = elements[dtype] = make()
    return found


def ir_type(aval: Any) -> Any:
    """The MLIR type of values of type ``aval``."""
    types = _active.state.types
    try:
        return types[aval]
    except KeyError:
        pass
    found = types[aval] = _make_type(aval)
    return found


def _make_type(aval: Any) -> Any:
    if isinstance(aval, AbstractToken):
        return _jaxlib.stablehlo.TokenType.get(current_state().context)
    make = ir_type_makers.get(type(aval))
    if make is not None:
        return make(aval)
    if not isinstance(aval, ShapedArray):
        raise TypeError(f"values of type {aval} cannot be operands of a compiled program")
    plain = physical_aval(aval)
    # XLA ends the process when it counts such bytes, also where a further axis has size 0.
    if math.prod(filter(None, plain.shape)) * plain.dtype.itemsize >= 2 ** 63:
        raise ValueError(f"an array of type {aval.str_short()} has axes for 2**63 bytes or more, which XLA cannot count; "
                         "check the sizes that its shape is made of")
    return tensor_type(plain.shape, plain.dtype)


# (aval) -> type, for abstract values that libraries define. Open, like the rule tables.
ir_type_makers: dict[type, Callable[[Any], Any]] = {}


def tensor_type(shape: Sequence[int], dtype: Any) -> Any:
    """The type of plain tensors of ``shape`` and ``dtype``."""
    return _jaxlib.ir.RankedTensorType.get(shape, dtype_to_ir_type(dtype))


# --- attributes ----------------------------------------------------------------------------------------------------

def dense_int_array(values: Sequence[int]) -> Any:
    """``array<i64: ...>``."""
    return _jaxlib.ir.DenseI64ArrayAttr.get(values)


def dense_bool_array(values: Sequence[bool]) -> Any:
    """The attribute of a sequence of booleans."""
    return _jaxlib.ir.DenseBoolArrayAttr.get(values)


def dense_int_elements(values: Any) -> Any:
    """``dense<...> : tensor<...xi64>``."""
    return _jaxlib.ir.DenseIntElementsAttr.get(np.asarray(values, np.int64))


def i64_attr(value: int) -> Any:
    """The attribute of a 64-bit integer."""
    return _int_attr(value, 64)


def i32_attr(value: int) -> Any:
    """The attribute of a 32-bit integer."""
    return _int_attr(value, 32)


def _int_attr(value: int, bits: int) -> Any:
    attrs = current_state().attrs
    key = (bits, value)
    found = attrs.get(key)
    if found is None:
        ir = _jaxlib.ir
        found = attrs[key] = ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)
    return found


def bool_attr(value: bool) -> Any:
    return _jaxlib.ir.BoolAttr.get(bool(value))


def enum_attr(cls: str, value: str) -> Any:
    """``stablehlo``'s enumeration attribute ``cls`` (``"ComparisonDirectionAttr"``), cached: making one parses text."""
    attrs = current_state().attrs
    key = (cls, value)
    found = attrs.get(key)
    if found is None:
        found = attrs[key] = getattr(_jaxlib.stablehlo, cls).get(value)
    return found


def string_attr(text: str | bytes) -> Any:
    return _jaxlib.ir.StringAttr.get(text)


def flat_symbol(name: str) -> Any:
    return _jaxlib.ir.FlatSymbolRefAttr.get(name)


# --- constants -----------------------------------------------------------------------------------------------------

_bits_view = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def elements_attr(value: np.ndarray[Any, Any]) -> Any:
    """``dense<...>`` of the values of a NumPy array; one value for all elements is stored once."""
    dtype = value.dtype
    if dtype == dtypes.float0:
        value = np.zeros(value.shape, bool)
        dtype = value.dtype
    element = dtype_to_ir_type(dtype)
    shape = value.shape
    make = _jaxlib.ir.DenseElementsAttr.get
    if value.size and _is_splat(value):
        value = value[(slice(0, 1),) * value.ndim].reshape(1)
    if dtype.type.__module__ != "numpy":  # ml_dtypes: the buffer protocol does not know them
        value = value.view(_bits_view[dtype.itemsize])
    return make(np.ascontiguousarray(value), type=element, shape=shape)


def _is_splat(value: np.ndarray[Any, Any]) -> bool:
    if value.size == 1:
        return True
    if not any(s for s, d in zip(value.strides, value.shape, strict=True) if d > 1):
        return True
    if value.size > 1 << 16:
        return False
    bits = np.ascontiguousarray(value).reshape(-1).view(np.uint8).reshape(value.size, -1)
    return bool((bits == bits[0]).all())


def constant_array(value: Any, aval: Any = None) -> np.ndarray[Any, Any]:
    """The NumPy array of a constant: a Python scalar, an array, or a value of an extended dtype."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, dtypes.ExtendedDType):
        return np.asarray(dtype.unwrap(value))
    if aval is None:
        aval = typeof(value)
    wanted = physical_aval(aval).dtype
    array = np.asarray(value)
    return array if array.dtype == wanted or array.dtype == dtypes.float0 else array.astype(wanted)


# (value, aval) -> MLIR value, for constants of types that libraries define.
constant_makers: dict[type, Callable[[Any, Any], Any]] = {}


def ir_constant(value: Any, aval: Any = None) -> Any:
    """A constant of the program. Its type is ``aval`` or that of ``value``; a scalar fills the shape of ``aval``."""
    make = constant_makers.get(type(value))
    if make is not None:
        return make(value, typeof(value) if aval is None else aval)
    array = constant_array(value, aval)
    shape = array.shape if aval is None else physical_aval(aval).shape
    if not array.shape:
        return full(array, shape, array.dtype)
    return constant_op(elements_attr(array if array.shape == shape else np.broadcast_to(array, shape)))


def constant_op(attr: Any) -> Any:
    return _jaxlib.ir.Operation.create("stablehlo.constant", (attr.type,), (), {"value": attr}).result


def scalar_constant(value: Any, dtype: Any) -> Any:
    """A rank-0 constant of exactly ``dtype``."""
    return full(value, (), dtype)


def full(value: Any, shape: Sequence[int], dtype: Any) -> Any:
    """A tensor filled with one value."""
    # Zeros of either sign are equal, and so are complex numbers with them: their text tells them apart.
    plain = type(value) in (int, float, bool)
    key = (value if plain and value else str(value) if plain else np.asarray(value, dtype).tobytes(), dtype, *shape)
    attrs = _active.state.attrs
    found = attrs.get(key)
    if found is None:
        attr = elements_attr(np.broadcast_to(np.asarray(value, dtype), shape))
        found = attrs[key] = ((attr.type,), {"value": attr})
    return _jaxlib.ir.Operation.create("stablehlo.constant", found[0], (), found[1]).result
