"""Where compiled programs are kept for later processes.

The options ``jax_compilation_cache_dir`` and ``jax_enable_compilation_cache`` say whether and where;
``jax_persistent_cache_min_compile_time_secs`` and ``jax_persistent_cache_min_entry_size_bytes`` which programs are worth
it (all, unless they are set: storing and loading a small program takes about a millisecond, compiling it dozens);
``jax_compilation_cache_max_size`` how much is kept. With ``jax_log_compiles`` each hit and miss is logged
with its reason.

An entry is found again by a program of the same operations, compiled with the same options by the same version of
``jaxlib`` for devices of the same kind; on CPUs, for the same model and instruction sets. Programs that call Python are
never stored. Several processes may use one directory. Its entries are machine code that is run as it is: use no directory
that others may write to.
"""

from __future__ import annotations

import os
import warnings

from jax._base.config import config
from jax._runtime import cache, prefetch


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keeps compiled programs in the directory ``path`` from now on; it is made when it is first needed.

    The same as ``jax.config.update("jax_compilation_cache_dir", path)``.

    >>> from jax.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.set_cache_dir("/tmp/jax_cache")  # doctest: +SKIP

    Raises:
      TypeError: ``path`` is no path.
    """
    config.update("jax_compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Forgets what this process knows of the cache. Files, and programs that are in memory, stay.

    The options are read at every compilation, so that changing the directory needs no reset.

    >>> from jax.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.reset_cache()
    """
    cache.forget()
    prefetch.forget()


def initialize_cache(path: str | os.PathLike[str]) -> None:
    """The former name of :func:`set_cache_dir` (deprecated)."""
    warnings.warn("initialize_cache has become set_cache_dir", DeprecationWarning, stacklevel=2)
    set_cache_dir(path)


__all__ = ["initialize_cache", "reset_cache", "set_cache_dir"]
