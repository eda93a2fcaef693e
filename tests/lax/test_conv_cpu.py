"""Convolutions written otherwise on CPUs: random programs with the rewrites on and off, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax import numpy as jnp
from jax._base.config import cpu_fast_convolutions
from jax.lax import _conv_cpu, _conv_sequences

LAYOUTS = [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("HNWC", "IHOW", "WCHN")]


@pytest.fixture
def eager_to_rewrite(monkeypatch):
    """Rewrites without regard to size; what is traced with such thresholds is not kept."""
    monkeypatch.setattr(_conv_cpu, "LEAST_WORK", 1)
    monkeypatch.setattr(_conv_cpu, "PAIRED_FEATURES", 4)
    yield
    jax.clear_caches()


def random_array(rng, shape, dtype):
    x = rng.standard_normal(shape) * 4
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def random_convolution(rng, dtype):
    """A function of images and kernel, and these."""
    batch_groups = rng.random() < 0.3
    groups = int(rng.choice([1, 2, 3, 4, 6]))
    each_in, each_out = (int(rng.choice([1, 2, 3])) for _ in range(2))
    spatial, window = rng.integers(1, 9, 2), rng.integers(1, 4, 2)
    if rng.random() < 0.3:
        window = np.ones(2, int)
    n = int(rng.integers(1, 4)) * (groups if batch_groups else 1)
    numbers = LAYOUTS[rng.integers(3)]
    dilation = rng.integers(1, 3, 2)
    pads = [(int(a), int(b)) for a, b in rng.integers(0, 3, (2, 2))] if rng.random() < 0.6 else [(0, 0)] * 2
    spatial = np.maximum(spatial, (window - 1) * dilation + 1)
    x = random_array(rng, (n, each_in * (1 if batch_groups else groups), *spatial), dtype)
    y = random_array(rng, (groups * each_out, each_in, *window), dtype)
    x = x.transpose(["NCHW".index(c) for c in numbers[0]])
    y = y.transpose(["OIHW".index(c) for c in numbers[1]])
    strides = rng.integers(1, 3, 2) if rng.random() < 0.5 else np.ones(2, int)
    spread = rng.integers(1, 3, 2) if rng.random() < 0.3 else np.ones(2, int)

    def convolve(x, y):
        return lax.conv_general_dilated(
            x, y, strides.tolist(), pads, spread.tolist(), dilation.tolist(), numbers,
            **{"batch_group_count" if batch_groups else "feature_group_count": groups})

    return convolve, x, y


def close(got, want, dtype):
    """Sums of a few hundred products: some units in the last place of the largest."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype == dtype
    assert got.shape == want.shape
    if np.issubdtype(dtype, np.integer):
        np.testing.assert_array_equal(got, want)
        return
    wide = np.complex128 if np.issubdtype(dtype, np.complexfloating) else np.float64
    scale = max(1.0, float(np.abs(want.astype(wide)).max(initial=0)))
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=0, atol=64 * float(jnp.finfo(dtype).eps) * scale)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.usefixtures("eager_to_rewrite")
def test_the_same_with_and_without(seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(["float32", "float32", "float32", "bfloat16", "int32", "complex64"][seed % 6])
    convolve, x, y = random_convolution(rng, dtype)
    cotangent = random_array(rng, jax.eval_shape(convolve, x, y).shape, dtype)

    def program(x, y, c):
        if dtype.kind == "i":
            return [convolve(x, y)]
        out, pull = jax.vjp(convolve, x, y)
        return [out, *pull(c)]

    got = jax.jit(program)(x, y, cotangent)
    with cpu_fast_convolutions(False):
        want = jax.jit(program)(x, y, cotangent)
    for a, b in zip(got, want, strict=True):
        close(a, b, dtype)


def text(f, *args):
    return jax.jit(f).lower(*args).as_text()


def plain(n, k, *numbers, **groups):
    return lambda x, y: lax.conv_general_dilated(x, y, (1,) * n, [(k // 2, k // 2)] * n, dimension_numbers=numbers, **groups)


@pytest.mark.quick
def test_what_is_rewritten():
    depthwise = plain(2, 3, *LAYOUTS[1], feature_group_count=8)
    x, y = np.ones((2, 8, 8, 8), np.float32), np.ones((3, 3, 1, 8), np.float32)
    backward = jax.grad(lambda x, y: depthwise(x, y).sum(), (0, 1))
    assert "stablehlo.convolution" not in text(backward, x, y)
    pixel = plain(2, 1, *LAYOUTS[0])
    backward = jax.grad(lambda x, y: (pixel(x, y) ** 2).sum(), (0, 1))
    x, y = np.ones((2, 8, 8, 8), np.float32), np.ones((8, 8, 1, 1), np.float32)
    assert "stablehlo.convolution" not in text(backward, x, y)
    with cpu_fast_convolutions(False):
        assert "stablehlo.convolution" in text(backward, x, y)


def test_groups_of_many_features_are_convolutions_of_their_own():
    f = plain(2, 3, *LAYOUTS[1], feature_group_count=2)
    x, y = np.ones((4, 32, 32, 32), np.float32), np.ones((3, 3, 16, 32), np.float32)
    written = text(jax.grad(lambda x, y: (f(x, y) ** 2).sum(), 1), x, y)
    assert written.count("stablehlo.convolution") == 3  # the second part is one, of all pairs
    assert "feature_group_count = 2" not in written and "batch_group_count = 2" not in written


@pytest.mark.parametrize("taps", [3, 5])
def test_gradient_of_depthwise_kernels(taps):
    """Against sums in double precision; five by five places are a loop over rows."""
    rng = np.random.default_rng(taps)
    x, c = (rng.standard_normal((3, 9, 8, 5)).astype(np.float32) for _ in range(2))
    f = plain(2, taps, *LAYOUTS[1], feature_group_count=5)
    got = jax.jit(lambda x, c: jax.vjp(lambda y: f(x, y), jnp.zeros((taps, taps, 1, 5)))[1](c)[0])(x, c)
    p = taps // 2
    wide = np.pad(x.astype(np.float64), [(0, 0), (p, p), (p, p), (0, 0)])
    want = [[(wide[:, i:i + 9, j:j + 8] * c).sum((0, 1, 2)) for j in range(taps)] for i in range(taps)]
    np.testing.assert_allclose(got[:, :, 0], want, atol=2e-5)


def test_other_groups_do_not_see_what_is_not_finite():
    x = np.ones((1, 16, 16, 64), np.float32)
    x[..., :32] = np.inf
    y = np.ones((3, 3, 32, 64), np.float32)
    y[0, 0, 0, 0] = -1
    out = jax.jit(plain(2, 3, *LAYOUTS[1], feature_group_count=2))(np.tile(x, (8, 1, 1, 1)), y)
    assert np.isfinite(out[..., 32:]).all() and np.isnan(out[..., 0]).any()


# --- sequences ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("n", "k", "mode"), [
    (5000, 300, "full"), (5000, 300, "same"), (5000, 300, "valid"), (300, 5000, "full"), (3000, 3000, "valid"),
    (2000, 1999, "full"), (1024, 128, "same"), (700, 700, "full")])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_long_sequences(n, k, mode, name):
    rng = np.random.default_rng(n + k)
    a, v = (rng.standard_normal(m).astype(np.float32) for m in (n, k))
    want = getattr(np, name)(a.astype(np.float64), v.astype(np.float64), mode)
    got = jax.jit(getattr(jnp, name), static_argnums=2)(a, v, mode)
    # A bound for each result by itself: a transform has none.
    bound = getattr(np, name)(np.abs(a).astype(np.float64), np.abs(v).astype(np.float64), mode)
    assert got.shape == want.shape
    assert np.all(np.abs(got - want) <= 1e-6 * bound)


def test_long_sequences_of_other_types():
    rng = np.random.default_rng(3)
    a, v = (rng.integers(-2**30, 2**30, m).astype(np.int32) for m in (4000, 200))
    np.testing.assert_array_equal(jax.jit(jnp.convolve)(a, v), np.convolve(a, v))  # exact, modulo 2**32
    a, v = (x.astype(np.float32) / 2**30 for x in (a, v))
    z, w = a + 1j * a[::-1], v - 2j * v[::-1]
    np.testing.assert_allclose(jax.jit(jnp.correlate)(z, w), np.correlate(z, w, "valid"), atol=2e-4)
    half = jax.jit(jnp.convolve)(jnp.asarray(a, jnp.bfloat16), jnp.asarray(v, jnp.bfloat16))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype(np.float32), np.convolve(a, v), atol=0.2)
    with jax.enable_x64(True):
        a, v = a.astype(np.float64), v.astype(np.float64)
        np.testing.assert_allclose(jax.jit(jnp.convolve)(a, v), np.convolve(a, v), atol=1e-13)


def test_kernels_in_pieces(monkeypatch):
    monkeypatch.setattr(_conv_sequences, "MOST_FRAMES", 1 << 10)
    jax.clear_caches()
    rng = np.random.default_rng(4)
    a, v = (rng.standard_normal(m).astype(np.float32) for m in (3000, 900))
    np.testing.assert_allclose(jax.jit(jnp.convolve)(a, v), np.convolve(a, v), atol=2e-4)
    jax.clear_caches()


def test_derivatives_and_batches_of_long_sequences():
    rng = np.random.default_rng(5)
    a, v = rng.standard_normal((2, 1500)).astype(np.float32), rng.standard_normal((2, 200)).astype(np.float32)
    c = rng.standard_normal(1699).astype(np.float32)
    da, dv = jax.jit(lambda a, v: jax.vjp(jnp.convolve, a, v)[1](c))(a[0], v[0])
    np.testing.assert_allclose(da, np.correlate(c, v[0], "valid"), atol=3e-4)
    np.testing.assert_allclose(dv, np.correlate(c, a[0], "valid"), atol=3e-4)
    tangent = jax.jit(lambda a, v: jax.jvp(jnp.convolve, (a, v), (v[:1] * a, v))[1])(a[0], v[0])
    np.testing.assert_allclose(tangent, np.convolve(a[0], v[0]) * (1 + v[0, 0]), atol=1e-3)
    want = np.stack([np.convolve(x, y) for x, y in zip(a, v, strict=True)])
    np.testing.assert_allclose(jax.jit(jax.vmap(jnp.convolve))(a, v), want, atol=3e-4)
    want = np.stack([np.convolve(x, v[0]) for x in a])
    np.testing.assert_allclose(jax.jit(jax.vmap(jnp.convolve, (0, None)))(a, v[0]), want, atol=3e-4)
