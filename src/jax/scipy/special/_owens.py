"""Owen's T function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.custom_derivatives import custom_jvp
from jax.scipy.special._common import in_float32, like, operands

_ROOT_HALF = math.sqrt(0.5)
_NODES, _WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(40))


def _owens_core(h: Any, a: Any) -> Any:
    """``T(h, a)`` for ``h >= 0`` and ``0 <= a <= 1`` by Gauss' quadrature of its definition.

    The integrand is concentrated in ``x < 9 / h``, so the rest is left out.
    """
    width = jnp.minimum(a, 9 / jnp.maximum(h, like(h, 1)))
    total = jnp.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = 0.5 * width * (node + 1)
        y = 1 + x * x
        total = total + weight * jnp.exp(-0.5 * h * h * y) / y
    return total * width * (0.5 / (2 * math.pi))


def _owens_value(h: Any, a: Any) -> Any:
    h, size = jnp.abs(h), jnp.abs(a)
    big = size > 1
    inner = jnp.where(big, size, jnp.ones_like(size))
    finite = jnp.where(jnp.isinf(inner), jnp.ones_like(inner), inner)
    ah = jnp.where(jnp.isinf(inner), jnp.where(h == 0, jnp.zeros_like(h), like(h, np.inf)), finite * h)
    # T(h, a) + T(a h, 1 / a) = (q(h) + q(a h)) / 2 - q(h) q(a h) with the upper tails q, which do not cancel
    q, qa = 0.5 * lax.erfc(h * _ROOT_HALF), 0.5 * lax.erfc(ah * _ROOT_HALF)
    swapped = _owens_core(jnp.where(big & ~jnp.isinf(ah), ah, jnp.zeros_like(h)), 1 / inner)
    swapped = jnp.where(jnp.isinf(ah), jnp.zeros_like(h), swapped)
    out = jnp.where(big, 0.5 * (q + qa) - q * qa - swapped, _owens_core(h, jnp.where(big, jnp.ones_like(size), size)))
    out = jnp.where(a < 0, -out, out)
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), like(h, np.nan), out)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    return in_float32(_owens_value, h, a)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (th, ta) = primals, tangents
    dh = -jnp.exp(-0.5 * h * h) * lax.erf(a * h * _ROOT_HALF) * (0.5 / math.sqrt(2 * math.pi))
    da = jnp.exp(-0.5 * h * h * (1 + a * a)) / (1 + a * a) * (0.5 / math.pi)
    return _owens_t(h, a), th * dh + ta * da


@composite
def owens_t(h: Any, a: Any) -> Any:
    """Owen's function: the probability of ``X > h`` and ``0 < Y < a X`` for independent normal variables."""
    return _owens_t(*operands("owens_t", h, a))
