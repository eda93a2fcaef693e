"""Operations that move, cut and join arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.hlo.core import op1, opn
from jax._lowering.types import dense_int_array, dense_int_elements, dtype_to_ir_type, i64_attr, ir_type

Ints = Sequence[int]


def _tensor(shape: Ints, element: Any) -> Any:
    return _jaxlib.ir.RankedTensorType.get(shape, element)


def broadcast_in_dim(x: Any, aval_out: Any, dims: Ints) -> Any:
    """``x`` with its dimension i as dimension ``dims[i]`` of the result, repeated along the others."""
    return op1("stablehlo.broadcast_in_dim", ir_type(aval_out), (x,), {"broadcast_dimensions": dense_int_array(dims)})


def reshape(x: Any, aval_out: Any) -> Any:
    return op1("stablehlo.reshape", ir_type(aval_out), (x,))


def broadcast_elementwise(x: Any, aval: Any, shape: Ints) -> Any:
    """``x`` of type ``aval`` stretched to ``shape`` as an operand of an element-wise operation.

    Missing dimensions are added in front, dimensions of size 1 are repeated, as in NumPy.
    """
    first = len(shape) - len(aval.shape)
    return broadcast_in_dim(x, aval.update(shape=tuple(shape)), range(first, len(shape)))


def transpose(x: Any, aval_out: Any, permutation: Ints) -> Any:
    """Dimension i of the result is dimension ``permutation[i]`` of ``x``."""
    return op1("stablehlo.transpose", ir_type(aval_out), (x,), {"permutation": dense_int_array(permutation)})


def reverse(x: Any, dimensions: Ints) -> Any:
    return op1("stablehlo.reverse", x.type, (x,), {"dimensions": dense_int_array(dimensions)})


def slice(x: Any, start: Ints, limit: Ints, strides: Ints | None = None) -> Any:  # noqa: A001
    strides = strides or (1,) * len(start)
    typ = x.type
    shape = [max(0, -((a - b) // s)) for a, b, s in zip(start, limit, strides, strict=True)]
    return op1("stablehlo.slice", _tensor(shape, typ.element_type), (x,),
               {"start_indices": dense_int_array(start), "limit_indices": dense_int_array(limit),
                "strides": dense_int_array(strides)})


def dynamic_slice(x: Any, starts: Sequence[Any], sizes: Ints) -> Any:
    """``starts`` are rank-0 integers of one type; they are clamped so that the slice lies inside."""
    return op1("stablehlo.dynamic_slice", _tensor(sizes, x.type.element_type), (x, *starts),
               {"slice_sizes": dense_int_array(sizes)})


def dynamic_update_slice(x: Any, update: Any, starts: Sequence[Any]) -> Any:
    return op1("stablehlo.dynamic_update_slice", x.type, (x, update, *starts))


def pad(x: Any, fill: Any, low: Ints, high: Ints, interior: Ints) -> Any:
    """``fill`` (rank 0) before, after and between elements; negative ``low`` and ``high`` cut."""
    typ = x.type
    shape = [a + n + b + max(0, n - 1) * i for n, a, b, i in zip(typ.shape, low, high, interior, strict=True)]
    return op1("stablehlo.pad", _tensor(shape, typ.element_type), (x, fill),
               {"edge_padding_low": dense_int_array(low), "edge_padding_high": dense_int_array(high),
                "interior_padding": dense_int_array(interior)})


def concatenate(values: Sequence[Any], dimension: int) -> Any:
    typ = values[0].type
    shape = list(typ.shape)
    shape[dimension] = sum(v.type.shape[dimension] for v in values)
    return op1("stablehlo.concatenate", _tensor(shape, typ.element_type), list(values),
               {"dimension": i64_attr(dimension)})


def iota(aval_out: Any, dimension: int) -> Any:
    """The index along ``dimension``, in every place."""
    return op1("stablehlo.iota", ir_type(aval_out), (), {"iota_dimension": i64_attr(dimension)})


def get_dimension_size(x: Any, dimension: int) -> Any:
    return op1("stablehlo.get_dimension_size", _tensor((), dtype_to_ir_type(np.dtype(np.int32))), (x,),
               {"dimension": i64_attr(dimension)})


def gather(x: Any, indices: Any, aval_out: Any, *, offset_dims: Ints, collapsed_slice_dims: Ints,
           operand_batching_dims: Ints = (), start_indices_batching_dims: Ints = (), start_index_map: Ints,
           index_vector_dim: int, slice_sizes: Ints, indices_are_sorted: bool = False) -> Any:
    numbers = _jaxlib.stablehlo.GatherDimensionNumbers.get(
        list(offset_dims), list(collapsed_slice_dims), list(operand_batching_dims), list(start_indices_batching_dims),
        list(start_index_map), index_vector_dim)
    return op1("stablehlo.gather", ir_type(aval_out), (x, indices),
               {"dimension_numbers": numbers, "slice_sizes": dense_int_array(slice_sizes),
                "indices_are_sorted": _jaxlib.ir.BoolAttr.get(bool(indices_are_sorted))})


def top_k(x: Any, k: int) -> list[Any]:
    """The ``k`` largest values along the last dimension and their indices (int32)."""
    typ = x.type
    shape = [*typ.shape[:-1], k]
    return opn("chlo.top_k", [_tensor(shape, typ.element_type), _tensor(shape, dtype_to_ir_type(np.dtype(np.int32)))],
               (x,), {"k": i64_attr(k)})


def padding_attr(pairs: Sequence[tuple[int, int]]) -> Any:
    """``dense<[[low, high], ...]> : tensor<Nx2xi64>``."""
    return dense_int_elements(np.asarray(list(pairs), np.int64).reshape(len(pairs), 2))
