"""Taylor mode: against mpmath's derivatives, nested ``jvp``, and through every transformation."""

import math

import mpmath
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import jet

AT = 0.3
mpmath.mp.dps = 40

# name: (function, the same in mpmath)
ELEMENTARY = {
    "exp": (lax.exp, mpmath.exp), "log": (lax.log, mpmath.log), "log1p": (lax.log1p, mpmath.log1p),
    "sin": (lax.sin, mpmath.sin), "cosh": (lax.cosh, mpmath.cosh), "tan": (lax.tan, mpmath.tan),
    "asin": (lax.asin, mpmath.asin), "atan": (lax.atan, mpmath.atan), "tanh": (lax.tanh, mpmath.tanh),
    "sqrt": (lax.sqrt, mpmath.sqrt),
    "rsqrt": (lax.rsqrt, lambda x: 1 / mpmath.sqrt(x)), "erf": (lax.erf, mpmath.erf),
    "logistic": (lax.logistic, lambda x: 1 / (1 + mpmath.exp(-x))),
    "pow": (lambda x: x ** 2.5, lambda x: x ** 2.5), "power of a number": (lambda x: 2.5 ** x, lambda x: 2.5 ** x),
    "integer_pow": (lambda x: x ** 5, lambda x: x ** 5), "inverse": (lambda x: x ** -3, lambda x: x ** -3),
    "quotient": (lambda x: (1 + x) / (2 - x * x), lambda x: (1 + x) / (2 - x * x)),
}


def along_line(n):
    return ([1.0] + [0.0] * (n - 1),)


@pytest.mark.quick
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions(name):
    f, exact = ELEMENTARY[name]
    with jax.enable_x64(True):
        y, terms = jax.jit(lambda x: jet.jet(f, (x,), along_line(5)))(AT)
        want = [k / 1 for k in map(float, (mpmath.diff(exact, AT, k) for k in range(6)))]
        np.testing.assert_allclose([y, *terms], want, rtol=1e-9)


def test_curves_compose_by_faa_di_bruno():
    """``exp`` along a curve: complete Bell polynomials."""
    _, terms = jet.jet(jnp.exp, (0.0,), ([2.0, 3.0, 5.0],))
    np.testing.assert_allclose(terms, [2.0, 3.0 + 4.0, 5.0 + 3 * 2 * 3 + 8.0], rtol=1e-6)


def composed(x):
    """Much of what programs hold, of one number."""
    a = jnp.arange(1.0, 4) * jnp.sin(x)
    return {
        "structure": jnp.concatenate([a[::-1], jnp.pad(a, 1)]).reshape(2, 4).T[1:, 0],
        "dot": jnp.ones((2, 3)) @ a * x, "conv": jnp.convolve(a, a), "fft": jnp.fft.fft(a).real,
        "max": jnp.maximum(a, x * x), "reductions": (a.max(), a.prod(), a.mean(), jax.nn.logsumexp(a)),
        "sort": jnp.sort(a[::-1]), "cumulative": jnp.cumsum(a),
        "where": jnp.where(a > 0.5, a, x), "gather": a[jnp.array([2, 0])],
        "scatter": (a.at[1].set(x ** 3), a.at[1].multiply(x), a.at[0].add(x)),
        "slices": (lax.dynamic_slice(a, (1,), (2,)), lax.dynamic_update_slice(a, a[:1] * x, (1,))),
        "cond": lax.cond(x > 0, jnp.sin, lambda v: 1.0, x), "integers": jnp.argmax(a) * x,
        "scan": lax.scan(lambda c, b: (c * x + b, c * b), 1.0, a),
        "fori": lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x, x),
        "while": lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1],
        "calls": jax.checkpoint(jax.jit(lambda v: jnp.cos(v) * v))(x), "relu": jax.nn.relu(x) * x,
        "grad": jax.grad(lambda v: jnp.sin(v * v))(x),
        "vmap": jax.vmap(lambda v: jnp.sin(v * x))(a), "norm": jnp.linalg.norm(a),
    }


def test_programs_against_nested_forward_mode():
    with jax.enable_x64(True):
        def nested(x):
            fs = [composed]
            for _ in range(2):
                fs.append(lambda v, f=fs[-1]: jax.jvp(f, (v,), (1.0,))[1])
            return [f(x) for f in fs]
        want = jax.jit(nested)(0.7)
        y, terms = jax.jit(lambda x: jet.jet(composed, (x,), along_line(2)))(0.7)
        terms = jax.tree.map(lambda _, t: t, y, terms)
        for k, found in enumerate([y, *(jax.tree.map(lambda _, t, k=k: t[k], y, terms) for k in range(2))]):
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), found, want[k])


@pytest.mark.quick
def test_under_and_over_transformations():
    def second(x):
        return jet.jet(jnp.sin, (x,), ([1.0, 0.0],))[1][1]
    np.testing.assert_allclose(jax.grad(second)(AT), -math.cos(AT), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(second)(jnp.arange(3.0)), -np.sin(np.arange(3)), rtol=1e-6)
    np.testing.assert_allclose(jet.jet(second, (AT,), ([1.0, 0.0],))[1][1], math.sin(AT), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.hessian(second))(AT), math.sin(AT), rtol=1e-5)


