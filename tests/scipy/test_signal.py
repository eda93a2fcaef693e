"""jax.scipy.signal against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal as theirs

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy import signal as ours

RNG = np.random.default_rng(0)


def close(a, b):
    a, b = jax.tree.leaves(a), jax.tree.leaves(b)
    assert [x.shape for x in a] == [x.shape for x in b]
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


# --- convolution ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolution(name, mode):
    shapes = [((7,), (3,)), ((7,), (4,)), ((3,), (6,)), ((4, 5), (2, 3)), ((4, 3, 5), (2, 2, 2))]
    for left, right in shapes:
        a, b = RNG.normal(size=left), RNG.normal(size=right)
        if len(left) == 1:
            a, b = a + 1j * RNG.normal(size=left), b - 1j * RNG.normal(size=right)
        if mode == "same" and left < right:
            continue  # SciPy's two methods differ here
        want = getattr(theirs, name)(a, b, mode)
        for method in ("direct", "fft"):
            got = getattr(ours, name)(a, b, mode, method)
            if name == "correlate" and mode == "valid" and left < right:
                got = jnp.flip(jnp.conj(getattr(ours, name)(b, a, mode, method)))
            close(got, want)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_planes(mode, boundary):
    a, b = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 2))
    for name in ("convolve2d", "correlate2d"):
        for fill in (0, 2.5):
            close(getattr(ours, name)(a, b, mode, boundary, fill), getattr(theirs, name)(a, b, mode, boundary, fill))
    if mode == "valid":
        close(ours.convolve2d(b, a, mode), theirs.convolve2d(b, a, mode))
        close(ours.correlate2d(b, a, mode), theirs.correlate2d(b, a, mode))


def test_by_transforms():
    a, b = RNG.normal(size=(3, 7)), RNG.normal(size=(1, 4))
    for mode in ("full", "same", "valid"):
        close(ours.fftconvolve(a, b, mode, axes=1), theirs.fftconvolve(a, b, mode, axes=1))
        close(ours.fftconvolve(a, b, mode), theirs.fftconvolve(a, b, mode))
    assert ours.fftconvolve(np.ones(3, np.float32), np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.quick
def test_convolution_under_transformations():
    a, b = RNG.normal(size=9), RNG.normal(size=3)
    for method in ("direct", "fft"):
        f = lambda a, b, m=method: ours.convolve(a, b, "same", m)  # noqa: E731
        matrix = jax.jacobian(f)(a, b)
        close(matrix @ a, theirs.convolve(a, b, "same"))
        close(jax.jit(jax.vmap(f, (None, 0)))(a, np.stack([b, 2 * b]))[1], 2 * matrix @ a)


def test_errors_of_convolution():
    one = np.ones(3)
    for call, message in [(lambda: ours.convolve(one, np.ones((2, 2))), "same number of dimensions"),
                          (lambda: ours.convolve(one, one, "x"), "mode must be"),
                          (lambda: ours.convolve(one, one, method="x"), "Got method"),
                          (lambda: ours.convolve(one, one[:0]), "zero-size"),
                          (lambda: ours.convolve(np.ones((2, 5)), np.ones((4, 3)), "valid"), "smaller than the other"),
                          (lambda: ours.convolve2d(one, one), "2-dimensional"),
                          (lambda: ours.convolve2d(np.ones((2, 2)), np.ones((2, 2)), boundary="x"), "boundary"),
                          (lambda: ours.fftconvolve(np.ones((2, 3)), np.ones((3, 3)), axes=1), "incompatible"),
                          (lambda: ours.fftconvolve(one, one, axes=1), "out of bounds"),
                          (lambda: ours.fftconvolve(one, one, axes=(0, 0)), "unique")]:
        with pytest.raises(ValueError, match=message):
            call()


# --- spectra --------------------------------------------------------------------------------------------------------

X, Y = RNG.normal(size=(2, 90)) + 3, RNG.normal(size=(2, 90))
SETTINGS = [{}, {"nperseg": 16}, {"nperseg": 15, "noverlap": 4, "nfft": 20, "fs": 3.0},
            {"window": ("kaiser", 2.0), "nperseg": 9}, {"window": np.hanning(12), "axis": 0, "detrend": "linear"},
            {"nperseg": 8, "return_onesided": False, "detrend": False}]


@pytest.mark.filterwarnings("ignore:.*nperseg:UserWarning")
@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_densities(settings):
    x, y = (v.T if settings.get("axis") == 0 else v for v in (X, Y))
    for average in ("mean", "median"):
        for scaling in ("density", "spectrum"):
            extra = {**settings, "average": average, "scaling": scaling}
            close(ours.welch(x, **extra), theirs.welch(x, **extra))
            if not extra.get("return_onesided", True) and average == "median":
                continue
            close(ours.csd(x, y, **extra), theirs.csd(x, y, **extra))


@pytest.mark.filterwarnings("ignore:.*nperseg:UserWarning")
@pytest.mark.parametrize("settings", SETTINGS[1:], ids=range(1, len(SETTINGS)))
def test_short_time_transforms(settings):
    x = X.T if settings.get("axis") == 0 else X
    settings = {k: v for k, v in settings.items() if k != "detrend"}
    if isinstance(settings.get("window"), np.ndarray):
        close(ours.stft(x, **settings), theirs.stft(x, nperseg=12, **settings))
        settings["nperseg"] = 12
    for boundary, padded in (("zeros", True), ("even", True), ("odd", False), ("constant", True), (None, False)):
        extra = {**settings, "boundary": boundary, "padded": padded}
        close(ours.stft(x, **extra), theirs.stft(x, **extra))
    back = {k: v for k, v in settings.items() if k not in ("axis", "return_onesided")}
    back["input_onesided"] = settings.get("return_onesided", True)
    if isinstance(settings.get("window"), np.ndarray):
        back["freq_axis"] = 0
    if back.get("nperseg") == 15:
        back["noverlap"] = 7  # so that windows overlap enough
        settings["noverlap"] = 7
    z = theirs.stft(x, **settings)[2]
    got, want = ours.istft(z, **back), theirs.istft(z, **back)
    close(got[1], want[1])
    close(got[0], np.arange(got[1].shape[-1]) / settings.get("fs", 1.0))
    n = x.shape[settings.get("axis", -1)]
    np.testing.assert_allclose(got[1][..., :n].real, X, atol=1e-9)
    if len(back) == 2:
        close(ours.istft(z.mT, time_axis=1, freq_axis=2, **back)[1], got[1])
        close(ours.istft(np.moveaxis(z, 2, 0), time_axis=0, freq_axis=2, **back)[1], got[1].T)


def test_spectra_compose():
    f = lambda x: ours.welch(x, nperseg=16)[1]  # noqa: E731
    close(jax.jit(f)(X), f(X))
    close(jax.vmap(f)(X), f(X))
    slope = jax.grad(lambda x: f(x).sum())(X[0])
    h = 1e-6 * Y[0]
    np.testing.assert_allclose(slope @ Y[0], (f(X[0] + h).sum() - f(X[0] - h).sum()) / 2e-6, rtol=1e-6)
    close(ours.welch(X, detrend=lambda v: v - 1.0, nperseg=8), theirs.welch(X, detrend=lambda v: v - 1.0, nperseg=8))
    assert ours.welch(X.astype(np.float32), nperseg=16)[1].dtype == np.float32
    assert ours.welch(np.zeros((2, 0)))[1].shape == (2, 0)


def test_warnings_and_errors_of_spectra():
    with pytest.warns(UserWarning, match="greater than the length"):
        close(ours.welch(X[0, :10], nperseg=16), theirs.welch(X[0, :10], nperseg=10))
    with pytest.warns(UserWarning, match="two sides"):
        close(ours.welch(X + 1j * Y, nperseg=8), theirs.welch(X + 1j * Y, nperseg=8, return_onesided=False))
    for call, message in [(lambda: ours.welch(X, scaling="x"), "scaling"), (lambda: ours.welch(X, average="x"), "average"),
                          (lambda: ours.welch(X, nperseg=8, noverlap=8), "noverlap"),
                          (lambda: ours.welch(X, nperseg=0), "positive"), (lambda: ours.welch(X, nperseg=8, nfft=4), "nfft"),
                          (lambda: ours.welch(X, nperseg=8, detrend="x"), "detrend"),
                          (lambda: ours.welch(X, nperseg=8, window="x"), "window"),
                          (lambda: ours.istft(X[0]), "at least 2d"),
                          (lambda: ours.welch(X, window=np.ones(8), nperseg=9), "different from length"),
                          (lambda: ours.stft(X, nperseg=8, boundary="x"), "boundary")]:
        with pytest.raises(ValueError, match=message):
            call()


# --- trends ---------------------------------------------------------------------------------------------------------


def test_detrend():
    for settings in ({}, {"type": "constant"}, {"axis": 0}, {"bp": 20}, {"bp": [10, 50], "axis": 1}):
        x = X.T if settings.get("axis") == 0 else X
        close(ours.detrend(x, **settings), theirs.detrend(x, **settings))
    close(jax.jacobian(ours.detrend)(X[0, :6]) @ X[1, :6], theirs.detrend(X[1, :6]))
    for settings, error, message in [({"type": "x"}, ValueError, "Trend type"), ({"bp": 99}, ValueError, "Breakpoints"),
                                     ({"overwrite_data": True}, NotImplementedError, "do not change")]:
        with pytest.raises(error, match=message):
            ours.detrend(X, **settings)
