"""Putting arrays on devices and taking them off, members of arrays, several devices of a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp

DEVICE = jax.devices()[0]
X = np.array([3.0, 1.0, 2.0], np.float32)


@pytest.mark.quick
def test_may_alias():
    x = jnp.asarray(X)
    for where in (None, DEVICE, x.sharding):
        same, copied = (jax.device_put(x, where, may_alias=flag) for flag in (None, False))
        assert same.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() != copied.unsafe_buffer_pointer()
        assert copied.committed is (where is not None) and copied.tolist() == X.tolist() and not x.is_deleted()
    page = np.zeros(4096, np.float32)
    page = page[-page.ctypes.data % 64 // 4:][:1024]  # aligned, so that sharing is possible
    shared, own = (jax.device_put(page, may_alias=flag) for flag in (True, None))
    page[0] = 1
    assert (float(shared[0]), float(own[0])) == (1.0, 0.0)
    page.flags.writeable = False
    pointers = [jax.device_put(page, may_alias=flag).unsafe_buffer_pointer() == page.ctypes.data for flag in (None, False)]
    assert pointers == [True, False]
    mixed = jax.device_put({"a": x, "b": x}, may_alias={"a": True, "b": False})
    assert mixed["a"] is x and mixed["b"] is not x


@pytest.mark.quick
@pytest.mark.parametrize("call, error, message", [
    (lambda: jax.device_put({"a": 1, "b": 2}, {"a": DEVICE}), ValueError, "device_put: device must be one value, or a tree"),
    (lambda: jax.device_put({"a": 1}, DEVICE, donate={"b": True}), ValueError, "device_put: donate must be one value"),
    (lambda: jax.device_put(X, "cpu"), TypeError, r"neither a device nor a sharding.*jax\.devices\(\)"),
    (lambda: jax.device_put(np.array(["a"])), TypeError, "dtype <U1"),
    (lambda: jax.make_array_from_single_device_arrays((3,), jnp.ones(3).sharding, [X]), TypeError, "must be a jax.Array"),
    (lambda: jax.make_array_from_callback((3,), jnp.ones(3).sharding, lambda index: X[:2]), ValueError, r"shape \(2,\)"),
    (lambda: jax.make_array_from_process_local_data(jnp.ones(3).sharding, X, (6,)), ValueError, "length 3; it must be 6"),
    (lambda: jax.local_devices(process_index=3), ValueError, r"no process 3; the processes are \[0\]"),
    (lambda: jax.device_count("nowhere"), RuntimeError, "no platform 'nowhere'"),
    (lambda: jax.process_indices("nowhere"), RuntimeError, "no platform 'nowhere'"),
    (lambda: DEVICE.memory("nowhere"), jax.errors.JaxRuntimeError, "nowhere"),
])
def test_misuse(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.quick
def test_device_get():
    tree = jax.device_get({"x": jnp.asarray(X), "n": 1, "s": "text"})
    assert type(tree["x"]) is np.ndarray and tree["n"] == 1 and tree["s"] == "text"
    # Inside of a program there is no value yet.
    assert jax.jit(lambda x: jax.device_get(x) * 2)(X).tolist() == [6, 2, 4]
    np.testing.assert_array_equal(jax.grad(lambda x: jax.device_get(x).sum())(X), 1)
    gone = jnp.asarray(X) + 1
    gone.delete()
    with pytest.raises(RuntimeError, match=r"deleted.*f32\[3\]"):
        jax.device_get(gone)


@pytest.mark.quick
def test_earlier_ways_to_put():
    with pytest.warns(DeprecationWarning, match="jax.device_put"):
        assert jax.device_put_replicated({"a": X}, [DEVICE])["a"].tolist() == [X.tolist()]
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match="devices must be a list or tuple, got a Device"):
        jax.device_put_replicated(X, DEVICE)
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="2 shards for 1 devices"):
        jax.device_put_sharded([X, X], [DEVICE])


# Members that no other test compares with those of NumPy: arguments, and what goes wrong.
MEMBERS = {
    "argpartition": ((1,), (7,), ValueError, "kth=7"),
    "compress": (([True, False, True],), ([[True]],), ValueError, "condition"),
    "searchsorted": ((1.5,), ("a",), TypeError, "searchsorted"),
    "view": (("int32",), ("bits",), TypeError, "bits"),
    "tobytes": ((), (1, 2), TypeError, "tobytes|argument"),
    "item": ((1,), (9,), IndexError, "9"),
    "astype": (("int8",), ("tiny",), TypeError, "tiny"),
    "clip": ((1, 2), (1j,), ValueError, "complex"),
    "round": ((0,), ("a",), TypeError, "decimals must be an integer"),
    "repeat": ((2,), (-1,), ValueError, "repeat"),
    "reshape": ((3, 1), (2, 2), TypeError, r"\(2, 2\)|size"),
    "swapaxes": ((0, 0), (0, 4), ValueError, "4"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", MEMBERS)
def test_members(name):
    args, bad, error, message = MEMBERS[name]
    got, want = (getattr(x, name)(*args) for x in (jnp.asarray(X), X))
    if name == "argpartition":
        got, want = X[got], X[want]
    np.testing.assert_array_equal(got, want)
    with pytest.raises(error, match=message):
        getattr(jnp.asarray(X), name)(*bad)


@pytest.mark.quick
def test_members_about_the_device():
    x = jnp.asarray(X)
    assert x.to_device(DEVICE).device == x.device and x.devices() == {DEVICE}
    assert [s.device for s in x.global_shards] == [s.device for s in x.addressable_shards] == [DEVICE]
    assert x.copy_to_host_async() is None and x.is_ready() in (True, False) and x.block_until_ready() is x
    with pytest.raises(ValueError, match="at least two dimensions"):
        _ = x.mT
    with pytest.raises(NotImplementedError, match="stream= is not supported"):
        x.to_device(DEVICE, stream=1)
    with pytest.raises(NotImplementedError, match=r"x\.ravel\(\)"):
        _ = x.flat
    with pytest.raises(AttributeError, match="nothing"):
        _ = x.nothing


SEVERAL = """
import warnings
import numpy as np, jax, jax.numpy as jnp
{before}
print(jax.device_count(), jax.local_device_count(), [d.id for d in jax.local_devices()])
last = jax.devices()[-1]
x = jax.device_put(np.ones(2, np.float32), last)
print(x.devices() == {{last}} == jax.jit(lambda v: v + 1)(x).devices())
with jax.default_device(last):
    print(jnp.ones(2).devices() == {{last}})
try:
    x + jax.device_put(np.ones(2, np.float32), jax.devices()[0])
except ValueError as error:
    print(error)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    jax.config.update("jax_num_cpu_devices", 7)
    print(jax.device_count(), any("jax_num_cpu_devices" in str(w.message) for w in caught))
"""


@pytest.mark.parametrize("count, env, before", [
    (4, {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}, ""),
    (3, {"JAX_NUM_CPU_DEVICES": "3"}, ""),
    (2, {}, "jax.config.update('jax_num_cpu_devices', 2)"),
])
def test_several_devices_of_a_cpu(run_python, count, env, before):
    lines = run_python(SEVERAL.format(before=before), env=env).stdout.splitlines()
    assert lines[0] == f"{count} {count} {list(range(count))}" and lines[1:3] == ["True", "True"]
    assert "committed to different devices" in lines[3] and lines[-1] == f"{count} True"
