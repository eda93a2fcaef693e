"""The runtime's clients: which there are, adding some, options for compiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base._jaxlib import xla
from jax._base.caching import clear_caches as _clear_caches
from jax._runtime import backend as _backend
from jax._runtime import compile as _compile
from jax._runtime.backend import clients as backends  # noqa: F401
from jax._runtime.backend import default_device as get_default_device  # noqa: F401
from jax._runtime.backend import get_backend as get_backend


def clear_backends(_crash: bool = False) -> None:
    """Drops all clients and what was compiled for them. Arrays made so far keep theirs."""
    _clear_caches()
    _backend.clear_backends()


def clear_in_memory_compilation_cache() -> None:
    """Forgets the programs that have been compiled in this process."""
    _clear_caches()


def register_backend_factory(name: str, factory: Callable[[], Any], *, priority: int = 0, fail_quietly: bool = True,
                             experimental: bool = False, make_topology: Any = None, c_api: Any = None) -> None:
    """Adds a platform.

    Args:
      name: as in ``JAX_PLATFORMS``.
      factory: makes its client.
      priority: the platform of highest priority that starts is the default.
      fail_quietly: pass it over where its client cannot be made.
      experimental, make_topology, c_api: accepted for compatibility.

    Raises:
      RuntimeError: devices have been used already.
    """
    _backend.register_platform(name, factory, priority=priority, optional=fail_quietly)


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Clears ``cache`` (by its ``cache_clear`` method) whenever the clients are dropped."""
    _backend.on_clear(cache.cache_clear)


def backend_xla_version(platform: Any = None) -> int | None:
    """The version of XLA that a client reports, or None where it reports none."""
    return getattr(get_backend(platform), "xla_version", None)


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment: Any = None,
                        env_options_overrides: dict[str, Any] | None = None, fdo_profile: bytes | None = None,
                        detailed_logging: bool = True, backend: Any = None) -> Any:
    """XLA's options for a program on ``num_replicas`` times ``num_partitions`` devices, under this library's settings.

    Args:
      num_replicas, num_partitions: the size of the grid of devices.
      device_assignment: the numbers of the devices, as such a grid; by default the first ones.
      env_options_overrides: XLA's flags by name.
      fdo_profile: a profile to optimise by.
      detailed_logging: accepted for compatibility.
      backend: the client whose devices are meant.
    """
    count = num_replicas * num_partitions
    devices: Sequence[Any] = (backend or get_backend()).devices()
    if device_assignment is not None:
        by_id = {d.id: d for d in devices}
        devices = [by_id[int(i)] for i in np.ravel(device_assignment)]
    options = _compile.compile_options(devices[:count], num_replicas=num_replicas, num_partitions=num_partitions,
                                       compiler_options=env_options_overrides)
    if fdo_profile:
        options.executable_build_options.fdo_profile = fdo_profile
    return options


def __getattr__(name: str) -> Any:
    if name == "ifrt_proxy":  # a compiled module that few programs need
        return _jaxlib.ifrt_proxy
    raise AttributeError(f"module 'jax.extend.backend' has no attribute {name!r}")


Client = xla.Client
__all__ = ["backend_xla_version", "backends", "clear_backends", "clear_in_memory_compilation_cache", "get_backend",
           "get_compile_options", "get_default_device", "ifrt_proxy",  # noqa: F822 - loads on first use
           "register_backend_cache", "register_backend_factory"]
