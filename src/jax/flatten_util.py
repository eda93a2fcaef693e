"""Trees of arrays as vectors, for algorithms that know only vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jax import dtypes, lax, tree_util
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.numpy._promotion import as_dtype, check_arraylike

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a tree of arrays in one vector, and the way back.

    Args:
      pytree: a tree of arrays and scalars.

    Returns:
      ``(vector, unravel)``. The vector has the dtype that the leaves promote to, the default float if there are none.
      ``unravel(vector)`` gives a tree like ``pytree``, with the leaves' shapes and dtypes. It is hashable, and equal for
      trees of equal structure and types.

    >>> import jax.numpy as jnp
    >>> vector, unravel = ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> vector.shape, sorted(unravel(vector))
    ((3,), ['a', 'b'])
    """
    leaves, tree = tree_util.tree_flatten(pytree)
    if not leaves:
        dtype = dtypes.scalar_dtype(float)
        return lax.full((0,), 0, dtype), Unravel(tree, (), dtype)
    check_arraylike("ravel_pytree", *leaves)
    avals = [typeof(x) for x in leaves]
    dtype = dtypes.result_type(*[a.dtype for a in avals])
    return _ravel(leaves, dtype=dtype), Unravel(tree, tuple((a.shape, a.dtype) for a in avals), dtype)


@composite(static_argnames=("dtype",))
def _ravel(leaves: list[Any], *, dtype: Any) -> Any:
    vectors = [lax.reshape(as_dtype(x, dtype, False), (math.prod(typeof(x).shape),)) for x in leaves]
    return lax.concatenate(vectors, 0)


@composite(static_argnames=("types",))
def _unravel(vector: Any, *, types: tuple[tuple[tuple[Any, ...], Any], ...]) -> list[Any]:
    parts = lax.split(vector, [math.prod(shape) for shape, _ in types])
    return [lax.reshape(lax.convert_element_type(x, dtype), shape)
            for x, (shape, dtype) in zip(parts, types, strict=True)]


class Unravel:
    """Makes a tree of a vector of its elements."""

    __slots__ = ("_tree", "_types", "_dtype")

    def __init__(self, tree: Any, types: tuple[tuple[tuple[Any, ...], Any], ...], dtype: Any) -> None:
        self._tree = tree
        self._types = types
        self._dtype = dtype

    def __call__(self, vector: Any) -> Any:
        """The tree of which ``vector`` has the elements.

        Raises:
          ValueError: ``vector`` has another shape than the one that was made.
          TypeError: it has another dtype.
        """
        aval = typeof(vector)
        size = sum(math.prod(shape) for shape, _ in self._types)
        if aval.shape != (size,):
            raise ValueError(f"unravel: the tree has {size} elements, so a vector of shape ({size},) is needed, got "
                             f"shape {aval.shape}")
        if aval.dtype != self._dtype:
            raise TypeError(f"unravel: the vector must have dtype {self._dtype}, as the one that was made of the tree, "
                            f"got {aval.dtype}; convert it with .astype({str(self._dtype)!r})")
        return tree_util.tree_unflatten(self._tree, _unravel(vector, types=self._types) if self._types else [])

    def _key(self) -> Any:
        return self._tree, self._types, self._dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Unravel({self._tree})"
