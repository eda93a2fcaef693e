"""``pmap`` over several devices."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

X = np.arange(8.0, dtype=np.float32)


@pytest.fixture
def pmap(devices):
    return functools.partial(jax.pmap, devices=devices)


@pytest.mark.quick
def test_values_and_layout(pmap, devices):
    f = pmap(lambda a: lax.psum(a, "i"), axis_name="i")
    np.testing.assert_array_equal(f(X), np.full(8, 28.0))
    y = pmap(lambda a: a * 2)(X[:3])
    assert [s.device for s in y.addressable_shards] == devices[:3]
    np.testing.assert_array_equal(pmap(lambda a: a + 1)(y), 2 * X[:3] + 1)
    out = pmap(lambda a, b: {"s": a + b, "k": 3}, in_axes=(1, None),
               out_axes={"s": 1, "k": None})(np.stack([X, X]), 1.0)
    np.testing.assert_array_equal(out["s"], np.stack([X, X]) + 1)
    assert int(out["k"]) == 3
    np.testing.assert_array_equal(pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)(), [0, 1, 2])
    np.testing.assert_array_equal(pmap(lambda a, n: a * n, static_broadcasted_argnums=1)(X, 3), 3 * X)
    keys = jax.random.split(jax.random.key(0), 4)
    np.testing.assert_array_equal(pmap(jax.random.uniform)(keys), jax.vmap(jax.random.uniform)(keys))


def test_transformations(pmap):
    f = pmap(lambda a: lax.psum(a ** 2, "i"), axis_name="i")
    np.testing.assert_allclose(jax.grad(lambda a: f(a).sum())(X), 16 * X)
    np.testing.assert_allclose(pmap(jax.grad(lambda a: lax.psum(a ** 2, "i")), axis_name="i")(X), 16 * X)
    np.testing.assert_allclose(jax.vmap(pmap(jnp.sin))(np.stack([X, X])), np.sin(np.stack([X, X])), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda a: pmap(jnp.sin)(a).sum())(X), np.sin(X).sum(), rtol=1e-5)
    assert "sdy.manual_computation" in f.lower(X).as_text()


@pytest.mark.quick
@pytest.mark.parametrize("make, args, message", [
    (lambda pmap: pmap(lambda a: a), (np.ones(9),), "size 9, and there are 8 devices"),
    (lambda pmap: pmap(lambda a, b: a), (X, X[:4]), "different sizes: \\[8, 4\\]"),
    (lambda pmap: pmap(lambda: 1), (), "no argument is mapped"),
    (lambda pmap: pmap(lambda a: a, in_axes=2), (X,), "asks for its axis 2"),
    (lambda pmap: pmap(lambda a: a, out_axes=2), (X,), "out_axes asks for the axis 2"),
    (lambda pmap: pmap(lambda a: a, axis_size=4), (X,), "axis_size is 4"),
])
def test_misuse(pmap, make, args, message):
    with pytest.raises(ValueError, match=message):
        make(pmap)(*args)
