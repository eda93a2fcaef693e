"""A residual convolutional network with batch normalisation, as trained on small images."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def convolve(x, kernel, stride=1):
    return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def normalise(x, scale, shift):
    """Batch normalisation with the statistics of the batch."""
    mean = jnp.mean(x, axis=(0, 1, 2))
    variance = jnp.mean(jnp.square(x - mean), axis=(0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


def build(blocks: int = 8, channels: int = 16, images: int = 8, size: int = 16):
    """The training step (with momentum) and its arguments."""
    rng = np.random.default_rng(0)

    def kernel(height, inputs, outputs):
        fan = height * height * inputs
        return (rng.standard_normal((height, height, inputs, outputs)) * (2 / fan) ** 0.5).astype(np.float32)

    def norm():
        return np.ones(channels, np.float32), np.zeros(channels, np.float32)

    params = {
        "stem": kernel(3, 3, channels),
        "blocks": [
            {
                "first": kernel(3, channels, channels),
                "norm1": norm(),
                "second": kernel(3, channels, channels),
                "norm2": norm(),
            }
            for _ in range(blocks)
        ],
        "head": (rng.standard_normal((channels, 10)) * 0.1).astype(np.float32),
    }
    velocity = jax.tree.map(np.zeros_like, params)
    x = rng.standard_normal((images, size, size, 3)).astype(np.float32)
    labels = rng.integers(0, 10, images).astype(np.int32)

    def loss(params, x, labels):
        h = convolve(x, params["stem"])
        for p in params["blocks"]:
            inner = jax.nn.relu(normalise(h, *p["norm1"]))
            inner = jax.nn.relu(normalise(convolve(inner, p["first"]), *p["norm2"]))
            h = h + convolve(inner, p["second"])
        scores = jnp.mean(h, axis=(1, 2)) @ params["head"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1))

    def step(params, velocity, x, labels):
        value, gradients = jax.value_and_grad(loss)(params, x, labels)
        velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.01 * g, velocity, gradients)
        return value, jax.tree.map(jnp.add, params, velocity), velocity

    return step, (params, velocity, x, labels)
