"""Why functions are traced again, how long that takes, and the option that forbids it."""

from __future__ import annotations

import functools
import logging
from typing import NamedTuple

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

pytestmark = pytest.mark.quick

VECTOR = np.ones(3, np.float32)


@pytest.fixture
def explained(caplog):
    """Runs calls under ``jax_explain_cache_misses`` and returns the message about the last one."""
    caplog.set_level(logging.WARNING)

    def run(*calls):
        for call in calls[:-1]:
            call()
        caplog.clear()
        with jax.explain_cache_misses(True):
            calls[-1]()
        return "\n".join(r.getMessage() for r in caplog.records if r.name == "jax.trace")

    return run


class Pair(NamedTuple):
    left: object
    right: object


@pytest.mark.parametrize("before, now, message", [
    ((VECTOR,), (np.ones(4, np.float32),), r"the argument x was f32[3] and is f32[4] (shape)"),
    ((VECTOR,), (np.ones(3, np.int32),), r"the argument x was f32[3] and is i32[3] (dtype)"),
    ((np.float32(1),), (1.0,), r"the argument x was f32[] and is f32[], weakly typed (weak type)"),
    ((VECTOR,), ({"a": VECTOR},), "the structure of the argument x was a leaf (int) and is a dict"),
    (({"a": VECTOR},), ({"a": VECTOR, "b": VECTOR},), "a dict with keys ['a'] and is one with keys ['a', 'b']"),
    (({"a": (VECTOR,)},), ({"a": Pair(VECTOR, VECTOR)},), "the structure of the argument x['a'] was"),
    ((VECTOR,), (VECTOR, VECTOR), "1 arguments were given by position, and 2 are"),
])
def test_what_differs_is_named(explained, before, now, message):
    f = jax.jit(lambda x, y=None: jax.tree.leaves(x)[0])
    text = explained(lambda: f(*before), lambda: f(*now))
    assert message in text
    assert "called at" in text and "test_cache_misses.py" in text


@pytest.mark.parametrize("before, now, message", [
    ({"n": 2}, {"n": 3}, "the static argument n was 2 and is 3"),
    ({"n": 2}, {"n": 2.0}, "the static argument n was 2 of type int and is 2.0 of type float"),
    ({"n": 2}, {"n": 2, "mode": "b"}, "the static argument mode was not given and is 'b'"),
    ({"n": 2, "mode": "b"}, {"n": 2}, "the static argument mode was 'b' and is not given"),
    ({"n": 2}, {"n": 2, "y": VECTOR}, "the arguments given by name were [] and are ['y']"),
])
def test_static_and_named_arguments(explained, before, now, message):
    f = jax.jit(lambda x, n, mode="a", y=None: x, static_argnames=("n", "mode"))
    assert message in explained(lambda: f(VECTOR, **before), lambda: f(VECTOR, **now))


def test_static_objects_that_look_alike_are_told_from_each_other(explained):
    class Setting:
        def __repr__(self):
            return "Setting()"

    f = jax.jit(lambda x, s: x, static_argnums=1)
    text = explained(lambda: f(VECTOR, Setting()), lambda: f(VECTOR, Setting()))
    assert "the static argument s was Setting() and is Setting(); they look alike but are not equal" in text


def test_names_of_arguments_skip_static_ones(explained):
    f = jax.jit(lambda n, x, m, y: x + y, static_argnums=(0, 2))
    text = explained(lambda: f(1, VECTOR, 2, VECTOR), lambda: f(1, VECTOR, 2, np.float32(1)))
    assert "the argument y was f32[3] and is f32[] (shape)" in text


def test_options(explained):
    f = jax.jit(lambda x: x)

    def wide():
        with jax.enable_x64(True):
            f(VECTOR)
    assert "the option jax_enable_x64 was False and is True" in explained(lambda: f(VECTOR), wide)


