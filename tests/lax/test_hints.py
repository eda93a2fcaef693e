"""Tokens, staged values, sinks, composites, products over named axes, and what the runtime does not offer."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

R = np.random.RandomState(0)
pytestmark = pytest.mark.quick


def test_tokens():
    assert repr(lax.after_all(lax.create_token(), lax.create_token())) == "Token()"
    jaxpr = jax.make_jaxpr(lambda x: (lax.after_all(lax.create_token()), x)[1])(1.0)
    assert [e.primitive.name for e in jaxpr.eqns] == ["create_token", "after_all"]
    f = jax.jit(lambda x: (lax.after_all(lax.create_token(), lax.create_token()), x + 1)[1])
    assert float(f(1.0)) == 2.0 and float(jax.grad(f)(1.0)) == 1.0
    with pytest.raises(TypeError, match="takes tokens.*optimization_barrier"):
        lax.after_all(1.0)
    with pytest.raises(TypeError, match="inside of one program"):
        jax.jit(lax.create_token)()


def test_stage():
    x = lax.stage(1)
    assert isinstance(x, jax.Array) and x.weak_type and lax.stage(np.arange(2)).tolist() == [0, 1]
    assert "stage" in str(jax.make_jaxpr(lambda: lax.stage(1))())
    assert float(jax.grad(lambda v: lax.stage(v) * 3)(2.0)) == 3.0
    np.testing.assert_array_equal(jax.vmap(lax.stage)(jnp.arange(3)), np.arange(3))
    with pytest.raises(TypeError, match="not a valid JAX array type"):
        lax.stage("a")


def test_dce_sink():
    def f(x):
        lax.dce_sink({"a": jnp.sin(x)})
        return x * 2

    assert "sin" in str(jax.make_jaxpr(f)(1.0))
    assert float(jax.jit(f)(1.0)) == 2.0 and float(jax.grad(f)(1.0)) == 2.0
    np.testing.assert_array_equal(jax.vmap(f)(jnp.ones(2)), np.full(2, 2.0))
    np.testing.assert_array_equal(jax.jit(lambda v: lax.map(jax.checkpoint(f), v))(jnp.ones(2)), np.full(2, 2.0))
    assert lax.dce_sink(1.0) is None
    with pytest.raises(NotImplementedError, match="jax.debug.callback"):
        lax.dce_sink(1.0, prevent_mlir_dce=True)


def test_composite():
    f = lax.composite(lambda x, *, k=2, of=None: jnp.sin(x) * k, name="my.sin", version=3)
    text = jax.jit(lambda x: f(x, k=3, of={"a": (1, "b", True, 0.5)})).lower(1.0).as_text()
    assert 'stablehlo.composite "my.sin"' in text and "version = 3" in text and 'a = [1, "b", true' in text
    assert f(np.float32(1), k=3) == np.float32(3) * jnp.sin(np.float32(1))
    np.testing.assert_allclose(jax.grad(f)(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(jnp.arange(3.0)), 2 * np.sin(np.arange(3.0)), rtol=1e-6)
    double = lax.composite(lambda x: 2 * x, name="double")
    assert float(jax.linear_transpose(double, 1.0)(3.0)[0]) == 6.0
    with pytest.raises(TypeError, match="attribute k is .*passed by position"):
        f(1.0, k=jnp.ones(2))
    with pytest.raises(TypeError, match="composite takes a function"):
        lax.composite(3, name="u")


def test_shape_as_value():
    assert lax.shape_as_value((2, 3)).tolist() == [2, 3] and lax.shape_as_value(()).shape == (0,)
    with pytest.raises((TypeError, ValueError)):
        lax.shape_as_value((2, -1))


@pytest.mark.parametrize("spec, plain", [("ij{n},jk{n}->ik", "nij,njk->ik"), ("ij{n},jk{n},kl->li{n}", "nij,njk,kl->nli"),
                                         ("i{n},j->ij{n}", "ni,j->nij"), ("ij{n}->", "nij->")])
def test_xeinsum(spec, plain):
    sizes = {"n": 3, "i": 2, "j": 4, "k": 5, "l": 6}
    terms, result = plain.split("->")
    operands = [R.randn(*[sizes[c] for c in t]).astype(np.float32) for t in terms.split(",")]
    axes = tuple(0 if t[0] == "n" else None for t in terms.split(","))
    got = jax.vmap(lambda *xs: lax.xeinsum(spec, *xs), in_axes=axes, axis_name="n")(*operands)
    want = np.einsum(plain, *operands)
    np.testing.assert_allclose(got if "n" in result else got[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec, message", [
    ("ij", "no '->'"), ("i,j->", "2 terms, and there are 1"), ("i->i{n}", "no operand has"),
    ("ij->", "has shape \\(3,\\)"), ("i{n->i", "do not match"), ("i->k", "no operand has"),
])
def test_xeinsum_misuse(spec, message):
    with pytest.raises(ValueError, match=message):
        lax.xeinsum(spec, jnp.ones(3))


def test_pdot():
    x, y = R.randn(3, 4).astype(np.float32), R.randn(3, 4).astype(np.float32)
    got = jax.vmap(lambda a, b: lax.pdot(a, b, "n", ((0,), (0,))), axis_name="n")(x, y)
    np.testing.assert_allclose(got, np.full(3, (x * y).sum()), rtol=1e-5)
    with pytest.raises(NameError, match="'n' is not bound"):
        lax.pdot(x, y, "n", ((0, 1), (0, 1)))


@pytest.mark.parametrize("call, message", [
    (lambda: lax.infeed(lax.create_token()), "io_callback"),
    (lambda: lax.outfeed(lax.create_token(), 1.0), "jax.debug.callback"),
    (lambda: lax.psend(1.0, "i", [(0, 1)]), "jax.lax.ppermute"),
    (lambda: lax.precv(lax.create_token(), jax.ShapeDtypeStruct((), jnp.float32), "i", [(0, 1)]), "jax.lax.ppermute"),
])
def test_what_is_refused(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_fills_by_their_own_names():
    from jax.extend.core import primitives  # where libraries find them

    x = jnp.arange(3.0)
    zeros = primitives.zeros_like_p.bind
    assert zeros(x).tolist() == [0.0] * 3 == jax.jit(zeros)(x).tolist()
    assert jax.grad(lambda v: (zeros(v) + v).sum())(x).tolist() == [1.0] * 3
    assert jax.vmap(zeros)(jnp.ones((2, 3))).tolist() == [[0.0] * 3] * 2
    assert primitives.empty2_p.bind(shape=(2,), dtype=np.dtype("int32")).tolist() == [0, 0]
    with pytest.raises(NotImplementedError, match="jax.lax.empty"):
        primitives.empty2_p.bind(shape=(2,), dtype=np.dtype("int32"), out_sharding=jax.P())
