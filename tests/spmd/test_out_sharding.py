"""``out_sharding=`` of functions over arrays: their results are laid out so, with the values they have anyway."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import nn, ops, random
from jax.nn import initializers

KEY = random.key(3)
A, B = np.arange(32, dtype=np.float32).reshape(8, 4), np.arange(32, dtype=np.float32).reshape(4, 8)
ONES = np.ones(8, np.float32)

CALLS = {
    "bits": lambda **k: random.bits(KEY, (8,), **k),
    "uniform": lambda **k: random.uniform(KEY, (8,), jnp.float32, 1.0, 3.0, **k),
    "normal": lambda **k: random.normal(KEY, (8,), **k),
    "randint": lambda **k: random.randint(KEY, (8,), 0, 9, **k),
    "bernoulli": lambda **k: random.bernoulli(KEY, 0.3, (8,), **k),
    "rademacher": lambda **k: random.rademacher(KEY, (8,), **k),
    "exponential": lambda **k: random.exponential(KEY, (8,), **k),
    "gumbel": lambda **k: random.gumbel(KEY, (8,), mode="high", **k),
    "laplace": lambda **k: random.laplace(KEY, (8,), **k),
    "logistic": lambda **k: random.logistic(KEY, (8,), **k),
    "cauchy": lambda **k: random.cauchy(KEY, (8,), **k),
    "pareto": lambda **k: random.pareto(KEY, 2.0, (8,), **k),
    "rayleigh": lambda **k: random.rayleigh(KEY, 2.0, (8,), **k),
    "truncated_normal": lambda **k: random.truncated_normal(KEY, -1.0, 2.0, (8,), **k),
    "lognormal": lambda **k: random.lognormal(KEY, 0.5, (8,), **k),
    "maxwell": lambda **k: random.maxwell(KEY, (8,), **k),
    "wald": lambda **k: random.wald(KEY, 2.0, (8,), **k),
    "triangular": lambda **k: random.triangular(KEY, 0.0, 1.0, 4.0, (8,), **k),
    "geometric": lambda **k: random.geometric(KEY, 0.3, (8,), **k),
    "poisson": lambda **k: random.poisson(KEY, 3.0, (8,), **k),
    "categorical": lambda **k: random.categorical(KEY, A, 1, **k),
    "permutation": lambda **k: random.permutation(KEY, A, 1, True, **k),
    "gamma": lambda **k: random.gamma(KEY, 2.0, (8,), **k),
    "loggamma": lambda **k: random.loggamma(KEY, 2.0, (8,), method="approximate", **k),
    "beta": lambda **k: random.beta(KEY, 2.0, 3.0, (8,), **k),
    "dirichlet": lambda **k: random.dirichlet(KEY, ONES, (8,), **k),
    "chisquare": lambda **k: random.chisquare(KEY, 2.0, (8,), **k),
    "f": lambda **k: random.f(KEY, 2.0, 3.0, (8,), **k),
    "t": lambda **k: random.t(KEY, 2.0, (8,), **k),
    "generalized_normal": lambda **k: random.generalized_normal(KEY, 3.0, (8,), **k),
    "ball": lambda **k: random.ball(KEY, 2, 3, (8,), **k),
    "multivariate_normal": lambda **k: random.multivariate_normal(KEY, ONES, np.eye(8), (8,), **k),
    "orthogonal": lambda **k: random.orthogonal(KEY, 8, (), jnp.float32, 8, **k),
    "matmul": lambda **k: jnp.matmul(A, B, precision="high", **k),
    "dot": lambda **k: jnp.dot(A, B, preferred_element_type=jnp.float32, **k),
    "tensordot": lambda **k: jnp.tensordot(A, B, 1, **k),
    "einsum": lambda **k: jnp.einsum("ij,jk->ik", A, B, optimize=False, **k),
    "one_hot": lambda **k: nn.one_hot(np.arange(8), 3, axis=1, **k),
    "segment_sum": lambda **k: ops.segment_sum(A, np.arange(8), 8, **k),
    "initializers.zeros": lambda **k: initializers.zeros(KEY, (8,), jnp.float32, **k),
    "initializers.ones": lambda **k: initializers.ones(KEY, (8,), jnp.float32, **k),
    "initializers.constant": lambda **k: initializers.constant(2.0)(KEY, (8,), **k),
    "initializers.uniform": lambda **k: initializers.uniform()(KEY, (8,), **k),
    "initializers.normal": lambda **k: initializers.normal()(KEY, (8,), **k),
    "initializers.truncated_normal": lambda **k: initializers.truncated_normal()(KEY, (8,), **k),
    "initializers.glorot_normal": lambda **k: initializers.glorot_normal()(KEY, (8, 8), **k),
    "initializers.orthogonal": lambda **k: initializers.orthogonal()(KEY, (8, 8), **k),
    "initializers.delta_orthogonal": lambda **k: initializers.delta_orthogonal()(KEY, (8, 4, 4), **k),
}


@pytest.mark.parametrize("name", CALLS)
def test_layout_and_values(over, name):
    call, wanted = CALLS[name], over("y")
    out = call(out_sharding=wanted)
    assert out.sharding.is_equivalent_to(wanted, out.ndim)
    np.testing.assert_allclose(out, call(), rtol=1e-6)


def test_specs_in_programs(mesh):
    with jax.set_mesh(mesh):
        f = jax.jit(lambda key: random.normal(key, (8, 4), out_sharding=jax.P("x", "y")))
        assert f(KEY).sharding.spec == jax.P("x", "y")
        g = jax.jit(lambda a: jnp.dot(a, B, out_sharding=jax.P("x", "y")))
        np.testing.assert_allclose(g(A), A @ B)


@pytest.mark.parametrize("call, error, message", [
    (lambda s: random.normal(KEY, (3,), out_sharding=s), ValueError, "its size 3 is not a multiple"),
    (lambda s: jnp.einsum("ij,jk", A, B, out_sharding="y"), TypeError, "jnp.einsum: 'y' of type str is no sharding"),
    (lambda s: jnp.dot(A, B, out_sharding=jax.P("y")), RuntimeError, "mesh"),
])
def test_misuse(over, call, error, message):
    with pytest.raises(error, match=message):
        call(over("y"))
