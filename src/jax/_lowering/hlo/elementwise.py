"""Element-wise operations. Operands have one shape; the rules spread scalars beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.context import current_state
from jax._lowering.hlo.core import binary, op1, opn, unary
from jax._lowering.types import dtype_to_ir_type, enum_attr, full, i32_attr, ir_type

abs = unary("stablehlo.abs")  # noqa: A001 - real operands; complex_abs for the others
cbrt = unary("stablehlo.cbrt")
ceil = unary("stablehlo.ceil")
cosine = unary("stablehlo.cosine")
count_leading_zeros = unary("stablehlo.count_leading_zeros")
exponential = unary("stablehlo.exponential")
exponential_minus_one = unary("stablehlo.exponential_minus_one")
floor = unary("stablehlo.floor")
log = unary("stablehlo.log")
log_plus_one = unary("stablehlo.log_plus_one")
logistic = unary("stablehlo.logistic")
negate = unary("stablehlo.negate")
not_ = unary("stablehlo.not")
popcnt = unary("stablehlo.popcnt")
round_nearest_afz = unary("stablehlo.round_nearest_afz")
round_nearest_even = unary("stablehlo.round_nearest_even")
rsqrt = unary("stablehlo.rsqrt")
sign = unary("stablehlo.sign")
sine = unary("stablehlo.sine")
sqrt = unary("stablehlo.sqrt")
tan = unary("stablehlo.tan")
tanh = unary("stablehlo.tanh")

add = binary("stablehlo.add")
and_ = binary("stablehlo.and")
atan2 = binary("stablehlo.atan2")
divide = binary("stablehlo.divide")
maximum = binary("stablehlo.maximum")
minimum = binary("stablehlo.minimum")
multiply = binary("stablehlo.multiply")
or_ = binary("stablehlo.or")
power = binary("stablehlo.power")
remainder = binary("stablehlo.remainder")
shift_left = binary("stablehlo.shift_left")
shift_right_arithmetic = binary("stablehlo.shift_right_arithmetic")
shift_right_logical = binary("stablehlo.shift_right_logical")
subtract = binary("stablehlo.subtract")
xor = binary("stablehlo.xor")

# CHLO operations are expanded into StableHLO by the compiler.
acos = unary("chlo.acos")
acosh = unary("chlo.acosh")
asin = unary("chlo.asin")
asinh = unary("chlo.asinh")
atan = unary("chlo.atan")
atanh = unary("chlo.atanh")
bessel_i1e = unary("chlo.bessel_i1e")
conj = unary("chlo.conj")
cosh = unary("chlo.cosh")
digamma = unary("chlo.digamma")
erf = unary("chlo.erf")
erf_inv = unary("chlo.erf_inv")
erfc = unary("chlo.erfc")
lgamma = unary("chlo.lgamma")
sinh = unary("chlo.sinh")
square = unary("chlo.square")
chlo_tan = unary("chlo.tan")
next_after = binary("chlo.next_after")
polygamma = binary("chlo.polygamma")
zeta = binary("chlo.zeta")
mulhi = binary("chlo.mulhi")


def with_element(typ: Any, element: Any) -> Any:
    """The tensor type ``typ`` with another element type."""
    return _jaxlib.ir.RankedTensorType.get(typ.shape, element)


def _bool_like(x: Any) -> Any:
    return with_element(x.type, dtype_to_ir_type(np.dtype(bool)))


def convert(x: Any, aval_out: Any) -> Any:
    """Values of another element type, by value. No operation when the type is the same."""
    typ = ir_type(aval_out)
    return x if x.type == typ else op1("stablehlo.convert", typ, (x,))


def convert_element_type(x: Any, aval_in: Any, aval_out: Any) -> Any:
    """Conversion as NumPy's ``astype`` does it: complex to real drops the imaginary part, anything but zero is true."""
    have, want = aval_in.dtype, aval_out.dtype
    if have == want:
        return x
    if have.kind == "c" and want.kind != "c":
        if want.kind == "b":
            zero = full(0, aval_in.shape, have)
            return compare(x, zero, "NE")
        x = real(x)
    return op1("stablehlo.convert", ir_type(aval_out), (x,))


