"""Libraries from PyPI, unmodified, where they are installed: one small program each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jax
import jax.numpy as jnp

# Libraries warn about each other and about their own old names.
pytestmark = pytest.mark.filterwarnings("ignore")


def library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "jax":
            raise
        pytest.skip(f"{error.name} is not installed")


def descend(update: Callable[..., Any], params: Any, state: Any, steps: int = 20) -> float:
    """The loss after some steps on a quadratic function."""
    loss = lambda p: sum(jnp.sum(x**2) for x in jax.tree.leaves(p))  # noqa: E731

    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(loss)(params)
        params, state = update(grads, state, params)
        return params, state, value
    for _ in range(steps):
        params, state, value = step(params, state)
    return float(value)


@pytest.mark.parametrize("name", ["adam", "sgd", "adamw", "lion", "rmsprop"])
def test_optax(name):
    optax = library("optax")
    optimizer = optax.chain(optax.clip_by_global_norm(10.0), getattr(optax, name)(0.1))

    def update(grads, state, params):
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state
    params = {"w": jnp.array([1.0, -2.0]), "b": jnp.ones((2, 2))}
    assert descend(update, params, optimizer.init(params)) < 5.0


def test_equinox():
    eqx = library("equinox")
    model = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (16, 2))

    @eqx.filter_jit
    def step(model):
        value, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x)[:, 0] - x[:, 0]) ** 2))(model)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), value
    first = step(model)[1]
    for _ in range(20):
        model, last = step(model)
    assert float(last) < float(first)
    checked = eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "must not be negative"))
    assert float(checked(jnp.array(1.0))) == 1.0
    with pytest.raises(Exception, match="must not be negative") as info:
        checked(jnp.array(-1.0))
    assert type(info.value).__name__ == "EquinoxRuntimeError"


def test_lineax():
    lx = library("lineax")
    a = jnp.array([[4.0, 1.0], [2.0, 3.0]])
    f = lambda a: lx.linear_solve(lx.MatrixLinearOperator(a), jnp.ones(2)).value  # noqa: E731
    assert np.allclose(f(a), np.linalg.solve(a, np.ones(2)), atol=1e-5)
    expected = jax.grad(lambda a: jnp.linalg.solve(a, jnp.ones(2)).sum())(a)
    assert np.allclose(jax.grad(lambda a: f(a).sum())(a), expected, atol=1e-5)


def test_diffrax():
    dfx = library("diffrax")

    def solve(rate):
        return dfx.diffeqsolve(dfx.ODETerm(lambda t, y, rate: -rate * y), dfx.Tsit5(), 0, 1, 0.1, jnp.array(1.0), args=rate,
                               stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-6)).ys[0]
    assert np.isclose(solve(jnp.array(2.0)), np.exp(-2), atol=1e-4)
    assert np.isclose(jax.grad(solve)(jnp.array(2.0)), -np.exp(-2), atol=1e-4)
    assert np.allclose(jax.vmap(solve)(jnp.array([1.0, 2.0])), np.exp([-1.0, -2.0]), atol=1e-4)


def test_optimistix():
    optx = library("optimistix")

    def root(a):
        return optx.root_find(lambda y, a: y**3 - a, optx.Newton(1e-6, 1e-6), jnp.array(1.0), args=a).value
    assert np.isclose(root(2.0), 2 ** (1 / 3), atol=1e-5)
    assert np.isclose(jax.grad(root)(2.0), 2 ** (-2 / 3) / 3, atol=1e-5)


def test_flax():
    nn = library("flax.linen")

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(4, (3, 3))(x))
            return nn.Dense(3)(nn.LayerNorm()(x.reshape((x.shape[0], -1))))
    net, x = Net(), jnp.ones((2, 6, 6, 1))
    variables = net.init(jax.random.key(0), x)
    grads = jax.jit(jax.grad(lambda v: net.apply(v, x).sum()))(variables)
    assert jax.tree.structure(grads) == jax.tree.structure(variables)
    shapes = jax.tree.map(jnp.shape, nn.Dense(4).lazy_init(jax.random.key(0), jax.ShapeDtypeStruct((2, 5), np.float32)))
    assert shapes == {"params": {"kernel": (5, 4), "bias": (4,)}}


def test_haiku():
    hk = library("haiku")
    net = hk.transform(lambda x: hk.dynamic_unroll(hk.LSTM(4), x, hk.LSTM(4).initial_state(2))[0])
    x = jnp.ones((3, 2, 5))
    params = net.init(jax.random.PRNGKey(0), x)
    assert jax.jit(net.apply)(params, None, x).shape == (3, 2, 4)


def test_numpyro():
    numpyro = library("numpyro")
    infer = library("numpyro.infer")
    dist = library("numpyro.distributions")

    def model(data):
        mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
        numpyro.sample("data", dist.Normal(mean, 1.0), obs=data)
    mcmc = infer.MCMC(infer.NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), jnp.array([2.0, 3.0, 4.0]))
    assert abs(float(mcmc.get_samples()["mean"].mean()) - 3.0) < 0.5


def test_jaxopt():
    jaxopt = library("jaxopt")
    found = jaxopt.LBFGS(lambda x: jnp.sum((x - 1) ** 2)).run(jnp.zeros(3)).params
    assert np.allclose(found, 1.0, atol=1e-4)


def test_einops_and_jaxtyping():
    einops = library("einops")
    assert einops.rearrange(jnp.ones((2, 3, 4)), "a b c -> b (a c)").shape == (3, 8)
    jaxtyping = library("jaxtyping")
    assert isinstance(jnp.ones((2, 3)), jaxtyping.Float[jaxtyping.Array, "a b"])
    assert not isinstance(jnp.ones(2), jaxtyping.Float[jaxtyping.Array, "a b"])
