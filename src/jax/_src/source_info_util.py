"""View on :mod:`jax.extend.source_info_util`."""

from jax.extend.source_info_util import *  # noqa: F403
