"""jaxlib's classes for programs in IFRT's terms."""

from jax._base._jaxlib import ifrt_programs as ifrt_programs

__all__ = ["ifrt_programs"]
