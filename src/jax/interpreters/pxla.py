"""Programs on devices: options for compiling, arguments and shardings in the compiler's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base._jaxlib import xla
from jax._runtime import compile as _compile
from jax._runtime import transfer as _transfer
from jax._runtime.execute import Executable as MeshExecutable
from jax.interpreters._sharding_specs import Chunked as Chunked
from jax.interpreters._sharding_specs import NoSharding as NoSharding
from jax.interpreters._sharding_specs import Replicated as Replicated
from jax.interpreters._sharding_specs import ShardedAxis as ShardedAxis
from jax.interpreters._sharding_specs import ShardingSpec as ShardingSpec
from jax.interpreters._sharding_specs import Unstacked as Unstacked
from jax.sharding import Mesh, PartitionSpec, get_mesh
from jax.stages import Lowered as MeshComputation


def create_compile_options(computation: Any, tuple_args: bool = False, allow_prop_to_inputs: Any = (),
                           allow_prop_to_outputs: Any = (), backend: Any = None, np_dev: Any = None,
                           compiler_options: dict[str, Any] | None = None) -> Any:
    """XLA's options for a module on the devices ``np_dev`` (a grid of replicas and partitions, or one row of these)."""
    grid = np.atleast_1d(np.asarray(np_dev, dtype=object)) if np_dev is not None else \
        np.asarray(backend.devices()[:1], dtype=object)
    replicas, partitions = grid.shape if grid.ndim == 2 else (1, grid.size)
    options = _compile.compile_options(
        list(grid.flat), num_replicas=replicas, num_partitions=partitions, compiler_options=compiler_options,
        propagate_to_outputs=list(allow_prop_to_outputs) or False,
        propagate_to_parameters=list(allow_prop_to_inputs) or False)
    options.parameter_is_tupled_arguments = bool(tuple_args)
    return options


def shard_args(shardings: Sequence[Any], args: Sequence[Any], canonicalize: bool = True) -> list[Any]:
    """Arguments as arrays laid out by ``shardings``."""
    return [_transfer.to_device(x, None, s, committed=True) for x, s in zip(args, shardings, strict=True)]


def spec_to_indices(shape: Sequence[int], spec: Any) -> tuple[Any, ...]:
    """Which slices of an array each device holds, in the order of the devices of a sharding or a :class:`ShardingSpec`."""
    if isinstance(spec, ShardingSpec):
        return tuple(spec.indices(shape).flat)
    return tuple(spec.devices_indices_map(tuple(shape)).values())


def array_mapping_to_axis_resources(array_mapping: dict[Any, int]) -> PartitionSpec:
    """A partition spec from a dict of mesh axes to dimensions."""
    if not array_mapping:
        return PartitionSpec()
    parts: list[Any] = [None] * (max(array_mapping.values()) + 1)
    for name, d in array_mapping.items():
        held = parts[d]
        parts[d] = name if held is None else (*held, name) if isinstance(held, tuple) else (held, name)
    return PartitionSpec(*parts)


def _hlo(sharding: Any) -> Any:
    cls = _jaxlib.hlo.HloSharding
    return sharding if isinstance(sharding, cls) else cls.from_proto(sharding)


def are_op_shardings_equal(op1: Any, op2: Any) -> bool:
    """Whether two shardings of the compiler (``OpSharding`` or ``HloSharding``) say the same."""
    one, two = _hlo(op1), _hlo(op2)
    return bool(one == two or (is_op_sharding_replicated(one) and is_op_sharding_replicated(two)))


def is_op_sharding_replicated(op: Any) -> bool:
    """Whether every device holds everything."""
    sharding = _hlo(op)
    return bool(len(sharding.tile_assignment_devices()) == 1 or sharding.is_replicated())


def op_sharding_to_indices(op_sharding: Any, shape: Sequence[int], num_devices: int) -> tuple[Any, ...]:
    """Which slices of an array each of ``num_devices`` devices holds."""
    devices = xla.DeviceList(tuple(_devices(num_devices)))
    return spec_to_indices(shape, xla.GSPMDSharding(devices, _hlo(op_sharding)))


def _devices(n: int) -> list[Any]:
    from jax._runtime.backend import devices  # only where devices have to be named
    return devices()[:n]


class ResourceEnv:
    """The mesh that is in force in this thread."""

    @property
    def physical_mesh(self) -> Mesh:
        """The innermost mesh entered in this thread; an empty one when there is none."""
        return get_mesh()


class ThreadResources:
    """What is in force in this thread."""

    env = ResourceEnv()


thread_resources = ThreadResources()
__all__ = ["Chunked", "MeshComputation", "MeshExecutable", "NoSharding", "Replicated", "ShardedAxis", "ShardingSpec",
           "Unstacked", "are_op_shardings_equal", "array_mapping_to_axis_resources",
           "create_compile_options", "is_op_sharding_replicated", "op_sharding_to_indices", "shard_args",
           "spec_to_indices", "thread_resources"]
