"""Compiling a training step ahead of time: before there is any data, what will it cost, and what makes it smaller?

The same step is compiled in four ways: as it is, with the old state donated, with the blocks of the network recomputed in
the backward pass, and with both. XLA's analysis says what each needs; then the last one is run.

python examples/ahead_of_time.py
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

WIDTH, DEPTH, BATCH = 128, 8, 512


class Cost(NamedTuple):
    """Bytes and operations of a compiled step. XLA counts the operations of a loop's body once."""

    arguments: int
    outputs: int
    shared: int  # outputs that take the memory of arguments
    temporaries: int
    flops: float

    @property
    def total(self) -> int:
        return self.arguments + self.outputs - self.shared + self.temporaries


def block(weights, x):
    return x + jnp.tanh(x @ weights["in"]) @ weights["out"]


def make_step(recompute: bool):
    run_block = jax.checkpoint(block) if recompute else block

    def loss(state, x, y):
        x, _ = jax.lax.scan(lambda x, weights: (run_block(weights, x), None), x, state)
        return jnp.mean((x - y) ** 2)

    def step(state, x, y):
        value, gradient = jax.value_and_grad(loss)(state, x, y)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, state, gradient), value

    return step


def shapes():
    """The step's arguments, without data."""
    matrix = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    state = {"in": matrix((DEPTH, WIDTH, 4 * WIDTH)), "out": matrix((DEPTH, 4 * WIDTH, WIDTH))}
    return state, matrix((BATCH, WIDTH)), matrix((BATCH, WIDTH))


def compile_step(recompute: bool, donate: bool):
    """The compiled step, and its cost."""
    lowered = jax.jit(make_step(recompute), donate_argnums=0 if donate else ()).lower(*shapes())
    compiled = lowered.compile()
    memory = compiled.memory_analysis()
    cost = Cost(
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.alias_size_in_bytes,
        memory.temp_size_in_bytes,
        compiled.cost_analysis()["flops"],
    )
    return compiled, cost


def main() -> dict[str, Cost]:
    """Prints a table; returns its rows."""
    rows = {}
    print(f"{'':24} {'arguments':>10} {'shared':>10} {'temporary':>10} {'in all':>10} {'Gflop':>7}")
    for name, recompute, donate in [
        ("as it is", False, False),
        ("donated", False, True),
        ("recomputed", True, False),
        ("donated and recomputed", True, True),
    ]:
        compiled, cost = compile_step(recompute, donate)
        rows[name] = cost
        sizes = (cost.arguments, cost.shared, cost.temporaries, cost.total)
        print(f"{name:24} " + " ".join(f"{size / 2**20:6.1f} MiB" for size in sizes) + f" {cost.flops / 1e9:7.2f}")

    # A compiled step takes arrays of exactly the types it was compiled for, and never compiles again.
    keys = iter(jax.random.split(jax.random.key(0), 4))
    state, x, y = jax.tree.map(lambda s: 0.05 * jax.random.normal(next(keys), s.shape, s.dtype), shapes())
    for i in range(3):
        state, value = compiled(state, x, y)
        print(f"step {i}: loss {value:.5f}")
    return rows


if __name__ == "__main__":
    main()
