"""Private names of the reference implementation that libraries, or jaxlib's compiled code, use all the same.

Views only: every name is a public or private object of this library, found here under another path. New programs should
not import from this package.
"""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({
    "ad_util", "api_util", "array", "checkify", "compiler", "core", "custom_derivatives", "dispatch", "distributed",
    "dtypes", "effects", "flatten_util", "lib", "linear_util", "named_sharding", "pjit", "prng", "random", "sharding_impls",
    "source_info_util", "state", "traceback_util", "tree_util", "xla_bridge",
})


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(f"jax._src.{name}")
    raise AttributeError(f"module 'jax._src' has no attribute {name!r}")
