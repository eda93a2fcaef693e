"""View on :mod:`jax.api_util`."""

from jax.api_util import *  # noqa: F403
