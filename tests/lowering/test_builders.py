"""Every builder writes an operation that MLIR's verifier accepts, with the attributes it was asked for."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from jax._base import _jaxlib
from jax._language.avals import ShapedArray
from jax._lowering import hlo
from jax._lowering.hlo import elementwise
from jax._lowering.types import ir_type, tensor_type

from .helpers import aval, build

pytestmark = pytest.mark.quick

BUILDERS = {n: b for n, b in vars(elementwise).items() if hasattr(b, "operation")}
BOOL, I32, U32, C64 = bool, np.int32, np.uint32, np.complex64
INTEGER_ONLY = {"count_leading_zeros", "popcnt", "not_", "and_", "or_", "xor", "shift_left", "mulhi",
                "shift_right_arithmetic", "shift_right_logical"}
BINARY = {"add", "and_", "atan2", "divide", "maximum", "minimum", "multiply", "or_", "power", "remainder",
          "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract", "xor", "next_after", "polygamma",
          "zeta", "mulhi"}


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_elementwise(name):
    builder = BUILDERS[name]
    kind = aval(2, 3, dtype=I32 if name in INTEGER_ONLY else np.float32)
    out = build(builder, *[kind] * (2 if name in BINARY else 1))
    assert builder.operation in out
    assert "tensor<2x3x" in out


def test_public_builders_are_complete():
    assert {n for n in BUILDERS if n != "create"} <= set(vars(hlo))


def test_comparison():
    out = build(lambda x, y: hlo.compare(x, y, "LT", "TOTALORDER"), aval(2), aval(2))
    assert "compare LT, %arg0, %arg1, TOTALORDER" in out and "tensor<2xi1>" in out
    assert [hlo.compare_kind(np.dtype(d)) for d in ("bool", "uint8", "int8", "float32", "complex64")] == \
        ["UNSIGNED", "UNSIGNED", "SIGNED", "FLOAT", "FLOAT"]


def test_selection_and_clamping():
    out = build(lambda p, x, y: [hlo.select(p, x, y), hlo.clamp(x, y, x)], aval(2, dtype=BOOL), aval(2), aval(2))
    assert "stablehlo.select %arg0, %arg1, %arg2" in out and "stablehlo.clamp" in out


def test_complex_parts():
    def parts(z, x):
        return [hlo.real(z), hlo.imag(z), hlo.complex(x, x), hlo.complex_abs(z), hlo.complex_abs(x), hlo.real(x)]

    out = build(parts, aval(2, dtype=C64), aval(2))
    assert "stablehlo.real %arg0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>" in out
    assert "stablehlo.complex %arg1, %arg1 : tensor<2xcomplex<f32>>" in out


def test_conversions():
    def conversions(z, x):
        return [hlo.convert_element_type(z, aval(2, dtype=C64), aval(2)),
                hlo.convert_element_type(z, aval(2, dtype=C64), aval(2, dtype=BOOL)),
                hlo.convert_element_type(x, aval(2), aval(2, dtype=BOOL)),
                hlo.convert(x, aval(2)), hlo.bitcast_convert(x, aval(2, dtype=U32)), hlo.is_finite(x), hlo.is_inf(x),
                hlo.reduce_precision(x, 5, 10), *hlo.optimization_barrier([x, z])]

    out = build(conversions, aval(2, dtype=C64), aval(2))
    assert out.count("stablehlo.convert") == 2  # complex -> float is real(), the same type is nothing
    assert "compare NE" in out
    assert "format = e5m10" in out


def test_result_accuracy():
    out = build(lambda x: [hlo.with_accuracy("tanh", x, "HIGHEST"), hlo.with_accuracy("exponential", x, ulps=2)],
                aval(2))
    assert "HIGHEST" in out and "ulps = 2" in out


def test_shapes():
    def shapes(x, i):
        return [
            hlo.broadcast_in_dim(x, aval(4, 2, 3), (1, 2)), hlo.broadcast_elementwise(x, aval(2, 3), (5, 2, 3)),
            hlo.reshape(x, aval(6)), hlo.transpose(x, aval(3, 2), (1, 0)), hlo.reverse(x, (0,)),
            hlo.slice(x, (0, 0), (2, 3), (1, 2)), hlo.dynamic_slice(x, (i, i), (1, 2)),
            hlo.dynamic_update_slice(x, x, (i, i)), hlo.pad(x, hlo.full(0, (), np.float32), (1, -1), (0, 0), (1, 0)),
            hlo.concatenate([x, x], 1), hlo.iota(aval(2, 3, dtype=I32), 1), hlo.get_dimension_size(x, 0),
            *hlo.top_k(x, 2),
        ]

    out = build(shapes, aval(2, 3), aval(dtype=I32))
    assert "stablehlo.slice %arg0 [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>" in out
    assert "tensor<4x2xf32>" in out  # padded
    assert "stablehlo.concatenate %arg0, %arg0, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>" in out
    assert "chlo.top_k(%arg0, k = 2)" in out


@pytest.mark.parametrize("start, limit, stride, size", [(0, 5, 1, 5), (1, 5, 2, 2), (0, 5, 3, 2), (3, 3, 1, 0)])
def test_slice_sizes(start, limit, stride, size):
    assert f"-> tensor<{size}xf32>" in build(lambda x: hlo.slice(x, (start,), (limit,), (stride,)), aval(5))


def test_stretching_of_size_one_dimensions():
    out = build(lambda x: hlo.broadcast_elementwise(x, aval(1, 3), (2, 3)), aval(1, 3))
    assert "dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>" in out


def test_gather_and_scatter():
    def both(x, i, u):
        got = hlo.gather(x, i, aval(5, 3), offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,),
                         index_vector_dim=1, slice_sizes=(1, 3), indices_are_sorted=True)
        return [got, *hlo.scatter([x], i, [u], hlo.add, update_window_dims=(1,), inserted_window_dims=(0,),
                                  scatter_dims_to_operand_dims=(0,), index_vector_dim=1, unique_indices=True)]

    out = build(both, aval(4, 3), aval(5, 1, dtype=I32), aval(5, 3))
    assert "indices_are_sorted = true" in out and "unique_indices = true" in out and "stablehlo.return" in out


def test_products():
    def products(x, y):
        return [hlo.dot_general(x, y, aval(7, 2, 5), contracting=((2,), (1,)), batch=((0,), (0,)), precision="highest"),
                hlo.dot_general(x, y, aval(7, 2, 5), contracting=((2,), (1,)), batch=((0,), (0,)))]

    out = build(products, aval(7, 2, 3), aval(7, 3, 5))
    assert "batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST]" in out


def test_product_with_a_fixed_algorithm():
    def product(x, y):
        f32 = _jaxlib.ir.F32Type.get()
        return hlo.dot_general(x, y, aval(2, 5), contracting=((1,), (0,)), algorithm=hlo.dot_algorithm(f32, f32, f32))

    assert "algorithm = <lhs_precision_type = f32" in build(product, aval(2, 3), aval(3, 5))


def test_convolution():
    def convolve(x, k):
        return hlo.convolution(
            x, k, aval(1, 6, 6, 4), lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2),
            strides=(1, 1), padding=((0, 0), (0, 0)), lhs_dilation=(1, 1), rhs_dilation=(1, 1),
            window_reversal=(False, False))

    out = build(convolve, aval(1, 8, 8, 3), aval(3, 3, 3, 4))
    assert "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in out


def test_linear_algebra():
    def algebra(a, b):
        return [hlo.cholesky(a, lower=True), hlo.fft(a, aval(3, 2, dtype=C64), "RFFT", (3,)),
                hlo.triangular_solve(a, b, left_side=True, lower=True, unit_diagonal=False, transpose_a="ADJOINT")]

    out = build(algebra, aval(3, 3), aval(3, 2))
    assert "ADJOINT" in out and "type = RFFT" in out


def test_reductions():
    def reductions(x):
        zero = hlo.full(0, (), np.float32)
        pair = hlo.reduce([x, x], [zero, zero], (0,), lambda a, b, c, d: [hlo.add(a, c), hlo.maximum(b, d)])
        window = hlo.reduce_window([x], [zero], [aval(2, 2)], hlo.maximum, window=(3, 2), strides=(1, 1),
                                   padding=((0, 0), (0, 0)), base_dilation=(1, 1), window_dilation=(1, 1))
        spread = hlo.select_and_scatter(x, window[0], zero, aval(4, 3), lambda a, b: hlo.compare(a, b, "GE"), hlo.add,
                                        window=(3, 2), strides=(1, 1), padding=((0, 0), (0, 0)))
        return [*hlo.reduce([x], [zero], (0, 1), hlo.add), *pair, *window, spread]

    out = build(reductions, aval(4, 3))
    assert "applies stablehlo.add across dimensions = [0, 1]" in out
    assert "stablehlo.select_and_scatter" in out and "stablehlo.reduce_window" in out


def test_sort():
    out = build(lambda x, y: hlo.sort([x, y], 0, lambda a, b, c, d: hlo.compare(a, b, "LT")),
                aval(5), aval(5, dtype=I32))
    assert "is_stable = true" in out and "dimension = 0" in out


def test_control_flow():
    def flow(x, i, p):
        def body(n, y):
            return [hlo.add(n, i), hlo.add(y, x)]  # values from outside

        return [*hlo.while_loop([i, x], lambda n, y: hlo.compare(n, i, "LT"), body),
                *hlo.case(i, [lambda: [x], lambda: [hlo.negate(x)]], [ir_type(aval(2))]),
                *hlo.if_(p, lambda: x, lambda: hlo.negate(x), [ir_type(aval(2))])]

    out = build(flow, aval(2), aval(dtype=I32), aval(dtype=BOOL))
    assert "stablehlo.while" in out and "stablehlo.case" in out and "stablehlo.if" in out


def test_foreign_calls():
    def calls(x):
        types = [tensor_type((2, 3), np.dtype(np.float32))] * 2
        i32 = _jaxlib.ir.IntegerAttr.get(_jaxlib.ir.IntegerType.get_signless(32), 7)
        return [*hlo.custom_call("target", [x], types, backend_config={"n": i32}, operand_layouts=[(1, 0)],
                                 result_layouts=[(1, 0), (0, 1)], output_operand_aliases={0: 0}, has_side_effect=True),
                *hlo.custom_call("old", [x], types[:1], api_version=2, backend_config="text",
                                 output_operand_aliases={0: 0})]

    out = build(calls, aval(2, 3))
    assert "@target" in out and "n = 7 : i32" in out and "has_side_effect = true" in out
    assert "output_operand_alias<output_tuple_indices = [0]" in out
    assert 'backend_config = "text"' in out


def test_random_bits():
    out = build(lambda s: [*hlo.rng_bit_generator(s, aval(4, dtype=U32), "THREE_FRY")], aval(2, dtype=np.uint64))
    assert "algorithm = THREE_FRY" in out


def test_collectives():
    def collectives(x):
        groups = [[0, 1], [2, 3]]
        return [*hlo.all_reduce([x], groups, hlo.add, channel=1, use_global_ids=True),
                hlo.all_gather(x, aval(8, 2), 0, groups), hlo.reduce_scatter(x, aval(2, 2), 0, groups, hlo.add),
                hlo.all_to_all(x, aval(2, 4), 0, 1, 2, groups), hlo.collective_permute(x, [(0, 1), (1, 0)]),
                hlo.collective_broadcast(x, groups), hlo.replica_id(), hlo.partition_id()]

    out = build(collectives, aval(4, 2))
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute", "replica_id"):
        assert f"stablehlo.{name}" in out
    assert "channel_handle<handle = 1, type = 1>" in out
    assert "[0, 1], [2, -1]" in build(lambda x: hlo.all_reduce([x], [[0, 1], [2]], hlo.add), aval(4, 2))


def test_tokens():
    out = build(lambda: hlo.after_all([hlo.create_token(), hlo.create_token()]))
    assert "stablehlo.after_all" in out


def test_arbitrary_operations():
    out = build(lambda x: [hlo.op("stablehlo.add", [x.type], [x, x]).result, hlo.op1("stablehlo.tan", x.type, [x]),
                           *hlo.opn("stablehlo.optimization_barrier", [x.type], [x])], ShapedArray((2,), np.float32))
    assert "stablehlo.add" in out and "stablehlo.tan" in out


def doubled_sum(factor, a, b):
    return hlo.add(hlo.multiply(a, hlo.full(factor, (), np.float32)), b)


def test_copied_regions_are_those_asked_for():
    def reductions(x, y):
        zero = hlo.full(0, (), np.float32)
        outside = hlo.full(7, (), np.float32)
        outs = []
        for combine in (hlo.add, hlo.maximum, functools.partial(doubled_sum, 2), functools.partial(doubled_sum, 3),
                        lambda a, b: hlo.add(hlo.multiply(a, outside), b)):
            for operand, dims in ((x, (0,)), (x, (1,)), (y, (0,)), (x, (0,))):
                outs += hlo.reduce([operand], [zero], dims, combine)
        return outs

    out = build(reductions, aval(3, 3), aval(4, 3))
    lines = [line for line in out.split("\n") if "stablehlo.reduce(" in line]
    assert len(lines) == 20
    for start, name in ((0, "add"), (4, "maximum")):
        found = [line.split("= ", 1)[1] for line in lines[start:start + 4]]
        assert all(f"applies stablehlo.{name} across" in line for line in found)
        assert ["dimensions = [0]" in line for line in found] == [True, False, True, True]
        assert ["tensor<4x3xf32>" in line for line in found] == [False, False, True, False]
    assert out.count("dense<2.000000e+00>") == out.count("dense<3.000000e+00>") == 4


def test_copies_have_locations_of_their_own():
    def reductions(x):
        zero = hlo.full(0, (), np.float32)
        outs = []
        for name in ("first", "second"):
            with _jaxlib.ir.Location.name(name):
                outs += hlo.reduce([x], [zero], (0,), hlo.add)
        assert [str(v.owner.location) for v in outs] == ['loc("first")', 'loc("second")']
        return outs

    build(reductions, aval(3))
