"""Reductions over segments."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import ops

IDS = jnp.array([0, 2, 0, 5, -1, 2])
DATA = jnp.array([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 1.0], [2.0, 2.0]])
KINDS = {"segment_sum": (np.add, 0), "segment_prod": (np.multiply, 1), "segment_max": (np.maximum, -np.inf),
         "segment_min": (np.minimum, np.inf)}


def model(name, data, ids, count):
    combine, start = KINDS[name]
    out = np.full((count, *data.shape[1:]), start, data.dtype)
    for i, row in zip(np.asarray(ids), np.asarray(data), strict=True):
        if 0 <= i < count:
            out[i] = combine(out[i], row)
    return out


@pytest.mark.parametrize("name", KINDS)
def test_values(name):
    fun = getattr(ops, name)
    want = model(name, DATA, IDS, 4)
    np.testing.assert_array_equal(fun(DATA, IDS, 4), want)
    np.testing.assert_array_equal(jax.jit(fun, static_argnums=2)(DATA, IDS, 4), want)
    np.testing.assert_array_equal(fun(DATA, IDS, 4, bucket_size=2), want)
    np.testing.assert_array_equal(fun(DATA, IDS), model(name, DATA, IDS, 6))
    order = jnp.argsort(IDS)
    np.testing.assert_array_equal(fun(DATA[order], IDS[order], 4, indices_are_sorted=True), want)
    mapped = jax.vmap(lambda d: fun(d, IDS, 4), in_axes=1, out_axes=1)(DATA)
    np.testing.assert_array_equal(mapped, want)


def test_modes_and_empty_segments():
    assert ops.segment_sum(jnp.ones(4), jnp.array([0, 7, 1, 1]), 3, mode="clip").tolist() == [1, 2, 1]
    assert ops.segment_max(jnp.ones(2, jnp.int8), jnp.zeros(2, int), 2).tolist() == [1, -128]
    assert ops.segment_min(jnp.ones(2, jnp.uint8), jnp.zeros(2, int), 2).tolist() == [1, 255]
    assert ops.segment_max(jnp.array([True, False]), jnp.array([0, 2]), 3).tolist() == [True, False, False]
    assert ops.segment_sum(jnp.zeros((0, 2)), jnp.zeros(0, int), 3).shape == (3, 2)


def test_derivatives():
    grad = jax.grad(lambda d: jnp.sum(ops.segment_sum(d, IDS, 4) ** 2))(DATA)
    want = 2 * model("segment_sum", DATA, IDS, 4)
    np.testing.assert_allclose(grad, [want[i] if 0 <= i < 4 else [0, 0] for i in np.asarray(IDS)])
    top = jax.grad(lambda d: jnp.sum(ops.segment_max(d, IDS, 4)[jnp.array([0, 2])]))(DATA)
    np.testing.assert_array_equal(top, [[0, 0], [1, 1], [1, 1], [0, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.segment_sum(DATA, IDS[:3]), ValueError, "one id for each row"),
    (lambda: ops.segment_sum(DATA, IDS.astype(jnp.float32)), TypeError, "integers"),
    (lambda: ops.segment_sum(DATA, IDS, -1), ValueError, "negative"),
    (lambda: ops.segment_sum([1.0], [0]), TypeError, "list"),
    (lambda: ops.segment_sum(DATA > 0, IDS, 3), TypeError, "booleans"),
    (lambda: ops.segment_sum(DATA, IDS, 3, bucket_size=0), ValueError, "bucket_size"),
    (lambda: ops.segment_sum(DATA, IDS, 3, out_sharding="x"), TypeError, "no sharding"),
    (lambda: jax.jit(ops.segment_sum)(DATA, IDS), jax.errors.ConcretizationTypeError, "num_segments"),
])
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call()
