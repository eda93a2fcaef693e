"""Exponentials, logarithms and the logistic function, element by element."""

from __future__ import annotations

import math
from typing import Any

from jax._ground.families import INEXACT, like, unary
from jax._lowering import hlo
from jax.lax._accuracy import transcendental
from jax.lax._arithmetic import add, div, mul, sub

_LN2 = math.log(2)

# --- exp, expm1, exp2 -----------------------------------------------------------------------------------------------

exp_p = transcendental("exp", INEXACT, "stablehlo.exponential", lambda t, out, x, accuracy: mul(t, out))


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e to the power of each element.

    Args:
      x: floating or complex.
      accuracy: an :class:`AccuracyMode`, a :class:`Tolerance` or None, see the latter.
    """
    return exp_p.bind(x, accuracy=accuracy)


expm1_p = transcendental("expm1", INEXACT, "stablehlo.exponential_minus_one",
                         lambda t, out, x, accuracy: mul(t, add(out, like(out, 1))))


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """``exp(x) - 1`` for each element, accurate near 0. Arguments as for :func:`exp`."""
    return expm1_p.bind(x, accuracy=accuracy)


def _exp2_lower(ctx: Any, x: Any, *, accuracy: Any) -> Any:
    aval = ctx.avals_out[0]
    return hlo.power(hlo.full(2, aval.shape, aval.dtype), x)


exp2_p = unary("exp2", INEXACT, _exp2_lower, jvp_out=lambda t, out, x, accuracy: mul(t, mul(like(out, _LN2), out)))


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2 to the power of each element. ``accuracy`` is accepted and has no effect; else as for :func:`exp`."""
    return exp2_p.bind(x, accuracy=accuracy)


# --- log, log1p, log2 -----------------------------------------------------------------------------------------------

log_p = transcendental("log", INEXACT, "stablehlo.log", lambda t, out, x, accuracy: div(t, x))


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm of each element: -inf at 0, NaN for negative reals; the principal branch for complex ones.

    Arguments as for :func:`exp`.
    """
    return log_p.bind(x, accuracy=accuracy)


log1p_p = transcendental("log1p", INEXACT, "stablehlo.log_plus_one",
                         lambda t, out, x, accuracy: div(t, add(x, like(x, 1))))


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """``log(1 + x)`` for each element, accurate near 0. Arguments as for :func:`exp`."""
    return log1p_p.bind(x, accuracy=accuracy)


def _log2_lower(ctx: Any, x: Any, *, accuracy: Any) -> Any:
    aval = ctx.avals_out[0]
    return hlo.divide(hlo.log(x), hlo.full(_LN2, aval.shape, aval.dtype))


log2_p = unary("log2", INEXACT, _log2_lower, jvp_out=lambda t, out, x, accuracy: div(t, mul(like(x, _LN2), x)))


def log2(x: Any, *, accuracy: Any = None) -> Any:
    """The logarithm to base 2 of each element. ``accuracy`` is accepted and has no effect; else as for :func:`log`."""
    return log2_p.bind(x, accuracy=accuracy)


# --- logistic -------------------------------------------------------------------------------------------------------

logistic_p = transcendental("logistic", INEXACT, "stablehlo.logistic",
                            lambda t, out, x, accuracy: mul(t, mul(out, sub(like(out, 1), out))))


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """``1 / (1 + exp(-x))`` for each element (the sigmoid). Arguments as for :func:`exp`."""
    return logistic_p.bind(x, accuracy=accuracy)
