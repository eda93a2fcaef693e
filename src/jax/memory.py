"""Kinds of memory that arrays live in, whatever the devices call them."""

import enum as _enum


class Space(_enum.Enum):
    """A memory space: that of the device, or that of its host. ``jax.memory.Space`` is this enumeration.

    :func:`jax.device_put` takes one in place of a sharding and leaves the array on its devices.

    >>> import jax, jax.numpy as jnp
    >>> jax.device_put(jnp.ones(3), jax.memory.Space.Host).sharding.memory_kind
    'pinned_host'
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


__all__ = ["Space"]
