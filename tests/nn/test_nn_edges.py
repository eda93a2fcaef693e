"""Functions of ``jax.nn`` at their bends and limits, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import nn

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("fun", "points"), [
    (nn.relu, [0.0]), (nn.relu6, [0.0, 6.0]), (nn.hard_sigmoid, [-3.0, 3.0]),
])
def test_derivative_is_zero_at_bends(fun, points):
    for x in points:
        assert jax.grad(fun)(x) == 0


def test_relu_keeps_nan_and_types():
    assert np.isnan(nn.relu(jnp.nan))
    assert nn.relu(jnp.arange(-2, 3)).tolist() == [0, 0, 0, 1, 2]
    assert nn.relu(1.5).weak_type
    assert nn.relu(True).dtype == jnp.int32


def test_lists_are_refused():
    for fun in (nn.relu, nn.gelu, nn.softmax, nn.identity):
        with pytest.raises(TypeError, match="jnp.array"):
            fun([1.0, 2.0])


def test_softmax_is_stable():
    x = jnp.array([1e30, -1e30, -jnp.inf])
    np.testing.assert_array_equal(nn.softmax(x), [1, 0, 0])
    np.testing.assert_array_equal(nn.log_softmax(jnp.array([1000.0, 0.0])), [0, -1000])


def test_softmax_of_nothing():
    nothing = jnp.zeros(3, bool)
    np.testing.assert_array_equal(nn.softmax(jnp.ones(3), where=nothing), [0, 0, 0])
    np.testing.assert_array_equal(nn.log_softmax(jnp.ones(3), where=nothing), [-np.inf] * 3)
    assert nn.softmax(jnp.ones((0, 3)), axis=0).shape == (0, 3)


def test_softmax_accumulates_in_wider_type():
    x = jnp.zeros(4096, jnp.bfloat16)
    assert float(nn.softmax(x)[0]) == 1 / 4096


def test_axis_out_of_bounds():
    for fun in (nn.softmax, nn.log_softmax, nn.logsumexp):
        with pytest.raises(ValueError, match="axis 5"):
            fun(jnp.ones((2, 3)), axis=5)


def test_logsumexp_limits():
    inf = jnp.inf
    assert nn.logsumexp(jnp.array([-inf, -inf])) == -inf
    assert nn.logsumexp(jnp.array([inf, 1.0])) == inf
    np.testing.assert_allclose(jax.grad(nn.logsumexp)(jnp.array([-inf, 0.0])), [0, 1])
    assert np.isnan(nn.logsumexp(jnp.array([0.0, 1.0]), b=jnp.array([1.0, -1.0])))
    value, sign = nn.logsumexp(jnp.array([0.0, 1.0]), b=jnp.array([1.0, -1.0]), return_sign=True)
    np.testing.assert_allclose([value, sign], [np.log(np.e - 1), -1], rtol=1e-6)
    assert nn.logsumexp(jnp.zeros((0, 3)), axis=0).tolist() == [-inf] * 3
    z = nn.logsumexp(jnp.array([1 + 2j, 0.5j]))
    np.testing.assert_allclose(z, np.log(np.exp(1 + 2j) + np.exp(0.5j)), rtol=1e-6)


def test_logsumexp_with_mask():
    x = jnp.array([[1.0, 2.0, 3.0]])
    got = nn.logsumexp(x, axis=1, where=jnp.array([True, False, True]))
    np.testing.assert_allclose(got, [np.log(np.exp(1) + np.exp(3))], rtol=1e-6)
    got = nn.logmeanexp(x, axis=1, where=jnp.array([True, False, True]))
    np.testing.assert_allclose(got, [np.log((np.exp(1) + np.exp(3)) / 2)], rtol=1e-6)


def test_one_hot_forms():
    assert nn.one_hot(jnp.array([[0, 2]]), 4, axis=0).shape == (4, 1, 2)
    assert nn.one_hot(jnp.array([[0, 2]]), 4, axis=1).shape == (1, 4, 2)
    assert nn.one_hot(2, 3).tolist() == [0, 0, 1]
    assert nn.one_hot(jnp.array([1]), 3, dtype="int8").dtype == jnp.int8
    assert nn.one_hot(jnp.array([0, 1], jnp.uint8), 300).shape == (2, 300)
    assert nn.one_hot(jnp.array([0, 1]), 0).shape == (2, 0)
    with pytest.raises(ValueError, match="axis"):
        nn.one_hot(jnp.array([1]), 3, axis=9)
    with pytest.raises(TypeError, match="no sharding"):
        nn.one_hot(jnp.array([1]), 3, out_sharding="x")


def test_standardize_with_given_statistics():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(nn.standardize(x, mean=1.0, variance=4.0, epsilon=0.0), (x - 1) / 2, rtol=1e-6)
    with pytest.raises(ValueError, match="algorithm"):
        nn.standardize(x, algorithm="slow")


def test_glu_of_odd_size():
    with pytest.raises(ValueError, match="even"):
        nn.glu(jnp.ones((2, 3)))


def test_activations_under_rank_promotion_checks():
    x = jnp.ones((2, 3, 4))
    with jax.numpy_rank_promotion("raise"):
        for fun in (nn.relu, nn.gelu, nn.softmax, nn.log_softmax, nn.standardize, nn.logsumexp, nn.glu, nn.elu):
            fun(x)
        with pytest.raises(ValueError, match="rank"):
            nn.elu(x, jnp.ones(4))
