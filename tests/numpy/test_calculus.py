"""Differences, integrals, covariances, windows and vectorize, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 6))
T = np.cumsum(RNG.uniform(0.5, 2, 6))


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


def close(x, y, tol=1e-10):
    for g, w in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True):
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


CALLS = {
    "trapezoid": lambda np: np.trapezoid(X), "trapezoid-x": lambda np: np.trapezoid(X, T),
    "trapezoid-axis": lambda np: np.trapezoid(X, axis=0, dx=0.5), "trapezoid-int": lambda np: np.trapezoid(np.arange(5)),
    "trapezoid-full": lambda np: np.trapezoid(X, X * X + 1, axis=1),
    "diff": lambda np: np.diff(X), "diff-n": lambda np: np.diff(X, 2, 0),
    "diff-ends": lambda np: np.diff(X, prepend=0, append=X[:, :2]), "diff-bool": lambda np: np.diff(X > 0),
    "diff-0": lambda np: np.diff(X, 0), "diff-many": lambda np: np.diff(X[0], 9),
    "ediff1d": lambda np: np.ediff1d(X), "ediff1d-ends": lambda np: np.ediff1d(X, T[:2], 1.0),
    "gradient": lambda np: np.gradient(X), "gradient-axis": lambda np: np.gradient(X, axis=1),
    "gradient-h": lambda np: np.gradient(X, 2.0, 0.5), "gradient-x": lambda np: np.gradient(X, T, axis=1),
    "gradient-2": lambda np: np.gradient(X, T, axis=-1, edge_order=2),
    "gradient-2-even": lambda np: np.gradient(X, 0.3, axis=1, edge_order=2),
    "gradient-both": lambda np: np.gradient(X, 1.0, T),
    "unwrap": lambda np: np.unwrap(X * 9), "unwrap-axis": lambda np: np.unwrap(X * 9, axis=0),
    "unwrap-int": lambda np: np.unwrap(np.arange(9) * 5 % 7, period=7), "unwrap-discont": lambda np: np.unwrap(X * 9, 5.0),
    "unwrap-even": lambda np: np.unwrap(np.array([0, 2, 0, 4, 6]), period=4),
    "cov": lambda np: np.cov(X), "cov-columns": lambda np: np.cov(X, rowvar=False), "cov-y": lambda np: np.cov(X, X[0] ** 2),
    "cov-1": lambda np: np.cov(X[0]), "cov-bias": lambda np: np.cov(X, bias=True), "cov-ddof": lambda np: np.cov(X, ddof=2),
    "cov-f": lambda np: np.cov(X, fweights=np.array([1, 2, 1, 3, 1, 1])), "cov-a": lambda np: np.cov(X, aweights=T),
    "cov-fa": lambda np: np.cov(X, fweights=np.array([1, 2, 1, 3, 1, 1]), aweights=T, ddof=0),
    "cov-complex": lambda np: np.cov(X + 1j * X ** 2), "corrcoef": lambda np: np.corrcoef(X),
    "corrcoef-complex": lambda np: np.corrcoef(X + 1j * X ** 2), "corrcoef-y": lambda np: np.corrcoef(X[0], X[1]),
    "interp": lambda np: np.interp(X[0], T, T ** 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_without_rank_promotion(name):
    close(CALLS[name](jnp), CALLS[name](np))


@pytest.mark.parametrize("fn", [
    lambda x: jnp.trapezoid(x, T), lambda x: jnp.gradient(x, T, axis=1), jnp.cov, lambda x: jnp.diff(x, 2),
    lambda x: jnp.corrcoef(x), lambda x: jnp.unwrap(x),
])
def test_derivatives(fn):
    t = RNG.normal(size=X.shape)
    out, slope = jax.jvp(fn, (X,), (t,))
    h = 1e-6
    close(slope, (np.asarray(fn(X + h * t)) - np.asarray(fn(X - h * t))) / (2 * h), 1e-6)
    ct = RNG.normal(size=out.shape)
    close(np.sum(jax.vjp(fn, X)[1](ct)[0] * t), np.sum(ct * slope))


def test_errors():
    for call, message in [
        (lambda: jnp.diff(X, -1), "negative"), (lambda: jnp.diff(1.0), "scalar"),
        (lambda: jnp.gradient(X, 1.0, 2.0, 3.0), "axes"),
        (lambda: jnp.gradient(X[:, :1]), "too few"), (lambda: jnp.gradient(X, T[:3], axis=1), "vector of 6"),
        (lambda: jnp.cov(X[None]), "more than 2"), (lambda: jnp.cov(X, fweights=np.ones(2, int)), "2 elements"),
        (lambda: jnp.cov(X, ddof=0.5), "integer"), (lambda: jnp.gradient(X, edge_order=3), "edge_order"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="integers"):
        jnp.cov(X, fweights=T)


# --- windows --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name):
    for n in (0, 1, 2, 5, 8):
        close(getattr(jnp, name)(n), getattr(np, name)(n))
    with pytest.raises(TypeError, match="traced"):
        jax.jit(getattr(jnp, name))(3)


def test_kaiser():
    close(jnp.kaiser(7, 4.0), np.kaiser(7, 4.0))
    close(jax.jit(lambda b: jnp.kaiser(7, b))(4.0), np.kaiser(7, 4.0))
    assert np.isfinite(jax.grad(lambda b: jnp.kaiser(7, b).sum())(4.0))


# --- vectorize ------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_vectorize_broadcasts():
    product = jnp.vectorize(jnp.dot, signature="(m,n),(n)->(m)")
    a, b = RNG.normal(size=(5, 1, 2, 3)), RNG.normal(size=(1, 4, 3))
    with jax.numpy_rank_promotion("allow"):
        close(product(a, b), np.einsum("...mn,...n->...m", a, b))
        close(jax.jit(product)(a, b[0, 0]), np.einsum("...mn,n->...m", a, b[0, 0]))
        close(jnp.vectorize(lambda x, y: x + y)(a[:, 0, 0], b[0, 0]), a[:, 0, 0] + b[0, 0])
    two = jnp.vectorize(lambda x: (x.sum(), x), signature="(n)->(),(n)")
    assert [v.shape for v in two(a)] == [(5, 1, 2), (5, 1, 2, 3)]
    assert jnp.vectorize(lambda x: jnp.ones(3))(np.ones(2)).shape == (2, 3)


def test_vectorize_leaves_excluded_arguments_alone():
    power = jnp.vectorize(lambda x, n, scale=1.0: scale * x ** n, excluded={1, "scale"})
    close(power(np.arange(3.0), 2, scale=0.5), 0.5 * np.arange(3.0) ** 2)
    close(jnp.vectorize(lambda x, y: x)(np.arange(3.0), None), np.arange(3.0))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: jnp.vectorize(jnp.dot, signature="bad"), ValueError, "no signature"),
    (lambda: jnp.vectorize(jnp.dot, excluded={0.5}), TypeError, "positions or names"),
    (lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(np.ones(2), np.ones(3)), ValueError, "sizes 2 and 3"),
    (lambda: jnp.vectorize(jnp.dot, signature="(n)->()")(np.ones(2), np.ones(3)), TypeError, "1 arguments, got 2"),
    (lambda: jnp.vectorize(lambda x: x, signature="(n,m)->()")(np.ones(2)), ValueError, "fewer dimensions"),
    (lambda: jnp.vectorize(lambda x: x, signature="(n)->()")(np.ones(2)), ValueError, "a result has shape"),
    (lambda: jnp.vectorize(lambda x: x, signature="()->(),()")(np.ones(2)), TypeError, "1 results"),
    (lambda: jnp.vectorize(lambda x, y: x)(np.ones((2, 2)), np.ones(2)), ValueError, "differ in rank"),
])
def test_vectorize_explains_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()
