"""Functions on pytrees, under short names. :mod:`jax.tree_util` says what a pytree is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jax.tree_util import tree_all as all
from jax.tree_util import tree_broadcast as broadcast
from jax.tree_util import tree_flatten as flatten
from jax.tree_util import tree_flatten_with_path as flatten_with_path
from jax.tree_util import tree_leaves as leaves
from jax.tree_util import tree_leaves_with_path as leaves_with_path
from jax.tree_util import tree_map as map
from jax.tree_util import tree_map_with_path as map_with_path
from jax.tree_util import tree_reduce as reduce
from jax.tree_util import tree_reduce_associative as reduce_associative
from jax.tree_util import tree_structure as structure
from jax.tree_util import tree_transpose as transpose
from jax.tree_util import tree_unflatten as unflatten

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path",
    "reduce", "reduce_associative", "static", "structure", "transpose", "unflatten",
]  # fmt: skip


def static(*, metadata: Mapping[Any, Any] | None = None, **kwargs: Any) -> Any:
    """A dataclass field that is metadata rather than a child, for
    :func:`jax.tree_util.register_dataclass`.

    Args:
      metadata, **kwargs: as for ``dataclasses.field``.

    >>> import jax, dataclasses
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Scale:
    ...     by: object
    ...     axis: int = jax.tree.static(default=0)
    >>> jax.tree.leaves(Scale(3))
    [3]
    """
    return dataclasses.field(metadata={**(metadata or {}), "static": True}, **kwargs)
