"""Descriptions of sets of devices, attached or not."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib
from jax._runtime import backend
from jax.experimental import mesh_utils as mesh_utils
from jax.sharding import Mesh

Device = _jaxlib.xla.Device


class TopologyDescription:
    """A set of devices.

    Attributes:
      devices: a list of them.
    """

    __slots__ = ("devices", "_topology")

    def __init__(self, devices: Sequence[Any], topology: Any = None) -> None:
        self.devices = list(devices)
        self._topology = topology

    def serialize(self) -> bytes:
        """The description as bytes.

        Raises:
          NotImplementedError: this version of jaxlib has no serialization of topologies.
        """
        topology = self._topology
        if topology is None:
            topology = _jaxlib.xla.get_topology_for_devices(self.devices)
        _require(topology, "serialize")
        return bytes(topology.serialize())

    @classmethod
    def deserialize(cls, serialized: bytes) -> TopologyDescription:
        """A description from :meth:`serialize`; its devices can be compiled for, and not run on.

        Raises:
          NotImplementedError: this version of jaxlib has no serialization of topologies.
          ValueError: the bytes describe no topology.
        """
        _require(_jaxlib.xla.DeviceTopology, "deserialize")
        try:
            topology = _jaxlib.xla.DeviceTopology.deserialize(serialized)
        except (TypeError, ValueError, _jaxlib.JaxRuntimeError) as error:
            raise ValueError(f"TopologyDescription.deserialize: these bytes describe no topology ({error})") from error
        return cls(topology._make_compile_only_devices(), topology)

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices!r})"


def _require(topology: Any, name: str) -> None:
    if not hasattr(topology, name):
        version = ".".join(map(str, _jaxlib.jaxlib_version))
        raise NotImplementedError(f"TopologyDescription.{name}: jaxlib {version} cannot; it takes jaxlib 0.11 (Python 3.12 "
                                  "or newer)")


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices of this process.

    Args:
      platform: ``"cpu"``, ``"gpu"`` ...; the default one, if None.

    >>> from jax.experimental import topologies
    >>> topologies.get_attached_topology("cpu").devices[0].platform
    'cpu'
    """
    return TopologyDescription(backend.get_backend(platform).devices())


def get_topology_desc(topology_name: str = "", platform: str | None = None, **kwargs: Any) -> TopologyDescription:
    """Devices that need not be attached, to compile for.

    Args:
      topology_name: a name that the platform's plugin knows.
      platform: of the plugin, such as ``"tpu"`` (the default) or ``"cuda"``.
      **kwargs: options of the plugin.

    Raises:
      NotImplementedError: the platform's plugin is not there, or has no topologies that are not attached, as that of
        CPUs.
    """
    platform = "tpu" if platform is None else platform
    loaded = _jaxlib.xla.pjrt_plugin_loaded(platform)
    if platform == "cpu" or not loaded:
        why = "CPUs have no topologies that are not attached" if platform == "cpu" else \
            f"no plugin for the platform {platform!r} is loaded in this process"
        raise NotImplementedError(f"get_topology_desc: {why}; get_attached_topology() describes the devices that are there")
    try:
        topology = _jaxlib.xla.get_default_c_api_topology(platform, topology_name, kwargs)
    except _jaxlib.JaxRuntimeError as error:
        raise NotImplementedError(f"get_topology_desc: the plugin for {platform} cannot describe {topology_name!r}: "
                                  f"{error}. get_attached_topology() describes the devices that are there") from error
    return TopologyDescription(topology._make_compile_only_devices(), topology)


def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *,
              contiguous_submeshes: bool = False) -> Mesh:
    """A mesh of the devices of a topology.

    Args:
      topo: the topology.
      mesh_shape, axis_names: sizes and names of the axes; the product of the sizes is the number of devices.
      contiguous_submeshes: a choice for the networks of TPUs.

    Raises:
      ValueError: the shape takes another number of devices.

    >>> from jax.experimental import topologies
    >>> topo = topologies.get_attached_topology("cpu")
    >>> topologies.make_mesh(topo, (len(topo.devices), 1), ("x", "y")).axis_names
    ('x', 'y')
    """
    grid = mesh_utils.create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes)
    return Mesh(grid, axis_names)


def __getattr__(name: str) -> Any:
    if name == "xb":
        return importlib.import_module("jax._src.xla_bridge")
    raise AttributeError(f"module 'jax.experimental.topologies' has no attribute {name!r}")
