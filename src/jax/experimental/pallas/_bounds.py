"""Bounds of what index maps return, so that blocks which are inside of their arrays are cut without further care.

An index map is evaluated in NumPy, once for all points of the grid: along each axis of the grid there is one axis of an
array, and broadcasting keeps those apart that a value does not depend on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._api.jit_primitive import jit_p
from jax._language.jaxpr import ClosedJaxpr, Literal

Bounds = tuple[int, int] | None  # the least and the greatest value, or nothing is known

_LIMIT = 2**31 - 1
_MOST_POINTS = 2**18


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    return None if (b == 0).any() else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    return None if (b == 0).any() else np.fmod(a, b)


def _selected(which: np.ndarray, *cases: np.ndarray) -> np.ndarray | None:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else None


def _converted(x: np.ndarray, new_dtype: Any, **params: Any) -> np.ndarray | None:
    if new_dtype == np.bool_:
        return x != 0
    return x.astype(np.int64) if new_dtype == np.int32 or new_dtype == np.int64 else None


# The numbers are int64, and truth values bool.
_rules: dict[Any, Callable[..., Any]] = {
    lax.add_p: np.add, lax.sub_p: np.subtract, lax.mul_p: np.multiply, lax.neg_p: np.negative, lax.max_p: np.maximum,
    lax.min_p: np.minimum, lax.sign_p: np.sign, lax.abs_p: np.abs, lax.eq_p: np.equal, lax.ne_p: np.not_equal,
    lax.lt_p: np.less, lax.le_p: np.less_equal, lax.gt_p: np.greater, lax.ge_p: np.greater_equal, lax.and_p: np.bitwise_and,
    lax.or_p: np.bitwise_or, lax.xor_p: np.bitwise_xor, lax.not_p: np.invert, lax.div_p: _quotient, lax.rem_p: _remainder,
    lax.select_n_p: _selected, lax.clamp_p: lambda low, x, high: np.minimum(np.maximum(x, low), high),
    lax.square_p: np.square, lax.integer_pow_p: lambda x, y: x**y if y >= 0 else None,
    lax.convert_element_type_p: _converted, lax.broadcast_in_dim_p: lambda x, **params: x,
}


def bounds_of(index_map: ClosedJaxpr, grid: Sequence[int]) -> list[Bounds]:
    """Bounds of the results of an index map, over the whole grid."""
    if not math.prod(grid):
        return [None] * len(index_map.jaxpr.outvars)
    axes = [np.arange(n).reshape([n if i == k else 1 for i in range(len(grid))]) if n <= _MOST_POINTS else None
            for k, n in enumerate(grid)]
    of_indices = dict(zip(index_map.jaxpr.invars, grid, strict=True))
    return [(0, of_indices[v] - 1) if type(v) is not Literal and v in of_indices else
            None if x is None else (int(x.min()), int(x.max()))
            for v, x in zip(index_map.jaxpr.outvars, _evaluated(index_map, axes), strict=True)]


def _evaluated(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """The results of a program on scalars; None for those that are not known."""
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))

    def read(v: Any) -> Any:
        if type(v) is not Literal:
            return env.get(v)
        value = np.asarray(v.val)
        return value if value.dtype == np.bool_ else value.astype(np.int64) if value.dtype.kind in "iu" else None

    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        if eqn.primitive is jit_p:
            env.update(zip(eqn.outvars, _evaluated(eqn.params["jaxpr"], values), strict=True))
            continue
        rule = _rules.get(eqn.primitive)
        if rule is not None and all(x is not None for x in values) and _is_index(eqn.outvars[0].aval):
            env[eqn.outvars[0]] = _applied(rule, values, eqn.params)
    return [read(v) for v in jaxpr.outvars]


def _is_index(aval: Any) -> bool:
    return aval.shape == () and aval.dtype in (np.int32, np.int64, np.bool_)


def _applied(rule: Callable[..., Any], values: Sequence[np.ndarray], params: dict[str, Any]) -> np.ndarray | None:
    if math.prod(np.broadcast_shapes(*[x.shape for x in values])) > _MOST_POINTS:
        return None
    found = rule(*values) if isinstance(rule, np.ufunc) or not params else rule(*values, **params)
    if found is None or (found.dtype != np.bool_ and np.abs(found).max() > _LIMIT):  # beyond, numbers may wrap
        return None
    return found


__all__ = ["Bounds", "bounds_of"]
