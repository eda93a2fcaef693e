"""Sorting by counting: the same results as XLA's own sort, bit by bit, for every type and shape."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import cpu_radix_sort, enable_x64
from jax.lax import _radix, _sort
from tests.lax.sorts import assert_same_bits, check_axis, check_derivatives_and_batches, check_loops_and_branches, numbers

DTYPES = ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64",
          "complex64"]


@pytest.fixture
def counting(monkeypatch):
    """Every row is sorted by counting, with digits of 16 bits."""
    monkeypatch.setattr(_sort, "LEAST_LENGTH", 2)
    monkeypatch.setattr(_sort, "LEAST_SIZE", 2)
    monkeypatch.setattr(_radix, "_LONG", 2)


@pytest.fixture(params=[16, 8], ids=["wide_digits", "narrow_digits"])
def digits(request, counting, monkeypatch):
    if request.param == 8:
        monkeypatch.setattr(_radix, "_LONG", 10**9)


def on_and_off(f, *args):
    """The results of ``f`` by counting and by comparing; its program has kernels in one case only."""
    counted = jax.jit(lambda *args: f(*args))
    assert "@radix_" in counted.lower(*args).as_text()
    with cpu_radix_sort(False):
        compared = jax.jit(lambda *args: f(*args))
        assert "@radix_" not in compared.lower(*args).as_text()
        expected = compared(*args)
    return counted(*args), expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(counting, dtype):
    check_type(dtype)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "int64"])
def test_narrow_digits(counting, dtype, monkeypatch):
    monkeypatch.setattr(_radix, "_LONG", 10**9)
    check_type(dtype)


def check_type(dtype):
    x = numbers(dtype, (3, 37))
    with enable_x64(x.dtype.itemsize == 8 and dtype != "complex64"):
        assert_same_bits(*on_and_off(lambda x: (lax.sort(x), lax.sort((x, -x if dtype == "float32" else x))), x))


@pytest.mark.parametrize("shape, axis", [((50,), 0), ((33, 5), 0), ((3, 20, 4), 1), ((2, 3, 8), 2)])
def test_every_axis(digits, shape, axis):
    check_axis(shape, axis)


def test_several_keys(counting):
    a, b = np.random.default_rng(0).integers(-2, 2, (2, 4, 30)).astype(np.int32)
    c = numbers("float32", (4, 30))
    x = lax.sort((a, c, b, a * 2), num_keys=3)
    assert_same_bits(*on_and_off(lambda *xs: lax.sort(xs, num_keys=3), a, c, b, a * 2))
    order = np.lexsort((b, np.where(abs(c) < 1e-38, 0, c), a))  # subnormal numbers count as zero, here and there
    np.testing.assert_array_equal(x[2], np.take_along_axis(b, order, -1))


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["normal", "equal", "sorted"])
def test_long_rows(kind):
    x = np.random.default_rng(0).standard_normal(70001).astype(np.float32)
    x = {"normal": x, "equal": np.floor(x), "sorted": np.sort(x)[::-1]}[kind]
    f = jax.jit(lambda x: (jnp.sort(x), jnp.argsort(x)))
    assert "@radix_" in f.lower(x).as_text()
    values, places = f(x)
    np.testing.assert_array_equal(values, np.sort(x))
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


@pytest.mark.quick
def test_short_rows_and_other_programs_are_left_to_xla():
    x = np.zeros((70000,), np.float32)
    assert "@radix_" not in jax.jit(lambda x: jnp.sort(x)).lower(x[:1000]).as_text()
    assert "@radix_" not in jax.jit(lambda x: jnp.sort(x)).lower(x.reshape(-1, 100)).as_text()
    exported = jax.export.export(jax.jit(lambda x: jnp.sort(x)))(x).mlir_module()
    assert "stablehlo.sort" in exported and "@radix_" not in exported


def test_largest_elements(counting):
    for dtype in ("float64", "int64", "int32"):
        x = numbers(dtype, (3, 40))
        with enable_x64(True):
            assert_same_bits(*on_and_off(lambda x: lax.top_k(x, 7), x))


def test_many_largest_elements(counting):
    x = numbers("float32", (2, 90))
    assert_same_bits(*on_and_off(lambda x: lax.top_k(x, 40), x))


# --- compositions ---------------------------------------------------------------------------------------------------

def test_derivatives_and_batches(counting):
    check_derivatives_and_batches()


def test_in_loops_and_branches(counting):
    check_loops_and_branches((30,))


def test_constants_donated_and_equal_operands():
    n = 70000
    u = np.random.default_rng(0).integers(0, 1000, n).astype(np.uint32)
    order = np.argsort(u, kind="stable")
    zeros, fixed, (a, b) = jax.jit(lambda u: (jnp.argsort(jnp.zeros(n)), jnp.sort(jnp.asarray(u)), lax.sort((u, u))))(u)
    np.testing.assert_array_equal(zeros, np.arange(n))
    for found in (fixed, a, b):
        np.testing.assert_array_equal(found, u[order])
    np.testing.assert_array_equal(jax.jit(lambda: jnp.argsort(u))(), order)
    np.testing.assert_array_equal(jax.jit(lambda u: jnp.sort(u), donate_argnums=0)(jnp.asarray(u)), u[order])
