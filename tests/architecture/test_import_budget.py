"""`import jax` is light: it loads nothing heavy and touches no device."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.quick

# Loaded when something needs them, never by the import alone.
DEFERRED = [
    "scipy",
    "jaxlib.mlir",
    "opt_einsum",
    "matplotlib",
    "absl",
    "cloudpickle",
    "etils",
    "importlib.metadata",
    "concurrent.futures.process",
    "multiprocessing",
]

PROBE = """
import sys
before = set(sys.modules)
import jax
import jax.numpy
for name in sorted(set(sys.modules) - before):
    print(name)
"""


def _loaded(run_python, source: str) -> set[str]:
    return set(run_python(source).stdout.split())


@pytest.fixture(scope="module")
def loaded(run_python) -> set[str]:
    return _loaded(run_python, PROBE)


# What numpy and jaxlib load on their own account is not ours to defer.
@pytest.fixture(scope="module")
def loaded_by_dependencies(run_python) -> set[str]:
    dependencies = "import numpy, ml_dtypes, jaxlib.xla_client"
    return _loaded(run_python, PROBE.replace("import jax\nimport jax.numpy", dependencies))


@pytest.mark.parametrize("module", DEFERRED)
def test_heavy_module_is_not_imported(module, loaded, loaded_by_dependencies):
    ours = loaded - loaded_by_dependencies
    guilty = sorted(name for name in ours if name == module or name.startswith(module + "."))
    assert not guilty, f"`import jax` loads {guilty[:5]}"


def test_import_creates_no_client(run_python):
    """A platform that does not exist is no error until a device is needed."""
    source = """
import jax, jax.numpy
print("imported")
try:
    jax.devices()
except RuntimeError as error:
    print("refused")
"""
    lines = run_python(source, env={"JAX_PLATFORMS": "no_such_platform"}).stdout.split()
    assert lines == ["imported", "refused"]


def test_import_starts_no_threads(run_python):
    source = "import os, jax, jax.numpy; print(len(os.listdir('/proc/self/task')))"
    probe = "import os, numpy, jaxlib.xla_client; print(len(os.listdir('/proc/self/task')))"
    if not __import__("os").path.isdir("/proc/self/task"):
        pytest.skip("needs /proc")
    assert int(run_python(source).stdout) <= int(run_python(probe).stdout)
