"""View on :mod:`jax.experimental.checkify`, which loads when a name of it is asked for (its room lies above this one)."""

import importlib as _importlib
from typing import Any as _Any

_NAMES = ("Error", "FailedCheckError", "JaxException", "check", "checkify", "user_checks")


def __getattr__(name: str) -> _Any:
    if name in _NAMES:
        return getattr(_importlib.import_module("jax.experimental.checkify"), name)
    raise AttributeError(f"module 'jax._src.checkify' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(_NAMES)
