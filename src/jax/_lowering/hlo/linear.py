"""Products, convolutions and dense linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib
from jax._lowering.context import current_state
from jax._lowering.hlo.core import op1
from jax._lowering.hlo.shape import padding_attr
from jax._lowering.types import bool_attr, dense_bool_array, dense_int_array, enum_attr, i64_attr, ir_type

Ints = Sequence[int]


def precision_attr(precision: Any) -> Any:
    """``precision`` of both operands: a pair of names out of DEFAULT, HIGH, HIGHEST (any case, enums too) or None."""
    if precision is None:
        names: Sequence[Any] = ("DEFAULT", "DEFAULT")
    elif isinstance(precision, (tuple, list)):
        names = precision
    else:
        names = (precision, precision)
    attrs = [enum_attr("PrecisionAttr", _precision_name(p)) for p in names]
    return _jaxlib.ir.ArrayAttr.get(attrs)


def _precision_name(p: Any) -> str:
    return "DEFAULT" if p is None else str(getattr(p, "name", p)).upper()


def dot_general(x: Any, y: Any, aval_out: Any, *, contracting: tuple[Ints, Ints], batch: tuple[Ints, Ints] = ((), ()),
                precision: Any = None, algorithm: Any = None) -> Any:
    """The product; dimensions of the result: batch, those left of ``x``, those left of ``y``."""
    cached = current_state().attrs
    key = ("dot", *map(tuple, contracting), *map(tuple, batch))
    numbers = cached.get(key)
    if numbers is None:
        numbers = cached[key] = _jaxlib.stablehlo.DotDimensionNumbers.get(
            list(batch[0]), list(batch[1]), list(contracting[0]), list(contracting[1]))
    attrs = {"dot_dimension_numbers": numbers}
    if precision is not None:
        attrs["precision_config"] = precision_attr(precision)
    if algorithm is not None:
        attrs["algorithm"] = algorithm
    return op1("stablehlo.dot_general", ir_type(aval_out), (x, y), attrs)


def dot_algorithm(lhs: Any, rhs: Any, accumulation: Any, lhs_components: int = 1, rhs_components: int = 1,
                  primitive_operations: int = 1, imprecise: bool = False) -> Any:
    """The attribute that fixes a product's internal types (MLIR element types)."""
    return _jaxlib.stablehlo.DotAlgorithm.get(lhs, rhs, accumulation, lhs_components, rhs_components,
                                              primitive_operations, imprecise)


def convolution(x: Any, kernel: Any, aval_out: Any, *, lhs_spec: Ints, rhs_spec: Ints, out_spec: Ints, strides: Ints,
                padding: Sequence[tuple[int, int]], lhs_dilation: Ints, rhs_dilation: Ints,
                feature_group_count: int = 1, batch_group_count: int = 1, window_reversal: Sequence[bool] | None = None,
                precision: Any = None) -> Any:
    """Specs give the positions of dimensions: (batch, feature, spatial...), (out feature, in feature, spatial...)."""
    numbers = _jaxlib.stablehlo.ConvDimensionNumbers.get(
        input_spatial_dimensions=list(lhs_spec[2:]), kernel_spatial_dimensions=list(rhs_spec[2:]),
        output_spatial_dimensions=list(out_spec[2:]), input_batch_dimension=lhs_spec[0],
        output_batch_dimension=out_spec[0], input_feature_dimension=lhs_spec[1], output_feature_dimension=out_spec[1],
        kernel_output_feature_dimension=rhs_spec[0], kernel_input_feature_dimension=rhs_spec[1])
    attrs = {
        "dimension_numbers": numbers, "feature_group_count": i64_attr(feature_group_count),
        "batch_group_count": i64_attr(batch_group_count), "window_strides": dense_int_array(strides),
        "padding": padding_attr(padding), "lhs_dilation": dense_int_array(lhs_dilation),
        "rhs_dilation": dense_int_array(rhs_dilation), "precision_config": precision_attr(precision),
    }
    if window_reversal is not None:
        attrs["window_reversal"] = dense_bool_array(window_reversal)
    return op1("stablehlo.convolution", ir_type(aval_out), (x, kernel), attrs)


def cholesky(x: Any, lower: bool = True) -> Any:
    return op1("stablehlo.cholesky", x.type, (x,), {"lower": bool_attr(lower)})


def triangular_solve(a: Any, b: Any, *, left_side: bool, lower: bool, unit_diagonal: bool,
                     transpose_a: str = "NO_TRANSPOSE") -> Any:
    """Solves ``op(a) x = b`` or ``x op(a) = b``. ``transpose_a``: NO_TRANSPOSE, TRANSPOSE or ADJOINT."""
    return op1("stablehlo.triangular_solve", b.type, (a, b),
               {"left_side": bool_attr(left_side), "lower": bool_attr(lower), "unit_diagonal": bool_attr(unit_diagonal),
                "transpose_a": enum_attr("TransposeAttr", transpose_a)})


def fft(x: Any, aval_out: Any, kind: str, lengths: Ints) -> Any:
    """``kind``: FFT, IFFT, RFFT or IRFFT, over the trailing dimensions."""
    return op1("stablehlo.fft", ir_type(aval_out), (x,),
               {"fft_type": enum_attr("FftTypeAttr", kind), "fft_length": dense_int_array(lengths)})
