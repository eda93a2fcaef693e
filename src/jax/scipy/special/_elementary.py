"""Logistic functions, products with logarithms, entropies."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.custom_derivatives import SymbolicZero, custom_jvp
from jax.nn import _normalization as normalization
from jax.numpy._promotion import promote_args_inexact
from jax.scipy.special._common import horner, like, operands

# --- logistic functions ---------------------------------------------------------------------------------------------


@composite
def expit(x: Any) -> Any:
    """The logistic function ``1 / (1 + exp(-x))``."""
    return lax.logistic(*promote_args_inexact("expit", x))


@composite
def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, the inverse of :func:`expit`; NaN outside of [0, 1]."""
    (x,) = promote_args_inexact("logit", x)
    x = jnp.asarray(x)
    return jnp.log(x) - jnp.log1p(-x)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False,
              where: Any = None) -> Any:
    """``log(sum(b * exp(a)))`` over ``axis``, without overflow.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      b: factors, broadcast with ``a``.
      keepdims: keep the summed axes with size 1.
      return_sign: return ``(log of the size, sign)``; without it a negative sum gives NaN.
      where: booleans, broadcast with ``a``: which elements to take.
    """
    return normalization.logsumexp(a, axis, b, keepdims, return_sign, where)


def _every_axis(x: Any, axis: Any) -> Any:
    return tuple(range(np.ndim(x))) if axis is None else axis


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over ``axis`` (all axes by default, as in SciPy)."""
    return normalization.softmax(x, axis=_every_axis(x, axis))


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """``log(softmax(x))`` over ``axis`` (all axes by default, as in SciPy)."""
    return normalization.log_softmax(x, axis=_every_axis(x, axis))


# --- products with logarithms ---------------------------------------------------------------------------------------

@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, jnp.zeros_like(x), x * jnp.log(jnp.where(zero, jnp.ones_like(y), y)))


def _slopes(tangents: Any, by_x: Any, x: Any, y: Any) -> Any:
    """The tangent of ``x * log(y)`` by its two slopes. Only what varies counts: at ``x = y = 0`` one may be infinite
    and the other is 0."""
    terms = []
    if type(tangents[0]) is not SymbolicZero:
        terms.append(tangents[0] * by_x)
    if type(tangents[1]) is not SymbolicZero:
        zero = (x == 0) & ~jnp.isnan(y)
        terms.append(tangents[1] * (x / jnp.where(zero, jnp.ones_like(y), y)))
    return sum(terms[1:], terms[0]) if terms else jnp.zeros_like(x)


@functools.partial(_xlogy.defjvp, symbolic_zeros=True)
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlogy(x, y), _slopes(tangents, jnp.log(y), x, y)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, jnp.zeros_like(x), x * jnp.log1p(jnp.where(zero, jnp.zeros_like(y), y)))


@functools.partial(_xlog1py.defjvp, symbolic_zeros=True)
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlog1py(x, y), _slopes(tangents, jnp.log1p(y), x, 1 + y)


@composite
def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, and 0 where ``x`` is 0 (unless ``y`` is NaN)."""
    return _xlogy(*operands("xlogy", x, y, real=False))


@composite
def xlog1py(x: Any, y: Any) -> Any:
    """``x * log(1 + y)``, and 0 where ``x`` is 0 (unless ``y`` is NaN); accurate for small ``y``."""
    return _xlog1py(*operands("xlog1py", x, y, real=False))


@composite
def entr(x: Any) -> Any:
    """``-x * log(x)``: 0 at 0, and -inf for negative ``x``."""
    (x,) = operands("entr", x)
    return jnp.where(x < 0, like(x, -np.inf), -_xlogy(x, x))


def _relative_entropy(p: Any, q: Any) -> Any:
    both, none = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    p, q = (jnp.where(both, v, jnp.ones_like(v)) for v in (p, q))
    out = jnp.where(both, p * jnp.log(p / q), like(p, np.inf))
    return jnp.where(none, jnp.zeros_like(out), out)


@composite
def rel_entr(p: Any, q: Any) -> Any:
    """``p * log(p / q)`` for positive operands, 0 for ``p = 0`` and ``q >= 0``, infinite elsewhere."""
    p, q = operands("rel_entr", p, q)
    out = _relative_entropy(p, q)
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), like(p, np.nan), out)


@composite
def kl_div(p: Any, q: Any) -> Any:
    """``p * log(p / q) - p + q`` for positive operands, ``q`` for ``p = 0`` and ``q >= 0``, infinite elsewhere."""
    p, q = operands("kl_div", p, q)
    out = _relative_entropy(p, q) - p + q
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), like(p, np.nan), out)


# --- powers ---------------------------------------------------------------------------------------------------------

def _power_transform(log_x: Any, lmbda: Any) -> Any:
    u = lmbda * log_x
    near = jnp.abs(u) < 1e-3
    safe = jnp.where(near, jnp.ones_like(u), u)
    # expm1(u) / u, as its series where the quotient has no derivative
    ratio = jnp.where(near, horner(u, (1, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720)), jnp.expm1(safe) / safe)
    with_power = jnp.where(lmbda == 0, jnp.ones_like(lmbda), lmbda)
    return jnp.where(jnp.isinf(log_x) & (lmbda != 0), jnp.expm1(u) / with_power, log_x * ratio)


@composite
def boxcox(x: Any, lmbda: Any) -> Any:
    """The Box-Cox transform ``(x**lmbda - 1) / lmbda``, and ``log(x)`` where ``lmbda`` is 0."""
    x, lmbda = operands("boxcox", x, lmbda)
    return _power_transform(jnp.log(x), lmbda)


@composite
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """The Box-Cox transform of ``1 + x``, accurate for small ``x``."""
    x, lmbda = operands("boxcox1p", x, lmbda)
    return _power_transform(jnp.log1p(x), lmbda)
