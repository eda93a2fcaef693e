"""``jax.scipy``: parts of SciPy on JAX arrays. Subpackages load when they are first used."""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({"cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
                      "spatial", "special", "stats"})


def __getattr__(name: str) -> _Any:
    if name in _modules:
        try:
            return _importlib.import_module(f"jax.scipy.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"jax.scipy.{name}":
                raise
    raise AttributeError(f"module 'jax.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules})
