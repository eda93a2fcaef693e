"""Fences: where they are put, that they hold in XLA, and that results are the same."""

import functools
import re

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base import _jaxlib
from jax._base.config import cpu_fusion_fences
from jax._lowering.passes import fences
from jax._runtime.compile import compile_options
from jax.extend.core import Primitive
from jax.interpreters import mlir


def lowered_text(fun, *args):
    return jax.jit(fun).lower(*args).as_text()


def count(fun, *args):
    """Fences outside loops, and within."""
    text = lowered_text(fun, *args)
    return text.count("optimization_barrier"), text.count("call @kept")


def residual(x, weights):
    for w in weights:
        x = x + jnp.tanh(x @ w)
    return x


X = np.linspace(-1, 1, 12 * 8, dtype=np.float32).reshape(12, 8)
WEIGHTS = [np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8) * (0.1 + i / 50) for i in range(8)]


@pytest.mark.quick
def test_residual_stream_is_fenced():
    # Each sum is read by the next layer's product, which needs it in memory, and by the next sum.
    assert 3 <= count(residual, X, WEIGHTS)[0] <= 8


@pytest.mark.quick
def test_option_switches_it_off():
    with cpu_fusion_fences(False):
        assert count(residual, X, WEIGHTS) == (0, 0)


@pytest.mark.quick
def test_fences_hold_until_operations_are_fused():
    def f(x):
        parts = []
        for _ in range(4):
            x = functools.reduce(lambda a, i: jnp.sin(a + i), range(8), x) + x[::-1]
            parts.append(jnp.sum(x, axis=0))
        return parts

    sines = []
    for option in (True, False):
        with cpu_fusion_fences(option):
            sines.append(jax.jit(f).lower(X).compile().as_text().count(" sine("))
    assert sines[0] == 4 * 8 < sines[1]


def test_short_and_single_chains_are_left_alone():
    assert count(lambda x: jnp.sin(x) + jnp.cos(x), X) == (0, 0)
    assert count(lambda x: functools.reduce(lambda a, i: jnp.sin(a + i), range(40), x), X) == (0, 0)


def test_long_chain_with_two_readers():
    def f(x):
        y = functools.reduce(lambda a, i: jnp.sin(a + i), range(20), x)
        return (y[:6] * 2).sum(), (y[6:] + 1).sum()

    assert count(f, X)[0] == 1


def test_not_on_other_platforms():
    lowered = jax.jit(residual).trace(X, WEIGHTS).lower(lowering_platforms=("cuda",))
    assert "optimization_barrier" not in lowered.as_text()


def test_calls_are_seen_through():
    @jax.jit
    def layer(x, w):
        return x + jnp.tanh(x @ w)

    def f(x, weights):
        for w in weights:
            x = layer(x, w)
        return x

    direct, through_calls = count(residual, X, WEIGHTS)[0], count(f, X, WEIGHTS)[0]
    assert direct - 2 <= through_calls <= direct + 1
    np.testing.assert_allclose(jax.jit(f)(X, WEIGHTS), residual(X, WEIGHTS), rtol=1e-5)


def test_body_that_is_called_twice_is_still_one_function():
    @jax.jit
    def long(x):
        y = functools.reduce(lambda a, i: jnp.sin(a + i), range(20), x)
        return y * 2 + y.sum()

    text = lowered_text(lambda x: long(long(x)), X)
    assert text.count("func.func private @long") == 1


def test_large_values_in_loops_are_fenced_by_calls():
    def body(c, _):
        y = functools.reduce(lambda a, i: jnp.sin(a + i), range(20), c)
        return y[::-1] + y, None

    big = np.ones((64, 64), np.float32)
    at_top, inside = count(lambda x: lax.scan(body, x, None, length=3)[0], big)
    assert at_top == 0 and inside >= 1
    assert count(lambda x: lax.scan(body, x, None, length=3)[0], np.ones(3, np.float32)) == (0, 0)


def loops_and_fences(x, weights):
    """Barriers within loops, small ones too, which XLA cannot emit, in a module that relies on barriers."""
    def body(c, _):
        a, b = lax.optimization_barrier((c[0] + 1, c[1] * 2))
        return (b, lax.optimization_barrier(a)), a + b

    carry, ys = lax.scan(body, (x[0, :3], x[1, :3]), None, length=5)
    small = lax.while_loop(lambda v: lax.optimization_barrier(v) < 100, lambda v: lax.optimization_barrier(v) * 2 + 1, 1.0)
    return residual(x, weights).sum() + carry[0].sum() + ys.sum() + small


