"""A step along a direction that satisfies the strong Wolfe conditions.

J. Nocedal and S. J. Wright, "Numerical Optimization" (2nd ed., 2006), algorithms 3.5 and 3.6, as one loop: an interval
between the best step so far and one that is too long (at first infinite) shrinks until a step will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax import lax
from jax import numpy as jnp

_DECREASE, _CURVATURE = 1e-4, 0.9


class Step(NamedTuple):
    """A step: its length, where it leads, and whether it satisfies the conditions, or at least goes downhill."""
    length: Any
    x: Any
    value: Any
    gradient: Any
    good: Any
    downhill: Any
    evaluations: Any


class _State(NamedTuple):
    trial: Any
    low: Any  # the best step, the function's value and slope there
    low_value: Any
    low_slope: Any
    high: Any  # beyond the minimum
    high_value: Any
    value: Any  # at the best step, or the one that is good
    gradient: Any
    done: Any
    count: Any


def search(fun: Callable[[Any], Any], x: Any, direction: Any, value: Any, gradient: Any, first: Any, limit: int) -> Step:
    """A step from ``x`` along ``direction``; ``fun`` gives values and gradients, ``first`` is the length to try."""
    slope = jnp.dot(gradient, direction)

    def unfinished(s: _State) -> Any:
        return ~s.done & (s.count < limit)

    def attempt(s: _State) -> _State:
        a = s.trial
        f, g = fun(x + a * direction)
        d = jnp.dot(g, direction)
        # written so that NaN counts as too far
        far = ~((f <= value + _DECREASE * a * slope) & ((f < s.low_value) | (s.low == 0)))
        good = ~far & (jnp.abs(d) <= -_CURVATURE * slope)
        turns = d * jnp.where(jnp.isinf(s.high), 1, s.high - s.low) >= 0
        high = jnp.where(far, a, jnp.where(turns, s.low, s.high))
        high_value = jnp.where(far, f, jnp.where(turns, s.low_value, s.high_value))
        low, low_value, low_slope = (jnp.where(far, old, new) for old, new in
                                     ((s.low, a), (s.low_value, f), (s.low_slope, d)))
        trial = _next(low, low_value, low_slope, high, high_value)
        return _State(trial, low, low_value, low_slope, high, high_value, jnp.where(far, s.value, f),
                      jnp.where(far, s.gradient, g), good, s.count + 1)

    zero = jnp.zeros_like(value)
    start = _State(first, zero, value, slope, jnp.full_like(value, jnp.inf), value, value, gradient, jnp.asarray(False), 0)
    end = lax.while_loop(unfinished, attempt, start)
    return Step(end.low, x + end.low * direction, end.value, end.gradient, end.done, end.value < value, end.count)


def _next(low: Any, low_value: Any, low_slope: Any, high: Any, high_value: Any) -> Any:
    """Twice as far while there is no end; else the minimum of a parabola, kept away from the ends of the interval."""
    width = jnp.where(jnp.isinf(high), 1, high - low)
    curvature = high_value - low_value - low_slope * width
    share = -0.5 * low_slope * width / jnp.where(curvature > 0, curvature, 1)
    share = jnp.where(curvature > 0, jnp.clip(share, 0.1, 0.9), 0.5)
    return jnp.where(jnp.isinf(high), 2 * low, low + share * width)
