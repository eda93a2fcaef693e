"""The environment of named axes (``vmap(axis_name=...)``, later mesh axes)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Innermost last: ((name, size), ...). Part of the keys under which traced functions are cached.
axis_env: ContextVar[tuple[tuple[Any, int], ...]] = ContextVar("jax_axis_env", default=())


@contextmanager
def extend_axis_env(name: Any, size: int) -> Iterator[None]:
    """Binds an axis name; an anonymous axis (``None``) leaves the environment as it is."""
    if name is None:
        yield
        return
    token = axis_env.set((*axis_env.get(), (name, size)))
    try:
        yield
    finally:
        axis_env.reset(token)


def axis_size(name: Any) -> int:
    """The size of a named axis, or the product of the sizes of a tuple of them.

    Raises:
      NameError: where no enclosing ``vmap``, ``pmap`` or ``shard_map`` binds the name.
    """
    if isinstance(name, (tuple, list)):
        out = 1
        for n in name:
            out *= axis_size(n)
        return out
    for bound, size in reversed(axis_env.get()):
        if bound == name:
            return size
    known = ", ".join(repr(n) for n, _ in axis_env.get()) or "none"
    raise NameError(f"the axis name {name!r} is not bound here (bound: {known}). Name the axis where it is mapped, "
                    f"for example jax.vmap(f, axis_name={name!r}).")
