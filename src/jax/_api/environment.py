"""What is running: versions, devices, processes."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._runtime import backend as backends
from jax.version import __version__

_VARIABLES = ("JAX_PLATFORMS", "XLA_FLAGS", "LIBTPU_INIT_ARGS", "CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_PREALLOCATE",
              "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR")


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints what a report of a problem should contain: versions, devices, system, environment variables.

    Args:
      return_string: return the text instead of printing it.

    >>> import jax
    >>> jax.print_environment_info(return_string=True).splitlines()[0].startswith("jax:")
    True
    """
    devices = backends.local_devices()
    kinds = ", ".join(sorted({d.device_kind for d in devices}))
    lines = [
        f"jax:    {__version__}",
        f"jaxlib: {_jaxlib.jaxlib_version_string}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: {kinds}-{backends.device_count()}, {len(devices)} local devices",
        f"process_count: {backends.process_count()}",
        f"platform: {platform.uname()}",
    ]
    lines += [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


# --- earlier names --------------------------------------------------------------------------------------------------

def _renamed(old: str, new: str) -> None:
    warnings.warn(f"jax.{old} has been renamed to jax.{new}, and the old name will go; use the new one", DeprecationWarning,
                  stacklevel=3)


def host_count(backend: Any = None) -> int:
    """Deprecated name of :func:`jax.process_count`."""
    _renamed("host_count", "process_count")
    return backends.process_count(backend)


def host_id(backend: Any = None) -> int:
    """Deprecated name of :func:`jax.process_index`."""
    _renamed("host_id", "process_index")
    return backends.process_index(backend)


def host_ids(backend: Any = None) -> list[int]:
    """Deprecated name of :func:`jax.process_indices`."""
    _renamed("host_ids", "process_indices")
    return backends.process_indices(backend)


_MODES = ("allow_all", "allow_jit")


@contextmanager
def spmd_mode(new_val: str) -> Iterator[None]:
    """A context in which operations on arrays of several processes were once allowed. They are allowed everywhere now.

    Args:
      new_val: ``"allow_all"``, or ``"allow_jit"``, which cannot be had any more.

    Raises:
      NotImplementedError: for ``"allow_jit"``.
      ValueError: for anything else.
    """
    if new_val not in _MODES:
        raise ValueError(f"spmd_mode takes one of {_MODES}, got {new_val!r}")
    warnings.warn("jax.spmd_mode is deprecated: operations outside of jit take arrays over several processes without it",
                  DeprecationWarning, stacklevel=3)
    if new_val == "allow_jit":
        raise NotImplementedError("spmd_mode('allow_jit') would refuse operations outside of jit on arrays over several "
                                  "processes, and nothing here does; call jitted functions only, if that is what you want")
    yield


__all__ = ["host_count", "host_id", "host_ids", "print_environment_info", "spmd_mode"]
