"""For libraries that extend JAX: the jaxpr language, primitives, backends."""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({"backend", "core", "ffi", "ifrt_programs", "linear_util", "random", "sharding", "source_info_util"})


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(f"jax.extend.{name}")
    raise AttributeError(f"module 'jax.extend' has no attribute {name!r}")
