"""Operations that hold code: reductions, windows, sorting, scattering, control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._lowering.context import current_state
from jax._lowering.hlo.core import op1, opn, region_op
from jax._lowering.hlo.shape import padding_attr
from jax._lowering.types import (
    bool_attr,
    dense_int_array,
    enum_attr,
    flat_symbol,
    i32_attr,
    i64_attr,
    ir_type,
    string_attr,
)

Ints = Sequence[int]
Fill = Callable[..., Any]


def _scalar_type(value: Any) -> Any:
    typ = value.type
    return typ if typ.rank == 0 else _jaxlib.ir.RankedTensorType.get((), typ.element_type)


def reduce(values: Sequence[Any], inits: Sequence[Any], dimensions: Ints, combine: Fill,
           avals_out: Sequence[Any] | None = None) -> list[Any]:
    """Reduces ``values`` together. ``combine(*accumulators, *elements) -> values``, all rank 0."""
    values, inits = list(values), list(inits)
    if avals_out is None:
        drop = set(dimensions)
        out_types = [_jaxlib.ir.RankedTensorType.get([n for d, n in enumerate(v.type.shape) if d not in drop],
                                                     v.type.element_type) for v in values]
    else:
        out_types = [ir_type(a) for a in avals_out]
    scalars = [_scalar_type(v) for v in inits]
    return region_op("stablehlo.reduce", out_types, values + inits, {"dimensions": dense_int_array(dimensions)},
                     [(scalars * 2, combine)])


def reduce_window(values: Sequence[Any], inits: Sequence[Any], avals_out: Sequence[Any], combine: Fill, *,
                  window: Ints, strides: Ints, padding: Sequence[tuple[int, int]], base_dilation: Ints | None = None,
                  window_dilation: Ints | None = None) -> list[Any]:
    """Reduces every window; ``combine`` as for :func:`reduce`."""
    values, inits = list(values), list(inits)
    attrs = {"window_dimensions": dense_int_array(window), "window_strides": dense_int_array(strides),
             "padding": padding_attr(padding)}
    if base_dilation is not None:
        attrs["base_dilations"] = dense_int_array(base_dilation)
    if window_dilation is not None:
        attrs["window_dilations"] = dense_int_array(window_dilation)
    scalars = [_scalar_type(v) for v in inits]
    return region_op("stablehlo.reduce_window", [ir_type(a) for a in avals_out], values + inits, attrs,
                     [(scalars * 2, combine)])


def select_and_scatter(x: Any, source: Any, init: Any, aval_out: Any, select: Fill, scatter: Fill, *, window: Ints,
                       strides: Ints, padding: Sequence[tuple[int, int]]) -> Any:
    """Adds each element of ``source`` at the place of its window that ``select`` (a comparison) chooses."""
    scalar = _scalar_type(x)
    attrs = {"window_dimensions": dense_int_array(window), "window_strides": dense_int_array(strides),
             "padding": padding_attr(padding)}
    return region_op("stablehlo.select_and_scatter", [ir_type(aval_out)], (x, source, init), attrs,
                     [((scalar, scalar), select), ((scalar, scalar), scatter)])[0]


def sort(values: Sequence[Any], dimension: int, comparator: Fill, is_stable: bool = True) -> list[Any]:
    """Sorts ``values`` together. ``comparator(a0, b0, a1, b1, ...) -> i1`` says whether a comes before b."""
    values = list(values)
    scalars = [_scalar_type(v) for v in values for _ in range(2)]
    return region_op("stablehlo.sort", [v.type for v in values], values,
                     {"dimension": i64_attr(dimension), "is_stable": bool_attr(is_stable)}, [(scalars, comparator)])


def scatter(values: Sequence[Any], indices: Any, updates: Sequence[Any], combine: Fill, *, update_window_dims: Ints,
            inserted_window_dims: Ints, input_batching_dims: Ints = (), scatter_indices_batching_dims: Ints = (),
            scatter_dims_to_operand_dims: Ints, index_vector_dim: int, indices_are_sorted: bool = False,
            unique_indices: bool = False) -> list[Any]:
    """``combine(*old, *updates) -> values``, rank 0."""
    numbers = _jaxlib.stablehlo.ScatterDimensionNumbers.get(
        list(update_window_dims), list(inserted_window_dims), list(input_batching_dims),
        list(scatter_indices_batching_dims), list(scatter_dims_to_operand_dims), index_vector_dim)
    values, updates = list(values), list(updates)
    scalars = [_scalar_type(v) for v in values]
    return region_op("stablehlo.scatter", [v.type for v in values], [*values, indices, *updates],
                     {"scatter_dimension_numbers": numbers, "indices_are_sorted": bool_attr(indices_are_sorted),
                      "unique_indices": bool_attr(unique_indices)}, [(scalars * 2, combine)])


def while_loop(inits: Sequence[Any], cond: Fill, body: Fill) -> list[Any]:
    """``cond(*state) -> i1`` and ``body(*state) -> state``. Both may use values from outside."""
    inits = list(inits)
    types = [v.type for v in inits]
    state = current_state()
    state.loops += 1
    try:
        return region_op("stablehlo.while", types, inits, None, [(types, cond), (types, body)])
    finally:
        state.loops -= 1


def case(index: Any, branches: Sequence[Fill], out_types: Sequence[Any]) -> list[Any]:
    """Runs ``branches[index]``; an index out of range runs the last. Branches use values from outside."""
    return region_op("stablehlo.case", list(out_types), (index,), None, [((), b) for b in branches])


def if_(pred: Any, on_true: Fill, on_false: Fill, out_types: Sequence[Any]) -> list[Any]:
    return region_op("stablehlo.if", list(out_types), (pred,), None, [((), on_true), ((), on_false)])


def custom_call(target: str, operands: Sequence[Any], out_types: Sequence[Any], *, backend_config: Any = "",
                has_side_effect: bool = False, api_version: int = 4, called_computations: Sequence[str] = (),
                operand_layouts: Sequence[Ints] | None = None, result_layouts: Sequence[Ints] | None = None,
                output_operand_aliases: dict[int, int] | None = None, extra: dict[str, Any] | None = None) -> list[Any]:
    """A call of foreign code. ``backend_config``: text, or for API version 4 a dict of MLIR attributes.

    Layouts are minor-to-major, as XLA has them; ``output_operand_aliases`` maps results to the operands they replace.
    """
    ir = _jaxlib.ir
    config: Any = (ir.DictAttr.get(backend_config) if isinstance(backend_config, dict)
                   else ir.DictAttr.get({}) if api_version == 4 and not backend_config else string_attr(backend_config))
    attrs = {"call_target_name": string_attr(target), "has_side_effect": bool_attr(has_side_effect),
             "api_version": i32_attr(api_version), "backend_config": config}
    if called_computations:
        attrs["called_computations"] = ir.ArrayAttr.get([flat_symbol(c) for c in called_computations])
    if operand_layouts is not None:
        attrs["operand_layouts"] = ir.ArrayAttr.get([_layout(x) for x in operand_layouts])
    if result_layouts is not None:
        attrs["result_layouts"] = ir.ArrayAttr.get([_layout(x) for x in result_layouts])
    if output_operand_aliases:
        alias, many = _jaxlib.stablehlo.OutputOperandAlias, len(out_types) > 1
        attrs["output_operand_aliases"] = ir.ArrayAttr.get(
            [alias.get([out] if many else [], operand, []) for out, operand in output_operand_aliases.items()])
    if extra:
        attrs.update(extra)
    return opn("stablehlo.custom_call", list(out_types), list(operands), attrs)


def _layout(order: Ints) -> Any:
    ir = _jaxlib.ir
    return ir.DenseIntElementsAttr.get(np.asarray(list(order), np.int64), type=ir.IndexType.get())


def composite(name: str, operands: Sequence[Any], out_types: Sequence[Any], decomposition: str,
              attributes: dict[str, Any] | None = None, version: int = 1) -> list[Any]:
    """A named operation that compilers may know; ``decomposition`` is the symbol of a function that computes it."""
    attrs = {"name": string_attr(name), "decomposition": flat_symbol(decomposition), "version": i32_attr(version)}
    if attributes:
        attrs["composite_attributes"] = _jaxlib.ir.DictAttr.get(attributes)
    return opn("stablehlo.composite", list(out_types), list(operands), attrs)


def rng_bit_generator(state: Any, aval_out: Any, algorithm: str = "DEFAULT") -> list[Any]:
    """``[new state, random bits]``. ``algorithm``: DEFAULT, THREE_FRY or PHILOX."""
    return opn("stablehlo.rng_bit_generator", [state.type, ir_type(aval_out)], (state,),
               {"rng_algorithm": enum_attr("RngAlgorithmAttr", algorithm)})


def rng_uniform(low: Any, high: Any, shape: Any, aval_out: Any) -> Any:
    return op1("stablehlo.rng", ir_type(aval_out), (low, high, shape),
               {"rng_distribution": enum_attr("RngDistributionAttr", "UNIFORM")})


def create_token() -> Any:
    typ = _jaxlib.stablehlo.TokenType.get(current_state().context)
    return op1("stablehlo.create_token", typ, ())


def after_all(tokens: Sequence[Any]) -> Any:
    return op1("stablehlo.after_all", tokens[0].type, list(tokens))
