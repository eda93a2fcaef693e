"""View on the MLIR bindings of ``jaxlib``, which load on first use."""

from __future__ import annotations

from typing import Any

from jax._base import _jaxlib


def __getattr__(name: str) -> Any:
    if name in ("ir", "passmanager"):
        return getattr(_jaxlib, name)
    raise AttributeError(f"module 'jax._src.lib.mlir' has no attribute {name!r}")
