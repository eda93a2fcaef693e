"""Optimizers against recurrences written out with NumPy, schedules, trees of states, misuse."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers

START = np.array([1.0, -2.0, 3.0], np.float32)
GRADS = [np.array(g, np.float32) for g in ([0.1, 0.5, -0.3], [0.0, -0.2, 0.4], [0.3, 0.1, 0.0])]


def _momentum(nesterov=False):
    x, v = START, 0
    for g in GRADS:
        v = 0.9 * v + g
        x = x - 0.1 * (0.9 * v + g if nesterov else v)
    return x


def _adagrad():
    x, total, m = START, 0, 0
    for g in GRADS:
        total = total + g ** 2
        m = 0.9 * m + 0.1 * g / np.sqrt(np.where(total > 0, total, 1))
        x = x - 0.1 * m
    return x


def _rmsprop(momentum):
    x, mean, v = START, 0, 0
    for g in GRADS:
        mean = 0.9 * mean + 0.1 * g ** 2
        v = momentum * v + 0.1 * g / np.sqrt(mean + 1e-8)
        x = x - v
    return x


def _adam(maximum):
    x, m, v = START, 0, 0
    for t, g in enumerate(GRADS, 1):
        m = 0.9 * m + 0.1 * g
        v = np.maximum(0.999 * v, abs(g)) if maximum else 0.999 * v + 0.001 * g ** 2
        scale = v if maximum else np.sqrt(v / (1 - 0.999 ** t))
        x = x - 0.1 * m / (1 - 0.9 ** t) / (scale + 1e-8)
    return x


@pytest.mark.parametrize("made, expected", [
    (optimizers.sgd(0.1), START - 0.1 * sum(GRADS)), (optimizers.momentum(0.1, 0.9), _momentum()),
    (optimizers.nesterov(0.1, 0.9), _momentum(nesterov=True)), (optimizers.adagrad(0.1), _adagrad()),
    (optimizers.rmsprop(0.1), _rmsprop(0.0)), (optimizers.rmsprop_momentum(0.1), _rmsprop(0.9)),
    (optimizers.adam(0.1), _adam(False)), (optimizers.adamax(0.1), _adam(True)), (optimizers.sm3(0.1), _adagrad()),
], ids="sgd momentum nesterov adagrad rmsprop rmsprop_momentum adam adamax sm3".split())
def test_steps(made, expected):
    init, update, params = made
    state = init({"w": START, "b": [np.float32(1.0)]})
    run = jax.jit(update)
    for i, g in enumerate(GRADS):
        state = run(i, {"w": g, "b": [g[0]]}, state)
    np.testing.assert_allclose(params(state)["w"], expected, rtol=2e-5)
    np.testing.assert_allclose(params(state)["b"][0], expected[0], rtol=2e-5)
    assert params(state)["w"].dtype == np.float32


def test_sm3_keeps_one_accumulator_per_row_and_column():
    init, update, params = optimizers.sm3(1.0, momentum=0.0)
    state = update(0, jnp.array([[1.0, 2.0], [3.0, 4.0]]), init(jnp.zeros((2, 2))))
    np.testing.assert_allclose(params(state), -np.ones((2, 2)), rtol=1e-6)
    state = update(1, jnp.ones((2, 2)), state)  # accumulators: rows 4, 16 and columns 9, 16
    np.testing.assert_allclose(params(state), -1 - 1 / np.sqrt(np.array([[5, 5], [10, 17]])), rtol=1e-6)


@pytest.mark.quick
@pytest.mark.parametrize("schedule, expected", [
    (optimizers.constant(0.1), [0.1] * 4), (optimizers.exponential_decay(0.1, 10, 0.5), [0.1, 0.0812252, 0.05, 0.0353553]),
    (optimizers.inverse_time_decay(0.1, 10, 0.5), [0.1, 0.1 / 1.15, 0.1 / 1.5, 0.1 / 1.75]),
    (optimizers.inverse_time_decay(0.1, 10, 0.5, staircase=True), [0.1, 0.1, 0.1 / 1.5, 0.1 / 1.5]),
    (optimizers.polynomial_decay(0.1, 10, 0.01, 2.0), [0.1, 0.0541, 0.01, 0.01]),
    (optimizers.piecewise_constant([3, 9], [1.0, 2.0, 3.0]), [1.0, 1.0, 3.0, 3.0]),
])
def test_schedules(schedule, expected):
    np.testing.assert_allclose([schedule(i) for i in (0, 3, 10, 15)], expected, rtol=1e-5)
    init, update, params = optimizers.sgd(schedule)
    np.testing.assert_allclose(params(update(3, 1.0, init(0.0))), -expected[1], rtol=1e-5)
    np.testing.assert_allclose(jax.jit(schedule)(10), expected[2], rtol=1e-5)


def test_states_are_trees_and_can_be_taken_apart():
    init, update, params = optimizers.momentum(0.1, 0.9)
    state = update(0, {"a": jnp.ones(2), "b": (jnp.float32(2),)}, init({"a": jnp.zeros(2), "b": (jnp.float32(1),)}))
    points = optimizers.unpack_optimizer_state(state)
    assert isinstance(points["a"], optimizers.JoinPoint) and points["b"][0].subtree[1] == 2
    again = optimizers.pack_optimizer_state(points)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert params(jax.tree.map(lambda x: x, again))["a"].tolist() == params(state)["a"].tolist()


def test_norms_and_clipping():
    tree = {"a": jnp.array([3.0, 0.0]), "b": jnp.float32(-4.0)}
    assert optimizers.l2_norm(tree) == 5.0
    np.testing.assert_allclose(jax.tree.leaves(optimizers.clip_grads(tree, 1.0))[1], -0.8, rtol=1e-6)
    assert optimizers.clip_grads(tree, 7.0)["a"].tolist() == [3.0, 0.0]
    assert not np.isnan(optimizers.clip_grads(jnp.zeros(2), 0.0)).any()


def test_training_under_scan():
    init, update, params = optimizers.adam(0.1)
    target = jnp.array([1.0, -2.0])

    def step(state, i):
        return update(i, jax.grad(lambda w: ((w - target) ** 2).sum())(params(state)), state), None
    state, _ = jax.lax.scan(step, init(jnp.zeros(2)), jnp.arange(200))
    np.testing.assert_allclose(params(state), target, atol=1e-2)


@pytest.mark.parametrize("call, error, text", [
    (lambda: optimizers.adam("fast"), TypeError, "number or a function of the step, got 'fast'"),
    (lambda: optimizers.sgd(jnp.ones(2)), TypeError, "number or a function"),
    (lambda: optimizers.piecewise_constant([1, 2], [1.0, 2.0]), ValueError, "one entry more"),
    (lambda: optimizers.piecewise_constant([2, 1], [1.0, 2.0, 3.0]), ValueError, "must increase"),
    (lambda: optimizers.sgd(0.1).update_fn(0, {"b": 1.0}, optimizers.sgd(0.1).init_fn({"a": 1.0})), TypeError,
     r"(?s)'a'.*gradients of the structure.*'b'"),
    (lambda: optimizers.pack_optimizer_state({"a": 1.0}), TypeError, "tree of JoinPoints"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
