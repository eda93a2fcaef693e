"""Cost of one call: compiled functions that do almost nothing, and single operations outside jit."""

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import per_call, report


def main():
    rng = np.random.default_rng(0)
    a = jnp.asarray(rng.standard_normal((8, 8)).astype(np.float32))
    b = jnp.asarray(rng.standard_normal((8, 8)).astype(np.float32))
    x = jnp.asarray(rng.standard_normal(1000).astype(np.float32))
    y = jnp.asarray(rng.standard_normal(1000).astype(np.float32))
    compiled = jax.jit(lambda u, v: u + v)

    report(
        {
            "jit_call": per_call(lambda: compiled(a, b)),
            "eager_add": per_call(lambda: x + y),
            "eager_sum": per_call(lambda: jnp.sum(x)),
            "eager_index": per_call(lambda: x[0]),
            "eager_slice": per_call(lambda: x[1:3]),
            "eager_set": per_call(lambda: x.at[0].set(1.0)),
            "eager_grad": per_call(lambda: jax.grad(lambda u: jnp.sum(u * u))(x)),
        }
    )


if __name__ == "__main__":
    main()
