"""jax.scipy.linalg against SciPy, under rank_promotion='raise': library code must not promote ranks silently."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy import linalg as la

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(params=[False, True], ids=["real", "complex"])
def a(request):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 4))
    return x + 1j * rng.normal(size=(4, 4)) if request.param else x


def close(x, y, tol=1e-10):
    for g, w in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True):
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


def adjoint(x):
    return np.conj(np.asarray(x).T)


def positive(a):
    return a @ adjoint(a) + 4 * np.eye(4)


B = RNG.normal(size=(4, 2))


def test_cholesky(a):
    p = positive(a)
    for lower in (False, True):
        close(la.cholesky(p, lower), sl.cholesky(p, lower))
        close(la.cho_solve(la.cho_factor(p, lower), B), sl.solve(p, B))
        close(la.cho_solve(la.cho_factor(p, lower), B[:, 0]), sl.solve(p, B[:, 0]))


def test_lu(a):
    for x in (a, a[:3], a[:, :2]):
        close(la.lu(x), sl.lu(x))
        close(la.lu(x, permute_l=True), sl.lu(x, permute_l=True))
        close(la.lu_factor(x), sl.lu_factor(x))
    for trans in (0, 1, 2):
        close(la.lu_solve(la.lu_factor(a), B, trans), sl.lu_solve(sl.lu_factor(a), B, trans))
    close(la.lu_solve(la.lu_factor(np.stack([a, 2 * a])), B), np.stack([sl.solve(a, B), sl.solve(2 * a, B)]))


def test_triangular(a):
    for trans in (0, 1, 2, "N", "T", "C"):
        for lower in (False, True):
            close(la.solve_triangular(a, B, trans, lower), sl.solve_triangular(a, B, trans, lower))
    close(la.solve_triangular(a, B[:, 0], unit_diagonal=True), sl.solve_triangular(a, B[:, 0], unit_diagonal=True))


@pytest.mark.parametrize("what", ["gen", "sym", "pos", "diagonal", "tridiagonal", "upper triangular", "lower triangular"])
def test_solve(a, what):
    p = positive(a)
    m = {"diagonal": np.diag(np.diag(p)), "tridiagonal": np.triu(np.tril(p, 1), -1), "upper triangular": np.triu(p),
         "lower triangular": np.tril(p)}.get(what, p)
    close(la.solve(m, B, assume_a=what), np.linalg.solve(m, B))
    close(la.solve(m, B[:, 0], assume_a=what), np.linalg.solve(m, B[:, 0]))


def test_qr_and_svd(a):
    x = a[:, :2]
    for mode in ("full", "economic"):
        q, r = la.qr(x, mode=mode)
        close(q @ r, x)
        q, r, p = la.qr(x, mode=mode, pivoting=True)
        close(q @ r, x[:, p])
    (r,) = la.qr(x, mode="r")
    close(np.abs(r), np.abs(sl.qr(x, mode="r")[0]))
    q = sl.qr(x, mode="economic")[0]
    close(np.abs(la.qr_multiply(x, B.T)[0]), np.abs(B.T @ q))
    close(np.abs(la.qr_multiply(x, B[:2], "left")[0]), np.abs(q @ B[:2]))
    u, s, vh = la.svd(x, full_matrices=False)
    close((u * s[None]) @ vh, x)
    close(la.svd(x, compute_uv=False), sl.svdvals(x))
    close((la.inv(a), la.det(a)), (sl.inv(a), sl.det(a)))


def test_eigh(a):
    p, q = positive(a), positive(a) + np.diag([1.0, 2, 3, 4])
    close(la.eigh(p, eigvals_only=True), sl.eigvalsh(p))
    close(la.eigh(np.triu(p), lower=False, eigvals_only=True), sl.eigvalsh(p))
    close(la.eigh(p, eigvals=(1, 2), eigvals_only=True), sl.eigvalsh(p)[1:3])
    w, v = la.eigh(p, q)
    close(w, sl.eigvalsh(p, q))
    close(p @ v, q @ v * w[None])
    with pytest.raises(NotImplementedError, match="type=1"):
        la.eigh(p, q, type=2)
    d, e = B[:, 0], B[1:, 1]
    close(la.eigh_tridiagonal(d, e)[0], sl.eigh_tridiagonal(d, e)[0])
    close(la.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2)), sl.eigh_tridiagonal(d, e)[0][1:3])
    with pytest.raises(NotImplementedError, match="select='v'"):
        la.eigh_tridiagonal(d, e, select="v", select_range=(0, 1))


def test_schur_and_hessenberg(a):
    t, z = la.schur(a)
    close(z @ t @ adjoint(z), a)
    t, z = la.schur(a, output="complex")
    close(z @ t @ adjoint(z), a)
    close(t, np.triu(t))
    h, q = la.hessenberg(a, calc_q=True)
    close(q @ h @ adjoint(q), a)
    close(q @ adjoint(q), np.eye(4))
    close(h, np.triu(h, -1))
    t, z = sl.schur(a.real)
    form, turn = la.rsf2csf(t, z)
    close(turn @ form @ adjoint(turn), a.real)


def test_polar(a):
    for side in ("left", "right"):
        for method in ("qdwh", "svd"):
            close(la.polar(a, side, method=method), sl.polar(a, side))
    close(la.polar(a[:2], "right", method="svd"), sl.polar(a[:2], "right"))
    with pytest.raises(NotImplementedError, match="svd"):
        la.polar(a[:2])


def test_functions_of_matrices(a):
    close(la.expm(a), sl.expm(a), 1e-9)
    close(la.expm(np.triu(a), upper_triangular=True), sl.expm(np.triu(a)), 1e-9)
    far = sl.expm(9 * a)
    close(la.expm(np.stack([9 * a, 0.01 * a])), np.stack([far, sl.expm(0.01 * a)]), 1e-8 * np.abs(far).max())
    close(la.expm_frechet(a, B @ B.T), sl.expm_frechet(a, B @ B.T), 1e-8)
    close(la.sqrtm(a), sl.sqrtm(a), 1e-8)
    close(la.funm(a, jnp.exp), sl.expm(a), 1e-8)
    out, error = la.funm(positive(a), jnp.log, disp=False)
    close(out, sl.logm(positive(a)), 1e-8)
    assert error < 1e-12
    assert np.isnan(la.expm(1e9 * a)).all()
    c = RNG.normal(size=(4, 3))
    for method in ("schur", "eigen"):
        close(la.solve_sylvester(a, a[:3, :3], c, method=method), sl.solve_sylvester(a, a[:3, :3], c), 1e-8)


def test_gradient_of_expm():
    x, t = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    got = np.sum(jax.grad(lambda v: jnp.sum(la.expm(v) * x))(x) * t)
    close(got, np.sum(sl.expm_frechet(x, t, compute_expm=False) * x), 1e-9)


V, U = RNG.normal(size=4), RNG.normal(size=3)


@pytest.mark.quick
@pytest.mark.parametrize(("name", "args"), [
    ("toeplitz", (V,)), ("toeplitz", (V, U)), ("hankel", (V,)), ("hankel", (V, U)), ("circulant", (V,)), ("companion", (V,)),
    ("fiedler", (V,)), *[("fiedler_companion", (np.arange(1.0, k),)) for k in (3, 4, 5, 6, 7)], ("leslie", (V, U)),
    ("hilbert", (4,)), ("invhilbert", (6,)), ("pascal", (5,)), ("pascal", (5, "upper")), ("invpascal", (5,)),
    ("invpascal", (5, "lower")), ("hadamard", (8,)), ("helmert", (5,)), ("helmert", (4, True)), ("dft", (5,)),
    ("dft", (4, "sqrtn")), ("block_diag", (np.ones((2, 3)), U, 2.0)),
    *[("convolution_matrix", (V, n, mode)) for n in (2, 4, 7) for mode in ("full", "same", "valid")],
])
def test_structured(name, args):
    close(getattr(la, name)(*args), getattr(sl, name)(*args))


def test_structured_stacks():
    c = RNG.normal(size=(2, 4))
    for name in ("toeplitz", "circulant", "companion", "hankel", "fiedler", "fiedler_companion"):
        close(getattr(la, name)(c), np.stack([getattr(sl, name)(v) for v in c]))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: la.qr(V[None], mode="raw"), "mode"), (lambda: la.solve(np.eye(4), V, assume_a="odd"), "assume_a"),
    (lambda: la.solve_triangular(np.eye(4), V, trans=3), "trans"), (lambda: la.hadamard(3), "power of two"),
    (lambda: la.cho_solve((np.eye(4), False), U), "do not fit"), (lambda: la.leslie(V, V), "n - 1"),
    (lambda: la.polar(np.eye(2), "up"), "side"), (lambda: la.schur(np.eye(2), "odd"), "output"),
    (lambda: la.expm_frechet(np.eye(2), np.eye(2), method="odd"), "method"), (lambda: la.dft(3, "odd"), "scale"),
    (lambda: la.solve_sylvester(np.eye(2), np.eye(3), np.eye(2)), "shapes"),
])
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
