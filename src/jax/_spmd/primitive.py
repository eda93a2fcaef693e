"""The primitive behind ``shard_map``: a program for one part, and how parts are cut and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base._jaxlib import ArrayImpl
from jax._base.caching import no_context, weak_cache
from jax._dispatch.program import run_program
from jax._dispatch.spread import Placement, place_finders
from jax._language import manual, rules
from jax._language.avals import physical_aval, typeof
from jax._language.effects import NamedAxisEffect, ordered_effects
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.manual import Manual
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._lowering.context import LoweringContext, Scope
from jax._lowering.emit import emit_jaxpr
from jax._lowering.manual import Region, manual_computation
from jax._lowering.rules import register_lowering
from jax._spmd import specs
from jax.sharding import NamedSharding

# Operands and results are whole arrays. ``jaxpr`` maps parts to parts; ``axes`` are the mesh axes that it handles itself;
# ``typed`` says whether its types tell over which of them values vary.
shard_map_p = Primitive("shard_map", multiple_results=True)
shard_map_p.abstract_cache = None


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, mesh: Any, in_specs: Any, out_specs: Any, axes: frozenset[Any], typed: bool,
              name: str) -> Any:
    effects = frozenset(e for e in jaxpr.effects if not (isinstance(e, NamedAxisEffect) and e.name in axes))
    ordered = ordered_effects.filter_in(effects)
    if ordered:
        raise NotImplementedError(f"shard_map of {name}: the body has ordered effects ({', '.join(map(str, ordered))}), and "
                                  "its parts run at the same time. Use unordered ones, or move them out of shard_map.")
    outs = [specs.whole(a, s, mesh, axes) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]
    return outs, effects


def context(params: dict[str, Any]) -> Any:
    """Binds the axes of a ``shard_map`` while something is made from its body."""
    outer = manual.current()
    axes = params["axes"] if outer is None else params["axes"] | outer.axes
    return manual.entered(Manual(params["mesh"], axes, params["typed"]))


# --- evaluation -----------------------------------------------------------------------------------------------------

@weak_cache(context=no_context)
def _alone(jaxpr: ClosedJaxpr, avals: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> ClosedJaxpr:
    """The program that consists of one ``shard_map``."""
    info = DebugInfo("shard_map", dict(params)["name"])
    return ClosedJaxpr(*trace_to_jaxpr(lambda *xs: shard_map_p.bind(*xs, jaxpr=jaxpr, **dict(params)), avals, info))


def _impl(*args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    mesh = params["mesh"]
    program: Any = _alone(jaxpr, tuple([typeof(x) for x in args]), tuple(params.items()))
    devices = getattr(mesh, "_flat_devices_tuple", None)
    if not devices:
        return run_program(args, jaxpr=program, name=params["name"])
    # What is nowhere in particular goes where its parts are needed.
    ins = tuple([None if _stays(x) else NamedSharding(mesh, s) for x, s in zip(args, params["in_specs"], strict=True)])
    outs = tuple([NamedSharding(mesh, s) for s in params["out_specs"]])
    return run_program(args, jaxpr=program, name=params["name"], device=Placement(tuple(devices), mesh, ins, outs))


def _stays(x: Any) -> bool:
    unwrap = getattr(getattr(x, "dtype", None), "unwrap", None)
    plain = unwrap(x) if unwrap is not None and type(x) is not ArrayImpl else x
    return type(plain) is ArrayImpl and plain._committed


# --- lowering -------------------------------------------------------------------------------------------------------

def _lower(ctx: LoweringContext, *values: Any, jaxpr: ClosedJaxpr, mesh: Any, in_specs: Any, out_specs: Any,
           axes: frozenset[Any], typed: bool, name: str) -> Any:
    outer = ctx.scope.manual
    mod = ctx.module_context
    if mod.spread is None and mesh.size > 1:
        raise ValueError(f"shard_map of {name}: the program runs on one device, and the mesh {mesh} has {mesh.size}. Over "
                         "an AbstractMesh the arguments say which devices: put them on a mesh with jax.device_put first.")
    region = Region(mod, mesh, axes if outer is None else axes | outer.axes)

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        inner = ctx.replace(scope=Scope(region), avals_in=jaxpr.in_avals, avals_out=jaxpr.out_avals,
                            name_stack=(*ctx.name_stack, f"shard_map({name})"))
        return emit_jaxpr(inner, jaxpr.jaxpr, jaxpr.consts, args)
    return manual_computation(
        ctx, region, axes, values, [NamedSharding(mesh, s) for s in in_specs], [NamedSharding(mesh, s) for s in out_specs],
        list(map(physical_aval, jaxpr.in_avals)), list(map(physical_aval, jaxpr.out_avals)),
        list(map(physical_aval, ctx.avals_out)), fill)


shard_map_p.def_effectful_abstract_eval(_abstract)
shard_map_p.def_impl(_impl)
register_lowering(shard_map_p, _lower, cacheable=False)
place_finders[shard_map_p] = lambda params: params["mesh"]


def _varies(ins: Any, params: dict[str, Any], outs: Any) -> list[frozenset[Any]]:
    return [manual.vma_of(a) for a in outs]


manual.varying_rules[shard_map_p] = _varies
rules.body_contexts[shard_map_p] = context

__all__ = ["context", "shard_map_p"]
