"""Statistics that are no functions of one distribution, against SciPy; under rank_promotion='raise'."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as ss

import jax
from jax._base.config import enable_x64
from jax.scipy import stats

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"])
def test_norm(name):
    x = RNG.uniform(0.01, 0.99, 9) if name in ("ppf", "isf") else 3 * RNG.normal(size=9)
    np.testing.assert_allclose(getattr(stats.norm, name)(x, 0.3, 1.5), getattr(ss.norm, name)(x, 0.3, 1.5), rtol=1e-11)
    assert getattr(stats.norm, name)(np.float32(0.5)).dtype == np.float32


@pytest.mark.quick
def test_multivariate_normal():
    c = RNG.normal(size=(3, 3))
    c = c @ c.T + np.eye(3)
    m, x = RNG.normal(size=3), RNG.normal(size=(4, 2, 3))
    normal = stats.multivariate_normal
    np.testing.assert_allclose(normal.logpdf(x, m, c), ss.multivariate_normal.logpdf(x, m, c), rtol=1e-12)
    np.testing.assert_allclose(normal.pdf(x[0, 0], m, c), ss.multivariate_normal.pdf(x[0, 0], m, c), rtol=1e-12)
    np.testing.assert_allclose(normal.logpdf(x, m, 2.0), ss.multivariate_normal.logpdf(x, m, 2.0), rtol=1e-12)
    np.testing.assert_allclose(normal.logpdf(x[0, 0], 0.0, 2.0), ss.norm.logpdf(x[0, 0], 0, np.sqrt(2)), rtol=1e-12)
    stacked = normal.logpdf(x, m, np.stack([c, 2 * c]))
    np.testing.assert_allclose(stacked[:, 1], ss.multivariate_normal.logpdf(x[:, 1], m, 2 * c), rtol=1e-12)
    mapped = jax.vmap(lambda v: normal.logpdf(v, m, c))(x[:, 0])
    np.testing.assert_allclose(mapped, normal.logpdf(x[:, 0], m, c), rtol=1e-12)
    slope = jax.grad(lambda v: normal.logpdf(v, m, c))(x[0, 0])
    np.testing.assert_allclose(slope, -np.linalg.solve(c, x[0, 0] - m), rtol=1e-10)


def test_errors_of_multivariate_normal():
    with pytest.raises(ValueError, match="cov must have shape"):
        stats.multivariate_normal.logpdf(np.ones(3), np.ones(3), np.eye(2))
    with pytest.raises(ValueError, match="components"):
        stats.multivariate_normal.logpdf(np.ones(2), np.ones(3), np.eye(3))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(np.ones(3), np.ones(3), np.eye(3), allow_singular=True)


# --- several variables ----------------------------------------------------------------------------------------------


def test_dirichlet():
    alpha, x = np.array([0.7, 2.0, 3.5]), RNG.dirichlet([1.0, 2, 3], 4).T
    logpdf = stats.dirichlet.logpdf
    np.testing.assert_allclose(logpdf(x, alpha), ss.dirichlet.logpdf(x, alpha), rtol=1e-12)
    np.testing.assert_allclose(logpdf(x[:2, 0], alpha), ss.dirichlet.logpdf(x[:2, 0], alpha), rtol=1e-12)
    np.testing.assert_allclose(stats.dirichlet.pdf(x, alpha), ss.dirichlet.pdf(x, alpha), rtol=1e-12)
    np.testing.assert_array_equal(logpdf(np.array([[0.5, 0.2], [0.6, -0.1], [0.5, 0.9]]), alpha), [-np.inf, -np.inf])
    assert np.isnan(logpdf(x[:, 0], -alpha))
    np.testing.assert_allclose(logpdf(np.array([0.0, 0.5, 0.5]), np.array([1.0, 2, 2])), np.log(4 * 0.25 * 6), rtol=1e-12)
    single = logpdf(x.astype(np.float32), alpha.astype(np.float32))
    np.testing.assert_allclose(single, ss.dirichlet.logpdf(x, alpha), rtol=1e-5)
    slope = jax.grad(lambda a: logpdf(x[:, 0], a))(alpha)
    digamma = jax.scipy.special.digamma
    np.testing.assert_allclose(slope, np.log(x[:, 0]) + digamma(alpha.sum()) - digamma(alpha), rtol=1e-10)
    for bad in (np.ones(5), np.ones((4, 2))):
        with pytest.raises(ValueError, match="rows"):
            logpdf(bad, alpha)
    with pytest.raises(ValueError, match="one axis"):
        logpdf(x, np.ones((3, 2)))


def test_multinomial():
    x, p = np.array([[1, 2, 0], [2, 0, 1], [3, 1, 0], [1, 1, 1]]), np.array([0.2, 0.5, 0.3])
    logpmf = stats.multinomial.logpmf
    np.testing.assert_allclose(logpmf(x, 3, p), ss.multinomial.logpmf(x, 3, p), rtol=1e-12)
    np.testing.assert_allclose(stats.multinomial.pmf(x, np.array([3, 3, 4, 2]), p),
                               ss.multinomial.pmf(x, np.array([3, 3, 4, 2]), p), rtol=1e-12)
    with jax.numpy_rank_promotion("allow"):
        mapped = jax.jit(jax.vmap(logpmf, (None, None, 0)))(x[0], 3, np.stack([p, p[::-1]]))
    np.testing.assert_allclose(mapped, [ss.multinomial.logpmf(x[0], 3, q) for q in (p, p[::-1])], rtol=1e-12)
    slope = jax.grad(logpmf, 2)(np.array([2.0, 0, 0]), 2, np.array([1.0, 0, 0]))
    np.testing.assert_allclose(slope, [2, 0, 0])
    assert np.isnan(logpmf(x[0], 3, p - 0.4)) and np.isnan(logpmf(x[0], 2.5, p)) and logpmf(x[0] + 0.5, 3, p) == -np.inf
    with pytest.raises(ValueError, match="axis of classes"):
        logpmf(1, 1, 0.5)


def test_entropy_of_poisson():
    mu = np.array([0.0, 1e-3, 0.5, 3.0, 31.9])
    np.testing.assert_allclose(stats.poisson.entropy(mu), ss.poisson.entropy(mu), rtol=1e-10)
    assert np.isnan(stats.poisson.entropy(-1.0))

    def direct(mu):
        k = np.arange(20000)
        log_p = ss.poisson.logpmf(k, mu)
        return -np.sum(np.exp(log_p) * np.maximum(log_p, -1e9))
    far = np.array([32.1, 100.0, 5000.0])
    np.testing.assert_allclose(stats.poisson.entropy(far), [direct(m) for m in far], rtol=1e-11)
    np.testing.assert_allclose(jax.vmap(jax.grad(stats.poisson.entropy))(np.array([31.999, 32.001])),
                               [(direct(m + 1e-3) - direct(m - 1e-3)) / 2e-3 for m in (31.999, 32.001)], rtol=1e-7)


# --- description ----------------------------------------------------------------------------------------------------

TABLE = RNG.integers(0, 5, (4, 6, 3))


@pytest.mark.quick
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_mode(axis):
    for a in (TABLE, np.where(TABLE == 2, np.nan, TABLE), TABLE[:0].astype(float)):
        if not a.size and axis != 0:
            continue
        for keepdims in (False, True):
            with np.errstate(all="ignore"):
                want = ss.mode(a, axis=axis, keepdims=keepdims) if a.size else None
            got = stats.mode(a, axis=axis, keepdims=keepdims)
            if want is None:
                assert got.mode.shape == ((1,) if keepdims else ()) + a.shape[1:] and np.isnan(got.mode).all()
                continue
            np.testing.assert_array_equal(got.mode, want.mode)
            np.testing.assert_array_equal(got.count, want.count)
            assert got.mode.dtype == a.dtype


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method):
    for a in (TABLE, np.where(TABLE + np.arange(3) == 3, np.nan, TABLE), TABLE[:, :0]):
        for axis in (None, 0, -1):
            np.testing.assert_array_equal(stats.rankdata(a, method, axis=axis), ss.rankdata(a, method, axis=axis))
    np.testing.assert_array_equal(jax.vmap(stats.rankdata)(TABLE[0]), ss.rankdata(TABLE[0], axis=1))
    with pytest.raises(ValueError, match="unknown method"):
        stats.rankdata(TABLE, "x")


def test_sem():
    a = RNG.normal(size=(4, 5))
    for settings in ({}, {"axis": 1, "ddof": 0}, {"axis": None, "keepdims": True}):
        np.testing.assert_allclose(stats.sem(a, **settings), ss.sem(a, **settings), rtol=1e-12)
    holes = np.where(a > a.max(0), a, a)
    holes[1, :3] = np.nan
    want = np.ma.getdata(ss.sem(holes, nan_policy="omit"))
    np.testing.assert_allclose(stats.sem(holes, nan_policy="omit"), want, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(stats.sem(holes)), np.isnan(holes).any(0))


def test_policies():
    for fun in (stats.mode, stats.rankdata, stats.sem):
        with pytest.raises(NotImplementedError, match="raise"):
            fun(TABLE, nan_policy="raise")
        with pytest.raises(ValueError, match="nan_policy"):
            fun(TABLE, nan_policy="x")
    with pytest.raises(NotImplementedError, match="omit"):
        stats.mode(TABLE, nan_policy="omit")


# --- estimates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3])
def test_gaussian_kde(d):
    sample, points = RNG.normal(size=(d, 20)), RNG.normal(size=(d, 7))
    if d == 1:
        sample = sample[0]
    for settings in ({}, {"bw_method": "silverman"}, {"bw_method": 0.7, "weights": np.arange(1.0, 21)},
                     {"bw_method": lambda k: k.neff**-0.2}):
        ours, theirs = stats.gaussian_kde(sample, **settings), ss.gaussian_kde(sample, **settings)
        np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-10)
        np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-10)
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-12)
        np.testing.assert_allclose(ours.inv_cov, theirs.inv_cov, rtol=1e-10)
    cov = np.eye(d) + 0.1
    mean = np.full(d, 0.3)
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), rtol=1e-10)
    other = np.flip(sample) * 2
    np.testing.assert_allclose(ours.integrate_kde(stats.gaussian_kde(other)), theirs.integrate_kde(ss.gaussian_kde(other)),
                               rtol=1e-10)
    if d == 1:
        np.testing.assert_allclose(ours.integrate_box_1d(-0.3, 1.0), theirs.integrate_box_1d(-0.3, 1.0), rtol=1e-12)
    else:
        with pytest.raises(ValueError, match="3 components"):
            ours.integrate_box_1d(0, 1)
    drawn = ours.resample(jax.random.key(0), (4000,))
    assert drawn.shape == (d, 4000) and ours.resample(jax.random.key(0)).shape == (d,)
    np.testing.assert_allclose(np.cov(drawn), np.cov(sample) + ours.covariance if d > 1 else
                               np.var(sample, ddof=1) + ours.covariance[0, 0], atol=0.35)


def test_gaussian_kde_under_transformations():
    sample = RNG.normal(size=9)
    f = lambda s, x: stats.gaussian_kde(s).logpdf(x)[0]  # noqa: E731
    slope = jax.jit(jax.grad(f))(sample, np.array([0.3]))
    h = 1e-6 * np.eye(9)[2]
    numeric = (ss.gaussian_kde(sample + h).logpdf(0.3) - ss.gaussian_kde(sample - h).logpdf(0.3)) / 2e-6
    np.testing.assert_allclose(slope[2], numeric[0], rtol=1e-6)
    kde = jax.jit(lambda k: k)(stats.gaussian_kde(sample))
    assert isinstance(kde, stats.gaussian_kde) and (kde.d, kde.n) == (1, 9)
    for call, error, message in [(lambda: stats.gaussian_kde(sample[:1]), ValueError, "n > 1"),
                                 (lambda: stats.gaussian_kde(sample, weights=np.ones(3)), ValueError, "weights"),
                                 (lambda: stats.gaussian_kde(sample, "x"), ValueError, "bw_method"),
                                 (lambda: stats.gaussian_kde(sample * 1j), TypeError, "real"),
                                 (lambda: kde(np.ones((2, 3))), ValueError, "1 components"),
                                 (lambda: kde.integrate_box(0, 1), NotImplementedError, "integrate_box_1d"),
                                 (lambda: kde.set_bandwidth(1.0), NotImplementedError, "bw_method")]:
        with pytest.raises(error, match=message):
            call()
