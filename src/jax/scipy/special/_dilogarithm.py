"""The dilogarithm, as Spence's function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.composite import composite
from jax.scipy.special._common import horner, in_float32, like, operands, with_slope

# B_2k / (2k + 1)!
_DEBYE = (1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -4.0647616451442255e-11, 8.921691020456452e-13,
          -1.9939295860721076e-14, 4.518980029619918e-16, -1.0356517612181247e-17)


def _dilogarithm(z: Any) -> Any:
    """``Li2(z)`` for ``z`` in [-1, 1/2], by its series in ``-log(1 - z)``."""
    u = -jnp.log1p(-z)
    return u - 0.25 * u * u + u ** 3 * horner(u * u, _DEBYE)


def _spence_value(z: Any) -> Any:
    """``Li2(1 - z)``, with ``w = 1 - z`` brought to [-1, 1/2] by the functional equations of the dilogarithm."""
    w = 1 - z
    third = math.pi ** 2 / 6
    big = z > 2  # w < -1: by w -> 1 / w
    zb = jnp.where(big, z, like(z, 3))
    log_w = jnp.log(zb - 1)
    large = -_dilogarithm(1 / (1 - zb)) - third - 0.5 * log_w * log_w
    small = z < 0.5  # w > 1/2: by w -> 1 - w
    zs = jnp.where(small & (z > 0), z, like(z, 0.25))
    reflected = third - jnp.log(zs) * jnp.log1p(-zs) - _dilogarithm(zs)
    middle = _dilogarithm(jnp.where(big | small, jnp.zeros_like(w), w))
    out = jnp.where(big, large, jnp.where(small, reflected, middle))
    out = jnp.where(z == 0, like(z, third), out)
    return jnp.where(z >= 0, out, like(z, np.nan))


_spence = with_slope(lambda z: in_float32(_spence_value, z), lambda z, out: _spence_slope(z))


def _spence_slope(z: Any) -> Any:
    near = jnp.abs(z - 1) < 1e-3
    w = z - 1
    series = -1 + w / 2 - w * w / 3 + w ** 3 / 4 - w ** 4 / 5
    return jnp.where(near, series, jnp.log(z) / (1 - jnp.where(near, like(z, 2), z)))


@composite
def spence(x: Any) -> Any:
    """Spence's function ``int_1^x log(t) / (1 - t) dt``, the dilogarithm of ``1 - x``; NaN for negative ``x``."""
    return _spence(*operands("spence", x))
