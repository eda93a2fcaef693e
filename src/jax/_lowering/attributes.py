"""MLIR attributes of Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.types import bool_attr, dtype_to_ir_type, i64_attr, string_attr


def ir_attribute(val: Any) -> Any:
    """The attribute for a Python value: a bool, number, string, NumPy array, or a sequence or dict of such.

    Raises:
      TypeError: for other values.
    """
    ir = _jaxlib.ir
    if isinstance(val, ir.Attribute):
        return val
    if isinstance(val, (bool, np.bool_)):
        return bool_attr(bool(val))
    if isinstance(val, np.generic):
        return _number_attr(val.item(), dtype_to_ir_type(val.dtype))
    if isinstance(val, int):
        return i64_attr(val)
    if isinstance(val, float):
        return _number_attr(val, ir.F64Type.get())
    if isinstance(val, str):
        return string_attr(val)
    if isinstance(val, np.ndarray):
        return ir.DenseElementsAttr.get(np.ascontiguousarray(val), type=dtype_to_ir_type(val.dtype), shape=val.shape)
    if isinstance(val, Mapping):
        return ir.DictAttr.get({k: ir_attribute(v) for k, v in val.items()})
    if isinstance(val, Sequence):
        return ir.ArrayAttr.get([ir_attribute(v) for v in val])
    raise TypeError(f"there is no MLIR attribute for {val!r} of type {type(val).__name__}")


def _number_attr(value: Any, typ: Any) -> Any:
    ir = _jaxlib.ir
    return ir.FloatAttr.get(typ, value) if isinstance(value, float) else ir.IntegerAttr.get(typ, value)
