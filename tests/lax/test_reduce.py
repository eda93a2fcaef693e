"""Reductions: ties, NaN, empty axes, recognition of common computations, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax

x23 = np.arange(6, dtype=np.float32).reshape(2, 3)


def only_eqn(fun, *args):
    (eqn,) = jax.make_jaxpr(fun)(*args).jaxpr.eqns
    return eqn


def grad_of(fun, x):
    out, pull = jax.vjp(fun, x)
    return np.asarray(pull(np.ones_like(out))[0])


# --- parameters -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("fn", "params"), [
    (lax.reduce_sum, {"axes": (1,), "out_sharding": None}), (lax.reduce_prod, {"axes": (1,)}),
    (lax.reduce_max, {"axes": (1,)}), (lax.reduce_min, {"axes": (1,)})])
def test_parameters(fn, params):
    eqn = only_eqn(lambda x: fn(x, [-1]), x23)
    assert eqn.params == params and eqn.primitive.name == fn.__name__


def test_argmax_parameters():
    assert only_eqn(lambda x: lax.argmax(x, -1, "int32"), x23).params == {"axes": (1,), "index_dtype": np.dtype("int32")}


# --- values at the edges --------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("dtype", "least", "largest"), [
    ("float32", -np.inf, np.inf), ("int32", -2**31, 2**31 - 1), ("uint8", 0, 255), ("bool", False, True),
    ("float8_e4m3fn", -448, 448)])
def test_extremes_of_nothing(dtype, least, largest):
    empty = lax.convert_element_type(np.zeros((0, 2)), dtype)
    assert np.asarray(lax.reduce_max(empty, (0,)), np.float64).tolist() == [least] * 2
    assert np.asarray(lax.reduce_min(empty, (0,)), np.float64).tolist() == [largest] * 2


def test_logical_reductions_of_nothing():
    empty = np.zeros((0,), np.int32)
    assert lax.reduce_and(empty, (0,)) == -1 and lax.reduce_or(empty, (0,)) == 0 and lax.reduce_xor(empty, (0,)) == 0
    assert lax.reduce_and(np.zeros((0,), bool), (0,))


def test_nan():
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    assert np.isnan(lax.reduce_max(x, (0,))) and np.isnan(lax.reduce_min(x, (0,)))
    assert lax.argmax(x, 0, np.int32) == 1 and lax.argmin(x, 0, np.int32) == 1
    assert lax.argmax(np.array([np.inf, -np.inf, np.inf]), 0, np.int32) == 0


def test_first_of_equal_extremes():
    x = np.array([[1, 3, 3, 0], [0, 0, 0, 0]])
    assert lax.argmax(x, 1, np.int32).tolist() == [1, 0]
    assert lax.argmin(x, 1, np.int32).tolist() == [3, 0]


def test_argmax_of_many():
    x = np.zeros((3, 1000), np.float32)
    x[0, 999] = x[2, 500] = 1
    assert lax.argmax(x, 1, np.int16).tolist() == [999, 0, 500]


# --- derivatives ----------------------------------------------------------------------------------------------------

def test_ties_share_the_derivative():
    x = np.array([[1, 1, 0], [2, 2, 2]], np.float32)
    np.testing.assert_allclose(grad_of(lambda x: lax.reduce_max(x, (1,)), x), [[0.5, 0.5, 0], [1 / 3] * 3])
    np.testing.assert_allclose(grad_of(lambda x: lax.reduce_min(x, (1,)), x), [[0, 0, 1], [1 / 3] * 3])
    assert np.isnan(grad_of(lambda x: lax.reduce_max(x, (0,)), np.array([1, np.nan], np.float32))).all()


@pytest.mark.parametrize(("x", "gradient"), [([2, 3, 4], [12, 8, 6]), ([0, 3, 4], [12, 0, 0]), ([0, 0, 4], [0, 0, 0])])
def test_derivative_of_a_product_with_zeros(x, gradient):
    assert grad_of(lambda x: lax.reduce_prod(x, (0,)), np.array(x, np.float32)).tolist() == gradient


def test_integer_results_have_no_derivative():
    def f(x):
        return lax.mul(lax.convert_element_type(lax.argmax(x, 0, np.int32), np.float32), np.float32(2))
    assert grad_of(f, np.array([1, 2], np.float32)).tolist() == [0, 0]


# --- reduce ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("computation", "init", "name"), [
    (lax.add, 0, "reduce_sum"), (lambda a, b: lax.add(b, a), 0.0, "reduce_sum"), (lax.mul, 1, "reduce_prod"),
    (lax.max, -np.inf, "reduce_max"), (lambda a, b: lax.min(a, b), np.float32(np.inf), "reduce_min")])
def test_common_computations_are_recognised(computation, init, name):
    assert only_eqn(lambda x: lax.reduce(x, init, computation, (0,)), x23).primitive.name == name


@pytest.mark.parametrize(("computation", "init"), [
    (lambda a, b: lax.add(a, lax.mul(b, b)), 0.0), (lambda a, b: lax.add(a, a), 0.0), (lambda a, b: a, 0.0)])
def test_other_computations(computation, init):
    eqn = only_eqn(lambda x: lax.reduce(x, init, computation, (0,)), x23)
    assert eqn.primitive is lax.reduce_p
    assert set(eqn.params) == {"computation", "jaxpr", "dimensions"} and eqn.params["dimensions"] == (0,)


def test_logical_computations():
    x = np.array([True, False])
    assert not lax.reduce(x, True, lax.bitwise_and, (0,)) and lax.reduce(x, False, lax.bitwise_or, (0,))
    assert lax.reduce(np.array([1, 2, 4]), 0, lax.bitwise_xor, (0,)) == 7


def test_traced_initial_value():
    out = jax.jit(lambda x, v: lax.reduce(x, v, lax.add, (0, 1)))(x23, np.float32(100))
    assert out == 115
    assert grad_of(lambda v: lax.reduce(x23, v, lax.mul, (0, 1)), np.float32(1)) == 0


def test_trees_of_operands():
    out = lax.reduce({"a": x23, "b": (x23,)}, {"a": 0.0, "b": (1.0,)},
                     lambda s, x: {"a": lax.add(s["a"], x["a"]), "b": (lax.mul(s["b"][0], x["b"][0]),)}, (0,))
    assert out["a"].tolist() == [3, 5, 7] and out["b"][0].tolist() == [0, 4, 10]


def test_eager_calls_of_one_computation_are_compiled_once():
    def computation(a, b):
        traces.append(1)
        return lax.add(a, lax.mul(b, b))

    traces = []
    for _ in range(3):
        lax.reduce(x23, 0.0, computation, (0,))
    assert len(traces) == 1


def test_nested_jit_in_a_computation():
    out = lax.reduce(x23, 0.0, lambda a, b: jax.jit(lambda a, b: lax.add(a, lax.mul(b, b)))(a, b), (0, 1))
    assert out == np.sum(x23 ** 2)


# --- errors ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: lax.reduce_sum(x23 > 0, (0,)), TypeError, "reduce_sum does not accept dtype bool"),
    (lambda: lax.reduce_and(x23, (0,)), TypeError, "reduce_and takes booleans or integers, got float32"),
    (lambda: lax.reduce_sum(x23, (2,)), ValueError, r"axes \(2,\).*shape \(2, 3\)"),
    (lambda: lax.reduce_max(x23, (0, 0)), ValueError, "twice"),
    (lambda: lax.reduce_sum(x23, (-3,)), ValueError, "axes -3"),
    (lambda: lax.argmax(x23, 0, np.float32), TypeError, "index_dtype must be an integer dtype, got float32"),
    (lambda: lax.argmax(x23 * 1j, 0, np.int32), TypeError, "argmax does not accept dtype complex64"),
    (lambda: lax.argmin(np.zeros((0, 3)), 0, np.int32), ValueError, r"argmin: axis 0.*\(0, 3\) has size zero"),
    (lambda: lax.argmax(x23, 2, np.int32), ValueError, "axis 2"),
    (lambda: lax.reduce_sum([1, 2], (0,)), TypeError, "jnp.array"),
    (lambda: lax.reduce(x23, np.zeros(2, np.float32), lax.add, (0,)), ValueError, "must be scalars"),
    (lambda: lax.reduce((x23, x23), (0.0,), lambda a, b: a, (0,)), ValueError, "one structure"),
    (lambda: lax.reduce(x23, np.int32(0), lax.add, (0,)), TypeError, "float32 and its initial value int32"),
    (lambda: lax.reduce(x23, 0.0, lambda a, b: (a, b), (0,)), TypeError, "structure of its first argument"),
    (lambda: lax.reduce(x23, 0.0, lambda a, b: lax.gt(a, b), (0,)), TypeError, r"returned bool\[\] instead of f32"),
    (lambda: lax.reduce((x23, x23[:1]), (0.0, 0.0), lambda a, b: a, (0,)), TypeError, r"one shape, got \(2, 3\), \(1, 3\)"),
    (lambda: lax.reduce(x23, 0.0, lax.add, (0, 5)), ValueError, "dimensions 5"),
    (lambda: jax.jit(lambda x, y: lax.reduce(x, 0.0, lambda a, b: lax.add(a, lax.mul(b, y)), (0,)))(x23, 2.0),
     NotImplementedError, "traced value from outside")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
