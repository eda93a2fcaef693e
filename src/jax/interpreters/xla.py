"""Kept for libraries that still import it."""

from __future__ import annotations

from jax._base._jaxlib import Client as Backend
from jax._base._jaxlib import xla as xe
from jax._dispatch.eager import apply_primitive as apply_primitive
from jax._language.avals import aval_makers as pytype_aval_mappings
from jax._language.avals import typeof as abstractify
from jax._src import xla_bridge as xb

__all__ = ["Backend", "abstractify", "apply_primitive", "pytype_aval_mappings", "xb", "xe"]
