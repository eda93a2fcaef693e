"""View on :mod:`jax.extend.linear_util`."""

from jax.extend.linear_util import *  # noqa: F403
