"""Generators of random bits: the ones that come with JAX, and new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._language.avals import typeof
from jax.random._impls import PRNGImpl, cipher_counters, register_implementation, threefry2x32_p
from jax.random._impls import rbg as rbg_prng_impl
from jax.random._impls import threefry as threefry_prng_impl
from jax.random._impls import unsafe_rbg as unsafe_rbg_prng_impl
from jax.random._keys import key as _key
from jax.random._primitives import random_seed

__all__ = ["define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p", "threefry_2x32",
           "threefry_prng_impl", "unsafe_rbg_prng_impl"]


def define_prng_impl(*, key_shape: tuple[int, ...], seed: Callable[[Any], Any],
                     split: Callable[[Any, tuple[int, ...]], Any],
                     random_bits: Callable[[Any, int, tuple[int, ...]], Any], fold_in: Callable[[Any, Any], Any],
                     name: str = "<unnamed>", tag: str = "?") -> PRNGImpl:
    """A new generator, to be given as ``impl`` to :func:`jax.random.key` and others.

    All functions act on single raw keys, uint32 arrays of shape ``key_shape``, and must be traceable; they are mapped
    over arrays of keys.

    Args:
      key_shape: the shape of a raw key.
      seed: ``integer -> key``.
      split: ``(key, shape) -> keys``, of shape ``(*shape, *key_shape)``.
      random_bits: ``(key, bit_width, shape) -> unsigned integers`` of 8, 16, 32 or 64 bits.
      fold_in: ``(key, uint32) -> key``.
      name: by which it is found too, unless it is the default.
      tag: how keys are printed: ``key<tag>``.
    """
    impl = PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)
    if name != "<unnamed>":
        register_implementation(impl)
    return impl


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """The typed key of a seed for the generator ``impl``."""
    return _key(seed, impl=impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Threefry-2x32 of an array of uint32 counters, of which one half is enciphered together with the other.

    Args:
      keypair: the key: two uint32 numbers, or an array of shape ``(2,)``.
      count: uint32 array.

    Returns:
      An array like ``count``.
    """
    if typeof(count).dtype != "uint32":
        raise TypeError(f"threefry_2x32 takes uint32 counters, got {typeof(count).str_short()}")
    return cipher_counters(keypair[0], keypair[1], count)
