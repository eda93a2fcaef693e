"""Bessel functions."""

from __future__ import annotations

import functools
import operator
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.scipy.special._common import operands, with_slope

_i0 = with_slope(lambda x: jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x), lambda x, out: _i1(x))
_i1 = with_slope(lambda x: jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x),
                 lambda x, out: _i0(x) - jnp.where(x == 0, 0.5, out / jnp.where(x == 0, jnp.ones_like(x), x)))


@composite
def i0e(x: Any) -> Any:
    """``exp(-abs(x)) * i0(x)``, which does not overflow."""
    return lax.bessel_i0e(*operands("i0e", x))


@composite
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0."""
    return _i0(*operands("i0", x))


@composite
def i1e(x: Any) -> Any:
    """``exp(-abs(x)) * i1(x)``, which does not overflow."""
    return lax.bessel_i1e(*operands("i1e", x))


@composite
def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1."""
    return _i1(*operands("i1", x))


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind of orders 0 to ``v``, by Miller's backward recurrence.

    Args:
      z: real numbers, less than ``n_iter`` in size (more exactly, by enough for the recurrence to settle).
      v: the highest order, a Python integer.
      n_iter: the order from which the recurrence starts.

    Returns:
      An array of shape ``(v + 1, *z.shape)``.

    Raises:
      ValueError: when ``v`` is negative or not less than ``n_iter``.
    """
    v, n_iter = operator.index(v), operator.index(n_iter)
    if not 0 <= v < n_iter:
        raise ValueError(f"bessel_jn: orders up to v={v} need 0 <= v < n_iter, got n_iter={n_iter}")
    return _bessel_jn(z, v=v, n_iter=n_iter)


@functools.partial(composite, static_argnames=("v", "n_iter"))
def _bessel_jn(z: Any, v: int, n_iter: int) -> Any:
    (z,) = operands("bessel_jn", z)
    zero = z == 0
    inverse = 1 / jnp.where(zero, jnp.ones_like(z), z)
    big = 1e30 if typeof(z).dtype.itemsize > 4 else 1e15

    def down(carry: Any, n: Any) -> Any:
        above, here, total = carry
        below = 2 * (n + 1) * inverse * here - above
        # Values grow; scaled down together they keep their ratios, but those stored before must follow.
        shrink = jnp.where(jnp.abs(below) > big, jnp.full_like(z, 1 / big), jnp.ones_like(z))
        even = (n % 2 == 0) & (n > 0)
        total = (total + jnp.where(even, 2 * below, jnp.zeros_like(z))) * shrink
        total = jnp.where(n == 0, total + below * shrink, total)
        return (here * shrink, below * shrink, total), (below * shrink, shrink)

    orders = jnp.arange(n_iter - 1, -1, -1).astype(typeof(z).dtype)
    start = (jnp.zeros_like(z), jnp.ones_like(z), jnp.zeros_like(z))
    (_, _, total), (values, shrinks) = lax.scan(down, start, orders)
    values, shrinks = jnp.flip(values, 0)[:v + 1], jnp.flip(shrinks, 0)[:v + 1]
    after = jnp.concatenate([jnp.ones_like(shrinks[:1]), jnp.cumprod(shrinks, 0)[:-1]])
    out = values * after / total
    order = lax.broadcasted_iota(int, out.shape, 0)
    at_zero = jnp.where(order == 0, jnp.ones_like(out), jnp.zeros_like(out))
    return jnp.where(jnp.broadcast_to(zero, out.shape), at_zero, out)
