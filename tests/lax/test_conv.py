"""Convolutions: dimension numbers, shapes, transposed and local convolutions, patches, errors, structure."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax import numpy as jnp
from tests import window_model

rng = np.random.default_rng(0)
images = rng.normal(size=(2, 3, 6, 7)).astype(np.float32)
kernel = rng.normal(size=(4, 3, 2, 3)).astype(np.float32)
LAST = ("NHWC", "HWIO", "NHWC")


def names(fun, *args):
    return [e.primitive.name for e in jax.make_jaxpr(fun)(*args).jaxpr.eqns]


# --- dimension numbers and shapes -----------------------------------------------------------------------------------

def test_dimension_numbers():
    numbers = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, LAST)
    assert numbers == lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    assert lax.conv_dimension_numbers((1,) * 3, (1,) * 3, None) == lax.ConvDimensionNumbers(*[(0, 1, 2)] * 3)
    assert lax.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers) is numbers
    assert lax.conv_general_permutations(("WCHN", "OWIH", "NHCW")) == ((3, 1, 0, 2), (0, 2, 1, 3), (0, 2, 3, 1))


@pytest.mark.parametrize(("numbers", "message"), [
    (("NHWC", "HWIO", "NHWK"), r"\[2\] must contain the letters 'N' and 'C'"), (("NHWC", "HWII", "NHWC"), r"\[1\]"),
    (("NHC", "HWIO", "NHWC"), "one letter for each of the 4 dimensions"), (("NHWC", "HWIO"), "three strings"),
    ((None, "HWIO", "NHWC"), "must be strings"), (("NHWC", "HDIO", "NHWC"), "same spatial dimensions"),
    (("NHHC", "HWIO", "NHWC"), "repeats a letter"), (3, "None, three strings")])
def test_dimension_number_errors(numbers, message):
    with pytest.raises(TypeError, match=message):
        lax.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers)


def test_shape_tuples():
    assert lax.conv_shape_tuple((2, 6, 8, 9), (4, 6, 3, 3), (1, 2), [(0, 0), (1, 1)]) == (2, 4, 6, 5)
    assert lax.conv_general_shape_tuple((2, 8, 9, 6), (3, 3, 6, 4), (1, 2), "SAME", LAST) == (2, 8, 5, 4)
    numbers = ("NCHW", "OIHW", "NCHW")
    assert lax.conv_transpose_shape_tuple((2, 6, 8, 9), (6, 4, 3, 3), (1, 2), "SAME", numbers) == (2, 6, 8, 18)
    assert lax.conv_transpose_shape_tuple((2, 6, 8, 9), (4, 6, 3, 3), (1, 2), "VALID", numbers) == (2, 4, 10, 19)


def test_parameters():
    (eqn,) = jax.make_jaxpr(lambda x, k: lax.conv_general_dilated(
        x, k, [1, np.int64(2)], "SAME", rhs_dilation=(2, 1), precision="highest", preferred_element_type="float32"))(
            images, kernel).jaxpr.eqns
    iota = (0, 1, 2, 3)
    assert eqn.params == {
        "window_strides": (1, 2), "padding": ((1, 1), (1, 1)), "lhs_dilation": (1, 1), "rhs_dilation": (2, 1),
        "dimension_numbers": lax.ConvDimensionNumbers(iota, iota, iota), "feature_group_count": 1, "batch_group_count": 1,
        "precision": (lax.Precision.HIGHEST,) * 2, "preferred_element_type": np.dtype(np.float32), "out_sharding": None}


# --- special convolutions -------------------------------------------------------------------------------------------

def test_conv():
    expected = window_model.convolve(images, kernel, (1, 2), [(0, 1), (1, 1)])
    np.testing.assert_allclose(lax.conv(images, kernel, (1, 2), "SAME"), expected, rtol=1e-4, atol=1e-5)
    out = lax.conv_with_general_padding(images, kernel, (1, 1), [(1, 0), (2, 1)], (2, 1), (1, 2))
    expected = window_model.convolve(images, kernel, (1, 1), [(1, 0), (2, 1)], (2, 1), (1, 2))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_conv_transpose_is_the_transpose(strides, padding):
    """With the kernel transposed it is the derivative of the strided convolution whose result has that shape."""
    x = rng.normal(size=(2, 4, 5, 3)).astype(np.float32)
    k = rng.normal(size=(3, 3, 4, 3)).astype(np.float32)  # of the forward convolution: 4 features to 3
    out = lax.conv_transpose(x, k, strides, padding, transpose_kernel=True)

    def forward(y):
        return lax.conv_general_dilated(y, k, strides, padding, dimension_numbers=LAST)
    assert jax.eval_shape(forward, out).shape == x.shape
    (expected,) = jax.linear_transpose(forward, out)(x)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_conv_transpose_padding():
    x, k = np.ones((2, 5, 3), np.float32), np.ones((2, 3, 4), np.float32)

    def pads(**kwargs):
        (eqn,) = jax.make_jaxpr(lambda x, k: lax.conv_transpose(x, k, (3,), **kwargs))(x, k).jaxpr.eqns
        return eqn.params["padding"], eqn.params["lhs_dilation"]
    assert pads(padding="SAME") == (((1, 2),), (3,))
    assert pads(padding=[(1, 2)]) == (((1, 2),), (3,))
    assert pads(padding=[(1, 2)], use_consistent_padding=True) == (((0, -1),), (3,))
    assert pads(padding="VALID", rhs_dilation=(2,)) == (((2, 2),), (3,))
    with pytest.raises(ValueError, match="'SAME' or 'VALID'"):
        pads(padding="FULL")


def test_patches():
    x = np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4)
    out = np.asarray(lax.conv_general_dilated_patches(x, (2, 2), (1, 2), "VALID"))
    assert out.shape == (2, 8, 2, 2)
    assert out[0, :, 0, 0].tolist() == [0, 1, 4, 5, 12, 13, 16, 17]
    last = lax.conv_general_dilated_patches(x.transpose(0, 2, 3, 1), (2, 2), (1, 2), "VALID", dimension_numbers=LAST)
    np.testing.assert_array_equal(last, out.transpose(0, 2, 3, 1))
    swapped = lax.conv_general_dilated_patches(x.transpose(0, 3, 2, 1), (2, 2), (1, 2), "VALID",
                                               dimension_numbers=("NWHC", "HWIO", "CWNH"))
    np.testing.assert_array_equal(swapped, out.transpose(1, 3, 0, 2))
    exact = lax.conv_general_dilated_patches(x.astype(np.int32), (2, 2), (1, 1), "SAME", preferred_element_type=np.int16)
    assert exact.dtype == np.int16 and exact.shape == (2, 8, 3, 4)


def test_local_convolution_with_equal_kernels_is_a_convolution():
    expected = lax.conv_general_dilated(images, kernel, (1, 2), "VALID", rhs_dilation=(2, 1))
    place = kernel.reshape(4, -1, 1, 1) * np.ones((1, 1, *expected.shape[2:]), np.float32)
    out = lax.conv_general_dilated_local(images, place, (1, 2), "VALID", (2, 3), rhs_dilation=(2, 1))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


# --- structure ------------------------------------------------------------------------------------------------------

def test_backward_pass():
    def pullback(x, k, c):
        return jax.vjp(lambda x, k: lax.conv(x, k, (1, 2), "SAME"), x, k)[1](c)
    c = np.ones((2, 4, 6, 4), np.float32)
    assert sorted(names(pullback, images, kernel, c)) == ["conv_general_dilated"] * 3 + ["rev"]


@pytest.mark.parametrize("layout", [None, LAST])
def test_batches_of_images_are_reshaped_only(layout):
    x = images if layout is None else images.transpose(0, 2, 3, 1)
    k = kernel if layout is None else kernel.transpose(2, 3, 1, 0)

    def f(x, k):
        return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=layout)
    assert names(jax.vmap(f, (0, None)), x[None], k) == ["reshape", "conv_general_dilated", "reshape"]
    assert names(jax.vmap(f, (1, None), 1), x[:, None], k) == ["reshape", "conv_general_dilated", "reshape"]


def test_depthwise_convolution_on_cpus_is_a_sum_of_products():
    x, k = np.ones((1, 8, 5, 5), np.float32), np.ones((8, 1, 3, 3), np.float32)
    f = jax.jit(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=8))
    assert "stablehlo.convolution" not in f.lower(x, k).as_text()
    f = jax.jit(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=2))
    assert "stablehlo.convolution" in f.lower(x, np.ones((8, 4, 3, 3), np.float32)).as_text()


# --- errors ---------------------------------------------------------------------------------------------------------

def conv(x=images, k=kernel, strides=(1, 1), padding="SAME", **kwargs):
    return lax.conv_general_dilated(x, k, strides, padding, **kwargs)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: conv(k=kernel[:, :2]), ValueError, r"\(2, 3, 6, 7\).*\(4, 2, 2, 3\).*3 features.*2 input features"),
    (lambda: conv(k=kernel[..., 0]), TypeError, "same rank"),
    (lambda: conv(k=kernel.astype(np.float16)), TypeError, "float32 and rhs float16"),
    (lambda: conv(strides=(1,)), ValueError, "window_strides must have one entry for each of the 2 spatial"),
    (lambda: conv(strides=(1, 0)), ValueError, "window_strides must be positive"),
    (lambda: conv(padding="FULL"), RuntimeError, "'SAME_LOWER'"),
    (lambda: conv(padding=[(1, 1)]), ValueError, "one pair for each"),
    (lambda: conv(padding=2), ValueError, "pairs of integers"),
    (lambda: conv(lhs_dilation=(2, 2)), ValueError, "conv_transpose"),
    (lambda: conv(padding=((0, 0), (-9, -9))), ValueError, "removes more"),
    (lambda: conv(feature_group_count=2), ValueError, "feature_group_count=2 does not divide the 3 features"),
    (lambda: conv(k=np.ones((4, 1, 2, 2), np.float32), feature_group_count=3), ValueError, "4 output features"),
    (lambda: conv(batch_group_count=3), ValueError, "batch of 2"),
    (lambda: conv(k=kernel[:3], batch_group_count=2), ValueError, "3 output features"),
    (lambda: conv(feature_group_count=0), ValueError, "positive integers"),
    (lambda: conv(feature_group_count=3, batch_group_count=2), ValueError, "cannot both be above 1")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.quick
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_no_examples(in_axes):
    def product(x, y):
        return lax.conv_general_dilated(x, y, (1,), "SAME")
    x, y = (jnp.ones((0, 1, 1, 4) if mapped == 0 else (1, 1, 4)) for mapped in in_axes)
    assert jax.vmap(product, in_axes)(x, y).shape == (0, 1, 1, 4)
