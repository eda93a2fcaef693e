"""``custom_remat``, and policies that keep values in another memory."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

LOG: list[str] = []


def plain(x):
    return jnp.sin(jnp.tanh(x))


def f_fwd(policy, x):
    LOG.append(policy.__name__)
    return plain(x), jnp.tanh(x)


def f_rem(res, x):
    LOG.append("rem")
    return jnp.sin(res), (res,)


def f_bwd(res, ct):
    return (ct * jnp.cos(res[0]) * (1 - res[0] ** 2),)


f = jax.custom_remat(plain, f_fwd, f_rem, f_bwd)


@pytest.mark.quick
def test_derivatives():
    want = jax.grad(plain)(0.5)
    assert f(0.5) == plain(0.5)
    for wrap in (lambda g: g, jax.jit, lambda g: lambda x: jax.vmap(g)(jnp.full(2, x))[1]):
        np.testing.assert_allclose(wrap(jax.grad(f))(0.5), want, rtol=1e-6)
        np.testing.assert_allclose(wrap(jax.grad(jax.checkpoint(f)))(0.5), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jvp(f, (0.5,), (1.0,))[1], want, rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(f)(0.5), jax.hessian(plain)(0.5), rtol=1e-5)


@pytest.mark.quick
def test_the_policy_is_told_and_residuals_are_kept():
    LOG.clear()
    program = jax.checkpoint(lambda x: f(x) * 2, policy=jax.checkpoint_policies.dots_saveable)
    jaxpr = jax.make_jaxpr(jax.grad(program))(0.5)
    assert LOG == ["dots_saveable", "rem"]
    again = next(e for e in jaxpr.eqns if e.primitive.name == "checkpoint").params["jaxpr"]
    assert "tanh" not in str(again)  # f_fwd has kept it
    LOG.clear()
    jax.grad(f)(0.25)
    assert LOG == ["_keeps_all", "rem"]


def test_static_arguments():
    power = jax.custom_remat(lambda x, n: x ** n, lambda policy, x, n: (x ** n, None), lambda res, x, n: (x ** n, (x, n)),
                             lambda res, ct: (ct * res[1] * res[0] ** (res[1] - 1), None), static_argnums=1)
    assert float(jax.grad(power)(2.0, 3)) == 12.0


@pytest.mark.parametrize("make, message", [
    (lambda: jax.custom_remat(plain, f_fwd, 3, f_bwd), "f_rem must be a function"),
    (lambda: jax.grad(jax.custom_remat(plain, lambda p, x: x, f_rem, f_bwd))(1.0), "f_fwd must return a pair"),
    (lambda: jax.grad(jax.custom_remat(plain, f_fwd, f_rem, lambda res, ct: ct))(1.0), "one cotangent for each of the 1"),
    (lambda: f(x=1.0), "passed by position"),
])
def test_misuse(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_offloading_policies():
    policies = jax.checkpoint_policies
    named = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["a"], offload_src="device", offload_dst="pinned_host")
    g = jax.grad(jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.cos(x), "a")), policy=named))
    want = -np.cos(np.cos(1.0)) * np.sin(1.0)
    np.testing.assert_allclose([g(1.0), jax.jit(g)(1.0)], want, rtol=1e-6)
    text = str(jax.make_jaxpr(g)(1.0))
    assert text.count("device_put[device=Space.Host") == 1 and text.count("device_put[device=Space.Device") == 1
    body = jax.checkpoint(lambda c, _: (jnp.sin(checkpoint_name(jnp.cos(c), "a")), None), policy=named)
    looped = jax.jit(jax.grad(lambda x: jax.lax.scan(body, x, None, length=3)[0]))
    unrolled = jax.grad(lambda x: jnp.sin(jnp.cos(jnp.sin(jnp.cos(jnp.sin(jnp.cos(x)))))))
    np.testing.assert_allclose(looped(1.0), unrolled(1.0), rtol=1e-6)
    dots = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    w = np.ones((2, 2), np.float32)
    h = jax.grad(jax.checkpoint(lambda x: jnp.sin(x @ w).sum(), policy=dots))
    np.testing.assert_allclose(h(w), np.full((2, 2), 2 * np.cos(2.0)), rtol=1e-6)
    assert str(jax.make_jaxpr(h)(w)).count("device_put") == 2
    far = policies.offload_dot_with_no_batch_dims("device", "moon")
    with pytest.raises(ValueError, match="memory 'moon'"):
        jax.grad(jax.checkpoint(lambda x: jnp.sin(x @ w).sum(), policy=far))(w)
