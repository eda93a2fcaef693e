"""View on random generators and arrays of their keys."""

from __future__ import annotations

from jax.random._arrays import KeyArray as PRNGKeyArray
from jax.random._arrays import random_unwrap as random_unwrap
from jax.random._arrays import random_wrap as random_wrap
from jax.random._impls import PRNGImpl as PRNGImpl
from jax.random._impls import rbg as rbg_prng_impl
from jax.random._impls import threefry as threefry_prng_impl
from jax.random._impls import threefry2x32_p as threefry2x32_p
from jax.random._impls import unsafe_rbg as unsafe_rbg_prng_impl

__all__ = ["PRNGImpl", "PRNGKeyArray", "random_unwrap", "random_wrap", "rbg_prng_impl", "threefry2x32_p",
           "threefry_prng_impl", "unsafe_rbg_prng_impl"]
