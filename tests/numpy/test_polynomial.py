"""Polynomials against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64

P, Q = np.array([2.0, -1.0, 3.0, 5.0]), np.array([1.0, 4.0])


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


def close(x, y, tol=1e-10):
    np.testing.assert_allclose(x, y, rtol=tol, atol=tol)


@pytest.mark.parametrize("call", [
    lambda np: np.polyadd(P, Q), lambda np: np.polysub(Q, P), lambda np: np.polymul(P, Q), lambda np: np.polyder(P),
    lambda np: np.polyder(P, 2), lambda np: np.polyint(P), lambda np: np.polyint(P, 2, np.array([1.0, 2.0])),
    lambda np: np.polyval(P, Q), lambda np: np.poly(P), lambda np: np.polydiv(P, Q)[0], lambda np: np.polyint(P, 2, 3.0),
    lambda np: np.polyval(np.arange(30.0) / 30, Q / 9), lambda np: np.polyder(P, 0), lambda np: np.poly(np.diag(P)),
])
def test_arithmetic(call):
    close(call(jnp), call(np))


def test_division_leaves_a_remainder():
    quotient, rest = jnp.polydiv(P, Q, trim_leading_zeros=True)
    close(rest, np.polydiv(P, Q)[1])
    close(jnp.polyadd(jnp.polymul(quotient, Q), rest), P)
    close(jnp.polydiv(Q, P)[1], Q)
    close(jnp.polymul(np.array([0.0, 0.0, 1.0]), Q, trim_leading_zeros=True), Q)


def _ordered(x):
    return np.sort_complex(np.asarray(x))


def test_roots():
    for p in (P, np.array([0, 0, 1.0, 2, 0, 0]), np.array([1.0, 0]), np.array([3.0])):
        close(_ordered(jnp.roots(p)), _ordered(np.roots(p)), 1e-7)
    close(_ordered(jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(P)), _ordered(np.roots(P)), 1e-7)
    got = jnp.roots(np.array([0, 0, 1.0, 2, 0, 0]), strip_zeros=False)
    close(got[:3], [-2, 0, 0])
    assert np.isnan(got[3:]).all()
    assert jnp.roots(np.zeros(3)).shape == (0,)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="strip_zeros=False"):
        jax.jit(jnp.roots)(P)


def test_polyval_broadcasts_coefficients():
    coefficients = np.stack([P, 2 * P], 1)
    close(jnp.polyval(coefficients, Q), [np.polyval(P, Q[0]), 2 * np.polyval(P, Q[1])])
    close(jax.grad(lambda x: jnp.polyval(P, x))(2.0), np.polyval(np.polyder(P), 2.0))
    close(jax.grad(lambda x: jnp.polyval(np.ones(40), x))(0.5), np.polyval(np.polyder(np.ones(40)), 0.5))


def test_polyfit():
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 2, 12)
    y = np.polyval(P, x) + 0.1 * rng.normal(size=12)
    close(jnp.polyfit(x, y, 3), np.polyfit(x, y, 3), 1e-8)
    close(jnp.polyfit(x, np.stack([y, 2 * y], 1), 2), np.polyfit(x, np.stack([y, 2 * y], 1), 2), 1e-8)
    w = rng.uniform(0.5, 2, 12)
    for cov in (True, "unscaled"):
        for got, want in zip(jnp.polyfit(x, y, 2, w=w, cov=cov), np.polyfit(x, y, 2, w=w, cov=cov), strict=True):
            close(got, want, 1e-8)
    got, want = jnp.polyfit(x, y, 2, full=True), np.polyfit(x, y, 2, full=True)
    for g, w_ in zip(got, want, strict=True):
        close(g, w_, 1e-8)
    with pytest.raises(TypeError, match="points"):
        jnp.polyfit(x, y[:3], 2)
    with pytest.raises(ValueError, match="degree"):
        jnp.polyfit(x, y, -1)


def test_errors():
    with pytest.raises(ValueError, match="vector"):
        jnp.polyadd(np.ones((2, 2)), Q)
    with pytest.raises(ValueError, match="negative"):
        jnp.polyder(P, -1)
    with pytest.raises(ValueError, match="constants"):
        jnp.polyint(P, 3, np.ones(2))
    with pytest.raises(ValueError, match="trim_leading_zeros"):
        jax.jit(lambda p: jnp.polymul(p, Q, trim_leading_zeros=True))(P)
    with pytest.raises(ValueError, match="square matrix"):
        jnp.poly(np.ones((2, 3)))


@pytest.mark.quick
def test_poly_keeps_its_leading_one():
    np.testing.assert_array_equal(jnp.poly(jnp.array([np.nan, np.inf])), [1, np.nan, np.nan])
