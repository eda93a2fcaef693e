"""odeint against SciPy and closed forms; gradients against finite differences and closed forms; its building blocks."""

import numpy as np
import pytest
from scipy.integrate import RK45, solve_ivp

import jax
import jax.numpy as jnp
from jax.experimental import ode
from jax.experimental.ode import odeint


def _oscillator(y, t, mu):
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] + jnp.sin(t)])


def test_values_agree_with_scipy():
    with jax.enable_x64(True):
        t = np.linspace(0.5, 5.0, 10)
        got = jax.jit(lambda y, t, mu: odeint(_oscillator, y, t, mu))(jnp.array([2.0, 0.0]), t, 2.0)
        expected = solve_ivp(lambda s, y: [y[1], 2.0 * (1 - y[0] ** 2) * y[1] - y[0] + np.sin(s)], (t[0], t[-1]),
                             [2.0, 0.0], t_eval=t, rtol=1e-12, atol=1e-12).y.T
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, atol=2e-7)


@pytest.mark.quick
def test_single_precision_trees_and_closures():
    rate = jnp.float32(0.5)
    y = odeint(lambda y, t: {"a": -rate * y["a"], "b": y["a"].sum()}, {"a": jnp.ones(2), "b": jnp.float32(0.0)},
               jnp.array([0.0, 1.0, 3.0]))
    decay = np.exp(-0.5 * np.array([0.0, 1.0, 3.0]))
    np.testing.assert_allclose(y["a"], np.stack([decay, decay], 1), rtol=1e-5)
    np.testing.assert_allclose(y["b"], 4 * (1 - decay), rtol=1e-5, atol=1e-6)


def test_complex_values_and_decreasing_times():
    t = jnp.array([2.0, 1.0, 1.0, 0.0])
    y = odeint(lambda y, t, w: 1j * w * y, jnp.complex64(1 + 1j), t, 2.0)
    np.testing.assert_allclose(y, (1 + 1j) * np.exp(2j * (np.asarray(t) - 2)), rtol=1e-5)
    assert odeint(lambda y, t: y, jnp.ones(2), jnp.array([3.0])).tolist() == [[1.0, 1.0]]


def test_gradients_agree_with_finite_differences():
    with jax.enable_x64(True):
        t = jnp.array([0.0, 0.4, 1.0, 1.7])
        weights = jnp.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0], [-2.0, 1.0]])

        def loss(y, t, mu):
            return (weights * odeint(_oscillator, y, t, mu, rtol=1e-10, atol=1e-10)).sum()
        args = [jnp.array([1.0, 0.3]), t, jnp.float64(1.3)]
        grads = jax.jit(jax.grad(loss, (0, 1, 2)))(*args)
        run = jax.jit(loss)
        for i, (arg, grad) in enumerate(zip(args, grads, strict=True)):
            for unit in np.eye(arg.size).reshape(arg.size, *arg.shape):
                values = [run(*[a + h * unit if j == i else a for j, a in enumerate(args)]) for h in (1e-5, -1e-5)]
                np.testing.assert_allclose((grad * unit).sum(), (values[0] - values[1]) / 2e-5, rtol=1e-5, atol=1e-6)


def test_gradients_of_closures_integers_and_second_derivatives():
    t = jnp.array([0.0, 1.0])

    def final(rate, power):
        return odeint(lambda y, t, n, p: -rate * y * n["k"] ** p["p"], 1.0, t, {"k": 2}, {"p": power})[-1]
    # exp(-rate 2**power)
    value, (of_rate, of_power) = jax.jit(jax.value_and_grad(final, (0, 1)))(0.5, 1.0)
    np.testing.assert_allclose(value, np.exp(-1), rtol=1e-5)
    np.testing.assert_allclose((of_rate, of_power), (-2 * np.exp(-1), -np.log(2) * np.exp(-1)), rtol=1e-4)
    second = jax.jit(jax.grad(jax.grad(lambda r: odeint(lambda y, t: -r * y, 1.0, t, rtol=1e-6, atol=1e-6)[-1])))(0.5)
    np.testing.assert_allclose(second, np.exp(-0.5), rtol=1e-3)


def test_maps_over_initial_values_and_rates():
    rates = jnp.array([0.5, 5.0, 50.0])
    solve = jax.vmap(lambda r: odeint(lambda y, t: -r * y, 1.0, jnp.array([0.0, 0.1]), rtol=1e-6, atol=1e-7)[-1])
    np.testing.assert_allclose(jax.jit(solve)(rates), np.exp(-0.1 * rates), rtol=1e-4)
    slopes = jax.jit(jax.vmap(jax.grad(lambda r: solve(r[None])[0])))(rates)
    np.testing.assert_allclose(slopes, -0.1 * np.exp(-0.1 * rates), rtol=1e-3, atol=1e-5)


