"""View on the clients of the runtime."""

from __future__ import annotations

from typing import Any

from jax._runtime.backend import default_backend as default_backend
from jax._runtime.backend import get_backend as get_backend
from jax.extend.backend import get_compile_options as _get_compile_options


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment: Any = None,
                        use_spmd_partitioning: bool = True, use_auto_spmd_partitioning: bool = False,
                        auto_spmd_partitioning_mesh_shape: Any = None, auto_spmd_partitioning_mesh_ids: Any = None,
                        env_options_overrides: dict[str, Any] | None = None, fdo_profile: bytes | None = None,
                        detailed_logging: bool = True, backend: Any = None) -> Any:
    """XLA's options for a program; see :func:`jax.extend.backend.get_compile_options`."""
    options = _get_compile_options(num_replicas, num_partitions, device_assignment, env_options_overrides, fdo_profile,
                                   detailed_logging, backend)
    build = options.executable_build_options
    build.use_spmd_partitioning = use_spmd_partitioning
    build.use_auto_spmd_partitioning = use_auto_spmd_partitioning
    if use_auto_spmd_partitioning:
        build.auto_spmd_partitioning_mesh_shape = list(auto_spmd_partitioning_mesh_shape or [])
        build.auto_spmd_partitioning_mesh_ids = list(auto_spmd_partitioning_mesh_ids or [])
    return options


__all__ = ["default_backend", "get_backend", "get_compile_options"]
