"""``x.at[index]``: updates against NumPy, options, dtypes, derivatives, errors."""

from __future__ import annotations

import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._runtime import host_parts
from tests.numpy.indices import SHAPE, indices

N = np.arange(1, 25, dtype=np.float32).reshape(SHAPE)
J = jnp.asarray(N)
V = jnp.arange(10.0)

UFUNCS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum, "max": np.maximum,
          "divide": np.true_divide, "power": np.power}


def updated(op, index, values):
    out = N.astype(np.float64)
    if op == "set":
        out[index] = values
    else:
        UFUNCS[op].at(out, index, values)
    return out


@hypothesis.settings(max_examples=60)
@hypothesis.given(indices(), st.sampled_from(["set", "add", "subtract", "multiply", "min", "max"]))
def test_any_update_with_a_scalar(index, op):
    np.testing.assert_allclose(getattr(J.at[index], op)(3.0), updated(op, index, 3.0), rtol=1e-6)


@hypothesis.settings(max_examples=30)
@hypothesis.given(indices(), st.sampled_from(["add", "multiply", "min", "max"]))
def test_any_update_with_an_array_in_a_program(index, op):
    values = np.arange(1, 1 + N[index].size, dtype=np.float32).reshape(N[index].shape) / 8
    got = jax.jit(lambda x, v: getattr(x.at[index], op)(v))(J, values)
    np.testing.assert_allclose(got, updated(op, index, values), rtol=1e-5)


@hypothesis.settings(max_examples=40)
@hypothesis.given(indices(arrays=False))
def test_any_slices_are_set(index):
    values = -np.arange(1, 1 + N[index].size, dtype=np.float32).reshape(N[index].shape)
    np.testing.assert_array_equal(J.at[index].set(values), updated("set", index, values))


@hypothesis.settings(max_examples=20)
@hypothesis.given(indices(), st.sampled_from(["set", "add"]))
def test_any_update_differentiated(index, op):
    """The pullback of an update: what is written gets its cotangent from where it went."""
    weights = np.arange(1, 25, dtype=np.float32).reshape(SHAPE)
    values = jnp.zeros(N[index].shape)
    if op == "set" and len(np.unique(np.arange(24).reshape(SHAPE)[index])) != N[index].size:
        return  # which of several values wins is not defined
    dx, dv = jax.grad(lambda x, v: (getattr(x.at[index], op)(v) * weights).sum(), (0, 1))(J, values)
    np.testing.assert_allclose(dv, weights[index])
    want = weights.copy()
    if op == "set":
        want[index] = 0
    np.testing.assert_allclose(dx, want)


@pytest.mark.quick
@pytest.mark.parametrize("index", [np.s_[0], np.s_[1:3, 0], np.s_[::2, :, ::-1], np.s_[np.array([0, 0, 3])],
                                   np.s_[:, np.array([1, 1])], np.s_[N[..., 0] > 5]], ids=str)
@pytest.mark.parametrize("op", ["divide", "power", "mul"])
def test_operations_without_a_scatter_of_their_own(index, op):
    got = getattr(J.at[index], op)(2.0)
    np.testing.assert_allclose(got, updated("multiply" if op == "mul" else op, index, 2.0), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(lambda x: getattr(x.at[index], op)(2.0))(J), got, rtol=1e-6)


@pytest.mark.quick
def test_apply_is_repeated_for_repeated_places():
    np.testing.assert_array_equal(V.at[jnp.array([1, 1, 3])].apply(lambda v: v + 10)[:4], [0, 21, 2, 13])
    np.testing.assert_array_equal(V.at[1:3].apply(jnp.negative)[:4], [0, -1, -2, 3])
    np.testing.assert_array_equal(jax.jit(lambda x: x.at[::3].apply(lambda v: v * v))(V), np.where(np.arange(10) % 3,
                                                                                                   V, V * V))
    with pytest.raises(TypeError, match="shape"):
        V.at[1:3].apply(jnp.sum)


