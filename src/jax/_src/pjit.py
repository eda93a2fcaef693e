"""View on compiled calls."""

from jax._api.jit import jit as jit
from jax._api.jit_primitive import jit_p as jit_p
