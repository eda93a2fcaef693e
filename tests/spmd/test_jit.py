"""``jit`` over several devices: shardings of arguments and results, constraints, ahead-of-time compilation, callbacks."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

P = jax.P
X = np.arange(32.0, dtype=np.float32).reshape(8, 4)


def same(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@pytest.mark.quick
def test_shardings_of_arguments_and_results(over, mesh):
    y = jax.jit(lambda a: {"u": a * 2, "v": a.sum()}, in_shardings=over("x"),
                out_shardings={"u": over(None, "y"), "v": None})(X)
    assert y["u"].sharding == over(None, "y")
    same(y["u"], 2 * X)
    f = jax.jit(lambda a, b: a + b, in_shardings=(over("x"), None), out_shardings=over("y"))
    assert f(X, 1.0).sharding == over("y")
    assert f(X, 1.0).sharding == over("y")
    with jax.set_mesh(mesh):
        assert jax.jit(lambda a: a, in_shardings=P("y"))(X).sharding.spec == P("y")
    text = f.lower(X, 1.0).as_text()
    assert 'sdy.mesh @mesh = <["x"=2, "y"=4]>' in text and "mhlo.num_partitions = 8" in text


def test_wrong_shardings(over, devices):
    x = jax.device_put(X, over("x"))
    with pytest.raises(ValueError, match="in_shardings says .* for the argument a, and the array passed .*laid out as"):
        jax.jit(lambda a: a, in_shardings=over("y"))(x)
    with pytest.raises(ValueError, match="in_shardings for the argument a of type f32\\[7\\].*multiple of 2"):
        jax.jit(lambda a: a, in_shardings=over("x"))(np.ones(7, np.float32))
    with pytest.raises(ValueError, match="in_shardings must be"):
        jax.jit(lambda a, b: a, in_shardings=(over("x"),))(X, X)
    with pytest.raises(TypeError, match="is no sharding"):
        jax.jit(lambda a: a, in_shardings=3)
    with pytest.raises(RuntimeError, match="jax.set_mesh"):
        jax.jit(lambda a: a, in_shardings=P("x"))(X)
    with pytest.raises(ValueError, match="by position"):
        jax.jit(lambda a: a, in_shardings=(over("x"),))(a=X)
    few = jax.NamedSharding(jax.sharding.Mesh(devices[:2], ("x",)), P("x"))
    with pytest.raises(ValueError, match="different devices"):
        jax.jit(lambda a: a, in_shardings=over("x"), out_shardings=few)(X)


@pytest.mark.quick
def test_constraints(over, mesh):
    f = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, over("x", "y")))
    assert f(X).sharding == over("x", "y")
    assert "sdy.sharding_constraint" in f.lower(X).as_text()
    open_rows = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, over(P.UNCONSTRAINED, "y")))
    assert open_rows(jax.device_put(X, over("x"))).sharding == over("x", "y")
    assert lax.with_sharding_constraint(X, over("y")).sharding == over("y")
    tree = lax.with_sharding_constraint({"a": jnp.ones(8), "b": jnp.ones(2)}, {"a": over("x"), "b": None})
    assert tree["a"].sharding == over("x")
    with jax.set_mesh(mesh):
        assert jax.jit(lambda a: lax.with_sharding_constraint(a, P("y")))(X).sharding == over("y")
    with pytest.raises(RuntimeError, match="no mesh is current"):
        lax.with_sharding_constraint(X, P("y"))
    with pytest.raises(ValueError, match="with_sharding_constraint: a value of type f32\\[7\\]"):
        jax.jit(lambda a: lax.with_sharding_constraint(a, over("x")))(np.ones(7, np.float32))


def test_constraints_and_transformations(over):
    def f(a):
        return lax.with_sharding_constraint(jnp.sin(a), over("x"))

    v = np.arange(8.0, dtype=np.float32)
    g = jax.jit(jax.grad(lambda a: f(a).sum()))(v)
    assert g.sharding == over("x")
    same(g, np.cos(v))
    batch = np.stack([v, 2 * v, v, v])
    assert jax.vmap(f)(batch).sharding.spec == P(None, "x")
    assert jax.vmap(f, spmd_axis_name="y")(batch).sharding.spec == P("y", "x")
    inner = jax.jit(jnp.sin, in_shardings=over("y"), out_shardings=over("x"))
    assert jax.grad(lambda a: inner(a).sum())(v).sharding == over("y")
    same(jax.vmap(inner)(batch), np.sin(batch))
    same(jax.jit(lambda a: jax.checkpoint(lambda b: f(b) * 2)(a).sum())(v), 2 * np.sin(v).sum())


def test_ahead_of_time(over):
    f = jax.jit(lambda a: a @ a.T)
    compiled = f.lower(jax.ShapeDtypeStruct((8, 4), np.float32, sharding=over("x", "y"))).compile()
    assert compiled.input_shardings[0][0] == over("x", "y")
    assert compiled.output_shardings.spec == P("x")
    same(compiled(jax.device_put(X, over("x", "y"))), X @ X.T)
    same(compiled(X), X @ X.T)


def test_compiled_functions_refuse_arrays_in_other_places(over, devices):
    compiled = jax.jit(lambda a, b: a + b).lower(jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=over("x")), X).compile()
    with pytest.raises(ValueError, match=r"places.*\n  a \(f32\[8,4\]\): compiled for .*'x'.*called with .*'y'.*\nMove"):
        compiled(jax.device_put(X, over("y")), X)
    single = jax.jit(lambda a: a + 1).lower(X).compile()
    with pytest.raises(ValueError, match=r"compiled for SingleDevice.*id=0.*called with .*id=1"):
        single(jax.device_put(X, devices[1]))
    same(single(jax.device_put(X, jax.devices()[0])), X + 1)


def test_donation_and_closed_over_arrays(over):
    x = jax.device_put(X, over("x", "y"))
    y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    same(y, X + 1)
    assert x.is_deleted()
    table = jax.device_put(np.arange(4000.0, dtype=np.float32), over("y"))
    same(jax.jit(lambda: table.sum())(), 4000 * 3999 / 2)
    same(jax.jit(lambda a: a.sum() + table[0] + jnp.ones(2000).sum())(y), X.sum() + 32 + 2000)


def test_callbacks(over, capsys):
    x = jax.device_put(X, over("x", "y"))
    shapes = []

    @jax.jit
    def f(a):
        jax.debug.callback(lambda v: shapes.append(v.shape), a)
        jax.debug.print("sum {}", a.sum(), ordered=True)
        return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    for _ in range(2):
        same(f(x), np.sin(X))
    jax.effects_barrier()
    assert shapes == [(8, 4)] * 2 and capsys.readouterr().out == "sum 496.0\n" * 2


@pytest.mark.quick
def test_ways_of_inlining():
    def program(inline):
        f = jax.jit(lambda v: v + 1, inline=inline)
        outer = jax.jit(lambda v: f(v) * 2)
        assert float(outer(1.0)) == 4.0 and float(jax.grad(outer)(1.0)) == 2.0
        return str(jax.make_jaxpr(lambda v: f(v) * 2)(1.0)), outer.lower(1.0).as_text()

    for early in (True, jax.Inline.JAX_EARLY):
        assert "jit" not in program(early)[0]
    jaxpr, text = program(jax.Inline.JAX_LATE)
    assert "jit" in jaxpr and "call @" not in text
    assert 'inlineable = "xla_early"' in program(jax.Inline.XLA_EARLY)[1]
    assert 'inlineable = "xla_late"' in program(jax.Inline.XLA_LATE)[1]
    assert "inlineable" not in program(jax.Inline.AUTO)[1]
    with pytest.raises(TypeError, match="bool or a jax.Inline"):
        jax.jit(lambda v: v, inline="early")
