"""What a GPU's client is told about memory, how the plugin is found, and settings that come too late. No GPU is needed."""

from __future__ import annotations

import logging
import sys

import pytest

from jax._base import config
from jax._base.config import config as options
from jax._runtime import backend, cuda, late, memory_options, nvml

quick = pytest.mark.quick
NAMES = ("xla_python_client_preallocate", "xla_python_client_mem_fraction", "xla_python_client_allocator",
         "xla_python_client_collective_mem_size_mb")
GIB = 1 << 30


@pytest.fixture
def told(monkeypatch):
    """What the client would be told under these variables and options."""
    for name in (*NAMES, "XLA_CLIENT_MEM_FRACTION"):
        monkeypatch.delenv(name.upper(), raising=False)
    found = [nvml.Gpu("Big", 32 * GIB, 0, False, ()), nvml.Gpu("Small", 16 * GIB, 0, False, ())]
    monkeypatch.setattr(nvml, "gpus", lambda: found)

    def run(environment=(), **updates):
        for name, value in dict(environment).items():
            monkeypatch.setenv(name, value)
        for name, value in updates.items():
            options.update(name, value)
        return memory_options.client_options()

    yield run
    for name in NAMES:
        option = options._option(name)
        option.set(option.default)
        option.updated = False


@quick
def test_the_defaults_leave_everything_to_xla(told):
    assert told() == {"allocator": "default"}


