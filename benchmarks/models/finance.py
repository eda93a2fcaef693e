"""Black-Scholes prices of European calls and puts with their greeks, by automatic differentiation."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp


def price(spot, strike, rate, volatility, years):
    """Prices of a call and of a put."""
    deviation = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + volatility**2 / 2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * jnp.exp(-rate * years)
    cdf = jax.scipy.special.ndtr
    return spot * cdf(d1) - discounted * cdf(d2), discounted * cdf(-d2) - spot * cdf(-d1)


def build(options: int = 50_000):
    """Prices, first derivatives by all five inputs, and gamma."""

    def call(*inputs):
        return price(*inputs)[0]

    def greeks(*inputs):
        first = jax.vmap(jax.grad(call, argnums=(0, 1, 2, 3, 4)))(*inputs)
        gamma = jax.vmap(jax.grad(jax.grad(call)))(*inputs)
        return price(*inputs), first, gamma

    rng = np.random.default_rng(0)
    draw = rng.uniform
    inputs = (draw(50, 150, options), draw(50, 150, options), draw(0.0, 0.1, options), draw(0.1, 0.6, options),
              draw(0.1, 3.0, options))
    return greeks, tuple(a.astype(np.float32) for a in inputs)
