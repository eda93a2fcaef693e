"""``shard_map``: collectives between devices, derivatives inside and outside, loops, types of what varies, messages."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

P = jax.P
R = np.random.RandomState(0)
X = np.arange(64.0, dtype=np.float32).reshape(8, 8)
V = R.randn(8).astype(np.float32)
BOTH = ("x", "y")


def same(a, b, tol=2e-5):
    for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(u), np.asarray(v), rtol=2e-4, atol=tol)


@pytest.fixture
def sm(mesh):
    return lambda f, ins, outs, **k: jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **k)


@pytest.mark.quick
@pytest.mark.parametrize("f, ins, outs, want", [
    (lambda x: lax.psum(x, BOTH), P(*BOTH), P(), X.reshape(2, 4, 4, 2).sum((0, 2))),
    (lambda x: lax.psum(x, "y"), P(None, "y"), P(), X.reshape(8, 4, 2).sum(1)),
    (lambda x: lax.pmean(x, "x"), P("x"), P(), X.reshape(2, 4, 8).mean(0)),
    (lambda x: lax.pmax(x, "y"), P("y"), P(), X[6:]),
    (lambda x: lax.all_gather(x, "y", axis=1, tiled=True)[:, ::2], P(*BOTH), P("x", "y"), np.tile(X[:, ::2], (1, 4))),
    (lambda x: lax.psum_scatter(x, "x", tiled=True), P(None, "y"), P("x", "y"), 2 * X),
    (lambda x: lax.psum_scatter(x.reshape(2, 2, 8), "x"), P("x"), P("x"), X.reshape(2, 2, 2, 8).sum(0).reshape(4, 8)),
    (lambda x: lax.ppermute(x, "y", [(i, (i + 1) % 4) for i in range(4)]), P("y"), P("y"), np.roll(X, 2, 0)),
    (lambda x: lax.all_to_all(x, "y", 1, 0, tiled=True), P("y"), P(None, "y"), X),
    (lambda x: lax.all_to_all(x[:, :4], "y", 1, 0), P("y"), P(None, "y"), X[:, :4].reshape(4, 2, 4).transpose(0, 2, 1)
     .reshape(4, 8)),
    (lambda x: x * 0 + lax.axis_index(BOTH), P(BOTH), P(BOTH), np.arange(8.0)[:, None] * np.ones((8, 8))),
    (lambda x: lax.pbroadcast(x, "y", 2), P("y"), P("y"), np.tile(X[4:6], (4, 1))),
])
def test_collectives(sm, f, ins, outs, want):
    same(sm(f, ins, outs)(X), want)


def loss(w1, w2, x):
    h = jnp.tanh(jax.nn.relu(x @ w1))
    return jnp.mean(jax.nn.softmax(h @ w2) ** 2)


def parallel_loss(w1, w2, x):
    """:func:`loss` with hidden units over y and examples over x."""
    h = jnp.tanh(jax.nn.relu(x @ w1))
    return lax.pmean(jnp.mean(jax.nn.softmax(lax.psum(h @ w2, "y")) ** 2), "x")


W = (R.randn(6, 8).astype(np.float32), R.randn(8, 4).astype(np.float32), R.randn(8, 6).astype(np.float32))
SPECS = (P(None, "y"), P("y"), P("x"))


@pytest.mark.parametrize("typed", [True, False])
def test_derivatives_from_outside(sm, typed):
    f = sm(parallel_loss, SPECS, P(), check_vma=typed)
    want = jax.value_and_grad(loss, (0, 1, 2))(*W)
    same(jax.jit(jax.value_and_grad(jax.checkpoint(f), (0, 1, 2)))(*W), want)
    inner = sm(jax.jit(jax.checkpoint(parallel_loss)), SPECS, P(), check_vma=typed)
    same(jax.grad(inner, (0, 1, 2))(*W), want[1])
    if not typed:
        return
    ones = tuple(np.ones_like(w) for w in W)
    same(jax.jit(lambda *w: jax.jvp(jax.grad(f), w, ones))(*W), jax.jvp(jax.grad(loss), W, ones))
    many = np.stack([W[0], 2 * W[0]])
    same(jax.jit(jax.vmap(jax.grad(f), (0, None, None)))(many, *W[1:]),
         jax.vmap(jax.grad(loss), (0, None, None))(many, *W[1:]))


def test_derivatives_inside(sm):
    """Gradients of what is the same everywhere are summed over devices."""
    want = jax.value_and_grad(loss, (0, 1, 2))(*W)
    inside = jax.value_and_grad(parallel_loss, (0, 1, 2))
    same(jax.jit(sm(jax.jit(inside), SPECS, (P(), SPECS)))(*W), want)
    shared = sm(lambda a, b, x: jax.grad(lambda ws: loss(*ws, x) / 8)((a, b)), (P(), P(), P(BOTH)), P())
    same(shared(*W), want[1][:2])
    per_device = sm(lambda w, x: jax.grad(lambda w: jnp.sum(w * x))(w), (P(), P("x")), P("x"), check_vma=False)
    same(per_device(np.ones(1, np.float32), V), np.array([V[:4].sum(), V[4:].sum()]))


@pytest.mark.parametrize("typed", [True, False])
def test_loops_and_branches(sm, typed):
    def recurrent(w, x):
        c, ys = lax.scan(lambda c, v: (jnp.tanh(c * w + v), c), 0.0, x)
        return lax.psum(c + ys.sum(), "x")

    def recurrent_reference(w, x):
        total = 0.0
        for part in (x[:4], x[4:]):
            c = 0.0
            for v in part:
                total, c = total + c, jnp.tanh(c * w + v)
            total = total + c
        return total

    def branches(w, x):
        return lax.psum(lax.cond(lax.axis_index("x") == 0, lambda: w * x.sum(), lambda: jnp.sin(w) * x.sum()), "x")

    def summing(w, x):
        return lax.scan(lambda h, _: (lax.psum(jnp.tanh(h * w) * x.sum(), "x") / 4, None), 1.0, None, length=2)[0]

    def summing_reference(w, x):
        h = 1.0
        for _ in range(2):
            h = jnp.tanh(h * w) * x.sum() / 4
        return h

    w = np.float32(0.3)
    for f, reference in ((recurrent, recurrent_reference), (summing, summing_reference),
                         (branches, lambda w, x: w * x[:4].sum() + jnp.sin(w) * x[4:].sum())):
        g = sm(f, (P(), P("x")), P(), check_vma=typed)
        want = jax.value_and_grad(reference, (0, 1))(w, V)
        same(jax.jit(jax.value_and_grad(g, (0, 1)))(w, V), want)
        if typed:
            same(sm(jax.value_and_grad(f, (0, 1)), (P(), P("x")), (P(), (P(), P("x"))))(w, V), want)


def test_while_loops_that_differ(sm):
    def f(w, x):
        return lax.psum(lax.while_loop(lambda s: s[0] < lax.axis_index("x") + 1, lambda s: (s[0] + 1, s[1] * w),
                                       (0, x.sum()))[1], "x")
    g = sm(f, (P(), P("x")), P())
    same(g(0.3, V), 0.3 * V[:4].sum() + 0.09 * V[4:].sum())
    same(jax.jvp(lambda w: g(w, V), (0.3,), (1.0,))[1], V[:4].sum() + 0.6 * V[4:].sum())


def test_custom_derivatives_and_closures(sm):
    @jax.custom_vjp
    def scaled(w, x):
        return w * jnp.sin(x)

    scaled.defvjp(lambda w, x: (w * jnp.sin(x), (w, x)),
                  lambda res, ct: ((ct * jnp.sin(res[1])).sum(), ct * res[0] * jnp.cos(res[1])))
    f = sm(lambda w, x: lax.psum(scaled(w, x).sum(), "x"), (P(), P("x")), P())
    same(jax.grad(f, (0, 1))(np.float32(0.3), V), jax.grad(lambda w, x: (w * jnp.sin(x)).sum(), (0, 1))(0.3, V))
    closing = jax.grad(lambda w: sm(lambda x: lax.psum((w * x).sum(), "x"), P("x"), P())(V))
    same(closing(0.3), V.sum())
    same(jax.jit(closing)(0.3), V.sum())


def test_derivatives_of_collectives(sm):
    def f(x):
        a = lax.all_gather(x, "y", axis=0, tiled=True)
        b = lax.ppermute(x, "y", [(i, (i + 1) % 4) for i in range(4)])
        c = lax.psum_scatter(a * a, "y", tiled=True)
        d = lax.all_to_all(x, "y", 1, 0, tiled=True)
        return lax.psum((b * x * c).sum() + (d ** 3).sum() + lax.pmax(x, "y").sum(), BOTH)

    def reference(x):
        total = 0.0
        for half in (x[:8], x[8:]):
            parts = jnp.split(half, 4)
            squares = 4 * half * half
            top = jnp.max(jnp.stack(parts), 0).sum()
            for j, p in enumerate(parts):
                total += (parts[j - 1] * p * squares[2 * j:2 * j + 2]).sum() + top
            total += (half ** 3).sum()
        return total

    x = R.randn(16, 4).astype(np.float32)
    want = jax.jit(jax.value_and_grad(reference))(x)
    for typed in (True, False):
        same(jax.jit(jax.value_and_grad(sm(f, P(BOTH), P(), check_vma=typed)))(x), want, 1e-3)
    same(sm(jax.grad(f), P(BOTH), P(BOTH))(x), want[1], 1e-3)


@pytest.mark.quick
def test_some_axes_and_nesting(mesh, sm):
    part = jax.shard_map(lambda x: x * (1 + lax.axis_index("x")), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                         axis_names={"x"})
    same(jax.jit(part)(V), V * np.repeat([1, 2], 4))

    def inner(x):
        return x * (lax.axis_index("y") + 10 * lax.axis_index("x") + lax.psum(x, BOTH))

    def outer(x):
        return jax.shard_map(inner, mesh=mesh, in_specs=P("y"), out_specs=P("y"), axis_names={"y"})(x)
    nested = jax.jit(jax.shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))
    at = np.array([0, 1, 2, 3, 10, 11, 12, 13])
    same(nested(V), V * (at + V.sum()))
    same(jax.jit(jax.grad(lambda x: nested(x).sum()))(V), at + 2 * V.sum())


@pytest.mark.quick
def test_meshes_and_specs_from_the_context(mesh, sm, over):
    with jax.set_mesh(mesh):
        same(jax.shard_map(lambda x: x * 2, in_specs=P("x"), out_specs=P("x"))(V), 2 * V)
        assert jax.smap(lambda x: lax.psum(x, "y"), in_axes=0, out_axes=None, axis_name="y")(V).shape == (2,)
        same(jax.smap(lambda x: 2 * x, in_axes=1, out_axes=1, axis_name="y")(X), 2 * X)
        inferred = jax.shard_map(lambda x: x + lax.axis_index("x"), out_specs=P("x"))
        same(inferred(jax.device_put(V, over("x"))), V + np.repeat([0, 1], 4))
        with pytest.raises(ValueError, match="no array laid out over"):
            inferred(V)
        with pytest.raises(TypeError, match="non-negative integers or None"):
            jax.smap(lambda x: x, in_axes=-1, out_axes=0, axis_name="x")(X)
    one = jax.make_mesh((1,), ("i",))
    f = jax.shard_map(lambda x: lax.psum(x, "i") + lax.axis_index("i"), mesh=one, in_specs=P("i"), out_specs=P("i"))
    same(f(V), V)


def test_the_earlier_place(mesh):
    from jax.experimental.shard_map import shard_map  # its own module, as programs import it

    with pytest.warns(DeprecationWarning, match="use jax.shard_map"):
        f = shard_map(lambda x: lax.psum(x, "x"), mesh, P("x"), P(), check_rep=False)
    same(f(V), V[:4] + V[4:])


def test_layout_of_results_and_callbacks(sm, over, capsys):
    y = sm(lambda x: (jax.debug.print("{}", x.sum() * 0), x)[1], P("x", "y"), P("x", "y"))(X)
    jax.effects_barrier()
    assert y.sharding == over("x", "y") and capsys.readouterr().out == "0.0\n" * 8
    with pytest.raises(NotImplementedError, match="ordered effects"):
        sm(lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], P("x"), P("x"))(X)


@pytest.mark.quick
@pytest.mark.parametrize("f, ins, outs, error, message", [
    (lambda x: x, P("z"), P("x"), ValueError, "in_specs for the argument x is P\\('z',\\).*the mesh has"),
    (lambda x: x, P(None, None, "x"), P("x"), ValueError, "3 entries, and the argument is f32\\[8,8\\]"),
    (lambda x: x[:7], P(), P("x"), None, None),
    (lambda x: x.sum(), P("x"), P("x"), ValueError, "x\\[None\\]"),
    (lambda x: x, P("x"), P(), ValueError, "may differ there. Name the axis in the spec, reduce over it"),
    (lambda x: lax.psum(x, "z"), P("x"), P(), NameError, "'z' is not bound here"),
    (lambda x: x, "x", P("x"), TypeError, "in_specs must be a jax.sharding.PartitionSpec, got 'x'"),
    (lambda x: x, (P("x"), P("x")), P("x"), ValueError, "in_specs must be a PartitionSpec or a tree of them"),
    (lambda x: lax.cond(lax.axis_index("x") == 0, lambda: lax.psum(x, "x"), lambda: x), P("x"), P("x"), ValueError,
     "the predicate of a cond .* wait for others that never do"),
])
def test_misuse(sm, f, ins, outs, error, message):
    if error is None:
        assert sm(f, ins, outs)(X).shape == (14, 8)
        return
    with pytest.raises(error, match=message):
        sm(f, ins, outs)(X)


def test_more_misuse(mesh, sm):
    with pytest.raises(ValueError, match="cuts dimension 0 of f32\\[7\\] into 2 parts"):
        sm(lambda x: x, P("x"), P("x"))(np.ones(7, np.float32))
    with pytest.raises(ValueError, match="no mesh is given and none is current"):
        jax.shard_map(lambda x: x, in_specs=P("x"), out_specs=P("x"))(X)
    with pytest.raises(ValueError, match="axis_names has"):
        sm(lambda x: x, P("x"), P("x"), axis_names={"q"})(X)
    with pytest.raises(TypeError, match="mesh must be"):
        jax.shard_map(lambda x: x, mesh=3, in_specs=P(), out_specs=P())
    with pytest.raises(ValueError, match="names the axes .*only"):
        sm(lambda x: lax.with_sharding_constraint(x, jax.NamedSharding(mesh, P("x"))), P("x"), P("x"))(X)
    with pytest.raises(TypeError, match="unexpected keyword"):
        sm(lambda x: x, P("x"), P("x"))(x=X)
    with pytest.raises(ValueError, match="those of an enclosing"):
        again = jax.shard_map(lambda y: y, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
        sm(lambda x: again(x), P("x"), P("x"))(X)


def test_ragged_exchange(mesh, sm):
    def f(x, out):
        me = lax.axis_index("y")
        sizes = jnp.array([1, 0, 2, 1])
        all_sizes = lax.all_gather(sizes, "y")
        before = jnp.cumsum(all_sizes, 0) - all_sizes
        return lax.ragged_all_to_all(x, out, jnp.array([0, 1, 1, 3]), sizes, before[me], all_sizes[:, me], axis_name="y")

    x, out = np.arange(32.0, dtype=np.float32).reshape(16, 2), -np.ones((36, 2), np.float32)
    parts = x.reshape(4, 4, 2)
    want = out.reshape(4, 9, 2).copy()
    for receiver, (start, size) in enumerate([(0, 1), (1, 0), (1, 2), (3, 1)]):
        rows = parts[:, start:start + size].reshape(-1, 2)
        want[receiver, :len(rows)] = rows
    g = sm(f, (P("y"), P("y")), P("y"))
    same(g(x, out), want.reshape(36, 2))
    by_vmap = jax.vmap(f, axis_name="y")
    same(by_vmap(parts, out.reshape(4, 9, 2)), want)
    w = R.randn(36, 2).astype(np.float32)
    got = jax.grad(lambda x, o: (g(x, o) ** 2 * w).sum(), (0, 1))(x, out)
    reference = jax.grad(
        lambda x, o: (by_vmap(x.reshape(4, 4, 2), o.reshape(4, 9, 2)).reshape(36, 2) ** 2 * w).sum(), (0, 1))
    same(got, reference(x, out))
    changed = (want != -1).reshape(36, 2)
    same(got[1], np.where(changed, 0, 2 * out * w))
    one = jnp.ones(4, jnp.int32)
    for bad, message in (((x, out, one[:3], one, one, one), "input_offsets is i32\\[3\\]"),
                         ((x, out[:, 0], one, one, one, one), "one shape and dtype")):
        with pytest.raises(ValueError, match=message):
            sm(lambda x, o, *v: lax.ragged_all_to_all(x, o, *v, axis_name="y"), P(), P(), check_vma=False)(*bad)
    with pytest.raises(NotImplementedError, match="axis_index_groups"):
        lax.ragged_all_to_all(x, out, one, one, one, one, axis_name="y", axis_index_groups=[[0, 1]])


def test_checked_types_and_pending_sums(mesh, sm):
    f = sm(lambda x: lax.all_to_all(jnp.sin(x), "y", 1, 0, tiled=True) * lax.axis_size("y"), P("y"), P(None, "y"))
    with jax.enable_checks(True):
        same(jax.jit(jax.grad(lambda x: f(x).sum()))(X), 4 * np.cos(X))
    explicit = jax.make_mesh((2, 4), BOTH, devices=list(mesh.devices.flat))
    pending = jax.NamedSharding(explicit, P(unreduced={"x"}))
    for use in (lambda: jax.device_put(X, pending), lambda: jax.jit(lambda v: lax.with_sharding_constraint(v, pending))(X)):
        with pytest.raises(NotImplementedError, match="a sum pending over \\['x'\\].*jax.lax.psum"):
            use()


def test_callbacks_in_part(mesh):
    """XLA ends the process for such programs, so that they are refused before."""
    f = jax.shard_map(lambda a: jax.pure_callback(np.sin, a, a), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                      axis_names={"x"})
    with pytest.raises(NotImplementedError, match=r"need all axes of the mesh in axis_names, and \['y'\]"):
        jax.jit(f)(np.ones((8, 8), np.float32))


def test_each_device_calls_with_its_part(mesh, over):
    seen = []
    call = lambda a: (jax.debug.callback(lambda v: seen.append(v.shape), a, partitioned=True), a + 1)[1]  # noqa: E731
    x = jax.device_put(np.ones((8, 8), np.float32), over("x", "y"))
    jax.jit(call)(x).block_until_ready()
    jax.effects_barrier()
    assert seen == [(4, 2)] * 8
    seen.clear()
    jax.jit(jax.shard_map(call, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(x).block_until_ready()
    jax.effects_barrier()
    assert seen == [(4, 8)] * 8
    with pytest.raises(NotImplementedError, match="cannot be ordered"):
        jax.jit(lambda a: jax.debug.callback(print, a, partitioned=True, ordered=True))(x)


def test_specs_in_the_body(mesh):
    """They are over the mesh of the shard_map, without a current one."""
    f = jax.shard_map(lambda a: lax.with_sharding_constraint(a * 2, P(None, "y")), mesh=mesh, in_specs=P("x"),
                      out_specs=P("x"), axis_names={"x"})
    np.testing.assert_array_equal(jax.jit(f)(np.ones((8, 8), np.float32)), np.full((8, 8), 2))