@quick
@pytest.mark.parametrize("variable, text, found", [
    ("XLA_PYTHON_CLIENT_PREALLOCATE", "false", {"preallocate": False}),
    ("XLA_PYTHON_CLIENT_PREALLOCATE", "0", {"preallocate": False}),
    ("XLA_PYTHON_CLIENT_PREALLOCATE", "", {}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5", {"memory_fraction": 0.5}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "1", {"memory_fraction": 1.0}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "8GiB", {"memory_fraction": 0.5}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "4096 MiB", {"memory_fraction": 0.25}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "2g", {"memory_fraction": 0.125}),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "8589934592B", {"memory_fraction": 0.5}),
    ("XLA_CLIENT_MEM_FRACTION", "0.25", {"memory_fraction": 0.25}),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform", {"allocator": "platform"}),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "BFC", {"allocator": "bfc"}),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", {"allocator": "cuda_async"}),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "", {}),
    ("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "2", {"collective_memory_size": 2 << 20}),
    ("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "true", {"use_tfrt_gpu_client": True}),
])
def test_variables(told, variable, text, found):
    assert told({variable: text}) == {"allocator": "default", **found}


@quick
@pytest.mark.parametrize("name, value, found", [
    ("xla_python_client_preallocate", False, {"preallocate": False}),
    ("xla_python_client_preallocate", True, {"preallocate": True}),
    ("xla_python_client_mem_fraction", 0.4, {"memory_fraction": 0.4}),
    ("xla_python_client_mem_fraction", "1GiB", {"memory_fraction": 1 / 16}),
    ("xla_python_client_allocator", "platform", {"allocator": "platform"}),
    ("xla_python_client_collective_mem_size_mb", 64, {"collective_memory_size": 64 << 20}),
])
def test_options(told, name, value, found):
    assert told(**{name: value}) == {"allocator": "default", **found}


@quick
def test_options_win_over_variables(told):
    assert told({"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.9"}, xla_python_client_mem_fraction=0.2)["memory_fraction"] == 0.2
    assert options.xla_python_client_mem_fraction == 0.2


@quick
def test_variables_may_be_set_after_the_import(told):
    assert options.xla_python_client_mem_fraction is None
    told({"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.9"})
    assert options.xla_python_client_mem_fraction == 0.9


@quick
@pytest.mark.parametrize("variable, text, message", [
    ("XLA_PYTHON_CLIENT_PREALLOCATE", "maybe", "takes True or False; it is 'maybe'"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "75", r"above 0 and at most 1.*it is '75'. 0.75 was probably meant \(75% of"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "75%", "0.75 was probably meant"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "8192", "An amount needs its unit: '8192MiB' was probably meant"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "8589934592", "'8GiB' was probably meant"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "8kB", "less than a mebibyte"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0", "set XLA_PYTHON_CLIENT_PREALLOCATE=false"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "-0.5", "takes a fraction"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "half", "takes a fraction"),
    ("XLA_CLIENT_MEM_FRACTION", "nan", "takes a fraction"),
    ("XLA_CLIENT_MEM_FRACTION", "inf", "takes a fraction"),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "malloc", "one of 'default', 'bfc', 'platform', 'cuda_async'"),
    ("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "1.5", "a whole number of megabytes"),
    ("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "-1", "a whole number of megabytes"),
    ("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "1GiB", "1024 was probably meant"),
    ("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "perhaps", "neither true nor false"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "40GiB", "more than the 16.0 GiB that Small has"),
])
def test_values_that_cannot_be_meant(told, variable, text, message):
    with pytest.raises(ValueError, match=f"(?is){variable}.*{message}"):
        told({variable: text})


@pytest.mark.parametrize("name, value, message", [
    ("xla_python_client_mem_fraction", 75, "0.75 was probably meant"),
    ("xla_python_client_mem_fraction", True, "got True of type bool"),
    ("xla_python_client_allocator", "mine", "one of 'default'"),
    ("xla_python_client_preallocate", "maybe", "True or False"),
    ("xla_python_client_collective_mem_size_mb", -2, "whole number"),
])
def test_options_that_cannot_be_meant(told, name, value, message):
    with pytest.raises(ValueError, match=f"{name} takes .*{message}"):
        told(**{name: value})


@quick
def test_contradictions(told):
    with pytest.raises(ValueError, match="XLA_CLIENT_MEM_FRACTION=0.5 and XLA_PYTHON_CLIENT_MEM_FRACTION=0.6 contradict"):
        told({"XLA_CLIENT_MEM_FRACTION": "0.5", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.6"})
    assert told({"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.50"})["memory_fraction"] == 0.5


def test_amounts_need_the_drivers_library(told, monkeypatch):
    monkeypatch.setattr(nvml, "gpus", lambda: [])
    with pytest.raises(ValueError, match="libnvidia-ml.so.1.*give a fraction"):
        told({"XLA_PYTHON_CLIENT_MEM_FRACTION": "8GiB"})


def test_bad_values_do_not_disturb_programs_without_a_gpu(run_python):
    run_python("import jax; assert jax.numpy.ones(3).sum() == 3", env={"XLA_PYTHON_CLIENT_MEM_FRACTION": "75"})


# --- the plugin -----------------------------------------------------------------------------------------------------

@pytest.fixture
def plugin(monkeypatch, tmp_path, told):
    """A CUDA plugin that consists of an empty library and of a module that must not be imported."""
    folder = tmp_path / "jax_plugins" / "xla_cuda13"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('the plugin was imported')\n")
    (folder / "xla_cuda_plugin.so").write_bytes(b"")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PJRT_NAMES_AND_LIBRARY_PATHS", raising=False)
    yield folder / "xla_cuda_plugin.so"
    sys.modules.pop("jax_plugins", None)


@quick
def test_the_plugin_is_found_without_importing_it(plugin):
    make = cuda.find()
    assert make.args == (str(plugin), 13)
    assert "jax_plugins.xla_cuda13" not in sys.modules


@quick
def test_the_client_is_made_with_the_options(plugin, monkeypatch):
    made = []

    class Xla:
        pjrt_plugin_loaded = pjrt_plugin_initialized = staticmethod(lambda name: True)
        get_c_api_client = staticmethod(lambda *args: made.append(args) or "client")

    monkeypatch.setattr(cuda, "xla", Xla)
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    assert cuda.find()() == "client"
    ((platform, given, _),) = made
    assert platform == "cuda"
    assert given == {"platform_name": "cuda", "allocator": "default", "preallocate": False}
    monkeypatch.setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "malloc")
    with pytest.raises(ValueError, match="XLA_PYTHON_CLIENT_ALLOCATOR"):
        cuda.find()()


@pytest.mark.parametrize("platforms", [None, "cuda,cpu"])
def test_a_bad_value_is_an_error_where_the_plugin_is_and_does_not_lead_to_the_cpu(plugin, monkeypatch, platforms):
    found = backend.Platform("cuda", cuda.find(), 100, True)
    monkeypatch.setattr(backend, "_platforms", {**backend._platforms, "cuda": found})
    monkeypatch.setenv("XLA_PYTHON_CLIENT_MEM_FRACTION", "75")
    with pytest.raises(ValueError, match="0.75 was probably meant"):
        backend._start_found() if platforms is None else backend._start_named(["cuda", "cpu"], platforms)


def test_plugins_of_another_version_are_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    with pytest.raises(RuntimeError, match=r"jax-cuda13-pjrt 0.0.1 does not belong to jaxlib .*pip install 'jax\[cuda13\]'"):
        cuda._check_versions(13)


def test_the_library_can_be_named(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "other:/x.so,cuda:/y.so")
    assert cuda.find().args[0] == "/y.so"


def test_a_gpu_without_plugin_is_reported(monkeypatch, caplog):
    platforms = dict(backend._platforms)
    monkeypatch.setattr(cuda, "find", lambda: None)
    before = options.jax_platforms
    config.platforms.set_global(None)
    try:
        with caplog.at_level(logging.WARNING):
            monkeypatch.setattr(cuda, "present", lambda: False)
            backend._discover()
            assert not caplog.records
            monkeypatch.setattr(cuda, "present", lambda: True)
            backend._discover()
            assert "has an NVIDIA GPU" in caplog.text and "pip install 'jax[cuda13]'" in caplog.text
            caplog.clear()
            config.platforms.set_global("cpu")
            backend._discover()
            assert not caplog.records
    finally:
        config.platforms.set_global(before)
    assert backend._platforms == platforms


def test_other_options_of_the_client(told):
    assert cuda.options() == {"platform_name": "cuda", "allocator": "default"}
    assert cuda._extra_options("a:1;b:true;c:x;d:0.5") == {"a": 1, "b": True, "c": "x", "d": 0.5}
    with pytest.raises(ValueError, match="name:value"):
        cuda._extra_options("a")
    options.update("jax_cuda_visible_devices", "0,2")
    try:
        assert cuda.options()["visible_devices"] == [0, 2]
        options.update("jax_cuda_visible_devices", "first")
        with pytest.raises(ValueError, match="comma-separated list of numbers"):
            cuda.options()
    finally:
        options.update("jax_cuda_visible_devices", "all")


# --- too late -------------------------------------------------------------------------------------------------------

LATE = """
import os, warnings
import jax, jax.numpy as jnp
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "true"
with warnings.catch_warnings():
    warnings.simplefilter("error")
    jnp.ones(3)                                    # devices are set up here
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
jax.config.update("jax_platforms", "cuda")
jax.config.update("xla_python_client_mem_fraction", 0.25)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {use}
    {use}
    (found,) = caught
print(found.filename, found.message)
"""


@pytest.mark.parametrize("use", ["jax.devices()", "jnp.ones(5) + 2", "jax.default_backend()"])
def test_what_comes_too_late_is_reported_once(run_python, use):
    text = run_python(LATE.format(use=use)).stdout
    assert text.startswith("<string> too late: devices are in use already")
    assert "XLA_PYTHON_CLIENT_PREALLOCATE was 'true' and is 'false' now; it decides whether a share of the GPU's" in text
    assert "the environment variable XLA_FLAGS was not set and is '--xla_force_host" in text
    assert "the option jax_platforms was 'cpu' and is 'cuda' now; it decides which platforms are used" in text
    assert "the option xla_python_client_mem_fraction was None and is 0.25 now" in text
    assert "Set it before the first operation" in text


def test_jax_platforms_may_be_set_after_the_import(run_python):
    source = """
import os, jax
os.environ["JAX_PLATFORMS"] = "no_such_platform"
try:
    jax.devices()
except RuntimeError as error:
    print(error)
"""
    assert "no_such_platform" in run_python(source).stdout


def test_new_clients_start_anew(monkeypatch):
    monkeypatch.setattr(late, "_before", None)
    monkeypatch.setenv("XLA_FLAGS", "--something")
    late.check()  # no client has been made
    late.remember()
    late.check()
