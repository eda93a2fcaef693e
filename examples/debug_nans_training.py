"""A training step whose gradient is NaN, and ``jax_debug_nans`` finding the line that makes it.

Points are moved until their distances are those of a map. The distance of a point to itself is the square root of zero,
whose derivative is infinite. It is masked out, but infinity times zero is NaN in the backward pass. The loss never shows
it: after the first step all points are NaN, no comparison with NaN is true, and the mask makes all distances zero.

python examples/debug_nans_training.py
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def distances(points):
    """Distances of all pairs, the wrong way: the mask comes after the square root."""
    square = jnp.sum((points[:, None] - points[None, :]) ** 2, axis=-1)
    return jnp.where(square > 0, jnp.sqrt(square), 0.0)


def guarded_distances(points):
    """The right way: derivatives flow through both sides of a ``where``, so the argument is what has to be guarded."""
    square = jnp.sum((points[:, None] - points[None, :]) ** 2, axis=-1)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0)


def make_step(distance_function):
    def loss(points, wanted):
        return jnp.mean((distance_function(points) - wanted) ** 2)

    @jax.jit
    def step(points, wanted):
        value, gradient = jax.value_and_grad(loss)(points, wanted)
        return points - gradient, value

    return step


def train(step, steps):
    """The losses of some steps from a random start, and the points at the end."""
    wanted = guarded_distances(jax.random.normal(jax.random.key(0), (8, 2)))
    points = jax.random.normal(jax.random.key(1), (8, 2))
    losses = []
    for _ in range(steps):
        points, value = step(points, wanted)
        losses.append(round(float(value), 4))
    return losses, points


def main() -> tuple[str, list[float]]:
    """Trains blindly, finds the line, trains the repaired step; returns the message and the last losses."""
    losses, points = train(make_step(distances), 3)
    print("losses:", losses, "and the first point:", points[0])

    message = ""
    try:
        with jax.debug_nans(True):
            train(make_step(distances), 3)
    except FloatingPointError as error:
        message = str(error)
        print(f"\nwith jax.debug_nans(True):\nFloatingPointError: {message}\n")

    with jax.debug_nans(True):  # nothing to find any more
        losses, _ = train(make_step(guarded_distances), 200)
    print("repaired, losses:", losses[:3], "...", losses[-1])
    return message, losses


if __name__ == "__main__":
    main()