# --- options ----------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_places_out_of_bounds_are_dropped_or_moved():
    for i in (100, -100, jnp.int32(100), np.array([100, -100]), jnp.array([100, -100])):
        for update in (lambda x, i: x.at[i].set(7.0), jax.jit(lambda x, i: x.at[i].set(7.0))):
            np.testing.assert_array_equal(update(V, i), V)
        np.testing.assert_array_equal(V.at[i].add(7.0, mode="drop"), V)
    np.testing.assert_array_equal(V.at[jnp.array([100, -100])].set(7.0, mode="clip"), V.at[jnp.array([0, 9])].set(7.0))
    assert V.at[100].set(7.0, mode="clip")[9] == 7 and V.at[-100].set(7.0, mode="clip")[0] == 7
    assert jax.jit(lambda x, i: x.at[i].add(7.0, mode="clip"))(V, 100)[9] == 16
    np.testing.assert_array_equal(V.at[-1].set(7.0, wrap_negative_indices=False), V)
    np.testing.assert_array_equal(V.at[jnp.array([-1])].set(7.0, wrap_negative_indices=False), V)
    assert V.at[3].set(7.0, mode="promise_in_bounds")[3] == 7
    with pytest.raises(ValueError, match="bogus"):
        V.at[0].set(1.0, mode="bogus")


@pytest.mark.quick
def test_promises_reach_the_program():
    jaxpr = jax.make_jaxpr(lambda x, i: x.at[i].add(1.0, unique_indices=True, indices_are_sorted=True))(V,
                                                                                                        jnp.array([0, 1]))
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == "scatter-add"]
    assert eqn.params["unique_indices"] and eqn.params["indices_are_sorted"]


@pytest.mark.quick
def test_values_of_many_kinds():
    np.testing.assert_array_equal(V.at[:2].set([5, 6])[:3], [5, 6, 2])
    np.testing.assert_array_equal(V.at[:2].set(np.array([5.0, 6.0]))[:3], [5, 6, 2])
    np.testing.assert_array_equal(J.at[:, 0].set(jnp.arange(2.0)), updated("set", np.s_[:, 0], [0, 1]))
    assert V.at[0].set(jnp.int8(3))[0] == 3 and jnp.arange(3).at[0].set(True)[0] == 1
    assert jnp.arange(3, dtype="int8").at[0].set(5).dtype == jnp.int8
    assert jnp.zeros(3, bool).at[1].set(True).tolist() == [False, True, False]
    assert jnp.zeros(3, bool).at[jnp.array([1, 1])].add(True).tolist() == [False, True, False]
    assert jnp.arange(4).at[1].divide(2).dtype == jnp.float32


