"""Shardings over explicit mesh axes: ``reshard``, ``auto_axes``, ``explicit_axes``.

Array types do not carry shardings here. What programs say of the layout of values (these functions, shardings of arguments)
is followed, and the compiler arranges the rest, over explicit axes as over automatic ones; results are the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jax._api.common import check_callable, flatten_axes
from jax._api.sharding_constraints import constrain, resolve
from jax._base.source import api_boundary
from jax.sharding import AxisType, NamedSharding, get_abstract_mesh
from jax.tree_util import tree_flatten, tree_unflatten


def _laid_out(x: Any, shardings: Any, api: str) -> Any:
    leaves, tree = tree_flatten(x)
    wanted = [resolve(s, api) for s in flatten_axes(f"{api}: shardings", tree, shardings)]
    return tree_unflatten(tree, constrain(leaves, wanted))


@api_boundary
def reshard(xs: Any, out_shardings: Any) -> Any:
    """A tree of arrays laid out anew, inside of programs or outside.

    Args:
      xs: a tree of arrays.
      out_shardings: a sharding, a partition spec over the current mesh, or a tree of them; the axes they name are explicit.

    Raises:
      ValueError: an axis of another type; :func:`jax.lax.with_sharding_constraint` is for those.
      RuntimeError: a spec without a current mesh.

    >>> import jax, jax.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     jax.reshard(jnp.ones(4), jax.P("x")).sharding.spec
    P('x',)
    """
    for s in tree_flatten(out_shardings, is_leaf=lambda s: s is None)[0]:
        sharding = resolve(s, "reshard")
        if isinstance(sharding, NamedSharding):
            types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
            for entry in sharding.spec.partitions:
                for axis in entry if isinstance(entry, tuple) else (entry,):
                    if axis in types and types[axis] is not AxisType.Explicit:
                        raise ValueError(f"reshard is for explicit mesh axes, and {axis!r} of {sharding.spec} has the type "
                                         f"{types[axis]}; use jax.lax.with_sharding_constraint inside of programs and "
                                         "jax.device_put outside")
    return _laid_out(xs, out_shardings, "reshard")


def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """``f`` with the compiler arranging what happens inside, and its results laid out by ``out_sharding``.

    Args:
      f: a function of trees of arrays; without it, a decorator.
      axes: the mesh axes to hand over, all by default. Named axes must exist in the current mesh.
      out_sharding: a sharding, a spec over the current mesh, or a tree of them, for the results. It may be given to each
        call instead, as the keyword ``out_sharding``.

    Raises:
      TypeError: no ``out_sharding`` is given anywhere.
      ValueError: ``axes`` are none of the current mesh's.
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable(f, "auto_axes")

    @functools.wraps(f)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_axes("auto_axes", axes)
        wanted = kwargs.pop("out_sharding", out_sharding)
        if wanted is None:
            raise TypeError("auto_axes needs out_sharding: how the results are laid out over the explicit axes outside")
        return _laid_out(f(*args, **kwargs), wanted, "auto_axes")
    return wrapped


def explicit_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """``f`` with its arguments laid out by ``in_sharding``.

    Args:
      f: a function of trees of arrays; without it, a decorator.
      axes: the mesh axes concerned, all by default.
      in_sharding: a sharding, a spec over the current mesh, or a tree of them for the tuple of arguments. It may be given
        to each call instead, as the keyword ``in_sharding``.

    Raises:
      TypeError: no ``in_sharding`` is given anywhere.
      ValueError: ``axes`` are none of the current mesh's.
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable(f, "explicit_axes")

    @functools.wraps(f)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_axes("explicit_axes", axes)
        wanted = kwargs.pop("in_sharding", in_sharding)
        if wanted is None:
            raise TypeError("explicit_axes needs in_sharding: how the arguments are laid out over the axes")
        return f(*_laid_out(args, wanted, "explicit_axes"), **kwargs)
    return wrapped


def _check_axes(api: str, axes: Any) -> None:
    if axes is None:
        return
    known = get_abstract_mesh().axis_names
    unknown = [a for a in (axes if isinstance(axes, (tuple, list, set, frozenset)) else (axes,)) if a not in known]
    if unknown:
        raise ValueError(f"{api}: axes={axes!r}, and the current mesh has the axes {known}; see jax.set_mesh")


__all__ = ["auto_axes", "explicit_axes", "reshard"]
