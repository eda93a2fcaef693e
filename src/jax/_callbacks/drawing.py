"""Pictures of which device holds which part of an array, in text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base.source import api_boundary
from jax._callbacks.debugging import inspect_array_sharding

_PALETTE = (41, 42, 44, 45, 46, 43, 101, 102, 104, 105, 106, 103)  # of terminals, for backgrounds


@api_boundary
def visualize_sharding(shape: Sequence[int], sharding: Any, *, use_color: bool = True, scale: float = 1.0,
                       min_width: int = 9, max_width: int = 80, color_map: Any = None) -> None:
    """Prints which device holds which part of an array of one or two dimensions.

    Args:
      shape: of the array.
      sharding: how it is laid out.
      use_color: give each set of devices a colour, if the output is a terminal.
      scale: of the picture; its height follows from the number of parts.
      min_width: of a part, in characters.
      max_width: of the picture, in characters.
      color_map: a function from a number between 0 and 1 to red, green and blue, each between 0 and 1.

    Raises:
      ValueError: for arrays of other ranks.
    """
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError(f"visualize_sharding draws arrays of one or two dimensions, got shape {shape}")
    names: dict[tuple[int, int], list[str]] = {}
    rows, columns = _edges(shape, sharding)
    for device, index in sharding.devices_indices_map(shape).items():
        start = [s.start or 0 for s in index]
        at = (rows.index(start[0]) if len(shape) == 2 else 0, columns.index(start[-1]))
        names.setdefault(at, []).append(str(device.id))
        platform = device.platform.upper()
    texts = {at: f"{platform} {','.join(ids)}" for at, ids in names.items()}
    widest = max(map(len, texts.values()))
    width = min(max(int(min_width * scale), widest + 2), max(max_width // len(columns), widest))
    paint = _painter(use_color, color_map, sorted(set(texts.values())))
    print(_table(texts, len(rows), len(columns), width, paint))


def _edges(shape: tuple[int, ...], sharding: Any) -> tuple[list[int], list[int]]:
    indices = list(sharding.devices_indices_map(shape).values())
    rows = sorted({index[0].start or 0 for index in indices}) if len(shape) == 2 else [0]
    return rows, sorted({index[-1].start or 0 for index in indices})


def _painter(use_color: bool, color_map: Any, kinds: Sequence[str]) -> Callable[[str, str], str]:
    import sys  # what stdout is may change between calls
    if not (use_color and sys.stdout.isatty()):
        return lambda kind, text: text

    def paint(kind: str, text: str) -> str:
        i = kinds.index(kind)
        if color_map is None:
            return f"\x1b[{_PALETTE[i % len(_PALETTE)]}m{text}\x1b[0m"
        red, green, blue = (int(255 * c) for c in color_map(i / max(len(kinds), 1))[:3])
        return f"\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m"
    return paint


def _table(texts: dict[tuple[int, int], str], rows: int, columns: int, width: int, paint: Any) -> str:
    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * columns) + right
    lines = [rule("┌", "┬", "┐")]
    for i in range(rows):
        kinds = [texts.get((i, j), "") for j in range(columns)]
        blank = "│" + "│".join(paint(k, " " * width) for k in kinds) + "│"
        lines += [blank, "│" + "│".join(paint(k, k.center(width)) for k in kinds) + "│", blank]
        lines.append(rule("├", "┼", "┤") if i < rows - 1 else rule("└", "┴", "┘"))
    return "\n".join(lines)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Prints which device holds which part of an array of one or two dimensions; options of ``visualize_sharding``.

    For a traced value that happens when the program is compiled.
    """
    shape = tuple(arr.shape)
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs))


__all__ = ["visualize_array_sharding", "visualize_sharding"]
