"""`lax.associative_scan`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jax
import jax.numpy as jnp
from jax import lax
from tests.lax import loops
from tests.lax.loop_programs import PYTHON

X = np.arange(1, 6, dtype=np.float32)


def affine(a, b):
    """Composition of affine maps: associative, not commutative."""
    return a[0] * b[0], b[0] * a[1] + b[1]


def make(L, reverse=False):
    """Prefixes of affine maps, by `lax.associative_scan` or one after the other."""
    def f(w, xs):
        elems = (xs, xs * w)
        if L is lax:
            return lax.associative_scan(affine, elems, reverse=reverse)
        order = slice(None, None, -1) if reverse else slice(None)
        elems = tuple(jnp.asarray(e)[order] for e in elems)
        first = tuple(e[0] for e in elems)
        _, ys = PYTHON.scan(lambda c, e: (affine(c, e),) * 2, first, tuple(e[1:] for e in elems))
        return tuple(jnp.concatenate([a[None], y])[order] for a, y in zip(first, ys, strict=True))
    return f


@pytest.mark.quick
@pytest.mark.parametrize("reverse", [False, True])
def test_every_length(reverse):
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 11, 16, 23):
        x = np.arange(n * 2).reshape(n, 2)
        order = slice(None, None, -1) if reverse else slice(None)
        want = np.cumsum(x[order], axis=0)[order]
        np.testing.assert_array_equal(lax.associative_scan(jnp.add, x, reverse=reverse), want)
        np.testing.assert_array_equal(jax.jit(lambda x: lax.associative_scan(jnp.add, x, reverse, axis=-2))(x), want)


@settings(max_examples=12)
@given(st.integers(1, 33), st.integers(0, 2), st.booleans())
def test_any_axis_and_matrix_products(n, axis, reverse):
    rng = np.random.default_rng(n)
    shape = [2, 2, 2]
    shape.insert(axis, n)
    x = rng.normal(size=shape).astype(np.float32) if axis == 0 else rng.integers(-2, 3, shape)
    if axis == 0:
        got = lax.associative_scan(jnp.matmul, x, reverse=reverse)
        order = range(n - 1, -1, -1) if reverse else range(n)
        acc, want = None, [None] * n
        for i in order:
            acc = x[i] if acc is None else acc @ x[i]
            want[i] = acc
        np.testing.assert_allclose(got, np.stack(want), rtol=1e-3, atol=1e-3)
    else:
        got = lax.associative_scan(jnp.maximum, x, reverse=reverse, axis=axis)
        flip = np.flip(x, axis) if reverse else x
        want = np.maximum.accumulate(flip, axis)
        np.testing.assert_array_equal(got, np.flip(want, axis) if reverse else want)


@pytest.mark.parametrize("reverse", [False, True])
def test_transformations(reverse):
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        args = rng.normal(size=3), rng.normal(size=(5, 3))
        loops.same(loops.derivatives, make(lax, reverse), make(PYTHON, reverse), *args)
        loops.same(loops.vmapped, make(lax, reverse), make(PYTHON, reverse), *args)


def test_eager_runs_one_compiled_call():
    count = 0

    def combine(a, b):
        nonlocal count
        count += 1
        return a + b
    for _ in range(3):
        out = lax.associative_scan(combine, np.ones(1000, np.float32))
    assert float(out[-1]) == 1000.0 and count < 20
    with jax.disable_jit():
        assert lax.associative_scan(lambda a, b: a + b, X).tolist() == [1.0, 3.0, 6.0, 10.0, 15.0]


def test_depth_and_work():
    jaxpr = jax.make_jaxpr(lambda x: lax.associative_scan(jnp.add, x))(np.ones(1024, np.float32))
    adds = [e for e in jaxpr.eqns if e.primitive is lax.add_p]
    assert len(adds) <= 2 * 10 and sum(e.outvars[0].aval.size for e in adds) <= 2 * 1024
    assert len(jaxpr.eqns) <= 10 * 10


def test_trees_bools_and_keys():
    out = lax.associative_scan(lambda a, b: {"any": a["any"] | b["any"], "n": a["n"] + b["n"]},
                               {"any": X > 2, "n": np.arange(5)})
    assert out["any"].tolist() == [False, False, True, True, True] and out["n"].tolist() == [0, 1, 3, 6, 10]
    assert lax.associative_scan(lambda a, b: a, ()) == ()
    from jax import random
    keys = random.split(random.key(0), 5)
    last = lax.associative_scan(lambda a, b: b, keys)
    assert (random.key_data(last) == random.key_data(keys)).all()


ERRORS = {
    "function": (TypeError, lambda: lax.associative_scan(1, X), "fn must be a function"),
    "sizes": (ValueError, lambda: lax.associative_scan(affine, (X, X[:2])), r"elems\[0\]: f32\[5\]\n.*elems\[1\]: f32\[2\]"),
    "axis": (ValueError, lambda: lax.associative_scan(jnp.add, {"k": X}, axis=1), r"axis 1.*elems\['k'\].*f32\[5\]"),
    "structure": (TypeError, lambda: lax.associative_scan(lambda a, b: (a, b), X), r"tree like its arguments.*lambda"),
    "shape": (TypeError, lambda: lax.associative_scan(lambda a, b: 1.0, X), r"returned f32\[\] for elems, of type f32\[2\]"),
    "dtype": (TypeError, lambda: lax.associative_scan(lambda a, b: a > b, X), r"returned bool\[2\]"),
    "element": (TypeError, lambda: lax.associative_scan(jnp.add, {"k": "text"}), r"elems\['k'\]"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, run, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        run()
