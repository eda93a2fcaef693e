"""View on the types and primitives of mutable arrays."""

from __future__ import annotations

from jax._language.refs import AbstractRef as AbstractRef
