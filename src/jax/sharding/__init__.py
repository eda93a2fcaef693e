"""Where the pieces of an array live: devices, meshes of devices, and partitionings, as plain data.

A *sharding* says which device holds which block of an array. The classes are jaxlib's own C++ classes
(:class:`SingleDeviceSharding`, :class:`NamedSharding`), to which this package adds the questions that Python
asks, so that the compiled call path recognises them without a detour.
"""

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
