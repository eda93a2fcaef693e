"""View on :mod:`jax.tree_util`."""

from __future__ import annotations

from jax.tree_util import *  # noqa: F403
from jax.tree_util import _registry as _registry
from jax.tree_util import broadcast_prefix as broadcast_prefix
from jax.tree_util import default_registry as default_registry
from jax.tree_util import flatten_one_level as flatten_one_level
