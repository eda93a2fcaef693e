"""Small libraries for examples and experiments: neural networks (:mod:`stax`) and optimizers.

Flax, Equinox and Optax are made for larger programs. Submodules load on first use.
"""

import importlib as _importlib
from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    if name in ("optimizers", "stax"):
        return _importlib.import_module(f"jax.example_libraries.{name}")
    raise AttributeError(f"module 'jax.example_libraries' has no attribute {name!r}")
