"""What a module is lowered for: how many devices, which of their axes it is written for one part of, other rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jax.sharding import Mesh


@dataclass(frozen=True)
class ShardingContext:
    """A program that the compiler divides between ``num_devices`` devices."""

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: Any = None


@dataclass(frozen=True)
class SPMDAxisContext:
    """A program for the devices of ``mesh``, written for one part along ``manual_axes``."""

    mesh: Mesh
    manual_axes: frozenset[Any] = frozenset()


@dataclass(frozen=True)
class ReplicaAxisContext:
    """A program of which each replica runs by itself; ``axis_env.nreps`` says how many there are."""

    axis_env: Any


AxisContext = ShardingContext | SPMDAxisContext | ReplicaAxisContext


@dataclass(frozen=True)
class LoweringParameters:
    """How a module is lowered.

    ``override_lowering_rules`` are pairs of a primitive and a rule, which go before those that are registered. For
    exported programs there is :mod:`jax.export`; the other options are none here and have their defaults.
    """

    override_lowering_rules: tuple[tuple[Any, Any], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = True


class Target(NamedTuple):
    """What an axis context means for the module."""

    num_replicas: int
    num_partitions: int
    mesh: Any


def target(context: Any, num_partitions: int) -> Target:
    """The numbers of replicas and partitions, and the mesh whose axes collectives may name.

    Raises:
      NotImplementedError: for a mesh of which some axes are manual and others are not.
    """
    if context is None:
        return Target(1, num_partitions, None)
    if isinstance(context, ShardingContext):
        return Target(1, context.num_devices, None)
    if isinstance(context, ReplicaAxisContext):
        return Target(context.axis_env.nreps, num_partitions, None)
    mesh, manual = context.mesh, frozenset(context.manual_axes)
    if manual and manual != frozenset(mesh.axis_names):
        raise NotImplementedError(f"lower_jaxpr_to_module: of the axes {mesh.axis_names} {sorted(map(str, manual))} are "
                                  "manual; all or none can be. jax.shard_map with axis_names is for programs of both kinds")
    return Target(1, int(mesh.devices.size), mesh if manual else None)


def overrides(parameters: LoweringParameters | None) -> dict[Any, Any]:
    """The rules that go before others.

    Raises:
      NotImplementedError: for options that would have no effect.
    """
    if parameters is None:
        return {}
    plain = LoweringParameters(parameters.override_lowering_rules)
    if parameters != plain:
        raise NotImplementedError("lower_jaxpr_to_module: of LoweringParameters only override_lowering_rules has an effect, "
                                  f"got {parameters}; jax.export lowers for export")
    rules: Sequence[tuple[Any, Any]] = parameters.override_lowering_rules or ()
    return dict(rules)
