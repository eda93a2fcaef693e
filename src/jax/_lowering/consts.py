"""Closed-over arrays: small ones are written into the program, large ones become arguments of the executable.

The compiler copies, hashes and folds a large array in the text of a module, and the copy stays in the executable.
"""

from __future__ import annotations

from typing import Any

from jax import dtypes
from jax._base import _jaxlib, config
from jax._language.jaxpr import ClosedJaxpr, Jaxpr


def is_large(value: Any) -> bool:
    """Whether a constant is passed as an argument."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(value, _jaxlib.ir.Value):
        return False
    if isinstance(dtype, dtypes.ExtendedDType):
        value = dtype.unwrap(value)
    return value.size * value.dtype.itemsize > config.embedded_constants_max_bytes.value


def captured_consts(closed: ClosedJaxpr) -> list[tuple[Any, Any]]:
    """The large constants of ``closed`` and of every closed jaxpr inside it, each once: (value, aval)."""
    found: dict[int, tuple[Any, Any]] = {}
    _collect_closed(closed, found, {})
    return list(found.values())


def _collect_closed(closed: ClosedJaxpr, found: dict[int, tuple[Any, Any]], seen: dict[int, Any]) -> None:
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if id(value) not in found and is_large(value):
            found[id(value)] = (value, var.aval)
    _collect(closed.jaxpr, found, seen)


def _collect(jaxpr: Jaxpr, found: dict[int, tuple[Any, Any]], seen: dict[int, Any]) -> None:
    if id(jaxpr) in seen:
        return
    seen[id(jaxpr)] = jaxpr
    for eqn in jaxpr.eqns:
        if eqn.primitive.abstract_cache is None:  # primitives that hold jaxprs
            for param in eqn.params.values():
                for item in param if isinstance(param, (tuple, list)) else (param,):
                    if isinstance(item, ClosedJaxpr):
                        _collect_closed(item, found, seen)
                    elif isinstance(item, Jaxpr):
                        _collect(item, found, seen)
