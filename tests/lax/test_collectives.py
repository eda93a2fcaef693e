"""Collectives along an axis that ``vmap`` names: values against NumPy, derivatives, nesting, messages."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax

pytestmark = pytest.mark.quick
X = np.arange(4, dtype=np.float32)
M = np.arange(16, dtype=np.float32).reshape(4, 4)


def mapped(f, **options):
    return jax.vmap(f, axis_name="i", **options)


@pytest.mark.parametrize("f, want", [
    (lambda x: lax.psum(x, "i"), np.full(4, 6.0)),
    (lambda x: lax.pmean(x, "i"), np.full(4, 1.5)),
    (lambda x: lax.pmax(x, "i"), np.full(4, 3.0)),
    (lambda x: lax.pmin(x, "i"), np.zeros(4)),
    (lambda x: lax.axis_index("i"), np.arange(4)),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), [0, 0, 1, 0]),
    (lambda x: lax.pshuffle(x, "i", [1, 0, 3, 2]), [1, 0, 3, 2]),
    (lambda x: lax.pbroadcast(x, "i", 2), np.full(4, 2.0)),
    (lambda x: lax.all_gather(x, "i"), np.tile(X, (4, 1))),
    (lambda x: lax.psum(1, "i") + lax.axis_size("i"), np.full(4, 8)),
])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_scalars(f, want, wrap):
    np.testing.assert_allclose(mapped(wrap(f))(X), want)
    np.testing.assert_allclose(wrap(mapped(f))(X), want)


@pytest.mark.parametrize("f, want", [
    (lambda x: lax.all_to_all(x, "i", 0, 0), M.T),
    (lambda x: lax.pswapaxes(x, "i", 0), M.T),
    (lambda x: lax.psum_scatter(x, "i"), M.sum(0)),
    (lambda x: lax.psum_scatter(x, "i", tiled=True), M.sum(0)[:, None]),
    (lambda x: lax.all_gather(x, "i", tiled=True), np.tile(M.ravel(), (4, 1))),
    (lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True), M.T),
])
def test_rows(f, want):
    np.testing.assert_allclose(mapped(f)(M), want)


@pytest.mark.parametrize("f, want", [
    (lambda x: lax.psum(x * x, "i"), 2 * X * 4),
    (lambda x: lax.pmean(x * x, "i"), 2 * X),
    (lambda x: lax.ppermute(x * x, "i", [(0, 1), (1, 2)]), [0, 2, 0, 0]),
    (lambda x: lax.pmax(x * x, "i"), [0, 0, 0, 24]),
    (lambda x: lax.all_gather(x, "i").sum(), np.full(4, 4.0)),
])
def test_gradients_of_one_example(f, want):
    np.testing.assert_allclose(mapped(jax.grad(f))(X), want)
    np.testing.assert_allclose(jax.jit(mapped(jax.grad(jax.jit(f))))(X), want)


def test_gradient_around_the_map():
    loss = lambda x: (mapped(lambda x: lax.pmax(x, "i") * lax.psum(x, "i"))(x)).sum()  # noqa: E731
    np.testing.assert_allclose(jax.grad(loss)(X), [12, 12, 12, 12 + 24])


def test_trees_and_several_axes():
    out = mapped(lambda x: lax.pmin({"a": x, "b": (x, 1.0)}, "i"))(X)
    assert out["b"][1].shape == (4,)
    both = mapped(jax.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"))(M)
    np.testing.assert_allclose(both, np.full((4, 4), M.sum()))
    index = mapped(jax.vmap(lambda x: lax.axis_index(("i", "j")), axis_name="j"))(M)
    np.testing.assert_array_equal(index, np.arange(16).reshape(4, 4))


def test_another_axis_mapped():
    f = lambda x: lax.all_gather(x, "i")  # noqa: E731
    got = mapped(jax.vmap(f))(M)
    assert got.shape == (4, 4, 4)
    np.testing.assert_allclose(got[2, 1], M[:, 1])


@pytest.mark.parametrize("f, error, message", [
    (lambda x: lax.psum(x, "j"), NameError, "'j' is not bound"),
    (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), NotImplementedError, "axis_index_groups"),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), ValueError, "destination occurs twice"),
    (lambda x: lax.ppermute(x, "i", [(0, 9)]), ValueError, "outside of the axis"),
    (lambda x: lax.pshuffle(x, "i", [0, 0, 1, 2]), ValueError, "rearrange"),
    (lambda x: lax.pcast(x, "i", to="reduced"), NotImplementedError, "mesh"),
])
def test_misuse(f, error, message):
    with pytest.raises(error, match=message):
        mapped(f)(X)


def test_unbound_outside():
    with pytest.raises(NameError, match="bound: none"):
        lax.psum(1.0, "i")
    traced = jax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 2)])(1.0)
    assert traced.eqns[0].primitive is lax.psum_p
