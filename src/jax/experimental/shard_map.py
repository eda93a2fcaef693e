"""The earlier place of :func:`jax.shard_map`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from jax._base import source as traceback_util
from jax._spmd import shard_map as jshmap


def shard_map(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True,
              auto: frozenset[Any] = frozenset()) -> Any:
    """:func:`jax.shard_map` with its earlier arguments. Deprecated, as documented.

    Args:
      f: a function of parts.
      mesh: the devices.
      in_specs, out_specs: as for :func:`jax.shard_map`.
      check_rep: ``check_vma``.
      auto: the mesh axes left to the compiler; the others are ``axis_names``.

    >>> import warnings, jax, jax.numpy as jnp
    >>> from jax.experimental.shard_map import shard_map
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = shard_map(lambda x: 2 * x, jax.make_mesh((1,), ("i",)), jax.P("i"), jax.P("i"))
    >>> double(jnp.arange(2)).tolist()
    [0, 2]
    """
    warnings.warn("jax.experimental.shard_map.shard_map is deprecated: use jax.shard_map, whose check_vma is check_rep and "
                  "whose axis_names are the axes that are not auto", DeprecationWarning, stacklevel=2)
    names = frozenset(mesh.axis_names) - frozenset(auto)
    return jshmap.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=names, check_vma=check_rep)


__all__ = ["jshmap", "shard_map", "traceback_util"]
