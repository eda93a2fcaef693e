"""From XLA's descriptions of partitionings back to meshes and specs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jax._base import _jaxlib

from ._placements import GSPMDSharding, NamedSharding, hlo_tiles
from ._specs import PartitionSpec


def sharding_from_hlo(op: Any, mesh: Any, device_list: Any) -> Any:
    """The sharding that XLA's ``OpSharding`` describes, over the axes of ``mesh`` where these can express it.

    Args:
      op: an ``OpSharding`` or ``HloSharding``.
      mesh: a mesh of the same devices, or None.
      device_list: the devices of the program, in order.
    """
    if not isinstance(op, _jaxlib.hlo.HloSharding):
        op = _jaxlib.hlo.HloSharding.from_proto(op)
    if mesh is not None:
        spec = spec_from_tiles(*hlo_tiles(op, len(device_list)), mesh, device_list)
        if spec is not None:
            return NamedSharding(mesh, spec)
    return GSPMDSharding(device_list, op)


def spec_from_tiles(counts: tuple[int, ...], order: np.ndarray, mesh: Any, device_list: Any) -> PartitionSpec | None:
    """The spec over ``mesh`` by which the devices hold these tiles, or None if no assignment of axes gives them."""
    sizes = dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    place = {d: i for i, d in enumerate(device_list)}
    grid = np.array([place[d] for d in mesh._flat_devices_tuple]).reshape(mesh.axis_sizes)
    pieces = math.prod(counts)
    wanted = np.sort(np.asarray(order).reshape(pieces, -1), axis=1)
    names = list(mesh.axis_names)
    for choice in _assignments(counts, tuple(n for n in names if sizes[n] > 1), sizes):
        used = [names.index(a) for axes in choice for a in axes]
        rest = [i for i in range(len(names)) if i not in used]
        have = np.sort(grid.transpose(used + rest).reshape(pieces, -1), axis=1)
        if np.array_equal(have, wanted):
            entries: list[Any] = [axes[0] if len(axes) == 1 else axes or None for axes in choice]
            while entries and entries[-1] is None:
                entries.pop()
            return PartitionSpec(*entries)
    return None


def _assignments(counts: tuple[int, ...], axes: tuple[Any, ...], sizes: dict[Any, int]) -> Iterator[list[tuple[Any, ...]]]:
    """Every way to give each dimension some of the axes, in some order, whose sizes multiply to its count."""
    if not counts:
        yield []
        return
    for chosen in _products(counts[0], axes, sizes):
        left = tuple(a for a in axes if a not in chosen)
        for others in _assignments(counts[1:], left, sizes):
            yield [chosen, *others]


def _products(count: int, axes: tuple[Any, ...], sizes: dict[Any, int]) -> Iterator[tuple[Any, ...]]:
    if count == 1:
        yield ()
        return
    for a in axes:
        if count % sizes[a] == 0:
            for more in _products(count // sizes[a], tuple(b for b in axes if b != a), sizes):
                yield (a, *more)
