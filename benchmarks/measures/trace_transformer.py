"""Tracing and lowering value_and_grad of a 24-layer transformer; nothing is compiled."""

import time

import jax
from benchmarks.measures.timing import best, report
from benchmarks.models import transformer

REPEATS = 5


def main():
    size = transformer.Size()
    params = transformer.init(size)
    tokens = transformer.batch(size)

    def trace():
        return jax.jit(transformer.fresh_value_and_grad()).trace(params, tokens)

    trace().lower()
    lowered = []
    for _ in range(REPEATS):
        traced = trace()
        start = time.perf_counter()
        traced.lower()
        lowered.append(time.perf_counter() - start)
    report({"trace_transformer": best(trace, REPEATS), "lower_transformer": min(lowered)})


if __name__ == "__main__":
    main()
