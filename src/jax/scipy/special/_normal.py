"""The normal distribution function, its logarithm and its inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.scipy.special._common import in_float32, like, operands, with_slope
from jax.scipy.special._error import _erfcx, _scaled_erfc

_ROOT_HALF = math.sqrt(0.5)


@composite
def ndtr(x: Any) -> Any:
    """The normal distribution function: the probability of values below ``x``."""
    (x,) = operands("ndtr", x)
    return 0.5 * lax.erfc(x * like(x, -_ROOT_HALF))


def _log_normal(x: Any) -> Any:
    scaled = x * like(x, -_ROOT_HALF)
    low = x < -1
    tail = jnp.log(_scaled_erfc(jnp.where(low, scaled, jnp.ones_like(x))) * 0.5) - 0.5 * x * x
    near = jnp.log1p(-0.5 * lax.erfc(-jnp.where(low, jnp.zeros_like(x), scaled)))
    return jnp.where(low, tail, near)


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    return in_float32(_log_normal, x)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    # exp(-x**2 / 2) / (sqrt(2 pi) ndtr(x)), in terms of the scaled function, which does not underflow
    scaled = _erfcx(jnp.where(x > 5, like(x, -5 * _ROOT_HALF), x * like(x, -_ROOT_HALF)))
    slope = math.sqrt(2 / math.pi) / scaled
    high = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)) / ndtr(x)
    return _log_ndtr(x), t * jnp.where(x > 5, high, slope)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of :func:`ndtr`, accurate in both tails. ``series_order`` is accepted and has no effect.

    Raises:
      TypeError: when ``series_order`` is not an integer.
      ValueError: when it is negative.
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be a Python integer, got {series_order!r}")
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return _log_ndtr_composite(x)


@composite
def _log_ndtr_composite(x: Any) -> Any:
    return _log_ndtr(*operands("log_ndtr", x))


def _normal_quantile(p: Any) -> Any:
    """Centrally the inverse error function; in the tails Newton's iteration for the logarithm of the probability."""
    dtype = typeof(p).dtype
    upper = p > 0.5
    tail = jnp.where(upper, 1 - p, p)
    central = math.sqrt(2) * lax.erf_inv(2 * jnp.where(tail > 0.1, p, like(p, 0.5)) - 1)
    inside = (tail > 0) & (tail <= 0.1)
    log_tail = jnp.log(jnp.where(inside, tail, like(p, 0.05)))
    r = jnp.sqrt(-2 * log_tail)
    x = -(r - (jnp.log(r) + 0.5 * math.log(2 * math.pi)) / r)
    for _ in range(4 if dtype.itemsize > 4 else 3):
        scaled = _scaled_erfc(x * like(x, -_ROOT_HALF))
        gap = jnp.log(0.5 * scaled) - 0.5 * x * x - log_tail
        x = x - gap * scaled * math.sqrt(math.pi / 2)
    x = jnp.where(upper, -x, x)
    out = jnp.where(inside, x, central)
    out = jnp.where(p == 0, like(p, -np.inf), jnp.where(p == 1, like(p, np.inf), out))
    return jnp.where((p >= 0) & (p <= 1), out, like(p, np.nan))


_ndtri = with_slope(lambda p: in_float32(_normal_quantile, p),
                    lambda p, out: math.sqrt(2 * math.pi) * jnp.exp(0.5 * out * out))


@composite
def ndtri(p: Any) -> Any:
    """The inverse of :func:`ndtr`: infinite at 0 and 1, NaN beyond."""
    return _ndtri(*operands("ndtri", p))
