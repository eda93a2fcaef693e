"""Mosaic, the compilers of kernels for TPUs and for newer GPUs, which are not here."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # what the import system and inspection ask every module for
        raise AttributeError(f"module 'jax.experimental.mosaic' has no attribute {name!r}")
    raise AttributeError(
        f"jax.experimental.mosaic.{name}: the kernel compilers Mosaic TPU and Mosaic GPU are not part of this "
        "implementation. Write the function with jax.numpy and jax.lax, which XLA compiles for every platform, or call a "
        "kernel of another language through jax.ffi.")
