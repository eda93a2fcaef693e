"""Effects: what a program does besides computing its results.

An equation carries a frozenset of effects; a jaxpr carries the union of its equations'. Passes consult the sets of
classes here: ordered effects become tokens in the compiled program, effects that are not allowed inside a control-flow
body, a remat or a custom derivative are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Effect:
    """Base class of effects."""


class EffectTypeSet:
    """A set of effect classes that answers ``contains`` for their instances."""

    def __init__(self) -> None:
        self._types: set[type] = set()

    def add_type(self, effect_type: type) -> None:
        self._types.add(effect_type)

    def contains(self, eff: Any) -> bool:
        return any(isinstance(eff, t) for t in self._types)

    def filter_in(self, effects: Iterable[Any]) -> list[Any]:
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Iterable[Any]) -> list[Any]:
        return [e for e in effects if not self.contains(e)]


# The effects of a program that has none.
no_effects: frozenset[Any] = frozenset()
ordered_effects = EffectTypeSet()
lowerable_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
remat_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()


class NamedAxisEffect(Effect):
    """An equation that refers to a mapped axis by name."""

    __slots__ = ("name",)

    def __init__(self, name: Any) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(("axis", self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAxisEffect) and self.name == other.name

    def __repr__(self) -> str:
        return f"NamedAxis({self.name!r})"


class RefEffect(Effect):
    """What an equation does to the reference that is its operand ``index``, or a jaxpr to one of its arguments.

    Of a jaxpr's constants the indices are negative. What happens to references that a jaxpr makes itself is no effect
    of the jaxpr.
    """

    __slots__ = ("index",)
    what = "uses"

    def __init__(self, index: int) -> None:
        self.index = index

    def __hash__(self) -> int:
        return hash((type(self), self.index))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.index == other.index

    def at(self, index: int) -> RefEffect:
        """The same effect on another operand."""
        return type(self)(index)

    def __repr__(self) -> str:
        return f"{self.what}<{self.index}>"


class ReadEffect(RefEffect):
    """A reference is read."""

    __slots__ = ()
    what = "Read"


class WriteEffect(RefEffect):
    """A reference is written to."""

    __slots__ = ()
    what = "Write"


class AccumEffect(RefEffect):
    """Something is added to a reference; additions may change places."""

    __slots__ = ()
    what = "Accum"


class ConstantRefEffect(Effect):
    """Something happens to a reference that is a constant of a program inside (see :mod:`jax._language.lifting`)."""

    def __repr__(self) -> str:
        return "ConstantRef"


constant_ref_effect = ConstantRefEffect()


def writes(effects: Iterable[Any]) -> set[int]:
    """The operands that an equation with these effects changes."""
    return {e.index for e in effects if isinstance(e, RefEffect) and e.index >= 0 and type(e) is not ReadEffect}


def shifted(effects: Iterable[Any], by: int) -> frozenset[Any]:
    """Effects on operands that come ``by`` places later."""
    return frozenset([e.at(e.index + by) if isinstance(e, RefEffect) and e.index >= 0 else e for e in effects])


for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects,
                 custom_derivatives_allowed_effects):
    _allowed.add_type(NamedAxisEffect)
    _allowed.add_type(RefEffect)
    _allowed.add_type(ConstantRefEffect)
