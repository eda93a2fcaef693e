"""Meshes, partition specs and shardings as data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from jax._base._jaxlib import xla
from jax._runtime import backend
from jax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
)

P = PartitionSpec
pytestmark = pytest.mark.quick


@pytest.fixture
def mesh(four_devices):
    return Mesh(np.array(four_devices).reshape(2, 2), ("x", "y"))


def test_specs():
    assert repr(P("x", None)) == "P('x', None)"
    assert repr(P()) == "P()"
    assert repr(P(("x", "y"))) == "P(('x', 'y'),)"
    assert P(("x",), None) == P("x", None) != P("x")
    assert P(["x", "y"]) == P(("x", "y"))
    assert hash(P("x")) == hash(P("x"))
    assert P("x") != ("x",)
    assert list(P("x", None)) == ["x", None] and len(P("x", None)) == 2 and P("x", None)[0] == "x"
    assert P("x") + P("y") == P("x") + ("y",) == P("x", "y")
    assert ("x",) + P("y") == P("x", "y")
    assert P("x", None).index("x") == 0 and P(None, None).count(None) == 2
    assert pickle.loads(pickle.dumps(P("x", None, P.UNCONSTRAINED))) == P("x", None, P.UNCONSTRAINED)
    assert copy.deepcopy(P(P.UNCONSTRAINED))[0] is P.UNCONSTRAINED
    assert P("x", unreduced={"y"}).unreduced == {"y"}
    assert P("x", unreduced={"y"}).to_ct_spec() == P("x", reduced={"y"})
    assert P("x", reduced={"y"}).to_tangent_spec() == P("x", reduced={"y"})
    with pytest.raises(ValueError, match="also split"):
        P("x", unreduced={"x"})
    assert repr(P("x", unreduced={"y"})) == "P('x', unreduced={'y'})"
    with pytest.raises(ValueError, match="both"):
        P(unreduced={"y"}, reduced={"y"})


def test_meshes(mesh, four_devices):
    assert mesh is Mesh(np.array(four_devices).reshape(2, 2), ("x", "y"))
    assert dict(mesh.shape) == {"x": 2, "y": 2} and mesh.size == 4 and not mesh.empty
    assert mesh.axis_types == (AxisType.Auto, AxisType.Auto) and mesh.auto_axes == ("x", "y")
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3]]
    assert mesh.local_mesh is mesh and not mesh.is_multi_process
    assert str(mesh) == "Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"
    assert repr(mesh) == "Mesh(axis_sizes=(2, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert Mesh(four_devices, "x").axis_names == ("x",)
    assert Mesh(four_devices[0], ()).size == 1
    assert Mesh(four_devices, ("x",), axis_types=AxisType.Explicit).explicit_axes == ("x",)
    assert mesh.update(axis_names=("a", "b")).axis_names == ("a", "b")
    assert not mesh.devices.flags.writeable
    assert copy.deepcopy(mesh) is mesh
    assert mesh.are_all_axes_auto and not mesh.are_all_axes_explicit_or_manual
    assert not mesh.is_scalar and Mesh(four_devices[0], ()).is_scalar
    with pytest.raises(ValueError, match="one axis name for each dimension"):
        Mesh(four_devices, ("x", "y"))
    with pytest.raises(ValueError, match="AxisType"):
        Mesh(four_devices, ("x",), axis_types=(AxisType.Auto,) * 2)


def test_abstract_meshes(mesh):
    abstract = mesh.abstract_mesh
    assert abstract == mesh.abstract_mesh and hash(abstract) == hash(mesh.abstract_mesh)
    assert abstract.shape == mesh.shape and abstract.size == 4
    assert AbstractMesh((2, 2), ("x", "y")) != abstract  # nothing is known of its devices
    assert AbstractMesh((2,), "x").update(axis_sizes=(3,)).size == 3
    assert NamedSharding(abstract, P("x")).shard_shape((4,)) == (2,)
    assert abstract.update_axis_types({"y": AxisType.Manual}).manual_axes == ("y",)
    with pytest.raises(ValueError, match="has no devices"):
        abstract.local_devices  # noqa: B018
    with pytest.raises(ValueError, match="do not match"):
        AbstractMesh((2, 2), ("x",))


def test_the_current_mesh(mesh):
    assert get_mesh().empty and get_abstract_mesh().empty
    with mesh as entered:
        assert entered is mesh and get_mesh() is mesh
        assert get_abstract_mesh() == mesh.abstract_mesh
    assert get_mesh().empty


def test_one_device(four_devices):
    a, b = four_devices[:2]
    s = SingleDeviceSharding(a)
    assert s == SingleDeviceSharding(a) and hash(s) == hash(SingleDeviceSharding(a))
    assert s != SingleDeviceSharding(b)
    assert repr(s) == f"SingleDeviceSharding(device={a!r}, memory_kind=device)"
    assert s.device_set == s.addressable_devices == {a} and s.num_devices == 1
    assert s.is_fully_replicated and s.is_fully_addressable and s.has_addressable_devices
    assert s.memory_kind == "device"
    assert s.devices_indices_map((2, 3)) == {a: (slice(None), slice(None))}
    assert s.shard_shape((2, 3)) == (2, 3)
    assert s.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert s.is_equivalent_to(NamedSharding(Mesh([a], "x"), P("x")), 2)
    assert not s.is_equivalent_to(SingleDeviceSharding(b), 2)
    with pytest.raises(ValueError, match="memory"):
        SingleDeviceSharding(a, memory_kind="no_such_kind")


def test_pickling_finds_the_device_again():
    device = backend.default_device()
    for x in (SingleDeviceSharding(device), NamedSharding(Mesh([device], "x"), P("x")), device,
              Mesh([device], "x")):
        assert pickle.loads(pickle.dumps(x)) == x


def test_named(mesh, four_devices):
    s = NamedSharding(mesh, P("x", "y"))
    assert repr(s) == ("NamedSharding(mesh=Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto)), spec=P('x', 'y'), "
                       "memory_kind=device)")
    assert s == NamedSharding(mesh, P("x", "y")) and hash(s) == hash(NamedSharding(mesh, P("x", "y")))
    assert s.shard_shape((4, 6)) == (2, 3)
    assert list(s.devices_indices_map((4, 6)).values()) == [
        (slice(0, 2), slice(0, 3)), (slice(0, 2), slice(3, 6)),
        (slice(2, 4), slice(0, 3)), (slice(2, 4), slice(3, 6))]
    assert list(NamedSharding(mesh, P("y")).devices_indices_map((2, 6)).values()) == [
        (slice(0, 1), slice(None)), (slice(1, 2), slice(None))] * 2
    assert not s.is_fully_replicated and NamedSharding(mesh, P()).is_fully_replicated
    assert s.update(spec=P("y")).spec == P("y")
    assert s.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert s.device_set == set(four_devices)
    assert NamedSharding(mesh, P("x")).replicated_axes == {"y"}
    with pytest.raises(ValueError, match="Explicit"):
        NamedSharding(mesh, P("x", unreduced={"y"}))
    explicit = Mesh(mesh.devices, ("x", "y"), axis_types=AxisType.Explicit)
    assert NamedSharding(explicit, P("x", unreduced={"y"})).replicated_axes == frozenset()
    with pytest.raises(ValueError, match="not a multiple of 2"):
        s.shard_shape((3, 6))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        s.shard_shape((4,))
    with pytest.raises(ValueError, match="'z'"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(ValueError, match="more than once"):
        NamedSharding(mesh, P("x", "x"))


@pytest.mark.parametrize(("spec", "text"), [
    (P("x", "y"), "{devices=[2,2]<=[4]}"),
    (P("x"), "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
    (P(None, "x"), "{devices=[1,2,2]<=[4] last_tile_dim_replicate}"),
    (P("y"), "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
    (P(("y", "x")), "{devices=[4,1]<=[2,2]T(1,0)}"),
    (P(), "{replicated}"),
])
def test_partitionings_as_xla_has_them(mesh, spec, text):
    named = NamedSharding(mesh, spec)
    hlo = named._to_xla_hlo_sharding(2)
    assert str(hlo) == text
    other = xla.GSPMDSharding(xla.DeviceList(named._device_assignment), hlo)
    assert other.devices_indices_map((4, 8)) == named.devices_indices_map((4, 8))
    assert other.is_equivalent_to(named, 2) and named.is_equivalent_to(other, 2)
    assert other == xla.GSPMDSharding(xla.DeviceList(named._device_assignment), hlo)


def test_equivalence_ignores_how_it_is_said(mesh):
    assert NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    assert NamedSharding(mesh, P("x")) != NamedSharding(mesh, P("x", None))
    assert not NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("y")), 2)
