"""The persistent cache of compiled programs; see :mod:`jax.experimental.compilation_cache.compilation_cache`."""

from . import compilation_cache as compilation_cache

__all__ = ["compilation_cache"]
