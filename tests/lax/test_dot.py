"""Products: types, precisions, algorithms, errors, and how they are traced and batched."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax._base.config import default_matmul_precision, enable_x64

MATRICES = (((1,), (0,)), ((), ()))
x23, x34 = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)


def eqns(fun, *args):
    return jax.make_jaxpr(fun)(*args).jaxpr.eqns


def primitives(fun, *args):
    return [e.primitive.name for e in eqns(fun, *args)]


def test_parameters():
    (eqn,) = eqns(lambda x, y: lax.dot_general(x, y, ([[1], [np.int64(0)]], [[], []])), x23, x34)
    assert eqn.params == {"dimension_numbers": MATRICES, "precision": None, "preferred_element_type": None,
                          "out_sharding": None}
    assert eqn.params["dimension_numbers"] == MATRICES
    hash(tuple(eqn.params.values()))


# --- precision ------------------------------------------------------------------------------------------------------

H, D = lax.Precision.HIGHEST, lax.Precision.DEFAULT


@pytest.mark.parametrize(("given", "param"), [
    ("highest", (H, H)), ("float32", (H, H)), (lax.Precision.HIGH, (lax.Precision.HIGH,) * 2), ("tensorfloat32",
                                                                                                (lax.Precision.HIGH,) * 2),
    ((H, D), (H, D)), (("highest", "default"), (H, D)), ("fastest", (D, D)), ("bfloat16", (D, D)),
    ("F32_F32_F32", lax.DotAlgorithmPreset.F32_F32_F32),
    (lax.DotAlgorithmPreset.BF16_BF16_F32, lax.DotAlgorithmPreset.BF16_BF16_F32)])
def test_precision(given, param):
    (eqn,) = eqns(lambda x, y: lax.dot(x, y, precision=given), x23, x34)
    assert eqn.params["precision"] == param


def test_default_precision():
    with default_matmul_precision("high"):
        assert eqns(lax.dot, x23, x34)[0].params["precision"] == (lax.Precision.HIGH,) * 2
        explicit = eqns(lambda x, y: lax.dot(x, y, precision="highest"), x23, x34)
        assert explicit[0].params["precision"] == (H, H)
    with default_matmul_precision("F32_F32_F32"):
        assert eqns(lax.dot, x23, x34)[0].params["precision"] is lax.DotAlgorithmPreset.F32_F32_F32


@pytest.mark.parametrize("bad", ["HIGHEST", "fast", 3, ("highest",), (H, D, H)])
def test_precision_errors(bad):
    with pytest.raises(ValueError, match=r"precision must be None.*'highest'.*DotAlgorithmPreset"):
        lax.dot(x23, x34, precision=bad)


def test_precision_names():
    assert lax.Precision("highest") is lax.Precision.HIGHEST and lax.Precision(None) is lax.Precision.DEFAULT
    assert str(lax.Precision.HIGH) == "HIGH"
    with pytest.raises(ValueError):
        lax.Precision("most")


def test_precision_follows_its_operand():
    def cotangents(x, y):
        return jax.vjp(lambda x, y: lax.dot(x, y, precision=(H, D)), x, y)[1](np.ones((2, 4), np.float32))
    products = [e for e in eqns(cotangents, x23, x34) if e.primitive is lax.dot_general_p]
    of_y = next(e for e in products[1:] if e.outvars[0].aval.shape == (3, 4))
    assert of_y.params["precision"] == ((H, D) if of_y.invars[0].aval.shape == (2, 3) else (D, H))


# --- algorithms -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("preset", ["F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
                                    "F16_F16_F16", "DEFAULT"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_algorithms(preset, dtype):
    rng = np.random.default_rng(0)
    x, y = (lax.convert_element_type(rng.normal(size=s), dtype) for s in ((2, 3), (3, 4)))
    out = lax.dot(x, y, precision=preset)
    assert out.dtype == x.dtype
    exact = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    np.testing.assert_allclose(np.asarray(out, np.float64), exact, atol=0.05)
    text = jax.jit(lambda x, y: lax.dot(x, y, precision=preset)).lower(x, y).as_text()
    assert ("algorithm" in text) == (preset != "DEFAULT")


def test_algorithm_errors_and_facts():
    with pytest.raises(ValueError, match="TF32_TF32_F32 is not available on CPUs; available are BF16_BF16_F32"):
        lax.dot(x23, x34, precision="TF32_TF32_F32")
    preset = lax.DotAlgorithmPreset.BF16_BF16_F32
    assert preset.accumulation_type is np.float32
    assert np.float32 in preset.supported_lhs_types and preset.supported_rhs_types == preset.supported_lhs_types
    assert preset.supported_output_types(np.float32, np.float32) == (np.float32,)
    assert lax.DotAlgorithmPreset.DEFAULT.supported_output_types(np.float32, np.float32) is None
    custom = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    assert custom.num_primitive_operations == 1
    text = jax.jit(lambda x, y: lax.dot(x, y, precision=custom)).lower(x23, x34).as_text()
    assert "accumulation_type = f32" in text


# --- types ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("x", "y", "out"), [
    ("float32", "int32", "float32"), ("bfloat16", "float16", "bfloat16"), ("int8", "uint8", "int8"),
    ("uint32", "int8", "uint32"), ("bool", "bool", "bool"), ("complex64", "float32", "complex64"),
    ("float8_e4m3fn", "float8_e5m2", "float8_e5m2"), ("float8_e4m3fn", "float32", "float32")])
def test_mixed_types(x, y, out):
    x, y = lax.convert_element_type(x23, x), lax.convert_element_type(x34, y)
    assert lax.dot(x, y).dtype == out
    assert lax.dot(y.T if hasattr(y, "T") else lax.transpose(y, (1, 0)), lax.transpose(x, (1, 0))).dtype == out


@pytest.mark.parametrize(("dtype", "preferred"), [("bfloat16", "float32"), ("int8", "int32"), ("float32", "bfloat16"),
                                                  ("uint8", "float32")])
def test_preferred_element_type(dtype, preferred):
    x = lax.convert_element_type(np.full((2, 3), 100), dtype)
    out = lax.dot(x, lax.transpose(x, (1, 0)), preferred_element_type=preferred)
    assert out.dtype == preferred
    np.testing.assert_allclose(np.asarray(out, np.float64), 30000, rtol=0.01)


def test_preferred_element_type_is_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="float64"):
        assert lax.dot(x23, x34, preferred_element_type=np.float64).dtype == np.float32
    with enable_x64(True):
        assert lax.dot(x23, x34, preferred_element_type=np.float64).dtype == np.float64


def test_gradients_have_the_types_of_the_operands():
    x, y = (lax.convert_element_type(a, "bfloat16") for a in (x23, x34))
    out, pull = jax.vjp(lambda x, y: lax.dot(x, y, preferred_element_type=np.float32), x, y)
    assert out.dtype == np.float32
    assert [c.dtype for c in pull(np.ones((2, 4), np.float32))] == [x.dtype, y.dtype]


def test_real_operand_of_a_complex_product():
    y = (x34 * (1 + 2j)).astype(np.complex64)
    _, pull = jax.vjp(lambda x: lax.dot(x, y), x23)
    (ct,) = pull(np.full((2, 4), 1 - 1j, np.complex64))
    assert ct.dtype == np.float32
    np.testing.assert_allclose(ct, np.full((2, 3), 12.0))


def test_weak_types():
    aval = jax.make_jaxpr(lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))))(1.0, 2.0).out_avals[0]
    assert aval.weak_type
    aval = jax.make_jaxpr(lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))))(1.0, x23).out_avals[0]
    assert not aval.weak_type


# --- errors ---------------------------------------------------------------------------------------------------------

def test_mismatch_shows_both_shapes():
    with pytest.raises(TypeError, match=r"lhs of shape \(2, 3\) and rhs of shape \(2, 3\).*dimension 1 of lhs has size 3"
                                        r".*0 of rhs.*size 2"):
        lax.dot_general(x23, x23, MATRICES)
    with pytest.raises(TypeError, match=r"shapes \(2, 3\) and \(2, 3\)"):
        lax.dot(x23, x23)


@pytest.mark.parametrize(("numbers", "message"), [
    ((((2,), (0,)), ((), ())), r"lhs has rank 2.*\[0, 2\)"),
    ((((-1,), (0,)), ((), ())), "lhs has rank 2"),
    ((((1, 1), (0, 0)), ((), ())), "distinct"),
    ((((1,), (0,)), ((1,), (1,))), "distinct"),
    ((((1, 0), (0,)), ((), ())), "lhs has 2 contracting dimensions and rhs has 1"),
    ((((1,), (0,)), ((0,), ())), "lhs has 1 batch dimensions and rhs has 0"),
    ((((1,), (0,)), ((0,), (1,))), "batch dimension 0 of lhs has size 2")])
def test_dimension_number_errors(numbers, message):
    with pytest.raises(TypeError, match=message):
        lax.dot_general(x23, x34, numbers)


def test_rank_errors():
    with pytest.raises(ValueError, match=r"vectors or matrices, got shapes \(2, 3\) and \(1, 3, 4\)"):
        lax.dot(x23, x34[None])
    with pytest.raises(ValueError, match="same rank"):
        lax.batch_matmul(x23, x34[None])
    with pytest.raises(TypeError, match=r"jnp.array"):
        lax.dot([1.0, 2.0], x23)


# --- structure ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("numbers", [MATRICES, (((0,), (0,)), ((), ())), (((1,), (1,)), ((), ()))])
def test_backward_pass_of_a_dense_layer_needs_no_transposition(numbers):
    """x @ w with w in any orientation: the cotangent of w is one product."""
    (lc,), (rc,) = numbers[0]
    x = np.ones((3, 3), np.float32)

    def of_w(w, ct):
        return jax.vjp(lambda w: lax.dot_general(x, w, numbers), w)[1](ct)
    names = primitives(of_w, x, x)
    assert "transpose" not in names, (lc, rc, names)


@pytest.mark.parametrize(("in_axes", "out_axis"), [((0, None), 0), ((1, None), 1), ((2, None), 1), ((None, 0), 1),
                                                   ((None, 1), 1), ((None, 2), 2), ((0, 0), 0), ((2, 1), 0)])
def test_batching_needs_no_transposition(in_axes, out_axis):
    x = x23 if in_axes[0] is None else np.ones(np.insert((2, 3), in_axes[0], 5), np.float32)
    y = x34 if in_axes[1] is None else np.ones(np.insert((3, 4), in_axes[1], 5), np.float32)
    names = primitives(jax.vmap(lax.dot, in_axes, out_axis), x, y)
    assert names == ["dot_general"]


def test_products_of_two_linear_values_cannot_be_transposed():
    with pytest.raises(NotImplementedError, match="not linear"):
        jax.linear_transpose(lambda x: lax.dot(x, x), np.ones(3, np.float32))(1.0)