@pytest.mark.quick
def test_conversions_that_lose_information_warn():
    for x, value in ((jnp.arange(3), 1.5), (V, 1j), (jnp.arange(3, dtype="int8"), jnp.int32(1)), (jnp.zeros(2, bool),
                                                                                                  2)):
        with pytest.warns(FutureWarning, match="cannot be converted"):
            x.at[0].set(value)
        with pytest.warns(FutureWarning):  # each time
            x.at[0].set(value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        V.at[0].set(1)
        jnp.zeros(3, "bfloat16").at[0].set(1.5)
        V.at[0].set(np.float64(2))


@pytest.mark.quick
@pytest.mark.parametrize("call, match", [
    (lambda: V.at[:3].set(jnp.ones(2)), r"\(2,\).*\(3,\)"), (lambda: V.at[0].set(jnp.ones(2)), r"\(2,\)"),
    (lambda: J.at[0].set(jnp.ones((1, 3, 2))), r"\(1, 3, 2\)"),
    (lambda: V.at[jnp.array([0, 1])].add(jnp.ones(3)), r"\(3,\)"),
])
def test_values_that_do_not_broadcast(call, match):
    with pytest.raises(ValueError, match=match):
        call()


@pytest.mark.quick
def test_errors():
    with pytest.raises(TypeError, match="jnp.array"):
        V.at[[0, 1]].set(1.0)
    with pytest.raises(TypeError, match="at"):
        V[0] = 1.0
    with pytest.raises(TypeError):
        V.at[0].set("a")
    assert "IndexUpdater" in repr(V.at) and "0" in repr(V.at[0])


# --- transformations --------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_updates_under_vmap():
    i = jnp.array([0, 2, 9])
    np.testing.assert_array_equal(jax.vmap(lambda k: V.at[k].set(-1.0))(i), np.where(np.arange(10) == i[:, None], -1,
                                                                                     V))
    rows = jnp.stack([V, V + 1, V + 2])
    got = jax.vmap(lambda x, k: x.at[k].add(x[k]))(rows, i)
    np.testing.assert_array_equal(got, np.where(np.arange(10) == i[:, None], 2 * rows, rows))
    out = jax.vmap(lambda k: V.at[k].set(-1.0))(jnp.array([3, 99]))
    np.testing.assert_array_equal(out[1], V)


@pytest.mark.quick
def test_updates_of_masks_and_their_derivatives():
    mask = np.arange(10) % 3 == 0
    for where in (mask, jnp.asarray(mask)):
        np.testing.assert_array_equal(V.at[where].set(-1.0), np.where(mask, -1, V))
        np.testing.assert_array_equal(V.at[where].multiply(2.0), np.where(mask, 2 * V, V))
        np.testing.assert_array_equal(V.at[where].set(jnp.arange(4.0))[::3], np.arange(4.0))
    np.testing.assert_array_equal(jax.grad(lambda x, v: x.at[mask].multiply(v).sum(), 1)(V, 2.0), np.sum(V[mask]))


@pytest.mark.quick
def test_rows_of_a_loop_run_one_program():
    x = jnp.zeros((7, 3))
    before = None
    for i in range(7):
        x = x.at[i].set(float(i))
        row = x[i]
        if i == host_parts.TIMES:  # the first rows are copied by the host
            before = _compilations()
    assert _compilations() == before
    np.testing.assert_array_equal(x[:, 0], np.arange(7.0))
    np.testing.assert_array_equal(row, [6, 6, 6])


def _compilations():
    from jax.numpy import _at
    return _at._row._cache_size() + _at._set_row._cache_size()


# --- types ------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_updates_keep_the_type_of_the_array():
    weak, strong = jnp.full((3,), 2.0), jnp.full((3,), 2.0, jnp.float32)
    for index in (np.s_[:], np.s_[...], 0, np.array([0, 2]), np.array([True, False, True])):
        for op in ("set", "add", "min", "divide", "power"):
            for update in (lambda x, v, op=op, index=index: getattr(x.at[index], op)(v),):
                for f in (update, jax.jit(update)):
                    assert not f(strong, 7.0).weak_type
                    assert f(weak, jnp.float32(7)).weak_type
    half = jnp.ones(3, jnp.bfloat16)
    for index in (0, np.s_[:], jnp.array([0, 1])):
        assert half.at[index].divide(2.0).dtype == half.at[index].power(0.5).dtype == jnp.bfloat16
        assert half.at[index].divide(jnp.float32(2)).dtype == half.at[index].power(jnp.float32(2)).dtype == jnp.bfloat16
        assert jnp.full(3, 4).at[index].power(0.5).dtype == jnp.int32
    assert jnp.full(3, 4).at[0].power(0.5).tolist() == [2, 4, 4]


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:x.at:FutureWarning")
def test_values_are_combined_before_they_are_rounded():
    ones = jnp.ones(3, jnp.int8)
    assert ones.at[jnp.array([0, 0])].add(1.5).tolist() == [4, 1, 1]
    assert ones.at[jnp.array([0, 0])].multiply(1.5).tolist() == [2, 1, 1]
    assert ones.at[0].min(300).tolist() == [1, 1, 1]
    assert jnp.array([3, 3]).at[np.array([True, False])].multiply(0.5).tolist() == [1, 3]
    assert jnp.array([3, 3]).at[:].multiply(0.5).tolist() == [1, 1]


@pytest.mark.quick
def test_an_axis_of_size_zero_has_no_elements():
    for i in (0, jnp.int32(0), jnp.uint8(1)):
        with pytest.raises(IndexError, match="size 0"):
            jnp.zeros((0, 3))[i]
