"""Custom derivatives: differentiating the solution of a fixed-point equation without its iterations.

The equation is that of a network with infinitely many equal layers, ``z = tanh(W z + U x)`` (a "deep equilibrium"
model). The forward pass iterates to the solution. The backward pass solves the transposed linear system, by the implicit
function theorem, and so needs neither the iterates nor their memory. The result is compared with finite differences.

python examples/implicit_fixed_point.py
"""

from __future__ import annotations

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp


def iterate(step, start, tolerance=1e-12, most=500):
    """``step`` applied until nothing changes any more (or ``most`` times)."""

    def unfinished(state):
        count, old, new = state
        return (count < most) & (jnp.max(jnp.abs(new - old)) > tolerance)

    def advance(state):
        count, _, new = state
        return count + 1, new, step(new)

    return jax.lax.while_loop(unfinished, advance, (0, start, step(start)))[-1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, parameters, start):
    """The ``z`` with ``z = f(parameters, z)``; its derivative is that of the solution, not of the iteration."""
    return iterate(lambda z: f(parameters, z), start)


def fixed_point_fwd(f, parameters, start):
    z = fixed_point(f, parameters, start)
    return z, (parameters, z)


def fixed_point_bwd(f, residuals, cotangent):
    parameters, z = residuals
    # dz = (1 - df/dz)^-1 df/dp dp, so the cotangent u of f's result solves u = cotangent + (df/dz)^T u.
    _, pull_z = jax.vjp(lambda z: f(parameters, z), z)
    u = iterate(lambda u: cotangent + pull_z(u)[0], cotangent)
    _, pull_parameters = jax.vjp(lambda p: f(p, z), parameters)
    return pull_parameters(u)[0], jnp.zeros_like(z)


fixed_point.defvjp(fixed_point_fwd, fixed_point_bwd)


def layer(parameters, z):
    w, u, x = parameters
    return jnp.tanh(w @ z + u @ x)


@jax.jit
def loss(parameters):
    z = fixed_point(layer, parameters, jnp.zeros(parameters[0].shape[0]))
    return jnp.sum(z**2)


def problem(size=6, inputs=3, seed=0):
    """Weights of a contraction (spectral norm 0.9, so that the iteration converges), and an input."""
    keys = jax.random.split(jax.random.key(seed), 3)
    w = jax.random.normal(keys[0], (size, size))
    w = 0.9 * w / jnp.linalg.norm(w, ord=2)
    return w, jax.random.normal(keys[1], (size, inputs)), jax.random.normal(keys[2], (inputs,))


def finite_difference(f, parameters, direction, step=1e-5):
    """The directional derivative by central differences."""
    ahead = jax.tree.map(lambda p, d: p + step * d, parameters, direction)
    behind = jax.tree.map(lambda p, d: p - step * d, parameters, direction)
    return (f(ahead) - f(behind)) / (2 * step)


def main() -> float:
    """Compares both in a few random directions; returns the largest relative difference."""
    with jax.enable_x64(True):  # finite differences need the digits
        parameters = problem()
        gradient = jax.jit(jax.grad(loss))(parameters)
        worst = 0.0
        for seed in range(5):
            keys = jax.random.split(jax.random.key(100 + seed), len(parameters))
            direction = tuple(jax.random.normal(k, p.shape) for k, p in zip(keys, parameters, strict=True))
            implicit = sum(float(jnp.vdot(g, d)) for g, d in zip(gradient, direction, strict=True))
            measured = float(finite_difference(loss, parameters, direction))
            worst = max(worst, abs(implicit - measured) / abs(measured))
            print(f"direction {seed}: implicit {implicit:+.8f}, finite differences {measured:+.8f}")
        # The backward pass neither keeps nor repeats the iterates: the residuals are parameters and solution only.
        _, pull = jax.vjp(loss, parameters)
        kept = sum(np.size(leaf) for leaf in jax.tree.leaves(pull) if hasattr(leaf, "shape"))
        print(f"largest relative difference {worst:.1e}; numbers kept for the backward pass: {kept}")
    return worst


if __name__ == "__main__":
    main()
