"""``custom_jvp``, ``custom_vjp`` and their helpers under every transformation, and their messages."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jax
from jax import custom_derivatives as cd
from jax import lax
from jax import numpy as jnp

pytestmark = pytest.mark.quick


@jax.custom_jvp
def tripled(x):
    return x * x


@tripled.defjvp
def _tripled_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return tripled(x), 3.0 * x * t  # not the true derivative, so that the rule can be told from autodiff


@jax.custom_vjp
def ten(x, y):
    return x * y


ten.defvjp(lambda x, y: (ten(x, y), (x, y)), lambda res, ct: (10.0 * ct, res[0] * ct))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint])
def test_custom_jvp_everywhere(wrap):
    f = wrap(tripled)
    assert float(f(2.0)) == 4.0
    assert float(jax.jvp(f, (2.0,), (1.0,))[1]) == 6.0
    assert float(jax.grad(f)(2.0)) == 6.0
    assert float(jax.grad(jax.grad(f))(2.0)) == 3.0
    assert float(jax.jit(jax.grad(f))(2.0)) == 6.0
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(jax.vmap(f)(x), x * x)
    np.testing.assert_array_equal(jax.vmap(jax.grad(f))(x), 3 * x)
    np.testing.assert_array_equal(jax.grad(lambda x: jax.vmap(f)(x).sum())(x), 3 * x)
    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.grad(f)))(x), 3 * x)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint])
def test_custom_vjp_everywhere(wrap):
    f = wrap(ten)
    assert float(f(2.0, 3.0)) == 6.0
    assert [float(v) for v in jax.grad(f, (0, 1))(2.0, 3.0)] == [10.0, 2.0]
    assert float(jax.jit(jax.grad(f))(2.0, 3.0)) == 10.0
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(jax.vmap(f, (0, None))(x, 2.0), 2 * x)
    np.testing.assert_array_equal(jax.vmap(jax.grad(f, 1), (0, None))(x, 2.0), x)
    np.testing.assert_array_equal(jax.grad(lambda y: jax.vmap(f, (0, None))(x, y).sum())(2.0), x.sum())
    assert float(jax.grad(lambda x: jax.grad(f, 1)(x, 3.0))(2.0)) == 1.0


def test_custom_rules_in_loops():
    def g(x):
        out, _ = lax.scan(lambda c, _: (tripled(c), None), x, None, length=2)
        return out
    assert float(jax.grad(g)(2.0)) == 12.0 * 6.0
    assert float(jax.jit(jax.grad(g))(2.0)) == 72.0
    h = lambda x: lax.scan(lambda c, _: (ten(c, c), None), x, None, length=1)[0]  # noqa: E731
    assert float(jax.grad(h)(2.0)) == 12.0
    assert float(jax.grad(lambda x: lax.cond(True, tripled, lambda x: x, x))(2.0)) == 6.0


def test_forward_mode_of_custom_vjp_is_refused():
    with pytest.raises(TypeError, match="forward-mode.*ten"):
        jax.jvp(ten, (1.0, 2.0), (1.0, 1.0))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jit(lambda x: jax.jvp(ten, (x, x), (x, x)))(1.0)


def test_trees_defaults_and_keywords():
    @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
    def f(p, n, scale=2.0):
        return {"y": p["x"] * n * scale}

    @f.defjvp
    def rule(n, primals, tangents):
        (p, scale), (tp, tscale) = primals, tangents
        return f(p, n, scale), {"y": tp["x"] * n * 100.0 + tscale}
    assert float(f({"x": 1.0}, 3)["y"]) == 6.0
    assert float(jax.grad(lambda x: f({"x": x}, n=3, scale=1.0)["y"])(1.0)) == 300.0


def test_nondiff_functions():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x)
    apply.defvjp(lambda fun, x: (fun(x), x), lambda fun, x, ct: (fun(ct) * 7.0,))
    assert float(jax.grad(lambda x: apply(jnp.negative, x))(1.0)) == -7.0
    with pytest.raises(jax.errors.UnexpectedTracerError, match="nondiff_argnums"):
        jax.jit(lambda y: jax.custom_vjp(lambda y, x: x, nondiff_argnums=(0,)) and _nondiff(y, 1.0))(2.0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _nondiff(y, x):
    return x


_nondiff.defvjp(lambda y, x: (x, ()), lambda y, res, ct: (ct,))


def test_none_is_a_zero_cotangent():
    @jax.custom_vjp
    def f(p, n):
        return p["a"] * p["b"]
    f.defvjp(lambda p, n: (f(p, n), p), lambda p, ct: ({"a": ct * 5.0, "b": None}, None))
    g = jax.grad(lambda p: f(p, 3))({"a": 1.0, "b": 2.0})
    assert float(g["a"]) == 5.0 and float(g["b"]) == 0.0


def test_symbolic_zeros():
    seen = []

    @jax.custom_jvp
    def f(x, y):
        return x * y

    def rule(primals, tangents):
        seen.append([type(t) for t in tangents])
        x, y = primals
        return f(x, y), tangents[0] * y
    f.defjvp(rule, symbolic_zeros=True)
    assert float(jax.grad(f)(2.0, 3.0)) == 3.0
    assert seen[-1][1] is cd.SymbolicZero

    @jax.custom_vjp
    def g(x, y):
        return x * y, x

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, x.value), y.value

    def bwd(y, cts):
        seen.append(type(cts[1]))
        return cts[0] * y, None
    g.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(jax.grad(lambda x: g(x, 3.0)[0])(2.0)) == 3.0
    assert (True, False) in seen and seen[-1] is cd.SymbolicZero


@pytest.mark.parametrize("rule, error, message", [
    (lambda p, t: p[0], TypeError, "pair"),
    (lambda p, t: (p[0], (t[0], t[0])), TypeError, "structure"),
    (lambda p, t: (p[0], jnp.ones(2)), TypeError, "tangent of type"),
])
def test_bad_jvp_rules(rule, error, message):
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(rule)
    with pytest.raises(error, match=message):
        jax.jvp(f, (1.0,), (1.0,))


@pytest.mark.parametrize("bwd, error, message", [
    (lambda r, ct: ct, TypeError, "tuple with one"),
    (lambda r, ct: (ct, ct), TypeError, "tuple with one"),
    (lambda r, ct: (jnp.ones(3),), ValueError, r"shape \(3,\)"),
    (lambda r, ct: ({"a": ct},), TypeError, "structure"),
])
def test_bad_vjp_rules(bwd, error, message):
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, ()), bwd)
    with pytest.raises(error, match=message):
        jax.grad(f)(1.0)


def test_missing_rules():
    with pytest.raises(AttributeError, match="no rule yet"):
        jax.custom_jvp(lambda x: x)(1.0)
    with pytest.raises(AttributeError, match="no rules yet"):
        jax.custom_vjp(lambda x: x)(1.0)


def test_closing_over_tracers():
    @jax.jit
    def outer(s, x):
        f = jax.custom_jvp(lambda x: s * x)
        f.defjvp(lambda p, t: (f(p[0]), s * t[0] * 2.0))
        return jax.grad(f)(x)
    assert float(outer(3.0, 1.0)) == 6.0


def test_defjvps():
    f = jax.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: 5.0 * t, None)
    assert [float(v) for v in jax.grad(f, (0, 1))(2.0, 3.0)] == [5.0, 0.0]


def test_custom_gradient():
    @jax.custom_gradient
    def f(x):
        return x ** 2, lambda ct: (ct * x * 100.0,)
    assert float(f(3.0)) == 9.0 and float(jax.grad(f)(3.0)) == 300.0
    assert float(jax.jit(jax.grad(f))(3.0)) == 300.0

    @jax.custom_gradient
    def g(x, y):
        return x * y, lambda ct: (ct * y, ct * x)
    assert [float(v) for v in jax.grad(g, (0, 1))(2.0, 3.0)] == [3.0, 2.0]


def test_closure_convert():
    def run(c):
        converted, consts = jax.closure_convert(lambda x: x * c, 1.0)
        assert len(consts) == 1
        return converted(5.0, *consts)
    assert float(jax.jit(run)(3.0)) == 15.0 and float(jax.grad(run)(3.0)) == 5.0


def test_zero_from_primal():
    assert np.asarray(cd.zero_from_primal(3.0)) == 0
    assert isinstance(cd.zero_from_primal(3.0, symbolic_zeros=True), cd.SymbolicZero)
