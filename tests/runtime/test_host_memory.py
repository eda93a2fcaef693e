"""Freed memory of the host stays with the process."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base import config
from jax._dispatch import program, scratch
from jax._runtime import host_memory
from jax.experimental.serialize_executable import deserialize_and_load, serialize

pytestmark = pytest.mark.quick
linux = pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")

# How many pages a run of `f` touches anew, once the heap has grown to what it needs: the median, since several threads
# run programs, and each of them fills its own part of the heap once. On two cores: more would need more runs.
PAGES = """
import os, resource, statistics
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import jax, jax.numpy as jnp
{setup}
pages = []
for _ in range(41):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    y = f(*args).block_until_ready(); del y
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(int(statistics.median(pages[20:])))
"""

# A result of 48 MiB.
RESULT = "args = [jnp.zeros(12 << 20, jnp.float32)]; f = jax.jit(lambda x: x + 1)"
# 24 intermediate values of 4 MiB, read in the other order than they are made.
SCRATCH = """
def forward_and_back(x, w):
    values = [x]
    for _ in range(24):
        values.append(values[-1] @ w)
    y = x
    for v in reversed(values):
        y = (y * v) @ w
    return y
args = [jnp.ones((1 << 18, 4)), jnp.ones((4, 4)) / 4]
f = jax.jit(forward_and_back)
"""


def faults(run_python, setup, retained):
    if any(name.startswith(("MALLOC_", "GLIBC_")) for name in os.environ):
        pytest.skip("the environment has settings of the allocator")
    return int(run_python(PAGES.format(setup=setup), env={"JAX_CPU_RETAINED_MEMORY": retained}).stdout)


def small_pages():
    return open("/sys/kernel/mm/transparent_hugepage/enabled").read().find("[always]") < 0  # one fault is one small page


@linux
@pytest.mark.parametrize("setup, size", [(RESULT, 48 << 20), (SCRATCH, 96 << 20)], ids=["result", "scratch"])
def test_memory_that_is_freed_serves_the_next_run(run_python, setup, size):
    jax.devices("cpu")
    if size > 64 << 20 and not host_memory.most_in_pieces():
        pytest.skip("the machine has too little memory per core")
    pages = size // os.sysconf("SC_PAGE_SIZE")
    assert faults(run_python, setup, "512MiB") < pages // 2
    if small_pages():
        assert faults(run_python, setup, "0") > 3 * pages // 4


@linux
def test_settings_of_the_user_win(monkeypatch):
    monkeypatch.setattr(host_memory, "_in_pieces", host_memory.most_in_pieces())
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert host_memory.tune() == {}
    assert host_memory.most_in_pieces() == 0
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


# --- scratch memory in pieces ---------------------------------------------------------------------------------------

def alive(f, *args):
    return scratch.sizes_of(jax.make_jaxpr(f)(*args).jaxpr).alive


def test_estimates_follow_the_lives_of_values():
    x = jnp.ones(1000, jnp.float32)
    assert alive(lambda x: jnp.sin(x), x) == 4000
    assert alive(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), x) == 8000  # what is read, and what is made of it

    def kept(x):
        a = jnp.sin(x)
        b = jnp.sin(a)
        c = jnp.sin(b)
        return a + b + c
    assert alive(kept, x) == 4 * 4000
    assert alive(jax.jit(jax.jit(kept)), x) == 4 * 4000
    assert alive(lambda x: jax.lax.scan(lambda c, _: (kept(c), None), x, None, length=10)[0], x) >= 4 * 4000
    assert alive(lambda x: x, x) == 0


def test_no_pieces_in_threads_of_the_caller(run_python):
    """Each of which has a heap of its own, and there may be any number of them."""
    run_python("""
