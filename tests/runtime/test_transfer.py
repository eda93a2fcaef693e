"""Putting values on devices."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import jax
from jax._base import config
from jax._runtime import backend, transfer
from jax._runtime.transfer import to_device
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("value", "dtype", "weak"), [
    (True, "bool", False), (3, "int32", True), (2.5, "float32", True), (1j, "complex64", True),
    (np.float64(1), "float32", False), (np.int64(1), "int32", False), (np.uint64(1), "uint32", False),
    (np.arange(3), "int32", False), (np.ones(2), "float32", False), (np.ones(2, complex), "complex64", False),
    (np.int8(3), "int8", False), (np.ones(2, np.float16), "float16", False),
])
def test_types_without_64_bits(value, dtype, weak):
    x = to_device(value)
    assert x.dtype == dtype
    assert x.weak_type is weak
    np.testing.assert_array_equal(np.asarray(x), np.asarray(value))


def test_types_with_64_bits():
    with config.enable_x64(True):
        assert to_device(3).dtype == "int64"
        assert to_device(2**40).item() == 2**40
        assert to_device(np.arange(3) + 2**40).tolist() == [2**40 + i for i in range(3)]
        assert to_device(2.5).dtype == "float64"


@pytest.mark.parametrize("value", [
    2**40, -2**40, 2**70, np.int64(2**31), np.array([0, -2**31 - 1]), np.array([[2**63]], np.uint64),
    np.uint64(2**32),
])
def test_integers_that_do_not_fit_are_refused(value):
    with pytest.raises(OverflowError, match="'steps'.*jax_enable_x64"):
        to_device(value, name="steps")


@pytest.mark.parametrize("value", [
    2**31 - 1, -2**31, np.array([2**31 - 1, -2**31]), np.array([], np.int64), np.array([2**32 - 1], np.uint64),
])
def test_the_largest_integers_that_fit(value):
    np.testing.assert_array_equal(np.asarray(to_device(value)), value)


@pytest.mark.parametrize("bad", [[1, 2], (1.0,), "text", None, np.array(["a"]), np.array([object()]),
                                 np.ones(2, ">f4")])
def test_what_is_no_array_is_refused(bad):
    with pytest.raises(TypeError):
        to_device(bad)


def test_masks_are_not_dropped():
    with pytest.raises(ValueError, match="mask"):
        to_device(np.ma.masked_array([1.0, 2.0], [0, 1]))


def test_members_of_enumerations_are_integers():
    class Color(enum.IntEnum):
        RED = 3

    assert to_device(Color.RED).aval is to_device(3).aval


def test_kinds_of_memory():
    pinned = SingleDeviceSharding(backend.default_device(), memory_kind="pinned_host")
    x = to_device(np.ones(3, np.float32), placement=pinned)
    assert x.sharding.memory_kind == x.copy().sharding.memory_kind == "pinned_host"
    assert to_device(x, placement=x.device).sharding.memory_kind == "device"
    assert to_device(to_device(1.0), placement=pinned).sharding == pinned


def test_writing_to_the_source_does_not_change_the_array():
    value = np.zeros(100_000, np.float32)
    x = to_device(value)
    value[:] = 1
    assert float(np.asarray(x).max()) == 0


def test_foreign_layouts():
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (value.T, value[:, ::-1], value[:, 1:, ::2], np.broadcast_to(value[0, 0], (5, 4))):
        np.testing.assert_array_equal(np.asarray(to_device(view)), view)


def test_an_array_stays_the_object_it_is():
    x = to_device(np.ones(3, np.float32))
    assert to_device(x) is x
    assert x._committed is False
    tied = to_device(x, placement=x.device)
    assert tied._committed and tied.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert to_device(tied, placement=x.device) is tied
    assert to_device(tied, committed=False)._committed is False


def test_moving_between_devices(four_devices):
    a, b = four_devices[:2]
    x = to_device(np.arange(3, dtype=np.float32), placement=a)
    y = to_device(x, placement=b)
    assert (x.device, y.device) == (a, b)
    assert y._committed and y.tolist() == [0, 1, 2]
    assert to_device(y, placement=SingleDeviceSharding(a)).device == a


def test_partitioned(four_devices):
    mesh = Mesh(np.array(four_devices).reshape(2, 2), ("x", "y"))
    value = np.arange(24, dtype=np.float32).reshape(4, 6)
    for spec in (PartitionSpec("x", "y"), PartitionSpec("y"), PartitionSpec(None, "x"), PartitionSpec(),
                 PartitionSpec(("x", "y"))):
        sharding = NamedSharding(mesh, spec)
        x = to_device(value, placement=sharding)
        assert x.sharding == sharding
        np.testing.assert_array_equal(np.asarray(x), value)
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), value[shard.index])
            assert shard.data.device == shard.device
        assert not np.asarray(x).flags.writeable
        assert repr(x).startswith("Array([[")
        back = to_device(x, placement=four_devices[3])
        assert back.devices() == {four_devices[3]}
        np.testing.assert_array_equal(np.asarray(back), value)
        np.testing.assert_array_equal(np.stack(list(x)), value)
        x.delete()
        with pytest.raises(RuntimeError, match="has been deleted"):
            x.addressable_shards  # noqa: B018


def test_replicas_are_numbered(four_devices):
    mesh = Mesh(np.array(four_devices).reshape(2, 2), ("x", "y"))
    x = to_device(np.arange(4, dtype=np.float32), placement=NamedSharding(mesh, PartitionSpec("y")))
    assert [(s.device.id, s.replica_id, s.data.tolist()) for s in x.addressable_shards] == [
        (0, 0, [0, 1]), (1, 0, [2, 3]), (2, 1, [0, 1]), (3, 1, [2, 3])]
    assert not x.is_fully_replicated
    assert x.device == x.sharding


def test_put_handlers_are_open():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    class Warmer(Celsius):
        pass

    from jax._language.avals import ShapedArray

    seen = []

    def put(x, aval, sharding, committed):
        seen.append((type(x), committed))
        return to_device(np.float32(x.degrees), aval, sharding, committed=committed)

    transfer.put_handlers[Celsius] = put
    try:
        aval = ShapedArray((), np.dtype("float32"))
        assert to_device(Celsius(20), aval).item() == 20
        assert to_device(Warmer(30), aval, backend.default_device()).item() == 30
        assert seen == [(Celsius, False), (Warmer, True)]
    finally:
        del transfer.put_handlers[Celsius]


def test_default_device_is_used():
    device = jax._runtime.backend.devices("cpu")[0]
    with config.default_device(device):
        x = to_device(1.0)
    assert x.device == device and not x._committed
