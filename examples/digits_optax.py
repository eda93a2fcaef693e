"""The network of ``digits_cnn.py``, trained with Optax, which knows nothing of whose ``jax`` it runs on.

python examples/digits_optax.py
"""

from __future__ import annotations

import optax
from _digits import STEPS, loss, run

import jax

SCHEDULE = optax.cosine_decay_schedule(2e-3, decay_steps=STEPS)
OPTIMIZER = optax.chain(optax.clip_by_global_norm(5.0), optax.adamw(SCHEDULE, weight_decay=1e-4))


@jax.jit
def step(parameters, state, images, labels, key):
    """One training step on one batch."""
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels, key)
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, value


if __name__ == "__main__":
    run("digits_optax", OPTIMIZER.init, step)
