"""Sorts of long rows run inside of XLA: in threads, beside callbacks, and while the interpreter goes down."""

from __future__ import annotations

import threading

import numpy as np

import jax
import jax.numpy as jnp

X = np.random.default_rng(0).standard_normal(1 << 17).astype(np.float32)


def test_threads_that_sort_and_wait():
    sorter = jax.jit(lambda x: (jnp.sort(x), jnp.argsort(x)))
    failures = []

    def work(seed):
        x = np.roll(X, seed)
        for _ in range(3):
            values, places = sorter(x)
            jax.block_until_ready(values)
            if not (np.asarray(values) == np.sort(x)).all() or not (x[np.asarray(places)] == np.sort(x)).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=120)
    assert not failures and not any(t.is_alive() for t in threads)


def test_callbacks_before_and_behind_a_sort():
    def twice(x):
        return np.asarray(jnp.sort(jnp.asarray(x))) * 2  # a callback that sorts itself

    @jax.jit
    def f(x):
        y = jax.pure_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), jnp.sort(x)[::-1])
        return jnp.sort(-y)

    for _ in range(3):
        np.testing.assert_array_equal(f(X), np.sort(-np.sort(X) * 2))


def test_an_exception_beside_a_sort_comes_out_and_the_next_call_works():
    broken = [True]

    def check(x):
        if broken[0]:
            raise KeyError("not yet")
        return x

    f = jax.jit(lambda x: jnp.sort(jax.pure_callback(check, jax.ShapeDtypeStruct(x.shape, x.dtype), jnp.sort(x))))
    try:
        jax.block_until_ready(f(X))
    except KeyError as error:
        assert "not yet" in str(error)
    else:
        raise AssertionError("the exception was lost")
    broken[0] = False
    np.testing.assert_array_equal(f(X), np.sort(X))


def test_the_interpreter_ends_while_sorts_are_under_way(run_python):
    code = """
import numpy as np, jax, jax.numpy as jnp
x = jnp.asarray(np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32))
f = jax.jit(lambda x: jnp.sort(jnp.sin(x)))
f(x).block_until_ready()
pending = [f(x + i) for i in range(8)]
print("done")
"""
    assert run_python(code).stdout == "done\n"