@pytest.mark.quick
def test_barriers_within_loops_beside_fences():
    text = lowered_text(loops_and_fences, X, WEIGHTS)
    loops = re.findall(r"stablehlo\.while.*?\n    \}", text, re.S)
    assert loops and not any("optimization_barrier" in loop for loop in loops) and "optimization_barrier" in text
    with jax.disable_jit():
        expected = loops_and_fences(jnp.asarray(X), WEIGHTS)
    np.testing.assert_allclose(jax.jit(loops_and_fences)(X, WEIGHTS), expected, rtol=1e-5)


def test_functions_called_at_the_top_and_within_loops():
    @jax.jit
    def f(x):
        return x + lax.optimization_barrier(jnp.sin(x)) * 2

    def g(x, weights):
        return lax.fori_loop(0, 3, lambda i, y: f(y), f(x[0, :3])).sum() + residual(x, weights).sum()

    expected = X[0, :3]
    for _ in range(4):
        expected = expected + np.sin(expected) * 2
    np.testing.assert_allclose(jax.jit(g)(X, WEIGHTS), expected.sum() + residual(X, WEIGHTS).sum(), rtol=1e-5)


def test_barriers_that_other_rules_write_within_loops():
    held_p = Primitive("held")
    held_p.def_abstract_eval(lambda aval: aval)
    mlir.register_lowering(held_p, lambda ctx, x: [_jaxlib.ir.Operation.create(
        "stablehlo.optimization_barrier", [x.type], [x]).result])

    def f(x, weights):
        return lax.fori_loop(0, 5, lambda i, v: held_p.bind(v) * 2, 1.0) + residual(x, weights).sum()

    np.testing.assert_allclose(jax.jit(f)(X, WEIGHTS), 32 + residual(X, WEIGHTS).sum(), rtol=1e-5)


def test_own_list_of_passes_to_leave_out_is_kept():
    options = compile_options(jax.devices(), compiler_options={"xla_disable_hlo_passes": "mine"}, left_out=("ours",))
    assert options.executable_build_options.debug_options.xla_disable_hlo_passes.split(",")[-2:] == ["ours", "mine"]


def test_summary_of_a_call():
    def inner(a, b, c):
        return a + b, jnp.sum(c)

    jaxpr = jax.make_jaxpr(inner)(X, X, X).jaxpr
    summary = fences.summarize(jaxpr, False)
    assert summary.jaxpr is None
    assert summary.readers == (1, 1, 1) and summary.kept == (False, False, False)
    (reads, others, operations), (reads2, others2, operations2) = summary.origins
    assert set(reads) == {0, 1} and others == 0 and operations == 1
    assert reads2 == () and operations2 == 0


# --- random programs ------------------------------------------------------------------------------------------------

UNARY = [jnp.sin, jnp.tanh, jnp.exp, jax.nn.sigmoid, lambda a: a * a, jnp.abs, lambda a: a[::-1],
         lambda a: a.T.reshape(a.shape),
         lambda a: jnp.where(a > 0, a, 0.1 * a), lambda a: a - a.mean(axis=0), lambda a: jnp.cumsum(a, 0) / 8,
         lambda a: jnp.roll(a, 1, 0), lambda a: jnp.concatenate([a[3:], a[:3]]), lambda a: jax.checkpoint(jnp.sin)(a),
         lambda a: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), a[0], a)[1],
         lambda a: lax.cond(a[0, 0] > 0, lambda b: jnp.sin(b) + b, lambda b: b * 2, a),
         jax.jit(lambda a: jnp.tanh(a) * 2 + a)]
BINARY = [jnp.add, jnp.subtract, jnp.multiply, lambda a, b: jnp.maximum(a, b), lambda a, b: a @ (b.T @ b) / 64,
          lambda a, b: jnp.where(a > b, a, b * 0.5), lambda a, b: a + b[:1]]


