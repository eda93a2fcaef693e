"""Functions on the hosts of devices; the face of arrays of extended dtypes; what is not here and says so."""

import threading

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import EArray, mosaic
from jax.experimental.colocated_python import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
    obj_backend,
    serialization,
)


@colocated_python
def double(x):
    return 2 * np.asarray(x)


@pytest.mark.quick
def test_functions(devices):
    x = jax.device_put(jnp.arange(3), devices[2])
    out = double(x)
    assert out.tolist() == [0, 2, 4] and out.devices() == {devices[2]} and double.__name__ == "double"
    spec = jax.ShapeDtypeStruct((3,), jnp.int32, sharding=jax.sharding.SingleDeviceSharding(devices[1]))
    placed = double.specialize(in_specs=((spec,), {}), out_specs_fn=lambda s: spec)
    assert placed(x).devices() == {devices[1]}
    with pytest.raises(ValueError, match=r"specialized for an argument of type int32\[3\], got i32\[4\]"):
        placed(jax.device_put(jnp.arange(4), devices[2]))
    with pytest.raises(ValueError, match="specialized with in_specs before"):
        placed.specialize(in_specs=((spec,), {}))
    assert colocated_python(lambda: np.ones(2)).specialize(devices=devices[:1])().devices() == {devices[0]}


def test_classes(devices):
    made = []

    @colocated_python_class
    class Counter:
        def __init__(self, start):
            made.append(start)
            self.n = start

        def add(self, x):
            self.n += 1
            return x + self.n
    counter, x = Counter(3), jax.device_put(jnp.int32(10), devices[0])
    assert not made
    assert [int(counter.add(x)), int(counter.add(x))] == [14, 15] and made == [3]
    with pytest.raises(AttributeError, match="the colocated class Counter has no public method 'n'"):
        counter.n  # noqa: B018


def test_an_object_is_made_once():
    start, made = threading.Barrier(4), []

    def make():
        made.append(len(made))
        if len(made) == 1:
            raise OSError("try again")
        return object()
    instance = obj_backend.Instance(make)
    with pytest.raises(OSError, match="try again"):
        instance.get()
    got = []
    threads = [threading.Thread(target=lambda: (start.wait(10), got.append(instance.get()))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert made == [0, 1] and len(got) == 4 and len(set(map(id, got))) == 1


@pytest.mark.quick
def test_references_to_devices_as_bytes(devices, monkeypatch):
    assert serialization._get_cpu_device_map() == {d.id: d for d in jax.devices("cpu")}
    monkeypatch.setattr(serialization, "_get_cpu_device_map", lambda: {d.id: d for d in devices})
    mesh = jax.sharding.Mesh(np.array(devices).reshape(2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    held = {"mesh": mesh, "device": devices[3], "one": jax.sharding.SingleDeviceSharding(devices[1]),
            "named": jax.NamedSharding(mesh, jax.P("x", None)), "list": serialization.DeviceList(tuple(devices[:2])),
            "function": np.sin}
    data = serialization.dumps(held)
    assert serialization.loads(data) == held and serialization.loads(data)["mesh"].axis_types == mesh.axis_types
    far = serialization.dumps(devices[3]).replace(b"K\x03", b"K\x63")
    with pytest.raises(ValueError, match=r"no CPU devices of the numbers \[99\] here"):
        serialization.loads(far)
    accelerator = type("Device", (), {"platform": "gpu", "__str__": lambda self: "gpu:0"})()
    with pytest.raises(ValueError, match="got one to gpu:0"):
        serialization._reduce_device_list([accelerator])


def test_cpu_devices(devices, monkeypatch):
    assert colocated_cpu_devices(devices[:2]) == tuple(devices[:2])
    mesh = jax.sharding.Mesh(np.array(devices).reshape(2, 4), ("x", "y"))
    assert colocated_cpu_devices(mesh) == mesh
    with pytest.raises(TypeError, match="a sequence of devices or a mesh, got 3"):
        colocated_cpu_devices(3)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: jax.jit(double)(x), TypeError, r"traced value of type i32\[2\].*pure_callback"),
    (lambda x: double(3), TypeError, "takes arrays on devices, got 3 of type int; use jax.device_put"),
    (lambda x: colocated_python(lambda: 1)(), ValueError, r"say it with .specialize\(devices=...\)"),
    (lambda x: colocated_python(3), TypeError, "takes a function"),
    (lambda x: colocated_python_class(3), TypeError, "takes a class"),
])
def test_misuse(devices, call, error, text):
    with pytest.raises(error, match=text):
        call(jax.device_put(jnp.arange(2), devices[0]))


def test_arrays_of_extended_dtypes():
    keys = jax.random.split(jax.random.key(1), 2)
    data = jax.random.key_data(keys)
    again = EArray(jax.typeof(keys), data)
    assert isinstance(again, EArray) and not isinstance(data, EArray) and not isinstance(3, EArray)
    assert jnp.array_equal(jax.random.bits(again[0]), jax.random.bits(keys[0]))
    assert jax.jit(lambda k: isinstance(k, EArray))(keys)
    with pytest.raises(TypeError, match=r"is carried by one of type u32\[2,2\], got u32\[2\]"):
        EArray(jax.typeof(keys), data[0])
    with pytest.raises(TypeError, match="takes the type of an array of an extended dtype"):
        EArray(jax.typeof(data), data)


def test_mosaic_says_that_it_is_not_here():
    with pytest.raises(AttributeError, match="mosaic.gpu: the kernel compilers .* are not part of this .*jax.ffi"):
        mosaic.gpu  # noqa: B018
    assert not hasattr(mosaic, "anything")
