"""View on the MLIR dialects that lowering rules build operations of; ``hlo`` is StableHLO."""

from __future__ import annotations

from typing import Any

from jax._base import _jaxlib

_bindings = {"arith": "arith", "chlo": "chlo", "func": "func_dialect", "hlo": "stablehlo", "math": "math_dialect",
             "mhlo": "mhlo", "scf": "scf", "sdy": "sdy"}


def __getattr__(name: str) -> Any:
    if name in _bindings:
        return getattr(_jaxlib, _bindings[name])
    raise AttributeError(f"module 'jax._src.lib.mlir.dialects' has no attribute {name!r}")
