"""Collectives within groups of positions along an axis: ``axis_index_groups``."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jax
from jax import lax

G = [[0, 2, 4, 6], [1, 3, 5, 7]]
UNEVEN = [[0, 1, 2], [3, 4, 5, 6, 7]]
X = np.arange(32, dtype=np.float32).reshape(8, 4)


def within(groups, rows):
    """What each device gets, from what each group makes of its rows."""
    out = [None] * 8
    for g in groups:
        for i, row in zip(g, rows(X[g]), strict=True):
            out[i] = row
    return np.stack(out)


@pytest.fixture
def mapped(devices):
    return lambda f: jax.pmap(f, axis_name="i", devices=devices)(X)


def everywhere(row):
    return lambda g: [row(g)] * len(g)


@pytest.mark.parametrize("f, rows", [
    (lax.psum, everywhere(lambda g: g.sum(0))),
    (lax.pmean, everywhere(lambda g: g.mean(0))),
    (lax.pmax, everywhere(lambda g: g.max(0))),
    (lax.pmin, everywhere(lambda g: g.min(0))),
    (lax.all_gather, everywhere(lambda g: g)),
    (functools.partial(lax.all_gather, tiled=True), everywhere(np.ravel)),
    (lax.psum_scatter, lambda g: g.sum(0)),
    (functools.partial(lax.psum_scatter, tiled=True), lambda g: g.sum(0)[:, None]),
    (functools.partial(lax.all_to_all, split_axis=0, concat_axis=0), lambda g: g.T),
    (functools.partial(lax.pswapaxes, axis=0), lambda g: g.T),
])
def test_values(mapped, f, rows):
    got = mapped(lambda v: f(v, axis_name="i", axis_index_groups=G))
    np.testing.assert_allclose(got, within(G, rows))


def test_groups_of_several_sizes(mapped):
    got = mapped(lambda v: lax.psum(v, "i", axis_index_groups=UNEVEN))
    np.testing.assert_allclose(got, within(UNEVEN, everywhere(lambda g: g.sum(0))))
    counted = mapped(lambda v: v + lax.psum(1, "i", axis_index_groups=UNEVEN))
    np.testing.assert_allclose(counted, X + np.array([3] * 3 + [5] * 5)[:, None])
    assert mapped(lambda v: v * lax.psum(1, "i", axis_index_groups=G))[1, 0] == 16


@pytest.mark.parametrize("check_vma", [True, False])
def test_derivative(devices, check_vma):
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    f = jax.shard_map(lambda v: lax.psum(v ** 2, "i", axis_index_groups=G), mesh=mesh, in_specs=jax.P("i"),
                      out_specs=jax.P("i"), check_vma=check_vma)
    got = jax.grad(lambda x: (f(x) * X).sum())(X)
    np.testing.assert_allclose(got, 2 * X * within(G, everywhere(lambda g: g.sum(0))))


def test_groups_differ(devices):
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    with pytest.raises(ValueError, match="must have the same result"):
        jax.shard_map(lambda v: lax.psum(v, "i", axis_index_groups=G), mesh=mesh, in_specs=jax.P("i"),
                      out_specs=jax.P())(X)


@pytest.mark.parametrize("f, error, message", [
    (lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1]]), ValueError, "must cover all indices exactly once"),
    (lambda v: lax.all_gather(v, "i", axis_index_groups=UNEVEN), ValueError, "must all have the same size"),
    (lambda v: lax.psum(v, ("i", 0), axis_index_groups=G), ValueError, "named axes"),
    (lambda v: jax.vmap(lambda w: lax.psum(w, "j", axis_index_groups=[[0, 1], [2, 3]]), axis_name="j")(v),
     NotImplementedError, "under vmap"),
])
def test_misuse(mapped, f, error, message):
    with pytest.raises(error, match=message):
        mapped(f)
