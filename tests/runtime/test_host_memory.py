"""Freed memory of the host stays with the process."""

from __future__ import annotations

import os
import sys

import pytest

import jax
from jax._base import config
from jax._runtime import host_memory

pytestmark = pytest.mark.quick
linux = pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")

# How many pages one call of an operation with a result of 48 MiB touches anew, once the heap has grown to what it needs.
PAGES = """
import resource, jax, jax.numpy as jnp
x = jnp.zeros(12 << 20, jnp.float32)
f = jax.jit(lambda x: x + 1)
for _ in range(20):
    y = f(x).block_until_ready(); del y
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    y = f(x).block_until_ready(); del y
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 4)
"""


def faults(run_python, retained):
    if any(name.startswith(("MALLOC_", "GLIBC_")) for name in os.environ):
        pytest.skip("the environment has settings of the allocator")
    return int(run_python(PAGES, env={"JAX_CPU_RETAINED_MEMORY": retained}).stdout)


@linux
def test_memory_that_is_freed_serves_the_next_run(run_python):
    pages = (48 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert faults(run_python, "512MiB") < pages // 4
    if open("/sys/kernel/mm/transparent_hugepage/enabled").read().find("[always]") < 0:  # one fault is one small page
        assert faults(run_python, "0") > pages // 2


@linux
def test_settings_of_the_user_win(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert host_memory.tune() == {}
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    assert host_memory.tune() == {}


def test_the_option_takes_amounts():
    option = config.cpu_retained_memory
    assert jax.config.jax_cpu_retained_memory == "512MiB"
    assert [option.check(v) for v in ("1GiB", 0, "0", "2M")] == ["1GiB", "0", "0", "2M"]
    with pytest.raises(ValueError, match="'512MiB' was probably meant"):
        option.check(512)
    for bad in ("much", -1, True, "1.5"):
        with pytest.raises(ValueError, match="an amount with its unit"):
            option.check(bad)
