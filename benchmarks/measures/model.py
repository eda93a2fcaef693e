"""Compiling and running one program of the suite: ``python -m benchmarks.measures.model NAME``."""

import sys
import time

import numpy as np

import jax
from benchmarks.measures.timing import best, report
from benchmarks.models.suite import MODELS


def main(name: str):
    function, arguments = MODELS[name]()
    arguments = jax.device_put(arguments)
    lowered = jax.jit(function).lower(*arguments)
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    result = jax.block_until_ready(compiled(*arguments))

    def run():
        jax.block_until_ready(compiled(*arguments))

    total = sum(float(np.sum(np.abs(np.asarray(x, np.float64)))) for x in jax.tree.leaves(result))
    print(f"sum of absolute results {total:.6g}", file=sys.stderr)
    report({f"compile_{name}": seconds, f"run_{name}": best(run, 15)})


if __name__ == "__main__":
    main(sys.argv[1])
