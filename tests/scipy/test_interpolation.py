"""jax.scipy.fft, integrate, interpolate, ndimage and cluster.vq against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq as sv
import scipy.fft as sf
import scipy.integrate as si
import scipy.interpolate as sp
import scipy.ndimage as sn

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy import cluster, fft, integrate, interpolate, ndimage

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True):
        yield


# --- cosine transforms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms(kind):
    x = RNG.normal(size=(3, 7))
    for norm in (None, "backward", "ortho", "forward"):
        for name in ("dct", "idct"):
            for n, axis in ((None, -1), (5, 1), (6, 0)):
                got = getattr(fft, name)(x, kind, n, axis, norm)
                np.testing.assert_allclose(got, getattr(sf, name)(x, kind, n, axis, norm), atol=1e-12, err_msg=name)
    for name in ("dctn", "idctn"):
        for s, axes in ((None, None), ((4, 9), None), ((9,), (1,)), (None, (0,))):
            got = getattr(fft, name)(x, kind, s, axes, "ortho")
            np.testing.assert_allclose(got, getattr(sf, name)(x, kind, s, axes, "ortho"), atol=1e-12)
    np.testing.assert_allclose(fft.idct(fft.dct(x + 1j, kind), kind), x + 1j, atol=1e-12)


@pytest.mark.quick
def test_cosine_transforms_compose():
    x = RNG.normal(size=(2, 6))
    matrix = jax.jacobian(fft.dct)(x[0])
    np.testing.assert_allclose(matrix @ x[1], fft.dct(x[1]), atol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(fft.dct, 1, 1))(x), sf.dct(x, axis=0), atol=1e-12)
    assert fft.dct(x.astype(np.float32)).dtype == np.float32
    assert fft.dct(np.arange(3)).dtype == np.float64
    np.testing.assert_allclose(fft.dct(np.ones(1)), sf.dct(np.ones(1)))


def test_errors_of_cosine_transforms():
    for bad, message in (({"type": 5}, "type must be"), ({"norm": "x"}, "norm must be"), ({"n": 0}, "lengths of at least 1"),
                         ({"type": 1, "n": 1}, "lengths of at least 2"), ({"axis": 2}, "out of bounds")):
        with pytest.raises(ValueError, match=message):
            fft.dct(np.ones(3), **bad)
    with pytest.raises(ValueError, match="twice"):
        fft.dctn(np.ones((2, 2)), axes=(0, -2))
    with pytest.raises(ValueError, match="1 lengths for 2 axes"):
        fft.dctn(np.ones((2, 2)), s=(2,), axes=(0, 1))


def test_trapezoid():
    y, x = RNG.normal(size=(3, 5)), np.sort(RNG.normal(size=5))
    np.testing.assert_allclose(integrate.trapezoid(y, x), si.trapezoid(y, x))
    np.testing.assert_allclose(integrate.trapezoid(y, dx=0.5, axis=0), si.trapezoid(y, dx=0.5, axis=0))


# --- grids ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grid(method):
    points = (np.array([0.0, 0.5, 2.0, 3.0]), np.array([3.0, 1.0, 0.0]))
    values = RNG.normal(size=(4, 3, 2))
    xi = RNG.uniform(-0.5, 3.5, (6, 5, 2))
    xi[0, 0, 0] = np.nan
    xi[1, 1] = 0.5, 1.0
    for fill in (np.nan, 7.0, None):
        ours, theirs = (lib.RegularGridInterpolator(points, values, method, bounds_error=False, fill_value=fill)
                        for lib in (interpolate, sp))
        np.testing.assert_allclose(jax.jit(ours)(xi), theirs(xi), rtol=1e-12, err_msg=str(fill))
    ours = interpolate.RegularGridInterpolator(points, values, method)
    np.testing.assert_allclose(ours((np.ones((2, 1)), np.zeros(3))), theirs((np.ones((2, 1)), np.zeros(3))), rtol=1e-12)
    np.testing.assert_allclose(ours(xi, method="linear"), sp.RegularGridInterpolator(
        points, values, bounds_error=False)(xi), rtol=1e-12)


@pytest.mark.quick
def test_grid_under_transformations():
    p, v = np.arange(4.0), np.arange(4.0) ** 2
    f = lambda v, x: interpolate.RegularGridInterpolator((p,), v)(x)[0]  # noqa: E731
    assert float(jax.grad(f, 1)(v, jnp.array([1.25]))[0]) == 3.0
    np.testing.assert_allclose(jax.grad(f)(v, jnp.array([1.25])), [0, 0.75, 0.25, 0])
    np.testing.assert_allclose(jax.vmap(f, (None, 0))(v, jnp.array([[0.5], [2.5]])), [0.5, 6.5])
    moving = jax.jit(lambda p: interpolate.RegularGridInterpolator((p,), v)(1.5 * jnp.ones(1))[0])
    np.testing.assert_allclose(jax.grad(moving)(p), [0, -1.5, -1.5, 0])


def test_errors_of_grids():
    make = interpolate.RegularGridInterpolator
    for points, values, kwargs, error, message in [
            ((np.arange(3.0),), np.ones(3), {"method": "cubic"}, ValueError, "not defined"),
            ((np.arange(3.0),), np.ones(3), {"bounds_error": True}, NotImplementedError, "bounds_error"),
            ((np.array([0.0, 2, 1]),), np.ones(3), {}, ValueError, "strictly ascending"),
            ((np.arange(3.0),), np.ones(4), {}, ValueError, "points along axis 0"),
            ((np.arange(3.0),) * 2, np.ones(3), {}, ValueError, "2 point arrays"),
            ((np.arange(3.0),), np.ones(3), {"fill_value": 1j}, ValueError, "compatible with values")]:
        with pytest.raises(error, match=message):
            make(points, values, **kwargs)
    with pytest.raises(ValueError, match="dimension 3"):
        make((np.arange(3.0),) * 2, np.ones((3, 3)))(np.ones(3))


# --- images ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_map_coordinates(mode, order):
    theirs = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(mode, mode)
    for image in (RNG.normal(size=(4, 5)), RNG.integers(0, 99, (4, 5)), np.ones((1, 3))):
        points = RNG.uniform(-9, 9, (2, 40))
        got = ndimage.map_coordinates(image, list(points), order, mode, cval=3)
        want = sn.map_coordinates(image, points, order=order, mode=theirs, cval=3)
        assert got.dtype == image.dtype
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.quick
def test_map_coordinates_under_transformations():
    image = RNG.normal(size=(3, 4))
    f = jax.jit(lambda image, x, y: ndimage.map_coordinates(image, [x, y], 1))
    np.testing.assert_allclose(jax.grad(f, 1)(image, 0.5, 2.0), image[1, 2] - image[0, 2])
    np.testing.assert_allclose(jax.grad(f)(image, 0.0, 1.25)[0], [0, 0.75, 0.25, 0])
    np.testing.assert_allclose(jax.vmap(f, (None, 0, None))(image, np.arange(3.0), 1), image[:, 1])
    assert ndimage.map_coordinates(image, [np.zeros((2, 1)), np.zeros(3)], 1).shape == (2, 3)
    with pytest.raises(NotImplementedError, match="splines"):
        ndimage.map_coordinates(image, [0.0, 0.0], 3)
    with pytest.raises(NotImplementedError, match="mode"):
        ndimage.map_coordinates(image, [0.0, 0.0], 1, mode="x")
    with pytest.raises(ValueError, match="1 != 2"):
        ndimage.map_coordinates(image, [0.0], 1)


# --- codes ----------------------------------------------------------------------------------------------------------


def test_vq():
    obs, book = RNG.normal(size=(9, 3)), RNG.normal(size=(4, 3))
    for o, b in ((obs, book), (obs[:, 0], book[:, 0])):
        for got, want in zip(cluster.vq.vq(o, b), sv.vq(o, b), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert np.isfinite(jax.grad(lambda o: cluster.vq.vq(o, book)[1].sum())(book)).all()
    for o, b, message in ((obs, book[0], "same rank"), (obs, book[:, :2], "components"),
                          (obs[None], book[None], "one or two"), (obs, book[:0], "empty")):
        with pytest.raises(ValueError, match=message):
            cluster.vq.vq(o, b)
