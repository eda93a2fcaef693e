"""Groups of operations that XLA's scheduler keeps together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jax.experimental.xla_metadata import xla_metadata_call2


def scheduling_group(name: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: what a function's call computes is one group for XLA's scheduler (attribute ``scheduling_group``).

    Compilers whose scheduler has no groups, as the one for CPUs, take no notice of it.

    Args:
      name: of the group, a string or number; calls with the same name form one.

    >>> import jax.numpy as jnp
    >>> from jax.experimental.scheduling_groups import scheduling_group
    >>> @scheduling_group("gather")
    ... def f(x):
    ...     return x[::2]
    >>> f(jnp.arange(4)).tolist()
    [0, 2]
    """
    return functools.partial(xla_metadata_call2, metadata={"scheduling_group": name})
