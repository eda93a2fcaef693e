"""View on the clients of the runtime."""

from __future__ import annotations

from typing import Any

from jax._runtime import backend as _backend
from jax._runtime.backend import backends_are_initialized as backends_are_initialized
from jax._runtime.backend import canonical_platform as canonicalize_platform  # noqa: F401
from jax._runtime.backend import clients as backends  # noqa: F401
from jax._runtime.backend import default_backend as default_backend
from jax._runtime.backend import device_count as device_count
from jax._runtime.backend import devices as devices
from jax._runtime.backend import get_backend as get_backend
from jax._runtime.backend import local_device_count as local_device_count
from jax._runtime.backend import local_devices as local_devices
from jax._runtime.backend import process_count as process_count
from jax._runtime.backend import process_index as process_index


def __getattr__(name: str) -> Any:
    if name == "_backends":  # the clients made so far, without making any
        return _backend.started_clients()
    raise AttributeError(f"module 'jax._src.xla_bridge' has no attribute {name!r}")
