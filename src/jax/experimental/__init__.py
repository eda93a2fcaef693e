"""Features whose interfaces may change. Submodules load on first use."""

import importlib as _importlib
from typing import Any as _Any

from jax._callbacks.io import io_callback as io_callback

_modules = frozenset({
    "array_serialization", "buffer_callback", "checkify", "colocated_python", "compilation_cache", "compute_on",
    "custom_partitioning", "hijax", "host_callback", "jax2tf", "jet", "key_reuse", "layout", "maps", "mesh_utils", "mosaic",
    "multihost_utils", "ode", "pallas", "pjit", "rnn", "roofline", "scheduling_groups", "serialize_executable",
    "shard_alike", "shard_map", "sparse", "topologies", "x64_context", "xla_metadata",
})
_homes = {"EArray": "jax.experimental._earray", "disable_x64": "jax.experimental.x64_context",
          "enable_x64": "jax.experimental.x64_context", "primal_tangent_dtype": "jax.experimental._primal_tangent"}


def __getattr__(name: str) -> _Any:
    if name in _homes:
        return getattr(_importlib.import_module(_homes[name]), name)
    if name in _modules:
        try:
            return _importlib.import_module(f"jax.experimental.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"jax.experimental.{name}":
                raise
    raise AttributeError(f"module 'jax.experimental' has no attribute {name!r}")


__all__ = ["io_callback"]
