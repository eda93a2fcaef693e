"""jnp.linalg: names, options, results without a solution, errors. Values and derivatives: tests/lax/test_linalg_checks."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp

la = jnp.linalg


@pytest.fixture(autouse=True)
def no_rank_promotion():
    with jax.numpy_rank_promotion("raise"):
        yield


RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)).astype("f")
P = (A @ A.T + 4 * np.eye(4)).astype("f")


def close(x, y, tol=2e-4):
    np.testing.assert_allclose(x, y, rtol=tol, atol=tol)


@pytest.mark.quick
def test_named_results():
    q, r = la.qr(A)
    close(q @ r, A)
    out = la.svd(A)
    close((out.U * out.S[None]) @ out.Vh, A)
    out = la.eigh(P)
    close(P @ out.eigenvectors, out.eigenvectors * out.eigenvalues[None])
    out = la.eig(A)
    close(A @ out.eigenvectors, out.eigenvectors * out.eigenvalues[None], 1e-3)
    out = la.slogdet(A)
    close(out.sign * np.exp(out.logabsdet), np.linalg.det(A))


def test_options_of_factorisations():
    close(la.cholesky(P, upper=True), np.linalg.cholesky(P).T)
    junk = np.triu(RNG.normal(size=(4, 4)), 1).astype("f")
    close(la.cholesky(np.tril(P) + junk, symmetrize_input=False), np.linalg.cholesky(P))
    close(la.eigh(np.triu(P) + junk.T, "U", symmetrize_input=False).eigenvalues, np.linalg.eigvalsh(P), 1e-3)
    q, r = la.qr(A[:, :2], "complete")
    assert q.shape == (4, 4) and r.shape == (4, 2)
    close(np.abs(la.qr(A, "r")), np.abs(np.linalg.qr(A)[1]))
    h, tau = la.qr(A, "raw")
    assert h.shape == (4, 4) and tau.shape == (4,)
    assert [x.shape for x in la.svd(A[:2], full_matrices=False)] == [(2, 2), (2,), (2, 4)]
    close(la.svdvals(A), np.linalg.svd(A, compute_uv=False))
    close(la.eigvalsh(P), np.linalg.eigvalsh(P), 1e-3)
    close(np.sort(np.abs(la.eigvals(A))), np.sort(np.abs(np.linalg.eigvals(A))), 1e-3)


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0, -1, np.inf, -np.inf, 0.5])
def test_norms_of_vectors(order):
    x = A[0]
    close(la.norm(x, order), np.linalg.norm(x, order))
    close(la.norm(A, order, axis=1, keepdims=True), np.linalg.norm(A, order, axis=1, keepdims=True))
    if order is not None:
        close(la.vector_norm(A, ord=order), np.linalg.vector_norm(A, ord=order))


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices(order):
    x = RNG.normal(size=(2, 3, 4)).astype("f")
    close(la.norm(x, order, axis=(0, 2)), np.linalg.norm(x, order, axis=(0, 2)))
    close(la.norm(x, order, axis=(2, 1), keepdims=True), np.linalg.norm(x, order, axis=(2, 1), keepdims=True))
    close(la.cond(P, order), np.linalg.cond(P, order), 1e-2)
    if order is not None:
        close(la.matrix_norm(x, ord=order), np.linalg.matrix_norm(x, ord=order))


def test_norms_of_other_things():
    x = RNG.normal(size=(2, 3, 4)).astype("f")
    close(la.norm(x), np.linalg.norm(x))
    close(la.norm(x[0] + 1j * x[1]), np.linalg.norm(x[0] + 1j * x[1]))
    assert la.norm(np.arange(3)).dtype == np.float32
    assert la.norm(jnp.ones(3, jnp.float16)).dtype == np.float16
    for bad in (lambda: la.norm(A, "bad"), lambda: la.norm(A, 3), lambda: la.norm(x, 2), lambda: la.norm(x, axis=(0, 1, 2)),
                lambda: la.norm(A, axis=5), lambda: la.norm(A[0], "fro")):
        with pytest.raises(ValueError, match="norm"):
            bad()


def test_ranks_powers_and_inverses():
    low = A[:, :2] @ A[:2]
    assert int(la.matrix_rank(low)) == 2 and int(la.matrix_rank(A)) == 4 and int(la.matrix_rank(np.zeros(3))) == 0
    assert la.matrix_rank(np.stack([low, A])).tolist() == [2, 4]
    assert int(la.matrix_rank(P, hermitian=True)) == 4 and int(la.matrix_rank(A, tol=100.0)) == 0
    assert int(la.matrix_rank(np.zeros((0, 3)))) == 0
    for n in (0, 1, 2, 3, 7, -1):
        close(la.matrix_power(A, n), np.linalg.matrix_power(A, n), 2e-2)
    assert la.matrix_power(np.eye(2, dtype=np.int32) * 2, 3).dtype == np.int32
    close(la.pinv(low, rtol=1e-3) @ low @ A, np.linalg.pinv(low, rcond=1e-3) @ low @ A, 1e-3)
    close(la.pinv(P, hermitian=True), np.linalg.pinv(P), 1e-3)
    close(la.inv(A) @ A, np.eye(4), 1e-3)
    with pytest.raises(TypeError, match="exponent"):
        la.matrix_power(A, 2.5)
    with pytest.raises(TypeError, match="one of them"):
        la.pinv(A, rtol=1.0, rcond=1.0)


def test_lstsq_is_numpys():
    b = RNG.normal(size=(4, 2)).astype("f")
    for a in (A[:, :2], A[:2].T @ A[:2], A):
        got, want = la.lstsq(a, b, 1e-4), np.linalg.lstsq(a, b, 1e-4)
        close(got[0], want[0], 1e-2)
        assert int(got[2]) == want[2]
        close(got[3], want[3], 1e-3)
    assert la.lstsq(A, b, numpy_resid=True)[1].shape == (0,)
    assert la.lstsq(A[:, :2], b, numpy_resid=True)[1].shape == (2,)
    with pytest.raises(ValueError, match="first dimension"):
        la.lstsq(A, b[:3])


def test_names_of_the_standard():
    x, y = A[:, :3], RNG.normal(size=(4, 3)).astype("f")
    close(la.cross(x, y), np.cross(x, y))
    close(la.outer(x[0], y[0]), np.outer(x[0], y[0]))
    close(la.trace(np.stack([A, P])), np.trace(np.stack([A, P]), axis1=1, axis2=2))
    close(la.diagonal(np.stack([A, P]), offset=1), np.diagonal(np.stack([A, P]), 1, 1, 2))
    close(la.matrix_transpose(x), x.T)
    close(la.matmul(x.T, y), x.T @ y)
    close(la.vecdot(x, y), np.vecdot(x, y))
    close(la.tensordot(x, y, axes=((0,), (0,))), x.T @ y)
    close(la.multi_dot([x[0], y.T, x, y.T]), np.linalg.multi_dot([x[0], y.T, x, y.T]), 1e-3)
    inverse = la.tensorinv(np.eye(24, dtype="f").reshape(4, 6, 8, 3))
    assert inverse.shape == (8, 3, 4, 6)
    for bad in (lambda: la.cross(A, A), lambda: la.outer(A, A), lambda: la.multi_dot([A]), lambda: la.tensorinv(A, 0),
                lambda: la.multi_dot([A[0], A[0], A])):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError, match="cannot be multiplied"):
        la.multi_dot([A, A[:3]])


# --- no solution ----------------------------------------------------------------------------------------------------

def test_results_without_a_solution_are_not_finite():
    assert np.isnan(la.cholesky(-np.eye(2, dtype="f"))[0, 0])
    assert not np.isfinite(la.inv(np.zeros((2, 2), "f"))).any(axis=0).all()
    assert not np.isfinite(la.solve(np.zeros((2, 2), "f"), np.ones(2, "f"))).all()
    assert float(la.det(np.zeros((4, 4), "f"))) == 0
    sign, size = la.slogdet(np.zeros((4, 4), "f"))
    assert float(sign) == 0 and float(size) == -np.inf
    assert float(la.cond(np.zeros((2, 2), "f"))) == np.inf
    assert np.isnan(la.cond(np.full((2, 2), np.nan, "f")))


def test_empty_matrices():
    e = np.zeros((0, 0), "f")
    assert float(la.det(e)) == 1 and float(la.norm(e)) == 0
    assert la.inv(e).shape == (0, 0) and la.solve(e, np.zeros((0, 2))).shape == (0, 2)
    assert [x.shape for x in la.svd(np.zeros((3, 0)))] == [(3, 3), (0,), (0, 0)]
    assert [x.shape for x in la.eigh(np.zeros((2, 0, 0)))] == [(2, 0), (2, 0, 0)]
    assert la.pinv(np.zeros((0, 3))).shape == (3, 0)


@pytest.mark.parametrize("column", range(4))
def test_det_has_a_gradient_at_singular_matrices(column):
    x = A.copy()
    x[:, column] = 0
    cofactors = [(-1) ** (i + column) * np.linalg.det(np.delete(np.delete(x, i, 0), column, 1)) for i in range(4)]
    close(jax.grad(la.det)(x)[:, column], cofactors, 1e-3)
    close(jax.grad(la.det)(np.zeros((4, 4), "f")), np.zeros((4, 4)))
    close(jax.grad(la.det)(np.zeros((3, 3), "f")), np.zeros((3, 3)))


# --- errors ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "slogdet", "eigh", "eig", "eigvals", "eigvalsh"])
def test_matrices_must_be_square(name):
    with pytest.raises(ValueError, match=rf"linalg.{name[:3]}.*\(2, 3\)"):
        getattr(la, name)(np.ones((2, 3), "f"))
    with pytest.raises(ValueError, match="a matrix"):
        getattr(la, name)(np.ones(3, "f"))
    with pytest.raises(TypeError, match="list"):
        getattr(la, name)([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(NotImplementedError, match="astype"):
        getattr(la, name)(jnp.eye(4, dtype=jnp.float16))


def test_integers_are_converted():
    assert la.inv(np.eye(3, dtype=np.int32)).dtype == np.float32
    assert la.eigh(np.eye(3, dtype=np.int32)).eigenvectors.dtype == np.float32
    assert la.eigvals(np.eye(3, dtype=np.int32)).dtype == np.complex64


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match=r"b\[\.\.\., None\]"):
        la.solve(np.ones((2, 3, 3), "f"), np.ones((2, 3), "f"))
    with pytest.raises(ValueError, match="do not fit"):
        la.solve(np.ones((3, 3), "f"), np.ones(2, "f"))
    with pytest.raises(ValueError, match="mode"):
        la.qr(A, "bad")
    with pytest.raises(ValueError, match="method"):
        la.slogdet(A, method="bad")
    with pytest.raises(ValueError, match="UPLO"):
        la.eigh(A, "X")
    with pytest.raises(NotImplementedError, match="full_matrices=False"):
        jax.grad(lambda x: la.svd(x)[0].sum())(A[:, :2])
    with pytest.raises(NotImplementedError, match="reduced"):
        jax.grad(lambda x: la.qr(x, "complete")[0].sum())(A[:, :2])
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
        jax.grad(lambda x: la.eig(x).eigenvectors.real.sum())(A)


def test_solutions_can_be_transposed_and_mapped():
    b = RNG.normal(size=(4,)).astype("f")
    (back,) = jax.linear_transpose(lambda v: la.solve(A, v), b)(b)
    close(back, np.linalg.solve(A.T, b), 1e-2)
    many = RNG.normal(size=(5, 4)).astype("f")
    close(jax.vmap(lambda v: la.solve(A, v))(many), np.linalg.solve(A, many.T).T, 1e-2)
    close(jax.jit(jax.vmap(la.det))(np.stack([A, P])), np.linalg.det(np.stack([A, P])), 1e-3)


def test_linear_algebra_is_loaded_when_used(run_python):
    run_python("import sys, jax, jax.numpy as jnp\n"
               "assert 'jax.lax.linalg' not in sys.modules and 'scipy' not in sys.modules\n"
               "import numpy as np\n"
               "jnp.linalg.norm(np.ones(3, 'f')); jnp.fft.fft(np.ones(3, 'f'))\n"
               "assert 'scipy' not in sys.modules\n"
               "assert jnp.linalg.inv(np.eye(2, dtype='f')).shape == (2, 2) and 'scipy' in sys.modules\n")
