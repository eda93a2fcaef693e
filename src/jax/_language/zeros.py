"""Symbolic zeros and the placeholder for an argument that is not known while transposing."""

from __future__ import annotations

from typing import Any

from jax._language.avals import typeof
from jax.tree_util import register_pytree_node


class Zero:
    """A tangent or cotangent that is zero everywhere; only its type is stored."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero that is the tangent of ``value``."""
        return Zero(typeof(value).to_tangent_aval())

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class SymbolicZero:
    """The public face of a symbolic zero: what ``symbolic_zeros=True`` rules of custom derivatives receive.

    It knows its shape and dtype and refuses arithmetic.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "size", "weak_type"):
            return getattr(self.aval, name)
        raise AttributeError(f"SymbolicZero has no attribute {name!r}")

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """The zero that is the tangent of ``value``."""
        return SymbolicZero(typeof(value).to_tangent_aval())


class UndefinedPrimal:
    """Stands for an argument with respect to which an equation is transposed."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> bool:
    """Whether an argument of a transpose rule is one with respect to which it transposes."""
    return type(x) is UndefinedPrimal


register_pytree_node(Zero, lambda z: ((), z.aval), lambda aval, _: Zero(aval))
register_pytree_node(UndefinedPrimal, lambda z: ((), z.aval), lambda aval, _: UndefinedPrimal(aval))
