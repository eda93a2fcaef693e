"""Modules that are known to be looked for inside modules of this package, although they live elsewhere.

Each loads when it is asked for. The names are those that other libraries' code uses; behind them are this library's own
modules, and its views for libraries that extend it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from jax._base import _jaxlib

_HOMES = {
    "ad": "jax.interpreters.ad", "api_util": "jax.api_util", "array": "jax._src.array",
    "batching": "jax.interpreters.batching",
    "config": "jax._base.config", "core": "jax.core", "dispatch": "jax._src.dispatch", "distributed": "jax._src.distributed",
    "dtypes": "jax._src.dtypes", "ffi": "jax.ffi", "ft": "jax.tree_util", "jnp": "jax.numpy",
    "jnp_indexing": "jax.numpy._indexing", "lax": "jax.lax", "lu": "jax.extend.linear_util", "mlir": "jax.interpreters.mlir",
    "pe": "jax.interpreters.partial_eval", "pjit": "jax._src.pjit", "pjit_lib": "jax._src.pjit", "prng": "jax._src.prng",
    "pxla": "jax.interpreters.pxla", "sharding_impls": "jax._src.sharding_impls", "sparse": "jax.experimental.sparse",
    "tree_util": "jax.tree_util", "xb": "jax._src.xla_bridge", "xla_bridge": "jax._src.xla_bridge",
}
# Modules of jaxlib, by their names in the one module that may import it.
_BINDINGS = {"gpu_rnn": "gpu_rnn", "hlo": "stablehlo", "pytree": "pytree"}


def reexporting(module: str, names: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module in which ``names``, apart by spaces, are looked for."""
    shown = frozenset(names.split())

    def __getattr__(name: str) -> Any:
        if name not in shown:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(_jaxlib, _BINDINGS[name]) if name in _BINDINGS else importlib.import_module(_HOMES[name])
    return __getattr__
