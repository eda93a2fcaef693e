"""Symbolic dimensions, which this version does not have: what is asked for is refused, naming the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"jax.export.{name}: symbolic dimensions are not supported yet. Export the function once for "
                              "each shape that is needed, or pad arguments to a fixed shape and mask them.")


class SymbolicScope:
    """Relations between symbolic dimensions. Not supported yet: making one raises ``NotImplementedError``."""

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        _refuse("SymbolicScope")


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (), scope: Any = None,
                   like: Sequence[Any] | None = None) -> Any:
    """The shape that ``shape_spec`` describes.

    Shapes of numbers are read; names of dimensions are not supported yet.

    Args:
      shape_spec: numbers, separated by commas, in parentheses or not. Sizes written as ``_``, and those after ``...``, are
        taken from ``like``.
      constraints, scope: relations between symbolic dimensions, which there cannot be any of.
      like: a shape.

    Raises:
      NotImplementedError: for symbolic dimensions.
      ValueError: the text is no shape, or does not go with ``like``.

    >>> from jax import export
    >>> export.symbolic_shape("2, _, 4", like=(2, 3, 4))
    (2, 3, 4)
    """
    if constraints or scope is not None:
        _refuse("symbolic_shape")
    text = (shape_spec or "...").strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    parts = [p.strip() for p in text.split(",")]
    if parts and not parts[-1]:
        parts.pop()
    known = None if like is None else tuple(like)
    if parts and parts[-1] == "...":
        if known is None or len(known) < len(parts) - 1:
            raise ValueError(f"symbolic_shape: {shape_spec!r} leaves sizes open, which like={like!r} does not have")
        parts = [*parts[:-1], *["_"] * (len(known) - len(parts) + 1)]
    if known is not None and len(known) != len(parts):
        raise ValueError(f"symbolic_shape: {shape_spec!r} has {len(parts)} dimensions and like={like!r} has {len(known)}")
    return tuple([_size(p, i, known, shape_spec) for i, p in enumerate(parts)])


def _size(part: str, i: int, like: tuple[Any, ...] | None, spec: str | None) -> int:
    if part == "_":
        if like is None:
            raise ValueError(f"symbolic_shape: {spec!r} leaves dimension {i} open, and no like= was given")
        return int(like[i])
    try:
        size = int(part)
    except ValueError:
        if not part:
            raise ValueError(f"symbolic_shape: dimension {i} of {spec!r} is empty") from None
        _refuse("symbolic_shape")
    if size < 0 or (like is not None and like[i] != size):
        raise ValueError(f"symbolic_shape: dimension {i} of {spec!r} is {size}"
                         f"{'' if like is None else f', and like has {like[i]}'}")
    return size


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: Any = None) -> Any:
    """Types of arguments with symbolic dimensions. Not supported yet.

    Raises:
      NotImplementedError: always.
    """
    _refuse("symbolic_args_specs")


def is_symbolic_dim(p: Any) -> bool:
    """Whether a dimension is symbolic.

    >>> from jax import export
    >>> export.is_symbolic_dim(3)
    False
    """
    return bool(getattr(p, "_is_symbolic_dimension", False))


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """Least and greatest value of a dimension; both the number itself where it is not symbolic.

    >>> from jax import export
    >>> export.symbolic_dim_bounds(3)
    (3, 3)
    """
    if is_symbolic_dim(dimension):
        _refuse("symbolic_dim_bounds")
    return dimension, dimension
