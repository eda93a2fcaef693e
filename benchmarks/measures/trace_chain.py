"""Tracing a chain of 900 jnp operations, for each of them.

Each trace is of a new function, so that no cache on functions answers; the caches on shapes and parameters
are warm, as they are in a program after its first few operations.
"""

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import best, report

ROUNDS = 100
OPERATIONS = 9 * ROUNDS


def fresh_chain():
    """A new function of 900 operations, element-wise ones as in most programs and a few others."""

    def chain(x, y):
        for _ in range(ROUNDS):
            a = jnp.sin(x)
            b = jnp.multiply(a, y)
            c = b + 0.5
            d = jnp.maximum(c, x)
            e = jnp.tanh(d)
            f = jnp.where(e > 0, e, x)
            g = f - jnp.mean(f)
            x = g
        return x

    return chain


def main():
    x = jnp.ones((8, 8))
    y = jnp.ones((8,))

    def through_jit():
        jax.jit(fresh_chain()).trace(x, y)

    def through_make_jaxpr():
        jax.make_jaxpr(fresh_chain())(x, y)

    for warm in (through_jit, through_make_jaxpr):
        warm()
    report(
        {
            "trace_chain": best(through_jit, 7) / OPERATIONS,
            "make_jaxpr_chain": best(through_make_jaxpr, 7) / OPERATIONS,
        }
    )


if __name__ == "__main__":
    main()
