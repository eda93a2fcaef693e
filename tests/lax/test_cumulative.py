"""Cumulative operations: long and short axes, NaN and infinities, derivatives, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax._base.config import enable_x64

MODELS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
          "cumlogsumexp": np.logaddexp}


def operation(name):
    return getattr(lax, name)


def gradient(fun, x):
    out, pull = jax.vjp(fun, x)
    return np.asarray(pull(np.ones_like(out))[0])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 31, 33, 300, 517])
def test_lengths(name, n):
    x = np.random.default_rng(n).uniform(0.9, 1.1, (n, 2))
    with enable_x64(True):
        f = jax.jit(lambda x: (operation(name)(x, axis=0), operation(name)(x, axis=0, reverse=True)))
        forward, backward = f(x)
        lasts = operation(name)(x.T, axis=1)
    model = MODELS[name].accumulate
    np.testing.assert_allclose(forward, model(x, axis=0), rtol=1e-12)
    np.testing.assert_allclose(backward, model(x[::-1], axis=0)[::-1], rtol=1e-12)
    np.testing.assert_allclose(lasts, model(x, axis=0).T, rtol=1e-12)


def test_parameters():
    (eqn,) = jax.make_jaxpr(lambda x: lax.cumsum(x, axis=-1, reverse=True))(np.ones((2, 3), np.float32)).jaxpr.eqns
    assert eqn.params == {"axis": 1, "reverse": True}


def test_nan_and_infinities():
    x = np.array([1, np.nan, 2], np.float32)
    for name in ("cummax", "cummin", "cumsum"):
        np.testing.assert_array_equal(np.isnan(operation(name)(x)), [False, True, True])
    y = np.array([-np.inf, -np.inf, 1, np.inf, 2], np.float32)
    assert lax.cumlogsumexp(y).tolist() == [-np.inf, -np.inf, 1, np.inf, np.inf]


def test_minus_zero_stays():
    x = np.full((300,), -0.0, np.float32)
    assert np.signbit(lax.cummax(x)).all()


def test_cumlogsumexp_does_not_overflow():
    np.testing.assert_allclose(lax.cumlogsumexp(np.array([1000, 1000, -1000], np.float32)),
                               1000 + np.log(np.array([1, 2, 2])), rtol=1e-6)


def test_accuracy_of_long_sums():
    x = np.full((10**5,), 0.1, np.float32)
    exact = np.cumsum(x.astype(np.float64))
    assert np.max(np.abs(lax.cumsum(x) / exact - 1)) < 1e-6


def test_derivative_of_ties():
    x = np.array([1, 1, 1], np.float32)
    for f in (lax.cummax, lax.cummin):
        last = gradient(lambda x, f=f: lax.slice(f(x), (2,), (3,)), x)
        assert last.tolist() == [0.25, 0.25, 0.5]


def test_derivative_of_a_cumulative_product_with_zeros():
    x = np.array([2, 0, 3, 0, 5], np.float32)
    jacobian = np.stack([gradient(lambda x, i=i: lax.slice(lax.cumprod(x), (i,), (i + 1,)), x) for i in range(5)])
    expected = [[np.prod(np.delete(x[:i + 1], j)) if j <= i else 0 for j in range(5)] for i in range(5)]
    np.testing.assert_allclose(jacobian, expected)


def test_derivative_of_cumlogsumexp_with_infinities():
    x = np.array([-np.inf, -np.inf, 1, 2], np.float32)
    g = gradient(lambda x: lax.slice(lax.cumlogsumexp(x), (3,), (4,)), x)
    np.testing.assert_allclose(g, [0, 0, 0.2689414, 0.7310586], rtol=1e-5)


def test_backward_pass_is_a_recurrence():
    eqns = jax.make_jaxpr(lambda x, c: jax.vjp(lax.cumprod, x)[1](c))(np.ones(5, np.float32), np.ones(5, np.float32)).eqns
    assert [e.primitive.name for e in eqns] == ["cumprod", "pad", "pad", "linear_recurrence", "mul"]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: lax.cumsum(np.ones(3) > 0), TypeError, "cumsum does not accept dtype bool"),
    (lambda: lax.cumlogsumexp(np.ones(3, np.int32)), TypeError, "cumlogsumexp does not accept dtype int32"),
    (lambda: lax.cumsum(np.ones(3), axis=1), ValueError, r"axis 1 .*\[-1, 1\)|out of range"),
    (lambda: lax.cummax(1.0), ValueError, "axis 0|out of range"),
    (lambda: lax.cumsum([1, 2]), TypeError, "jnp.array")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
