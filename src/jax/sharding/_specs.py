"""Partition specs: which mesh axes split which dimension."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jax._base._jaxlib import xla


class _Unconstrained:
    """The marker by which a dimension leaves its partitioning to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """How each dimension of an array is split over the axes of a mesh.

    One entry per leading dimension: ``None`` (not split), the name of a mesh axis, a tuple of names (split
    over their product, the first name outermost), or ``PartitionSpec.UNCONSTRAINED`` (the compiler decides).
    Missing trailing entries mean "not split". ``unreduced`` and ``reduced`` name mesh axes over which the value
    still has to be, or already has been, summed.

    >>> PartitionSpec("x", None)
    P('x', None)
    """

    __slots__ = ("_partitions", "_unreduced", "_reduced", "_unreduced_kind", "__weakref__")
    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(self, *partitions: Any, unreduced: Iterable[str] = (), reduced: Iterable[str] = (),
                 unreduced_kind: Any = None) -> None:
        self._partitions = xla.canonicalize_partitions(tuple(partitions))
        self._unreduced = frozenset(unreduced)
        self._reduced = frozenset(reduced)
        self._unreduced_kind = unreduced_kind
        if unreduced_kind is not None and not self._unreduced:
            raise ValueError(f"unreduced_kind={unreduced_kind} says which reduction is pending, and no axis is unreduced")
        split = {axis for entry in self._partitions for axis in axes_of(entry)}
        for kind, axes in (("unreduced", self._unreduced), ("reduced", self._reduced)):
            if axes & split:
                raise ValueError(f"mesh axes {sorted(axes & split)} are given as {kind} and also split a dimension")
        both = self._unreduced & self._reduced
        if both:
            raise ValueError(f"mesh axes {sorted(both)} are given both as unreduced and as reduced")

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries, one per leading dimension."""
        return self._partitions

    @property
    def unreduced(self) -> frozenset[str]:
        """Mesh axes over which a sum is pending."""
        return self._unreduced

    @property
    def reduced(self) -> frozenset[str]:
        """Mesh axes over which the sum has been taken."""
        return self._reduced

    @property
    def unreduced_kind(self) -> Any:
        """Which reduction is pending, a ``jax.sharding.UnreducedKind``; the sum if None."""
        return self._unreduced_kind

    def update(self, **kwargs: Any) -> PartitionSpec:
        """A copy with ``partitions``, ``unreduced``, ``reduced`` or ``unreduced_kind`` replaced."""
        partitions = kwargs.pop("partitions", self._partitions)
        unreduced = kwargs.pop("unreduced", self._unreduced)
        kind = kwargs.pop("unreduced_kind", self._unreduced_kind if unreduced else None)
        return PartitionSpec(*partitions, unreduced=unreduced, reduced=kwargs.pop("reduced", self._reduced),
                             unreduced_kind=kind, **kwargs)

    def to_tangent_spec(self) -> PartitionSpec:
        """The partitioning of tangents: the same."""
        return self

    def to_ct_spec(self) -> PartitionSpec:
        """The partitioning of cotangents: a pending sum becomes one that has been taken, and the other way round."""
        return self.update(unreduced=self._reduced, reduced=self._unreduced)

    def to_lo(self) -> list[PartitionSpec]:
        """The specs of the plain arrays that carry the value: this one."""
        return [self]

    def index(self, entry: Any) -> int:
        """Position of the first dimension that has ``entry``."""
        return self._partitions.index(entry)

    def count(self, entry: Any) -> int:
        """How many dimensions have ``entry``."""
        return self._partitions.count(entry)

    def _key(self) -> tuple[Any, ...]:
        return self._partitions, self._unreduced, self._reduced, self._unreduced_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, i: Any) -> Any:
        return self._partitions[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*self._partitions, *other._partitions,
                                 unreduced=self._unreduced | other._unreduced,
                                 reduced=self._reduced | other._reduced)
        if isinstance(other, tuple):
            return self.update(partitions=(*self._partitions, *other))
        return NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        if isinstance(other, tuple):
            return self.update(partitions=(*other, *self._partitions))
        return NotImplemented

    def __reduce__(self) -> Any:
        return _rebuild_spec, self._key()

    def __repr__(self) -> str:
        extras = [f"{name}={{{', '.join(map(repr, sorted(axes)))}}}"
                  for name, axes in (("unreduced", self._unreduced), ("reduced", self._reduced)) if axes]
        inner = ", ".join([*map(repr, self._partitions), *extras]) if extras else repr(self._partitions)[1:-1]
        return f"P({inner})"


def _rebuild_spec(partitions: tuple[Any, ...], unreduced: frozenset[str], reduced: frozenset[str],
                  unreduced_kind: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=unreduced_kind)


P = PartitionSpec
xla.set_pspec_unconstrained(_UNCONSTRAINED)


def axes_of(entry: Any) -> tuple[str, ...]:
    """The mesh axes that one entry of a spec names."""
    if entry is None or entry is _UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