def test_the_nearest_of_many_calls_is_compared(explained):
    f = jax.jit(lambda x, y, z: x)
    calls = [lambda i=i: f(np.ones(i), np.ones(i), np.ones(i)) for i in range(1, 6)]
    text = explained(*calls, lambda: f(np.ones(3), np.ones(3), np.ones(9)))
    assert text.count("the argument") == 1 and "the argument z was f32[3] and is f32[9]" in text


def test_many_differences_are_counted(explained):
    f = jax.jit(lambda *xs: xs)
    text = explained(lambda: f(*[1.0] * 9), lambda: f(*[1] * 9))
    assert text.count("the argument") == 5 and "and 4 more differences" in text


def test_first_calls(explained):
    assert "it has not been traced before" in explained(lambda: jax.jit(lambda x: x)(VECTOR))

    kept = []

    def make():
        kept.append(lambda x: x - 2)
        return jax.jit(kept[-1])(VECTOR)
    assert "defined anew for each call is traced for each" in explained(make, make)


def test_hits_and_library_functions_are_silent(explained):
    f = jax.jit(lambda x: x)
    assert explained(lambda: f(VECTOR), lambda: f(VECTOR)) == ""
    assert explained(lambda: jax.jit(jnp.heaviside)(VECTOR, VECTOR)) == ""


def test_partials_and_methods(explained):
    f = jax.jit(functools.partial(lambda a, x: x + a, 1.0))
    assert "the argument" in explained(lambda: f(VECTOR), lambda: f(np.float32(1)))


# --- jax_log_compiles -----------------------------------------------------------------------------------------------

def test_each_step_is_logged_with_the_function(caplog):
    def squared(x, n, *, scale):
        return scale * x ** n

    with jax.log_compiles(True), caplog.at_level(logging.WARNING):
        jax.jit(squared, static_argnames="n")(VECTOR, 2, scale=2.0)
    text = "\n".join(r.getMessage() for r in caplog.records)
    assert "traced squared(x: f32[3], scale: f32[], weakly typed, n=2) at" in text and "test_cache_misses.py" in text
    assert "lowered squared in " in text and "compiled jit(squared) for cpu in " in text
    caplog.clear()
    jax.jit(lambda x: x * 5)(VECTOR)
    assert not caplog.records


# --- jax_no_tracing, jax_no_execution -------------------------------------------------------------------------------

def test_no_tracing():
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    f(VECTOR, 2)
    with jax.no_tracing():
        np.testing.assert_array_equal(f(VECTOR, 2), 2 * VECTOR)
        with pytest.raises(RuntimeError, match=r"(?s)jax_no_tracing forbids to trace.*argument x was f32\[3\].*f32\[4\]"):
            f(np.ones(4, np.float32), 2)
        with pytest.raises(RuntimeError, match=r"(?s)argument x was f32\[3\] and is f32\[4\]"):  # the same again
            f(np.ones(4, np.float32), 2)
        with pytest.raises(RuntimeError, match="(?s)static argument n was 2 and is 3.*outside jax.no_tracing"):
            f(VECTOR, 3)
        new = jax.jit(lambda x: x)
        for reason in ("it has not been traced before", "earlier attempts to trace it .* did not succeed"):
            with pytest.raises(RuntimeError, match=reason):
                new(VECTOR)
        with pytest.raises(RuntimeError, match="jax_no_tracing"):
            jax.jit(lambda x: x).lower(VECTOR)
        assert lax.add(np.float32(1), np.float32(2)).item() == 3  # single operations are no functions under jit
    np.testing.assert_array_equal(f(VECTOR, 3), 3 * VECTOR)


def test_no_execution():
    f = jax.jit(lambda x: x * 2)
    x = f(VECTOR)
    compiled = f.lower(x).compile()
    for call in (lambda: f(x), lambda: compiled(x), lambda: lax.sin(x), lambda: jnp.cumsum(x)):
        call()
        with jax.no_execution(), pytest.raises(RuntimeError, match="jax_no_execution forbids to run"):
            call()
        call()
    with jax.no_execution():
        assert jax.eval_shape(f, x).shape == (3,)
        assert "multiply" in jax.jit(lambda x: x * 3).lower(x).as_text()
