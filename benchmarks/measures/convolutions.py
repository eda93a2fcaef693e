"""Convolutions of images, forwards and with both gradients, and of long sequences; compiled."""

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import best, report
from benchmarks.models.convolution_data import IMAGES, SEQUENCES, images, sequences
from jax import lax

LAYOUTS = {"nchw": ("NCHW", "OIHW", "NCHW"), "nhwc": ("NHWC", "HWIO", "NHWC")}


def of_images(name, layout):
    """(forward, both gradients) of one case."""
    groups, stride, size = IMAGES[name][2:]

    def forward(x, k):
        return lax.conv_general_dilated(x, k, (stride, stride), [(size // 2, size // 2)] * 2,
                                        dimension_numbers=LAYOUTS[layout], feature_group_count=groups)

    return jax.jit(forward), jax.jit(jax.grad(lambda x, k: (forward(x, k) ** 2).sum(), (0, 1)))


def seconds_of(call, *args, repeats=25):
    jax.block_until_ready(call(*args))
    return best(lambda: jax.block_until_ready(call(*args)), repeats)


def main():
    ours, numpys = {}, {}
    for name in IMAGES:
        for layout in LAYOUTS:
            x, k = map(jnp.asarray, images(name, layout))
            forward, gradients = of_images(name, layout)
            ours[f"{name}_{layout}"] = seconds_of(forward, x, k)
            ours[f"{name}_{layout}_gradients"] = seconds_of(gradients, x, k)
    for name, (_, _, mode) in SEQUENCES.items():
        a, v = sequences(name)
        call = jax.jit(lambda a, v, mode=mode: jnp.convolve(a, v, mode))
        ours[name] = seconds_of(call, jnp.asarray(a), jnp.asarray(v))
        numpys[name] = best(lambda a=a, v=v, mode=mode: np.convolve(a, v, mode), 5)
    report(ours, numpy=numpys)


if __name__ == "__main__":
    main()
