"""``jax.ds``: slices of known size at places that need not be known."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp

X = np.arange(20.0, dtype=np.float32).reshape(4, 5)
pytestmark = pytest.mark.quick


@pytest.mark.parametrize("index, want", [
    (lambda i: jax.ds(i(1), 2), X[1:3]),
    (lambda i: jax.ds(i(3), 2), X[2:4]),  # moved so that all elements exist
    (lambda i: jax.ds(i(-1), 2), X[2:4]),
    (lambda i: jax.ds(i(-4), 2), X[:2]),
    (lambda i: (slice(None), jax.ds(i(1), 3)), X[:, 1:4]),
    (lambda i: (1, jax.ds(i(1), 3)), X[1, 1:4]),
    (lambda i: (jax.ds(i(1), 2), jax.ds(i(3), 2)), X[1:3, 3:]),
    (lambda i: (None, jax.ds(i(0), 4)), X[None]),
    (lambda i: jax.ds(i(2), 0), X[:0]),
])
def test_values(index, want):
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x[index(lambda k: k)], want)
    np.testing.assert_array_equal(x[index(jnp.int32)], want)
    np.testing.assert_array_equal(jax.jit(lambda k: x[index(lambda v: k - k + v)])(0), want)


def test_forms():
    x = jnp.asarray(X)
    assert jax.ds(None) == slice(None)
    assert repr(jax.ds(2)) == "Slice(start=0, size=2, stride=1)" and jax.ds(0, 2) == jax.ds(2)
    np.testing.assert_array_equal(x[jax.ds(0, 2, 2)], X[:3:2])
    np.testing.assert_array_equal(x[jnp.array([0, 1]), jax.ds(1, 3)], X[:2, 1:4])


def test_updates_and_transformations():
    x = jnp.asarray(X)
    want = X.copy()
    want[1:3, 3:] += 100
    np.testing.assert_array_equal(x.at[jax.ds(jnp.int32(1), 2), jax.ds(3, 2)].add(100), want)
    np.testing.assert_array_equal(jax.jit(lambda i: x.at[jax.ds(i, 2)].set(0))(2), np.where(np.arange(4)[:, None] < 2, X, 0))
    rows = jax.vmap(lambda i: x[jax.ds(i, 2), 1])(jnp.arange(3))
    np.testing.assert_array_equal(rows, np.stack([X[i:i + 2, 1] for i in range(3)]))
    g = jax.grad(lambda v, i: jax.jit(lambda v, i: (v[jax.ds(i, 2)] ** 2).sum())(v, i))(x, 1)
    np.testing.assert_array_equal(g, np.where((np.arange(4) % 3 > 0)[:, None], 2 * X, 0))


@pytest.mark.parametrize("misuse, error, message", [
    (lambda x: jax.ds(1, 2, -1), ValueError, "stride must be at least 1"),
    (lambda x: jax.ds(1, -2), ValueError, "must not be negative"),
    (lambda x: jax.jit(lambda n: jax.ds(0, n))(3), TypeError, "size must be a known integer"),
    (lambda x: x[jax.ds(3, 9)], IndexError, "takes 9 elements along axis 0, which has size 4"),
    (lambda x: x[jnp.array([0]), jax.ds(jnp.int32(0), 2)], NotImplementedError, "take the slice first"),
    (lambda x: x[jax.ds(jnp.int32(0), 2, 2)], NotImplementedError, "together with a stride"),
    (lambda x: x[jax.ds(jnp.array([0]), 2)], TypeError, "one integer"),
])
def test_misuse(misuse, error, message):
    with pytest.raises(error, match=message):
        misuse(jnp.asarray(X))
