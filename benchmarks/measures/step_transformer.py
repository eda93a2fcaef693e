"""Compiling and running one training step of a transformer, 24 layers unless told otherwise."""

import sys
import time

import jax
from benchmarks.measures.timing import best, report
from benchmarks.models import transformer


def main(layers: int = 24):
    size = transformer.Size(layers=layers)
    params = jax.device_put(transformer.init(size))
    tokens = jax.device_put(transformer.batch(size))
    lowered = jax.jit(transformer.step).lower(params, tokens)
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    _, value = compiled(params, tokens)

    def run():
        jax.block_until_ready(compiled(params, tokens))

    print(f"loss {float(value):.6f}", file=sys.stderr)
    report({"compile_step": seconds, "run_step": best(run, 7)})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
