"""What the distributions are made of: operands, cases, and densities without cancellation.

A function of a distribution standardises its operand, evaluates its formula at a point of the support (so that no
derivative of an unused case is infinite), and then fills in the cases: constants beyond the support, NaN for parameters
that the distribution does not have.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._ground.families import category
from jax._language.avals import typeof
from jax.lax._densities import LARGE, log1p_minus, stirling_error
from jax.numpy._promotion import broadcast_args, promote_args_inexact
from jax.scipy.special._elementary import _xlog1py, _xlogy
from jax.scipy.special._gamma import _betaln

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def elementwise(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function of one distribution.

    It gets its operands in one floating dtype and one shape. Half precision is computed in float32. The whole is one
    compiled call on concrete arrays.

    Raises (when called):
      TypeError: for complex numbers.
    """
    name = f"{fun.__module__.rpartition('.')[2]}.{fun.__name__}"
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = operands(name, *bound.arguments.values())
        dtype = values[0].dtype
        if dtype.itemsize >= 4:
            return fun(*values)
        return fun(*[v.astype(np.float32) for v in values]).astype(dtype)

    return composite(call)


def operands(name: str, *args: Any) -> list[Any]:
    """Operands in one floating dtype, broadcast to one shape."""
    promoted = promote_args_inexact(name, *args)
    if category(typeof(promoted[0]).dtype) == "complex":
        raise TypeError(f"scipy.stats.{name}: real numbers are needed, got {typeof(promoted[0]).dtype}")
    return [jnp.asarray(x) for x in broadcast_args(name, *promoted)]


def constant(x: Any, value: float) -> np.ndarray:
    """A scalar in the dtype of ``x``."""
    return np.asarray(value, x.dtype)


def keep(condition: Any, x: Any, other: float) -> Any:
    """``x`` where the condition holds, else a harmless number."""
    return jnp.where(condition, x, constant(x, other))


def cases(value: Any, valid: Any, *exceptions: tuple[Any, float]) -> Any:
    """``value`` but for the exceptions ``(where, constant)``, of which later ones win; NaN where ``valid`` fails."""
    for where, fill in exceptions:
        value = jnp.where(where, constant(value, fill), value)
    return jnp.where(valid, value, constant(value, np.nan))


def log_probability(p: Any) -> Any:
    """``log(p)``; where ``p`` is 0 the slope is 0, as that of ``p`` is beyond the support."""
    none = p == 0
    return jnp.where(none, constant(p, -np.inf), jnp.log(keep(~none, p, 1)))


def is_count(k: Any) -> Any:
    """Which numbers are 0, 1, 2, ... (NaN passes, so that it reaches the result)."""
    return ~((k < 0) | (k != jnp.floor(k))) | jnp.isnan(k)


# --- logarithms of densities ----------------------------------------------------------------------------------------


def log_gamma_density(a: Any, x: Any) -> Any:
    """``log(x**(a-1) exp(-x) / gamma(a))`` for ``a > 0`` and finite ``x >= 0``.

    Large ``a`` by the saddle point (Loader, 2000): nothing large cancels.
    """
    limit = constant(a, LARGE + 1)
    large = (a >= limit) & (x > 0)
    b = jnp.where(large, a, limit) - 1  # x**b exp(-x) / gamma(b + 1)
    y = jnp.where(large, x, b)
    centred = b * log1p_minus((y - b) / b) - stirling_error(b) - 0.5 * jnp.log(b) - HALF_LOG_TAU
    c, z = jnp.where(large, jnp.ones_like(a), a), jnp.where(large, jnp.ones_like(x), x)
    direct = _xlogy(c - 1, z) - z - lax.lgamma(c)
    return jnp.where(large, centred, direct)


def log_beta_density(a: Any, b: Any, u: Any) -> Any:
    """``log(u**(a-1) (1-u)**(b-1) / beta(a, b))`` for ``a, b > 0`` and ``0 <= u <= 1``.

    If both parameters are large by the saddle point (Loader, 2000), else directly.
    """
    limit = constant(a, LARGE + 1)
    both = (a >= limit) & (b >= limit) & (u > 0) & (u < 1)
    p, q = jnp.where(both, a, limit) - 1, jnp.where(both, b, limit) - 1
    n = p + q
    v = jnp.where(both, u, p / n)
    off = v * q - (1 - v) * p
    centred = (p * log1p_minus(off / p) + q * log1p_minus(-off / q) + jnp.log1p(n)
               + stirling_error(n) - stirling_error(p) - stirling_error(q)
               - 0.5 * jnp.log(p * (q / n)) - HALF_LOG_TAU)
    c, d = jnp.where(both, jnp.ones_like(a), a), jnp.where(both, jnp.ones_like(b), b)
    w = keep(~both, u, 0.5)
    direct = _xlogy(c - 1, w) + _xlog1py(d - 1, -w) - _betaln(c, d)
    return jnp.where(both, centred, direct)
