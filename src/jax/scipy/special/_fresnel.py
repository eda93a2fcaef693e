"""Fresnel integrals."""

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

_CUT = 1.8


def _fresnel_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size <= _CUT
    inner = jnp.where(near, size, jnp.ones_like(x))
    t = 2 * (inner / _CUT) ** 4 - 1
    s_near = inner ** 3 * chebyshev(t, tables.FRESNEL_S)
    c_near = inner * chebyshev(t, tables.FRESNEL_C)
    outer = jnp.where(near | jnp.isinf(size), like(x, 2), size)
    y = outer ** 4 - _CUT ** 4
    t = jnp.where(jnp.isinf(y), jnp.ones_like(x), (y - 20) / (y + 20))
    f = chebyshev(t, tables.FRESNEL_F) / (math.pi * outer)
    t = jnp.where(jnp.isinf(y), jnp.ones_like(x), (y - 40) / (y + 40))
    g = chebyshev(t, tables.FRESNEL_G) / (math.pi ** 2 * outer) / outer / outer
    # sin and cos of pi x**2 / 2; the whole turns of x**2 are taken off before
    half = _quarter_turns(outer)
    sine, cosine = jnp.sin(math.pi / 2 * half), jnp.cos(math.pi / 2 * half)
    s_far, c_far = 0.5 - f * cosine - g * sine, 0.5 + f * sine - g * cosine
    s = jnp.where(near, s_near, jnp.where(jnp.isinf(size), like(x, 0.5), s_far))
    c = jnp.where(near, c_near, jnp.where(jnp.isinf(size), like(x, 0.5), c_far))
    sign = jnp.sign(x)
    wrong = jnp.isnan(x)
    return jnp.where(wrong, x, sign * s), jnp.where(wrong, x, sign * c)


def _quarter_turns(x: Any) -> Any:
    """``x**2`` modulo 4, exactly, from the whole part ``w`` and the rest ``r`` of ``x``: ``w**2 + 2 w r + r**2``.

    For the second term ``w`` is split once more, into parts whose products with ``r`` have no more bits than the dtype.
    """
    half = 2.0 ** (26 if typeof(x).dtype.itemsize > 4 else 12)
    whole = jnp.round(x)
    rest = x - whole
    high = jnp.round(whole / half)
    low = whole - high * half
    middle = high * jnp.mod(half * rest, 2) + low * rest
    return jnp.mod(jnp.mod(whole, 4) ** 2, 4) + 2 * jnp.mod(middle, 2) + rest * rest


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    if typeof(x).dtype.itemsize >= 4:
        return _fresnel_value(x)
    s, c = _fresnel_value(x.astype(np.float32))
    return s.astype(typeof(x).dtype), c.astype(typeof(x).dtype)


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    angle = math.pi / 2 * x * x
    return _fresnel(x), (t * jnp.sin(angle), t * jnp.cos(angle))


@composite
def fresnel(x: Any) -> tuple[Any, Any]:
    """The Fresnel integrals ``(S(x), C(x))`` of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to ``x``."""
    return _fresnel(*operands("fresnel", x))
