"""Sine, cosine and tangent of large arrays: accuracy over the whole range, special values, other dtypes, composition."""

import mpmath
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import cpu_fast_trigonometry
from jax.lax import _trigonometric_cpu as fast

SIZE = fast.LEAST_SIZE
FUNCTIONS = {"sin": (jnp.sin, np.sin), "cos": (jnp.cos, np.cos), "tan": (jnp.tan, np.tan)}


def spread(limit, size=1 << 18):
    """Float32 values of both signs whose bits are evenly spread up to ``limit``, and values about multiples of pi/2."""
    top = np.float32(limit).view(np.int32)
    bits = np.linspace(0, top, size // 2).astype(np.int32)
    near = (np.arange(1, size // 4) * (limit / (size // 4)) // (np.pi / 2) * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([bits.view(np.float32), near, np.nextafter(near, np.float32(0))])
    return np.concatenate([x, -x])


def ulps(value, truth):
    """Distance in units of the last place of the truth."""
    truth32 = truth.astype(np.float32)
    return np.abs(value.astype(np.float64) - truth) / np.spacing(np.maximum(np.abs(truth32), np.float32(1e-37)))


@pytest.mark.quick
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy_up_to_the_limit(name):
    ours, numpys = FUNCTIONS[name]
    x = spread(fast.REDUCIBLE)
    assert "conditional(" in jax.jit(ours).lower(x).compile().as_text()
    truth = numpys(x.astype(np.float64))
    value = np.asarray(jax.jit(ours)(x))
    assert ulps(value, truth).max() <= (0.85 if name == "tan" else 0.6)
    np.testing.assert_array_equal(np.signbit(value)[x == 0], np.signbit(truth)[x == 0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_with_elements_beyond_the_limit(name):
    ours, numpys = FUNCTIONS[name]
    x = spread(3e38)
    truth = numpys(x.astype(np.float64))
    assert ulps(np.asarray(jax.jit(ours)(x)), truth).max() <= 4


@pytest.mark.quick
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    ours, _ = FUNCTIONS[name]
    x = np.zeros(SIZE, np.float32)
    x[:6] = [np.nan, np.inf, -np.inf, -0.0, 1e-40, -1e-40]
    value = np.asarray(jax.jit(ours)(x))
    assert np.isnan(value[:3]).all()
    x[1:3] = 1  # without infinities, all are within the limit
    value = np.asarray(jax.jit(ours)(x))
    assert np.isnan(value[0]) and np.signbit(value[3]) == (name != "cos")
    assert np.isfinite(value[1:]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float64, jnp.complex64])
def test_dtypes(name, dtype):
    ours, numpys = FUNCTIONS[name]
    with jax.enable_x64(True):
        x = jnp.linspace(-8, 8, SIZE).astype(dtype)
        value = jax.jit(ours)(x)
        assert value.dtype == dtype
        wide = np.asarray(x).astype(np.complex128 if dtype == jnp.complex64 else np.float64)
        eps = float(jnp.finfo(dtype).eps)
        np.testing.assert_allclose(np.asarray(value).astype(wide.dtype), numpys(wide), rtol=4 * eps, atol=4 * eps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_double_precision(name):
    """Against mpmath, at numbers of all magnitudes and next to multiples of pi/2, where little remains of them."""
    rng = np.random.default_rng(1)
    with mpmath.workprec(200):
        near = [float(mpmath.pi / 2 * int(k)) for k in rng.integers(1, 600_000, 1000)]
        x = np.concatenate([rng.uniform(-10, 10, 1000), rng.uniform(-1e6, 1e6, 1000), near, 10 ** rng.uniform(-300, 6, 500)])
        with jax.enable_x64(True):
            value = np.asarray(jax.jit(FUNCTIONS[name][0])(np.resize(x, SIZE)))[:x.size]
            edge = np.asarray(jax.jit(FUNCTIONS[name][0])(np.resize([-0.0, np.nan, 5e-324, 0.0], SIZE)))[:4]
        errors = []
        for a, b in zip(x, value, strict=True):
            truth = getattr(mpmath, name)(mpmath.mpf(float(a)))
            errors.append(abs(float((mpmath.mpf(float(b)) - truth) / np.spacing(abs(float(truth))))))
    assert max(errors) <= (1.6 if name == "tan" else 0.8)
    assert np.isnan(edge[1]) and np.isfinite(edge[[0, 2, 3]]).all() and np.signbit(edge[0]) == (name != "cos")


@pytest.mark.quick
def test_when_it_is_used():
    def text(size, platform="cpu", **kw):
        x = jax.ShapeDtypeStruct((size,), jnp.float32)
        return jax.jit(lambda x: jax.lax.sin(x, **kw)).trace(x).lower(lowering_platforms=(platform,)).as_text()

    assert "stablehlo.case" in text(SIZE)
    assert "stablehlo.case" not in text(SIZE - 1)
    assert "stablehlo.case" not in text(SIZE, "cuda") and "stablehlo.sine" in text(SIZE, "cuda")
    assert "stablehlo.case" not in text(SIZE, accuracy=jax.lax.AccuracyMode.HIGHEST)
    with cpu_fast_trigonometry(False):
        assert "stablehlo.case" not in text(SIZE)


def test_composition():
    x = np.linspace(-6, 6, SIZE * 2, dtype=np.float32).reshape(2, SIZE)
    d = x.astype(np.float64)

    def f(v):
        return jnp.sum(jnp.sin(v) * jnp.cos(v) + jnp.tan(v * 0.1))

    slope = np.cos(2 * d) + 0.1 / np.cos(0.1 * d) ** 2
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(f)))(x), slope, atol=2e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(x), slope, atol=2e-6)
    scanned = jax.jit(lambda v: jax.lax.scan(lambda c, r: (c, jnp.sin(r)), 0, v)[1])
    np.testing.assert_allclose(scanned(x), np.sin(d), atol=2e-7)
