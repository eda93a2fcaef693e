"""Rematerialisation: same values and derivatives, other programs."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jax
from jax import ad_checkpoint, lax
from jax import numpy as jnp
from jax.ad_checkpoint import checkpoint_name

pytestmark = pytest.mark.quick
P = jax.checkpoint_policies


def block(x):
    h = checkpoint_name(jnp.sin(x), "h")
    return jnp.cos(h) * jnp.sin(h * x)


def names(jaxpr):
    out = []
    for eqn in jaxpr.eqns:
        out.append(eqn.primitive.name)
        for v in eqn.params.values():
            inner = getattr(v, "jaxpr", None)
            if inner is not None:
                out.extend(names(inner))
    return out


@pytest.mark.parametrize("policy", [None, P.everything_saveable, P.nothing_saveable, P.dots_saveable,
                                    P.save_only_these_names("h"), P.save_any_names_but_these("h"),
                                    P.save_anything_except_these_names("h"),
                                    P.save_from_both_policies(P.dots_saveable, P.save_only_these_names("h")),
                                    P.offload_dot_with_no_batch_dims("device", "pinned_host")])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_values_and_derivatives(policy, wrap):
    f = wrap(jax.checkpoint(block, policy=policy))
    x = np.float32(0.7)
    np.testing.assert_allclose(f(x), block(x), rtol=1e-6)
    for g in (jax.grad, lambda f: jax.grad(jax.grad(f)), lambda f: jax.jvp(f, (x,), (x,))[1] and jax.grad(f)):
        np.testing.assert_allclose(g(f)(x), g(block)(x), rtol=1e-4)
    xs = np.linspace(0, 1, 4, dtype=np.float32)
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(xs), jax.vmap(jax.grad(block))(xs), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda x: jax.vmap(f)(x).sum())(xs), jax.vmap(jax.grad(block))(xs), rtol=1e-5)


def test_recomputes_what_is_not_saved():
    sines = lambda f: names(jax.make_jaxpr(jax.grad(f))(1.0).jaxpr).count("sin")  # noqa: E731
    plain = sines(lambda x: jnp.sin(jnp.sin(jnp.sin(x))))
    remat = sines(jax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(x)))))
    saved = sines(jax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), policy=P.everything_saveable))
    assert plain == 3 and remat == 5 and saved == 3


def test_residuals(capsys):
    def kept(f):
        return [reason for _, reason in ad_checkpoint.saved_residuals(f, 1.0)]
    assert any("cos" in r for r in kept(block))
    assert kept(jax.checkpoint(block)) == ["from the argument x"]
    assert sorted(kept(jax.checkpoint(block, policy=P.save_only_these_names("h")))) == [
        "from the argument x", f"named 'h' from {__file__}:{block.__code__.co_firstlineno + 1} (block)"]
    ad_checkpoint.print_saved_residuals(jax.checkpoint(block), 1.0)
    assert capsys.readouterr().out == "f32[] from the argument x\n"


def test_barrier_only_with_prevent_cse():
    text = jax.jit(jax.grad(jax.checkpoint(block))).lower(1.0).as_text()
    assert "optimization_barrier" in text
    text = jax.jit(jax.grad(jax.checkpoint(block, prevent_cse=False))).lower(1.0).as_text()
    assert "optimization_barrier" not in text


def test_in_scan_and_nested():
    def body(c, x):
        return jnp.sin(c * x), jnp.cos(c)

    def run(body, c, xs):
        c, ys = lax.scan(body, c, xs)
        return c + ys.sum()
    xs = np.linspace(0.1, 1, 5, dtype=np.float32)
    want = jax.grad(functools.partial(run, body), (0, 1))(0.5, xs)
    for f in (jax.checkpoint(body), jax.checkpoint(jax.checkpoint(body)), jax.jit(jax.checkpoint(body)),
              jax.checkpoint(jax.jit(body), policy=P.dots_saveable)):
        got = jax.grad(functools.partial(run, f), (0, 1))(0.5, xs)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5)


def test_static_arguments_and_closures():
    f = jax.checkpoint(lambda x, n: x ** n if n > 1 else x, static_argnums=1)
    assert float(jax.grad(f)(3.0, 2)) == 6.0
    assert float(jax.jit(lambda s: jax.grad(jax.checkpoint(lambda x: jnp.sin(x) * s))(0.0))(4.0)) == 4.0


def test_misuse():
    with pytest.raises(TypeError, match="policy must be a function"):
        jax.checkpoint(block, policy="dots")
    with pytest.raises(ValueError, match=r"checkpoint: static_argnums contains 5.*\(x\)"):
        jax.checkpoint(block, static_argnums=5)
    with pytest.raises(NotImplementedError, match="static_argnums"):
        jax.checkpoint(block, concrete=True)
    with pytest.raises(ValueError, match="both to be saved"):
        P.save_and_offload_only_these_names(names_which_can_be_saved=["a"], names_which_can_be_offloaded=["a"],
                                            offload_src="device", offload_dst="pinned_host")


def test_decorator_with_options():
    @functools.partial(jax.remat, policy=P.dots_saveable)
    def f(x):
        return jnp.sin(x)
    assert f.__name__ == "f" and float(jax.grad(f)(0.0)) == 1.0
