"""``with_sharding_constraint``: how a value inside of a program is laid out over devices; and moving arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jax._api.common import flatten_axes
from jax._base import _jaxlib
from jax._base.caching import cache
from jax._base.source import api_boundary
from jax._dispatch.program import run_program
from jax._dispatch.spread import Placement, as_placement, place_finders
from jax._ground.structural import deflinear
from jax._language import manual, rules
from jax._language.avals import physical_aval, typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread, sharding_attr
from jax._runtime import transfer
from jax._runtime.layout import Format
from jax._transforms.batch import AxisData
from jax.sharding import NamedSharding, PartitionSpec, Sharding, get_abstract_mesh, get_mesh
from jax.tree_util import tree_flatten, tree_unflatten

ArrayImpl = _jaxlib.ArrayImpl

# --- what users give in place of shardings --------------------------------------------------------------------------


def resolve(sharding: Any, api: str) -> Any:
    """The sharding meant: a spec is over the current mesh, a format means its sharding.

    Raises:
      RuntimeError: for a spec without a current mesh.
      TypeError: for anything that is no sharding.
      NotImplementedError: for a format with a layout that is not row-major.
    """
    if sharding is None:
        return None
    if isinstance(sharding, Sharding):
        return sharding.plain() if hasattr(sharding, "plain") else sharding
    if isinstance(sharding, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            abstract = get_abstract_mesh()
            if not abstract.empty:
                return NamedSharding(abstract, sharding)
            around = manual.current()
            if around is not None:  # in the body of a shard_map over a mesh that it was given
                return NamedSharding(around.mesh, sharding)
            raise RuntimeError(f"{api}: {sharding!r} says which axes of a mesh split the array, and no mesh is current. Set "
                               "one with jax.set_mesh(mesh), or give a jax.sharding.NamedSharding(mesh, spec).")
        return NamedSharding(mesh, sharding)
    if isinstance(sharding, Format):
        return sharding.placement(api)
    raise TypeError(f"{api}: {sharding!r} of type {type(sharding).__name__} is no sharding; give a jax.sharding.Sharding, a "
                    "PartitionSpec over the current mesh, or None")


def check_shape(sharding: Any, aval: Any, what: str) -> None:
    """Refuses shardings that do not fit a type, naming ``what`` it is for."""
    if isinstance(sharding, NamedSharding) and PartitionSpec.UNCONSTRAINED in sharding.spec.partitions:
        sharding = NamedSharding(sharding.mesh, PartitionSpec(
            *(None if e is PartitionSpec.UNCONSTRAINED else e for e in sharding.spec.partitions)))
    try:
        sharding.shard_shape(aval.shape)
    except ValueError as error:
        raise type(error)(f"{what} of type {aval.str_short()}: {error}") from None


# --- the primitive --------------------------------------------------------------------------------------------------

sharding_constraint_p = Primitive("sharding_constraint")


def _abstract(x: Any, *, sharding: Any) -> Any:
    check_shape(sharding, x, "with_sharding_constraint: a value")
    return x


def _impl(x: Any, *, sharding: Any) -> Any:
    if PartitionSpec.UNCONSTRAINED in getattr(sharding, "spec", ()):
        aval = typeof(x)
        jaxpr = _constrained(aval, sharding)
        place = as_placement(x.sharding) if isinstance(x, ArrayImpl) and x._committed else None
        return run_program([x], jaxpr=jaxpr, name="sharding_constraint", device=place or as_placement(sharding))[0]
    return move(x, sharding)


@cache
def _constrained(aval: Any, sharding: Any) -> ClosedJaxpr:
    return ClosedJaxpr(*trace_to_jaxpr(lambda x: [sharding_constraint_p.bind(x, sharding=sharding)], [aval],
                                       DebugInfo("sharding_constraint", "sharding_constraint")))


def _lower(ctx: Any, x: Any, *, sharding: Any) -> Any:
    mod = ctx.module_context
    if not is_spread(mod):
        return [x]
    manual = ctx.scope.manual
    if manual is not None:
        sharding = manual.without_manual_axes(sharding)
    attr = sharding_attr(mod, sharding, len(physical_aval(ctx.avals_in[0]).shape))
    return [_jaxlib.ir.Operation.create("sdy.sharding_constraint", (x.type,), (x,), {"sharding": attr}).result]


def _batch(axis: AxisData, args: Any, dims: Any, *, sharding: Any) -> Any:
    (x,), (d,) = args, dims
    if d is not None and isinstance(sharding, NamedSharding):
        entry = PartitionSpec.UNCONSTRAINED if axis.spmd_name is None else axis.spmd_name
        parts = [*sharding.spec.partitions]
        parts += [None] * (d - len(parts))
        parts.insert(d, entry)
        sharding = NamedSharding(sharding.mesh, sharding.spec.update(partitions=tuple(parts)))
    elif d is not None and math.prod(sharding._tiles()[0]) > 1:
        raise NotImplementedError(f"with_sharding_constraint under vmap needs a NamedSharding, got {sharding}")
    return sharding_constraint_p.bind(x, sharding=sharding), d


sharding_constraint_p.def_abstract_eval(_abstract)
sharding_constraint_p.def_impl(_impl)
register_lowering(sharding_constraint_p, _lower, cacheable=False)
deflinear(sharding_constraint_p, lambda ct, x, *, sharding: [sharding_constraint_p.bind(ct, sharding=sharding)])
rules.fancy_primitive_batchers[sharding_constraint_p] = _batch
place_finders[sharding_constraint_p] = lambda params: params["sharding"]


@api_boundary
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Says how values inside of a program are laid out over devices; the compiler follows, and arranges the rest.

    Args:
      x: a tree of arrays.
      shardings: a sharding for all of them, or a tree (a prefix of ``x``) of shardings, specs over the current mesh
        (:func:`jax.set_mesh`), and ``None`` for no constraint. Dimensions that a spec calls
        ``PartitionSpec.UNCONSTRAINED`` are left to the compiler.

    Returns:
      ``x``, laid out so. Cotangents are laid out in the same way. Under :func:`jax.vmap` the mapped axis is
      unconstrained, unless ``spmd_axis_name`` names mesh axes for it. Outside of ``jit``, arrays are moved at once.

    Raises:
      RuntimeError: for a spec while no mesh is current.
      ValueError: a spec for more dimensions than the array has, or a dimension that its axes do not divide.

    >>> import jax, jax.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     jax.lax.with_sharding_constraint(jnp.ones(4), jax.P("x")).sharding.spec
    P('x',)
    """
    leaves, tree = tree_flatten(x)
    api = "with_sharding_constraint"
    wanted = [resolve(s, api) for s in flatten_axes("with_sharding_constraint: shardings", tree, shardings)]
    return tree_unflatten(tree, [y if s is None else sharding_constraint_p.bind(y, sharding=s)
                                 for y, s in zip(leaves, wanted, strict=True)])


