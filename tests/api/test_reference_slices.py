"""``jax.ds`` in indices of references: against NumPy, at once and in programs."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(4, 6)
MASK = np.array([True, False, True, False])
INDICES = {
    "stride": (lambda i: (0, jax.ds(i, 2, 3)), lambda x: x[0, 1:5:3]),
    "strides": (lambda i: (None, jax.ds(i, 2, 2), None, jax.ds(i, 2, 3)), lambda x: x[None, 1:4:2, None, 1:5:3]),
    "stride after an ellipsis": (lambda i: (..., jax.ds(i, 3, 2)), lambda x: x[:, 1:6:2]),
    "moved back": (lambda i: (jax.ds(i + 2, 2, 2), 0), lambda x: x[1:4:2, 0]),
    "list": (lambda i: ([2, 0], jax.ds(i, 3)), lambda x: x[[2, 0], 1:4]),
    "array behind": (lambda i: (jax.ds(i, 3), jnp.array([[5], [0]])), lambda x: x[1:4, [[5], [0]]]),
    "mask": (lambda i: (MASK, jax.ds(i, 3)), lambda x: x[MASK, 1:4]),
    "nothing": (lambda i: (jax.ds(i, 0, 2), 0), lambda x: x[:0, 0]),
    "place that is known": (lambda i: (jax.ds(np.int32(2), 2), jax.ds(-2, 2)), lambda x: x[2:, 4:]),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["at once", "jit"])
def test_slices_at_computed_places(name, transform):
    index, numpy_index = INDICES[name]
    want = numpy_index(X)
    ref = jax.new_ref(jnp.asarray(X))
    np.testing.assert_array_equal(transform(lambda r, i: r[index(i)])(ref, jnp.int32(1)), want)

    def write(r, i):
        r[index(i)] = -r[index(i)]
        jax.ref.addupdate(r, index(i), 100.)
        return jax.ref.swap(r, index(i), r.at[index(i)][...] * 2)

    np.testing.assert_array_equal(transform(write)(ref, jnp.int32(1)), 100 - want)
    marks = np.isin(X, want)
    np.testing.assert_array_equal(ref[...], np.where(marks, 200 - 2 * X, X))


@pytest.mark.parametrize("index", [jax.ds(3, 2), jax.ds(-5, 1), jax.ds(np.int64(3), 2), (..., jax.ds(5, 2)),
                                   (MASK, jax.ds(5, 2)), (None, jax.ds(2, 2, 2))])
def test_known_places_are_within_the_reference(index):
    ref = jax.new_ref(jnp.asarray(X))
    for f in (lambda r: r[index], lambda r: r.at[index], lambda r: jax.ref.set(r, index, 0.)):
        for transform in (lambda f: f, jax.jit):
            with pytest.raises(IndexError, match=r"Slice\(.* is out of bounds for axis [01] of a reference, which has size"):
                transform(lambda r, f=f: jax.tree.leaves(f(r)) and None)(ref)
    np.testing.assert_array_equal(ref[...], X)


def test_derivatives_and_batches_of_strides():
    def f(x, i):
        ref = jax.new_ref(x)
        ref[jax.ds(i, 2, 2)] = 3 * ref[jax.ds(i, 2, 2)]
        return ref[...]

    x = jnp.arange(4.)
    scale = np.array([[3., 1., 3., 1.], [1., 3., 1., 3.]], np.float32)
    np.testing.assert_array_equal(jax.vmap(f, (None, 0))(x, jnp.arange(2)), scale * np.arange(4.))
    for jac in (jax.jacfwd, jax.jacrev):
        np.testing.assert_array_equal(jac(f)(x, 1), np.diag(scale[1]))
