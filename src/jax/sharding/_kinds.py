"""How values of a program relate to the mesh axes that it handles itself."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any


class UnreducedKind(enum.Enum):
    """Which reduction is pending over the unreduced axes of a value."""

    sum = enum.auto()
    max = enum.auto()
    min = enum.auto()


class ManualAxisType:
    """The manual mesh axes over which a value varies, is still to be reduced, or has been reduced.

    Args:
      varying: axes along which the devices hold different values.
      unreduced: axes over which a reduction is pending.
      reduced: axes over which cotangents are still to be reduced.
      unreduced_kind: which reduction; the sum if None.

    Raises:
      ValueError: an axis is given twice.

    >>> import jax
    >>> jax.sharding.ManualAxisType(varying={"x"}).varying
    frozenset({'x'})
    """

    __slots__ = ("varying", "unreduced", "reduced", "unreduced_kind")

    def __init__(self, *, varying: Iterable[Any] = frozenset(), unreduced: Iterable[Any] = frozenset(),
                 reduced: Iterable[Any] = frozenset(), unreduced_kind: UnreducedKind | None = None) -> None:
        self.varying = frozenset(varying)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        self.unreduced_kind = unreduced_kind
        groups = (self.varying, self.unreduced, self.reduced)
        twice = {a for i, g in enumerate(groups) for h in groups[i + 1:] for a in g & h}
        if twice:
            raise ValueError(f"each mesh axis has one role, and {sorted(map(str, twice))} have several in {self!r}")

    @property
    def vur(self) -> frozenset[Any]:
        """The axes in any of the roles."""
        return self.varying | self.unreduced | self.reduced

    @property
    def empty(self) -> bool:
        """Whether no axis has a role."""
        return not self.vur

    def invarying(self, axes: Iterable[Any]) -> frozenset[Any]:
        """Those of ``axes`` that have no role: all devices along them hold the same value."""
        return frozenset(axes) - self.vur

    def to_ct_mat(self) -> ManualAxisType:
        """The roles for cotangents: pending reductions become done ones, and the other way round."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def update(self, **kwargs: Any) -> ManualAxisType:
        """A copy with other fields."""
        return ManualAxisType(**{**dict(zip(self.__slots__, self._key(), strict=True)), **kwargs})

    def _key(self) -> tuple[Any, ...]:
        return self.varying, self.unreduced, self.reduced, self.unreduced_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManualAxisType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [f"{name}={set(axes)}" for name, axes in zip(self.__slots__, self._key()[:3], strict=False) if axes]
        return f"ManualAxisType({', '.join(parts)})"


class _Infer:
    """Take what the arguments say."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()
