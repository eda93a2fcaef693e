"""Types of element-wise operations: weak types, 64-bit mode, errors that name the remedy, empty and 0-d arrays."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import dtypes, lax
from jax._base.config import enable_x64
from tests.ops import BFLOAT16

x32 = np.arange(6, dtype=np.float32).reshape(2, 3)


def result_type(fn, *args):
    (aval,) = jax.make_jaxpr(fn)(*args).out_avals
    return str(aval.dtype), aval.weak_type


@pytest.mark.parametrize(("fn", "args", "expected"), [
    (lax.sin, (2.0,), ("float32", True)),
    (lax.add, (1, 2), ("int32", True)),
    (lambda x: lax.add(x, 1.0), (x32,), ("float32", False)),
    (lambda x: lax.add(x, 1.0), (2.0,), ("float32", True)),
    (lambda x: lax.pow(x, 2), (2.0,), ("float32", True)),
    (lambda x: lax.pow(x, 2), (x32.astype(BFLOAT16),), ("bfloat16", False)),
    (lambda x: lax.integer_pow(x, 2), (3,), ("int32", True)),
    (lambda x: lax.complex(x, x), (2.0,), ("complex64", True)),
    (lax.abs, (2j,), ("float32", True)),
    (lambda x: lax.select_n(True, x, x), (2.0,), ("float32", True)),
    (lambda x: lax.select_n(True, x, np.float32(2)), (2.0,), ("float32", False)),
    (lambda x: lax.clamp(0.0, np.float32(2), x), (2.0,), ("float32", False)),
    (lambda x: lax.reduce_precision(x, 5, 3), (2.0,), ("float32", True)),
    (lambda x: lax.full_like(x, 3), (2.0,), ("float32", True)),
    (lambda x: lax.full_like(x, 3.0, dtype=np.int8), (2.0,), ("int8", False)),
    (lambda x: lax.full((2,), x), (2,), ("int32", True)),
    (lambda x: lax.full((2,), x, float), (2,), ("float32", False)),
    (lambda x: lax.convert_element_type(x, np.float32), (2.0,), ("float32", False)),
    (lambda x: lax.convert_element_type(x, float), (2,), ("float32", False)),
    (lambda x: lax.conj(x), (x32,), ("complex64", False)),
    (lambda x: lax.mul(x, x, out_dtype=np.float16), (x32,), ("float16", False)),
    (lambda: lax.iota(float, 3), (), ("float32", False)),
])
def test_result_types(fn, args, expected):
    assert result_type(fn, *args) == expected
    out = fn(*args)
    assert (str(out.dtype), out.weak_type) == expected


def test_wide_types_follow_the_option():
    wide = np.arange(3, dtype=np.float64)
    assert lax.sin(wide).dtype == np.float32
    assert lax.add(1, 2).dtype == np.int32
    with enable_x64(True):
        assert lax.sin(wide).dtype == np.float64
        assert lax.sin(1.0).dtype == np.float64
        assert lax.add(1, 2).dtype == np.int64
        assert lax.iota(int, 3).dtype == np.int64


@pytest.mark.parametrize(("fn", "args", "words"), [
    (lax.sin, (np.arange(3),), ["sin", "int32", "floating", "astype"]),
    (lax.neg, (np.ones(3, bool),), ["neg", "bool"]),
    (lax.abs, (np.ones(3, np.uint8),), ["abs", "uint8"]),
    (lax.lt, (x32 + 0j, x32 + 0j), ["lt", "complex64"]),
    (lax.add, (x32, 1), ["add", "float32", "int32", "jax.numpy"]),
    (lax.add, (x32.astype(BFLOAT16), 1.0), ["add", "bfloat16", "float32", "convert_element_type"]),
    (lax.add, (x32, x32[0]), ["add", "(2, 3)", "(3,)", "rank"]),
    (lax.add, (x32, x32.T), ["add", "(2, 3)", "(3, 2)"]),
    (lax.sin, ([1.0, 2.0],), ["list", "jnp.array"]),
    (lax.sin, (None,), ["None"]),
    (lax.sin, ("1",), ["str"]),
    (lax.pow, (np.arange(3), 2), ["pow", "int32"]),
    (lax.pow, (x32.astype(BFLOAT16), 2.0), ["pow", "bfloat16", "float32"]),
    (lax.select, (x32 > 0, x32, 1.0), ["same shape", "(2, 3)", "jnp.where"]),
    (lax.select_n, (x32, x32, x32), ["which", "float32"]),
    (lax.select_n, (x32 > 0, x32, x32, x32), ["boolean", "3"]),
    (lax.select_n, (np.ones(3, bool), x32, x32), ["which", "(3,)"]),
    (lax.clamp, (np.zeros(3, np.float32), x32, 1.0), ["clamp", "min", "(3,)"]),
    (lax.clamp, (0, x32, 1.0), ["clamp", "int32", "jnp.clip"]),
    (lax.complex, (x32.astype(BFLOAT16),) * 2, ["float32", "bfloat16"]),
    (lambda: lax.integer_pow(np.arange(3), -1), (), ["negative", "int32"]),
    (lambda: lax.full((2,), x32), (), ["scalar", "(2, 3)"]),
    (lambda: lax.iota(bool, 3), (), ["iota", "bool"]),
    (lambda: lax.iota(int, -3), (), ["negative"]),
    (lambda: lax.full(2.5, 1), (), ["sequences of integers"]),
    (lambda: lax.bitcast_convert_type(x32, np.complex64), (), ["complex64", "bits"]),
    (lambda: lax.convert_element_type([1.0], np.float32), (), ["list", "jnp.array"]),
])
def test_type_errors_name_operands_and_remedy(fn, args, words):
    with pytest.raises(TypeError) as error:
        fn(*args)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(("fn", "words"), [
    (lambda: lax.convert_element_type(x32, None), ["new_dtype"]),
    (lambda: lax.bitcast_convert_type(x32, np.uint8) if False else lax.bitcast_convert_type(np.ones((2, 3), np.uint8),
                                                                                            np.int32), ["last axis"]),
    (lambda: lax.broadcasted_iota(int, (3,), 1), ["dimension"]),
    (lambda: lax.reduce_precision(x32, 0, 3), ["exponent_bits"]),
    (lambda: lax.reduce_precision(x32, 3, -1), ["mantissa_bits"]),
    (lambda: lax.Tolerance(), ["at least one"]),
    (lambda: lax.Tolerance(atol=-1.0), ["negative"]),
])
def test_value_errors(fn, words):
    with pytest.raises(ValueError) as error:
        fn()
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_empty_and_0d(shape):
    x = np.full(shape, 0.5, np.float32)
    for fn in (lax.neg, lax.exp, lax.exp2, lax.log2, lax.abs, lax.sign, lax.erf_inv, lax.igamma, lax.floor,
               lax.add, lax.div, lax.max, lax.pow, lax.atan2, lax.lt, lax.complex, lax.nextafter, lax.square):
        args = (x, x) if fn in (lax.add, lax.div, lax.max, lax.pow, lax.atan2, lax.lt, lax.complex, lax.nextafter,
                                lax.igamma) else (x,)
        assert fn(*args).shape == shape
    assert lax.select(x > 0, x, x).shape == shape
    assert lax.clamp(0.0, x, 1.0).shape == shape


def test_integers_have_float0_tangents():
    zero = np.zeros((), dtypes.float0)
    out, tangent = jax.jvp(lax.add, (1, 2), (zero, zero))
    assert int(out) == 3 and tangent.dtype == dtypes.float0
    out, tangent = jax.jvp(lambda x: lax.convert_element_type(x, np.int32), (2.5,), (1.0,))
    assert int(out) == 2 and tangent.dtype == dtypes.float0
    out, tangent = jax.jvp(lambda x: lax.lt(x, 1.0), (2.5,), (1.0,))
    assert not out and tangent.dtype == dtypes.float0


def test_complex_to_real_warns():
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary"):
        out = lax.convert_element_type(x32 + 1j, np.float32)
    np.testing.assert_array_equal(out, x32)


def test_conversion_to_the_own_type_is_no_operation():
    x = lax.sin(x32)
    assert lax.convert_element_type(x, np.float32) is x
    assert not jax.make_jaxpr(lambda x: lax.convert_element_type(x, np.float32))(x32).eqns


def test_names_and_parameters_in_jaxprs():
    text = str(jax.make_jaxpr(lambda x: (
        lax.integer_pow(x, 3), lax.convert_element_type(x, np.int32), lax.exp(x), lax.mul(x, 2.0), lax.conj(x),
        lax.round(x), lax.full((2,), 1.5), lax.iota(np.int32, 3)))(x32))
    for piece in ("integer_pow[y=3]", "convert_element_type[new_dtype=int32 weak_type=False]", " = exp ",
                  " = mul a 2.0:f32[]", "conj[input_dtype=float32]", "round[rounding_method=0]",
                  "broadcast_in_dim[broadcast_dimensions=() shape=(2,)] 1.5:f32[]", "iota[dimension=0 dtype=int32"):
        assert piece in text, f"{piece!r} is not in\n{text}"


def test_accuracy_reaches_the_compiler():
    def text(accuracy):
        return jax.jit(lambda x: lax.exp(x, accuracy=accuracy)).lower(x32).as_text()

    assert "result_accuracy" not in text(None)
    assert "HIGHEST" in text(lax.AccuracyMode.HIGHEST)
    assert "ulps = 3" in text(lax.Tolerance(ulps=3))
    np.testing.assert_allclose(lax.exp(x32, accuracy=lax.AccuracyMode.HIGHEST), np.exp(x32), rtol=1e-6)
    out, tangent = jax.jvp(lambda x: lax.tanh(x, accuracy=lax.AccuracyMode.HIGHEST), (0.5,), (1.0,))
    np.testing.assert_allclose([out, tangent], [np.tanh(0.5), 1 - np.tanh(0.5) ** 2], rtol=1e-6)
    with pytest.raises(TypeError, match="accuracy"):
        lax.exp(x32, accuracy="best")


def test_one_operation_each():
    """What is one operation of StableHLO is one operation of the module."""
    text = jax.jit(lambda x: lax.abs(lax.sin(lax.add(x, x)))).lower(x32).as_text()
    body = [line for line in text.splitlines() if " = stablehlo." in line or " = chlo." in line]
    assert [line.split(" = ")[1].split()[0] for line in body] == ["stablehlo.add", "stablehlo.sine", "stablehlo.abs"]
