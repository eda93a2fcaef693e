"""The normal distributions against SciPy, under rank_promotion='raise'."""

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
