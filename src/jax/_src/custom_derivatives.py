"""View on :mod:`jax.custom_derivatives`."""

from jax.custom_derivatives import *  # noqa: F403
