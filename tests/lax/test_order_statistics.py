"""Elements at places of sorted rows: searched and sorted, against NumPy's sort."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.lax import _order_statistics as order

N = order.LEAST_LENGTH
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint32", "int16", "uint16"]


def rows(dtype, shape=(3, N), seed=0):
    rng = np.random.default_rng(seed)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        x[..., :2] = info.min, info.max
        return x
    x = np.array(jnp.asarray(np.round(rng.standard_normal(shape) * 50) / 4, dtype))  # with many equal elements
    x[..., :6] = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-6]).astype(x.dtype)
    return x


def places(x, *at):
    return np.broadcast_to(np.array(at, np.int32), (*x.shape[:-1], len(at))).copy()


def search(x, p):
    return jax.jit(order.order_statistics)(x, p)


@pytest.mark.quick
@pytest.mark.parametrize("dtype", DTYPES)
def test_search_finds_what_sorting_puts_there(dtype):
    x = rows(dtype)
    p = places(x, 0, N // 2 - 1, N // 2, N - 1)
    assert "while" in jax.jit(order.order_statistics).lower(x, p).as_text()
    expected = np.sort(x.astype(np.float64), axis=-1)[..., p[0]]
    np.testing.assert_array_equal(np.asarray(search(x, p)).astype(np.float64), expected)
    assert search(x, p).dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
def test_search_of_wide_types(dtype):
    with jax.enable_x64(True):
        x = rows(dtype)
        p = places(x, 1, N // 3)
        np.testing.assert_array_equal(search(x, p), np.sort(x, axis=-1)[..., p[0]])


def test_nan_is_last_and_zeros_are_ordered_as_by_sort():
    x = rows("float32")
    x[0, 10:20] = np.nan
    x[1, 10:20] = -np.float32(np.nan)
    p = places(x, 0, N - 11, N - 1)
    found = np.asarray(search(x, p))
    np.testing.assert_array_equal(found, np.sort(x, axis=-1)[..., p[0]])
    assert np.isnan(found[:2, 2]).all() and not np.isnan(found[:, 1]).any()
    zeros = np.zeros((1, N), np.float32)
    zeros[0, N // 2:] = -0.0
    p = places(zeros, N // 2 - 1, N // 2)
    np.testing.assert_array_equal(np.signbit(search(zeros, p)), np.signbit(jax.lax.sort(zeros)[:, N // 2 - 1:N // 2 + 1]))


def test_every_place():
    x = rows("float32", (N,))
    ordered = np.sort(x)
    for at in range(0, N, 97):
        assert search(x, places(x, at))[0] == ordered[at]


def test_short_rows_and_many_places_are_sorted():
    x = rows("float32", (2, 7))
    assert "sort" in jax.jit(order.order_statistics).lower(x, places(x, 3)).as_text()
    many = np.arange(40, dtype=np.int32)
    y = rows("float32", (N,))
    assert "sort" in jax.jit(order.order_statistics).lower(y, many).as_text()
    np.testing.assert_array_equal(search(y, many), np.sort(y)[:40])
    assert search(np.zeros((0, 5), np.float32), np.zeros((0, 2), np.int32)).shape == (0, 2)


@pytest.mark.quick
def test_derivatives_are_those_of_sort():
    x = rows("float32", (2, N))
    weights = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
    p = places(x, 5, 5, N // 2)

    def by_search(x):
        return jnp.sum(order.order_statistics(x, p) * weights)

    def by_sort(x):
        return jnp.sum(jnp.take_along_axis(jnp.sort(x), p, -1) * weights)

    np.testing.assert_array_equal(jax.grad(by_search)(x), jax.grad(by_sort)(x))
    t = rows("float32", (2, N), seed=1)
    t[~np.isfinite(t)] = 0
    np.testing.assert_allclose(jax.jvp(by_search, (x,), (t,))[1], jax.jvp(by_sort, (x,), (t,))[1], rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 0), (1, None), (None, 1), (2, 0)])
def test_batching(axes):
    x, p = rows("float32", (2, 3, N)), places(rows("float32", (2, 3, N)), 4, N // 2)
    full = np.sort(x, -1)[..., [4, N // 2]]
    args = [x[0] if axes[0] is None else np.moveaxis(x, 0, axes[0]), p[0] if axes[1] is None else np.moveaxis(p, 0, axes[1])]
    out = jax.jit(jax.vmap(order.order_statistics, in_axes=axes))(*args)
    np.testing.assert_array_equal(out, full if axes[0] is not None else np.broadcast_to(full[0], full.shape))


def test_misuse():
    with pytest.raises(TypeError, match=r"places must be int32 of shape \(\*\(3,\), m\)"):
        order.order_statistics(np.zeros((3, 4), np.float32), np.zeros((2, 1), np.int32))
    with pytest.raises(TypeError, match="complex numbers have no order"):
        order.order_statistics(np.zeros(4, np.complex64), np.zeros(1, np.int32))


@pytest.mark.quick
@pytest.mark.parametrize("n", [N, N + 1])
def test_medians_and_quantiles_of_long_rows(n):
    x = np.random.default_rng(3).standard_normal((3, n)).astype(np.float32)
    np.testing.assert_allclose(jnp.median(x, axis=1), np.median(x, axis=1), rtol=1e-6)
    np.testing.assert_allclose(jnp.median(x), np.median(x), rtol=1e-6)
    q = [0.1, 0.5, 0.99]
    found = jnp.quantile(x, np.array(q, np.float32), axis=1)
    np.testing.assert_allclose(found, np.quantile(x, q, axis=1), rtol=1e-4, atol=1e-6)
    for method in ("nearest", "lower", "higher", "midpoint", "hazen", "inverted_cdf"):
        np.testing.assert_allclose(jnp.percentile(x, 30.0, method=method), np.percentile(x, 30.0, method=method), rtol=1e-4)
    x[1, 5] = np.nan
    assert np.isnan(jnp.median(x, axis=1)[1]) and np.isnan(jnp.quantile(x, 0.2, axis=1)[1])
    np.testing.assert_allclose(jnp.nanmedian(x, axis=1), np.nanmedian(x, axis=1), rtol=1e-6)
