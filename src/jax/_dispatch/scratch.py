"""How much memory a program needs besides its arguments and results, before it is compiled.

XLA puts all intermediate values of a program into one block. A thread's part of the C library's heap holds at most 64 MiB,
so that a larger block comes from the operating system and goes back to it in each run. In pieces the memory stays with
the thread; how much may stay is bounded (:mod:`jax._runtime.host_memory`), hence the estimate.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jax._language.evaluation import last_uses
from jax._language.jaxpr import Jaxpr, jaxprs_in_params
from jax._runtime import host_memory

_PIECE = 48 << 20  # a heap of a thread's, 64 MiB, holds one, beside what else the thread keeps there
_LEAST = 64 << 20  # smaller blocks fit into such a heap as they are
# XLA warns of values that exceed a piece. Operations may have larger ones inside than any of the program's: filled up,
# complex, or of 64 bits where the program's are of 8.
_LARGEST = 12 << 20
_LEAST_ITEM = 4


class Sizes(NamedTuple):
    """Sizes of a program's intermediate values in bytes, were nothing fused and equations run in order."""

    alive: int  # the most that are alive at once
    largest: int  # with elements of at least 4 bytes


def options(jaxpr: Jaxpr) -> dict[str, Any]:
    """The options of XLA for the intermediate values of ``jaxpr`` on a CPU: for programs of medium size, pieces."""
    most = host_memory.most_in_pieces()
    if most:
        sizes = sizes_of(jaxpr)
        if _LEAST <= sizes.alive <= most and sizes.largest <= _LARGEST:
            host_memory.keep_heaps()
            return {"xla_multiheap_size_constraint_per_heap": _PIECE}
    return {}


def sizes_of(jaxpr: Jaxpr) -> Sizes:
    return _sizes_of(jaxpr, {})


def _sizes_of(jaxpr: Jaxpr, known: dict[int, Sizes]) -> Sizes:
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    sizes: dict[Any, int] = {}
    used = most = largest = 0
    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        for inner in jaxprs_in_params(eqn.params):
            inside = _sizes_of(inner, known)
            most, largest = max(most, used + inside.alive), max(largest, inside.largest)
        for v in eqn.outvars:
            sizes[v] = _bytes(v.aval)
            used += sizes[v]
            largest = max(largest, _bytes(v.aval, _LEAST_ITEM))
        most = max(most, used)
        for v in dying:
            used -= sizes.pop(v, 0)
    known[id(jaxpr)] = Sizes(most, largest)
    return known[id(jaxpr)]


def _bytes(aval: Any, least: int = 1) -> int:
    dtype = getattr(aval, "dtype", None)
    return math.prod(aval.shape) * max(dtype.itemsize, least) if dtype is not None else 0
