"""``vmap``: axes, trees, names, sizes, and its messages."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax

pytestmark = pytest.mark.quick
A = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("in_axes, out_axes", [(0, 0), (1, 0), (-1, 1), (0, -1), (-2, -1)])
def test_axes(in_axes, out_axes):
    got = jax.vmap(lambda x: x * x, in_axes, out_axes)(A)
    want = np.stack([x * x for x in np.moveaxis(A, in_axes, 0)], out_axes)
    np.testing.assert_array_equal(got, want)


def test_trees_of_axes():
    def f(p, x):
        return {"a": p["w"] * x, "b": p["b"]}
    out = jax.vmap(f, in_axes=({"w": 0, "b": None}, 1), out_axes={"a": 1, "b": None})({"w": A[:, 0], "b": 2.0}, A.T)
    np.testing.assert_array_equal(out["a"], (A[:, :1] * A).T)
    assert float(out["b"]) == 2.0


def test_keywords_are_mapped_over_axis_0():
    np.testing.assert_array_equal(jax.vmap(lambda x, *, y: x + y)(A, y=A), 2 * A)


def test_unmapped_operands_and_constants():
    c = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(jax.vmap(lambda x: x + c)(A), A + c)
    np.testing.assert_array_equal(jax.vmap(lambda x, y: x * y, (0, None))(A, c), A * c)
    np.testing.assert_array_equal(jax.vmap(lambda x: c)(A), np.tile(c, (3, 1)))


def test_axis_size_without_mapped_arguments():
    np.testing.assert_array_equal(jax.vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)(), [0, 1, 2])
    np.testing.assert_array_equal(jax.vmap(lambda x: x, in_axes=None, axis_size=2)(1.0), [1, 1])


def test_nested_names():
    def f(x):
        return lax.psum(x, "i") + lax.psum(x, "j") + lax.psum(x, ("i", "j"))
    got = jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(A)
    want = A.sum(0, keepdims=True) + A.sum(1, keepdims=True) + A.sum()
    np.testing.assert_allclose(got, want)


def test_zero_examples():
    assert jax.vmap(lambda x: x * 2)(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_sum_match():
    np.testing.assert_allclose(jax.vmap(lambda x: x, out_axes=None, sum_match=True)(A), A.sum(0))


@pytest.mark.parametrize("call, message", [
    (lambda: jax.vmap(lambda x, y: x)(np.ones(3), np.ones(4)), "sizes 3, 4"),
    (lambda: jax.vmap(lambda x: x)(1.0), "it has no axes"),
    (lambda: jax.vmap(lambda x: x, 2)(A), "only 2 axes"),
    (lambda: jax.vmap(lambda x: x, None)(1.0), "no argument has a mapped axis"),
    (lambda: jax.vmap(lambda x: x, out_axes=None)(A), "differs from example to example"),
    (lambda: jax.vmap(lambda x, y: x, (0,))(A, A), "1 entries for 2 positional"),
    (lambda: jax.vmap(lambda x: x, ({"a": 0},))(A), "in_axes must be a prefix"),
    (lambda: jax.vmap(lambda x: x, out_axes=5)(A), "out_axes is 5"),
    (lambda: jax.vmap(lambda x: x, axis_size=5)(A), "axis_size"),
])
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_kinds_of_axes():
    with pytest.raises(TypeError, match="in_axes"):
        jax.vmap(lambda x: x, "0")
    with pytest.raises(TypeError, match="made of ints"):
        jax.vmap(lambda x: x, out_axes=1.5)


def test_unbound_name():
    with pytest.raises(NameError, match="'j' is not bound.*'i'"):
        jax.vmap(lambda x: lax.psum(x, "j"), axis_name="i")(A)


def test_python_control_flow_on_examples_is_refused():
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.vmap(lambda x: x if x > 0 else -x)(A[0])


def test_inside_and_outside_of_jit():
    def f(x):
        return lax.sin(x) * lax.psum(x, "i")
    want = np.sin(A) * A.sum(0)
    for g in (jax.vmap(f, axis_name="i"), jax.jit(jax.vmap(f, axis_name="i")), jax.vmap(jax.jit(f), axis_name="i")):
        np.testing.assert_allclose(g(A), want, rtol=1e-6)
