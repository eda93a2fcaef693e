"""MLIR types and constants of every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jax
from jax import dtypes
from jax import numpy as jnp
from jax._base import _jaxlib
from jax._language.avals import ShapedArray, abstract_token
from jax._lowering.context import activate, current_state, give_back_state, take_state
from jax._lowering.types import constant_array, elements_attr, enum_attr, i64_attr, ir_constant, ir_type

from .helpers import aval, build

pytestmark = pytest.mark.quick

TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
    "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>", "bfloat16": "bf16", "int4": "i4", "uint4": "ui4",
    "int2": "i2", "uint2": "ui2", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
}


def dtype_named(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


@pytest.fixture
def mlir():
    state = take_state()
    with activate(state):
        yield state


@pytest.mark.parametrize("name", TYPES)
def test_type_of_dtype(mlir, name):
    assert str(ir_type(ShapedArray((2, 3), dtype_named(name)))) == f"tensor<2x3x{TYPES[name]}>"


def test_special_types(mlir):
    assert str(ir_type(abstract_token)) == "!stablehlo.token"
    assert str(ir_type(ShapedArray((4,), dtypes.float0))) == "tensor<4xi1>"
    assert ir_type(aval(3)) is ir_type(aval(3))
    with pytest.raises(TypeError, match="compiled program"):
        ir_type("no aval")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("values", [[1], [1, 0, 1], [1, 1, 1], [0, 1] * 6], ids=["one", "three", "splat", "twelve"])
def test_constants_of_every_dtype(mlir, name, values):
    value = np.array(values, np.float32).astype(dtype_named(name))
    if value.dtype.kind != "V" and np.issubdtype(value.dtype, np.number):
        value = value + value  # something other than ones
    attr = elements_attr(value)
    assert str(attr.type) == f"tensor<{len(values)}x{TYPES[name]}>"
    if name in ("bool", "int8", "int32", "uint8", "uint32", "int64", "float32", "float64"):
        exact = _jaxlib.ir.DenseIntElementsAttr if value.dtype.kind in "biu" else _jaxlib.ir.DenseFPElementsAttr
        assert [exact(attr)[i] for i in range(len(values))] == value.tolist()
    assert attr.is_splat == (len(set(values)) == 1)


def test_small_integers_keep_their_sign(mlir):
    assert "[-8, 7, 0]" in str(elements_attr(np.array([-8, 7, 0], ml_dtypes.int4)))
    assert "[1, -2, 0]" in str(elements_attr(np.array([1, -2, 0], ml_dtypes.int2)))


def test_complex_and_narrow_floats(mlir):
    assert "(1.000000e+00,-2.000000e+00)" in str(elements_attr(np.array([1 - 2j, 0], np.complex64)))
    assert "[1.500000e+00, -2.000000e+00]" in str(elements_attr(np.array([1.5, -2], ml_dtypes.bfloat16)))


def test_layout_of_memory_does_not_matter(mlir):
    value = np.arange(6, dtype=np.int32).reshape(2, 3)
    expected = str(elements_attr(value))
    assert str(elements_attr(np.asfortranarray(value))) == expected
    assert str(elements_attr(value[::-1][::-1])) == expected
    assert "[2, 1, 0], [5, 4, 3]" in str(elements_attr(value[:, ::-1]))
    assert "[true, true], [false, false]" in str(elements_attr(np.array([[True, False]] * 2).T))


def test_signed_zeros_are_not_one_value(mlir):
    assert not elements_attr(np.array([0.0, -0.0])).is_splat
    assert elements_attr(np.array([np.nan] * 3, np.float32)).is_splat


def test_empty_and_rank_zero(mlir):
    assert str(elements_attr(np.zeros((0, 3), np.float32))) == "dense<> : tensor<0x3xf32>"
    assert str(elements_attr(np.float32(2))) == "dense<2.000000e+00> : tensor<f32>"


def test_scalars_fill_the_shape_asked_for():
    out = build(lambda: ir_constant(2, aval(3, 4)))
    assert "stablehlo.constant dense<2.000000e+00> : tensor<3x4xf32>" in out


def test_constant_array_takes_the_type_of_the_aval():
    assert constant_array(3, aval()).dtype == np.float32
    assert constant_array(np.zeros(2, dtypes.float0), ShapedArray((2,), dtypes.float0)).dtype == dtypes.float0


def test_attributes_are_cached(mlir):
    assert i64_attr(3) is i64_attr(3)
    assert enum_attr("ComparisonDirectionAttr", "LT") is enum_attr("ComparisonDirectionAttr", "LT")


def test_building_outside_of_a_lowering_says_so():
    with pytest.raises(RuntimeError, match="no lowering is under way"):
        current_state()


def test_contexts_are_used_again_until_they_retire():
    first = take_state()
    give_back_state(first)
    assert take_state() is first
    first.equations = 10**9
    give_back_state(first)
    assert take_state() is not first


@pytest.mark.parametrize("shape", [(2 ** 61,), (2 ** 31, 2 ** 31), (2 ** 40, 2 ** 40), (2 ** 64, 1)])
def test_arrays_whose_bytes_cannot_be_counted(shape):
    with pytest.raises(ValueError, match=r"type f32\[\d+(,\d+)?\] has axes for 2\*\*63 bytes or more"):
        jnp.ones(shape)
    with pytest.raises(ValueError, match=r"2\*\*63 bytes"):
        jax.jit(lambda: jnp.ones(shape).sum())()
    with pytest.raises(ValueError, match=r"2\*\*63 bytes"):
        jnp.zeros((0, *shape))
    assert jnp.zeros((0, 2 ** 40)).size == 0
