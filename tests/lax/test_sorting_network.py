"""Sorting by networks of comparisons: the same results as XLA's own sort, bit by bit, for every type and shape."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import cpu_radix_sort, cpu_sorting_networks, enable_x64
from jax.lax import _network
from tests.lax.sorts import assert_same_bits, check_axis, check_derivatives_and_batches, check_loops_and_branches, numbers

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32",
          "float64"]


@pytest.fixture
def networks(monkeypatch):
    """All rows of at least two elements are sorted by networks."""
    monkeypatch.setattr(_network, "LEAST_ROWS", 1)
    monkeypatch.setattr(_network, "LEAST_SIZE", 1)
    monkeypatch.setattr(_network, "_MOST", dict.fromkeys((1, 2, 4, 8), 10**6))


def assert_same(f, *args):
    """The results of ``f`` by networks and without them are the same bits; its program has networks in one case only."""
    ours = jax.jit(lambda *args: f(*args))
    assert "@sorting_network" in ours.lower(*args).as_text()
    with cpu_sorting_networks(False):
        others = jax.jit(lambda *args: f(*args))
        assert "@sorting_network" not in others.lower(*args).as_text()
        expected = others(*args)
    assert_same_bits(ours(*args), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(networks, dtype):
    x = numbers(dtype, (5, 37))
    with enable_x64(x.dtype.itemsize == 8):
        assert_same(lambda x: (lax.sort(x), lax.sort(x, 0)), x)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 100, 256, 300])
def test_every_length(networks, n):
    x = numbers("int32", (7, n), seed=n)
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.sort(x))(x), np.sort(x))
    zeros_and_ones = np.random.default_rng(n).integers(0, 2, (64, n)).astype(np.int32)  # what sorts these, sorts all
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.sort(x))(zeros_and_ones), np.sort(zeros_and_ones))


def test_all_zeros_and_ones(networks):
    """The principle of zeros and ones, in full, for rows of 12, which are filled up to 16."""
    x = (np.arange(2**12)[:, None] >> np.arange(12) & 1).astype(np.int32)
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.sort(x))(x), np.sort(x))


@pytest.mark.parametrize("shape, axis", [((50,), 0), ((33, 5), 0), ((3, 20, 4), 1), ((2, 3, 8), 2), ((2, 4), 0)])
def test_every_axis(networks, shape, axis):
    check_axis(shape, axis)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
@pytest.mark.parametrize("rows", [1, 47, 48, 63, 64, 65, 96, 127, 128, 130, 200, 250, 256, 384, 500])
def test_blocks_of_rows(networks, rows, dtype):
    x = numbers(dtype, (rows, 13), seed=rows)
    with enable_x64(dtype == "int64"):
        assert_same(lambda x: (lax.sort(x), lax.sort(x.T, 0)), x)
        assert_same(lambda x: lax.sort(x, 1), np.broadcast_to(x.T, (3, 13, rows)))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
@pytest.mark.parametrize("n", [128, 192, 512])
def test_rows_of_many_cache_lines(networks, n, dtype):
    x = numbers(dtype, (70, n), seed=n)
    with enable_x64(dtype == "int64"):
        assert_same(lambda x: (lax.sort(x), lax.sort(x.T, 0)), x)


@pytest.mark.parametrize("shape", [(64, 1025), (1025, 64), (64, 3000), (65, 3000), (2, 3000, 64), (128, 1536), (64, 2)])
def test_few_blocks_of_long_rows(networks, shape):
    x = numbers("int32", shape)
    assert_same(lambda x: lax.sort(x), x)
    assert_same(lambda x: lax.sort(x, len(shape) - 2), x)


PLACES = [*((dtype, *shape) for dtype in DTYPES if "64" not in dtype for shape in ((3, 40), (70, 64))),
          *((dtype, 1, n) for dtype in ("uint8", "int16") for n in (1 << 16, (1 << 16) + 1))]


@pytest.mark.parametrize("dtype, rows, n", PLACES)
def test_places(networks, dtype, rows, n):
    """Keys of up to 16 bits are packed with places of up to 16 bits."""
    x = numbers(dtype, (rows, n), seed=n)
    order = np.asarray(jax.jit(lambda x: jnp.argsort(x))(x))
    if np.dtype(x.dtype).kind in "biu":
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    with cpu_sorting_networks(False), cpu_radix_sort(False):
        np.testing.assert_array_equal(order, jax.jit(lambda x: jnp.argsort(x))(x))


@pytest.mark.quick
@pytest.mark.parametrize("shape, axis", [((1000, 100), 1), ((600, 130), 0), ((2, 40000), 0), ((3, 1024, 64), 1)])
def test_sizes_that_are_used(shape, axis):
    x = numbers("float32", shape)
    assert_same(lambda x: jnp.sort(x, axis=axis), x)
    assert_same(lambda x: jnp.argsort(x, axis=axis), x)
    assert_same(lambda x: lax.sort((x, x * 2), axis), x)


@pytest.mark.quick
def test_other_programs():
    def program(x, **kw):
        return jax.jit(lambda x: jnp.sort(x), **kw).lower(x).as_text()
    assert "@sorting_network" not in program(np.zeros((100, 100), np.float32))  # small
    assert "@sorting_network" not in program(np.zeros((10, 10000), np.float32))  # few rows
    assert "@radix_" in program(np.zeros((100, 9000), np.float32))  # long rows
    assert "@sorting_network" in program(np.zeros((100, 8000), np.float32))
    places = jax.jit(lambda x: jnp.argsort(x)).lower(np.zeros((100, 3000), np.float32)).as_text()
    assert "@radix_" in places and "@sorting_network" not in places
    assert "stablehlo.sort" in program(np.zeros((1000, 100), np.complex64))
    exported = jax.export.export(jax.jit(lambda x: jnp.sort(x)))(np.zeros((1000, 100), np.float32)).mlir_module()
    assert "stablehlo.sort" in exported and "@sorting_network" not in exported


def test_no_rows_and_no_columns(networks):
    for shape in ((0, 5), (5, 0), (1, 1), (5, 1), (0,), (1,)):
        for axis in range(len(shape)):
            assert jax.jit(lambda x, axis=axis: jnp.sort(x, axis=axis))(np.zeros(shape, np.float32)).shape == shape


def test_programs_of_several_devices(run_python):
    run_python("""
