"""What sparsify is made of: values in environments, programs and traces on them, indexing."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import sparse
from jax.experimental.sparse import BCOO, BCSR, COO, SparseTracer, sparsify, transform
from jax.extend import linear_util

X = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
V = np.array([1, 2, 3, 4], np.float32)
A = BCOO.fromdense(X)
BOTH = pytest.mark.parametrize("use_tracer", [False, True])


def same(a, d):
    np.testing.assert_allclose(sparse.todense(a), d, rtol=1e-6)


# --- values ---------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_values_refer_to_buffers():
    env = transform.SparsifyEnv()
    values = transform.arrays_to_spvalues(env, {"a": A, "v": V, "r": BCSR.fromdense(X), "twice": A})
    a, v, r = values["a"], values["v"], values["r"]
    assert a == (X.shape, a.data_ref, a.indices_ref, None, True, True) and values["twice"] == a  # an array is kept once
    assert (a.is_sparse(), a.is_dense(), a.is_bcoo(), a.is_bcsr(), a.ndim) == (True, False, True, False, 2)
    assert v.is_dense() and r.is_bcsr() and not r.is_bcoo() and env.indptr(r).tolist() == [0, 2, 2, 4]
    assert env.indices(a) is A.indices and env.data(a) is A.data
    back = transform.spvalues_to_arrays(env, values)
    assert isinstance(back["r"], BCSR)
    for name, want in (("a", X), ("r", X), ("v", V)):
        same(back[name], want)
    avals = transform.spvalues_to_avals(env, values)
    assert avals["a"] == avals["r"] == jax.typeof(X) and avals["v"] == jax.typeof(V)
    assert env.data(transform.SparsifyEnv([V]).dense(V)) is env.data(transform.SparsifyValue((4,), 0))


def test_misuse_of_values():
    env = transform.SparsifyEnv()
    dense = env.dense(V)
    for bad in (lambda: env.indices(dense), lambda: env.indptr(dense), lambda: env.sparse((3,), V),
                lambda: env.sparse((3,), V, V, data_ref=0), lambda: env.data(transform.SparsifyValue((), None))):
        with pytest.raises(ValueError, match="SparsifyEnv"):
            bad()
    with pytest.raises(NotImplementedError, match="COO arrays are not supported; use BCOO"):
        transform.arrays_to_spvalues(env, COO.fromdense(X))
    with pytest.raises(TypeError, match="use_tracer must be a boolean"):
        sparsify(jnp.sin, use_tracer=1)


# --- programs and traces --------------------------------------------------------------------------------------------

def test_programs_on_values():
    env = transform.SparsifyEnv()
    a, v = transform.arrays_to_spvalues(env, (A, V))
    (y, s), tree = transform.sparsify_raw(lambda a, d, scale: (a @ d["v"], a * scale))(env, a, {"v": v}, scale=3.0)
    assert tree == jax.tree.structure((0, 0)) and s.indices_ref == a.indices_ref and y.is_dense()
    same(env.data(y), X @ V)
    same(transform.spvalues_to_arrays(env, s), 3 * X)
    closed = jax.make_jaxpr(lambda a: jnp.sin(a) + jnp.float32(2) * a)(X)
    (out,) = transform.eval_sparse(closed.jaxpr, closed.consts, [a], env)
    assert out.indices_ref == a.indices_ref  # a sum of what is stored at the same places
    same(transform.spvalues_to_arrays(env, out), np.sin(X) + 2 * X)


@BOTH
def test_operands_at_the_same_places(use_tracer):
    run = lambda f, *args: sparsify(f, use_tracer=use_tracer)(*args)  # noqa: E731
    for f, want in ((lambda a: a - 0.5 * a, X / 2), (lambda a: a * a, X * X), (lambda a: a + a, 2 * X)):
        out = run(f, A)
        assert out.nse == A.nse and out.unique_indices
        same(out, want)
    twice = BCOO((jnp.array([1.0, 2.0]), jnp.array([[0], [0]])), shape=(2,))
    same(run(lambda a: a * a, twice), [9, 0])
    same(run(lambda a: a + 2 * a, twice), [9, 0])
    other = BCOO.fromdense(X.T).T
    assert run(lambda a, b: a + b, A, other).nse == 2 * A.nse
    same(run(jax.nn.relu, BCOO.fromdense(X - 2 * (X > 2) * X)), X * (X <= 2))
    with pytest.raises(NotImplementedError, match="max is not implemented but for a number"):
        run(lambda a: jnp.maximum(a, 1.0), A)


@BOTH
def test_rows_in_compressed_form(use_tracer):
    r = BCSR.fromdense(X)
    for f, want in ((lambda r: jnp.sin(r) * 2, 2 * np.sin(X)), (lambda r: r / 4, X / 4),
                    (lambda r: jnp.concatenate([r, r]), np.concatenate([X, X]))):
        out = sparsify(f, use_tracer=use_tracer)(r)
        assert isinstance(out, BCSR)
        same(out, want)
    same(r[0], X[0])
    same(transform.bcsr_impl([r, r], dimension=0), np.concatenate([X, X]))


@pytest.mark.quick
def test_under_a_trace_python_sees_dense_values():
    seen = []

    def f(a, v):
        seen.append(a)
        return a * 2 if a.sum() > v[0] else a
    same(sparsify(f, use_tracer=True)(A, V), 2 * X)
    (a,) = seen
    assert isinstance(a, SparseTracer) and isinstance(a, jax.Array) and a.shape == X.shape and a.dtype == X.dtype
    assert a.spenv.data(transform.SparsifyValue((4,), 0)) is A.data
    with pytest.raises(jax.errors.UnexpectedTracerError):
        a + 1
    with pytest.raises(jax.errors.TracerBoolConversionError):
        sparsify(f)(A, V)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(sparsify(f, use_tracer=True))(A, V)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        sparsify(lambda a: float(a[0, 1] * 1), use_tracer=True)(A)


def test_functions_of_leaves_under_a_trace():
    fun = linear_util.wrap_init(lambda a, v: [a @ v, a.T, v])
    y, t, v = transform.sparsify_fun(fun, [A, V])
    same(y, X @ V)
    assert isinstance(t, BCOO) and v.tolist() == V.tolist()
    same(t, X.T)


def test_traces_compose():
    @jax.custom_jvp
    def half(x):
        return x / 2
    half.defjvp(lambda p, t: (half(*p), 7 * t[0]))

    def f(a, v):
        return (jax.jit(jnp.sin)(a) @ half(v)).sum() + half(a).sum()
    g = sparsify(f, use_tracer=True)
    want = (np.sin(X) @ V).sum() / 2 + X.sum() / 2
    same(g(A, V), want)
    same(jax.jit(g)(A, V), want)
    same(jax.grad(g, argnums=1)(A, V), 7 * np.sin(X).sum(0))  # dense values keep their rules
    batch = BCOO.fromdense(np.stack([X, 2 * X]), n_batch=1)
    same(jax.vmap(sparsify(lambda a: a @ V, use_tracer=True))(batch), np.stack([X @ V, 2 * X @ V]))
    loop = sparsify(lambda a: lax.fori_loop(0, 3, lambda _, x: x + x, a), use_tracer=True)
    same(loop(A), 8 * X)


SQUARE = np.array([[0, 2], [1, 0]], np.float32)


@pytest.mark.parametrize("use_tracer, f, want", [
    (False, lambda a: lax.fori_loop(0, 3, lambda _, x: x.T, a), SQUARE.T),
    (False, lambda a: lax.while_loop(lambda x: x.sum() < 9, lambda x: 2 * x.T, a), 4 * SQUARE),
    (True, lambda a: lax.scan(lambda c, s: (c.T * s, c.sum()), a, jnp.array([2.0, 3.0]))[0], 6 * SQUARE),
    (False, lambda a: lax.cond(a.sum() > 0, lambda x: x.T, lambda x: x + x.T, a), SQUARE.T),
    (True, lambda a: lax.cond(a.sum() < 0, lambda x: x, lambda x: x + x.T, a), SQUARE + SQUARE.T),
])
def test_promises_that_do_not_hold_everywhere_are_given_up(use_tracer, f, want):
    a = BCOO.fromdense(SQUARE)
    out = sparsify(f, use_tracer=use_tracer)(a)
    assert isinstance(out, BCOO) and not out.indices_sorted
    same(out, want)


def test_loops_and_branches_that_have_no_one_form():
    a = BCOO.fromdense(SQUARE)
    grows = "while.*changes how many entries are stored, here from BCOO.*nse=2. to BCOO.*nse=4"
    for f, text in ((lambda a: lax.while_loop(lambda x: x.sum() < 9, lambda x: x + x.T, a), grows),
                    (lambda a: lax.cond(True, lambda x: x, lambda x: X[:2, :2] + 0 * x, a), "cond.*different ways")):
        with pytest.raises(NotImplementedError, match=text):
            sparsify(f)(a)


# --- indexing -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("index", [
    (slice(None), np.array([0, 2])), (np.array([0, 2]), np.array([1, 0])), (np.array([[0], [2]]), np.array([0, 3])),
    np.array([True, False, True]), (0, np.array([3, 0])), (slice(1, None), None, np.array([2, 2])),
], ids=str)
def test_indexing_with_arrays(index):
    same(A[index], X[index])
    same(jax.jit(lambda a: a[index])(A), X[index])


def test_indexing_along_dense_axes():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 5
    same(BCOO.fromdense(x, n_dense=2)[..., np.array([0, 3])], x[..., [0, 3]])
    kept = BCOO.fromdense(x, n_dense=1)[:, np.array([2, 0])]
    assert kept.n_dense == 1
    same(kept, x[:, [2, 0]])


def test_indices_out_of_bounds():
    far = np.array([2, 7])
    same(A[far], X[[2, 2]])
    same(transform.impl(A, far, mode="fill", fill_value=0), [X[2], [0] * 4])
    same(jax.jit(lambda i: transform.impl(A, i, mode="fill", fill_value=0))(far), [X[2], [0] * 4])
    same(sparsify(lambda a: jnp.take(a, np.array([-1, 0]), axis=0))(A), X[[-1, 0]])  # known to be in bounds
    for bad in (lambda: sparsify(lambda a: jnp.take(a, far, axis=0))(A),
                lambda: jax.jit(lambda i: sparsify(lambda a: jnp.take(a, i, axis=0))(A))(np.array([0, 1])),
                lambda: sparse.bcoo_gather(A, far[:, None], NUMBERS, (1, 4), mode="clip", fill_value=0)):
        with pytest.raises(NotImplementedError, match="bcoo_gather.*fill"):
            bad()


NUMBERS = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))


def test_gathers_of_batches():
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(1,), start_index_map=(1,),
                                         operand_batching_dims=(0,), start_indices_batching_dims=(0,))
    start = np.array([[3], [0], [2]])
    same(sparse.bcoo_gather(A, start, numbers, (1, 1)), X[np.arange(3), [3, 0, 2]])
    last = lax.GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(1,))
    same(sparse.bcoo_gather(A, start[:2], last, (3, 1)), X[:, [3, 0]])


# --- to dense arrays, pieces ----------------------------------------------------------------------------------------

@BOTH
def test_sparse_values_become_dense_when_they_are_asked_to(use_tracer):
    def f(a, v):
        return jnp.exp(sparse.todense(a)) @ sparse.todense(v) * a.sum()

    run = sparsify(f, use_tracer=use_tracer)
    want = np.exp(X) @ V * X.sum()
    for a in (A, BCSR.fromdense(X)):
        np.testing.assert_allclose(run(a, V), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(run)(A, V), want, rtol=1e-6)
    np.testing.assert_allclose(sparsify(jax.jit(f), use_tracer=use_tracer)(A, V), want, rtol=1e-6)

    def of_entries(data):
        return run(BCOO((data, A.indices), shape=X.shape), V).sum()

    places = X != 0
    slope = (np.exp(X) * V)[places] * X.sum() + (np.exp(X) @ V).sum()
    np.testing.assert_allclose(jax.grad(of_entries)(A.data), slope, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(of_entries)(jnp.stack([A.data, 0 * A.data])), [want.sum(), 0], rtol=1e-5)


def test_todense_of_traced_dense_arrays():
    square = lambda x: (sparse.todense(x) ** 2).sum()  # noqa: E731
    np.testing.assert_array_equal(jax.grad(square)(V), 2 * V)
    np.testing.assert_array_equal(jax.hessian(square)(V), 2 * np.eye(4))
    np.testing.assert_array_equal(jax.jit(jax.vmap(sparse.todense, 1, 1))(X), X)


@BOTH
@pytest.mark.parametrize("layout", [{}, {"n_batch": 1}, {"n_dense": 1}])
def test_arrays_are_stacked_and_taken_apart(use_tracer, layout):
    run = lambda f, *args: sparsify(f, use_tracer=use_tracer)(*args)  # noqa: E731
    a, b = BCOO.fromdense(X, **layout), BCOO.fromdense(-X, **layout)
    for axis in (0, 1, 2):
        found = run(lambda a, b, axis=axis: jnp.stack([a, b], axis), a, b)
        assert isinstance(found, BCOO)
        same(found, np.stack([X, -X], axis))
    for f in (lambda x: [2 * row for row in x], lambda x: jnp.unstack(x, axis=1), lambda x: jnp.split(x, [1, 3], axis=1),
              lambda x: lax.split(x, (1, 2))):
        for got, want in zip(run(f, a), f(jnp.asarray(X)), strict=True):
            assert isinstance(got, BCOO)
            same(got, want)


@BOTH
def test_pieces_of_vectors_and_of_sparse_and_dense_arrays(use_tracer):
    run = lambda f, *args: sparsify(f, use_tracer=use_tracer)(*args)  # noqa: E731
    assert [float(x) for x in run(lambda v: list(v), BCOO.fromdense(X[0]))] == [0., 2., 0., 1.]
    same(run(lambda a, b: jnp.stack([a, b]), BCSR.fromdense(X), A), np.stack([X, X]))
    with pytest.raises(NotImplementedError, match="stack is not implemented for sparse and dense operands"):
        run(lambda a, b: jnp.stack([a, b]), A, X)
