"""Views on the rule tables and machinery of transformations, for libraries that extend JAX."""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({"ad", "batching", "mlir", "partial_eval", "pxla", "xla"})


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(f"jax.interpreters.{name}")
    if name == "traceback_util":
        return _importlib.import_module("jax._src.traceback_util")
    raise AttributeError(f"module 'jax.interpreters' has no attribute {name!r}")
