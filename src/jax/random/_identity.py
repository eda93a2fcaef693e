"""Who a key is: what arrays of keys carry under ``jax_debug_key_reuse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._base import source as source_info

MOST = 65536  # keys in one array; those of larger ones count as new after each operation

Identities = Any  # a NumPy array of objects, of the shape of an array of keys; None for other values


class Use(NamedTuple):
    """Who consumed a key, and where."""

    what: str
    traceback: Any

    def __str__(self) -> str:
        return f"{self.what} at {source_info.summarize(self.traceback)}"


class Identity:
    """One key, through all arrays that contain it."""

    __slots__ = ("used",)

    def __init__(self, used: Use | None = None) -> None:
        self.used = used


def fresh(shape: Sequence[int], used: Use | None = None) -> Identities:
    """Identities of new keys."""
    size = int(np.prod(shape, dtype=np.int64))
    if size > MOST:
        return None
    out = np.empty(size, object)
    out[:] = [Identity(used) for _ in range(size)]
    return out.reshape(tuple(shape))
