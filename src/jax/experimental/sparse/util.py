"""What sparse formats share: warnings, errors, and functions mapped over several leading axes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jax._api.composite import composite
from jax._api.vmap import vmap
from jax.experimental._reexports import reexporting


def compiled(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for an operation on sparse arrays: eagerly, one compiled call. Arguments named are no arrays."""
    def decorate(fun: Callable[..., Any]) -> Callable[..., Any]:
        inner = composite(fun, static_argnames=static)
        signature = inspect.signature(fun)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs).arguments
            for name in static:
                if name in bound:
                    bound[name] = _hashable(bound[name])
            return inner(**bound)
        return call
    return decorate


def _hashable(x: Any) -> Any:
    if isinstance(x, list | range) or type(x) is tuple:
        return tuple(map(_hashable, x))
    return int(x) if isinstance(x, np.integer) else x


class SparseEfficiencyError(ValueError):
    """An operation that would cost far more than it seems to."""


class SparseEfficiencyWarning(UserWarning):
    """An operation that costs far more than it seems to."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation that a library of the accelerator cannot do well. (Nothing here calls such a library.)"""


class SparseInfo(NamedTuple):
    """What is known of a sparse array but its entries."""
    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def nfold_vmap(fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0) -> Callable[..., Any]:
    """``fun`` mapped over ``N`` leading axes.

    Args:
      fun: a function of arrays.
      N: how many axes.
      broadcasted: whether axes of size 1 are broadcast with others, as by :func:`broadcasting_vmap`.
      in_axes: 0 or None for each argument.
    """
    mapping = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = mapping(fun, in_axes=in_axes)
    return fun


def broadcasting_vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """``jax.vmap`` with ``in_axes`` of 0 or None, for which mapped axes of size 1 go with those of any size."""
    def mapped(*args: Any) -> Any:
        axes = (in_axes,) * len(args) if in_axes is None or isinstance(in_axes, int) else tuple(in_axes)
        if any(a not in (0, None) for a in axes):
            raise NotImplementedError(f"broadcasting_vmap: in_axes must be 0 or None, got {in_axes}")
        sizes = {a.shape[0] for a, d in zip(args, axes, strict=True) if d == 0}
        if len(sizes - {1}) > 1:
            raise ValueError(f"broadcasting_vmap: axes of sizes {sorted(sizes)} cannot be broadcast")
        if len(sizes) < 2:
            return vmap(fun, axes, out_axes)(*args)
        single = [d == 0 and a.shape[0] == 1 for a, d in zip(args, axes, strict=True)]
        args = tuple(a[0] if one else a for a, one in zip(args, single, strict=True))
        axes = tuple(None if one else d for d, one in zip(axes, single, strict=True))
        return vmap(fun, axes, out_axes)(*args)
    return mapped


__getattr__ = reexporting(__name__, "core jnp lax tree_util")
