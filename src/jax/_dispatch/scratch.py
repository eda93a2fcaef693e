"""How much memory a program needs besides its arguments and results, before it is compiled.

XLA puts all intermediate values of a program into one block. A thread's part of the C library's heap holds at most 64 MiB,
so that a larger block comes from the operating system and goes back to it in each run. In pieces the memory stays with
the thread; how much may stay is bounded (:mod:`jax._runtime.host_memory`), hence the estimate.
"""

from __future__ import annotations

import math
from typing import Any

from jax._language.evaluation import last_uses
from jax._language.jaxpr import Jaxpr, jaxprs_in_params
from jax._runtime import host_memory

_PIECE = 24 << 20  # two in a heap of 64 MiB, with room for what else the thread keeps there
_LEAST = 64 << 20  # smaller blocks fit into a heap as they are


def options(jaxpr: Jaxpr) -> dict[str, Any]:
    """The options of XLA for the intermediate values of ``jaxpr`` on a CPU: for programs of medium size, pieces."""
    most = host_memory.most_in_pieces()
    if most and _LEAST <= most_alive(jaxpr) <= most:
        return {"xla_multiheap_size_constraint_per_heap": _PIECE}
    return {}


def most_alive(jaxpr: Jaxpr) -> int:
    """The most bytes of intermediate values that are alive at once, were nothing fused and equations run in order."""
    return _most_alive(jaxpr, {})


def _most_alive(jaxpr: Jaxpr, known: dict[int, int]) -> int:
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    sizes: dict[Any, int] = {}
    used = most = 0
    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        inside = max((_most_alive(inner, known) for inner in jaxprs_in_params(eqn.params)), default=0)
        most = max(most, used + inside)
        for v in eqn.outvars:
            sizes[v] = _bytes(v.aval)
            used += sizes[v]
        most = max(most, used)
        for v in dying:
            used -= sizes.pop(v, 0)
    known[id(jaxpr)] = most
    return most


def _bytes(aval: Any) -> int:
    dtype = getattr(aval, "dtype", None)
    return math.prod(aval.shape) * dtype.itemsize if dtype is not None else 0
