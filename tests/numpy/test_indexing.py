"""``x[index]`` and the functions that take elements: against NumPy, under transformations, and their errors."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from tests import harness
from tests.numpy.indices import SHAPE, indices
from tests.ops import cases, derivative_cases
from tests.ops_arrays import SELECT

N = np.arange(24, dtype=np.float32).reshape(SHAPE)
J = jnp.asarray(N)
V = jnp.arange(10.0)
M = jnp.arange(12).reshape(3, 4)


@pytest.mark.parametrize("op, dtype", cases(SELECT))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(SELECT))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype("float32"), id=op.name) for op in SELECT])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


# --- any index --------------------------------------------------------------------------------------------------

@hypothesis.settings(max_examples=100)
@hypothesis.given(indices())
def test_any_index_eagerly(index):
    got, want = J[index], N[index]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@hypothesis.settings(max_examples=40)
@hypothesis.given(indices())
def test_any_index_in_a_program(index):
    np.testing.assert_array_equal(jax.jit(lambda x: x[index])(J), N[index])


@hypothesis.settings(max_examples=25)
@hypothesis.given(indices())
def test_any_index_differentiated(index):
    weights = np.arange(1, 1 + N[index].size, dtype=np.float32).reshape(N[index].shape)
    want = np.zeros_like(N)
    np.add.at(want, index, weights)
    np.testing.assert_allclose(jax.grad(lambda x: (x[index] * weights).sum())(J), want)
    np.testing.assert_array_equal(jax.vmap(lambda x: x[index])(J[None]), N[index][None])


SEPARATED = [np.s_[[0, 1], :, [0, 1]], np.s_[0, :, [0, 1]], np.s_[:, 0, [0, 1]], np.s_[[0, 1], None, [0, 1]],
             np.s_[None, [0, 1], [0, 1]], np.s_[..., [0, 1], [0, 1]], np.s_[[0, 1], ..., [0, 1]],
             np.s_[[0], :, [[0], [1]]], np.s_[[[0], [1]], [0, 1], [0, 1]], np.s_[:, [0, 1], None, 0]]


@pytest.mark.quick
@pytest.mark.parametrize("index", SEPARATED, ids=str)
def test_where_the_axes_of_index_arrays_go(index):
    np.testing.assert_array_equal(J[index], N[index])
    np.testing.assert_array_equal(jax.jit(lambda x: x[index])(J), N[index])
    np.testing.assert_array_equal(J.at[index].set(-1), _set(N, index, -1))


def _set(x, index, value):
    out = x.copy()
    out[index] = value
    return out


@pytest.mark.quick
def test_masks():
    for mask in (N[:, 0, 0] > 3, N[..., 0] > 5, N > 100, N % 2 == 0):
        np.testing.assert_array_equal(J[mask], N[mask])
        np.testing.assert_array_equal(J[jnp.asarray(mask)], N[mask])
        np.testing.assert_array_equal(jax.jit(lambda x, mask=mask: x[mask])(J), N[mask])
    for index in (True, False, np.True_, (True, 1), (slice(None), False), (None, True, [0, 1])):
        np.testing.assert_array_equal(J[index], N[index])
        np.testing.assert_array_equal(J.at[index].set(5), _set(N, index, 5))
    assert J[jnp.array(True)].shape == (1, *SHAPE)


@pytest.mark.quick
def test_indices_of_every_integer_type():
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        i = jnp.array([3, 0], dtype)
        np.testing.assert_array_equal(J[i], N[[3, 0]])
        np.testing.assert_array_equal(J[i[0]], N[3])
        np.testing.assert_array_equal(V[np.array(2, dtype)], 2.0)
    wide = jnp.arange(300.0)
    assert wide[jnp.uint8(255)] == 255 and wide[jnp.int8(-1)] == 299
    with enable_x64(True):
        np.testing.assert_array_equal(J[jnp.array([1, -1])], N[[1, -1]])
        assert wide[jnp.int64(2**40)] == 299
        np.testing.assert_array_equal(jax.jit(lambda x, i: x[i])(J, np.int64(-1)), N[-1])


class Index:
    def __index__(self):
        return 2


@pytest.mark.quick
def test_index_objects():
    np.testing.assert_array_equal(V[Index()], 2.0)
    np.testing.assert_array_equal(V[Index():], np.arange(2.0, 10))
    np.testing.assert_array_equal(V[jnp.array(2):jnp.array(4)], [2.0, 3.0])
    np.testing.assert_array_equal(M[[0, 1], [1, 2]], [1, 6])
    np.testing.assert_array_equal(M[(0, 2), :], np.arange(12).reshape(3, 4)[[0, 2]])
    np.testing.assert_array_equal(M[[], :], np.zeros((0, 4)))
    np.testing.assert_array_equal(jax.jit(lambda i: M[[i, 0], 1])(2), [9, 1])


# --- out of bounds ----------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_places_out_of_bounds():
    for take in (lambda x, i: x[i], jax.jit(lambda x, i: x[i])):
        assert take(V, 100) == 9 and take(V, -100) == 0 and take(V, jnp.int32(100)) == 9
        np.testing.assert_array_equal(take(V, jnp.array([100, -100, -1])), [9, 0, 9])
    out = np.array([100, -100, -1])
    for index in (out, jnp.array(out)):
        np.testing.assert_array_equal(V.at[index].get(mode="fill"), [np.nan, np.nan, 9])
        np.testing.assert_array_equal(V.at[index].get(mode="fill", fill_value=-3), [-3, -3, 9])
        np.testing.assert_array_equal(V.at[index].get(mode="clip"), [9, 0, 9])
    assert np.isnan(V.at[100].get(mode="fill")) and V.at[100].get(mode="fill", fill_value=2) == 2
    assert M.at[9, 0].get(mode="fill") == np.iinfo(np.int32).min
    assert V.at[-1].get(wrap_negative_indices=False) == 0
    np.testing.assert_array_equal(jax.jit(lambda x, i: x.at[i].get(mode="fill"))(V, 100), np.nan)
    assert jnp.zeros((0, 3))[jnp.array([], int)].shape == (0, 3)


@pytest.mark.quick
def test_take_modes():
    i = jnp.array([11, -11, -1])
    np.testing.assert_array_equal(jnp.take(V, i), [np.nan, np.nan, 9])
    np.testing.assert_array_equal(jnp.take(V, i, mode="clip"), [9, 0, 0])
    np.testing.assert_array_equal(jnp.take(V, i, mode="wrap"), [1, 9, 9])
    np.testing.assert_array_equal(jnp.take(V, i, fill_value=-1), [-1, -1, 9])


# --- errors -----------------------------------------------------------------------------------------------------

@pytest.mark.quick
@pytest.mark.parametrize("call, error, match", [
    (lambda: V[[0, 1]], TypeError, r"jnp.array\(seq\)"), (lambda: V[1.0], TypeError, "integer or boolean"),
    (lambda: V[jnp.array([1.0])], TypeError, "float32"), (lambda: V["a"], TypeError, "string"),
    (lambda: V[0, 1], IndexError, "Too many indices"), (lambda: jnp.float32(1)[0], IndexError, "Too many indices"),
    (lambda: M[..., 0, ...], IndexError, "single ellipsis"), (lambda: V[{}], IndexError, "got {}"),
    (lambda: V[jnp.array([True] * 9)], IndexError, r"\(9,\)"), (lambda: V[::0], ValueError, "zero"),
    (lambda: jnp.zeros((0, 3))[0], IndexError, "size 0"),
    (lambda: jnp.zeros((0, 3))[jnp.array([0])], IndexError, "size 0"),
    (lambda: M[jnp.array([0, 1]), jnp.array([0, 1, 2])], IndexError, "shape mismatch"),
    (lambda: jax.jit(lambda x: x[x > 3])(V), jax.errors.NonConcreteBooleanIndexError, "jnp.where"),
    (lambda: jax.jit(lambda x: x.at[x > 3].set(0))(V), jax.errors.NonConcreteBooleanIndexError, "jnp.where"),
    (lambda: jax.jit(lambda x, i: x[i:i + 2])(V, 1), IndexError, "dynamic_slice"),
    (lambda: V.at[0].get(mode="bogus"), ValueError, "bogus"),
    (lambda: jnp.take(V, jnp.array([1.0])), TypeError, "integers"),
    (lambda: jnp.take(V, 0, mode="raise"), NotImplementedError, "raise"),
    (lambda: jnp.take_along_axis(M, jnp.zeros((2, 1), int), 1), ValueError, r"\(3, 4\)"),
    (lambda: jnp.take_along_axis(M, jnp.zeros(3, int), 1), ValueError, "same rank"),
    (lambda: jnp.ravel_multi_index((5, 0), (2, 3)), ValueError, "size 2"),
    (lambda: jax.jit(lambda i: jnp.ravel_multi_index((i, 0), (2, 3)))(1), jax.errors.ConcretizationTypeError, "clip"),
    (lambda: jnp.where(V > 1, V), ValueError, "both"),
    (lambda: jax.jit(jnp.nonzero)(V), jax.errors.ConcretizationTypeError, "size="),
    (lambda: jnp.nonzero(3), ValueError, "atleast_1d"),
    (lambda: jnp.select([], []), ValueError, "at least one"),
    (lambda: jnp.choose(jnp.array([3]), [V, V]), ValueError, "range"),
    (lambda: jnp.put(V, 0, 1.0), ValueError, "inplace=False"),
    (lambda: jnp.place(V, V > 1, 1.0), ValueError, "inplace=False"),
])
def test_errors_name_the_remedy(call, error, match):
    with pytest.raises(error, match=match):
        call()


# --- programs ---------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_known_places_are_static_slices_and_traced_ones_dynamic():
    static = jax.make_jaxpr(lambda x: x[0, 1:3])(M)
    assert [e.primitive.name for e in static.eqns] == ["slice", "squeeze"]
    names = [e.primitive.name for e in jax.make_jaxpr(lambda x, i: x[i])(M, 0).eqns]
    assert "dynamic_slice" in names and "gather" not in names
    assert "gather" in [e.primitive.name for e in jax.make_jaxpr(lambda x, i: x[i])(M, jnp.array([0])).eqns]
    assert jax.make_jaxpr(lambda x: x[...])(M).eqns == []
    assert M[...] is M and M[:, :] is M and M[:] is M


@pytest.mark.quick
def test_iteration_and_unpacking():
    for rows in (list(M), jax.jit(lambda m: [r for r in m])(M)):
        np.testing.assert_array_equal(rows, M)
    a, b, c = jax.jit(lambda m: (*m,))(M)
    np.testing.assert_array_equal(c, M[2])


@pytest.mark.quick
def test_nonzero_and_kin():
    m = np.array([[0, 3, 0], [4, 0, 5]])
    for g, w in zip(jnp.nonzero(m), np.nonzero(m), strict=True):
        np.testing.assert_array_equal(g, w)
    rows, columns = jax.jit(lambda m: jnp.nonzero(m, size=5, fill_value=(7, 8)))(m)
    np.testing.assert_array_equal(rows, [0, 1, 1, 7, 7])
    np.testing.assert_array_equal(columns, [1, 0, 2, 8, 8])
    np.testing.assert_array_equal(jnp.nonzero(m, size=2)[1], [1, 0])
    np.testing.assert_array_equal(jnp.argwhere(m), np.argwhere(m))
    np.testing.assert_array_equal(jnp.flatnonzero(m, size=4, fill_value=-1), [1, 3, 5, -1])
    np.testing.assert_array_equal(jnp.where(m)[0], np.where(m)[0])
    np.testing.assert_array_equal(jnp.extract(m > 3, m), [4, 5])
    np.testing.assert_array_equal(jnp.compress(np.array([False, True]), m, 0), m[1:])
    assert jnp.nonzero(np.zeros((0, 2)), size=3)[0].tolist() == [0, 0, 0]


@pytest.mark.quick
def test_where_and_ix():
    assert jnp.where(True, 1, 2).weak_type and jnp.where(V > 3, jnp.float16(1), jnp.bfloat16(1)).dtype == jnp.float32
    np.testing.assert_array_equal(jnp.where(M, M, -1), np.where(np.asarray(M), M, -1))
    grid = jnp.ix_(jnp.array([0, 2]), jnp.array([True, False, True, False]))
    np.testing.assert_array_equal(M[grid], np.asarray(M)[np.ix_([0, 2], [True, False, True, False])])
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.where(x > 2, x * x, 0.0).sum())(V), np.where(V > 2, 2 * V, 0))


@pytest.mark.quick
def test_keys_are_arrays_too():
    keys = jax.random.split(jax.random.key(0), 6)
    data = np.asarray(jax.random.key_data(keys))
    for index in (0, -1, np.s_[1:3], np.s_[::-2], np.array([0, 5, 1]), np.s_[None, 2], np.arange(6) > 3):
        np.testing.assert_array_equal(jax.random.key_data(keys[index]), data[index])
    np.testing.assert_array_equal(jax.random.key_data(keys.reshape(2, 3)[1]), data[3:])
    np.testing.assert_array_equal(jax.random.key_data(jnp.stack([keys[1], keys[0]])), data[[1, 0]])
    np.testing.assert_array_equal(jax.random.key_data(keys.at[::2].set(keys[1])), data[[1, 1, 1, 3, 1, 5]])
    np.testing.assert_array_equal(jax.random.key_data(jnp.where(np.arange(6) < 3, keys, keys[0])), data[[0, 1, 2, 0,
                                                                                                         0, 0]])
    np.testing.assert_array_equal(jax.random.key_data(jax.jit(lambda k, i: k[i])(keys, 4)), data[4])
