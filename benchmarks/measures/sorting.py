"""Sorting and order statistics of a million numbers, and the same in NumPy."""

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import best, report

SIZE = 10**6


def _wait(call, operand):
    jax.block_until_ready(call(operand))


def main():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(SIZE).astype(np.float32)
    rows, short = x.reshape(1000, 1000), x.reshape(10000, 100)
    middle = x.reshape(4000, 250)
    small, wide, half = rng.integers(0, 1000, SIZE, dtype=np.int32), x.astype(np.float64), x.astype(np.float16)
    numbers = np.sort(x[:1000])
    key, legacy = jax.random.key(0), np.random.RandomState(0)
    place = SIZE // 3

    def together(a):
        order = np.argsort(a, kind="stable")
        return a[order], a[order]

    calls = {
        "sort": (jnp.sort, np.sort, x),
        "sort_int32": (jnp.sort, np.sort, small),
        "sort_float64": (jnp.sort, np.sort, wide),
        "sort_float16": (jnp.sort, np.sort, half),
        "sort_rows": (jnp.sort, np.sort, rows),
        "sort_columns": (lambda a: jnp.sort(a, axis=0), lambda a: np.sort(a, axis=0), rows),
        "sort_short": (jnp.sort, np.sort, short),
        "sort_middle": (jnp.sort, np.sort, middle),
        "argsort": (jnp.argsort, lambda a: np.argsort(a, kind="stable"), x),
        "argsort_rows": (jnp.argsort, lambda a: np.argsort(a, kind="stable"), rows),
        "argsort_short": (jnp.argsort, lambda a: np.argsort(a, kind="stable"), short),
        "sort_two": (lambda a: jax.lax.sort((a, a * 2)), together, x),
        "top_k": (lambda a: jax.lax.top_k(a, 100), lambda a: np.argpartition(a, SIZE - 100)[SIZE - 100:], x),
        "partition": (lambda a: jnp.partition(a, place), lambda a: np.partition(a, place), x),
        "argpartition": (lambda a: jnp.argpartition(a, place), lambda a: np.argpartition(a, place), x),
        "median": (jnp.median, np.median, x),
        "median_rows": (lambda a: jnp.median(a, axis=1), lambda a: np.median(a, axis=1), rows),
        "quantile": (lambda a: jnp.quantile(a, 0.3), lambda a: np.quantile(a, 0.3), x),
        "unique": (jnp.unique, np.unique, x),
        "searchsorted": (lambda a: jnp.searchsorted(numbers, a), lambda a: np.searchsorted(numbers, a), x),
        "permutation": (lambda a: jax.random.permutation(key, a), legacy.permutation, x),
        "choice": (lambda a: jax.random.choice(key, a, (SIZE // 10,), replace=False),
                   lambda a: legacy.choice(a, SIZE // 10, replace=False), x),
    }
    ours, numpy = {}, {}
    with jax.enable_x64(True):
        on_device = {id(a): jnp.asarray(a) for _, _, a in calls.values()}
    for name, (call, same, a) in calls.items():
        with jax.enable_x64(a.dtype == np.float64):
            mine = on_device[id(a)]
            _wait(call, mine)
            ours[name] = best(partial(_wait, call, mine), 7)
        same(a)
        numpy[name] = best(partial(same, a), 7)
    report(ours, numpy=numpy)


if __name__ == "__main__":
    main()
