"""What runs here: reports, earlier names, memories, live arrays, members of devices."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp

pytestmark = pytest.mark.quick


def test_print_environment_info(capsys, monkeypatch):
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--a")
    text = jax.print_environment_info(return_string=True)
    lines = text.splitlines()
    assert lines[0] == f"jax:    {jax.__version__}"
    assert [line.split(":")[0] for line in lines[1:7]] == ["jaxlib", "numpy", "python", "device info", "process_count",
                                                           "platform"]
    assert f"numpy:  {np.__version__}" in lines and "LIBTPU_INIT_ARGS=--a" in lines
    assert jax.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"
    with pytest.raises(TypeError):
        jax.print_environment_info(1, 2)


@pytest.mark.parametrize("old, new, want", [("host_count", "process_count", 1), ("host_id", "process_index", 0),
                                            ("host_ids", "process_indices", [0])])
def test_earlier_names(old, new, want):
    with pytest.warns(DeprecationWarning, match=f"{old} has been renamed to jax.{new}"):
        assert getattr(jax, old)() == want
    with pytest.warns(DeprecationWarning), pytest.raises(RuntimeError, match="no platform 'nowhere'"):
        getattr(jax, old)("nowhere")


def test_spmd_mode():
    with pytest.warns(DeprecationWarning, match="spmd_mode"), jax.spmd_mode("allow_all"):
        assert float(jnp.ones(2).sum()) == 2.0
    with pytest.warns(DeprecationWarning), pytest.raises(NotImplementedError, match="allow_jit"), jax.spmd_mode("allow_jit"):
        pass
    with pytest.raises(ValueError, match="one of"), jax.spmd_mode("never"):
        pass


def test_memory_spaces():
    x = jnp.arange(3.0)
    host = jax.device_put(x, jax.memory.Space.Host)
    assert host.sharding.memory_kind == "pinned_host" and not host.committed
    assert jax.device_put(host, jax.memory.Space.Device).sharding.memory_kind == "device"
    np.testing.assert_array_equal(host + 1, np.arange(3.0) + 1)
    inside = jax.jit(lambda v: jax.device_put(v, jax.memory.Space.Host) * 2)
    np.testing.assert_array_equal(inside(x), 2 * np.arange(3.0))
    assert [(s.name, s.value) for s in jax.memory.Space] == [("Device", 1), ("Host", 2), ("Any", 3)]
    with pytest.raises(TypeError, match="jax.memory.Space"):
        jax.device_put(x, "pinned_host")


def test_device_put_options():
    device = jax.devices()[0]
    tree = jax.device_put({"a": np.ones(2), "b": 1}, {"a": device, "b": None})
    assert tree["a"].committed and not tree["b"].committed
    x = jax.device_put(np.ones(2), device)
    assert jax.device_put(x, device, src=device) is x
    y = jax.device_put(x, donate=True)
    assert y.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="donate=True takes the memory"):
        jax.device_put(x, donate=True, may_alias=True)
    with pytest.raises(ValueError, match="unexpected: 'b'"):
        jax.device_put({"a": 1, "b": 2}, {"a": device})
    with pytest.raises(TypeError, match="not a valid JAX array type"):
        jax.device_put("text")
    value, back = jax.vjp(lambda v: jax.device_put(v, device) ** 2, x)
    assert back(value)[0].tolist() == [2.0, 2.0]


def test_live_arrays_and_devices():
    x = jnp.arange(7.0) + 1
    assert any(y is x for y in jax.live_arrays())
    assert any(y is x for y in jax.live_arrays("cpu"))
    with pytest.raises(RuntimeError, match="no platform 'nowhere'"):
        jax.live_arrays("nowhere")
    device = jax.devices()[0]
    assert isinstance(device, jax.Device) and device.memory_stats() is None  # CPUs keep no account
    assert {m.kind for m in device.addressable_memories()} >= {"device", "pinned_host"}
    assert device.default_memory().kind == "device" and device.memory("pinned_host").kind == "pinned_host"
    assert (device.platform, device.process_index, device.local_hardware_id) == ("cpu", 0, device.id)
    copied = jax.device_get({"a": x, "n": 3, "s": "text"})
    assert type(copied["a"]) is np.ndarray and copied["n"] == 3 and copied["s"] == "text"
    assert jax.copy_to_host_async({"a": x})["a"] is x


def test_compiler_levels():
    levels = {level.name: level.value for level in jax.CompilerEffortLevel}
    assert levels == {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}
    f = jax.jit(lambda v: v + 1, compiler_options={"optimization_level": jax.CompilerEffortLevel.O1.name})
    assert float(f(1.0)) == 2.0
    with pytest.raises(ValueError, match="one of UNKNOWN, O0"):
        jax.jit(lambda v: v + 1, compiler_options={"optimization_level": "O7"})(1.0)