def laid_out(x: Any, out_sharding: Any, api: str) -> Any:
    """The result of an operation that was told how to lay it out; None leaves that to the compiler."""
    return x if out_sharding is None else sharding_constraint_p.bind(x, sharding=resolve(out_sharding, api))


# --- moving concrete arrays -----------------------------------------------------------------------------------------

def move(x: Any, sharding: Any, *, may_alias: bool | None = None, donate: bool = False) -> Any:
    """A concrete array laid out anew. Between layouts over the same devices, these exchange the pieces."""
    if isinstance(sharding, NamedSharding) and not getattr(sharding.mesh, "_flat_devices_tuple", None):
        raise ValueError(f"{sharding} is over an AbstractMesh, which has no devices to put arrays on; use a Mesh")
    have = getattr(x, "_sharding", None) if type(x) is ArrayImpl else None
    if have is not None and len(have._device_assignment) > 1 and not have.is_equivalent_to(sharding, x.ndim) \
            and have._device_assignment == sharding._device_assignment and have.memory_kind == sharding.memory_kind:
        sharding.shard_shape(x.shape)
        place = Placement(tuple(sharding._device_assignment), getattr(sharding, "mesh", None), None, (sharding,))
        return run_program([x], jaxpr=_identity(x.aval), name="device_put", device=place, donated_invars=(donate,))[0]
    return transfer.to_device(x, None, sharding, may_alias=may_alias, donate=donate)


@cache
def _identity(aval: Any) -> ClosedJaxpr:
    return ClosedJaxpr(*trace_to_jaxpr(lambda x: [x], [aval], DebugInfo("device_put", "device_put")))


def constrain(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Values under shardings, where these are given."""
    return [x if s is None else sharding_constraint_p.bind(x, sharding=s) for x, s in zip(values, shardings, strict=True)]


__all__ = ["check_shape", "constrain", "laid_out", "move", "resolve", "sharding_constraint_p", "with_sharding_constraint"]
