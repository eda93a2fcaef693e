"""Sizes, parameters and tokens of the transformer: NumPy only, so that other libraries can run the same program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """Everything that shapes depend on."""

    layers: int = 24
    features: int = 64
    heads: int = 4
    sequences: int = 8
    tokens: int = 64
    vocabulary: int = 256


def init(size: Size, seed: int = 0):
    """Parameters as nested dicts of float32 NumPy arrays: the same for every implementation."""
    rng = np.random.default_rng(seed)
    d = size.features

    def matrix(*shape):
        return (rng.standard_normal(shape) * shape[0] ** -0.5).astype(np.float32)

    def norm():
        return {"scale": np.ones(d, np.float32), "shift": np.zeros(d, np.float32)}

    def layer():
        return {
            "norm1": norm(),
            "qkv": matrix(d, 3 * d),
            "out": matrix(d, d),
            "norm2": norm(),
            "up": matrix(d, 4 * d),
            "up_bias": np.zeros(4 * d, np.float32),
            "down": matrix(4 * d, d),
            "down_bias": np.zeros(d, np.float32),
        }

    return {
        "embed": matrix(size.vocabulary, d),
        "position": matrix(size.tokens, d),
        "layers": [layer() for _ in range(size.layers)],
        "norm": norm(),
        "head": matrix(d, size.vocabulary),
    }


def batch(size: Size, seed: int = 1) -> np.ndarray:
    """Token numbers, (sequences, tokens + 1): inputs and, shifted by one, targets."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, size.vocabulary, (size.sequences, size.tokens + 1)).astype(np.int32)
