"""A progress bar drawn from inside a compiled loop.

The whole training loop is one ``lax.scan``, so Python is not there to print. An ordered callback calls back every few
steps; ``lax.cond`` keeps it out of the others, and the loop does not wait for a result.

python examples/callbacks_progress.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp


class ProgressBar:
    """A bar on a stream: redrawn in a terminal, a line each time elsewhere."""

    def __init__(self, total: int, stream=sys.stderr):
        self.total = total
        self.stream = stream
        self.start = time.perf_counter()
        self.seen: list[int] = []

    def __call__(self, done, loss) -> None:
        done = int(done)
        self.seen.append(done)
        filled = 30 * done // self.total
        seconds = time.perf_counter() - self.start
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total} loss {float(loss):.4f} {seconds:4.1f} s"
        ends = ("\n" if done == self.total else "") if self.stream.isatty() else "\n"
        self.stream.write(("\r" if self.stream.isatty() else "") + line + ends)
        self.stream.flush()


def scan_with_progress(body: Callable, carry, steps: int, every: int, report: Callable):
    """``lax.scan(body, carry, jnp.arange(steps))``, calling ``report(done, loss)`` every so many steps.

    ``body(carry, i)`` returns the new carry and the step's loss.
    """

    def tell(done, loss):
        jax.debug.callback(report, done, loss, ordered=True)

    def wrapped(carry, i):
        carry, loss = body(carry, i)
        due = ((i + 1) % every == 0) | (i + 1 == steps)
        jax.lax.cond(due, tell, lambda done, loss: None, i + 1, loss)
        return carry, loss

    return jax.lax.scan(wrapped, carry, jnp.arange(steps))


def main(steps: int = 2000, every: int = 200, stream=sys.stderr) -> tuple[list[int], float]:
    """Fits a small network to a sine; returns the steps at which the bar was drawn and the last loss."""
    x = jnp.linspace(-3, 3, 200)[:, None]
    y = jnp.sin(2 * x)
    keys = jax.random.split(jax.random.key(0), 2)
    parameters = (
        jax.random.normal(keys[0], (1, 32)), jnp.zeros(32),
        jax.random.normal(keys[1], (32, 1)) / 6, jnp.zeros(1),
    )  # fmt: skip

    def loss(parameters):
        w1, b1, w2, b2 = parameters
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    def body(parameters, i):
        value, gradient = jax.value_and_grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - 0.02 * g, parameters, gradient), value

    bar = ProgressBar(steps, stream)
    run = jax.jit(lambda p: scan_with_progress(body, p, steps, every, bar))
    _, losses = run(parameters)
    jax.effects_barrier()  # the last reports may still be on their way
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    return bar.seen, float(losses[-1])


if __name__ == "__main__":
    main()
