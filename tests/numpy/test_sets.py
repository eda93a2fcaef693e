"""Sets: values against NumPy, fixed sizes, errors."""

from __future__ import annotations

import itertools

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import jax
import jax.numpy as jnp

pytestmark = pytest.mark.quick

X = np.array([3, 1, 2, 3, 0, 1])
Y = np.array([7, 1, 3, 1, 9, 2])
NAN = np.array([2.0, np.nan, 1.0, np.nan, 2.0], np.float32)
M = np.array([[1, 2], [0, 5], [1, 2], [0, 1]])
PAIRS = (X, Y), (Y, X), (X, np.array([], int)), (np.array([], int), Y), (X, X)


def same(got, want):
    if not isinstance(got, (tuple, list)):
        got, want = [got], [want]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("x", [X, NAN, M, np.array([True, False, True]), np.array([1 + 1j, 1j, 1j], np.complex64),
                               np.array([], np.float32)], ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique(x, equal_nan):
    want = np.unique(x, True, True, True, equal_nan=equal_nan)
    same(jnp.unique(x, True, True, True, equal_nan=equal_nan), want)
    size = len(want[0])
    if size:
        same(jnp.unique(x, True, True, True, equal_nan=equal_nan, size=size), want)
    more = jnp.unique(x, True, True, True, equal_nan=equal_nan, size=size + 2, fill_value=7)
    same([more[0][:size], more[1][:size], more[2], more[3][:size]], want)
    assert more[3][size:].tolist() == [0, 0] and jnp.all(more[0][size:] == jnp.asarray(7).astype(more[0].dtype))


@pytest.mark.parametrize("axis", [0, 1])
def test_unique_slices(axis):
    values, index, inverse, counts = np.unique(M, True, True, True, axis=axis)
    want = values, index, inverse.reshape(-1), counts
    same(jnp.unique(M, True, True, True, axis=axis), want)
    size = len(index)
    same(jax.jit(lambda m: jnp.unique(m, True, True, True, axis=axis, size=size))(M), want)


def test_unique_fills_with_the_least_element():
    same(jnp.unique(X, size=6), [0, 1, 2, 3, 0, 0])
    same(jnp.unique(X, size=2, return_counts=True), ([0, 1], [1, 2]))
    values, index, inverse, counts = jax.jit(lambda x: jnp.unique(x, True, True, True, size=5, fill_value=-1))(X)
    same((values, index, inverse, counts), ([0, 1, 2, 3, -1], [4, 1, 2, 0, 4], [3, 1, 2, 3, 0, 1], [1, 2, 1, 2, 0]))


def test_unique_of_narrow_floats_and_derivatives():
    same(jnp.unique(jnp.asarray(NAN, "bfloat16")).astype("float32"), [1, 2, np.nan])
    gradient = jax.grad(lambda x: (jnp.unique(x) * jnp.array([1.0, 10.0, 100.0])).sum())(jnp.array([3.0, 1.0, 2.0, 1.0]))
    same(gradient, [100, 1, 10, 0])


@pytest.mark.parametrize("wanted", list(itertools.product([False, True], repeat=3)))
def test_unique_returns_what_is_asked_for(wanted):
    for x in (np.array([[3, 1], [1, 2]], np.int32), np.array([3, 1, 1, 2], jnp.bfloat16)):
        options = dict(zip(("return_index", "return_inverse", "return_counts"), wanted, strict=True))
        expected = np.unique(x.astype(np.float32), **options)
        for a, b in zip(jax.tree.leaves(jnp.unique(x, **options)), jax.tree.leaves(expected), strict=True):
            assert a.shape == b.shape and np.asarray(a).astype(np.float32).tolist() == b.tolist()


def test_unique_of_the_array_api():
    all_ = jnp.unique_all(X)
    same([all_.values, all_.indices, all_.inverse_indices, all_.counts], np.unique(X, True, True, True))
    assert jnp.unique_counts(NAN).values.shape == (4,)
    assert jnp.unique_inverse(M).inverse_indices.shape == M.shape
    same(jnp.unique_values(X, size=5, fill_value=9), [0, 1, 2, 3, 9])


FUNCTIONS = ["union1d", "intersect1d", "setdiff1d", "setxor1d"]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x, y", PAIRS, ids=range(len(PAIRS)))
def test_two_sets(name, x, y):
    want = getattr(np, name)(x, y)
    same(getattr(jnp, name)(x, y), want)
    size = len(want) + 2
    got = jax.jit(lambda x, y: getattr(jnp, name)(x, y, size=size, fill_value=-5))(x, y)
    same(got, [*want, -5, -5])
    if len(want) > 1:
        same(getattr(jnp, name)(x, y, size=len(want) - 1), want[:-1])


def test_intersection_with_indices():
    want = np.intersect1d(X, Y, return_indices=True)
    same(jnp.intersect1d(X, Y, return_indices=True), want)
    values, i, j = jnp.intersect1d(X, Y, return_indices=True, size=5, fill_value=-1)
    same((values[:3], i[:3], j[:3]), want)
    same((values[3:], i[3:], j[3:]), ([-1, -1], [6, 6], [6, 6]))


@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
def test_isin(method):
    for x, y in (*PAIRS, (M, X), (NAN, NAN), (np.float32(2), NAN), (X, np.arange(100))):
        same(jnp.isin(x, y, method=method), np.isin(x, y))
        same(jnp.isin(x, y, invert=True, method=method), np.isin(x, y, invert=True))


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.integers(-3, 3), min_size=5, max_size=5), st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_any_two_sets(x, y):
    x, y = np.array(x), np.array(y)
    for name in FUNCTIONS:
        want = getattr(np, name)(x, y)
        same(getattr(jnp, name)(x, y, size=12, fill_value=99), [*want, *[99] * (12 - len(want))])


@pytest.mark.parametrize("call, error, match", [
    (lambda: jax.jit(jnp.unique)(X), jax.errors.ConcretizationTypeError, "size="),
    (lambda: jax.jit(jnp.union1d)(X, Y), jax.errors.ConcretizationTypeError, "size="),
    (lambda: jax.jit(jnp.setdiff1d)(X, Y), jax.errors.ConcretizationTypeError, "size="),
    (lambda: jnp.unique([1, 2]), TypeError, "jnp.array"), (lambda: jnp.unique(M, axis=2), ValueError, "axis 2"),
    (lambda: jnp.unique(jnp.zeros((0,)), size=2), ValueError, "fill_value"),
    (lambda: jnp.isin(X, Y, method="magic"), ValueError, "magic"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
