"""What happens to gradients that :func:`jax.vjp` computes: entries of ``with_refs`` and of what it returns.

>>> import jax, jax.numpy as jnp
>>> total = jax.new_ref(jnp.zeros(()))
>>> _, f_vjp = jax.vjp(lambda x, y: x * y, 2., 3.)
>>> f_vjp.with_refs(total, jax.ad.DontWant())(1.)
(GradRef(), DidntWant())
>>> float(total[...])
3.0
"""

from __future__ import annotations

from jax.tree_util import register_pytree_node


class _Marker:
    """Equal to others of its class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class GradValue(_Marker):
    """In ``with_refs``: return the gradient of this argument, as without ``with_refs``."""

    __slots__ = ()


class DontWant(_Marker):
    """In ``with_refs``: the gradient of this argument is not wanted."""

    __slots__ = ()


class GradRef(_Marker):
    """In place of a gradient: it has been added to the reference that was given for it."""

    __slots__ = ()


class DidntWant(_Marker):
    """In place of a gradient that was not wanted."""

    __slots__ = ()


for _cls in (GradRef, DidntWant):  # results of transformed functions
    register_pytree_node(_cls, lambda marker: ((), type(marker)), lambda cls, _: cls())

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
