"""View on the bindings of ``jaxlib``."""

from __future__ import annotations

from jax._base._jaxlib import jaxlib_version as version

__all__ = ["version"]
