"""The context managers that ``jax.enable_x64`` has replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jax._base import config as _config
from jax._base.config import config as config


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """64-bit types in a block; the same as ``jax.enable_x64(new_val)``."""
    with _config.enable_x64(bool(new_val)):
        yield


@contextmanager
def disable_x64() -> Iterator[None]:
    """No 64-bit types in a block; the same as ``jax.enable_x64(False)``."""
    with _config.enable_x64(False):
        yield


__all__ = ["disable_x64", "enable_x64"]
