"""BCOO arrays of all layouts against dense arrays."""

from __future__ import annotations

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


def same(a, d, **tol):
    got = a.todense() if isinstance(a, BCOO) else a
    assert a.shape == np.shape(d), (a.shape, np.shape(d))
    np.testing.assert_allclose(got, d, rtol=1e-5, atol=1e-6, **tol)
    if isinstance(a, BCOO) and a.n_sparse:
        # promises hold
        i = np.asarray(jnp.broadcast_to(a.indices, (*a.shape[:a.n_batch], *a.indices.shape[a.n_batch:])))
        for one in i.reshape(int(np.prod(i.shape[:-2])), *i.shape[-2:]):
            rows = [tuple(r) for r in one if all(r < np.asarray(a.shape[a.n_batch:a.n_batch + a.n_sparse]))]
            if a.unique_indices:
                assert len(set(rows)) == len(rows)
            if a.indices_sorted:
                assert [tuple(r) for r in one] == sorted(tuple(r) for r in one)


SHAPES = [(5,), (3, 4), (2, 3, 4)]
ALL = [(s, b, d) for s in SHAPES for b, d in layouts(s)]


@pytest.mark.parametrize(("shape", "b", "d"), ALL)
def test_conversions(shape, b, d):
    x = dense_array(shape)
    a = BCOO.fromdense(x, n_batch=b, n_dense=d)
    assert (a.n_batch, a.n_dense, a.n_sparse, a.dtype) == (b, d, len(shape) - b - d, np.float32)
    same(a, x)
    m = messy(x, b, d)
    same(m, x)
    same(m.sort_indices(), x)
    once = m.sum_duplicates()
    same(once, x)
    assert once.nse <= a.nse or not a.n_sparse
    same(jax.jit(lambda m: m.sum_duplicates(nse=m.nse))(m), x)
    same(bcoo.bcoo_extract(a, 2 * x), 2 * x * (x != 0) if not d else a.todense() * 2)
    same(bcoo.bcoo_extract(BCOO((m.data, m.indices), shape=shape), x), x)
    for b2, d2 in layouts(shape):
        same(m.update_layout(n_batch=b2, n_dense=d2, on_inefficient=None), x)


@pytest.mark.parametrize(("shape", "b", "d"), ALL)
def test_shapes(shape, b, d):
    x = dense_array(shape)
    m = messy(x, b, d)
    s = len(shape) - d
    n = len(shape)
    for axes in itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1)):
        same(bcoo.bcoo_reduce_sum(m, axes=axes), x.sum(axes))
        same(bcoo.bcoo_rev(m, axes), np.flip(x, axes))
        same(m.sum(axes, keepdims=True), x.sum(axes, keepdims=True))
    permutation = [*range(b)[::-1], *range(b, s)[::-1], *range(s, n)[::-1]]
    same(m.transpose(permutation), x.transpose(permutation))
    bounds = [(0, 2, 1), (1, 3, 1), (1, 4, 2)][:n]
    bounds = [(i, min(j, k), t) for (i, j, t), k in zip(bounds, shape, strict=True)]
    cut = tuple(slice(*t) for t in bounds)
    same(bcoo.bcoo_slice(m, start_indices=[t[0] for t in bounds], limit_indices=[t[1] for t in bounds],
                         strides=[t[2] for t in bounds]), x[cut])
    start, sizes = [1] * n, [2] * n
    same(jax.jit(lambda m, i: bcoo.bcoo_dynamic_slice(m, list(i), sizes))(m, np.array(start)),
         lax.dynamic_slice(x, start, sizes))
    for axis in range(n):
        parts = [m, messy(dense_array(shape), b, d)] if axis < s or b == 0 else [m, m]
        same(bcoo.bcoo_concatenate(parts, dimension=axis), np.concatenate([p.todense() for p in parts], axis))
    flat = (*shape[:b], -1, *shape[s:]) if s > b else shape
    same(m.reshape(*flat), x.reshape(flat))
    one = m.reshape(*shape[:b], *((1,) if s > b else ()), *shape[b:])
    same(bcoo.bcoo_squeeze(one, dimensions=[b] if s > b else []), x)
    places = range(1, n + 1)
    same(bcoo.bcoo_broadcast_in_dim(m, shape=(2, *shape), broadcast_dimensions=places), np.broadcast_to(x, (2, *shape)))


@pytest.mark.quick
def test_reshape_and_broadcast():
    x = dense_array((2, 6, 2))
    for b, d in layouts(x.shape):
        m = messy(x, b, d)
        if not d:
            for new in ((24,), (4, 3, 2), (2, 2, 3, 2), (12, 2)):
                same(m.reshape(new), x.reshape(new))
                same(jax.jit(lambda m, new=new: m.reshape(new))(m), x.reshape(new))
    y = dense_array((3, 1, 2))
    for b, d in layouts(y.shape):
        m = messy(y, b, d)
        if b < 2 and d < 2:
            for shape, places in (((3, 4, 2), (0, 1, 2)), ((5, 3, 4, 2), (1, 2, 3)), ((3, 5, 4, 2), (0, 2, 3)),
                                  ((3, 4, 2, 2), (0, 1, 3))):
                same(bcoo.bcoo_broadcast_in_dim(m, shape=shape, broadcast_dimensions=places),
                     lax.broadcast_in_dim(y, shape, places))
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
    numbers = (contract, batch)
    x, y = dense_array(left), dense_array(right)
    want = lax.dot_general(x, y, numbers)
    flipped = (contract[::-1], batch[::-1])
    back = lax.dot_general(y, x, flipped)
    for b, d in layouts(left):
        m = messy(x, b, d)
        if any(i >= len(left) - d for i in batch[0]) and not any(i < b for i in batch[0]):
            continue
        try:
            got = bcoo.bcoo_dot_general(m, y, dimension_numbers=numbers)
        except NotImplementedError as error:
            assert "dense axes" in str(error) and d
            continue
        same(got, want)
        same(bcoo.bcoo_dot_general(y, m, dimension_numbers=flipped), back)
        if not d:
            for b2 in range(len(right) + 1):
                same(bcoo.bcoo_dot_general(m, messy(y, b2), dimension_numbers=numbers), want)
    half = bcoo.bcoo_dot_general(messy(x).astype(jnp.bfloat16), y.astype(jnp.bfloat16), dimension_numbers=numbers,
                                 preferred_element_type=np.float32)
    assert half.dtype == np.float32


