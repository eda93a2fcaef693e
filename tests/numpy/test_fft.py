"""jnp.fft against NumPy, and its errors. Derivatives: tests/lax/test_linalg_checks."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5, 2))
Z = X + 1j * RNG.normal(size=X.shape)


def close(x, y, tol=1e-11):
    assert x.dtype == y.dtype or x.dtype.itemsize < y.dtype.itemsize
    np.testing.assert_allclose(x, y, rtol=tol, atol=tol)


@pytest.mark.quick
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, norm):
    x = X if name in ("rfft", "ihfft") else Z
    with enable_x64(True):
        for n, axis in ((None, -1), (3, 2), (7, 1)):
            close(getattr(jnp.fft, name)(x, n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name, norm):
    x = X if name == "rfftn" else Z
    with enable_x64(True):
        for s, axes in ((None, None), ((3, 6), (2, 0)), ((4, 4), (-2, -1))):
            close(getattr(jnp.fft, name)(x, s, axes, norm), getattr(np.fft, name)(x, s, axes, norm))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(name):
    x = X if name == "rfft2" else Z
    with enable_x64(True):
        close(getattr(jnp.fft, name)(x), getattr(np.fft, name)(x))
        close(getattr(jnp.fft, name)(x, (4, 6), (0, 1)), getattr(np.fft, name)(x, (4, 6), (0, 1)))


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        np.testing.assert_allclose(jnp.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(jnp.fft.rfftfreq(n), np.fft.rfftfreq(n), rtol=1e-6)
    x = X[0, :, :, 0]
    for axes in (None, 0, (1,)):
        np.testing.assert_array_equal(jnp.fft.fftshift(x, axes), np.fft.fftshift(x.astype("f"), axes))
        np.testing.assert_array_equal(jnp.fft.ifftshift(x, axes), np.fft.ifftshift(x.astype("f"), axes))


def test_dtypes():
    assert jnp.fft.fft(np.arange(4)).dtype == np.complex64
    assert jnp.fft.rfft(jnp.ones(4, jnp.bfloat16)).dtype == np.complex64
    assert jnp.fft.irfft(np.ones(3, np.complex64)).dtype == np.float32
    assert jnp.fft.fftfreq(4, dtype=jnp.bfloat16).dtype == jnp.bfloat16


def test_every_transform_is_differentiated_by_its_transpose():
    rng = np.random.default_rng(1)
    with enable_x64(True):
        for name, x in (("fftn", Z), ("irfftn", Z), ("rfftn", X), ("hfft", Z)):
            fn = getattr(jnp.fft, name)
            out, pullback = jax.vjp(fn, x)
            ct = rng.normal(size=out.shape).astype(out.dtype)
            t = rng.normal(size=x.shape).astype(x.dtype)
            np.testing.assert_allclose(np.sum(np.real(pullback(ct)[0] * t)), np.sum(np.real(ct * fn(t))), rtol=1e-9)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: jnp.fft.fft(X, n=0), "positive"), (lambda: jnp.fft.fft(X, norm="bad"), "norm"),
    (lambda: jnp.fft.fft(X, axis=9), "out of bounds"), (lambda: jnp.fft.fft(X, axis=(0, 1)), "fftn"),
    (lambda: jnp.fft.rfft(Z), "must be real"), (lambda: jnp.fft.fftn(X, axes=(0, 0)), "twice"),
    (lambda: jnp.fft.fft2(X, axes=(0,)), "two axes"), (lambda: jnp.fft.fftn(X, s=(3,), axes=(0, 1)), "lengths"),
    (lambda: jnp.fft.fftfreq(0), "positive"), (lambda: jnp.fft.fftfreq(3, np.ones(2)), "scalar"),
    (lambda: jax.lax.fft(np.ones(4, "f"), "bad", (4,)), "must be one of"),
    (lambda: jax.lax.fft(np.ones(4, "F"), "fft", (5,)), "trailing dimensions"),
])
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
