"""JAX, implemented independently on XLA: composable transformations of NumPy-like programs."""

from jax._api.autodiff import grad as grad
from jax._api.autodiff import jvp as jvp
from jax._api.autodiff import linear_transpose as linear_transpose
from jax._api.autodiff import linearize as linearize
from jax._api.autodiff import value_and_grad as value_and_grad
from jax._api.autodiff import vjp as vjp
from jax._api.jit import jit as jit
from jax._api.staged import eval_shape as eval_shape
from jax._api.staged import make_jaxpr as make_jaxpr
from jax._api.vmap import vmap as vmap
from jax._dispatch import eager as _eager  # installs the bottom trace
