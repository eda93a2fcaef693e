"""Transcendental functions and reductions of a million numbers, compiled."""

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import per_call, report

FUNCTIONS = {
    "sin": jnp.sin, "cos": jnp.cos, "exp": jnp.exp, "log": lambda x: jnp.log(jnp.abs(x)), "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid, "erf": jax.lax.erf, "sum": jnp.sum, "mean": jnp.mean, "max": jnp.max,
    "logsumexp": jax.nn.logsumexp, "softmax": jax.nn.softmax,
    "softmax_rows": lambda x: jax.nn.softmax(x.reshape(1000, 1000), axis=1),
}  # fmt: skip


def main():
    x = jnp.asarray(np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32))
    seconds = {}
    for name, function in FUNCTIONS.items():
        call = jax.jit(function)
        seconds[name] = per_call(lambda call=call: call(x), repeats=20)
    report(seconds)


if __name__ == "__main__":
    main()
