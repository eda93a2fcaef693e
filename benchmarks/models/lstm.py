"""A long short-term memory over a sequence, its steps unrolled in Python or scanned: value and gradient."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def cell(params, carry, x):
    """One step: the gates in the order input, forget, candidate, output."""
    h, c = carry
    gates = x @ params["input"] + h @ params["recurrent"] + params["bias"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def build(steps: int = 40, width: int = 64, rows: int = 16, unrolled: bool = True):
    """The gradient and its arguments."""
    rng = np.random.default_rng(0)
    params = {
        "input": (rng.standard_normal((width, 4 * width)) * width**-0.5).astype(np.float32),
        "recurrent": (rng.standard_normal((width, 4 * width)) * width**-0.5).astype(np.float32),
        "bias": np.zeros(4 * width, np.float32),
    }
    xs = rng.standard_normal((steps, rows, width)).astype(np.float32)

    def loss(params, xs):
        carry = (jnp.zeros((rows, width)), jnp.zeros((rows, width)))
        if unrolled:
            outputs = []
            for t in range(steps):
                carry, h = cell(params, carry, xs[t])
                outputs.append(h)
            hs = jnp.stack(outputs)
        else:
            _, hs = jax.lax.scan(lambda carry, x: cell(params, carry, x), carry, xs)
        return jnp.mean((hs[:-1] - xs[1:]) ** 2)

    return jax.value_and_grad(loss), (params, xs)


def scanned():
    return build(steps=200, unrolled=False)
