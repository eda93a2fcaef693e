"""What is convolved: images with kernels, sequences with sequences."""

import numpy as np

# Input features in a group, output features, groups, stride, kernel size; images are 8 x 64 x 64 with 32 features.
IMAGES = {
    "full": (32, 32, 1, 1, 3), "pixel": (32, 32, 1, 1, 1), "depthwise": (1, 32, 32, 1, 3),
    "depthwise_strided": (1, 32, 32, 2, 3), "grouped": (4, 32, 8, 1, 3),
}  # fmt: skip
SEQUENCES = {"sequence_kernel": (100_000, 1000, "same"), "sequences": (10_000, 10_000, "full")}


def images(name, layout):
    """Images and kernel as float32 arrays; ``layout`` is "nchw" or "nhwc"."""
    rng = np.random.default_rng(0)
    inputs, outputs, _, _, size = IMAGES[name]
    x = rng.standard_normal((8, 32, 64, 64)).astype(np.float32)
    k = rng.standard_normal((outputs, inputs, size, size)).astype(np.float32)
    if layout == "nhwc":
        x, k = x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0)
    return np.ascontiguousarray(x), np.ascontiguousarray(k)


def sequences(name):
    """Two float32 vectors."""
    rng = np.random.default_rng(0)
    n, k, _ = SEQUENCES[name]
    return rng.standard_normal(n).astype(np.float32), rng.standard_normal(k).astype(np.float32)
