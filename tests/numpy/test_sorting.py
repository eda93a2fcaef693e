"""Sorting, searching, histograms: values against NumPy, derivatives, mapping, options."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_arrays import SEARCH, SORT

OPS = SORT + SEARCH
NAN = np.array([3.0, np.nan, 1.0, -np.inf, np.nan, 1.0], np.float32)


@pytest.mark.parametrize("op, dtype", cases(OPS))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(OPS))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype(op.dtypes[0]), id=op.name) for op in OPS])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


@pytest.mark.quick
def test_nan_comes_last():
    np.testing.assert_array_equal(jnp.sort(NAN), np.sort(NAN))
    np.testing.assert_array_equal(jnp.argsort(NAN), np.argsort(NAN, kind="stable"))
    np.testing.assert_array_equal(jnp.sort(NAN, descending=True), np.sort(NAN)[::-1])
    for side in ("left", "right"):
        np.testing.assert_array_equal(jnp.searchsorted(np.sort(NAN), NAN, side=side), np.searchsorted(np.sort(NAN),
                                                                                                      NAN, side))


@pytest.mark.quick
def test_descending_sorts_are_stable():
    x = jnp.array([2, 1, 2, 3, 1])
    np.testing.assert_array_equal(jnp.argsort(x, descending=True), [3, 0, 2, 1, 4])
    assert jnp.argsort(x, dtype="int8").dtype == jnp.int8


@pytest.mark.quick
@pytest.mark.parametrize("call, error", [
    (lambda: jnp.sort([2, 1]), TypeError), (lambda: jnp.sort(jnp.ones(3), axis=1), ValueError),
    (lambda: jnp.sort(1.0), ValueError), (lambda: jnp.sort(NAN, kind="bogus"), ValueError),
    (lambda: jnp.partition(NAN, 6), ValueError), (lambda: jnp.lexsort(()), TypeError),
    (lambda: jnp.lexsort((NAN, jnp.ones(3))), ValueError), (lambda: jnp.top_k(NAN, 7), ValueError),
    (lambda: jnp.searchsorted(jnp.ones((2, 2)), 1), ValueError),
    (lambda: jnp.searchsorted(NAN, 1, side="middle"), ValueError),
    (lambda: jnp.searchsorted(NAN, 1, method="magic"), ValueError),
    (lambda: jnp.digitize(NAN, jnp.ones((2, 2))), ValueError), (lambda: jnp.bincount(NAN), TypeError),
    (lambda: jnp.bincount(jnp.ones((2, 2), int)), ValueError),
    (lambda: jax.jit(jnp.bincount)(jnp.array([1])), jax.errors.ConcretizationTypeError),
    (lambda: jnp.interp(NAN, jnp.ones(2), jnp.ones(3)), ValueError),
    (lambda: jnp.interp(NAN, jnp.ones(2), jnp.ones(2), period=0), ValueError),
    (lambda: jnp.histogram(NAN, "auto"), NotImplementedError),
    (lambda: jnp.histogram(NAN, weights=jnp.ones(2)), ValueError),
    (lambda: jnp.histogramdd(jnp.ones((2, 2)), [1, 2, 3]), ValueError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.quick
def test_bincount_sizes():
    x = jnp.array([1, 1, 4, -3])
    np.testing.assert_array_equal(jnp.bincount(x), [1, 2, 0, 0, 1])
    np.testing.assert_array_equal(jnp.bincount(x, minlength=7), [1, 2, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(jnp.bincount(x, length=2), [1, 2])
    assert jnp.bincount(jnp.array([], int)).shape == (0,)
    assert jnp.bincount(x, weights=jnp.ones(4)).dtype == jnp.float32


@pytest.mark.quick
def test_interp_continues_lines():
    xp, fp = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 2.0, 3.0])
    out = jnp.interp(jnp.array([-1.0, 3.0]), xp, fp, left="extrapolate", right="extrapolate")
    np.testing.assert_allclose(out, [-2.0, 4.0])
    assert jnp.interp(0.5, xp, fp + 1j).dtype == jnp.complex64
    np.testing.assert_allclose(jnp.interp(jnp.array([5.0]), jnp.array([1.0]), jnp.array([7.0])), [7.0])


def test_histograms_count_like_numpy():
    rng = np.random.default_rng(0)
    a = rng.normal(size=50).astype(np.float32)
    for bins in (1, 7, np.array([-1.0, 0.0, 0.5, 2.0], np.float32)):
        for density in (False, True):
            got, edges = jnp.histogram(a, bins, density=density)
            want, want_edges = np.histogram(a, bins, density=density)
            np.testing.assert_allclose(got, want, rtol=1e-5)
            np.testing.assert_allclose(edges, want_edges, rtol=1e-5, atol=1e-6)
    sample = rng.normal(size=(40, 2)).astype(np.float32)
    got, _ = jnp.histogramdd(sample, [3, 4])
    np.testing.assert_array_equal(got, np.histogramdd(sample, [3, 4])[0])
    np.testing.assert_array_equal(jnp.histogram_bin_edges(jnp.ones(3), 2), [0.5, 1.0, 1.5])
