"""Platforms, clients and devices; what environment variables say about them."""

from __future__ import annotations

import pytest

from jax._base import config
from jax._runtime import backend
from jax.sharding import SingleDeviceSharding

pytestmark = pytest.mark.quick


def test_devices():
    (first, *_) = backend.devices()
    assert first.platform == "cpu" == backend.default_backend()
    assert backend.devices("cpu") == backend.devices()
    assert backend.local_devices() == backend.devices()
    assert backend.device_count() == backend.local_device_count() == len(backend.devices())
    assert (backend.process_index(), backend.process_count(), backend.process_indices()) == (0, 1, [0])
    assert backend.get_backend("cpu") is backend.get_backend() is first.client
    assert backend.lowering_platform(first) == "cpu"


def test_unknown_platforms_and_processes():
    with pytest.raises(RuntimeError, match="no platform 'tpu9' here.*cpu"):
        backend.devices("tpu9")
    with pytest.raises(ValueError, match="no process 7"):
        backend.local_devices(process_index=7)


def test_default_device():
    device = backend.devices()[0]
    assert backend.default_device() == device
    for chosen in (device, "cpu"):
        with config.default_device(chosen):
            assert backend.default_device() == device
    assert backend.default_sharding() is backend.device_sharding(device)


def test_placements():
    device = backend.devices()[0]
    assert backend.as_sharding(None) is backend.as_sharding(device) is backend.device_sharding(device)
    sharding = SingleDeviceSharding(device)
    assert backend.as_sharding(sharding) is sharding
    with pytest.raises(TypeError, match="device or a sharding"):
        backend.as_sharding("cpu")


def test_platforms_register_before_first_use():
    backend.devices()
    with pytest.raises(RuntimeError, match="after devices were first used"):
        backend.register_platform("late", lambda: None)


SHOW = """
from jax._runtime import backend
assert not backend.backends_are_initialized()
print([d.platform for d in backend.devices()])
"""


def test_nothing_starts_at_import(run_python):
    assert run_python(SHOW).stdout.strip() == "['cpu']"


@pytest.mark.parametrize(("env", "count"), [
    ({"JAX_NUM_CPU_DEVICES": "3"}, 3),
    ({"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, 2),
    ({"JAX_PLATFORMS": "cuda,cpu"}, 1),
    ({"JAX_PLATFORMS": " , "}, 1),
])
def test_environment(run_python, env, count):
    assert run_python(SHOW, env=env).stdout.strip() == str(["cpu"] * count)


@pytest.mark.parametrize(("env", "message"), [
    ({"JAX_PLATFORMS": "no_such"}, "no such platform is installed"),
    ({"JAX_PLATFORMS": "gpu"}, "asks for 'gpu'"),
    ({"JAX_NUM_CPU_DEVICES": "0"}, "jax_num_cpu_devices=0"),
    ({"JAX_NUM_CPU_DEVICES": "2", "XLA_FLAGS": "--xla_force_host_platform_device_count=3"}, "contradict"),
])
def test_environment_that_cannot_be_meant(run_python, env, message):
    done = run_python(SHOW, env=env, check=False)
    assert done.returncode != 0 and message in done.stderr


def test_clearing_makes_new_clients(run_python):
    run_python("""
from jax._runtime import array, backend, transfer
first = backend.get_backend()
x = transfer.to_device(1.0)
backend.clear_backends()
assert not backend.backends_are_initialized()
assert backend.get_backend() is not first
assert x.item() == 1.0
assert transfer.to_device(2.0).device.client is backend.get_backend()
""")


def test_threads_share_one_client(run_python):
    run_python("""
import threading
from jax._runtime import backend
found = []
threads = [threading.Thread(target=lambda: found.append(backend.get_backend())) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(found) == 8 and all(c is found[0] for c in found)
""")


def test_forks_of_a_process_that_uses_devices(run_python):
    run_python("""
import os, warnings
import jax
def fork():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pid = os.fork()
        if not pid:
            os._exit(0)
    os.waitpid(pid, 0)
    return [w for w in caught if w.category is RuntimeWarning]
assert fork() == []
jax.devices()
[warning] = fork()
assert "spawn" in str(warning.message) and (warning.filename, warning.lineno) == ("<string>", 7), warning
""")
