"""What the sorts for CPUs are tested with, whichever way they go."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import jax
import jax.numpy as jnp
from jax import lax

SPECIAL = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-40, -1e-40]


def numbers(dtype, shape, seed=0):
    rng, n = np.random.default_rng(seed), int(np.prod(shape))
    dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    if dtype == np.bool_ or dtype.kind in "iu":
        low, high = (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        x = np.where(rng.random(n) < 0.3, rng.choice(np.array([low, high, 0, 1], dtype), n),
                     np.frombuffer(rng.bytes(n * dtype.itemsize), dtype) if dtype != np.bool_ else rng.random(n) < 0.5)
    elif dtype.kind == "c":
        return np.stack([numbers("float32", shape, 1), numbers("float32", shape, 2)], -1).view(dtype)[..., 0]
    else:
        x = np.where(rng.random(n) < 0.3, rng.choice(SPECIAL, n), np.round(rng.standard_normal(n) * 8, 1))
    return x.astype(dtype).reshape(shape)


def assert_same_bits(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check_axis(shape, axis):
    x, y = numbers("int32", shape), np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    values, (_, carried), places = jax.jit(
        lambda x, y: (lax.sort(x, axis), lax.sort((x, y), axis), jnp.argsort(x, axis=axis)))(x, y)
    np.testing.assert_array_equal(values, np.sort(x, axis))
    order = np.argsort(x, axis, kind="stable")
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(carried, np.take_along_axis(y, order, axis))


def check_derivatives_and_batches():
    x, w = np.random.default_rng(0).standard_normal((2, 4, 24)).astype(np.float32)

    def weighted(x, w):
        return jnp.sum(jnp.sort(x) ** 2 * w)

    order = np.argsort(x, -1)
    expected = np.empty_like(x)
    np.put_along_axis(expected, order, 2 * np.take_along_axis(x, order, -1) * w, -1)
    np.testing.assert_allclose(jax.jit(jax.grad(weighted))(x, w), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(weighted)))(x, w), expected, rtol=1e-5)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda v: jnp.sort(v), 1, 1))(x), np.sort(x, 0))
    tangent = jax.jit(lambda x, w: jax.jvp(jax.grad(weighted), (x, w), (x, w * 0))[1])(x, w)
    np.testing.assert_allclose(tangent, expected, rtol=1e-5)


def check_loops_and_branches(shape):
    x = np.random.default_rng(0).integers(0, 100, shape).astype(np.uint32)

    def loop(x, flag):
        last, firsts = lax.scan(lambda c, i: (jnp.sort(c ^ i), c[..., 0]), x, jnp.arange(3, dtype=np.uint32))
        turned = lax.fori_loop(0, 3, lambda i, v: jnp.sort(v)[..., ::-1], x)
        return last, firsts, turned, lax.cond(flag, lambda v: jnp.sort(v), lambda v: v, x)

    last, firsts, turned, chosen = jax.jit(loop)(x, True)
    state, seen = x, []
    for i in range(3):
        seen.append(state[..., 0])
        state = np.sort(state ^ np.uint32(i))
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(firsts, seen)
    np.testing.assert_array_equal(turned, np.sort(x)[..., ::-1])
    np.testing.assert_array_equal(chosen, np.sort(x))
    np.testing.assert_array_equal(jax.jit(loop)(x, False)[3], x)
