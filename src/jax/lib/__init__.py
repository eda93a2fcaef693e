"""Kept for libraries that still import from here: the runtime's clients, and jaxlib's compiled module."""

from __future__ import annotations

import sys

from jax._base._jaxlib import xla as xla_extension
from jax.lib import xla_bridge as xla_bridge

# ``import jax.lib.xla_extension`` and ``from jax.lib.xla_extension import ...`` find the compiled module itself.
sys.modules["jax.lib.xla_extension"] = xla_extension

__all__ = ["xla_bridge", "xla_extension"]
