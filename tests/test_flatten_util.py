"""Trees as vectors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

TREE = {"a": jnp.arange(4.0, dtype=jnp.float16).reshape(2, 2), "b": (jnp.arange(3), 2.5)}


def test_round_trip():
    vector, unravel = ravel_pytree(TREE)
    assert vector.dtype == jnp.float32
    assert vector.tolist() == [0, 1, 2, 3, 0, 1, 2, 2.5]
    back = unravel(vector)
    assert jax.tree.structure(back) == jax.tree.structure(TREE)
    assert [x.dtype for x in jax.tree.leaves(back)] == [jnp.float16, jnp.int32, jnp.float32]
    for x, y in zip(jax.tree.leaves(back), jax.tree.leaves(TREE), strict=True):
        np.testing.assert_array_equal(x, y)


def test_empty_and_single():
    vector, unravel = ravel_pytree({})
    assert vector.shape == (0,) and vector.dtype == jnp.float32 and unravel(vector) == {}
    vector, unravel = ravel_pytree(jnp.ones((2, 3)))
    assert vector.shape == (6,) and unravel(vector).shape == (2, 3)
    assert ravel_pytree(3)[0].tolist() == [3]
    assert ravel_pytree([None, jnp.ones(2)])[1](jnp.zeros(2))[0] is None


def test_transformations():
    def loss(tree):
        return jnp.sum(ravel_pytree(tree)[0] ** 2)

    grads = jax.grad(loss)({"a": jnp.ones((2, 2)), "b": jnp.arange(3.0)})
    np.testing.assert_array_equal(grads["b"], [0, 2, 4])
    _, unravel = ravel_pytree({"a": jnp.ones((2, 2)), "b": jnp.arange(3.0)})
    g = jax.jit(jax.grad(lambda v: jnp.sum(unravel(v)["a"] ** 2)))(jnp.arange(7.0))
    np.testing.assert_array_equal(g, [0, 2, 4, 6, 0, 0, 0])
    assert jax.vmap(lambda t: ravel_pytree(t)[0])({"a": jnp.ones((5, 2)), "b": jnp.ones(5)}).shape == (5, 3)
    hess = jax.hessian(lambda v: jnp.sum(unravel(v)["b"] ** 3))(jnp.ones(7))
    np.testing.assert_array_equal(jnp.diag(hess), [0, 0, 0, 0, 6, 6, 6])


def test_unravel_is_hashable():
    one, two = ravel_pytree(TREE)[1], ravel_pytree(TREE)[1]
    assert one == two and hash(one) == hash(two) and one != ravel_pytree({})[1]
    jax.jit(lambda v, unravel: unravel(v), static_argnums=1)(ravel_pytree(TREE)[0], one)


def test_refusals():
    vector, unravel = ravel_pytree(TREE)
    with pytest.raises(ValueError, match=r"\(8,\)"):
        unravel(vector[:5])
    with pytest.raises(TypeError, match="float32"):
        unravel(vector.astype(jnp.bfloat16))
    with pytest.raises(TypeError, match="ravel_pytree"):
        ravel_pytree({"a": "text"})
