"""Transformations of transformations, on one program that uses most kinds of primitives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jax
from jax import lax
from jax import numpy as jnp
from jax._language.typecheck import check_jaxpr


def program(w, x):
    """Products, reductions, selections, a loop, a branch, a nested compiled function, a custom derivative."""
    h = jnp.tanh(x @ w)
    h = jax.jit(lambda h: h * jax.nn.sigmoid(h))(h)
    carry, ys = lax.scan(lambda c, row: (c * 0.5 + jnp.sin(row), c.sum()), h[0], h)
    flag = ys.sum() > 0
    out = lax.cond(flag, lambda c: c * 2.0, lambda c: c - 1.0, carry)
    out = jnp.where(out > 0, out, jax.nn.relu(out + 1.0)) + jnp.max(h, axis=0)
    return jnp.sum(out ** 2) + jnp.sum(jnp.sort(ys)[:2])


W = np.asarray(np.random.default_rng(0).normal(size=(4, 3)) * 0.5)
X = np.asarray(np.random.default_rng(1).normal(size=(5, 4)))
BATCH = np.stack([W, W * 0.5, W + 0.1])


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def numerical(f, w, eps=1e-6):
    out = np.zeros_like(w)
    for i in np.ndindex(*w.shape):
        d = np.zeros_like(w)
        d[i] = eps
        out[i] = (f(w + d) - f(w - d)) / (2 * eps)
    return out


@pytest.mark.quick
def test_grad_against_finite_differences():
    want = numerical(lambda w: float(program(w, X)), W)
    for g in (jax.grad(program), jax.jit(jax.grad(program)), jax.grad(jax.jit(program)),
              jax.grad(jax.checkpoint(program)), jax.jacfwd(program), jax.jacrev(program)):
        np.testing.assert_allclose(g(W, X), want, rtol=1e-5, atol=1e-7)


def test_hessian_vector_products():
    v = np.ones_like(W)
    def directional(w):
        return float(jnp.vdot(jax.grad(program)(w, X), v))
    want = numerical(directional, W, 1e-5)
    forward_over_reverse = jax.jvp(lambda w: jax.grad(program)(w, X), (W,), (v,))[1]
    reverse_over_forward = jax.grad(lambda w: jax.jvp(lambda u: program(u, X), (w,), (v,))[1])(W)
    reverse_over_reverse = jax.grad(lambda w: jnp.vdot(jax.grad(program)(w, X), v))(W)
    for got in (forward_over_reverse, reverse_over_forward, reverse_over_reverse,
                jax.jit(lambda w: jax.grad(lambda w: jnp.vdot(jax.grad(program)(w, X), v))(w))(W)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", list(itertools.permutations(["jit", "grad", "vmap"])))
def test_every_order_of_jit_grad_vmap(order):
    """Applied from the inside out; vmap inside grad is made scalar by a sum."""
    f = lambda w: program(w, X)  # noqa: E731
    mapped = False
    for name in order:
        if name == "jit":
            f = jax.jit(f)
        elif name == "vmap":
            f = jax.vmap(f)
            mapped = True
        else:
            inner, summed = f, mapped
            f = jax.grad(lambda w, inner=inner, summed=summed: inner(w).sum() if summed else inner(w))
    want = np.stack([numerical(lambda w: float(program(w, X)), w) for w in BATCH])
    np.testing.assert_allclose(f(BATCH), want, rtol=1e-5, atol=1e-7)


def test_vmap_of_everything():
    per_example = [jax.grad(program, (0, 1))(w, X) for w in BATCH]
    for f in (jax.vmap(jax.grad(program, (0, 1)), (0, None)),
              jax.jit(jax.vmap(jax.grad(jax.jit(program), (0, 1)), (0, None)))):
        got = f(BATCH, X)
        for i, want in enumerate(per_example):
            np.testing.assert_allclose(got[0][i], want[0], rtol=1e-10)
            np.testing.assert_allclose(got[1][i], want[1], rtol=1e-10)
    hess = jax.vmap(jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x)))(X)
    assert hess.shape == (5, 4, 4)


def test_linearize_and_vjp_agree():
    out, push = jax.linearize(lambda w: program(w, X), W)
    _, pull = jax.vjp(lambda w: program(w, X), W)
    v = np.random.default_rng(3).normal(size=W.shape)
    np.testing.assert_allclose(push(v), jnp.vdot(pull(1.0)[0], v), rtol=1e-10)
    np.testing.assert_allclose(jax.linear_transpose(push, W)(1.0)[0], pull(1.0)[0], rtol=1e-10)


@pytest.mark.parametrize("make", [
    lambda: jax.make_jaxpr(program)(W, X),
    lambda: jax.make_jaxpr(jax.grad(program))(W, X),
    lambda: jax.make_jaxpr(jax.vmap(jax.grad(program), (0, None)))(BATCH, X),
    lambda: jax.make_jaxpr(jax.grad(jax.checkpoint(program)))(W, X),
    lambda: jax.make_jaxpr(lambda w: jax.jvp(lambda u: program(u, X), (w,), (w,)))(W),
    lambda: jax.make_jaxpr(jax.grad(lambda w: jnp.sum(jax.grad(program)(w, X))))(W),
])
def test_every_pass_leaves_a_well_typed_jaxpr(make):
    with jax.enable_checks(True):
        check_jaxpr(make())


def test_perturbations_do_not_mix():
    f = lambda x: jax.grad(lambda y: jax.vmap(lambda z: z * y * x)(jnp.ones(2)).sum())(2.0)  # noqa: E731
    assert float(jax.grad(f)(3.0)) == 2.0
    g = lambda x: jax.jvp(lambda y: jax.jit(lambda z: z * x)(y), (1.0,), (x,))[1]  # noqa: E731
    assert float(jax.grad(g)(3.0)) == 6.0
