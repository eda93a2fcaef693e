"""Reductions over windows: padding, recognition, large windows, derivatives at ties, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax.lax import _window_select
from tests import window_model

x45 = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def only_eqn(fun, *args):
    (eqn,) = jax.make_jaxpr(fun)(*args).jaxpr.eqns
    return eqn


def gradient(fun, x):
    out, pull = jax.vjp(fun, x)
    return np.asarray(pull(np.ones_like(out))[0])


# --- padding --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("padding", "pads"), [
    ("SAME", [(0, 1), (1, 1)]), ("SAME_LOWER", [(1, 0), (1, 1)]), ("valid", [(0, 0), (0, 0)])])
def test_padtype_to_pads(padding, pads):
    assert lax.padtype_to_pads((5, 5), (2, 3), (1, 2), padding) == pads


def test_padtype_errors():
    with pytest.raises(RuntimeError, match="'SAME', 'SAME_LOWER' or 'VALID'"):
        lax.padtype_to_pads((5,), (2,), (1,), "FULL")
    with pytest.raises(TypeError, match="must be 'SAME'"):
        lax.padtype_to_pads((5,), (2,), (1,), [(0, 1)])


def test_shape_tuple():
    assert lax.reduce_window_shape_tuple((5, 5), (2, 3), (1, 2), [(0, 1), (1, 1)]) == (5, 3)
    assert lax.reduce_window_shape_tuple((5, 5), (2, 3), (1, 2), [(0, 1), (1, 1)], (2, 2), (1, 3)) == (9, 3)


def test_names_of_padding_with_dilation():
    eqn = only_eqn(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (3, 2), "SAME", (2, 2), (2, 1)),
                   np.ones((3, 4), np.float32))
    assert eqn.params["padding"] == ((0, 0), (0, 0))  # that of an operand that is not spread out


# --- recognition ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("init", "computation", "name"), [
    (0.0, lax.add, "reduce_window_sum"), (-np.inf, lax.max, "reduce_window_max"),
    (np.inf, lambda a, b: lax.min(b, a), "reduce_window_min"), (1.0, lax.add, "reduce_window"),
    (1.0, lax.mul, "reduce_window")])
def test_primitives(init, computation, name):
    eqn = only_eqn(lambda x: lax.reduce_window(x, init, computation, (2, 2)), x45)
    assert eqn.primitive.name == name
    expected = {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": ((0, 0), (0, 0)),
                "base_dilation": (1, 1), "window_dilation": (1, 1)}
    assert expected.items() <= eqn.params.items()
    assert set(eqn.params) - set(expected) == ({"jaxpr", "consts"} if name == "reduce_window" else set())


def test_booleans():
    out = lax.reduce_window(x45 > 0, False, lax.bitwise_or, (2, 2))
    np.testing.assert_array_equal(out, window_model.reduce_window(x45 > 0, False, np.any, (2, 2)))
    out = lax.reduce_window(x45 > 0, False, lax.max, (2, 2))
    np.testing.assert_array_equal(out, window_model.reduce_window(x45 > 0, False, np.any, (2, 2)))


def test_no_windows():
    assert lax.reduce_window(x45, 0.0, lax.add, (6, 2)).shape == (0, 4)
    assert gradient(lambda x: lax.reduce_window(x, -np.inf, lax.max, (6, 2)), x45).tolist() == np.zeros((4, 5)).tolist()


# --- derivatives of extrema -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("computation", "init"), [(lax.max, -np.inf), (lax.min, np.inf)])
def test_the_first_of_equal_elements_gets_the_derivative(computation, init):
    x = np.array([1, 1, 0, 0], np.float32)
    g = gradient(lambda x: lax.reduce_window(x, init, computation, (2,)), x)
    assert g.tolist() == ([1, 1, 1, 0] if computation is lax.max else [1, 0, 2, 0])


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)])
def test_large_and_small_windows_agree(monkeypatch, padding, strides):
    """Unrolled code and XLA's loops over windows."""
    def derivatives(x, t):
        def f(x):
            return lax.reduce_window(x, -np.inf, lax.max, (2, 3), strides, padding)
        out, tangent = jax.jvp(f, (x,), (t,))
        return tangent, jax.vjp(f, x)[1](out)[0]
    t = np.random.default_rng(1).normal(size=x45.shape).astype(np.float32)
    unrolled = jax.jit(derivatives)(x45, t)
    monkeypatch.setattr(_window_select, "_UNROLLED", 0)
    looped = jax.jit(lambda x, t: derivatives(x, t))(x45, t)
    for a, b in zip(unrolled, looped, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    text = jax.jit(lambda x, t: derivatives(x, t)).lower(x45, t).as_text()
    assert "select_and_scatter" in text


def test_primitives_of_derivatives():
    names = [e.primitive.name for e in jax.make_jaxpr(
        lambda x, c: jax.vjp(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2)), x)[1](c))(
            x45, np.ones((3, 4), np.float32)).eqns]
    assert names == ["reduce_window_max", "select_and_scatter_add"]


def test_general_select_and_scatter():
    """By hand: the smallest element of each window gets the source, added up."""
    params = {"window_dimensions": (2, 2), "window_strides": (2, 2), "padding": ((0, 0), (0, 1))}
    scalar = np.float32(0)
    less, plus = (jax.make_jaxpr(f)(scalar, scalar) for f in (lax.le, lax.add))
    source = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x, source):
        return lax.select_and_scatter_p.bind(
            x, source, np.float32(1), select_jaxpr=less.jaxpr, select_consts=(), scatter_jaxpr=plus.jaxpr,
            scatter_consts=(), **params)
    got = jax.jit(f)(x45, source)
    ones = {"base_dilation": (1, 1), "window_dilation": (1, 1)}
    _, pull = jax.vjp(lambda x: lax.reduce_window(x, np.inf, lax.min, **params, **ones), x45)
    np.testing.assert_allclose(got, pull(source)[0] + np.float32(1), rtol=1e-6)
    stacked = jax.vmap(f, (0, None))(np.stack([x45, -x45]), source)
    np.testing.assert_allclose(stacked[0], got)


# --- errors ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("args", "error", "message"), [
    ((0.0, lax.add, (2,)), TypeError, r"window_dimensions must have one entry for each of the 2 axes.*\(4, 5\)"),
    ((0.0, lax.add, (2, 0)), TypeError, "window_dimensions must be positive"),
    ((0.0, lax.add, (2, 2), (0, 1)), TypeError, "window_strides must be positive"),
    ((0.0, lax.add, (2, 2), (1,)), TypeError, "window_strides must have one entry"),
    ((0.0, lax.add, 2), TypeError, "window_dimensions must be a sequence"),
    ((0.0, lax.add, (2, 2), (1, 1), "FULL"), RuntimeError, "'SAME_LOWER'"),
    ((0.0, lax.add, (2, 2), (1, 1), [(0, 1)]), ValueError, "one pair for each of the 2 axes"),
    ((0.0, lax.add, (2, 2), (1, 1), [1, 2]), TypeError, "pairs of integers"),
    ((np.zeros(2), lax.add, (2, 2)), ValueError, "must be scalars"),
    ((0.0, lambda a, b: (a, b), (2, 2)), TypeError, "structure of its first argument")])
def test_errors(args, error, message):
    with pytest.raises(error, match=message):
        lax.reduce_window(x45, *args)