def test_sampled_contraction():
    x, y = dense_array((2, 3, 4), 1.0), dense_array((2, 4, 5), 1.0)
    numbers = (((2,), (1,)), ((0,), (0,)))
    full = np.asarray(lax.dot_general(x, y, numbers))
    for b, d in ((0, 0), (1, 0), (0, 1), (1, 1)):
        a = BCOO.fromdense(dense_array(full.shape), n_batch=b, n_dense=d)
        data = bcoo.bcoo_dot_general_sampled(x, y, a.indices, dimension_numbers=numbers)
        np.testing.assert_allclose(data, bcoo.bcoo_extract(a, full).data)


@pytest.mark.parametrize(("shape", "b", "d"), [c for c in ALL if len(c[0]) > 1])
def test_arithmetic(shape, b, d):
    x, y = dense_array(shape), dense_array(shape)
    m, w = messy(x, b, d), messy(y, b, d)
    same(m + w, x + y)
    same(m - w, x - y)
    same(m + y, x + y)
    same(y - m, y - x)
    same(m * w, x * y)
    same(jax.jit(lambda m, w: m * w)(m, w), x * y)
    same(m * y, x * y)
    same(2 * m, 2 * x)
    same(m / (y + 1), x / (y + 1))
    same(m / 2, x / 2)
    same(-m, -x)
    same(abs(-m), x)
    same(m**2, x**2)
    for other in ((shape[-1],), (1, shape[-1]), (*shape[:-1], 1)):
        v = dense_array(other)
        same(m * v, x * v)
        same(m * BCOO.fromdense(v), x * v)
        same(BCOO.fromdense(v) * m, x * v)
    if not d:
        same(m + messy(y, 0), x + y)
        same(m * messy(y, 0), x * y)


@pytest.mark.quick
def test_products_of_matrices():
    x, y, v = dense_array((3, 4)), dense_array((4, 2)), dense_array((4,))
    m, w = messy(x), messy(y)
    same(m @ y, x @ y)
    same(m @ w, x @ y)
    same(x @ w, x @ y)
    same(m @ v, x @ v)
    same(v @ w, v @ y)
    same((m @ BCOO.fromdense(v)), x @ v)
    stack = dense_array((5, 4, 2))
    for b in (0, 1):
        same(x @ messy(stack, b), x @ stack)
        same(m @ messy(stack, b), x @ stack)
        same(messy(np.swapaxes(stack, 1, 2), b) @ x.T, np.swapaxes(stack, 1, 2) @ x.T)
        same(messy(np.stack([x] * 5), b) @ stack, x @ stack)
    with pytest.raises(TypeError, match="scalars"):
        m @ 2.0
    with pytest.raises(TypeError, match="contracting dimensions"):
        m @ x
    with pytest.raises(NotImplementedError, match="larger than the latter"):
        m + 1.0


def test_convolution():
    x, y = dense_array((1, 1, 9)), dense_array((1, 1, 4))
    for padding in ("SAME", "VALID", [(2, 1)]):
        for dilation in ({}, {"rhs_dilation": (2,)}, {"lhs_dilation": (2,)}):
            if isinstance(padding, str) and dilation.get("lhs_dilation"):
                continue
            got = bcoo.bcoo_conv_general_dilated(messy(x), messy(y), window_strides=(1,), padding=padding, **dilation)
            same(got, lax.conv_general_dilated(x, y, (1,), padding, **dilation))
    with pytest.raises(NotImplementedError, match="strides"):
        bcoo.bcoo_conv_general_dilated(messy(x), messy(y), window_strides=(2,), padding="SAME")


# --- parts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [0, 1, 2])
def test_indexing(b):
    x = dense_array((3, 4, 5))
    m = messy(x, b)
    for index in (0, -1, (1, 2), (1, 2, 3), slice(1, None), (slice(None), 1), (Ellipsis, 0),
                  (0, Ellipsis, slice(None, None, 2)), (slice(None, None, -1), slice(3, 0, -2)), None,
                  (slice(None), None, 0), (Ellipsis, None), np.array([2, 0, -1]), (np.array([[0, 1]]), slice(1, 3))):
        same(m[index], x[index])
    same(jax.jit(lambda m, i: m[i, :, 1])(m, 2), x[2, :, 1])
    assert len(list(m)) == 3
    same(list(m)[1], x[1])
    for bad, error in (((0, 0, 0, 0), IndexError), (7, IndexError), ((0, np.array([0])), NotImplementedError)):
        with pytest.raises(error):
            m[bad]


def test_gather():
    x = dense_array((4, 5))
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    start = np.array([[0], [3], [3]])
    got = bcoo.bcoo_gather(messy(x), start, numbers, (1, 5))
    same(got, lax.gather(x, start, numbers, (1, 5)))
    with pytest.raises(NotImplementedError, match="come first"):
        bcoo.bcoo_gather(messy(x), start, numbers._replace(offset_dims=(0,)), (1, 5))


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
