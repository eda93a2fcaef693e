"""Unrolled integrators of ordinary differential equations and gradients through them."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def lorenz(state, parameters):
    x, y, z = state
    sigma, rho, beta = parameters
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def runge_kutta(steps: int = 24, points: int = 4096, gradient: bool = False):
    """Classical Runge-Kutta for many trajectories of the Lorenz system at once."""

    def advance(state, parameters, dt):
        def shifted(k, by):
            return tuple(s + by * d for s, d in zip(state, k, strict=True))

        k1 = lorenz(state, parameters)
        k2 = lorenz(shifted(k1, dt / 2), parameters)
        k3 = lorenz(shifted(k2, dt / 2), parameters)
        k4 = lorenz(shifted(k3, dt), parameters)
        return tuple(s + dt / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True))

    def final(state, parameters):
        for _ in range(steps):
            state = advance(state, parameters, 0.01)
        return state

    def energy(state, parameters):
        return sum(jnp.mean(s**2) for s in final(state, parameters))

    rng = np.random.default_rng(0)
    state = tuple(rng.standard_normal(points).astype(np.float32) for _ in range(3))
    parameters = (np.float32(10), np.float32(28), np.float32(8 / 3))
    return (jax.grad(energy, argnums=(0, 1)) if gradient else final), (state, parameters)


def leapfrog(steps: int = 24, bodies: int = 48, gradient: bool = False):
    """Leapfrog for bodies that attract each other, softened; the force is a sum over all pairs."""

    def acceleration(q):
        apart = q[None, :, :] - q[:, None, :]
        near = jnp.sum(apart**2, axis=-1) + 1e-2
        return jnp.sum(apart * (near**-1.5)[:, :, None], axis=1) / bodies

    def final(q, p):
        dt = 0.01
        p = p + 0.5 * dt * acceleration(q)
        for _ in range(steps):
            q = q + dt * p
            p = p + dt * acceleration(q)
        return q, p

    def spread(q, p):
        q, p = final(q, p)
        return jnp.sum(q**2) + jnp.sum(p**2)

    rng = np.random.default_rng(0)
    q = rng.standard_normal((bodies, 3)).astype(np.float32)
    p = np.zeros((bodies, 3), np.float32)
    return (jax.grad(spread, argnums=(0, 1)) if gradient else final), (q, p)


def runge_kutta_gradient():
    return runge_kutta(steps=12, gradient=True)


def leapfrog_gradient():
    return leapfrog(gradient=True)
