"""Partition specs of a ``shard_map``: from whole types to those of one part and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from jax._language.avals import ShapedArray
from jax._language.manual import vma_of
from jax.sharding import PartitionSpec


def axes_of(entry: Any) -> tuple[Any, ...]:
    """The mesh axes that an entry of a spec names."""
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def named(spec: PartitionSpec) -> frozenset[Any]:
    """All mesh axes that a spec names."""
    return frozenset(a for e in spec.partitions for a in axes_of(e))


def counts(spec: PartitionSpec, mesh: Any) -> list[int]:
    """How many parts each leading dimension has."""
    sizes = dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    return [math.prod(sizes[a] for a in axes_of(e)) for e in spec.partitions]


def local(aval: Any, spec: PartitionSpec, mesh: Any, typed: bool) -> Any:
    """The type of one part of a value of type ``aval``; ``typed`` ones say over which axes they vary."""
    if not isinstance(aval, ShapedArray):
        return aval
    shape = list(aval.shape)
    for i, n in enumerate(counts(spec, mesh)):
        shape[i] //= n
    return aval.update(shape=tuple(shape), vma=aval.vma | named(spec) if typed else aval.vma)


def whole(aval: Any, spec: PartitionSpec, mesh: Any, axes: frozenset[Any]) -> Any:
    """The type of a value of whose parts ``aval`` is the type; nothing varies over ``axes`` outside."""
    if not isinstance(aval, ShapedArray):
        return aval
    shape = list(aval.shape)
    for i, n in enumerate(counts(spec, mesh)):
        shape[i] *= n
    return aval.update(shape=tuple(shape), vma=aval.vma - axes)


def of_residual(aval: Any, axes: frozenset[Any], mesh: Any, typed: bool) -> PartitionSpec | None:
    """The spec that hands a value of the body on as it is, with a new leading dimension; None if it varies nowhere."""
    over = vma_of(aval) & axes if typed else axes
    if not over:
        return None
    return PartitionSpec(tuple(n for n in mesh.axis_names if n in over))


def inserted(spec: PartitionSpec, at: int | None) -> PartitionSpec:
    """The spec of a batch whose axis is at ``at``."""
    if at is None:
        return spec
    entries = [*spec.partitions, *(None,) * (at - len(spec.partitions))]
    entries.insert(at, None)
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def without(spec: PartitionSpec, names: Iterable[Any]) -> frozenset[Any]:
    """The axes among ``names`` that the spec does not name."""
    return frozenset(names) - named(spec)
