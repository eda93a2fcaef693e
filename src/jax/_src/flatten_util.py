"""View on :mod:`jax.flatten_util`."""

from jax.flatten_util import *  # noqa: F403
