"""``jax.ds`` in indices of references: known places are checked, and computed ones go with strides and index arrays.

A plan has slices at computed places without strides and without index arrays. Others are taken in two steps: a window as
wide as the slice, and then what the index asks for in there. References have views of parts for that, when they are written
to as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jax._api.indexing import Slice

_ALL = slice(None)


def in_two_steps(index: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """An index of windows to take first (None if there is no need), and an index into what these leave.

    Raises:
      IndexError: a slice at a known place does not fit into its axis.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if not any([type(e) is Slice for e in items]):
        return None, index
    taken = [_num_axes(e) for e in items]
    left = len(shape) - sum(taken)
    if left < 0 or sum([e is Ellipsis for e in items]) > 1:  # the plan has messages about these
        return None, index
    arrays = any([_is_array(e) for e in items])
    first: list[Any] = [_ALL] * len(shape)
    for k, axis in _slices(items, taken, left):
        s, n = items[k], shape[axis]
        extent = (s.size - 1) * s.stride + 1 if s.size else 0
        if extent > n:
            continue
        if _is_known(s.start):
            _check(s, extent, n, axis)
        elif arrays or s.stride > 1:
            first[axis] = Slice(s.start, extent, 1)
            items[k] = slice(None, None, s.stride)
    return (None if first == [_ALL] * len(shape) else tuple(first)), tuple(items)


def _slices(items: Sequence[Any], taken: Sequence[int], left: int) -> Iterator[tuple[int, int]]:
    """Where there are slices of known size among the items, and along which axes."""
    axis = 0
    for k, (e, n) in enumerate(zip(items, taken, strict=True)):
        if type(e) is Slice:
            yield k, axis
        axis += left if e is Ellipsis else n


def _num_axes(e: Any) -> int:
    """How many axes of an array an item of an index is for."""
    if e is None or e is Ellipsis or isinstance(e, (bool, np.bool_)):
        return 0
    depth = 0
    while isinstance(e, (list, tuple)) and e:
        depth, e = depth + 1, e[0]
    if depth:
        return depth if isinstance(e, (bool, np.bool_)) else 1
    return e.ndim if getattr(e, "dtype", None) == np.bool_ else 1


def _is_array(e: Any) -> bool:
    return isinstance(e, (list, tuple)) or bool(getattr(e, "shape", ()))


def _is_known(start: Any) -> bool:
    return isinstance(start, (int, np.integer)) or isinstance(start, np.ndarray) and start.ndim == 0


def _check(s: Slice, extent: int, n: int, axis: int) -> None:
    place = int(s.start) + n if s.start < 0 else int(s.start)
    if not 0 <= place <= n - extent:
        raise IndexError(f"{s} is out of bounds for axis {axis} of a reference, which has size {n}; only slices at computed "
                         "places are moved so that all their elements exist")


__all__ = ["in_two_steps"]
