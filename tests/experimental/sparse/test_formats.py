"""The other sparse formats, sparsify, derivatives, solvers: against dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as ss

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import enable_x64
from jax.experimental import sparse
from jax.experimental.sparse import BCOO, BCSR, COO, CSC, CSR, sparsify

RNG = np.random.default_rng(0)


def dense_array(shape, density=0.4):
    return (RNG.integers(1, 9, shape) * (RNG.uniform(size=shape) < density)).astype(np.float32)


X, Y, V, U = dense_array((3, 4)), dense_array((4, 2)), dense_array((4,)), dense_array((3,))


def same(a, d):
    np.testing.assert_allclose(sparse.todense(a), d, rtol=1e-5, atol=1e-6)


# --- formats --------------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("kind", [BCSR, COO, CSR, CSC])
def test_matrices(kind):
    a = kind.fromdense(X)
    same(a, X)
    assert a.shape == (3, 4) and a.ndim == 2 and a.size == 12 and a.dtype == np.float32 and a.nse == (X != 0).sum()
    assert repr(a) == f"{kind.__name__}(float32[3, 4], nse={a.nse})"
    same(a @ V, X @ V)
    same(a @ Y, X @ Y)
    same(U @ a, U @ X)
    same(jax.jit(lambda a: a @ V)(a), X @ V)
    same(jax.jit(lambda a: a.todense())(kind.fromdense(X, nse=9)), X)
    same(a.to_bcoo(), X)
    slope = jax.grad(lambda d: (jax.tree.unflatten(jax.tree.structure(a), [d, *jax.tree.leaves(a)[1:]]) @ V).sum())(a.data)
    same(slope, np.asarray(sparse.grad(lambda a: (a @ V).sum())(a).data))
    if kind is not BCSR:
        same(a.T, X.T)
        same(a.T @ U, X.T @ U)
    for refused in (lambda: a + a, lambda: a.sum(), lambda: a > 0):
        with pytest.raises(NotImplementedError, match="BCOO"):
            refused()


def test_functions_of_matrices():
    a, b = sparse.csr_fromdense(X), sparse.coo_fromdense(X)
    for name, m in (("csr", a), ("coo", b)):
        same(getattr(sparse, f"{name}_todense")(m), X)
        same(getattr(sparse, f"{name}_matvec")(m, V), X @ V)
        same(getattr(sparse, f"{name}_matvec")(m, U, transpose=True), X.T @ U)
        same(getattr(sparse, f"{name}_matmat")(m, Y), X @ Y)
        with pytest.raises(ValueError, match="vector is needed"):
            getattr(sparse, f"{name}_matvec")(m, Y)
    for kind, args in ((CSR, (np.ones(2), np.ones(2, int), np.ones(2, int))),
                       (COO, (np.ones(2), np.ones(3, int), np.ones(2, int))),
                       (BCSR, (np.ones(2), np.ones(2, int), np.ones(2, int)))):
        with pytest.raises(ValueError, match="fit"):
            kind(args, shape=(3, 4))


def test_batches_of_rows():
    stack = dense_array((2, 3, 4, 2))
    for b, d in ((1, 1), (2, 0), (0, 2)):
        a = BCSR.fromdense(stack, n_batch=b, n_dense=d)
        assert (a.n_batch, a.n_dense, a.shape) == (b, d, stack.shape)
        same(a, stack)
        same(a.sum_duplicates(nse=a.nse + 1), stack)
    a = BCSR.fromdense(stack[..., 0], n_batch=1)
    same(jax.vmap(lambda a: a @ V)(a), stack[..., 0] @ V)
    same(sparse.bcsr_concatenate([a, a], dimension=1), np.concatenate([stack[..., 0]] * 2, 1))
    same(sparse.bcsr_broadcast_in_dim(a, shape=(5, 2, 3, 4), broadcast_dimensions=(1, 2, 3)), np.stack([stack[..., 0]] * 5))
    same(sparse.bcsr_extract(a.indices, a.indptr, 2 * stack[..., 0]), 2 * np.asarray(a.data))
    numbers = (((2,), (0,)), ((), ()))
    same(sparse.bcsr_dot_general(a, Y, dimension_numbers=numbers), stack[..., 0] @ Y)


def test_scipy_and_constructors():
    matrix = ss.random_array((4, 5), density=0.4, rng=np.random.default_rng(0), dtype=np.float32)
    for kind in (BCOO, BCSR):
        same(kind.from_scipy_sparse(matrix), matrix.toarray())
    for name, kind in (("bcoo", BCOO), ("bcsr", BCSR), ("coo", COO), ("csr", CSR), ("csc", CSC)):
        for args, kwargs in (((3,), {}), ((3, 5), {"k": 2}), ((4, 2), {"k": -1, "dtype": int}), ((2, 2), {"k": 9})):
            a = sparse.eye(*args, **kwargs, sparse_format=name)
            assert isinstance(a, kind)
            same(a, np.eye(*args, **kwargs))
        same(sparse.empty((2, 3), sparse_format=name), np.zeros((2, 3)))
    assert sparse.eye(3, n_batch=1).n_batch == 1
    for call, error in ((lambda: sparse.eye(2, sparse_format="x"), ValueError), (lambda: sparse.eye(2, x=1), TypeError),
                        (lambda: sparse.empty((2,), sparse_format="csr"), ValueError)):
        with pytest.raises(error):
            call()


def test_random_arrays():
    key = jax.random.key(0)
    for b, d in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1)):
        a = sparse.random_bcoo(key, (4, 5, 6), n_batch=b, n_dense=d, nse=0.3)
        assert (a.shape, a.n_batch, a.n_dense, a.dtype) == ((4, 5, 6), b, d, np.float32)
        assert a.sum_duplicates().nse == a.nse == int(np.ceil(0.3 * np.prod((4, 5, 6)[b:3 - d])))
    a = sparse.random_bcoo(key, (9,), nse=30, unique_indices=False, generator=jax.random.normal, dtype=np.float16)
    assert a.nse == 30 and a.dtype == np.float16
    with pytest.raises(ValueError, match="different places"):
        sparse.random_bcoo(key, (3,), nse=4)


# --- sparsify -------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "sin": jnp.sin, "abs": jnp.abs, "expm1": jnp.expm1, "sign": jnp.sign, "sqrt": jnp.sqrt, "round": jnp.round,
    "negative": jnp.negative, "integer": lambda a: a.astype(int), "square": lambda a: a**2, "cube": lambda a: a**3,
    "scaled": lambda a: 2.0 * a / 3.0, "difference": lambda a: a - 0.5 * a, "same": lambda a: a - a,
    "product": lambda a: a * a, "gram": lambda a: a @ a.T, "vector": lambda a: jnp.dot(a, V), "matrix": lambda a: a @ Y,
    "left": lambda a: U @ a, "sum": lambda a: a.sum(), "rows": lambda a: jnp.sum(a, 1), "mean": lambda a: jnp.mean(a, 0),
    "flat": lambda a: a.reshape(-1), "transposed": lambda a: a.T, "row": lambda a: a[1], "part": lambda a: a[1:, ::2],
    "turned": lambda a: a[::-1], "broadcast": lambda a: jnp.broadcast_to(a, (2, 3, 4)), "axis": lambda a: a[:, None],
    "joined": lambda a: jnp.concatenate([a, a]), "squeezed": lambda a: jnp.squeeze(a[:1]), "plus": lambda a: a + X,
    "times": lambda a: a * X, "jit": jax.jit(lambda a: a * 2.0), "pick": lambda a: a[np.array([2, 0])],
    "cond": lambda a: lax.cond(U[0] >= 0, lambda x: x * 2, lambda x: x, a),
    "loop": lambda a: lax.fori_loop(0, 3, lambda _, x: x * 2.0, a),
    "scan": lambda a: lax.scan(lambda c, s: (c * s, (c @ V) * s), a, jnp.arange(1.0, 4.0)),
    "tanh": jnp.tanh, "nothing": lambda a: jnp.zeros(3),
    "einsum": lambda a: jnp.einsum("ij,jk->ik", a, Y), "stop": lambda a: lax.stop_gradient(a) * a,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparsify(name):
    f = FUNCTIONS[name]
    a = BCOO.fromdense(X)
    outs = jax.tree.leaves(sparsify(f)(a), is_leaf=lambda x: isinstance(x, BCOO))
    for got, want in zip(outs, jax.tree.leaves(f(jnp.asarray(X))), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        same(got, want)


@pytest.mark.quick
def test_sparsify_composes():
    a = BCOO.fromdense(X)
    f = sparsify(lambda a, v: {"w": a @ v, "b": [a * 2]})
    out = jax.jit(f)(a, V)
    same(out["w"], X @ V)
    same(out["b"][0], 2 * X)
    same(jax.grad(lambda v: f(a, v)["w"].sum())(V), X.sum(0))
    same(sparsify(jnp.dot, use_tracer=True)(a, V), X @ V)
    same(sparsify(lambda a: a.T)(BCSR.fromdense(X)), X.T)
    batch = BCOO.fromdense(np.stack([X, X]), n_batch=1)
    same(jax.vmap(sparsify(lambda a: a @ V))(batch), np.stack([X @ V] * 2))
    twice = BCOO((jnp.array([1.0, 2.0]), jnp.array([[0], [0]])), shape=(2,))  # not linear: equal places are added first
    same(sparsify(jnp.square)(twice), [9, 0])
    for bad, message in ((jnp.cos, "dense output"), (lambda a: a + 1.0, "larger than"),
                         (lambda a: 2.0 / a, "Division by a sparse"), (jnp.max, "reduce_max"), (lambda a: a > 0, "gt"),
                         (lambda a: jnp.concatenate([a, X]), "concatenate")):
        with pytest.raises(NotImplementedError, match=message):
            sparsify(bad)(a)


# --- derivatives ----------------------------------------------------------------------------------------------------


def test_derivatives():
    a = BCOO.fromdense(X)
    f = lambda a, v: (sparsify(jnp.sin)(a) @ v).sum()  # noqa: E731
    value, (by_a, by_v) = sparse.value_and_grad(f, argnums=(0, 1))(a, V)
    same(value, (np.sin(X) @ V).sum())
    same(by_a, np.where(X != 0, np.cos(X) * V, 0))
    same(by_v, np.sin(X).sum(0))
    slope, aux = sparse.grad(lambda a: (a.sum(), a), has_aux=True)(a)
    same(slope, X != 0)
    same(aux, X)
    tree = sparse.grad(lambda p: (p["a"] @ p["v"]).sum())({"a": a, "v": V})
    same(tree["a"], np.where(X != 0, V, 0))
    same(tree["v"], X.sum(0))
    want = np.where(X != 0, np.eye(3)[:, :, None] * V, 0)
    for jac in (sparse.jacfwd, sparse.jacrev, sparse.jacobian):
        same(jac(lambda a: a @ V)(a), want)
        both = jac(lambda a, v: a @ v, argnums=(0, 1))(a, V)
        same(both[0], want)
        same(both[1], X)
        out, aux = jac(lambda a: ({"w": a @ V}, 1.0), has_aux=True)(a)
        same(out["w"], want)
        with pytest.raises(NotImplementedError, match="dense arrays"):
            jac(lambda a: a * 2)(a)


# --- linear algebra -------------------------------------------------------------------------------------------------


def test_solve():
    with enable_x64(True):
        d = np.array([[4.0, 0, 1, 0], [0, 3, 0, 0], [1, 0, 5, 2], [0, 1, 0, 6]])
        m, b = CSR.fromdense(d), np.arange(1.0, 5.0)
        solve = lambda data, b, **kw: sparse.linalg.spsolve(data, m.indices, m.indptr, b, **kw)  # noqa: E731
        x, w = np.linalg.solve(d, b), np.linalg.solve(d.T, np.ones(4))
        for order in range(4):
            np.testing.assert_allclose(jax.jit(lambda *a, o=order: solve(*a, reorder=o))(m.data, b), x)
        by_data, by_b = jax.grad(lambda *a: solve(*a).sum(), (0, 1))(m.data, b)
        np.testing.assert_allclose(by_b, w)
        np.testing.assert_allclose(by_data, -np.outer(w, x)[d != 0])
        np.testing.assert_allclose(jax.vmap(solve, (None, 0))(m.data, np.stack([b, 2 * b]))[1], 2 * x)
        for kw, error in (({"tol": 0.1}, NotImplementedError), ({"reorder": 7}, ValueError)):
            with pytest.raises(error):
                solve(m.data, b, **kw)


def test_eigenvalues():
    with enable_x64(True):
        q = np.linalg.qr(RNG.normal(size=(30, 30)))[0]
        d = (q * np.r_[100.0, 50, 30, np.linspace(1, 5, 27)]) @ q.T
        x = RNG.normal(size=(30, 3))
        for a in (d, lambda v: d @ v):
            theta, u, i = jax.jit(lambda x, a=a: sparse.linalg.lobpcg_standard(a, x))(x)
            np.testing.assert_allclose(theta, [100, 50, 30], rtol=1e-10)
            np.testing.assert_allclose(np.abs(u.T @ q[:, :3]), np.eye(3), atol=1e-6)
            assert 0 < i < 100
        with pytest.raises(ValueError, match="5 k <= n"):
            sparse.linalg.lobpcg_standard(d, np.ones((30, 7)))
