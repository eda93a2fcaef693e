"""Kept for libraries that still import it."""

from __future__ import annotations

from jax._dispatch.eager import process as apply_primitive
from jax._language.avals import aval_makers as pytype_aval_mappings

__all__ = ["apply_primitive", "pytype_aval_mappings"]
