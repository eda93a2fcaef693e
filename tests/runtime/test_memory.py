"""Guards of transfers, and the report when memory runs out."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base import _jaxlib, config
from jax._language.avals import ShapedArray
from jax._runtime import backend, fastpath, memory, nvml, transfer
from jax._runtime import compile as compiling
from jax._runtime.execute import Executable
from jax._runtime.transfer import to_device
from tests.runtime.conftest import module_text

pytestmark = pytest.mark.quick
HERE = "test_memory.py"


def test_sizes():
    assert [memory.readable(n) for n in (0, 1023, 1536, 3 << 20, 5 << 30, 7 << 40)] == [
        "0 B", "1023 B", "1.5 KiB", "3.0 MiB", "5.0 GiB", "7.0 TiB"]


def test_the_report_says_who_holds_the_memory():
    held = [to_device(np.ones((123, 457), np.float32)) for _ in range(3)]
    text = memory.held_memory(held[0].device, most=1000)
    assert "3 x f32[123,457], made at" in text and HERE in text
    assert memory.readable(3 * held[0].nbytes) in text
    held[0].delete()
    held.append(jnp.zeros((123, 457)) + 1)
    text = memory.held_memory(held[1].device, most=1000)
    line = next(x for x in text.splitlines() if "f32[123,457]" in x)
    assert "3 x f32[123,457]" in line and "(2)" in line and "(1)" in line
    held.append(jnp.zeros((3, 5)) + 1)
    assert "more kinds" in memory.held_memory(held[1].device, most=1)


HUGE = 10**13


def test_running_out_of_memory():
    text = module_text("%a: tensor<f32>", f"tensor<{HUGE}xf32>",
                       f"%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<{HUGE}xf32> "
                       f"return %0 : tensor<{HUGE}xf32>")
    loaded = compiling.compile_module(text, backend.devices()[:1])
    f = Executable(loaded, in_avals=[ShapedArray((), np.dtype("float32"))],
                   out_avals=[ShapedArray((HUGE,), np.dtype("float32"))])
    with pytest.raises(_jaxlib.JaxRuntimeError, match="(?s)RESOURCE_EXHAUSTED.*Live arrays hold.*donate"):
        f.call([1.0])[0].block_until_ready()


def test_the_report_names_the_function_and_what_it_needs():
    def enormous(x):
        return jnp.broadcast_to(x, (HUGE,))

    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.jit(enormous)(np.float32(1))
    text = str(caught.value)
    assert text.startswith("RESOURCE_EXHAUSTED: ")
    assert caught.value.error_code == 8
    assert "The program is jit of enormous, called at" in text and HERE in text
    assert "It needs 4 B of arguments, 36.4 TiB of results, 0 B of temporary values." in text
    assert "The machine has" in text or sys.platform != "linux"
    assert "jax.checkpoint" in text


@pytest.mark.parametrize("run", [
    lambda: jnp.zeros(HUGE),
    lambda: jnp.broadcast_to(jnp.float32(1), (HUGE,)) + 1,
    lambda: jax.jit(lambda x: jnp.zeros(HUGE) + x).lower(1.0).compile()(1.0),
    lambda: jax.grad(lambda x: jnp.sum(jnp.broadcast_to(x, (HUGE,)) * jnp.ones(HUGE)))(1.0),
])
def test_every_way_to_run_a_program_explains(run):
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)RESOURCE_EXHAUSTED.*The program is jit of.*Live arrays hold"):
        run()


def test_other_errors_are_left_alone():
    error = _jaxlib.JaxRuntimeError("INTERNAL: no such luck", 13)
    assert memory.explained(error, backend.default_device()) is error
    other = ValueError("something else")
    assert memory.explained(other, backend.default_device()) is other


def test_putting_arrays_on_devices_explains_too(monkeypatch):
    def refuse(*args):
        raise ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 12 bytes.")

    x = jnp.ones(3)
    device = backend.get_backend("cpu").devices()[0]
    class Xla:
        batched_device_put = staticmethod(refuse)
        JaxRuntimeError = _jaxlib.JaxRuntimeError

    monkeypatch.setattr(transfer, "xla", Xla)
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)It was asked for at .*test_memory.py.*Live arrays hold"):
        to_device(np.ones(3, np.float32), placement=device)
    assert x.shape == (3,)


def test_errors_are_explained_once():
    error = memory.explained(ValueError("RESOURCE_EXHAUSTED: no more"), backend.default_device())
    assert type(error) is _jaxlib.JaxRuntimeError and "Live arrays" in str(error)
    assert memory.explained(error, backend.default_device()) is error


def test_a_report_that_fails_hides_nothing(monkeypatch):
    monkeypatch.setattr(memory, "held_memory", lambda device: 1 / 0)
    error = ValueError("RESOURCE_EXHAUSTED: no more")
    assert memory.explained(error, backend.default_device()) is error


# --- calls that stay in C++ -----------------------------------------------------------------------------------------

@pytest.fixture
def all_large(monkeypatch):
    """Every program counts as large: its repeated calls are watched."""
    monkeypatch.setattr(fastpath, "_LARGE", {"cpu": 0})


def test_large_programs_are_watched(all_large):
    traced = []
    f = jax.jit(lambda x, y=1.0: traced.append(1) or x + y)
    for _ in range(4):
        assert f(jnp.float32(1)).item() == 2
        assert f(np.float32(2)).item() == 3
        assert f(jnp.float32(3), y=np.float32(4)).item() == 7
    assert len(traced) == 2
    assert f(jnp.ones(3)).tolist() == [2, 2, 2]


def test_watched_programs_can_be_forgotten(all_large):
    traced = []
    f = jax.jit(lambda x: traced.append(1) or x + 1)
    for _ in range(3):
        f(jnp.ones(3))
    assert f._cache_size() == 1
    f.clear_cache()
    f(jnp.ones(3))
    assert len(traced) == 2
    jax.clear_caches()
    f(jnp.ones(3))
    assert len(traced) == 3


def test_small_programs_beside_large_ones_stay_in_cpp(monkeypatch):
    asked = []
    first = fastpath.Guard.miss
    monkeypatch.setattr(fastpath.Guard, "miss", lambda self, *args, **kw: asked.append(1) or first(self, *args, **kw))
    f = jax.jit(lambda x: x + 1)
    large, small = jnp.zeros(1 << 23), jnp.zeros(3)
    f(large), f(small)
    asked.clear()
    for _ in range(3):
        f(small)
    assert not asked
    for _ in range(3):
        f(large)
    assert len(asked) == 3
    other = jnp.zeros(4)  # a signature that is new after the large one
    f(other), f(other)
    asked.clear()
    f(other)
    assert not asked


def test_repeated_calls_that_run_out_are_tried_again_and_explained(monkeypatch, all_large):
    guards, calls = [], []

    class Guard(fastpath.Guard):
        def __init__(self, *args):
            super().__init__(*args)
            guards.append(self)

    monkeypatch.setattr(fastpath, "Guard", Guard)
    f = jax.jit(lambda x: x + 1)
    (guard,) = guards
    x = jnp.ones(3)
    f(x), f(x), f(x)

    def failing(*args):
        calls.append(args)
        raise ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 12 bytes.")

    monkeypatch.setattr(guard, "_call", failing)
    assert f(x).tolist() == [2, 2, 2]  # there was garbage to collect
    assert len(calls) == 1
    monkeypatch.setattr(Executable, "call", lambda self, args, committed=None: (_ for _ in ()).throw(
        memory.explained(ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 12 bytes."), self.device, self)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="The program is jit of <lambda>, called at .*test_memory.py"):
        f(x)
    x.delete()
    with pytest.raises(ValueError, match="RESOURCE_EXHAUSTED"):
        f(x)


def test_other_errors_of_watched_programs_pass(all_large):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        f(jnp.ones(3))
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        f(gone)
    grad = jax.grad(lambda x: f(x).sum())
    np.testing.assert_array_equal(jax.jit(grad)(jnp.ones(3)), 1)


# --- GPUs, from what the driver would say ---------------------------------------------------------------------------

class FakeDevice:
    platform = "gpu"
    local_hardware_id = 0

    def __init__(self):
        self.client = backend.get_backend()

    def memory_stats(self):
        return {"bytes_in_use": 3 << 30, "bytes_limit": 12 << 30}

    def __str__(self):
        return "cuda:0"


def test_what_is_said_of_a_gpu(monkeypatch):
    gpu = nvml.Gpu("NVIDIA Something", 16 << 30, 15 << 30, True,
                   (nvml.Holder(1234567, "python train.py", 9 << 30), nvml.Holder(7, "Xorg", None)))
    monkeypatch.setattr(nvml, "gpu_of", lambda hardware_id: gpu)
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    text = str(memory.explained(ValueError("RESOURCE_EXHAUSTED: no more"), FakeDevice()))
    assert "of cuda:0's memory (3.0 GiB of 12.0 GiB are in use with temporaries and programs)" in text
    assert "The GPU (NVIDIA Something) has 16.0 GiB, 15.0 GiB of it taken." in text
    assert "process 1234567 holds 9.0 GiB: python train.py" in text
    assert "process 7 holds an unknown part: Xorg" in text
    assert "It drives a display" in text
    assert "TensorFlow is loaded in this process" in text
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION=0.75, XLA_PYTHON_CLIENT_PREALLOCATE=true, XLA_PYTHON_CLIENT_ALLOCATOR=default" \
        in text


def test_without_the_drivers_library_less_is_said(monkeypatch):
    monkeypatch.setattr(nvml, "load", lambda: None)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert nvml.gpus() == [] and nvml.gpu_of(0) is None
    text = str(memory.explained(ValueError("RESOURCE_EXHAUSTED: no more"), FakeDevice()))
    assert "The GPU" not in text and "TensorFlow" not in text and "Settings in force" in text


class FakeLibrary:
    """As much of NVML as is asked for: two cards, the second with a process of our own."""

    def __init__(self, failing=()):
        self.failing = failing
        self.open = 0

    def __getattr__(self, name):
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return lambda *args: 999 if name in self.failing else getattr(self, f"do_{name[4:]}", lambda *a: 3)(*args)

    def do_Init_v2(self):
        self.open += 1
        return 0

    def do_Shutdown(self):
        self.open -= 1
        return 0

    def do_DeviceGetCount_v2(self, count):
        count._obj.value = 2
        return 0

    def do_DeviceGetHandleByIndex_v2(self, index, handle):
        handle._obj.value = 100 + index.value
        return 0

    def do_DeviceGetHandleByUUID(self, uuid, handle):
        handle._obj.value = 101 if uuid == b"GPU-second" else 100
        return 0

    def do_DeviceGetMemoryInfo(self, handle, info):
        info._obj.total, info._obj.used = handle.value << 30, 5 << 30
        return 0

    def do_DeviceGetName(self, handle, buffer, size):
        buffer.value = b"Card %d" % handle.value
        return 0

    def do_DeviceGetDisplayActive(self, handle, active):
        active._obj.value = handle.value == 101
        return 0

    def do_DeviceGetComputeRunningProcesses_v3(self, handle, count, found):
        count._obj.value = 1
        found[0].pid, found[0].used = 2**30, ctypes.c_ulonglong(-1).value
        return 0


def test_asking_the_driver(monkeypatch):
    library = FakeLibrary()
    monkeypatch.setattr(nvml, "load", lambda: library)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    first, second = nvml.gpus()
    assert (first.name, first.total, first.used, first.drives_display) == ("Card 100", 100 << 30, 5 << 30, False)
    assert second.drives_display
    assert first.holders == (nvml.Holder(2**30, "a process of another container or user", None),)
    for visible, name in (("1", "Card 101"), ("GPU-second,0", "Card 101"), ("", "Card 100")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert nvml.gpu_of(0).name == nvml.gpus()[0].name == name
        assert len(nvml.gpus()) == {"1": 1, "": 2}.get(visible, 2)
    assert library.open == 0
    monkeypatch.setattr(nvml, "load", lambda: FakeLibrary(["nvmlInit_v2"]))
    assert nvml.gpus() == [] and nvml.gpu_of(0) is None
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(nvml, "load", lambda: FakeLibrary(["nvmlDeviceGetDisplayActive"]))
    assert not nvml.gpus()[1].drives_display


# --- guards ---------------------------------------------------------------------------------------------------------

def test_transfer_guards():
    x = to_device(np.ones((3, 2), np.float32))
    with config.transfer_guard_host_to_device("disallow"), config.transfer_guard_device_to_device("disallow"):
        with pytest.raises(_jaxlib.JaxRuntimeError, match="Disallowed host-to-device"):
            to_device(1.0)
        with transfer.explicit():
            assert to_device(1.0).item() == 1
        assert x.copy().tolist() == x.tolist() == [row.tolist() for row in x]
        with pytest.raises(_jaxlib.JaxRuntimeError):
            to_device(1.0)
    with config.transfer_guard_host_to_device("disallow_explicit"), transfer.explicit():
        with pytest.raises(_jaxlib.JaxRuntimeError, match="Disallowed"):
            to_device(1.0)


def test_fetching_many():
    x = to_device(np.arange(3, dtype=np.float32))
    value, other = transfer.all_to_host([x, "text"])
    assert value.tolist() == [0, 1, 2] and other == "text"
    assert transfer.to_host(x).tolist() == [0, 1, 2]
