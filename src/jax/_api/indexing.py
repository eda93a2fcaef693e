"""``jax.ds``: a slice of known size at a place that need not be known."""

from __future__ import annotations

from typing import Any

from jax._language.trace import Tracer


class Slice:
    """``size`` elements from ``start`` on, every ``stride``-th; made by :func:`ds`."""

    __slots__ = ("start", "size", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        if stride < 1:
            raise ValueError(f"jax.ds: the stride must be at least 1, got {stride}")
        if size < 0:
            raise ValueError(f"jax.ds: the size must not be negative, got {size}")
        self.start = start
        self.size = size
        self.stride = stride

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the place is an array rather than a Python integer."""
        return not isinstance(self.start, int)

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size}, stride={self.stride})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and (self.start, self.size, self.stride) == (other.start, other.size, other.stride)

    def __hash__(self) -> int:
        return hash((self.start, self.size, self.stride))


def ds(start: Any, size: Any = None, stride: int | None = None) -> slice | Slice:
    """An index for ``size`` elements from ``start`` on: ``x[jax.ds(start, size)]``.

    The size is known, so that ``start`` may be a traced integer, which slices with a colon do not allow. As in
    :func:`jax.lax.dynamic_slice`, a place too close to the end is moved back until all elements exist, and negative places
    count from the end.

    Args:
      start: the place, a Python integer or an integer array without dimensions; ``jax.ds(size)`` starts at 0, and
        ``jax.ds(None)`` is ``:``.
      size: how many elements, an integer.
      stride: take every ``stride``-th element; 1 by default.

    Raises:
      TypeError: a size that is traced or no integer.
      ValueError: a stride below 1 or a negative size.

    >>> import jax, jax.numpy as jnp
    >>> x = jnp.arange(10)
    >>> x[jax.ds(jnp.int32(2), 3)].tolist()
    [2, 3, 4]
    >>> x.at[jax.ds(8, 2)].set(0)[-3:].tolist()
    [7, 0, 0]
    """
    if start is None and size is None:
        return slice(None)
    if size is None:
        start, size = 0, start
    elif start is None:
        start = 0
    if isinstance(size, Tracer) or not hasattr(size, "__index__"):
        raise TypeError(f"jax.ds: the size must be a known integer, because the shape of the result depends on it; got "
                        f"{size!r}")
    start = start if hasattr(start, "shape") else start.__index__()
    return Slice(start, size.__index__(), 1 if stride is None else stride.__index__())


__all__ = ["Slice", "ds"]
