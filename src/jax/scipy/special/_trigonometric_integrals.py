"""Sine and cosine integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.scipy.special import _tables as tables
from jax.scipy.special._common import chebyshev, like, operands

_EULER = float(np.euler_gamma)
def _sici_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    y = size * size
    near = size <= 4
    t = jnp.where(near, y / 8 - 1, jnp.zeros_like(x))
    si_near = size * chebyshev(t, tables.SI)
    log_size = jnp.log(jnp.where(near & (size > 0), size, jnp.ones_like(x)))
    ci_near = _EULER + log_size - jnp.where(near, y, jnp.zeros_like(y)) * chebyshev(t, tables.CIN)
    far = jnp.where(near | jnp.isinf(size), like(x, 5), size)
    above = far * far - 16
    t = jnp.where(jnp.isinf(above), jnp.ones_like(x), (above - 60) / (above + 60))
    f = chebyshev(t, tables.SICI_F) / far
    g = chebyshev(t, tables.SICI_G) / far / far
    sine, cosine = jnp.sin(far), jnp.cos(far)
    si_far = math.pi / 2 - f * cosine - g * sine
    ci_far = f * sine - g * cosine
    si = jnp.where(near, si_near, jnp.where(jnp.isinf(size), like(x, math.pi / 2), si_far))
    ci = jnp.where(near, ci_near, jnp.where(jnp.isinf(size), jnp.zeros_like(x), ci_far))
    ci = jnp.where(x == 0, like(x, -np.inf), ci)
    si = jnp.where(x < 0, -si, si)
    ci = jnp.where(x == -np.inf, like(x, np.nan), ci)  # the branch of the logarithm is left out for negative x
    wrong = jnp.isnan(x)
    return jnp.where(wrong, x, si), jnp.where(wrong, x, ci)


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    if typeof(x).dtype.itemsize >= 4:
        return _sici_value(x)
    si, ci = _sici_value(x.astype(np.float32))
    return si.astype(typeof(x).dtype), ci.astype(typeof(x).dtype)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    safe = jnp.where(x == 0, jnp.ones_like(x), x)
    return _sici(x), (t * jnp.where(x == 0, jnp.ones_like(x), jnp.sin(safe) / safe), t * jnp.cos(x) / x)


@composite
def sici(x: Any) -> tuple[Any, Any]:
    """The sine and cosine integrals ``(Si(x), Ci(x))``; for negative ``x`` the real part of the latter."""
    return _sici(*operands("sici", x))
