"""First calls of programs of many small pieces: tracing, lowering, compiling and one run, each of a new function."""

import gc
import time

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import report


def first(work):
    """Seconds of processor time, of all threads: XLA compiles on several, and other work on the machine does not count."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    jax.block_until_ready(work())
    seconds = time.process_time() - start
    gc.enable()
    return seconds


def main():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal(500).astype(np.float32))
    m = jnp.asarray(rng.standard_normal((1000, 8)).astype(np.float32))
    long = jnp.asarray(rng.standard_normal(2 ** 16).astype(np.float32))
    numbers = [jnp.float32(i) for i in range(400)]
    arrays = [jnp.asarray(rng.standard_normal((2, 3)).astype(np.float32)) for _ in range(1500)]
    jax.block_until_ready(jax.jit(lambda a: a + 1)(x))  # starts XLA

    report({
        "array_elements": first(lambda: jax.jit(lambda x: jnp.array([x[i] * 1.5 for i in range(400)]))(x)),
        "stack_elements": first(lambda: jax.jit(lambda x: jnp.stack([jnp.sin(x[i]) + x[i + 1] for i in range(400)]))(x)),
        "array_numbers": first(lambda: jax.jit(lambda *xs: jnp.array([v * 1.5 for v in xs]))(*numbers)),
        "stack_numbers": first(lambda: jax.jit(lambda *xs: jnp.stack(xs))(*numbers)),
        "array_numbers_eager": first(lambda: jnp.array(numbers)),
        "split_jit": first(lambda: jax.jit(lambda m: jnp.split(m, 500))(m)),
        "split_computed": first(lambda: jax.jit(lambda m: [a * 2 + 1 for a in jnp.split(m, 500)])(m)),
        "split_eager": first(lambda: jnp.split(m, 500)),
        "concatenate_0": first(lambda: jax.jit(lambda xs: jnp.concatenate(xs, 0))(arrays)),
        "concatenate_1": first(lambda: jax.jit(lambda xs: jnp.concatenate(xs, 1))(arrays)),
        "stack_0": first(lambda: jax.jit(lambda xs: jnp.stack(xs, 0))(arrays)),
        "stack_1": first(lambda: jax.jit(lambda xs: jnp.stack(xs, 1))(arrays)),
        "concatenate_eager": first(lambda: jnp.concatenate(arrays, 1)),
        "stack_eager": first(lambda: jnp.stack(arrays, 1)),
        "slices_jit": first(lambda: jax.jit(lambda x: [x[i:2 * i + 3] for i in range(30)])(x)),
        "slices_rows": first(lambda: jax.jit(lambda m: [m[i:2 * i + 5, 1:4] for i in range(30)])(m)),
        "slices_eager": first(lambda: [x[i:2 * i + 3] for i in range(30)]),
        "prefix_jit": first(lambda: jax.jit(lambda v: jax.lax.associative_scan(jnp.add, v))(long)),
        "prefix_eager": first(lambda: jax.lax.associative_scan(jnp.add, long)),
    })


if __name__ == "__main__":
    main()
