"""The summary of compilations that took long."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base import config
from jax._dispatch import slow

pytestmark = pytest.mark.quick
HERE = "test_slow.py"


@pytest.fixture
def reports(caplog):
    caplog.set_level(logging.WARNING)

    def run(call):
        caplog.clear()
        call()
        return [r.getMessage() for r in caplog.records if "to compile" in r.getMessage()]
    return run


def unrolled(x):
    for _ in range(1100):
        x = jnp.sin(x)
    return x + 1


def test_what_takes_long_is_reported(reports):
    def f(x):
        return jnp.cos(x) * 2

    with config.slow_compile_report_secs(0):
        (text,) = reports(lambda: jax.jit(f)(np.float32(1)))
        assert not reports(lambda: jax.jit(f)(np.float32(1)))
        assert len(reports(lambda: jax.jit(f).lower(np.ones(3)).compile())) == 1
    assert text.startswith("jit of f (f at ") and HERE in text
    assert "s to trace" in text and "s to lower" in text and "s in XLA. It has 2 operations (1 cos, 1 mul)." in text
    assert "return jnp.cos(x) * 2" in text


def test_the_threshold(reports):
    assert config.slow_compile_report_secs.default == 10.0
    f = jax.jit(lambda x: x * 3)
    assert not reports(lambda: f(np.float32(1)))
    with config.slow_compile_report_secs(-1):
        assert not reports(lambda: f(np.ones(3)))
    with pytest.raises(ValueError, match="jax_slow_compile_report_secs takes a number; got 'long'"):
        config.slow_compile_report_secs("long")


def summary(f, *args, tracing=1.0, compiling=12.0):
    return slow.summary("f", slow.Timing(jax.make_jaxpr(f)(*args), 2.0), tracing, compiling)


def test_lines_that_make_most_operations_and_what_helps():
    text = summary(unrolled, np.float32(1))
    assert "took 15.0 s to compile: 1.0 s to trace, 2.0 s to lower, 12.0 s in XLA" in text
    assert "It has 1101 operations (1100 sin, 1 add)" in text
    first, second = (line for line in text.splitlines() if "(unrolled):" in line)
    assert first.split()[0] == "1100" and "x = jnp.sin(x)" in first and second.split()[0] == "1"
    assert "1100 operations were made at " in text and "in a Python loop, jax.lax.scan" in text
    assert "jax_compilation_cache_dir keeps compiled programs" in text
    assert "jax_disable_most_optimizations compiles faster" in text


def test_the_loop_may_be_around_a_function():
    def layer(x):
        return jnp.sin(x)

    def network(x):
        for _ in range(1100):
            x = layer(x)
        return x

    text = summary(network, np.float32(1))
    (advice,) = (line for line in text.splitlines() if "operations were made at" in line)
    assert "layer), called at " in advice and "network)" in advice.split("called at")[1]


def test_inner_programs_count_once():
    inner = jax.jit(lambda x: jnp.sin(jnp.cos(x)))
    text = summary(lambda x: inner(inner(inner(x))), np.float32(1))
    assert "It has 5 operations (3 jit, " in text
    text = summary(lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, length=100)[0], np.float32(1))
    assert "It has 2 operations" in text


def test_advice_follows_what_took_long():
    text = summary(lambda x: x + 1, np.float32(1), tracing=20.0)
    assert "most of the time went into running the Python function" in text
    assert "jax_disable_most_optimizations" not in text
    big = jnp.ones(1 << 24)
    assert "it closes over arrays of 67,108,864 bytes: pass them as arguments" in summary(lambda x: x + big, np.float32(1))


def test_traces_are_remembered_if_they_matter():
    jaxpr = jax.make_jaxpr(lambda x: x + 1)(1.0)
    slow.traced(jaxpr, 0.01)
    assert jaxpr not in slow._traces
    slow.traced(jaxpr, 3.0)
    assert slow._traces[jaxpr] == 3.0
    with config.slow_compile_report_secs(-1):
        other = jax.make_jaxpr(lambda x: x + 1)(1.0)
        slow.traced(other, 30.0)
        assert other not in slow._traces
