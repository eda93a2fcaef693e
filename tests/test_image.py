"""Resampled images: values of another implementation, PyTorch's conventions worked out by hand, derivatives, misuse."""

import json
import pathlib

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import image

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "image.json").read_text())
IMAGE = np.asarray(DATA["image"], np.float32)
METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


@pytest.mark.parametrize("method", ["nearest", *METHODS])
def test_values(method):
    for case in DATA["cases"]:
        if case["method"] != method:
            continue
        if case["kind"] == "resize":
            got = image.resize(IMAGE, case["shape"], method, antialias=case["antialias"])
        else:
            got = image.scale_and_translate(IMAGE, case["shape"], (0, 1), np.asarray(case["scale"]),
                                            np.asarray(case["translation"]), method, antialias=case["antialias"])
        np.testing.assert_allclose(got, case["out"], atol=2e-5, err_msg=str(case))


@pytest.mark.quick
def test_worked_examples():
    row = jnp.array([1.0, 3.0])
    assert image.resize(row, (4,), "linear").tolist() == [1.0, 1.5, 2.5, 3.0]
    assert image.resize(row, (5,), "nearest").tolist() == [1.0, 1.0, 3.0, 3.0, 3.0]
    assert image.resize(jnp.arange(6.0), (3,), "area").tolist() == [0.5, 2.5, 4.5]
    assert image.resize(jnp.arange(4.0), (2,), image.ResizeMethod.LINEAR, antialias=False).tolist() == [0.5, 2.5]
    moved = image.scale_and_translate(row, (3,), (-1,), jnp.ones(1), jnp.ones(1), "linear")
    assert moved.tolist() == [0.0, 1.0, 3.0]


def test_axes_are_independent_and_others_stay():
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype(np.float32)
    got = image.resize(x, (2, 6, 5, 3), "cubic")
    one_by_one = np.stack([[image.resize(x[b, ..., c], (6, 5), "cubic") for c in range(3)] for b in range(2)])
    np.testing.assert_allclose(got, np.moveaxis(one_by_one, 1, -1), rtol=1e-5, atol=1e-6)
    assert jax.vmap(lambda y: image.resize(y, (6, 5, 3), "cubic"))(x).shape == (2, 6, 5, 3)


@pytest.mark.parametrize("dtype, same", [("uint8", False), ("int32", False), ("bool", False), ("float16", True),
                                         ("bfloat16", True), ("complex64", True)])
def test_dtypes(dtype, same):
    x = jnp.asarray(IMAGE > 0).astype(dtype)
    assert image.resize(x, (3, 3), "nearest").dtype == dtype
    out = image.resize(x, (3, 3), "linear")
    assert out.dtype == (dtype if same else np.float32)
    expected = image.resize(np.asarray(IMAGE > 0, np.float32), (3, 3), "linear")
    np.testing.assert_allclose(np.asarray(out, np.complex64).real, expected, atol=2e-2 if "16" in dtype else 1e-5)


def test_double_precision_weights():
    with jax.enable_x64(True):
        out = image.resize(jnp.eye(3), (7, 3), "linear")
        assert out.dtype == np.float64
        np.testing.assert_allclose(out.sum(1), np.ones(7), rtol=1e-14)
        np.testing.assert_allclose(out[1, 0], 1 - ((1.5 * 3 / 7) - 0.5), rtol=1e-14)


@pytest.mark.parametrize("method", ["cubic", "lanczos3", "area"])
def test_derivatives(method):
    def f(x, scale, move):
        return (image.scale_and_translate(x, (4, 4), (0, 1), scale, move, method) ** 2).sum()
    with jax.enable_x64(True):
        args = (jnp.asarray(IMAGE, float), jnp.array([0.71, 1.13]), jnp.array([0.41, -0.27]))
        tangents = [np.random.default_rng(1).normal(size=np.shape(a)) for a in args]
        both = jax.jit(lambda args, tangents: (jax.grad(f, (0, 1, 2))(*args), jax.jvp(f, args, tangents)[1]))
        grads, forward = both(args, tuple(tangents))
        np.testing.assert_allclose(forward, sum((g * t).sum() for g, t in zip(grads, tangents, strict=True)), rtol=1e-9)
        run = jax.jit(f)
        steps = [run(*[a + s * 1e-6 * t for a, t in zip(args, tangents, strict=True)]) for s in (1, -1)]
        np.testing.assert_allclose(forward, (steps[0] - steps[1]) / 2e-6, rtol=1e-5)


def test_empty_and_scalar_images():
    assert image.resize(jnp.zeros((3, 4)), (0, 4), "linear").shape == (0, 4)
    assert image.resize(jnp.zeros((0, 4)), (0, 2), "nearest").shape == (0, 2)
    assert image.resize(jnp.float32(2.0), (), "cubic") == 2.0


@pytest.mark.parametrize("call, error, text", [
    (lambda: image.resize(IMAGE, (5, 7, 1), "linear"), ValueError, r"one entry for each axis.*\(5, 7\)"),
    (lambda: image.resize(IMAGE, (5, -7), "linear"), ValueError, "negative"),
    (lambda: image.resize(IMAGE, (5, 7), "bogus"), ValueError, "unknown method 'bogus'; there are area, bicubic"),
    (lambda: image.resize(IMAGE, (5, 7), 3), ValueError, "ResizeMethod or its name"),
    (lambda: image.resize([1.0, 2.0], (3,), "linear"), TypeError, "it got a list"),
    (lambda: image.resize(np.zeros((0, 2)), (1, 2), "linear"), ValueError, "no elements"),
    (lambda: image.resize(IMAGE, (5.5, 7), "linear"), TypeError, "integers"),
    (lambda: image.scale_and_translate(IMAGE, (5, 7), (0,), np.ones(1), np.ones(1), "nearest"), ValueError, "nearest"),
    (lambda: image.scale_and_translate(IMAGE, (5, 9), (0,), np.ones(1), np.ones(1), "area"), ValueError, "axis 1 is not"),
    (lambda: image.scale_and_translate(IMAGE, (5, 7), (0, -2), np.ones(2), np.ones(2), "area"), ValueError, "twice"),
    (lambda: image.scale_and_translate(IMAGE, (5, 7), (0, 2), np.ones(2), np.ones(2), "area"), ValueError, "must lie"),
    (lambda: image.scale_and_translate(IMAGE, (5, 7), (0,), np.ones(2), np.ones(1), "area"), ValueError, "scale must"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