def test_times_that_are_not_reached_are_nan():
    t = jnp.array([0.0, 0.5, 2.0])
    assert np.isnan(odeint(lambda y, t: y ** 2, 1.0, t)).tolist() == [False, False, True]  # 1 / (1 - t)
    assert np.isnan(odeint(lambda y, t: y * jnp.nan, 1.0, t)).tolist() == [False, True, True]
    assert np.isnan(odeint(lambda y, t: -y, 1.0, t, mxstep=2)).tolist() == [False, True, True]
    steps = odeint(lambda y, t: jnp.float32(1.0), 0.0, t, hmax=0.25, mxstep=30)
    np.testing.assert_allclose(steps, t, rtol=1e-6)
    assert np.isnan(odeint(lambda y, t: jnp.float32(1.0), 0.0, t, hmax=0.01, mxstep=30)[-1])


# --- building blocks ------------------------------------------------------------------------------------------------

def test_the_step_and_its_interpolant_are_those_of_scipy():
    with jax.enable_x64(True):
        def f(y, t):
            return jnp.stack([y[1], -y[0] + t])
        y0, dt = jnp.array([0.3, 0.7]), 0.4
        y1, f1, error, k = ode.runge_kutta_step(f, y0, f(y0, 0.1), 0.1, dt)
        np.testing.assert_allclose(k[1], f(y0 + dt * k[0] / 5, 0.1 + dt / 5), rtol=1e-14)
        np.testing.assert_allclose(y1, y0 + dt * RK45.B @ k[:6], rtol=1e-14)
        np.testing.assert_allclose(np.abs(error), np.abs(dt * RK45.E @ k), rtol=1e-10)
        piece = ode.interp_fit_dopri(y0, y1, k, dt)
        for x in (0.0, 0.2, 0.5, 0.9, 1.0):
            dense = y0 + dt * (k.T @ RK45.P) @ (x ** np.arange(1, 5))
            np.testing.assert_allclose(jnp.polyval(piece, x), dense, rtol=1e-12)
        np.testing.assert_allclose(np.arange(4, 0, -1) @ piece[:4] / dt, f1, rtol=1e-12)


def test_quartics_and_steps():
    coefficients = [3.0, -8.0, 5.0, 0.25, 1.0]  # in the fraction of a step of 0.5
    p, slope = np.poly1d(coefficients), np.poly1d(coefficients).deriv()
    found = ode.fit_4th_order_polynomial(p(0.0), p(1.0), p(0.5), slope(0.0) / 0.5, slope(1.0) / 0.5, 0.5)
    np.testing.assert_allclose(found, coefficients, rtol=1e-5)
    steps = [float(ode.optimal_step_size(2.0, r)) for r in (0.0, 1e-9, 0.5, 1.0, 2.0, 1e9)]
    np.testing.assert_allclose(steps, [20, 20, 1.8 * 2 ** 0.2, 1.8, 1.8 / 2 ** 0.2, 0.4], rtol=1e-5)
    ratio = ode.mean_error_ratio(jnp.array([3e-3, 8e-3]), 1e-3, 0.0, jnp.array([1.0, -2.0]), jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(ratio, np.sqrt((9 + 16) / 2), rtol=1e-5)
    assert ode.abs2(jnp.array([3 + 4j, 1j])).tolist() == [25.0, 1.0] and ode.abs2(jnp.float32(-2)) == 4
    first = ode.initial_step_size(lambda y, t: -y, 0.0, jnp.ones(2), 4, 1e-6, 1e-6, -jnp.ones(2))
    assert 1e-3 < first < 0.5
    on_vectors = ode.ravel_first_arg(lambda x, a: {"z": x["a"] * a}, lambda v: {"a": v})
    assert on_vectors(jnp.arange(2.0), 3.0).tolist() == [0.0, 3.0]


@pytest.mark.parametrize("call, error, text", [
    (lambda: odeint(3, 1.0, jnp.arange(2.0)), TypeError, "takes a function"),
    (lambda: odeint(lambda y, t: -y, 1, jnp.arange(2.0)), TypeError, r"y0 must consist of floating.*i32\[\]"),
    (lambda: odeint(lambda y, t: (), (), jnp.arange(2.0)), TypeError, "no arrays"),
    (lambda: odeint(lambda y, t: -y, 1.0, jnp.arange(2)), TypeError, r"t must be a vector of floats, got i32\[2\]"),
    (lambda: odeint(lambda y, t: -y, 1.0, jnp.float32(1)), ValueError, "t must be a vector"),
    (lambda: odeint(lambda y, t: -y, 1.0, jnp.zeros(0)), ValueError, "t must be a vector"),
    (lambda: odeint(lambda y, t, s: -y, 1.0, jnp.arange(2.0), "fast"), TypeError, "(?s)'fast'.*functools.partial"),
    (lambda: odeint(lambda y, t: jnp.ones(3), 1.0, jnp.arange(2.0)), TypeError,
     r"float32\[\], but it returned float32\[3\]"),
    (lambda: odeint(lambda y, t: -y, 1.0, jnp.arange(2.0), rtol=jnp.ones(2)), TypeError, "rtol must be a number"),
    (lambda: jax.jvp(lambda y: odeint(lambda y, t: -y, y, jnp.arange(2.0)), (1.0,), (1.0,)), TypeError, "forward-mode"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
