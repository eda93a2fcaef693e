"""Derivatives: what policies keep, rules made in several ways, and misuse of each function by name."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import ad_checkpoint
from jax.ad_checkpoint import checkpoint_name
from jax.custom_batching import custom_vmap, sequential_vmap
from jax.custom_derivatives import linear_call

pytestmark = pytest.mark.quick

P = jax.checkpoint_policies
X = np.arange(1, 4, dtype=np.float32)
WEIGHTS = np.eye(3, dtype=np.float32) * 2


def layers(x):
    """One named value, a product without and one with batch dimensions."""
    h = checkpoint_name(jnp.sin(x), "h")
    y = jnp.sin(h @ WEIGHTS)
    return jnp.einsum("bi,bi->b", jnp.stack([y, y]), jnp.stack([jnp.cos(y), y])).sum()


# What each keeps beside the argument: named values, products without batch dimensions, with batch dimensions.
POLICIES = {
    "nothing_saveable": (P.nothing_saveable, set()),
    "dots_saveable": (P.dots_saveable, {"plain", "batched"}),
    "checkpoint_dots": (P.checkpoint_dots, {"plain", "batched"}),
    "dots_with_no_batch_dims_saveable": (P.dots_with_no_batch_dims_saveable, {"plain"}),
    "checkpoint_dots_with_no_batch_dims": (P.checkpoint_dots_with_no_batch_dims, {"plain"}),
    "save_only_these_names": (P.save_only_these_names("h"), {"name"}),
    "save_only_these_names, others": (P.save_only_these_names("g"), set()),
    "save_any_names_but_these": (P.save_any_names_but_these("g"), {"name"}),
    "save_from_both_policies": (P.save_from_both_policies(P.save_only_these_names("h"), P.checkpoint_dots),
                                {"name", "plain", "batched"}),
}


@pytest.mark.parametrize("name", POLICIES)
def test_what_policies_keep(name):
    policy, kept = POLICIES[name]
    assert {"name": bool(policy(_primitive("name"), name="h")),
            "plain": bool(policy(_primitive("dot_general"), dimension_numbers=(((0,), (0,)), ((), ())))),
            "batched": bool(policy(_primitive("dot_general"), dimension_numbers=(((1,), (1,)), ((0,), (0,))))),
            } == {what: what in kept for what in ("name", "plain", "batched")}
    f = jax.checkpoint(layers, policy=policy)
    np.testing.assert_allclose(jax.grad(f)(X), jax.grad(layers)(X), rtol=1e-5)
    reasons = [reason for _, reason in ad_checkpoint.saved_residuals(f, X)]
    # Only what is read: nothing reads the last product, and nothing the named value when its product is there.
    assert any("named 'h'" in r for r in reasons) == (kept == {"name"})
    assert any("dot_general" in r for r in reasons) == ("plain" in kept)


def _primitive(name):
    eqns = jax.make_jaxpr(layers)(X).eqns
    return next(e.primitive for e in eqns if e.primitive.name == name)


def test_everything_and_what_is_excepted():
    everything, excepted = (
        [reason for _, reason in ad_checkpoint.saved_residuals(jax.checkpoint(layers, policy=policy), X)]
        for policy in (P.everything_saveable, P.save_anything_except_these_names("h")))
    assert len(everything) > 3 and not any("named 'h'" in r for r in excepted)


@pytest.mark.parametrize("jitted", [False, True])
def test_custom_vjp_under_rematerialisation(jitted):
    f = jax.custom_vjp(lambda x: jnp.sin(x))
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (10 * ct * jnp.cos(x),), optimize_remat=True)
    wrap = jax.jit if jitted else lambda g: g
    once, twice = 10 * np.cos(X), 100 * np.cos(X) * np.cos(np.sin(X))
    for g, want in ((f, once), (jax.checkpoint(f), once), (jax.checkpoint(lambda x: f(f(x))), twice)):
        np.testing.assert_allclose(wrap(jax.grad(lambda x, g=g: g(x).sum()))(X), want, rtol=1e-5)


def test_residuals_are_printed(capsys):
    ad_checkpoint.print_saved_residuals(lambda x, y: jnp.sin(x) * y, 1.0, 2.0)
    lines = capsys.readouterr().out.splitlines()
    assert "f32[] from the argument y" in lines
    assert any("output of cos" in line and "test_autodiff.py" in line for line in lines)


def f(x, y):
    return x * y


def linearized(x):
    return jax.linearize(jnp.sin, x)[1]


CUSTOM = jax.custom_jvp(f)
MISUSE = {
    "value_and_grad": (lambda: jax.value_and_grad(f)(1, 2.0), TypeError, r"^value_and_grad needs floating-point.* for x\."),
    "grad": (lambda: jax.grad(f, 2)(1.0, 2.0), TypeError, "argnums=2 asks for positional argument 2"),
    "jacfwd": (lambda: jax.jacfwd(3), TypeError, "jacfwd takes a function"),
    "jacrev": (lambda: jax.jacrev(f)(1, 2.0), TypeError, "jacrev needs floating-point arguments, got dtype int32"),
    "jacobian": (lambda: jax.jacobian(f)(1j, 2.0), TypeError, "jacrev needs real outputs.*holomorphic=True"),
    "hessian": (lambda: jax.hessian(3), TypeError, "hessian takes a function"),
    "jvp": (lambda: jax.jvp(jnp.sin, (X,), (X[:2],)), ValueError, r"shape \(3,\) was given a tangent of shape \(2,\)"),
    "linearize": (lambda: linearized(X)(X[:2]), ValueError, r"f32\[2\] was given where the primal's type asks for f32\[3\]"),
    "linear_transpose": (lambda: jax.linear_transpose(jnp.sin, X)(X), NotImplementedError, "not linear: sin"),
    "vjp": (lambda: jax.vjp(jnp.sin, X)[1](X.astype(int)), ValueError, r"dtype float32 was given a cotangent of dtype int"),
    "vjp, arguments": (lambda: jax.vjp(f, 1.0, 2.0)[1](1.0, 1.0), TypeError, "takes one cotangent.*got 2 arguments"),
    "fwd_and_bwd": (lambda: jax.fwd_and_bwd(f, argnums=2)[0](1.0, 2.0), TypeError, "fwd_and_bwd: argnums=2"),
    "defjvp": (lambda: jax.custom_jvp(f).defjvp(3), TypeError, "defjvp takes a function"),
    "defjvps": (lambda: jax.custom_jvp(f).defjvps(lambda t, out, x, y: t, 3), TypeError, "rule of argument 1 must be"),
    "defvjp": (lambda: jax.custom_vjp(f).defvjp(f, 3), TypeError, "defvjp takes a function"),
    "custom_gradient": (lambda: jax.custom_gradient(f)(1.0, 2.0), TypeError, r"custom_gradient: f must return a pair .*got"),
    "closure_convert": (lambda: jax.closure_convert(3, 1.0), TypeError, "closure_convert takes a function"),
    "custom_vmap": (lambda: jax.vmap(custom_vmap(f))(X, X), AttributeError, "define it with f.def_vmap"),
    "sequential_vmap": (lambda: sequential_vmap(3), TypeError, "sequential_vmap takes a function"),
    "checkpoint": (lambda: jax.checkpoint(f, static_argnums=2), ValueError, "checkpoint: static_argnums contains 2"),
    "checkpoint_name": (lambda: checkpoint_name(X, 3), TypeError, "checkpoint_name takes names as strings, got 3"),
    "checkpoint_name, value": (lambda: checkpoint_name("h", "h"), TypeError, "'h' of type str"),
    "print_saved_residuals": (lambda: ad_checkpoint.print_saved_residuals(3), TypeError, "takes a function"),
    "save_only_these_names": (lambda: P.save_only_these_names(["h"]), TypeError, r"as strings, got \['h'\] of type list"),
    "save_any_names_but_these": (lambda: P.save_any_names_but_these(3), TypeError, "save_any_names_but_these takes names"),
    "save_anything_except_these_names": (lambda: P.save_anything_except_these_names(3), TypeError, "takes names as"),
    "save_from_both_policies": (lambda: P.save_from_both_policies(P.dots_saveable, "h"), TypeError, "two policies.*got 'h'"),
    "save_and_offload_only_these_names": (
        lambda: P.save_and_offload_only_these_names(names_which_can_be_saved="h", names_which_can_be_offloaded=[],
                                                    offload_src="device", offload_dst="pinned_host"),
        TypeError, r"got the string 'h'; write \['h'\]"),
    "offload_dot_with_no_batch_dims": (
        lambda: jax.grad(jax.checkpoint(layers, policy=P.offload_dot_with_no_batch_dims("device", "moon")))(X),
        ValueError, "the memory 'moon', which is none of"),
    "linear_call": (lambda: linear_call(3, f, 1.0, 2.0), TypeError, "function"),
    "new_ref": (lambda: jax.new_ref("text"), TypeError, "new_ref: 'text' of type str"),
    "freeze": (lambda: jax.freeze(X), TypeError, "freeze"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    call, error, message = MISUSE[name]
    with pytest.raises(error, match=message):
        call()


def test_a_rule_for_each_argument():
    CUSTOM.defjvps(lambda t, out, x, y: t)
    with pytest.raises(TypeError, match=r"given 1 rule\(s\), and the function is called with 2 argument\(s\).*None"):
        jax.grad(CUSTOM)(1.0, 2.0)


def test_custom_gradient_names_the_function():
    wrong = jax.custom_gradient(lambda x: (x ** 2, lambda ct: (ct, ct)))
    with pytest.raises(TypeError, match="custom_vjp function <lambda> must return cotangents.*argument 0"):
        jax.grad(wrong)(1.0)
