"""View on the types and effects of mutable arrays."""

from __future__ import annotations

from jax._language.effects import AccumEffect as AccumEffect
from jax._language.effects import ReadEffect as ReadEffect
from jax._language.effects import RefEffect as RefEffect
from jax._language.effects import WriteEffect as WriteEffect
from jax._language.refs import AbstractRef as AbstractRef