import jax
from jax._runtime import host_memory
jax.config.update("jax_cpu_enable_async_dispatch", False)
jax.devices()
assert host_memory.most_in_pieces() == 0
""")


def test_narrow_elements_count_as_wider_ones():
    sizes = scratch.sizes_of(jax.make_jaxpr(lambda x: -x)(np.zeros(1000, np.int8)).jaxpr)
    assert sizes == (1000, 4000)


def test_estimates_of_types_without_bytes():
    assert alive(lambda k: jax.random.split(k, 8), jax.random.key(0)) > 0
    assert alive(lambda x: x * 2, jnp.zeros((0, 5))) == 0
    assert alive(lambda x: jnp.broadcast_to(x, (2**31, 2**31)).sum(), jnp.float32(1)) >= 2**64


def test_shared_functions_are_measured_once():
    def f(x):
        return jnp.sin(x) + 1
    for _ in range(60):
        g = jax.jit(f)
        f = lambda x, g=g: g(g(x))  # noqa: E731
    assert alive(f, jnp.float32(1)) > 0


def wide(x):
    return sum(v * i for i, v in enumerate([jnp.roll(x, i) @ x for i in range(6)]))


@pytest.fixture
def pieces(monkeypatch):
    """All programs on one CPU take their scratch memory in small pieces."""
    monkeypatch.setattr(host_memory, "_in_pieces", 1 << 40)
    monkeypatch.setattr(scratch, "_LEAST", 1)
    monkeypatch.setattr(scratch, "_PIECE", 1 << 16)


def test_only_programs_of_medium_size_have_pieces(monkeypatch):
    jaxpr = jax.make_jaxpr(wide)(jnp.ones((64, 64))).jaxpr
    size, largest = scratch.sizes_of(jaxpr)
    assert largest == 64 * 64 * 4
    monkeypatch.setattr(scratch, "_LEAST", size)
    monkeypatch.setattr(host_memory, "_in_pieces", size)
    assert scratch.options(jaxpr) == {"xla_multiheap_size_constraint_per_heap": 48 << 20}
    monkeypatch.setattr(host_memory, "_in_pieces", size - 1)
    assert scratch.options(jaxpr) == {}
    monkeypatch.setattr(host_memory, "_in_pieces", 2 * size)
    monkeypatch.setattr(scratch, "_LEAST", size + 1)
    assert scratch.options(jaxpr) == {}
    monkeypatch.setattr(host_memory, "_in_pieces", 0)
    assert scratch.options(jaxpr) == {}
    monkeypatch.setattr(host_memory, "_in_pieces", 2 * size)
    monkeypatch.setattr(scratch, "_LEAST", size)
    monkeypatch.setattr(scratch, "_LARGEST", largest - 1)
    assert scratch.options(jaxpr) == {}


@pytest.mark.parametrize("shape", [(16, 16), (128, 128), (512, 512)])  # a value is less than a piece, one, many
def test_results_are_the_same_in_pieces(pieces, shape):
    x = np.random.default_rng(0).standard_normal(shape, np.float32) / shape[0] ** 0.5
    want = sum((np.roll(x, i).astype(np.float64) @ x) * i for i in range(6))
    np.testing.assert_allclose(jax.jit(wide)(x), want, atol=1e-4)
    value, grad = jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(wide(x)))))(x)
    with jax.disable_jit():
        value2, grad2 = jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(wide(x))))(x)
    np.testing.assert_allclose(value, value2, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(grad, grad2, rtol=1e-3, atol=1e-3)


def test_pieces_with_loops_branches_and_donation(pieces):
    x = np.random.default_rng(0).standard_normal((200, 200), np.float32) / 20

    def f(x, y):
        x, ys = jax.lax.scan(lambda c, _: (jnp.tanh(c @ c) + y, c.sum()), x, None, length=5)
        return jax.lax.cond(x.sum() > 0, lambda v: v @ v, lambda v: v - v.T @ v, x), ys
    want = f(x, 0.5)
    got = jax.jit(f, donate_argnums=0)(jnp.asarray(x), 0.5)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    sorted_rows = jax.jit(lambda x: jnp.sort(x * 2, axis=0) @ jnp.sort(x, axis=1))(x)
    np.testing.assert_allclose(sorted_rows, np.sort(x * 2, axis=0) @ np.sort(x, axis=1), rtol=1e-4, atol=1e-3)


def test_an_option_of_the_user_wins(pieces, monkeypatch):
    x = jnp.ones((64, 64))
    want = wide(x)
    seen = compiled_with(monkeypatch)
    option = {"xla_multiheap_size_constraint_per_heap": 1 << 14}
    np.testing.assert_allclose(jax.jit(wide, compiler_options=option)(x), want, rtol=1e-5)
    assert seen == [option]


def compiled_with(monkeypatch):
    """The options that programs are compiled with from now on, as they come."""
    seen = []
    original = program.compile_module

    def compile_module(*args, compiler_options, **kwargs):
        seen.append(compiler_options)
        return original(*args, compiler_options=compiler_options, **kwargs)
    monkeypatch.setattr(program, "compile_module", compile_module)
    return seen


def test_programs_that_are_stored_have_no_pieces(pieces, monkeypatch, tmp_path):
    x = jnp.ones((64, 64)) / 64
    seen = compiled_with(monkeypatch)
    compiled = jax.jit(wide).lower(x).compile()
    assert "xla_multiheap_size_constraint_per_heap" in seen[-1]
    again = deserialize_and_load(*serialize(compiled))
    assert "xla_multiheap_size_constraint_per_heap" not in seen[-1] and len(seen) == 2
    np.testing.assert_allclose(again(x), compiled(x), rtol=1e-6)
    with config.compilation_cache_dir(str(tmp_path)):
        jax.jit(lambda x: wide(x) + 1)(x)
    assert "xla_multiheap_size_constraint_per_heap" not in seen[-1] and len(seen) == 3
    assert list(tmp_path.iterdir())
