"""How arrays were said to be cut up before there were shardings: for each dimension, and for each axis of a grid of devices.

Kept for code that computes with such specs; :class:`jax.NamedSharding` says the same with names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class NoSharding(NamedTuple):
    """A dimension that is not divided."""


class Chunked(NamedTuple):
    """A dimension divided into as many equal parts as the product of ``chunks``, each of which is an axis of the grid."""

    chunks: Sequence[int]


class Unstacked(NamedTuple):
    """A dimension of ``size`` of which each part has one element, without the dimension."""

    size: int


class ShardedAxis(NamedTuple):
    """An axis of the grid along which the parts of the division numbered ``axis`` lie."""

    axis: int


class Replicated(NamedTuple):
    """An axis of the grid with ``replicas`` copies."""

    replicas: int


class ShardingSpec:
    """How an array is cut up over a grid of devices.

    Args:
      sharding: for each dimension :class:`NoSharding`, :class:`Chunked` or :class:`Unstacked`. Divisions are numbered in
        order.
      mesh_mapping: for each axis of the grid :class:`ShardedAxis` or :class:`Replicated`.

    Raises:
      ValueError: a division lies along no axis, or along several.

    >>> from jax.interpreters.pxla import Chunked, NoSharding, Replicated, ShardedAxis, ShardingSpec
    >>> spec = ShardingSpec((Chunked([2]), NoSharding()), (Replicated(2), ShardedAxis(0)))
    >>> spec.indices((4, 3))[1, 1]
    (slice(2, 4, None), slice(None, None, None))
    """

    __slots__ = ("sharding", "mesh_mapping")

    def __init__(self, sharding: Sequence[Any], mesh_mapping: Sequence[Any]) -> None:
        self.sharding = tuple(Chunked(tuple(s.chunks)) if isinstance(s, Chunked) else s for s in sharding)
        self.mesh_mapping = tuple(mesh_mapping)
        used = sorted(m.axis for m in self.mesh_mapping if isinstance(m, ShardedAxis))
        if used != list(range(len(self._divisions()))):
            raise ValueError(f"ShardingSpec: sharding={self.sharding} has {len(self._divisions())} divisions, and "
                             f"mesh_mapping={self.mesh_mapping} places those numbered {used}")

    def _divisions(self) -> list[int]:
        """Into how many parts each division goes."""
        out: list[int] = []
        for s in self.sharding:
            out.extend(s.chunks if isinstance(s, Chunked) else (s.size,) if isinstance(s, Unstacked) else ())
        return out

    @property
    def mesh_shape(self) -> tuple[int, ...]:
        """The shape of the grid."""
        counts = self._divisions()
        return tuple(counts[m.axis] if isinstance(m, ShardedAxis) else m.replicas for m in self.mesh_mapping)

    def indices(self, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        """For each place of the grid the index of its part in an array of ``shape``.

        Raises:
          ValueError: the array is not divided evenly.
        """
        if len(shape) != len(self.sharding):
            raise ValueError(f"a ShardingSpec of {len(self.sharding)} dimensions for an array of shape {tuple(shape)}")
        grid = np.empty(self.mesh_shape, dtype=object)
        counts = self._divisions()
        for place in np.ndindex(*grid.shape):
            part = [0] * len(counts)
            for m, i in zip(self.mesh_mapping, place, strict=True):
                if isinstance(m, ShardedAxis):
                    part[m.axis] = i
            rest = iter(part)
            grid[place] = tuple(_index(s, n, rest) for s, n in zip(self.sharding, shape, strict=True))
        return grid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingSpec) and (self.sharding, self.mesh_mapping) == (other.sharding, other.mesh_mapping)

    def __hash__(self) -> int:
        return hash((self.sharding, self.mesh_mapping))

    def __repr__(self) -> str:
        return f"ShardingSpec({self.sharding}, {self.mesh_mapping})"


def _index(kind: Any, n: int, part: Iterator[int]) -> Any:
    """The index of a part along one dimension of size ``n``; its number in each division is next in ``part``."""
    if isinstance(kind, Unstacked):
        if kind.size != n:
            raise ValueError(f"a dimension of size {n} is not {kind}")
        return next(part)
    if not isinstance(kind, Chunked):
        return slice(None)
    count = math.prod(kind.chunks)
    if n % count:
        raise ValueError(f"a dimension of size {n} is not divided evenly into {count} parts")
    number = 0
    for chunks, i in zip(kind.chunks, itertools.islice(part, len(kind.chunks)), strict=True):
        number = number * chunks + i
    return slice(number * (n // count), (number + 1) * (n // count))
