"""``grad``, ``jvp``, ``vjp``, ``linearize``, ``linear_transpose``, Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax import numpy as jnp
from jax.dtypes import float0

pytestmark = pytest.mark.quick


def f(x):
    return jnp.sum(jnp.sin(x) * x ** 2)


def df(x):
    return np.cos(x) * x ** 2 + 2 * x * np.sin(x)


X = np.linspace(0.5, 2.0, 5).astype(np.float32)


def test_grad_of_everything():
    np.testing.assert_allclose(jax.grad(f)(X), df(X), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(X), df(X), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(jax.jit(f))(X), df(X), rtol=1e-5)


def test_argnums():
    def g(x, y, z):
        return x * y + z ** 2
    assert float(jax.grad(g, 1)(2.0, 3.0, 4.0)) == 2.0
    assert [float(v) for v in jax.grad(g, (0, -1))(2.0, 3.0, 4.0)] == [3.0, 8.0]
    value, (dx,) = jax.value_and_grad(g, (0,))(2.0, 3.0, z=4.0)
    assert float(value) == 22.0 and float(dx) == 3.0
    with pytest.raises(TypeError, match="positional argument 3"):
        jax.grad(g, 3)(1.0, 2.0, 3.0)


def test_aux():
    grad, aux = jax.grad(lambda x: (x ** 2, {"x": x}), has_aux=True)(3.0)
    assert float(grad) == 6.0 and float(aux["x"]) == 3.0
    (value, aux), grad = jax.value_and_grad(lambda x: (x ** 2, "text"), has_aux=True)(3.0)
    assert float(value) == 9.0 and aux == "text" and float(grad) == 6.0
    with pytest.raises(TypeError, match="pair"):
        jax.grad(lambda x: x, has_aux=True)(1.0)


def test_python_control_flow():
    def g(x):
        if x > 0:
            for _ in range(int(x)):
                x = x * 2
        return x
    assert float(jax.grad(g)(3.0)) == 8.0 and float(jax.grad(g)(-1.0)) == 1.0


def test_trees_and_unused_arguments():
    grads = jax.grad(lambda p: p["a"] * 2.0)({"a": 1.0, "b": np.ones(3, np.float32)})
    assert float(grads["a"]) == 2.0
    np.testing.assert_array_equal(grads["b"], np.zeros(3))


def test_integers_and_float0():
    with pytest.raises(TypeError, match="allow_int"):
        jax.grad(lambda x: 1.0)(3)
    g = jax.grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    assert float(g[0]) == 3.0 and np.asarray(g[1]).dtype == float0
    _, t = jax.jvp(lambda n: n + 1, (3,), (np.zeros((), float0),))
    assert np.asarray(t).dtype == float0
    with pytest.raises(TypeError, match="float0"):
        jax.jvp(lambda n: n, (3,), (1,))


@pytest.mark.parametrize("call, message", [
    (lambda: jax.grad(lambda x: (x, x))(1.0), "returns one scalar"),
    (lambda: jax.grad(lambda x: jnp.ones(3) * x)(1.0), r"shape \(3,\)"),
    (lambda: jax.grad(lambda x: x + 1j)(1.0), "real output"),
    (lambda: jax.grad(lambda x: x, holomorphic=True)(1.0), "complex arguments"),
    (lambda: jax.grad(lambda x: jnp.argmax(x))(jnp.ones(3)), "floating-point output"),
    (lambda: jax.jvp(f, X, X), "tuples or lists"),
    (lambda: jax.jvp(f, (X,), (X.astype(np.float16),)), "needs a tangent of dtype"),
    (lambda: jax.jvp(lambda x, y: x, (X, X), (X,)), "same tree structure"),
    (lambda: jax.grad("f"), "takes a function"),
])
def test_messages(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_jvp():
    out, t = jax.jvp(f, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(t, df(X).sum(), rtol=1e-5)
    out, t, aux = jax.jvp(lambda x: (x * 2, x), (3.0,), (1.0,), has_aux=True)
    assert float(t) == 2.0 and float(aux) == 3.0
    with pytest.raises(ValueError, match="tangent of shape"):
        jax.jvp(f, (X,), (X[:2],))


def test_vjp_and_its_misuse():
    out, pullback = jax.vjp(lambda x, y: {"p": x * y}, 2.0, 3.0)
    assert [float(v) for v in pullback({"p": 1.0})] == [3.0, 2.0]
    with pytest.raises(ValueError, match="structure"):
        pullback(1.0)
    with pytest.raises(TypeError, match="takes one cotangent.*got 2 arguments.*pass a tuple"):
        pullback(1.0, 1.0)
    with pytest.raises(ValueError, match="shape"):
        pullback({"p": np.ones(2, np.float32)})
    with pytest.raises(ValueError, match="dtype"):
        pullback({"p": np.float16(1)})


def test_vjp_function_crosses_jit():
    @jax.jit
    def forward(x):
        return jax.vjp(lambda x: x ** 3, x)

    @jax.jit
    def backward(pullback, ct):
        return pullback(ct)
    out, pullback = forward(2.0)
    assert float(out) == 8.0 and float(backward(pullback, 1.0)[0]) == 12.0


def test_linearize_is_applied_many_times():
    runs = []

    def g(x):
        runs.append(1)
        return jnp.sin(x)
    out, push = jax.linearize(g, 1.0)
    assert [round(float(push(t)), 5) for t in (1.0, 2.0)] == [round(np.cos(1.0) * t, 5) for t in (1.0, 2.0)]
    assert len(runs) == 1
    assert jax.vmap(push)(np.arange(3, dtype=np.float32)).shape == (3,)
    with pytest.raises(ValueError, match="tangent"):
        push(np.ones(3, np.float32))


def test_linear_transpose():
    t = jax.linear_transpose(lambda x: jnp.stack([x[0] + x[1], 3 * x[1]]), np.ones(2, np.float32))
    np.testing.assert_array_equal(t(np.array([1, 10], np.float32))[0], [1, 31])
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    np.testing.assert_array_equal(jax.linear_transpose(lambda x: 2 * x, shape)(np.ones(3, np.float32))[0], 2)
    with pytest.raises(NotImplementedError, match=r"not linear: sin \(.*test_autodiff.py"):
        jax.linear_transpose(jnp.sin, 1.0)(1.0)


def test_jacobians():
    def g(x):
        return jnp.stack([x[0] * x[1], jnp.sin(x[1]), x[2] ** 2 * x[0]])
    x = np.array([1.0, 2.0, 3.0], np.float32)
    want = np.array([[2, 1, 0], [0, np.cos(2), 0], [9, 0, 6]], np.float32)
    np.testing.assert_allclose(jax.jacfwd(g)(x), want, rtol=1e-5)
    np.testing.assert_allclose(jax.jacrev(g)(x), want, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.jacobian(g))(x), want, rtol=1e-5)
    h = jax.hessian(lambda x: x[0] ** 2 * x[1] + x[2])(x)
    np.testing.assert_allclose(h, [[4, 2, 0], [2, 0, 0], [0, 0, 0]], atol=1e-6)


def test_jacobians_of_trees():
    def g(p, s):
        return {"o": p["a"] * s, "q": p["b"]}
    p = {"a": np.ones(2, np.float32), "b": np.ones((2, 2), np.float32)}
    for jac in (jax.jacfwd, jax.jacrev):
        j = jac(g, argnums=(0, 1))(p, 3.0)
        assert j["o"][0]["a"].shape == (2, 2) and j["q"][0]["b"].shape == (2, 2, 2, 2) and j["o"][1].shape == (2,)
    j, aux = jax.jacfwd(lambda x: (x ** 2, x), has_aux=True)(3.0)
    assert float(j) == 6.0 and float(aux) == 3.0
    with pytest.raises(TypeError, match="floating-point arguments"):
        jax.jacfwd(lambda x: x)(1)


def test_complex():
    z = np.complex64(1 + 2j)
    np.testing.assert_allclose(jax.grad(lambda z: jnp.real(z * jnp.conj(z)))(z), 2 * np.conj(z), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda z: z ** 3, holomorphic=True)(z), 3 * z ** 2, rtol=1e-5)
    rows = jax.jacrev(lambda z: jnp.stack([jnp.real(z) ** 2, jnp.imag(z)]))(z)  # as grad, result by result
    np.testing.assert_allclose(rows, [jax.grad(lambda z: jnp.real(z) ** 2)(z), jax.grad(jnp.imag)(z)], rtol=1e-5)
    out, t = jax.jvp(lambda z: z * z, (z,), (np.complex64(1j),))
    np.testing.assert_allclose(t, 2 * z * 1j, rtol=1e-6)


def test_higher_orders():
    g = jnp.sin
    want = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]
    for w in want:
        np.testing.assert_allclose(g(0.7), w(0.7), rtol=1e-5)
        np.testing.assert_allclose(jax.jit(g)(0.7), w(0.7), rtol=1e-5)
        g = jax.grad(g)
    np.testing.assert_allclose(jax.grad(lambda x: jax.jvp(f, (x,), (x,))[1])(X[:1]),
                               jax.jvp(lambda x: jax.grad(lambda y: jnp.sum(y * jax.lax.stop_gradient(jax.grad(f)(x)))
                                                          + 0.0)(x), (X[:1],), (X[:1],))[0]
                               + jax.hessian(f)(X[:1])[0] * X[:1], rtol=1e-4)


def test_perturbation_confusion():
    def g(x):
        return x * jax.grad(lambda y: x + y)(1.0)
    assert float(jax.grad(g)(3.0)) == 1.0
    assert float(jax.jvp(g, (3.0,), (1.0,))[1]) == 1.0


def test_stop_gradient():
    assert float(jax.grad(lambda x: x * lax.stop_gradient(x ** 2))(3.0)) == 9.0
    assert lax.stop_gradient(3) == 3


def test_fwd_and_bwd():
    fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    out, res = fwd(2.0, 3.0)
    assert float(out) == 6.0 and [float(v) for v in bwd(res, 1.0)] == [3.0, 2.0]


WEAK_SLOPES = {
    "grad": lambda f, x: jax.grad(f)(x),
    "value_and_grad": lambda f, x: jax.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: jax.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f, x: jax.jvp(f, (x,), (1.0,))[1],
    "linearize": lambda f, x: jax.linearize(f, x)[1](1.0),
    "jacrev": lambda f, x: jax.jacrev(f)(x),
    "jacfwd": lambda f, x: jax.jacfwd(f)(x),
}


@pytest.mark.parametrize("name", WEAK_SLOPES)
def test_derivatives_with_respect_to_python_scalars_are_weak(name):
    slope = WEAK_SLOPES[name]
    half = jnp.ones(2, jnp.bfloat16)

    def f(x):
        return x * x
    for run in (slope, lambda f, x: jax.jit(lambda x: slope(f, x))(x)):
        assert run(f, 3.0).weak_type
        assert (half * run(f, 3.0)).dtype == jnp.bfloat16
        assert float(run(f, 3.0)) == 6.0
        strong = run(f, jnp.float32(3.0))
        assert not strong.weak_type and strong.dtype == np.float32


def test_weak_gradients_of_strong_results_and_of_constants():
    gradients = jax.grad(lambda x, y, n: jnp.float32(2) * x + n, argnums=(0, 1, 2), allow_int=True)(1.0, 2.0, 3)
    assert [str(g.dtype) for g in gradients[:2]] == ["float32", "float32"] and gradients[2].dtype == jax.dtypes.float0
    assert all(g.weak_type for g in gradients[:2])
    assert [float(g) for g in gradients[:2]] == [2.0, 0.0]
    batched = jax.vmap(jax.grad(lambda x: x * x))(jnp.arange(2.0))
    assert not batched.weak_type
