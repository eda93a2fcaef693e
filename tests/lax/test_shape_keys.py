"""Structural operations on arrays of typed PRNG keys do to keys what they do to their raw words."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax.lax import GatherDimensionNumbers as G
from jax.lax import ScatterDimensionNumbers as S
from jax.random._keys import key, key_data, split

ROWS = np.array([[3], [0]])


@pytest.fixture(scope="module")
def keys():
    return split(key(0), 4)


# name: (function of 4 keys, the same on their words of shape (4, 2))
OPERATIONS = {
    "reshape": (lambda k: lax.reshape(k, (2, 2)), lambda w: w.reshape(2, 2, 2)),
    "reshape-order": (lambda k: lax.reshape(lax.reshape(k, (2, 2)), (4,), (1, 0)),
                      lambda w: w.reshape(2, 2, 2).transpose(1, 0, 2).reshape(4, 2)),
    "expand_dims": (lambda k: lax.expand_dims(k, (0, -1)), lambda w: w[None, :, None]),
    "squeeze": (lambda k: lax.squeeze(lax.expand_dims(k, (0, -1)), (0, 2)), lambda w: w),
    "broadcast": (lambda k: lax.broadcast(k, (3,)), lambda w: np.broadcast_to(w, (3, 4, 2))),
    "transpose": (lambda k: lax.transpose(lax.reshape(k, (2, 2)), (1, 0)),
                  lambda w: w.reshape(2, 2, 2).transpose(1, 0, 2)),
    "rev": (lambda k: lax.rev(k, (0,)), lambda w: w[::-1]),
    "copy": (lax.copy_p.bind, lambda w: w),
    "optimization_barrier": (lambda k: lax.optimization_barrier((k, 1.0))[0], lambda w: w),
    "concatenate": (lambda k: lax.concatenate([k, k], 0), lambda w: np.concatenate([w, w])),
    "stack": (lambda k: lax.stack([k, k], 1), lambda w: np.stack([w, w], 1)),
    "unstack": (lambda k: lax.unstack(k)[2], lambda w: w[2]),
    "split": (lambda k: lax.split(k, (1, 3))[1], lambda w: w[1:]),
    "tile": (lambda k: lax.tile(k, (2,)), lambda w: np.tile(w, (2, 1))),
    "slice": (lambda k: lax.slice(k, (1,), (4,), (2,)), lambda w: w[1:4:2]),
    "pad": (lambda k: lax.pad(k, lax.index_in_dim(k, 3, keepdims=False), [(1, -1, 1)]),
            lambda w: np.stack([w[3], w[0], w[3], w[1], w[3], w[2], w[3]])),
    "dynamic_slice": (lambda k: lax.dynamic_slice(k, (lax.add(1, 1),), (2,)), lambda w: w[2:]),
    "dynamic_update_slice": (lambda k: lax.dynamic_update_slice(k, lax.slice(k, (0,), (1,)), (-1,)),
                             lambda w: np.concatenate([w[:3], w[:1]])),
    "gather": (lambda k: lax.gather(k, ROWS, G((), (0,), (0,)), (1,)), lambda w: w[[3, 0]]),
    "gather-fill": (lambda k: lax.gather(k, ROWS + 1, G((), (0,), (0,)), (1,), mode="fill"),
                    lambda w: np.stack([np.full(2, 2**32 - 1, np.uint32), w[1]])),
    "scatter": (lambda k: lax.scatter(k, ROWS, lax.slice(k, (1,), (3,)), S((), (0,), (0,))), lambda w: w[[2, 1, 2, 1]]),
    "index_take": (lambda k: lax.index_take(k, (np.array([-1, 0]),), (0,)), lambda w: w[[3, 0]]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_keys(name, keys):
    fn, on_words = OPERATIONS[name]
    words = np.asarray(key_data(keys))
    for got in (fn(keys), jax.jit(fn)(keys)):
        assert got.dtype == keys.dtype
        np.testing.assert_array_equal(key_data(got), on_words(words))
    batch = jax.vmap(fn)(lax.stack([keys, lax.rev(keys, (0,))]))
    np.testing.assert_array_equal(key_data(batch), np.stack([on_words(words), on_words(words[::-1])]))
