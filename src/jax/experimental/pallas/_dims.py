"""The axes of blocks: how many elements of an array a block has along an axis, and what says which."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Blocked:
    """``block_size`` elements; the index map returns the number of the block. A plain integer means the same."""

    block_size: int


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """One element, in an axis that the kernel's reference does not have; ``None`` means the same."""


@dataclasses.dataclass(frozen=True)
class Element:
    """``block_size`` elements from the one on that the index map returns, so that blocks may overlap.

    ``padding = (low, high)`` says that the array is continued by as many unspecified elements; the index map counts from the
    first of them.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class BoundedSlice:
    """Up to ``block_size`` elements: the index map returns ``pl.ds(start, size)``.

    The kernel's reference has ``block_size`` elements, of which the first ``size`` are those of the array. The others are
    unspecified, and what is written to them is dropped.
    """

    block_size: int

    def __repr__(self) -> str:
        return f"BoundedSlice({self.block_size})"


@dataclasses.dataclass(frozen=True)
class Indirect:
    """``block_size`` elements anywhere: the index map returns a vector with their places.

    Places outside of the array hold unspecified elements, and what is written there is dropped. Of several equal places one
    gets its value.
    """

    block_size: int

    def __repr__(self) -> str:
        return f"Indirect({self.block_size})"


# An entry of a block's shape, other than an integer or None.
BlockDim = Blocked | Squeezed | Element | BoundedSlice | Indirect
# One element, in an axis that the kernel's reference does not have; None means the same.
squeezed = Squeezed()


def ref_shape(dims: Sequence[BlockDim]) -> tuple[int, ...]:
    """The shape of the kernel's reference to a block."""
    return tuple([d.block_size for d in dims if not isinstance(d, Squeezed)])


__all__ = ["BlockDim", "Blocked", "BoundedSlice", "Element", "Indirect", "Squeezed", "ref_shape", "squeezed"]
