"""custom_vmap, sequential_vmap, linear_call, custom_transpose."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap, sequential_vmap
from jax.custom_derivatives import linear_call
from jax.custom_transpose import custom_transpose

X = jnp.arange(3.0)


def sine_that_is_a_cosine_in_batches():
    """A function whose rule computes something else, so that one can tell which of them was used."""
    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append((axis_size, list(in_batched)))
        return jnp.cos(x) * y, in_batched[0] or in_batched[1]

    seen: list[object] = []
    return f, seen


@pytest.mark.quick
def test_the_rule_is_used_for_batches_only():
    f, seen = sine_that_is_a_cosine_in_batches()
    assert np.allclose(f(X, 2.0), 2 * np.sin(X)) and np.allclose(jax.jit(f)(X, 2.0), 2 * np.sin(X))
    assert not seen
    assert np.allclose(jax.vmap(f, (0, None))(X, 2.0), 2 * np.cos(X))
    assert seen == [(3, [True, False])]
    assert np.allclose(jax.jit(jax.vmap(f, (0, None)))(X, 2.0), 2 * np.cos(X))
    assert np.allclose(jax.vmap(f, (1, None))(jnp.ones((2, 3)), 2.0), 2 * np.cos(np.ones((3, 2))))
    assert np.allclose(jax.vmap(jax.vmap(f, (0, None)), (0, None))(jnp.ones((2, 3)), 2.0), 2 * np.cos(np.ones((2, 3))))
    assert np.allclose(jax.vmap(jax.vmap(f), (0, None))(jnp.ones((2, 3)), X), np.cos(1.0) * np.array([X, X]))


def test_derivatives_are_those_of_what_is_computed():
    f, _ = sine_that_is_a_cosine_in_batches()
    g = lambda x: f(x, x)  # noqa: E731
    one, batch = -np.cos(X) * X - 2 * np.sin(X), -np.sin(X) * X + np.cos(X)
    assert np.isclose(jax.grad(f)(1.0, 2.0), 2 * np.cos(1.0))
    assert np.isclose(jax.jit(jax.grad(f, argnums=1))(1.0, 2.0), np.sin(1.0))
    assert np.isclose(jax.grad(jax.checkpoint(f))(1.0, 2.0), 2 * np.cos(1.0))
    assert np.allclose(jax.vmap(jax.grad(g))(X), batch)
    assert np.allclose(jax.jit(jax.vmap(jax.grad(jax.jit(g))))(X), batch)
    assert np.allclose(jax.vmap(jax.grad(jax.checkpoint(g)))(X), batch)
    assert np.allclose(jax.grad(lambda x: jax.vmap(g)(x).sum())(X), batch)
    assert np.allclose(jax.vmap(lambda x: jax.jvp(g, (x,), (1.0,))[1])(X), batch)
    assert np.allclose(jax.vmap(lambda x: jax.linearize(g, x)[1](1.0))(X), batch)
    assert np.allclose(jax.vmap(jax.hessian(g))(X), one)
    assert np.allclose(jax.vmap(jax.grad(jax.grad(g)))(X), one)
    loop = lambda x: lax.scan(lambda c, _: (f(c, 2.0), None), x, None, length=2)[0]  # noqa: E731
    assert np.allclose(jax.vmap(jax.grad(loop))(X), jax.vmap(jax.grad(lambda x: 2 * jnp.cos(2 * jnp.cos(x))))(X))


def test_trees_keywords_and_defaults():
    @custom_vmap
    def f(d, k=3):
        return {"a": d["x"] * k, "b": d["y"]}

    @f.def_vmap
    def rule(axis_size, in_batched, d, k):
        assert in_batched == [{"x": True, "y": False}, False] and axis_size == 3
        return {"a": d["x"] * k, "b": d["y"]}, {"a": True, "b": False}

    out = jax.vmap(lambda x: f({"x": x, "y": 1.0}, k=2))(X)
    assert np.allclose(out["a"], 2 * X) and np.allclose(out["b"], np.ones(3))


def test_rules_close_over_traced_values():
    def make(c):
        @custom_vmap
        def f(x):
            return x * c

        @f.def_vmap
        def rule(axis_size, in_batched, x):
            return x * c + 1, True
        return f
    assert np.allclose(jax.jit(lambda c: jax.vmap(make(c))(X))(2.0), 2 * X + 1)
    assert float(jax.grad(lambda c: jax.vmap(make(c))(X).sum())(2.0)) == 3.0
    assert float(jax.grad(lambda c: make(c)(3.0))(2.0)) == 3.0
    with pytest.raises(NotImplementedError, match="closes over"):
        jax.vmap(lambda c: make(c)(3.0))(X)


def test_wrong_rules():
    f = custom_vmap(lambda x: {"a": x, "b": x})
    with pytest.raises(AttributeError, match="def_vmap"):
        jax.vmap(f)(X)
    f.def_vmap(lambda n, b, x: (x, True))
    with pytest.raises(ValueError, match="structure"):
        jax.vmap(f)(X)
    f.def_vmap(lambda n, b, x: ({"a": x, "b": x}, (True,)))
    with pytest.raises(ValueError, match="out_batched"):
        jax.vmap(f)(X)
    f.def_vmap(lambda n, b, x: x)
    with pytest.raises(TypeError, match="pair"):
        jax.vmap(f)(X)
    with pytest.raises(TypeError, match="function"):
        custom_vmap(3)


def test_sequential_vmap():
    traces = []

    @sequential_vmap
    def f(x, y):
        traces.append(x.shape)
        return x * y, x
    a, b = jax.vmap(f, (0, None))(X, 2.0)
    assert np.allclose(a, 2 * X) and np.allclose(b, X) and set(traces) == {()}
    jaxpr = jax.make_jaxpr(jax.vmap(f, (0, None)))(X, 2.0)
    assert [e.primitive.name for e in jaxpr.eqns] == ["scan"]
    assert np.allclose(jax.grad(lambda x: jax.vmap(f, (0, None))(x, 2.0)[0].sum())(X), [2, 2, 2])
    assert np.allclose(jax.vmap(jax.vmap(f))(jnp.ones((2, 3)), jnp.ones((2, 3)))[0], np.ones((2, 3)))


# --- linear_call ------------------------------------------------------------------------------------------------------

def ten_times(r, x):
    return linear_call(lambda r, x: x / r, lambda r, ct: 10 * ct / r, r, x)


@pytest.mark.quick
def test_linear_call_uses_the_given_transpose_in_reverse_mode():
    r = jnp.array([1.0, 2.0, 4.0])
    f = lambda x: ten_times(r, x)  # noqa: E731
    assert np.allclose(f(X), X / r) and np.allclose(jax.jit(f)(X), X / r)
    assert np.allclose(jax.jvp(f, (X,), (X,))[1], X / r)
    assert np.allclose(jax.grad(lambda x: f(x).sum())(X), 10 / r)
    assert np.allclose(jax.jit(jax.grad(lambda x: f(x).sum()))(X), 10 / r)
    back = lambda ct: jax.linear_transpose(f, X)(ct)[0]  # noqa: E731
    assert np.allclose(back(X), 10 * X / r)
    assert np.allclose(jax.linear_transpose(back, X)(X)[0], X / r)
    assert np.allclose(jax.vmap(ten_times)(r, X), X / r)
    assert np.allclose(jax.vmap(jax.grad(ten_times, argnums=1))(r, X), 10 / r)
    assert np.allclose(jax.grad(lambda x: jax.vmap(ten_times, (None, 0))(2.0, x).sum())(X), [5, 5, 5])
    assert np.allclose(jax.grad(lambda x: jax.vmap(ten_times, (0, None))(r, x).sum())(2.0), (10 / r).sum())
    assert np.allclose(jax.grad(lambda r: ten_times(r, X).sum())(r), -X / r**2)


def test_linear_call_with_trees_and_closures():
    f = lambda d: linear_call(lambda r, d: (d["a"], d["b"] * r), lambda r, ct: {"a": ct[0] * 10, "b": ct[1] * r}, 3.0, d)  # noqa: E731
    ct = jax.linear_transpose(f, {"a": X, "b": X})((X, X))[0]
    assert np.allclose(ct["a"], 10 * X) and np.allclose(ct["b"], 3 * X)
    g = jax.jit(lambda c: jax.linear_transpose(
        lambda x: linear_call(lambda _, x: x * c, lambda _, ct: 10 * c * ct, (), x), X)(X)[0])
    assert np.allclose(g(3.0), 30 * X)
    bad = lambda x: linear_call(lambda _, x: x, lambda _, ct: (ct, ct), (), x)  # noqa: E731
    with pytest.raises(TypeError, match="structure of the linear arguments"):
        jax.grad(bad)(1.0)
    with pytest.raises(TypeError, match="function"):
        linear_call(3, bad, (), 1.0)


def test_custom_transpose():
    @custom_transpose
    def divide(r, x):
        return x / r
    with pytest.raises(AttributeError, match="def_transpose"):
        divide(1.0, 2.0, 3.0)

    @divide.def_transpose
    def divide_transposed(r, ct):
        return 10 * ct / r
    assert divide.transpose is divide_transposed
    assert np.allclose(jax.linear_transpose(lambda x: divide(X, 2.0, x), X)(X)[0], 5 * X)
    assert np.allclose(jax.vmap(jax.grad(lambda x: divide(1.0, 2.0, x)))(X), [5, 5, 5])
    with pytest.raises(TypeError, match="out_types"):
        divide((1.0,), 2.0, 3.0)
    with pytest.raises(TypeError, match="out_types"):
        divide(X, 2.0, 3.0)
