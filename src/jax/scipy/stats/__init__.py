"""``jax.scipy.stats``: distributions. Each is a module, loaded when it is first used."""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({"multivariate_normal", "norm"})


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(f"jax.scipy.stats.{name}")
    raise AttributeError(f"module 'jax.scipy.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules})
