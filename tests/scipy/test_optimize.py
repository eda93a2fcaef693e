"""Minimisation and iterative solvers."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy.optimize import minimize
from jax.scipy.sparse.linalg import bicgstab, cg, gmres

RNG = np.random.default_rng(0)
METHODS = ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"]


def valley(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


# --- minimize -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wide", [False, True])
def test_minimize(method, wide):
    with enable_x64(wide):
        tol = 1e-5 if wide else 1e-3  # what rounding allows
        run = jax.jit(lambda x, a: minimize(lambda x, a: valley(x / a), x, (a,), method=method, tol=tol))
        for n in (2, 6):
            r = run(jnp.full(n, -1.2), 2.0)
            assert r.success and r.status == 0 and 0 < r.nit < r.nfev == r.njev < 200
            np.testing.assert_allclose(r.x, np.full(n, 2.0), atol=1e-2)
            np.testing.assert_allclose(r.jac, 0, atol=tol)
            assert r.fun < 1e-5
        assert r.x.dtype == r.fun.dtype == (np.float64 if wide else np.float32)


@pytest.mark.quick
def test_minimize_reports():
    h = np.array([[3.0, 1.0], [1.0, 2.0]])
    with enable_x64(True):
        quadratic = lambda x: 0.5 * x @ h @ x - x.sum()  # noqa: E731
        r = minimize(quadratic, np.array([3, -7]), method="bfgs", tol=1e-9)
        np.testing.assert_allclose(r.x, np.linalg.solve(h, np.ones(2)), atol=1e-8)
        np.testing.assert_allclose(r.hess_inv, np.linalg.inv(h), rtol=0.2)
        r = minimize(valley, np.zeros(2), method="BFGS", options={"maxiter": 2})
        assert not r.success and (r.status, r.nit) == (1, 2)
        r = minimize(lambda x: jnp.nan * x.sum(), np.zeros(2), method="BFGS")
        assert not r.success and r.status == 3
        r = minimize(lambda x: -jnp.sum(x**2), np.ones(2), method="BFGS")  # no minimum
        assert not r.success
        starts = RNG.normal(size=(3, 2))
        rs = jax.vmap(lambda x: minimize(quadratic, x, method="BFGS"))(starts)
        np.testing.assert_allclose(rs.x, np.tile(np.linalg.solve(h, np.ones(2)), (3, 1)), atol=1e-4)


def test_errors_of_minimize():
    x = np.zeros(2, np.float32)
    for call, error, message in [(lambda: minimize(valley, x, method="x"), ValueError, "not recognized"),
                                 (lambda: minimize(valley, x, 2.0, method="BFGS"), TypeError, "must be a tuple"),
                                 (lambda: minimize(valley, x[None], method="BFGS"), ValueError, "one axis"),
                                 (lambda: minimize(lambda x: x, x, method="BFGS"), TypeError, "real scalar"),
                                 (lambda: minimize(valley, x * 1j, method="BFGS"), TypeError, "must be real"),
                                 (lambda: minimize(valley, x, method="BFGS", options={"f": 1}), TypeError, "no option f")]:
        with pytest.raises(error, match=message):
            call()


# --- solvers --------------------------------------------------------------------------------------------------------

N = 8
A = RNG.normal(size=(N, N))
B = RNG.normal(size=N)
SOLVERS = {"cg": (cg, A @ A.T + N * np.eye(N)), "bicgstab": (bicgstab, A + 8 * np.eye(N)),
           "gmres": (gmres, A + 8 * np.eye(N)),
           "incremental": (lambda *args, **kw: gmres(*args, solve_method="incremental", **kw), A + 8 * np.eye(N))}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers(name):
    solve, a = SOLVERS[name]
    with enable_x64(True):
        run = jax.jit(lambda a, b, x0=None, m=None: solve(a, b, x0, tol=1e-12, M=m))
        want = np.linalg.solve(a, B)
        for extra in ((), (want + 1,), (None, np.diag(1 / np.diag(a)))):
            x, _ = run(a, B, *extra)
            np.testing.assert_allclose(x, want, rtol=1e-9)
        tree, _ = solve(lambda t: {"u": 2 * t["u"], "v": 3 * t["v"]}, {"u": np.ones(2), "v": np.ones((1, 2))}, tol=1e-12)
        np.testing.assert_allclose(tree["u"], [0.5, 0.5])
        np.testing.assert_allclose(tree["v"], [[1 / 3] * 2])
        phase = np.exp(1j * np.arange(N))
        unitary = phase[:, None] * a * phase.conj()
        np.testing.assert_allclose(run(unitary, B)[0], np.linalg.solve(unitary, B), rtol=1e-8)
        np.testing.assert_allclose(solve(np.eye(2), np.array([1, 2]))[0], [1, 2])
        np.testing.assert_array_equal(solve(np.eye(2), np.zeros(2))[0], [0, 0])


@pytest.mark.parametrize("name", SOLVERS)
def test_derivatives_of_solutions(name):
    solve, a = SOLVERS[name]
    with enable_x64(True):
        f = lambda a, b: solve(a, b, tol=1e-13, M=lambda v: v / N)[0]  # noqa: E731
        x, w = np.linalg.solve(a, B), np.linalg.solve(a.T, B)
        by_a, by_b = jax.grad(lambda a, b: f(a, b) @ B, (0, 1))(a, B)
        np.testing.assert_allclose(by_b, w, rtol=1e-8)
        np.testing.assert_allclose(by_a, -np.outer(w, x), rtol=1e-8, atol=1e-12)
        _, tangent = jax.jvp(lambda b: f(a, b), (B,), (B[::-1],))
        np.testing.assert_allclose(tangent, np.linalg.solve(a, B[::-1]), rtol=1e-8)
        many = np.stack([B, B[::-1], 0 * B])
        np.testing.assert_allclose(jax.vmap(f, (None, 0))(a, many), np.linalg.solve(a, many.T).T, rtol=1e-8)


@pytest.mark.quick
def test_reports_of_solvers():
    h = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
    b = np.array([1.0, 2.0], np.float32)
    np.testing.assert_allclose(cg(h, b)[0], np.linalg.solve(h, b), rtol=1e-5)
    assert cg(h, b)[1] is None and gmres(h, b)[1] == 0
    assert gmres(np.diag(np.arange(1.0, 9)).astype(np.float32), np.ones(8, np.float32), restart=1, maxiter=2)[1] == 2
    singular = np.array([[0.0, 1.0], [0.0, 0.0]], np.float32)
    assert gmres(singular, b)[1] != 0
    one_step = cg(h, b, maxiter=1)[0]
    np.testing.assert_allclose(one_step, [0.25, 0.5], rtol=1e-6)


def test_errors_of_solvers():
    b = np.ones(2, np.float32)
    for call, error, message in [(lambda: cg(1.0, b), TypeError, "either a function or a matrix"),
                                 (lambda: cg(np.ones((2, 3)), b), ValueError, "square matrix"),
                                 (lambda: cg(np.eye(2), b, np.ones(3)), ValueError, "matching shapes"),
                                 (lambda: cg(lambda v: v, [b], b), ValueError, "tree structure"),
                                 (lambda: cg(lambda v: v[:1], b), ValueError, "output shapes"),
                                 (lambda: cg(lambda v: [v], b), ValueError, "structure of b"),
                                 (lambda: gmres(np.eye(2), b, solve_method="x"), ValueError, "invalid solve_method"),
                                 (lambda: gmres(np.eye(2), b, restart=0), ValueError, "restart")]:
        with pytest.raises(error, match=message):
            call()
