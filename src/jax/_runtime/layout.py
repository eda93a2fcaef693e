"""How an array lies in a device's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib
from jax._base._jaxlib import xla


class Layout:
    """Order of the dimensions in memory and, on accelerators, tiling.

    Args:
      major_to_minor: the dimensions from the one with the largest stride to the one with the smallest.
      tiling: tile shapes, outermost first; None for the device's default.
      sub_byte_element_size_in_bits: for elements smaller than a byte, how many bits each takes; 0 otherwise.
    """

    __slots__ = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")
    AUTO: Any

    def __init__(self, major_to_minor: Sequence[int], tiling: Sequence[Sequence[int]] | None = None,
                 sub_byte_element_size_in_bits: int = 0) -> None:
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def update(self, **kwargs: Any) -> Layout:
        """A copy with some fields replaced."""
        return Layout(**{name: kwargs.pop(name, getattr(self, name)) for name in self.__slots__}, **kwargs)

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raises ValueError unless arrays of this shape have as many dimensions."""
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(f"{self} is for arrays of {len(self.major_to_minor)} dimensions; this one has shape "
                             f"{tuple(aval_shape)}")

    @classmethod
    def from_pjrt_layout(cls, layout: Any) -> Layout:
        """From jaxlib's object."""
        inner = layout._xla_layout()
        return cls(inner.minor_to_major()[::-1], inner.tiling(), inner.element_size_in_bits())

    def to_xla(self) -> str:
        """As XLA writes it, for attributes of a module."""
        inner = _jaxlib.hlo.Layout(list(self.major_to_minor[::-1]), [list(t) for t in self.tiling or ()],
                                   self.sub_byte_element_size_in_bits)
        return str(inner)

    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
                f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})")


class _Auto:
    """Leaves the layout to the compiler."""

    def __repr__(self) -> str:
        return "AUTO"


Layout.AUTO = _Auto()


class Format:
    """A layout and a sharding: all that is to say about where the bytes of an array are.

    Args:
      layout: a :class:`Layout`, ``Layout.AUTO``, or None for the device's default.
      sharding: a sharding, or None.
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Any = None, sharding: Any = None) -> None:
        if layout is not None and layout is not Layout.AUTO and not isinstance(layout, Layout):
            raise TypeError(f"the layout of a Format is a Layout, Layout.AUTO or None, not {layout!r}")
        if sharding is not None and not isinstance(sharding, xla.Sharding):
            raise TypeError(f"the sharding of a Format is a jax.sharding.Sharding or None, not {sharding!r}")
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError("a concrete layout depends on the device: give a sharding with it")
        self.layout = layout
        self.sharding = sharding

    def placement(self, api: str, shape: Sequence[int] | None = None) -> Any:
        """The sharding, for a function that makes arrays in row-major order; None where the format leaves it out.

        Args:
          api: the function, for the errors.
          shape: of the array, if it is known.

        Raises:
          ValueError: a layout for another number of dimensions.
          NotImplementedError: a layout that is not row-major, or has tiles.
        """
        layout = self.layout
        if isinstance(layout, Layout):
            if shape is not None:
                layout.check_compatible_aval(shape)
            if layout.major_to_minor != tuple(range(len(layout.major_to_minor))) or layout.tiling:
                raise NotImplementedError(
                    f"{api}: arrays are made in row-major order here, and {layout} is another. Leave the layout out, or "
                    "transpose the array: what is contiguous in x.T are the columns of x.")
        return self.sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and self.layout == other.layout and self.sharding == other.sharding

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout!r}, sharding={self.sharding!r})"
