"""BCOO arrays of all layouts against dense arrays."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.sparse import bcoo
from jax.experimental.sparse.bcoo import BCOO
from jax.experimental.sparse.util import SparseEfficiencyError, SparseEfficiencyWarning

RNG = np.random.default_rng(0)


def dense_array(shape, density=0.4):
    return (RNG.integers(1, 9, shape) * (RNG.uniform(size=shape) < density)).astype(np.float32)


def messy(d, n_batch=0, n_dense=0):
    """A BCOO array with padding, duplicates and no order."""
    a = BCOO.fromdense(d, n_batch=n_batch, n_dense=n_dense)
    a = BCOO.fromdense(d, n_batch=n_batch, n_dense=n_dense, nse=a.nse + 1)
    order = RNG.permutation(a.nse)
    axis = n_batch
    data, indices = jnp.take(a.data, order, axis), jnp.take(a.indices, order, axis)
    twice = jnp.concatenate([0.25 * data, 0.75 * data], axis)
    return BCOO((twice, jnp.concatenate([indices, indices], axis)), shape=d.shape)


def layouts(shape):
    for b, d in itertools.product(range(len(shape) + 1), repeat=2):
        if b + d <= len(shape):
            yield b, d


def same(a, d):
    check([(lambda: a, d)])


def check(cases, *mats):
    """Each function of ``mats`` gives the array beside it; all are compiled together."""
    def run(*mats):
        outs = [f(*mats) for f, _ in cases]
        return outs, [o.todense() if isinstance(o, BCOO) else o for o in outs]
    for k, (out, got, (_, want)) in enumerate(zip(*jax.jit(run)(*mats), cases, strict=True)):
        assert out.shape == got.shape == np.shape(want), (k, out.shape, got.shape, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(k))
        if isinstance(out, BCOO):
            promises(out)


def promises(a):
    """Indices are in order, and unique, where that is said."""
    limit = np.asarray(a.shape[a.n_batch:a.n_batch + a.n_sparse])
    if not limit.size:
        return
    i = np.asarray(a.indices)
    for one in i.reshape(int(np.prod(i.shape[:-2])), *i.shape[-2:]):
        rows = [tuple(r) for r in one if all(r < limit)]
        assert not a.unique_indices or len(set(rows)) == len(rows)
        assert not a.indices_sorted or [tuple(r) for r in one] == sorted(tuple(r) for r in one)


ALL = [((5,), 0, 0), ((3, 4), 0, 0), ((3, 4), 1, 0), ((3, 4), 0, 1), ((3, 4), 0, 2), ((2, 3, 4), 1, 1)]


@pytest.mark.parametrize(("shape", "b", "d"), ALL)
def test_conversions(shape, b, d):
    x = dense_array(shape)
    a = BCOO.fromdense(x, n_batch=b, n_dense=d)
    assert (a.n_batch, a.n_dense, a.n_sparse, a.dtype) == (b, d, len(shape) - b - d, np.float32)
    m = messy(x, b, d)
    once = m.sum_duplicates()
    assert once.nse <= a.nse or not a.n_sparse
    cases = [(lambda a, m: a, x), (lambda a, m: m, x), (lambda a, m: m.sort_indices(), x),
             (lambda a, m: m.sum_duplicates(nse=m.nse), x), (lambda a, m: once, x),
             (lambda a, m: BCOO.fromdense(x, nse=a.nse, n_batch=b, n_dense=d), x),
             (lambda a, m: bcoo.bcoo_extract(a, 2 * x), 2 * x), (lambda a, m: bcoo.bcoo_extract(m, x), x)]
    for b2, d2 in layouts(shape) if len(shape) < 3 else [(0, 0), (2, 0), (0, 2)]:
        cases.append((lambda a, m, b2=b2, d2=d2: m.update_layout(n_batch=b2, n_dense=d2, on_inefficient=None), x))
    check(cases, a, m)


@pytest.mark.parametrize(("shape", "b", "d"), ALL)
def test_shapes(shape, b, d):
    x, y = dense_array(shape), dense_array(shape)
    m, w = messy(x, b, d), messy(y, b, d)
    s, n = len(shape) - d, len(shape)
    cases = []
    for axes in [(), (0,), (n - 1,), tuple(range(n))]:
        cases += [(lambda m, w, axes=axes: bcoo.bcoo_reduce_sum(m, axes=axes), x.sum(axes)),
                  (lambda m, w, axes=axes: bcoo.bcoo_rev(m, axes), np.flip(x, axes)),
                  (lambda m, w, axes=axes: m.sum(axes, keepdims=True), x.sum(axes, keepdims=True))]
    permutation = [*range(b)[::-1], *range(b, s)[::-1], *range(s, n)[::-1]]
    bounds = [(i, min(j, k), t) for (i, j, t), k in zip([(0, 2, 1), (1, 3, 1), (1, 4, 2)], shape, strict=False)]
    starts, limits, strides = zip(*bounds, strict=True)
    cut = tuple(slice(*t) for t in bounds)
    sizes = [2] * n
    flat = (*shape[:b], -1, *shape[s:]) if s > b else shape
    cases += [(lambda m, w: m.transpose(permutation), x.transpose(permutation)),
              (lambda m, w: bcoo.bcoo_slice(m, start_indices=starts, limit_indices=limits, strides=strides), x[cut]),
              (lambda m, w: bcoo.bcoo_dynamic_slice(m, list(jnp.ones(n, int)), sizes), lax.dynamic_slice(x, [1] * n, sizes)),
              (lambda m, w: m.reshape(*flat), x.reshape(flat)),
              (lambda m, w: bcoo.bcoo_broadcast_in_dim(m, shape=(2, *shape), broadcast_dimensions=range(1, n + 1)),
               np.broadcast_to(x, (2, *shape)))]
    for axis in range(n):
        cases.append((lambda m, w, axis=axis: bcoo.bcoo_concatenate([m, w], dimension=axis), np.concatenate([x, y], axis)))
    if s > b:
        one = m.reshape(*shape[:b], 1, *shape[b:])
        cases.append((lambda m, w: bcoo.bcoo_squeeze(one, dimensions=[b]), x))
    check(cases, m, w)


@pytest.mark.quick
@pytest.mark.parametrize(("b", "d"), [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)])
def test_reshape_and_broadcast(b, d):
    x, y = dense_array((2, 6, 2)), dense_array((3, 1, 2))
    m, w = messy(x, b, d), messy(y, b, d)
    cases = []
    for new in ((24,), (4, 3, 2), (2, 2, 3, 2), (12, 2))[d:]:
        cases.append((lambda m, w, new=new: m.reshape(new), x.reshape(new)))
    for shape, places in (((3, 4, 2), (0, 1, 2)), ((5, 3, 4, 2), (1, 2, 3)), ((3, 5, 4, 2), (0, 2, 3)),
                          ((3, 4, 2, 2), (0, 1, 3))):
        cases.append((lambda m, w, s=shape, p=places: bcoo.bcoo_broadcast_in_dim(w, shape=s, broadcast_dimensions=p),
                      lax.broadcast_in_dim(y, shape, places)))
    check(cases, m, w)
    with pytest.raises(ValueError, match="cannot take the shape"):
        m.reshape(7)


# --- products -------------------------------------------------------------------------------------------------------

NUMBERS = [((3, 4), (4,), ((1,), (0,)), ((), ())), ((3, 4), (4, 2), ((1,), (0,)), ((), ())),
           ((3, 4), (2, 3), ((0,), (1,)), ((), ())),
           ((3, 4), (3, 4), ((0, 1), (0, 1)), ((), ())), ((3, 4), (3, 4), ((1,), (1,)), ((0,), (0,))),
           ((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))), ((2, 3, 4), (3, 5, 2), ((0,), (2,)), ((1,), (0,))),
           ((2, 3, 4), (5,), ((), ()), ((), ())), ((2, 3, 4), (4, 2, 3), ((2,), (0,)), ((0, 1), (1, 2)))]


@pytest.mark.parametrize("case", NUMBERS, ids=range(len(NUMBERS)))
def test_contractions(case):
    left, right, contract, batch = case
    x, y = dense_array(left), dense_array(right)
    want = lax.dot_general(x, y, (contract, batch))
    back = lax.dot_general(y, x, (contract[::-1], batch[::-1]))
    kinds = [(b, d) for b, d in ((0, 0), (1, 0), (0, 1)) if not any(i >= len(left) - d for i in batch[0])]
    mats, others = [messy(x, b, d) for b, d in kinds], [messy(y, b) for b in range(min(len(right), 2))]
    cases = []
    dot = functools.partial(bcoo.bcoo_dot_general, dimension_numbers=(contract, batch))
    flipped = functools.partial(bcoo.bcoo_dot_general, dimension_numbers=(contract[::-1], batch[::-1]))
    for k, (_, d) in enumerate(kinds):
        cases += [(lambda ms, ws, k=k: dot(ms[k], y), want), (lambda ms, ws, k=k: flipped(y, ms[k]), back)]
        for j in range(len(others)) if not d and k < 2 else ():
            cases.append((lambda ms, ws, k=k, j=j: dot(ms[k], ws[j]), want))
    check(cases, mats, others)
    half = dot(mats[0].astype(jnp.bfloat16), y.astype(jnp.bfloat16), preferred_element_type=np.float32)
    assert half.dtype == np.float32


def test_sampled_contraction():
    x, y = dense_array((2, 3, 4), 1.0), dense_array((2, 4, 5), 1.0)
    numbers = (((2,), (1,)), ((0,), (0,)))
    full = np.asarray(lax.dot_general(x, y, numbers))
    for b, d in ((0, 0), (1, 1)):
        a = BCOO.fromdense(dense_array(full.shape), n_batch=b, n_dense=d)
        data = bcoo.bcoo_dot_general_sampled(x, y, a.indices, dimension_numbers=numbers)
        np.testing.assert_allclose(data, bcoo.bcoo_extract(a, full).data)


@pytest.mark.parametrize(("shape", "b", "d"), [c for c in ALL if len(c[0]) > 1])
def test_arithmetic(shape, b, d):
    x, y = dense_array(shape), dense_array(shape)
    cases = [(lambda m, w: m + w, x + y), (lambda m, w: m - w, x - y), (lambda m, w: m + y, x + y),
             (lambda m, w: y - m, y - x), (lambda m, w: m * w, x * y), (lambda m, w: m * y, x * y),
             (lambda m, w: 2 * m, 2 * x), (lambda m, w: m / 2, x / 2),
             (lambda m, w: m / (y + 1), x / (y + 1)), (lambda m, w: abs(-m), x), (lambda m, w: m**2, x**2)]
    for other in ((shape[-1],), (1, shape[-1]), (*shape[:-1], 1)):
        v = dense_array(other)
        u = BCOO.fromdense(v)
        cases += [(lambda m, w, v=v: m * v, x * v), (lambda m, w, u=u: m * u, x * v), (lambda m, w, u=u: u * m, x * v)]
    if not d:
        z = messy(y, 0)
        cases += [(lambda m, w: m + z, x + y), (lambda m, w: m * z, x * y)]
    check(cases, messy(x, b, d), messy(y, b, d))


@pytest.mark.quick
def test_products_of_matrices():
    x, y, v = dense_array((3, 4)), dense_array((4, 2)), dense_array((4,))
    m, w, stack = messy(x), messy(y), dense_array((5, 4, 2))
    turned = np.swapaxes(stack, 1, 2)
    cases = [(lambda m, w: m @ y, x @ y), (lambda m, w: m @ w, x @ y), (lambda m, w: x @ w, x @ y),
             (lambda m, w: m @ v, x @ v), (lambda m, w: v @ w, v @ y), (lambda m, w: m @ BCOO.fromdense(v, nse=4), x @ v)]
    for b in (0, 1):
        s, t, u = messy(stack, b), messy(turned, b), messy(np.stack([x] * 5), b)
        cases += [(lambda m, w, s=s: x @ s, x @ stack), (lambda m, w, s=s: m @ s, x @ stack),
                  (lambda m, w, t=t: t @ x.T, turned @ x.T), (lambda m, w, u=u: u @ stack, x @ stack)]
    check(cases, m, w)
    with pytest.raises(TypeError, match="scalars"):
        m @ 2.0
    with pytest.raises(TypeError, match="contracting dimensions"):
        m @ x
    with pytest.raises(NotImplementedError, match="larger than the latter"):
        m + 1.0


def test_convolution():
    x, y = dense_array((1, 1, 9)), dense_array((1, 1, 4))
    cases = []
    for padding, dilation in (("SAME", {}), ("VALID", {"rhs_dilation": (2,)}), ([(2, 1)], {"lhs_dilation": (2,)})):
        cases.append((lambda m, w, p=padding, d=dilation:
                      bcoo.bcoo_conv_general_dilated(m, w, window_strides=(1,), padding=p, **d),
                      lax.conv_general_dilated(x, y, (1,), padding, **dilation)))
    check(cases, messy(x), messy(y))
    with pytest.raises(NotImplementedError, match="strides"):
        bcoo.bcoo_conv_general_dilated(messy(x), messy(y), window_strides=(2,), padding="SAME")


# --- parts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [0, 1])
def test_indexing(b):
    x = dense_array((3, 4, 5))
    m = messy(x, b)
    cases = []
    for index in (0, -1, (1, 2), (1, 2, 3), slice(1, None), (slice(None), 1), (Ellipsis, 0),
                  (0, Ellipsis, slice(None, None, 2)), (slice(None, None, -1), slice(3, 0, -2)), None,
                  (slice(None), None, 0), (Ellipsis, None), np.array([2, 0, -1]), (np.array([[0, 1]]), slice(1, 3))):
        cases.append((lambda m, index=index: m[index], x[index]))
    check(cases, m)
    same(jax.jit(lambda m, i: m[i, :, 1])(m, 2), x[2, :, 1])
    assert len(list(m)) == 3
    same(list(m)[1], x[1])
    for bad, error in (((0, 0, 0, 0), IndexError), (7, IndexError)):
        with pytest.raises(error):
            m[bad]


def test_gather():
    x = dense_array((4, 5))
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    start = np.array([[0], [3], [3]])
    got = bcoo.bcoo_gather(messy(x), start, numbers, (1, 5))
    same(got, lax.gather(x, start, numbers, (1, 5)))
    last = numbers._replace(offset_dims=(0,))
    same(bcoo.bcoo_gather(messy(x), start, last, (1, 5)), lax.gather(x, start, last, (1, 5)))
    outside = np.array([[-2], [9]])
    clipped = lax.gather(x, outside, numbers, (1, 5), mode="clip")
    for mode in (None, "clip"):
        same(bcoo.bcoo_gather(messy(x), outside, numbers, (1, 5), mode=mode), clipped)
    same(bcoo.bcoo_gather(messy(x), start, numbers, (1, 5), mode="fill"), x[start[:, 0]])
    for options in ({"mode": "fill"}, {"mode": lax.GatherScatterMode.FILL_OR_DROP, "fill_value": 1.0}):
        with pytest.raises(NotImplementedError, match="clip the indices"):
            bcoo.bcoo_gather(messy(x), outside, numbers, (1, 5), **options)


# --- transformations ------------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_transformations():
    x, v = dense_array((3, 4)), dense_array((4,))
    m = BCOO.fromdense(x)
    same(jax.jit(lambda m: m.T)(m), x.T)
    slope = jax.grad(lambda data: (BCOO((data, m.indices), shape=m.shape) @ v).sum())(m.data)
    np.testing.assert_allclose(slope, v[m.indices[:, 1]])
    by_v = jax.grad(lambda v: (m @ v).sum())(v)
    np.testing.assert_allclose(by_v, x.sum(0))
    stack = dense_array((5, 3, 4))
    batch = BCOO.fromdense(stack, n_batch=1)
    same(jax.vmap(lambda m: m @ v)(batch), stack @ v)
    same(jax.vmap(lambda m: m * 2)(batch), stack * 2)
    assert jax.vmap(lambda m: m.T)(batch).shape == (5, 4, 3)
    same(jax.vmap(lambda x: BCOO.fromdense(x, nse=12))(stack), stack)
    assert jax.tree.structure(m) == jax.tree.structure(jax.tree.map(lambda x: x, m))
    out = lax.fori_loop(0, 3, lambda _, m: m * 2.0, m)
    same(out, 8 * x)
    assert repr(m) == f"BCOO(float32[3, 4], nse={m.nse})"
    assert "BCOO" in repr(jax.tree.map(lambda x: None, m))


def test_errors():
    x = dense_array((3, 4))
    m = BCOO.fromdense(x)
    for args, message in (((np.ones(2), np.zeros((3, 2), int)), "entries"),
                          ((np.ones(2), np.zeros((2, 1), int)), "numbers of axes"),
                          ((np.ones(2), np.zeros((2, 2))), "integers"),
                          ((np.ones((2, 3)), np.zeros((2, 1), int)), "dense axes")):
        with pytest.raises(ValueError, match=message):
            BCOO(args, shape=(3, 4))
    with pytest.raises(ValueError, match="nse="):
        jax.jit(BCOO.fromdense)(x)
    with pytest.raises(SparseEfficiencyError, match="stored in full"):
        m.update_layout(n_batch=1)
    with pytest.warns(SparseEfficiencyWarning, match="stored in full"):
        m.update_layout(n_batch=1, on_inefficient="warn")
    with pytest.raises(NotImplementedError, match="different kinds"):
        BCOO.fromdense(x, n_batch=1).T  # noqa: B018
    with pytest.raises(TypeError, match="todense"):
        np.asarray(m)
    for call in (lambda: m == m, lambda: m < 1, lambda: m**-1, lambda: 2.0 / m):
        with pytest.raises((NotImplementedError, TypeError)):
            call()
    with pytest.raises(TypeError, match="unhashable"):
        hash(m)
