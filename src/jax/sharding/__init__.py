"""Where the pieces of an array live: devices, meshes of devices, and partitionings, as plain data.

A *sharding* says which device holds which block of an array. The classes are jaxlib's own C++ classes
(:class:`SingleDeviceSharding`, :class:`NamedSharding`), to which this package adds the questions that Python
asks, so that the compiled call path recognises them without a detour.
"""

import importlib as _importlib
from typing import Any as _Any

from ._earlier import PmapSharding as PmapSharding
from ._earlier import PositionalSharding as PositionalSharding
from ._inference import sharding_from_hlo as sharding_from_hlo
from ._kinds import Infer as Infer
from ._kinds import ManualAxisType as ManualAxisType
from ._kinds import UnreducedKind as UnreducedKind
from ._meshes import AbstractDevice as AbstractDevice
from ._meshes import AbstractMesh as AbstractMesh
from ._meshes import AxisType as AxisType
from ._meshes import Mesh as Mesh
from ._meshes import get_abstract_mesh as get_abstract_mesh
from ._meshes import get_mesh as get_mesh
from ._meshes import set_mesh as set_mesh
from ._meshes import use_abstract_mesh as use_abstract_mesh
from ._placements import GSPMDSharding as GSPMDSharding
from ._placements import NamedSharding as NamedSharding
from ._placements import Sharding as Sharding
from ._placements import SingleDeviceSharding as SingleDeviceSharding
from ._placements import make_single_device_sharding as make_single_device_sharding
from ._specs import PartitionSpec as PartitionSpec

# jaxlib's classes come without docstrings.
Sharding.__doc__ = "Which device holds which block of an array: the base of all shardings."
SingleDeviceSharding.__doc__ = "The whole array on one device: ``SingleDeviceSharding(device, *, memory_kind=None)``."
NamedSharding.__doc__ = """Blocks along the axes of a mesh: ``NamedSharding(mesh, spec, *, memory_kind=None)``.

``spec`` is a :class:`PartitionSpec`: for each dimension of the array the mesh axis (or axes) it is divided over, or
None. Mesh axes that it does not name hold copies.

>>> import jax, numpy
>>> mesh = jax.sharding.Mesh(numpy.array(jax.devices()[:1]), ("rows",))
>>> jax.NamedSharding(mesh, jax.P("rows")).shard_shape((8, 2))
(8, 2)
"""
GSPMDSharding.__doc__ = "A division in the notation of XLA's partitioner: ``GSPMDSharding(devices, op_sharding)``."

# Documented here, and functions of arrays, so that they live where arrays are known. They load on first use.
_functions = {"auto_axes": "jax._api.explicit", "explicit_axes": "jax._api.explicit", "reshard": "jax._api.explicit"}


def __getattr__(name: str) -> _Any:
    home = _functions.get(name)
    if home is None:
        raise AttributeError(f"module 'jax.sharding' has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions})