def random_program(seed):
    """A program of 24 operations on an array; later operations read earlier results at random."""
    rng = np.random.default_rng(seed)
    plan = []
    for i in range(24):
        recent = max(0, i - 6)
        if rng.random() < 0.55:
            plan.append((int(rng.integers(len(UNARY))), int(rng.integers(recent, i + 1)), None))
        else:
            plan.append((int(rng.integers(len(BINARY))), int(rng.integers(recent, i + 1)), int(rng.integers(recent, i + 1))))

    def program(x):
        values = [x]
        for op, a, b in plan:
            y = UNARY[op](values[a]) if b is None else BINARY[op](values[a], values[b])
            values.append(y / (1 + 0.1 * jnp.sum(jnp.abs(y)) / y.size))
        return sum(jnp.sum(v * v) for v in values[-8:])

    return program


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_are_equal_with_and_without(seed):
    program = random_program(seed)
    results = []
    for option in (True, False):
        with cpu_fusion_fences(option):
            step = jax.jit(jax.value_and_grad(program))
            results.append((step.lower(X).as_text().count("optimization_barrier"), *step(X)))
    with jax.enable_x64(True), cpu_fusion_fences(False):
        truth, slope = jax.value_and_grad(program)(np.asarray(X, np.float64))
    assert results[0][0] > results[1][0]  # the second has those of jax.checkpoint only
    for _, value, gradient in results:
        np.testing.assert_allclose(value, truth, rtol=2e-4)
        scale = np.abs(slope).max()
        np.testing.assert_allclose(gradient / scale, slope / scale, atol=2e-3)
    (_, value, gradient), (_, value2, gradient2) = results
    np.testing.assert_allclose(value, value2, rtol=1e-4)
    np.testing.assert_allclose(gradient / scale, gradient2 / scale, atol=1e-3)


SMOOTH = [jnp.sin, jnp.tanh, lambda a: a * a, lambda a: a[::-1], lambda a: a - a.mean(axis=0), lambda a: jnp.roll(a, 1, 0),
          jax.nn.sigmoid, lambda a: a.T, lambda a: jnp.where(a > 0, a, 0.1 * a)]


def random_body(rng, operations=5):
    """A function of two arrays to one; later operations read several earlier results, and bring them back to size 1."""
    plan = [(int(rng.integers(len(SMOOTH))), *(int(k) for k in rng.integers(max(0, i - 4), i + 2, 2)))
            for i in range(operations)]

    def body(x, y):
        values = [x, y]
        for op, a, b in plan:
            values.append(jnp.tanh(SMOOTH[op](values[a]) + 0.5 * values[b]))
        return sum(values[-3:]) / 3

    return body


def random_nest(seed):
    """A program whose bodies of scans, counted loops, conditional loops, branches and calls are random programs."""
    rng = np.random.default_rng(100 + seed)
    step, stack, turn, left, right, called, last = (random_body(rng) for _ in range(7))

    def program(x):
        def scanned(carry, row):
            carry = lax.cond(jnp.sum(carry) > row, left, right, carry, x)
            return step(carry, x), stack(carry, x)

        carry, stacked = lax.scan(scanned, x, jnp.array([-1e9, 1e9, 0], x.dtype))
        carry = lax.fori_loop(0, 2, lambda i, c: turn(c, stacked[i]), carry)
        fixed = lax.stop_gradient(carry)  # loops of unknown length have no gradients
        _, looped = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, last(c[1], fixed)), (0, fixed))
        shared = jax.jit(called)
        result = shared(shared(carry, stacked[0]), jax.checkpoint(last)(x, stacked[1])) + looped
        return jnp.sum(result * result) / x.size

    return program


@pytest.mark.parametrize("seed", range(2))
def test_bodies_of_control_flow_and_their_gradients_are_equal_with_and_without(seed):
    program = random_nest(seed)
    x = np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32)
    results = {}
    for option in (True, False):
        with cpu_fusion_fences(option):
            step = jax.jit(jax.value_and_grad(program))
            lowered = step.lower(x)
            results[option] = (lowered.as_text().count("call @kept"), *lowered.compile()(x))
    assert results[True][0] > 4 and results[False][0] == 0  # there are fences within loops, in both directions
    (_, value, gradient), (_, value2, gradient2) = results[True], results[False]
    scale = np.abs(gradient2).max()
    assert scale > 1e-5 and np.isfinite(value2)
    np.testing.assert_allclose(value, value2, rtol=1e-5)
    np.testing.assert_allclose(gradient / scale, gradient2 / scale, atol=2e-5)