import numpy as np, jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
x = np.random.default_rng(0).integers(0, 1000, (2000, 100)).astype(np.int32)
mesh = jax.make_mesh((2,), ("x",))
f = jax.jit(lambda x: jnp.sort(x))
placed = jax.device_put(x, NamedSharding(mesh, PartitionSpec("x")))
assert "@sorting_network" not in f.lower(placed).as_text()
np.testing.assert_array_equal(f(placed), np.sort(x))
np.testing.assert_array_equal(jax.pmap(lambda x: jnp.sort(x))(x.reshape(2, 1000, 100)).reshape(2000, 100), np.sort(x))
""", env={"JAX_NUM_CPU_DEVICES": "2"})


# --- compositions ---------------------------------------------------------------------------------------------------

def test_derivatives_and_batches(networks):
    check_derivatives_and_batches()


def test_in_loops_and_branches(networks):
    check_loops_and_branches((3, 30))


def test_order_statistics_and_largest(networks):
    x = numbers("int32", (6, 50))
    np.testing.assert_array_equal(jax.jit(lambda x: lax.top_k(x, 5)[0])(x), -np.sort(-x.astype(np.int64))[:, :5])
    y = np.random.default_rng(0).standard_normal((6, 51)).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(lambda y: jnp.median(y, axis=1))(y), np.median(y, axis=1))
    np.testing.assert_array_equal(jax.jit(lambda y: jnp.partition(y, 7))(y)[:, 7], np.partition(y, 7)[:, 7])


def test_constants_and_donation(networks):
    x = numbers("int32", (4, 9))
    constant, donated = jax.jit(lambda y: (jnp.sort(jnp.asarray(x)), jnp.sort(y)), donate_argnums=0)(jnp.asarray(x[::-1]))
    np.testing.assert_array_equal(constant, np.sort(x))
    np.testing.assert_array_equal(donated, np.sort(x[::-1]))
