"""A convolutional network that reads handwritten digits, in plain jax: the optimizer is written out below.

python examples/digits_cnn.py
"""

from __future__ import annotations

from typing import NamedTuple

from _digits import STEPS, loss, run

import jax
import jax.numpy as jnp


class Adam(NamedTuple):
    """State of the optimizer: steps taken, running means of the gradient and of its square."""

    count: jax.Array
    mean: dict
    square: dict


def init_adam(parameters) -> Adam:
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return Adam(jnp.zeros((), jnp.int32), zeros, zeros)


PEAK_RATE = 2e-3


def adam_update(gradients, state: Adam, parameters, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
    """One step of Adam (Kingma and Ba, 2015) with a learning rate that falls to zero along a cosine."""
    count = state.count + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, gradients)
    square = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g * g, state.square, gradients)
    # Both means start at zero; dividing by what a constant gradient of one would give removes that bias.
    mean_scale = 1 / (1 - b1**count)
    square_scale = 1 / (1 - b2**count)
    rate = PEAK_RATE * 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(state.count / STEPS, 1.0)))

    def move(parameter, m, s):
        return parameter - rate * (m * mean_scale) / (jnp.sqrt(s * square_scale) + eps)

    return jax.tree.map(move, parameters, mean, square), Adam(count, mean, square)


@jax.jit
def step(parameters, state: Adam, images, labels, key):
    """One training step on one batch."""
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels, key)
    parameters, state = adam_update(gradients, state, parameters)
    return parameters, state, value


if __name__ == "__main__":
    run("digits_cnn", init_adam, step)
