"""Layers: shapes that are announced are those that come, values against NumPy, networks, misuse."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.example_libraries import stax

KEY = jax.random.key(0)


def _run(layer, x, **kwargs):
    """Output of a layer; the shape that its init function announces must be the one that comes."""
    shape, params = layer[0](KEY, (-1, *x.shape[1:]))
    out = layer[1](params, x, **kwargs)
    assert shape[0] == -1 and tuple(shape[1:]) == out.shape[1:]
    return np.asarray(out), params


X = np.random.default_rng(0).normal(size=(2, 6, 5, 3)).astype(np.float32)


@pytest.mark.quick
def test_dense():
    out, (w, b) = _run(stax.Dense(4), X[..., 0, :])
    np.testing.assert_allclose(out, X[..., 0, :] @ w + b, rtol=1e-5)
    assert w.shape == (3, 4) and b.shape == (4,)
    zeros = stax.Dense(4, jax.nn.initializers.ones, jax.nn.initializers.zeros)
    np.testing.assert_allclose(_run(zeros, X[:, 0, 0])[0], np.repeat(X[:, 0, 0].sum(-1, keepdims=True), 4, 1), rtol=1e-5)


def test_convolutions():
    out, (w, b) = _run(stax.Conv(4, (3, 2), (2, 1), "SAME"), X)
    assert w.shape == (3, 2, 3, 4) and b.shape == (1, 1, 1, 4) and out.shape == (2, 3, 5, 4)
    expected = jax.lax.conv_general_dilated(X, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    first = stax.GeneralConv(("NCHW", "OIHW", "NCHW"), 4, (3, 2))
    assert _run(first, np.moveaxis(X, -1, 1))[0].shape == (2, 4, 4, 4)
    assert _run(stax.ConvTranspose(4, (2, 2), (2, 2)), X)[0].shape == (2, 12, 10, 4)
    assert _run(stax.Conv1DTranspose(4, (2,), (2,)), X[:, 0])[0].shape == (2, 10, 4)


def test_pooling():
    windows = np.lib.stride_tricks.sliding_window_view(X, (2, 3), axis=(1, 2))
    np.testing.assert_allclose(_run(stax.MaxPool((2, 3)), X)[0], windows.max((-1, -2)), rtol=1e-6)
    np.testing.assert_allclose(_run(stax.SumPool((2, 3), (2, 1)), X)[0], windows.sum((-1, -2))[:, ::2], rtol=1e-5)
    np.testing.assert_allclose(_run(stax.AvgPool((2, 3)), X)[0], windows.mean((-1, -2)), rtol=1e-5)
    ones = np.ones((1, 3, 3, 1), np.float32)
    np.testing.assert_allclose(_run(stax.AvgPool((2, 2), padding="SAME"), ones)[0], ones)
    chw = _run(stax.MaxPool((2, 3), spec="NCHW"), np.moveaxis(X, -1, 1))[0]
    np.testing.assert_allclose(np.moveaxis(chw, 1, -1), windows.max((-1, -2)), rtol=1e-6)


def test_batch_norm():
    out, (beta, gamma) = _run(stax.BatchNorm(), X)
    mean, var = X.mean((0, 1, 2)), X.var((0, 1, 2))
    np.testing.assert_allclose(out, (X - mean) / np.sqrt(var + 1e-5), rtol=1e-4, atol=1e-5)
    assert beta.shape == gamma.shape == (3,)
    layer = stax.BatchNorm(axis=0, center=False, scale=False)
    assert layer[0](KEY, (-1, 6, 5, 3))[1] == ((), ())


@pytest.mark.parametrize("layer, fun", [
    (stax.Tanh, jnp.tanh), (stax.Relu, jax.nn.relu), (stax.Exp, jnp.exp), (stax.LogSoftmax, jax.nn.log_softmax),
    (stax.Softmax, jax.nn.softmax), (stax.Softplus, jax.nn.softplus), (stax.Sigmoid, jax.nn.sigmoid),
    (stax.Elu, jax.nn.elu), (stax.LeakyRelu, jax.nn.leaky_relu), (stax.Selu, jax.nn.selu), (stax.Gelu, jax.nn.gelu),
    (stax.Identity, jnp.asarray), (stax.elementwise(lambda x, p: x ** p, p=2), jnp.square),
])
def test_functions_of_elements(layer, fun):
    x = X[:, 0, 0]
    assert layer[0](KEY, x.shape) == (x.shape, ())
    np.testing.assert_allclose(layer[1]((), x), fun(x), rtol=1e-6)


def test_dropout():
    x = np.ones((1000, 3), np.float32)
    out, _ = _run(stax.Dropout(0.8), x, rng=KEY)
    assert set(np.unique(out)) == {0.0, np.float32(1 / 0.8)} and 0.75 < (out > 0).mean() < 0.85
    np.testing.assert_array_equal(_run(stax.Dropout(0.8, mode="test"), x)[0], x)
    with pytest.raises(ValueError, match="needs a key.*mode='test'"):
        _run(stax.Dropout(0.8), x)


def test_networks():
    init, apply = stax.serial(
        stax.Conv(4, (3, 3)), stax.Relu, stax.FanOut(3), stax.parallel(stax.Identity, stax.Tanh, stax.Dropout(0.5)),
        stax.FanInConcat(), stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Dense(3)), stax.FanInSum, stax.Flatten,
        stax.shape_dependent(lambda shape: stax.Dense(shape[-1] // 4)))
    shape, params = init(KEY, (-1, 6, 5, 3))
    out = jax.jit(apply)(params, X, rng=KEY)
    assert shape == (-1, 9) and out.shape == (2, 9)
    assert not np.allclose(out, apply(params, X, rng=jax.random.key(1)))
    grads = jax.grad(lambda p: apply(p, X, rng=KEY).sum())(params)
    assert jax.tree.structure(grads) == jax.tree.structure(params)
    # Each layer has a key of its own.
    weights = [p for p in jax.tree.leaves(params[6]) if p.ndim == 2]
    assert not np.allclose(weights[0], weights[1])


def test_the_documented_streams_of_keys():
    """A stack of layers splits its key once per layer; the first half goes on."""
    init, _ = stax.serial(stax.Dense(2), stax.Dense(2))
    _, ((w, _), (v, _)) = init(KEY, (-1, 2))
    rest, own = jax.random.split(KEY)
    np.testing.assert_array_equal(w, jax.nn.initializers.glorot_normal()(jax.random.split(own)[0], (2, 2)))
    own = jax.random.split(rest)[1]
    np.testing.assert_array_equal(v, jax.nn.initializers.glorot_normal()(jax.random.split(own)[0], (2, 2)))


@pytest.mark.parametrize("call, error, text", [
    (lambda: stax.serial(stax.Dense), TypeError, "pairs.*Call it with its settings"),
    (lambda: stax.parallel(3), TypeError, "pairs"),
    (lambda: stax.Conv(4, (3, 3))[0](KEY, (-1, 5, 3)), ValueError, "axes NHWC"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
