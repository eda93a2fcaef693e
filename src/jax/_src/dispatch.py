"""View on the evaluation of single operations and on the tokens of effects."""

from __future__ import annotations

from jax._dispatch.eager import apply_primitive as apply_primitive
from jax._runtime.execute import effects_barrier as wait_for_tokens  # noqa: F401
from jax._runtime.execute import tokens as runtime_tokens  # noqa: F401
