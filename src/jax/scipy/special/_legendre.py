"""Associated Legendre functions and spherical harmonics."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax._language.trace import concrete_or_error
from jax.numpy._promotion import check_arraylike
from jax.scipy.special._common import operands


def _table(top: int, z: Any, normalized: bool) -> Any:
    """``P_l^m(z)`` for ``m, l <= top``, of shape ``(top + 1, top + 1, *z.shape)``, with the Condon-Shortley phase.

    By the recurrence in the degree, which is stable upwards (DLMF 14.10.3); with ``normalized`` times
    ``sqrt((2 l + 1) (l - m)! / (4 pi (l + m)!))``, in a form that does not overflow.
    """
    zero = jnp.zeros_like(z)
    sine = jnp.sqrt(jnp.maximum(1 - z * z, 0))
    rows = []
    diagonal = jnp.full_like(z, math.sqrt(1 / (4 * math.pi)) if normalized else 1)
    for m in range(top + 1):
        if m:
            diagonal = diagonal * sine * (-math.sqrt((2 * m + 1) / (2 * m)) if normalized else -(2 * m - 1))
        row = [zero] * m + [diagonal]
        for n in range(m + 1, top + 1):
            before = row[n - 2] if n - 2 >= m else zero
            if normalized:
                a = math.sqrt((4 * n * n - 1) / (n * n - m * m))
                b = math.sqrt(((n - 1) ** 2 - m * m) / (4 * (n - 1) ** 2 - 1)) if n > 1 else 0.0
                row.append(a * (z * row[n - 1] - b * before))
            else:
                row.append(((2 * n - 1) * z * row[n - 1] - (n + m - 1) * before) / (n - m))
        rows.append(jnp.stack(row))
    return jnp.stack(rows)


def _degrees(name: str, m: Any, n: Any) -> int:
    m, n = operator.index(m), operator.index(n)
    if m < 0 or m != n:
        raise NotImplementedError(f"{name}: m and n must be equal Python integers, the highest order and degree, got "
                                  f"m={m} and n={n}")
    return n


def _vector(name: str, z: Any) -> Any:
    check_arraylike(name, z)
    if np.ndim(z) != 1:
        raise ValueError(f"{name}: z must be a vector, got shape {np.shape(z)}")
    return operands(name, z)[0]


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    """The associated Legendre functions of the first kind up to order and degree ``n``, and their derivatives.

    Args:
      m, n: the highest order and degree, equal Python integers.
      z: a vector of numbers in (-1, 1).

    Returns:
      Two arrays of shape ``(m + 1, n + 1, len(z))``: values and derivatives with respect to ``z``.

    Raises:
      NotImplementedError: when ``m`` and ``n`` differ.
      ValueError: when ``z`` is not a vector.
    """
    return _lpmn(_vector("lpmn", z), top=_degrees("lpmn", m, n))


@functools.partial(composite, static_argnames=("top",))
def _lpmn(z: Any, top: int) -> tuple[Any, Any]:
    values = _table(top, z, False)
    # DLMF 14.10.5: (1 - z^2) dP_l^m = (l + m) P_(l-1)^m - l z P_l^m
    shape = values.shape
    order, degree = lax.broadcasted_iota(np.int32, shape, 0), lax.broadcasted_iota(np.int32, shape, 1)
    below = jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
    zz = jnp.broadcast_to(z, shape)
    slope = ((degree + order).astype(values.dtype) * below - degree.astype(values.dtype) * zz * values) / (1 - zz * zz)
    return values, jnp.where(degree >= order, slope, jnp.zeros_like(slope))


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """The associated Legendre functions of the first kind up to order and degree ``n``.

    Args:
      m, n: the highest order and degree, equal Python integers.
      z: a vector of numbers in [-1, 1].
      is_normalized: multiply with ``sqrt((2 n + 1) (n - m)! / (4 pi (n + m)!))``, as in spherical harmonics.

    Returns:
      An array of shape ``(m + 1, n + 1, len(z))``.
    """
    return _lpmn_values(_vector("lpmn_values", z), top=_degrees("lpmn_values", m, n), normalized=bool(is_normalized))


@functools.partial(composite, static_argnames=("top", "normalized"))
def _lpmn_values(z: Any, top: int, normalized: bool) -> Any:
    return _table(top, z, normalized)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None) -> Any:
    """Spherical harmonics ``Y_n^m``, with the Condon-Shortley phase.

    Args:
      n: degrees, integers.
      m: orders, integers of at most ``n`` in size.
      theta: polar angles in [0, pi].
      phi: azimuths. All four are broadcast together.
      diff_n: not supported; differentiate with ``jax.grad``.
      n_max: the highest degree, a Python integer; by default the largest ``n``, which must then be known.

    Returns:
      Complex numbers.

    Raises:
      ConcretizationTypeError: without ``n_max`` when ``n`` is traced.
      NotImplementedError: for ``diff_n``.
    """
    if diff_n not in (None, 0):
        raise NotImplementedError("sph_harm_y: diff_n= is not supported; differentiate with jax.grad or jax.jacfwd")
    check_arraylike("sph_harm_y", n, m, theta, phi)
    if n_max is None:
        n_max = concrete_or_error(lambda v: int(np.max(np.asarray(v), initial=0)), n,
                                  "sph_harm_y: give n_max=, the highest degree, when n is traced")
    return _sph_harm_y(n, m, theta, phi, top=operator.index(n_max))


@functools.partial(composite, static_argnames=("top",))
def _sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, top: int) -> Any:
    theta, phi = operands("sph_harm_y", theta, phi)
    n, m, theta, phi = jnp.broadcast_arrays(jnp.asarray(n), jnp.asarray(m), theta, phi)
    order = jnp.abs(m)
    table = _table(top, jnp.cos(theta), True)
    flat = table.reshape((top + 1) ** 2, *theta.shape)
    index = jnp.clip(order * (top + 1) + n, 0, flat.shape[0] - 1)
    values = jnp.take_along_axis(flat, index[None], axis=0)[0]
    values = jnp.where((order <= n) & (n <= top), values, jnp.zeros_like(values))
    angle = order.astype(typeof(phi).dtype) * phi
    out = lax.complex(values * jnp.cos(angle), values * jnp.sin(angle))
    odd = (order % 2) == 1
    negative = jnp.where(odd, -jnp.conj(out), jnp.conj(out))
    return jnp.where(m < 0, negative, out)


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, n_max: int | None = None) -> Any:
    """Spherical harmonics with the arguments of old versions of SciPy: ``sph_harm_y(n, m, phi, theta)``.

    Here ``theta`` is the azimuth and ``phi`` the polar angle.
    """
    return sph_harm_y(n, m, phi, theta, n_max=n_max)
