"""Bounds of what integer programs compute, so that blocks which are inside of their arrays are cut without further care."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax import lax
from jax._api.jit_primitive import jit_p
from jax._language.jaxpr import ClosedJaxpr, Literal

Bounds = tuple[int, int] | None  # the least and the greatest value, or nothing is known

_LIMIT = 2**31 - 1


def _products(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


def _quotients(a: tuple[int, int], b: tuple[int, int]) -> Bounds:
    if b[0] != b[1] or b[0] <= 0:
        return None
    return tuple([abs(x) // b[0] * (1 if x >= 0 else -1) for x in a])  # type: ignore[return-value]


def _remainders(a: tuple[int, int], b: tuple[int, int]) -> Bounds:
    if b[0] <= 0:
        return None
    most = b[1] - 1
    return (-most if a[0] < 0 else 0), (most if a[1] > 0 else 0)


_rules: dict[Any, Callable[..., Bounds]] = {
    lax.add_p: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lax.sub_p: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    lax.mul_p: _products,
    lax.div_p: _quotients,
    lax.rem_p: _remainders,
    lax.neg_p: lambda a: (-a[1], -a[0]),
    lax.max_p: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    lax.min_p: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    lax.clamp_p: lambda lo, x, hi: (min(max(x[0], lo[0]), hi[0]), min(max(x[1], lo[1]), hi[1])),
    lax.convert_element_type_p: lambda a: a,
}


def bounds_of(closed: ClosedJaxpr, given: Sequence[Bounds]) -> list[Bounds]:
    """Bounds of the results of a program on scalars, from those of its arguments."""
    jaxpr = closed.jaxpr
    env: dict[Any, Bounds] = dict(zip(jaxpr.invars, given, strict=True))

    def read(v: Any) -> Bounds:
        if type(v) is not Literal:
            return env.get(v)
        try:
            return int(v.val), int(v.val)
        except (TypeError, ValueError):
            return None

    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        if eqn.primitive is jit_p:
            env.update(zip(eqn.outvars, bounds_of(eqn.params["jaxpr"], values), strict=True))
            continue
        rule = _rules.get(eqn.primitive)
        found = rule(*values) if rule is not None and None not in values else None
        if found is not None and max(map(abs, found)) <= _LIMIT:  # beyond, numbers may wrap
            env[eqn.outvars[0]] = found
    return [read(v) for v in jaxpr.outvars]


__all__ = ["Bounds", "bounds_of"]
