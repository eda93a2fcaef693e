"""Random indices of every kind, for hypothesis."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np

SHAPE = (4, 3, 2)


def places(n: int, shape: Any = None) -> st.SearchStrategy[Any]:
    """Integers within bounds of an axis of size ``n``, negative ones included, as one or as an array."""
    numbers = st.integers(-n, n - 1)
    if shape is None:
        return numbers
    size = int(np.prod(shape))
    return st.lists(numbers, min_size=size, max_size=size).map(lambda v: np.array(v, np.int32).reshape(shape))


def slices(n: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-n - 2, n + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(-3, 3).filter(bool))


@st.composite
def indices(draw: Any, shape: tuple[int, ...] = SHAPE, arrays: bool = True) -> Any:
    """An index for an array of ``shape``: integers, slices, new axes, an ellipsis, index arrays and masks."""
    kinds = ["int", "slice", "slice"] + (["array", "scalar array", "mask"] if arrays else [])
    batch = draw(st.sampled_from([(2,), (3,), (2, 3)]))
    items: list[Any] = []
    used_masks = False
    axis = 0
    for n in shape[:draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(kinds))
        if kind == "int":
            items.append(draw(places(n)))
        elif kind == "slice":
            items.append(draw(slices(n)))
        elif kind == "array":
            items.append(draw(places(n, draw(st.sampled_from([batch, batch[-1:], (1,)])))))
        elif kind == "scalar array":
            items.append(np.array(draw(places(n)), np.int32))
        elif used_masks or batch != (2,):
            items.append(draw(slices(n)))
        else:  # a mask of two true elements broadcasts with batches of shape (2,)
            chosen = draw(st.permutations(range(n)))[:2]
            mask = np.zeros(n, bool)
            mask[chosen] = True
            items.append(mask)
            used_masks = True
        axis += 1
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.insert(draw(st.integers(axis, len(items))) if axis == len(shape) else len(items), Ellipsis)
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)
