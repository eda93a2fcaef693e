"""Loops of many steps with small bodies, and cumulative operations along each axis."""

import numpy as np

import jax
import jax.numpy as jnp
from benchmarks.measures.timing import best, report
from jax import lax

STEPS = 100_000


def loops():
    """Compiled loops of 1e5 steps: (function, arguments) by name."""
    xs = np.linspace(0, 1, STEPS, dtype=np.float32)
    pairs = np.stack([xs, 1 - xs], axis=1)
    eight = np.ones(8, np.float32)
    turn = np.linalg.qr(np.arange(64.0).reshape(8, 8) % 7 + np.eye(8))[0].astype(np.float32)
    return {
        "scan_sum": (lambda c, x: lax.scan(lambda a, b: (a + b, None), c, x)[0], (np.float32(0), xs)),
        "scan_stack": (lambda c, x: lax.scan(lambda a, b: (0.9 * a + b, a), c, x), (np.float32(0), xs)),
        "scan_pair": (lambda c, x: lax.scan(lambda a, b: (jnp.sin(a) + b, None), c, x)[0], (np.ones(2, np.float32), pairs)),
        "scan_matvec": (lambda c, m: lax.scan(lambda a, _: (m @ a, None), c, None, length=STEPS)[0], (eight, turn)),
        "fori_add": (lambda c: lax.fori_loop(0, STEPS, lambda i, a: a * 0.999 + 1, c), (np.float32(0),)),
        "fori_vector": (lambda c: lax.fori_loop(0, STEPS, lambda i, a: a * 0.999 + i, c), (eight,)),
        "fori_update": (lambda c: lax.fori_loop(0, STEPS, lambda i, a: a.at[i % 1000].add(1.0), c),
                        (np.zeros(1000, np.float32),)),
        "while_add": (lambda c: lax.while_loop(lambda a: a < STEPS, lambda a: a + 1, c), (np.int32(0),)),
        "while_cond": (lambda c: lax.while_loop(lambda a: a[0] < STEPS,
                                                lambda a: (a[0] + 1, lax.cond(a[0] % 2 == 0, jnp.sin, jnp.cos, a[1])), c),
                       ((np.int32(0), np.float32(0)),)),
    }  # fmt: skip


def cumulative():
    """(ours, NumPy's, argument, axis) by name."""
    rng = np.random.default_rng(0)
    vector = rng.uniform(0.999, 1.001, 1_000_000).astype(np.float32)
    arrays = {"vector": (vector, 0), "rows": (vector.reshape(1000, 1000), 1), "columns": (vector.reshape(1000, 1000), 0),
              "middle": (vector.reshape(100, 100, 100), 1)}
    found = {}
    for name, (array, axis) in arrays.items():
        found[f"cumsum_{name}"] = (jnp.cumsum, np.cumsum, array, axis)
        found[f"cumprod_{name}"] = (jnp.cumprod, np.cumprod, array, axis)
        found[f"cummax_{name}"] = (lax.cummax, np.maximum.accumulate, array, axis)
    return found


def main():
    ours, numpys = {}, {}
    for name, (function, arguments) in loops().items():
        compiled, arguments = jax.jit(function), jax.device_put(arguments)
        jax.block_until_ready(compiled(*arguments))
        ours[name] = best(lambda f=compiled, a=arguments: jax.block_until_ready(f(*a)), 7)
    for name, (function, theirs, array, axis) in cumulative().items():
        compiled = jax.jit(lambda x, f=function, axis=axis: f(x, axis=axis))
        x = jax.device_put(array)
        np.testing.assert_allclose(compiled(x), theirs(array.astype(np.float64), axis=axis), rtol=1e-3)
        ours[name] = best(lambda f=compiled, x=x: jax.block_until_ready(f(x)), 15)
        numpys[name] = best(lambda f=theirs, x=array, axis=axis: f(x, axis=axis), 15)
    report(ours, numpy=numpys)


if __name__ == "__main__":
    main()
