"""The accuracy of transcendental functions, and the family of primitives that can be asked for one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jax._ground.families import unary
from jax._language.primitive import Primitive
from jax._lowering import hlo


class AccuracyMode(enum.Enum):
    """How a transcendental function is to be computed: as accurately as the compiler can, or as it does by default."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """Bounds on the error of a transcendental function.

    The compiler takes the fastest implementation that meets them and fails when it has none. XLA's CPU backend has one
    implementation of each function and accepts any bounds.

    Args:
      atol: absolute error.
      rtol: relative error.
      ulps: error in units of the last place.

    Raises:
      ValueError: for negative bounds, or when none is given.
    """

    __slots__ = ("atol", "rtol", "ulps")

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError(f"Tolerance: bounds cannot be negative, got atol={atol}, rtol={rtol}, ulps={ulps}")
        if not (atol or rtol or ulps):
            raise ValueError("Tolerance: give at least one of atol, rtol and ulps")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps

    def _key(self) -> tuple[float, float, int]:
        return self.atol, self.rtol, self.ulps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"


def transcendental(name: str, accepted: frozenset[str], operation: str, jvp_out: Callable[..., Any]) -> Primitive:
    """A unary primitive with an ``accuracy`` parameter; ``jvp_out(t, out, x, accuracy)``."""
    stem = operation.partition(".")[2]

    def accurate(ctx: Any, x: Any, *, accuracy: Any) -> Any:
        if isinstance(accuracy, Tolerance):
            return hlo.with_accuracy(stem, x, atol=accuracy.atol, rtol=accuracy.rtol, ulps=accuracy.ulps)
        if isinstance(accuracy, AccuracyMode):
            return hlo.with_accuracy(stem, x, accuracy.name)
        raise TypeError(f"{name}: accuracy must be an AccuracyMode, a Tolerance or None, got {accuracy!r}")

    return unary(name, accepted, operation, jvp_out=jvp_out, with_settings=accurate)
