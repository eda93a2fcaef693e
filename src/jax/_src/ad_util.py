"""View on symbolic zeros and the primitives about derivatives."""

from __future__ import annotations

from jax._ground.structural import add_any_p as add_any_p
from jax._ground.structural import add_any_p as add_jaxvals_p  # noqa: F401
from jax._ground.structural import add_tangents as add_jaxvals  # noqa: F401
from jax._ground.structural import instantiate_zeros as instantiate
from jax._ground.structural import zeros_of as zeros_like_aval  # noqa: F401
from jax._language.zeros import SymbolicZero as SymbolicZero
from jax._language.zeros import Zero as Zero
from jax.lax._stop_gradient import stop_gradient_p as stop_gradient_p

__all__ = ["SymbolicZero", "Zero", "add_any_p", "add_jaxvals", "add_jaxvals_p", "instantiate", "stop_gradient_p",
           "zeros_like_aval"]
