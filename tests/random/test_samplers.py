"""Samplers: under transformations, their derivatives, distributions, shapes and refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.stats as st

import jax
import jax.numpy as jnp
from jax import random
from jax._language.typecheck import check_jaxpr

KEY = random.key(1)
A = jnp.array([0.4, 2.5, 30.0])
P = jnp.array([0.2, 0.5, 0.3])

# Each draws from one key something of shape (2, 3) (a few: of another).
SAMPLERS = {
    "ball": lambda k: random.ball(k, 3, 1.5, (2,)),
    "bernoulli": lambda k: random.bernoulli(k, P, (2, 3)),
    "beta": lambda k: random.beta(k, A, 2.0, (2, 3)),
    "binomial": lambda k: random.binomial(k, jnp.array([4.0, 60.0, 1000.0]), 0.4, (2, 3)),
    "bits": lambda k: random.bits(k, (2, 3)),
    "categorical": lambda k: random.categorical(k, jnp.log(P), shape=(2, 3)),
    "categorical without replacement": lambda k: random.categorical(k, jnp.log(P), shape=(2,), replace=False),
    "cauchy": lambda k: random.cauchy(k, (2, 3)),
    "chisquare": lambda k: random.chisquare(k, A, (2, 3)),
    "choice": lambda k: random.choice(k, 7, (2, 3)),
    "choice with probabilities": lambda k: random.choice(k, 3, (2, 3), p=P),
    "choice without replacement": lambda k: random.choice(k, A, (2,), replace=False),
    "dirichlet": lambda k: random.dirichlet(k, A, (2,)),
    "double_sided_maxwell": lambda k: random.double_sided_maxwell(k, A, 2.0, (2,)),
    "exponential": lambda k: random.exponential(k, (2, 3)),
    "f": lambda k: random.f(k, A, 3.0, (2, 3)),
    "gamma": lambda k: random.gamma(k, A, (2, 3)),
    "gamma approximate": lambda k: random.gamma(k, A, (2, 3), method="approximate"),
    "generalized_normal": lambda k: random.generalized_normal(k, A, (2, 3)),
    "geometric": lambda k: random.geometric(k, P, (2, 3)),
    "gumbel": lambda k: random.gumbel(k, (2, 3)),
    "gumbel high": lambda k: random.gumbel(k, (2, 3), mode="high"),
    "laplace": lambda k: random.laplace(k, (2, 3)),
    "loggamma": lambda k: random.loggamma(k, A, (2, 3)),
    "logistic": lambda k: random.logistic(k, (2, 3)),
    "lognormal": lambda k: random.lognormal(k, P, (2, 3)),
    "maxwell": lambda k: random.maxwell(k, (2, 3)),
    "multinomial": lambda k: random.multinomial(k, 50.0, P, shape=(2, 3)),
    "multivariate_normal": lambda k: random.multivariate_normal(k, A, jnp.eye(3) + 0.2, (2,)),
    "normal": lambda k: random.normal(k, (2, 3)),
    "normal bfloat16": lambda k: random.normal(k, (2, 3), jnp.bfloat16),
    "normal complex": lambda k: random.normal(k, (2, 3), jnp.complex64),
    "orthogonal": lambda k: random.orthogonal(k, 3),
    "pareto": lambda k: random.pareto(k, A, (2, 3)),
    "permutation": lambda k: random.permutation(k, 6),
    "permutation of rows": lambda k: random.permutation(k, jnp.arange(6).reshape(3, 2)),
    "poisson": lambda k: random.poisson(k, A, (2, 3)),
    "poisson approximate": lambda k: random.poisson(k, A, (2, 3), method="approximate"),
    "rademacher": lambda k: random.rademacher(k, (2, 3)),
    "randint": lambda k: random.randint(k, (2, 3), -3, 9),
    "randint uint8": lambda k: random.randint(k, (2, 3), 0, 256, jnp.uint8),
    "rayleigh": lambda k: random.rayleigh(k, A, (2, 3)),
    "split": lambda k: random.key_data(random.split(k, 3)),
    "t": lambda k: random.t(k, A, (2, 3)),
    "triangular": lambda k: random.triangular(k, 0.0, P, 1.0, (2, 3)),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, P, (2, 3)),
    "uniform": lambda k: random.uniform(k, (2, 3)),
    "uniform between": lambda k: random.uniform(k, (2, 3), minval=-P, maxval=A),
    "wald": lambda k: random.wald(k, A, (2, 3)),
    "weibull_min": lambda k: random.weibull_min(k, A, 2.0, (2, 3)),
}


def close(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        tol = 1e-2 if want.dtype.itemsize == 2 else 3e-6
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=tol, atol=tol)


@pytest.mark.parametrize("name", SAMPLERS)
def test_jit_and_vmap(name):
    """jit gives the same numbers, and a mapped call is a loop over keys."""
    fun = SAMPLERS[name]
    keys = random.split(KEY, 2)
    loop = [fun(k) for k in keys]
    jaxpr = jax.make_jaxpr(fun)(KEY)
    check_jaxpr(jaxpr.jaxpr)
    close(jax.jit(fun)(keys[0]), loop[0])
    assert (jaxpr.out_avals[0].shape, jaxpr.out_avals[0].dtype) == (loop[0].shape, loop[0].dtype)
    mapped = jax.vmap(fun)(keys)
    if name == "orthogonal":
        mapped = jnp.asarray(mapped)  # LAPACK rounds stacks differently
    close(mapped, np.stack(loop))


def test_vmap_over_parameters():
    for fun in (random.gamma, random.bernoulli):
        got = jax.vmap(lambda a, fun=fun: fun(KEY, a, (4,)))(P)
        close(got, np.stack([fun(KEY, a, (4,)) for a in P]))
    both = jax.vmap(lambda k, a: random.gamma(k, a, (2,)))(random.split(KEY, 3), A)
    close(both, np.stack([random.gamma(k, a, (2,)) for k, a in zip(random.split(KEY, 3), A, strict=True)]))
    nested = jax.vmap(jax.vmap(lambda k: random.normal(k, (2,))))(random.split(KEY, (2, 3)))
    close(nested, np.stack([[random.normal(k, (2,)) for k in row] for row in random.split(KEY, (2, 3))]))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
@pytest.mark.parametrize("name", ["uniform", "normal", "gamma", "randint", "permutation", "poisson", "choice", "bits"])
def test_other_generators(impl, name):
    fun = SAMPLERS[name]
    key = random.key(3, impl=impl)
    first = fun(key)
    close(jax.jit(fun)(key), first)
    assert not np.array_equal(first, fun(random.split(key)[0]))


def test_loops_of_other_generators_are_not_mapped():
    key = random.key(3, impl="rbg")
    for fun in (lambda k: random.poisson(k, 30.0), lambda k: random.binomial(k, 100, 0.4)):
        with pytest.raises(NotImplementedError, match="jax.lax.map"):
            jax.vmap(fun)(random.split(key, 3))
        assert jax.lax.map(fun, random.split(key, 3)).shape == (3,)
    with pytest.raises(NotImplementedError, match="rbg"):
        jax.vmap(lambda a: random.poisson(key, a))(A)
    keys = random.split(key, 3)  # gamma variables have a primitive, which takes the elements one by one
    close(jax.vmap(lambda k: random.gamma(k, A))(keys), np.stack([random.gamma(k, A) for k in keys]))


def test_few_equations():
    def count(fun):
        return len(jax.make_jaxpr(fun)(KEY).eqns)

    assert count(lambda k: random.bits(k, (3,))) == 1
    assert count(lambda k: random.uniform(k, (3,))) <= 5
    assert count(lambda k: random.normal(k, (3,))) <= 12
    assert count(lambda k: random.bernoulli(k, 0.3, (3,))) <= 6
    assert count(lambda k: random.gamma(k, jnp.ones(3))) <= 2
    from jax.random._impls import threefry_random_bits
    inner = jax.make_jaxpr(lambda raw: threefry_random_bits(raw, 32, (3,)))(random.key_data(KEY))
    assert [e.primitive.name for e in inner.eqns].count("threefry2x32") == 1


def test_eager_call_is_one_program():
    """The second call with the same settings runs without tracing or compiling anything."""
    fun = functools.partial(random.normal, shape=(5,))
    fun(KEY)
    with jax.no_tracing(True):
        fun(random.key(2))


# --- derivatives ----------------------------------------------------------------------------------------------------

def _numeric(fun, x, h):
    return (np.asarray(fun(x + h), np.float64) - np.asarray(fun(x - h), np.float64)) / (2 * h)


@pytest.mark.parametrize(("name", "fun", "x"), [
    ("uniform maxval", lambda x: random.uniform(KEY, (4,), x.dtype, -1.0, x), 2.0),
    ("truncated_normal", lambda x: random.truncated_normal(KEY, -1.0, x, (4,), x.dtype), 0.7),
    ("lognormal", lambda x: random.lognormal(KEY, x, (4,), x.dtype), 0.7),
    ("pareto", lambda x: random.pareto(KEY, x, (4,), x.dtype), 1.7),
    ("rayleigh", lambda x: random.rayleigh(KEY, x, (4,), x.dtype), 1.7),
    ("weibull_min", lambda x: random.weibull_min(KEY, 2.0, x, (4,), x.dtype), 1.7),
    ("triangular", lambda x: random.triangular(KEY, 0.0, x, 1.0, (4,), x.dtype), 0.3),
    ("gamma approximate", lambda x: random.gamma(KEY, x, (4,), x.dtype, method="approximate"), 1.7),
    ("multivariate_normal", lambda x: random.multivariate_normal(KEY, jnp.zeros(2), x * jnp.eye(2) + 0.1, (4,)), 1.7),
])
def test_reparameterised(name, fun, x):
    with jax.enable_x64(True):
        x = jnp.asarray(x, jnp.float64)
        _, tangent = jax.jvp(fun, (x,), (jnp.ones_like(x),))
        np.testing.assert_allclose(tangent, _numeric(fun, x, 1e-6), rtol=1e-6, atol=1e-6)


def _implicit(cdf, x, a, pdf):
    """Derivative by ``a`` of the variable whose place in its distribution is kept."""
    h = 1e-6 * max(1.0, a)
    return -(cdf(x, a + h) - cdf(x, a - h)) / (2 * h) / pdf(x, a)


def test_gamma_gradient():
    """Gamma variables are differentiated as if their quantiles were kept."""
    with jax.enable_x64(True):
        a = jnp.array([0.3, 1.5, 20.0])
        ones = jnp.ones(3)

        def draw(a):
            return random.gamma(KEY, a, (5, 3), jnp.float64)

        x, tangent = (np.asarray(v) for v in jax.jvp(draw, (a,), (ones,)))
        for i, shape in enumerate(a.tolist()):
            want = _implicit(lambda x, a: st.gamma.cdf(x, a), x[:, i], shape, lambda x, a: st.gamma.pdf(x, a))
            np.testing.assert_allclose(tangent[:, i], want, rtol=1e-4)
        logs = jax.jvp(lambda a: random.loggamma(KEY, a, (5, 3), jnp.float64), (a,), (ones,))
        np.testing.assert_allclose(logs[1], tangent / x, rtol=1e-4)
        pulled = jax.grad(lambda a: draw(a).sum())(a)
        np.testing.assert_allclose(pulled, tangent.sum(0), rtol=1e-9)


def test_gradients_of_what_gamma_makes():
    for fun in (lambda a: random.beta(KEY, a, 2.0, (3,)), lambda a: random.t(KEY, a, (3,))):
        g = jax.jit(jax.grad(lambda a, fun=fun: jnp.sum(fun(a))))(1.5)
        assert np.isfinite(g) and g != 0
    batched = jax.vmap(jax.grad(lambda a: random.gamma(KEY, a)))(A)
    close(batched, np.stack([jax.grad(lambda a: random.gamma(KEY, a))(a) for a in A]))


# --- distributions --------------------------------------------------------------------------------------------------

N = 4000
CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, (N,), minval=-1, maxval=3), st.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, (N,)), st.norm()),
    "complex normal": (lambda k: random.normal(k, (N,), jnp.complex64).imag, st.norm(0, np.sqrt(0.5))),
    "exponential": (lambda k: random.exponential(k, (N,)), st.expon()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), st.gumbel_r()),
    "gumbel high": (lambda k: random.gumbel(k, (N,), mode="high"), st.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, (N,)), st.laplace()),
    "logistic": (lambda k: random.logistic(k, (N,)), st.logistic()),
    "cauchy": (lambda k: random.cauchy(k, (N,)), st.cauchy()),
    "truncated_normal": (lambda k: random.truncated_normal(k, -1.0, 2.0, (N,)), st.truncnorm(-1, 2)),
    "beta": (lambda k: random.beta(k, 0.7, 2.0, (N,)), st.beta(0.7, 2)),
    "gamma 0.3": (lambda k: random.gamma(k, 0.3, (N,)), st.gamma(0.3)),
    "gamma 7": (lambda k: random.gamma(k, 7.0, (N,)), st.gamma(7)),
    "gamma approximate": (lambda k: random.gamma(k, 1.5, (N,), method="approximate"), st.gamma(1.5)),
    "loggamma": (lambda k: random.loggamma(k, 0.5, (N,)), st.loggamma(0.5)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), st.chi2(3)),
    "f": (lambda k: random.f(k, 4.0, 5.0, (N,)), st.f(4, 5)),
    "t": (lambda k: random.t(k, 3.0, (N,)), st.t(3)),
    "pareto": (lambda k: random.pareto(k, 2.0, (N,)), st.pareto(2)),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, (N,)), st.weibull_min(1.5, scale=2)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (N,)), st.rayleigh(scale=2)),
    "lognormal": (lambda k: random.lognormal(k, 0.5, (N,)), st.lognorm(0.5)),
    "maxwell": (lambda k: random.maxwell(k, (N,)), st.maxwell()),
    "wald": (lambda k: random.wald(k, 2.0, (N,)), st.invgauss(2)),
    "triangular": (lambda k: random.triangular(k, -1.0, 0.0, 2.0, (N,)), st.triang(1 / 3, -1, 3)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, (N,)), st.gennorm(1.5)),
    "radius of ball": (lambda k: jnp.linalg.norm(random.ball(k, 3, shape=(N,)), axis=-1), st.powerlaw(3)),
    "dirichlet": (lambda k: random.dirichlet(k, jnp.array([0.5, 1.0, 2.0]), (N,))[:, 1], st.beta(1, 2.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distribution(name):
    draw, law = CONTINUOUS[name]
    assert st.kstest(np.asarray(draw(random.key(42)), np.float64), law.cdf).pvalue > 1e-3


DISCRETE = {
    "poisson 0.5": (lambda k: random.poisson(k, 0.5, (N,)), st.poisson(0.5)),
    "poisson 30": (lambda k: random.poisson(k, 30.0, (N,)), st.poisson(30)),
    "poisson approximate 3": (lambda k: random.poisson(k, 3.0, (N,), method="approximate"), st.poisson(3)),
    "poisson approximate 20": (lambda k: random.poisson(k, 20.0, (N,), method="approximate"), st.poisson(20)),
    "binomial few": (lambda k: random.binomial(k, 10, 0.3, (N,)), st.binom(10, 0.3)),
    "binomial many": (lambda k: random.binomial(k, 100, 0.7, (N,)), st.binom(100, 0.7)),
    "geometric": (lambda k: random.geometric(k, 0.2, (N,)), st.geom(0.2)),
    "randint": (lambda k: random.randint(k, (N,), -3, 8), st.randint(-3, 8)),
    "bernoulli high": (lambda k: random.bernoulli(k, 0.03, (N,), mode="high"), st.bernoulli(0.03)),
    "categorical": (lambda k: random.categorical(k, jnp.log(jnp.arange(1.0, 5)), shape=(N,)),
                    st.rv_discrete(values=(range(4), np.arange(1, 5) / 10))),
    "choice": (lambda k: random.choice(k, 4, (N,), p=jnp.arange(1.0, 5) / 10),
               st.rv_discrete(values=(range(4), np.arange(1, 5) / 10))),
    "multinomial": (lambda k: random.multinomial(k, 20, jnp.array([0.2, 0.5, 0.3]), shape=(N, 3))[:, 1], st.binom(20, 0.5)),
    "first of permutation": (lambda k: jax.vmap(lambda k: random.permutation(k, 5)[0])(random.split(k, N)),
                             st.randint(0, 5)),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distribution(name):
    draw, law = DISCRETE[name]
    x = np.asarray(draw(random.key(43))).astype(int)
    low, high = int(law.ppf(0.002)), int(law.ppf(0.998))
    inner = np.arange(low, high + 1)
    expected = N * law.pmf(inner)
    observed = np.array([(x == v).sum() for v in inner])
    keep = expected >= 5
    rest = N - expected[keep].sum()
    expected, observed = [*expected[keep], rest], [*observed[keep], N - observed[keep].sum()]
    if rest < 1:
        assert observed[-1] <= 20
        expected, observed = np.array(expected[:-1]), np.array(observed[:-1])
        expected = expected * observed.sum() / expected.sum()
    assert st.chisquare(observed, expected).pvalue > 1e-3


def test_covariance_of_multivariate_normal():
    cov = jnp.array([[2.0, 0.6], [0.6, 0.5]])
    for method in ("cholesky", "eigh", "svd"):
        x = np.asarray(random.multivariate_normal(KEY, jnp.array([1.0, -1.0]), cov, (20000,), method=method))
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
        np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.05)


def test_orthogonal_matrices():
    for dtype in (jnp.float32, jnp.complex64):
        q = np.asarray(random.orthogonal(KEY, 4, (3,), dtype))
        np.testing.assert_allclose(q @ q.conj().swapaxes(1, 2), np.broadcast_to(np.eye(4), (3, 4, 4)), atol=2e-6)
    wide = np.asarray(random.orthogonal(KEY, 2, (), m=5))
    np.testing.assert_allclose(wide @ wide.T, np.eye(2), atol=1e-6)


# --- counts at the edges --------------------------------------------------------------------------------------------

def test_edges():
    nan = jnp.nan
    got = random.binomial(KEY, jnp.array([-1.0, jnp.inf, nan, 5.0, 5.0, 0.0]), jnp.array([0.3, 0.7, 0.5, 1.0, 0.0, 0.5]))
    np.testing.assert_array_equal(got, [nan, np.inf, nan, 5, 0, 0])
    assert random.poisson(KEY, jnp.zeros(3)).tolist() == [0, 0, 0]
    assert random.randint(KEY, (2,), 7, -3).tolist() == [7, 7]
    assert random.permutation(KEY, 0).shape == (0,) and random.permutation(KEY, 1).tolist() == [0]
    assert random.choice(KEY, 0, (0,)).shape == (0,)
    assert random.normal(KEY, (2, 0, 3)).shape == (2, 0, 3)
    samples = random.truncated_normal(KEY, jnp.array([-1.0, 8.0]), jnp.array([-0.9, 9.0]), (1000, 2))
    assert ((samples > jnp.array([-1.0, 8.0])) & (samples < jnp.array([-0.9, 9.0]))).all()
    assert np.isfinite(random.loggamma(KEY, 1e-4, (100,))).all()


def test_gumbel_option():
    low, high = random.gumbel(KEY, (3,), mode="low"), random.gumbel(KEY, (3,), mode="high")
    close(random.gumbel(KEY, (3,)), low)
    with jax.high_dynamic_range_gumbel(True) if hasattr(jax, "high_dynamic_range_gumbel") else _option(
            "jax_high_dynamic_range_gumbel", True):
        close(random.gumbel(KEY, (3,)), high)


class _option:
    def __init__(self, name, value):
        self.name, self.value = name, value

    def __enter__(self):
        self.before = jax.config.read(self.name)
        jax.config.update(self.name, self.value)

    def __exit__(self, *exc):
        jax.config.update(self.name, self.before)


# --- shapes, dtypes, refusals ---------------------------------------------------------------------------------------

def test_default_shapes():
    assert random.gamma(KEY, jnp.ones((2, 1))).shape == (2, 1)
    assert random.beta(KEY, jnp.ones((2, 1)), jnp.ones(3)).shape == (2, 3)
    assert random.dirichlet(KEY, jnp.ones((4, 3))).shape == (4, 3)
    assert random.categorical(KEY, jnp.zeros((3, 4)), axis=0).shape == (4,)
    assert random.categorical(KEY, jnp.zeros((3, 4)), shape=(7, 3)).shape == (7, 3)
    assert random.double_sided_maxwell(KEY, jnp.ones(3), 2.0, (2,)).shape == (2, 3)
    assert random.weibull_min(KEY, jnp.ones(3), 2.0).shape == (3,)
    assert random.multivariate_normal(KEY, jnp.zeros((4, 2)), jnp.eye(2)).shape == (4, 2)
    assert random.uniform(KEY, 3).shape == (3,) and random.uniform(KEY, [2, 3]).shape == (2, 3)
    assert random.choice(KEY, jnp.ones((3, 4)), (5, 2), axis=1).shape == (3, 5, 2)


def test_default_dtypes():
    half = jnp.full(3, 0.5, jnp.bfloat16)
    for x in (random.gamma(KEY, half), random.uniform(KEY, (3,), minval=half), random.beta(KEY, half, half)):
        assert x.dtype == jnp.float32
    assert random.poisson(KEY, half).dtype == random.randint(KEY, (), 0, 5).dtype == jnp.int32
    assert random.bits(KEY).dtype == jnp.uint32
    with jax.enable_x64(True):
        assert random.normal(KEY).dtype == jnp.float64
        assert random.randint(KEY, (), 0, 5).dtype == random.permutation(KEY, 3).dtype == jnp.int64
        assert random.bits(KEY).dtype == jnp.uint64


FLOAT_ONLY = ["uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell"]


@pytest.mark.parametrize("name", FLOAT_ONLY)
def test_integer_dtypes_are_refused(name):
    with pytest.raises(ValueError, match=f"random.{name}: dtype must be a float"):
        getattr(random, name)(KEY, (3,), jnp.int32)


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: random.randint(KEY, (3,), 0, 2, float), TypeError, "integers"),
    (lambda: random.bits(KEY, (3,), jnp.int32), ValueError, "unsigned"),
    (lambda: random.poisson(KEY, 3.0, dtype=float), ValueError, "integer dtype"),
    (lambda: random.uniform(KEY, (3.0,)), TypeError, "shapes"),
    (lambda: random.uniform(KEY, (-3,)), TypeError, "negative"),
    (lambda: random.uniform(KEY, (3,), minval=jnp.zeros(2)), ValueError, r"minval \(2,\)"),
    (lambda: random.gamma(KEY, jnp.ones(3), (2,)), ValueError, r"a \(3,\).*shape=\(2,\)"),
    (lambda: random.gamma(KEY, [1.0, 2.0]), TypeError, "list"),
    (lambda: random.gamma(KEY, 1.0, method="fast"), ValueError, "method"),
    (lambda: random.gumbel(KEY, mode="x"), ValueError, "mode"),
    (lambda: random.bernoulli(KEY, 1), TypeError, "floating"),
    (lambda: random.bernoulli(KEY, 0.5, mode="x"), ValueError, "mode"),
    (lambda: random.categorical(KEY, jnp.zeros((3, 4)), shape=(4,)), ValueError, "does not fit"),
    (lambda: random.categorical(KEY, jnp.zeros(4), shape=(7,), replace=False), ValueError, "without replacement"),
    (lambda: random.categorical(KEY, jnp.zeros((2, 0))), ValueError, "no categories"),
    (lambda: random.categorical(KEY, jnp.zeros(4, int)), ValueError, "floating"),
    (lambda: random.choice(KEY, 3, (5,), replace=False), ValueError, "without replacement"),
    (lambda: random.choice(KEY, 0, (5,)), ValueError, "must be positive"),
    (lambda: random.choice(KEY, jnp.ones((2, 0)), (5,), axis=1), ValueError, "nothing to pick"),
    (lambda: random.choice(KEY, 3, (5,), p=jnp.ones(4)), ValueError, "one probability for each"),
    (lambda: random.permutation(KEY, 3.0), TypeError, "array, or an integer"),
    (lambda: random.permutation(KEY, jnp.ones((2, 3)), axis=2), ValueError, "axis"),
    (lambda: random.dirichlet(KEY, 1.0), ValueError, "at least one axis"),
    (lambda: random.multivariate_normal(KEY, jnp.zeros(2), jnp.eye(3)), ValueError, r"\(2, 2\)"),
    (lambda: random.multivariate_normal(KEY, jnp.zeros(2), jnp.eye(2), method="x"), ValueError, "method"),
    (lambda: random.multinomial(KEY, 3, P, shape=(5,)), ValueError, "last axis"),
    (lambda: random.normal(KEY, (3,), out_sharding="x"), TypeError, "no sharding"),
    (lambda: jax.jit(lambda n: random.normal(KEY, (n,)))(3), TypeError, "static"),
])
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_samplers_under_rank_promotion_checks():
    with jax.numpy_rank_promotion("raise"):
        for name in ("multivariate_normal", "uniform between", "choice with probabilities", "weibull_min",
                     "double_sided_maxwell", "categorical", "permutation of rows", "gamma approximate"):
            SAMPLERS[name](KEY)
