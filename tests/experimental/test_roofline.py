"""Estimates of costs, against counts by hand."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import roofline as rl

X = jax.ShapeDtypeStruct((8, 16), jnp.float32)
W = jax.ShapeDtypeStruct((16, 32), jnp.float32)


def cost(f, *args, **settings):
    return rl.roofline(f, **settings)(*args)[1]


@pytest.mark.quick
def test_matrix_products():
    out, c = rl.roofline(lambda x, w: x @ w)(X, W)
    assert out == jax.ShapeDtypeStruct((8, 32), jnp.float32)
    assert c.flops == c.unfused_flops == 2 * 8 * 16 * 32
    assert c.hbm_bytes == c.unfused_hbm_bytes == c.peak_hbm_bytes == 4 * (8 * 16 + 16 * 32 + 8 * 32)
    assert cost(lambda x, w: x @ w, X, W, pin_lhs_in_vmem=True).hbm_bytes == 4 * (16 * 32 + 8 * 32)
    assert cost(jax.jit(lambda x, w: jnp.tanh(x @ w)), X, W).flops == c.flops
    image, kernel = jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3))
    assert cost(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), image, kernel).flops == 2 * (4 * 64) * (3 * 9)


def test_other_operations():
    n = 8 * 16
    assert cost(lambda x: jnp.sin(x) * 2 + 1, X) == rl.RooflineResult(
        unfused_flops=3 * n, unfused_hbm_bytes=4 * (3 * 2 * n + 2), peak_hbm_bytes=4 * 2 * n)
    assert cost(lambda x: x.sum(0), X).unfused_flops == n - 16
    assert cost(lambda x: x.max(), X).unfused_flops == n - 1
    assert cost(lambda x: x ** 5, X).unfused_flops == 3 * n
    assert cost(lambda x: x.T, X).unfused_flops == 0 and cost(lambda x: x.T, X).unfused_hbm_bytes == 4 * 2 * n
    assert cost(lambda x: jnp.sort(x), X).unfused_flops == n * 4
    assert cost(jnp.linalg.cholesky, jnp.ones((6, 6))).unfused_flops >= 6 ** 3 // 3


def test_loops_branches_and_peaks():
    one = cost(lambda x: jnp.tanh(x @ jnp.ones((16, 16))), X).unfused_flops
    loop = cost(lambda x: lax.scan(lambda c, _: (jnp.tanh(c @ jnp.ones((16, 16))), None), x, None, 5)[0], X)
    assert loop.unfused_flops == 5 * one and loop.flops == 5 * 2 * 8 * 16 * 16
    both = cost(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, lambda x: x @ x.T @ x, x), X)
    assert both.flops == 2 * 2 * 8 * 8 * 16
    assert cost(lambda x: lax.while_loop(lambda c: c[0, 0] < 3, jnp.sin, x), X).unfused_flops == 8 * 16 + 1
    held = cost(lambda x: (lambda a, b, c: a + b + c)(jnp.sin(x), jnp.cos(x), jnp.exp(x)), X)
    assert held.peak_hbm_bytes == 4 * 8 * 16 * 4  # three of them with x, or with their sum


def test_backward_passes(devices):
    mesh = jax.sharding.Mesh(np.array(devices[:4]), ("x",))
    out, forward, back = rl.roofline_and_grad(lambda x, w: x @ w, mesh, (jax.P("x"), jax.P()), jax.P("x"))(X, W)
    assert (out.shape, forward.flops, back.flops) == ((8, 32), 2 * 2 * 16 * 32, 2 * 2 * 2 * 16 * 32)
    assert back.ici_bytes == {"x": 2 * (16 * 32 * 4) * 3 // 4}
    grads, c = rl.roofline(lambda x, w: jnp.sin(x @ w), vjp=True)(X, W)
    assert [g.shape for g in grads] == [X.shape, W.shape] and c.flops == 3 * 2 * 8 * 16 * 32


@pytest.mark.parametrize("f, sent, steps", [
    (lambda x: lax.psum(x, "x"), 2 * 128 * 3 // 4, 8),
    (lambda x: lax.psum_scatter(x, "x", tiled=True, scatter_dimension=1), 128 * 3 // 4, 4),
    (lambda x: lax.all_gather(x, "x"), 128 * 3, 4),
    (lambda x: lax.all_to_all(x, "x", 1, 1, tiled=True), 128, 2),
    (lambda x: lax.ppermute(x, "x", [(0, 1), (1, 3)]), 128 * 2, 2),
])
def test_communication(devices, f, sent, steps):
    mesh = jax.sharding.Mesh(np.array(devices[:4]), ("x",))
    c = cost(lambda x: jnp.sum(lax.pvary(f(x), "x") if "psum" in f.__code__.co_names and "psum_scatter" not in
                               f.__code__.co_names else f(x))[None], X, mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"))
    assert (c.ici_bytes, c.ici_latency) == ({"x": sent}, {"x": steps})


def test_rules_of_others():
    from jax.extend.core import Primitive
    prim = Primitive("cost_of_others")
    prim.def_abstract_eval(lambda x: x)
    assert cost(prim.bind, X) == rl.RooflineResult(unfused_hbm_bytes=1024, peak_hbm_bytes=1024)

    @rl.register_roofline(prim)
    def rule(context, x):
        assert context.primitive is prim and context.avals_in[0].shape == x.shape
        return rl.RooflineResult(flops=x.size, unfused_hbm_bytes=x.bytes)
    assert cost(prim.bind, X).flops == 128
    rl.register_standard_roofline(prim)
    assert cost(prim.bind, X).flops == 0
    rl.register_roofline(prim)(lambda context, x: 3)
    with pytest.raises(TypeError, match="rule of cost_of_others returned 3; it must return a RooflineResult"):
        cost(prim.bind, X)


def test_sums_and_misuse(capsys):
    a = rl.RooflineResult(flops=1, ici_bytes={"x": 2}, peak_hbm_bytes=5)
    b = rl.RooflineResult(flops=2, ici_bytes={"x": 3, "y": 1}, peak_hbm_bytes=3)
    assert a + b == rl.RooflineResult(flops=3, ici_bytes={"x": 5, "y": 1}, peak_hbm_bytes=5)
    assert rl.RooflineResult.zeros() + a == a
    with pytest.raises(ValueError, match="belong together"):
        rl.roofline(jnp.sin, mesh=jax.make_mesh((1,), ("x",)))
    with pytest.raises(TypeError, match="takes a function"):
        rl.roofline(3)
    cost(jnp.sin, X, print_jaxpr=True)
    assert "sin a" in capsys.readouterr().out
