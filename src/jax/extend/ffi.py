"""The older place of :mod:`jax.ffi`."""

from __future__ import annotations

from jax.ffi import ffi_lowering as ffi_lowering
from jax.ffi import include_dir as include_dir
from jax.ffi import pycapsule as pycapsule

__all__ = ["ffi_lowering", "include_dir", "pycapsule"]