def bitcast_convert(x: Any, aval_out: Any) -> Any:
    """The same bits as another element type; a trailing dimension appears or goes where the sizes differ."""
    return op1("stablehlo.bitcast_convert", ir_type(aval_out), (x,))


def is_finite(x: Any) -> Any:
    return op1("stablehlo.is_finite", _bool_like(x), (x,))


def is_inf(x: Any) -> Any:
    return op1("chlo.is_inf", _bool_like(x), (x,))


def compare(x: Any, y: Any, direction: str, kind: str | None = None) -> Any:
    """Comparison. ``direction``: EQ NE GE GT LE LT. ``kind``: FLOAT TOTALORDER SIGNED UNSIGNED, default by type."""
    attrs = {"comparison_direction": enum_attr("ComparisonDirectionAttr", direction)}
    if kind is not None:
        attrs["compare_type"] = enum_attr("ComparisonTypeAttr", kind)
    return op1("stablehlo.compare", _bool_like(x), (x, y), attrs)


def compare_kind(dtype: Any) -> str:
    """The ``kind`` argument of :func:`compare` for operands of ``dtype``."""
    if dtype == np.bool_ or np.issubdtype(dtype, np.unsignedinteger):
        return "UNSIGNED"
    if np.issubdtype(dtype, np.integer) or dtype.name.startswith("int"):
        return "SIGNED"
    return "UNSIGNED" if dtype.name.startswith("uint") else "FLOAT"


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """``pred`` is of the shape of the others, or rank 0."""
    return op1("stablehlo.select", on_true.type, (pred, on_true, on_false))


def clamp(low: Any, x: Any, high: Any) -> Any:
    return op1("stablehlo.clamp", x.type, (low, x, high))


def complex(real_part: Any, imag_part: Any) -> Any:  # noqa: A001
    element = _jaxlib.ir.ComplexType.get(real_part.type.element_type)
    return op1("stablehlo.complex", with_element(real_part.type, element), (real_part, imag_part))


def _real_like(x: Any) -> Any:
    element = x.type.element_type
    return with_element(x.type, element.element_type) if hasattr(element, "element_type") else x.type


def real(x: Any) -> Any:
    return op1("stablehlo.real", _real_like(x), (x,))


def imag(x: Any) -> Any:
    return op1("stablehlo.imag", _real_like(x), (x,))


def complex_abs(x: Any) -> Any:
    """The absolute value; of complex operands it is real."""
    return op1("stablehlo.abs", _real_like(x), (x,))


def reduce_precision(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    return op1("stablehlo.reduce_precision", x.type, (x,),
               {"exponent_bits": i32_attr(exponent_bits), "mantissa_bits": i32_attr(mantissa_bits)})


def optimization_barrier(values: Sequence[Any]) -> list[Any]:
    """The values, which the compiler computes before anything that depends on the results."""
    values = list(values)
    results = opn("stablehlo.optimization_barrier", [v.type for v in values], values)
    state = current_state()
    if state.loops and results:
        state.inner_barriers.append(results[0].owner)
    return results


def with_accuracy(name: str, x: Any, mode: str | None = None, *, atol: float = 0.0, rtol: float = 0.0,
                  ulps: int = 0) -> Any:
    """A transcendental operation with a requested accuracy: ``mode`` DEFAULT or HIGHEST, or TOLERANCE with bounds."""
    attr = _jaxlib.stablehlo.ResultAccuracyAttr.get(atol, rtol, ulps, mode or "TOLERANCE", current_state().context)
    return op1(f"stablehlo.{name}", x.type, (x,), {"result_accuracy": attr})