def test_trees_and_conventions():
    def f(d, n):
        return d["x"] * d["y"] * n, {"n": n, "c": 2.0}
    one = {"x": 1.0, "y": 0.5}
    y, s = jet.jet(f, ({"x": 2.0, "y": 3.0}, 2), ([one, jet.zero_term], jet.zero_series))
    assert y == (12.0, {"n": 2, "c": 2.0})
    np.testing.assert_allclose(s[0], [2 * (1 * 3 + 2 * 0.5), 2 * 2 * 0.5])
    assert s[1]["n"][1].dtype == jax.dtypes.float0 and [float(t) for t in s[1]["c"]] == [0.0, 0.0]
    _, normalized = jet.jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)
    np.testing.assert_allclose(normalized, [1, 1 / 2, 1 / 6], rtol=1e-6)
    assert jet.jet(jnp.sin, (jnp.zeros((0, 2)),), ([],))[1] == []
    (t,) = jet.jet(jnp.sin, (jnp.zeros((0, 2), jnp.bfloat16),), ([jnp.ones((0, 2), jnp.bfloat16)],))[1]
    assert t.shape == (0, 2) and t.dtype == jnp.bfloat16


def test_custom_rules_are_used_and_differentiated():
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda p, t: (f(*p), 3 * p[0] ** 2 * t[0]))
    for run in (lambda g: g, jax.jit):
        _, terms = jet.jet(run(f), (2.0,), ([1.0, 0.0, 0.0],))
        np.testing.assert_allclose(terms, [12.0, 12.0, 6.0])


def test_rules_of_others():
    from jax.extend.core import Primitive
    double = Primitive("double_of_others")
    double.def_impl(lambda x: 2 * x)
    double.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="'double_of_others' has neither a jet nor a jvp rule.*jet_rules"):
        jet.jet(double.bind, (1.0,), ([1.0],))
    jet.deflinear(double)
    assert [float(t) for t in jet.jet(double.bind, (1.0,), ([1.0, 3.0],))[1]] == [2.0, 6.0]
    jet.def_comp(double, lambda x: x * x)
    assert [float(t) for t in jet.jet(double.bind, (1.0,), ([1.0, 0.0],))[1]] == [2.0, 2.0]
    jet.def_deriv(double, lambda x: 3 * x)
    assert [float(t) for t in jet.jet(double.bind, (1.0,), ([1.0, 0.0],))[1]] == [3.0, 3.0]
    jet.defzero(double)
    assert [float(t) for t in jet.jet(double.bind, (1.0,), ([1.0, 0.0],))[1]] == [0.0, 0.0]
    seen = []
    jet.jet_rules[double] = lambda primals, series, **params: (seen.append(series), (double.bind(*primals), series[0]))[1]
    assert [float(t) for t in jet.jet(double.bind, (1.0,), ([1.0, jet.zero_term],))[1]] == [1.0, 0.0]
    assert len(seen[0][0]) == 2


def test_cost_is_polynomial_in_the_order():
    def equations(f, n):
        return len(jax.make_jaxpr(lambda x: jet.jet(f, (x,), along_line(n)))(1.0).eqns)
    assert equations(lax.sin, 12) < 5 ** 2 * equations(lax.sin, 3)
    assert equations(lax.erf, 12) < 5 ** 3 * equations(lax.erf, 3)


@pytest.mark.parametrize("call, error, text", [
    (lambda: jet.jet(3, (1.0,), ([1.0],)), TypeError, "takes a function"),
    (lambda: jet.jet(jnp.sin, 1.0, ([1.0],)), TypeError, "takes primals as a tuple or list"),
    (lambda: jet.jet(jnp.add, (1.0, 2.0), ([1.0],)), ValueError, "2 primals were given with 1 series"),
    (lambda: jet.jet(jnp.add, (1.0, 2.0), ([1.0], [1.0, 0.0])), ValueError, r"lengths \[1, 2\].*zero_term"),
    (lambda: jet.jet(jnp.sin, (1.0,), (1.0,)), TypeError, "argument 0 must be a tuple or list"),
    (lambda: jet.jet(jnp.sin, (jnp.ones(3),), ([jnp.ones(2)],)), ValueError, r"shape \(2,\), the argument \(3,\)"),
    (lambda: jet.jet(jnp.sin, (jnp.ones(3),), ([1j * jnp.ones(3)],)), TypeError, "dtype complex64, the argument float32"),
    (lambda: jet.jet(jnp.sin, (1,), ([1.0],)), TypeError, "has no derivatives.*zero_series"),
    (lambda: jet.jet(lambda d: d["a"], ({"a": 1.0},), ([1.0],)), TypeError, "derivative 1 of argument 0 has the structure"),
    (lambda: jet.jet(lambda x: "a", (1.0,), ([1.0],)), TypeError, "jet: output"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_reverse_rules_alone_do_not_do():
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct,))
    with pytest.raises(TypeError, match="f has a custom_vjp rule only.*custom_jvp"):
        jet.jet(f, (1.0,), ([1.0],))


def test_factorials():
    assert float(jet.fact(5)) == 120.0
    np.testing.assert_array_equal(jet.fact(jnp.arange(4)), [1, 1, 2, 6])
    np.testing.assert_array_equal(jax.jit(jet.fact)(jnp.arange(4)), [1, 1, 2, 6])
