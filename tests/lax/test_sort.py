"""Sorting and largest elements: NaN, signed zeros, stability, derivatives, errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jax
from jax import lax
from jax._base.config import enable_x64

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def in_order(x, places):
    return np.asarray(x)[np.asarray(places)]


# --- order ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", FLOATS)
def test_special_floats(dtype):
    x = np.array([1, np.nan, 0.0, -np.nan, -0.0, np.inf, -np.inf, -1], dtype)
    with enable_x64(np.dtype(dtype).itemsize == 8):
        (alone, (together, places)) = lax.sort(x), lax.sort((x, np.arange(8)))
    expected = np.array([-np.inf, -1, 0, 0, 1, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(np.asarray(alone, np.float64), expected)
    np.testing.assert_array_equal(np.asarray(together, np.float64), expected)
    assert places.tolist() == [6, 7, 2, 4, 0, 5, 1, 3]  # zeros of both signs are equal as keys
    assert np.signbit(np.asarray(together, np.float64))[2:4].tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "bool", "uint16", "int4"])
def test_extreme_integers(dtype):
    d = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    low, high = (0, 1) if dtype == "bool" else (int(ml_dtypes.iinfo(d).min), int(ml_dtypes.iinfo(d).max))
    x = np.array([high, 0, low, 1, high, low]).astype(d) if dtype != "uint64" else \
        np.array([high, 0, low, 1, high, low], np.uint64)
    with enable_x64(d.itemsize == 8):
        alone, (_, places) = lax.sort(x), lax.sort((x, np.arange(6)))
    order = np.argsort(x.astype(object), kind="stable")
    assert np.asarray(alone).tolist() == x[order].tolist()
    assert places.tolist() == order.tolist()


def test_complex_numbers_are_ordered_lexicographically():
    x = np.array([1, 1 + 1j, 1 - 1j, 0, np.nan, 1], np.complex64)
    values, places = lax.sort((x, np.arange(6)))
    assert places.tolist() == [3, 2, 0, 5, 1, 4]
    np.testing.assert_array_equal(values, in_order(x, places))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_stability(dtype):
    x = np.random.default_rng(0).integers(0, 3, (200, 2)).astype(dtype)
    with enable_x64(dtype == "float64"):
        _, places = lax.sort((x, np.broadcast_to(np.arange(200)[:, None], x.shape)), dimension=0)
    np.testing.assert_array_equal(places, np.argsort(x, 0, kind="stable"))


def test_many_operands_of_different_types():
    keys = np.array([3, 1, 2], np.int16)
    outs = lax.sort([keys, keys > 1, keys * 1j, keys.astype(np.float16)])
    assert isinstance(outs, tuple)
    for x, out in zip((keys, keys > 1, keys * 1j, keys), outs, strict=True):
        np.testing.assert_array_equal(out, in_order(x, [1, 2, 0]))


def test_parameters():
    (eqn,) = jax.make_jaxpr(lambda x: lax.sort((x, x), num_keys=2))(np.ones((2, 3), np.float32)).jaxpr.eqns
    assert eqn.params == {"dimension": 1, "is_stable": True, "num_keys": 2}
    (eqn,) = jax.make_jaxpr(lambda x: lax.top_k(x, 2))(np.ones((2, 3), np.float32)).jaxpr.eqns
    assert eqn.params == {"k": 2, "axis": 1}


# --- derivatives ----------------------------------------------------------------------------------------------------

def test_derivative_of_a_sort_is_the_inverse_permutation():
    x = np.array([[3, 1, 2], [1, 1, 0]], np.float32)
    ct = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    _, pull = jax.vjp(lax.sort, x)
    assert pull(ct)[0].tolist() == [[3, 1, 2], [5, 6, 4]]


def test_integer_keys_carry_differentiable_values():
    keys, values = np.array([2, 0, 1]), np.array([1, 2, 3], np.float32)
    _, pull = jax.vjp(lambda v: lax.sort_key_val(keys, v)[1], values)
    assert pull(np.array([10, 20, 30], np.float32))[0].tolist() == [30, 10, 20]


# --- top_k ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "int8", "bfloat16", "bool"])
def test_top_k_takes_the_first_of_equal_elements(dtype):
    x = lax.convert_element_type(np.array([[1, 0, 1, 1], [0, 0, 1, 0]]), dtype)
    values, places = lax.top_k(x, 3)
    assert values.dtype == x.dtype and places.dtype == np.int32
    assert places.tolist() == [[0, 2, 3], [2, 0, 1]]


def test_top_k_of_extreme_integers():
    x = np.array([0, 2**31 - 1, -2**31, 5], np.int32)
    assert lax.top_k(x, 4)[1].tolist() == [1, 3, 0, 2]
    assert lax.top_k(x.view(np.uint32), 4)[1].tolist() == [2, 1, 3, 0]
    assert lax.top_k(x, 0)[0].shape == (0,)


def test_top_k_counts_nan_as_largest():
    values, places = lax.top_k(np.array([1, np.nan, 3], np.float32), 2)
    assert np.isnan(values[0]) and places.tolist() == [1, 2]


def test_top_k_accepts_is_stable():
    assert lax.top_k(np.array([1, 3, 2]), 1, is_stable=False)[1].tolist() == [1]


def test_approximate_search_may_return_candidates():
    x = np.arange(100, dtype=np.float32)
    values, places = lax.approx_max_k(x, 3, aggregate_to_topk=False)
    assert set(places.tolist()) >= {97, 98, 99} and values.shape == places.shape


# --- errors ---------------------------------------------------------------------------------------------------------

x3 = np.ones(3, np.float32)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: lax.sort(x3, 1), ValueError, r"dimension 1 must lie in \[-1, 1\)"),
    (lambda: lax.sort(1.0), ValueError, "rank 0"),
    (lambda: lax.sort(()), TypeError, "at least one operand"),
    (lambda: lax.sort((x3, x3[:2])), TypeError, r"same shape, got \(3,\), \(2,\)"),
    (lambda: lax.sort((x3, x3), num_keys=3), ValueError, "num_keys must lie between 1 and .* 2; got 3"),
    (lambda: lax.top_k(x3, 4), ValueError, r"k=4 .* axis 0 of an operand of shape \(3,\)"),
    (lambda: lax.top_k(x3, -1), ValueError, "k must not be negative"),
    (lambda: lax.top_k(x3 * 1j, 1), TypeError, "complex numbers have no order"),
    (lambda: lax.top_k(1.0, 1), ValueError, "rank 0"),
    (lambda: lax.approx_max_k(x3, 4), ValueError, "k=4"),
    (lambda: lax.approx_max_k(x3, 2, recall_target=1.5), ValueError, "recall_target"),
    (lambda: lax.approx_min_k(np.arange(3), 2), TypeError, "does not accept dtype int32")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
