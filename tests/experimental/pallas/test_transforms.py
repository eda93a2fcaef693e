"""Kernel calls under transformations: against the same in NumPy, or without a kernel."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec as P
from tests.experimental.pallas import model

B, S = pl.BlockSpec, jax.ShapeDtypeStruct
F32, I32 = jnp.float32, jnp.int32


def call(kernel, out, *operands, **settings):
    return pl.pallas_call(kernel, out, interpret=True, **settings)(*operands)


def weigh(x, w, out):
    out[...] = x[...] * w[...] + pl.program_id(0)


def weighed(x, w):
    """Blocks of three, against weights that all blocks share."""
    specs = [B((3,), lambda i: i), B((3,), lambda i: 0)]
    return call(weigh, S(x.shape, F32), x, w, grid=2, in_specs=specs, out_specs=specs[0])


def plain(x, w):
    return x * np.tile(w, 2)[:5] + np.array([0, 0, 0, 1, 1])


X, W = np.arange(1., 6., dtype=np.float32), np.array([2., 3., 5.], np.float32)


# --- batching ---------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_batches_are_an_axis_of_the_grid():
    xs, ws = np.stack([X, X + 1, X * 2, X - 3]), np.stack([W, W * 2, W + 1, -W])
    np.testing.assert_array_equal(jax.vmap(weighed)(xs, ws), [plain(x, w) for x, w in zip(xs, ws, strict=True)])
    np.testing.assert_array_equal(jax.vmap(weighed, (1, None), 1)(xs.T, W), np.stack([plain(x, W) for x in xs], 1))
    np.testing.assert_array_equal(jax.vmap(jax.vmap(weighed, (None, 0)), (0, None))(xs, ws),
                                  [[plain(x, w) for w in ws] for x in xs])
    assert jax.vmap(weighed)(xs[:0], ws[:0]).shape == (0, 5)
    (eqn,) = jax.make_jaxpr(jax.vmap(weighed, (0, None)))(xs, W).eqns
    assert eqn.primitive is pl.pallas_call_p and eqn.params["grid_mapping"].grid == (4, 2)


@pytest.mark.parametrize("shape, index_map", [
    ((pl.Element(3, (1, 1)), None), lambda i: (2 * i, 0)),
    ((pl.BoundedSlice(3), 2), lambda i: (pl.ds(i, i + 1), 0)),
    ((2, pl.Indirect(3)), lambda i: (i, jnp.arange(3) - i)),
])
def test_batches_of_other_blocks(shape, index_map):
    x = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    block = [d.block_size if hasattr(d, "block_size") else d for d in shape if d is not None]
    rows = B((None, *block), lambda i: (i, *[0] * len(block)))

    def copy(x, out):
        out[...] = x[...]

    def one(x):
        return call(copy, S((3, *block), F32), x, grid=3, in_specs=[B(shape, index_map)], out_specs=rows)

    want = [model.run(copy, [((3, *block), np.float32)], (3,), [B(shape, index_map)], [rows], [r])[0] for r in x]
    np.testing.assert_array_equal(jax.vmap(one)(x), want)
    np.testing.assert_array_equal(jax.vmap(one, 2)(np.moveaxis(x, 0, 2)), want)


def test_batches_of_aliases_and_scratch_memory():
    def kernel(x, old, out, tmp):
        tmp[...] = x[...] * 2
        out[0] = out[0] + tmp[0]

    def one(x, old):
        return call(kernel, S((2,), F32), x, old, scratch_shapes=[pl.ANY((2,), F32)], input_output_aliases={1: 0}, grid=2)

    xs, old = jnp.arange(6.).reshape(3, 2), jnp.array([100., 200.])
    assert jax.vmap(one, (0, None))(xs, old).tolist() == [[100 + 4 * x, 200] for x in (0, 2, 4)]
    assert jax.vmap(one, (None, 1))(xs[1], jnp.stack([old, -old], 1)).tolist() == [[108, 200], [-92, -200]]


def test_examples_of_a_batch_do_not_see_each_other():
    def kernel(x, y, out, count):
        x[...] += pl.semaphore_read(count)
        pl.semaphore_signal(count)
        out[...] = x[...] + y[...]

    def f(x, y):
        return call(kernel, S((2, 3), F32), x, y, grid=2, out_specs=B((None, 3), lambda i: (i, 0)),
                    scratch_shapes=[pl.ANY((), pl.semaphore)])

    x, y = jnp.arange(3.), 10 * jnp.arange(6.).reshape(2, 3)
    want = np.stack([np.asarray(f(x, row)) for row in y])
    np.testing.assert_array_equal(want[0], [[0, 11, 22], [1, 12, 23]])
    np.testing.assert_array_equal(jax.vmap(f, (None, 0))(x, y), want)
    pairs = jax.jit(jax.vmap(jax.vmap(f, (0, None)), (None, 0)))(jnp.stack([x, x]), y)
    np.testing.assert_array_equal(pairs, np.stack([want, want], 1))


def test_names_of_mapped_axes():
    def kernel(x, out):
        out[...] = x[...] + lax.axis_index("i")

    f = lambda x: call(kernel, S((2,), F32), x)  # noqa: E731
    with pytest.raises(NotImplementedError, match="refers to the mapped axis 'i' by name"):
        jax.vmap(f, axis_name="i")(jnp.ones((3, 2)))
    with pytest.raises(NameError, match="'i' is not bound"):
        f(jnp.ones(2))


# --- derivatives ------------------------------------------------------------------------------------------------------

def test_jvp():
    tangents = np.float32([1, 0, 2, 0, 3]), np.float32([1, 10, 100])
    want = tangents[0] * np.tile(W, 2)[:5] + X * np.tile(tangents[1], 2)[:5]
    out, slope = jax.jvp(weighed, (X, W), tangents)
    np.testing.assert_allclose(out, plain(X, W))
    np.testing.assert_allclose(slope, want)
    np.testing.assert_allclose(jax.jit(lambda t: jax.jvp(lambda x: weighed(x, W), (X,), (t,))[1])(tangents[0]),
                               tangents[0] * np.tile(W, 2)[:5])
    np.testing.assert_allclose(jax.jacfwd(weighed)(X, W), np.diag(np.tile(W, 2)[:5]))
    out, linear = jax.linearize(jax.jit(weighed), X, W)
    np.testing.assert_allclose(linear(*tangents), want)
    np.testing.assert_allclose(jax.vmap(linear)(*[np.stack([t, 2 * t]) for t in tangents]), [want, 2 * want])


def test_jvp_of_memory_and_numbers():
    def kernel(n, x, y, out, count, tmp, ints):
        tmp[...] = jnp.sin(x[...])
        ints[...] = n[...] + 1
        y[0] = x[0] * 3  # what is written to an operand has a derivative
        out[...] = lax.cond(n[0] > 0, lambda: tmp[...] * x[...], lambda: x[...])
        out[1] += pl.run_scoped(lambda r: (r.set(x[0] ** 2), r[...])[1], pl.ANY((), F32))
        out[0] += y[0]
        count[...] = ints[...]

    def f(x):
        return call(kernel, [S((2,), F32), S((2,), I32)], jnp.array([4, 5]), x, jnp.ones(1),
                    scratch_shapes=[pl.ANY((2,), F32), pl.ANY((2,), I32)])

    def want(x):
        out = jnp.sin(x) * x
        return out.at[1].add(x[0] ** 2).at[0].add(3 * x[0])

    x, t = jnp.array([0.5, 2.]), jnp.array([1., -2.])
    (out, count), (slope, none) = jax.jvp(f, (x,), (t,))
    np.testing.assert_allclose(out, want(x), rtol=1e-6)
    np.testing.assert_allclose(slope, jax.jvp(want, (x,), (t,))[1], rtol=1e-6)
    assert count.tolist() == [5, 6] and none.dtype == jax.dtypes.float0
    twice = jax.jvp(lambda x: jax.jvp(f, (x,), (t,))[1][0], (x,), (t,))[1]
    np.testing.assert_allclose(twice, jax.jvp(lambda x: jax.jvp(want, (x,), (t,))[1], (x,), (t,))[1], rtol=1e-5)


def test_jvp_of_aliases():
    def kernel(a, old, out):
        out[...] = out[...] * a[...]

    def f(a, old):
        return call(kernel, S((2,), F32), a, old, input_output_aliases={1: 0}, grid=2)

    a, old, one = jnp.array([2., 3.]), jnp.array([5., 7.]), jnp.ones(2)
    np.testing.assert_allclose(f(a, old), a * a * old)
    np.testing.assert_allclose(jax.jvp(f, (a, old), (one, one))[1], 2 * a * old + a * a)
    np.testing.assert_allclose(jax.jvp(lambda a: f(a, old), (a,), (one,))[1], 2 * a * old)
    np.testing.assert_allclose(jax.jvp(lambda old: f(a, old), (old,), (one,))[1], a * a)


def test_reverse_mode_names_the_remedy():
    with pytest.raises(ValueError, match="pallas_call of weigh has no reverse-mode derivative.*jax.custom_vjp"):
        jax.grad(lambda x: weighed(x, W).sum())(X)
    with pytest.raises(ValueError, match="no reverse-mode derivative"):
        jax.jit(jax.grad(lambda x: jax.checkpoint(weighed)(x, W).sum()))(X)
    linear = jax.linearize(lambda x: jax.vmap(jax.checkpoint(lambda x: weighed(jnp.sin(x), W)))(x), np.stack([X, 2 * X]))[1]
    np.testing.assert_allclose(linear(np.stack([X, X])), [X * np.cos(s) * np.tile(W, 2)[:5] for s in (X, 2 * X)], rtol=1e-5)
    np.testing.assert_array_equal(jax.grad(lambda x: (lax.stop_gradient(weighed(x, W)) * x).sum())(X), plain(X, W))
    np.testing.assert_array_equal(jax.vjp(lambda x: (weighed(lax.stop_gradient(x), W), x), X)[1]((X, W[0] * X))[0], W[0] * X)


# --- within other programs, and programs about programs -------------------------------------------------------------

def test_calls_within_loops_branches_and_kernels():
    out, _ = lax.scan(lambda x, _: (weighed(x, W), None), X, length=2)
    np.testing.assert_array_equal(out, plain(plain(X, W), W))
    out = jax.jit(lambda p, x: lax.cond(p, lambda: weighed(x, W), lambda: x))(True, X)
    np.testing.assert_array_equal(out, plain(X, W))
    np.testing.assert_array_equal(jax.checkpoint(weighed)(X, W), plain(X, W))

    def outer(x, w, out):
        out[...] = weighed(x[...], w[...]) + 100 * pl.program_id(0)
    np.testing.assert_array_equal(call(outer, S((5,), F32), X, W, grid=3), plain(X, W) + 200)


def test_programs_are_well_formed():
    closed = jax.make_jaxpr(jax.vmap(lambda x: jax.jvp(weighed, (x, W), (x, W))[1]))(np.stack([X, X]))
    jax.core.check_jaxpr(closed.jaxpr)
    assert "pallas_call[" in str(closed) and "name=weigh_jvp" in str(closed)
    assert jax.eval_shape(weighed, S((5,), F32), S((3,), F32)) == S((5,), F32)
    with jax.enable_checks(True), jax.checking_leaks():
        np.testing.assert_array_equal(jax.jit(weighed)(X, W), plain(X, W))
    with jax.disable_jit():
        np.testing.assert_array_equal(weighed(X, W), plain(X, W))
    f = jax.jit(weighed)
    artifact = jax.export.deserialize(jax.export.export(f)(X, W).serialize())
    np.testing.assert_array_equal(artifact.call(X, W), plain(X, W))
    text = jax.jit(lambda x: call(lambda x, out: out.set(x[...]), S((5,), F32), x, name="mine",
                                  metadata={"part": "head"})).lower(X).as_text()
    assert "@mine(" in text and 'part = "head"' in text


def test_64_bit_types():
    with jax.enable_x64(True):
        def kernel(x, n, out):
            out[...] = x[...] * n[pl.program_id(0)]
        x = np.arange(6, dtype=np.float64) + 1e-12
        spec = B((3,), lambda i: i)
        out = call(kernel, S((6,), jnp.float64), x, np.array([1, 2**40]), grid=2, in_specs=[spec, B()], out_specs=spec)
        np.testing.assert_array_equal(out, x * np.repeat([1, 2**40], 3))


def test_parts_on_several_devices(devices):
    mesh = jax.sharding.Mesh(np.array(devices[:2]), ("d",))
    x = jax.device_put(np.stack([X, X + 1]), jax.NamedSharding(mesh, P("d")))
    f = jax.shard_map(lambda x: jax.vmap(lambda r: weighed(r, W))(x), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    np.testing.assert_array_equal(jax.jit(f)(x), [plain(X, W), plain(X + 1, W)])
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda r: weighed(r, W)))(x), [plain(X, W), plain(X + 1, W)])


def test_the_search_for_nan_looks_into_kernels():
    def kernel(x, out, tmp):
        tmp[...] = jnp.log(x[...])  # the line
        out[0] = tmp[0]

    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="(?s)NaN in the result of log, at .*# the line") as e:
        call(kernel, S((2,), F32), jnp.array([-1., 1.]), grid=2, scratch_shapes=[pl.ANY((2,), F32)])
    assert "step 0 of a loop of 2 steps" in e.value.__notes__[0]


def test_automatic_checks_look_into_kernels():
    def kernel(x, at, out):
        out[...] = jnp.log(x[...]) + x[at[0]]

    f = lambda x, at: call(kernel, S((2,), F32), x, at, grid=2)  # noqa: E731
    look = checkify.checkify(f, errors=checkify.float_checks | checkify.index_checks)
    assert look(jnp.ones(2), jnp.array([1]))[0].get() is None
    assert "nan generated by primitive: log" in look(-jnp.ones(2), jnp.array([1]))[0].get()
    assert "out-of-bounds" in look(jnp.ones(2), jnp.array([5]))[0].get()
    spec = B((4,), lambda i: i)

    def divide(x, y, out):
        out[...] = jnp.sqrt(x[...]) / y[...]

    def ragged(x, y):
        return call(divide, S((6,), F32), x, y, grid=2, in_specs=[spec, spec], out_specs=spec)

    error, out = checkify.checkify(ragged, errors=checkify.float_checks)(jnp.ones(6), jnp.ones(6))
    assert error.get() is None and out.tolist() == [1.] * 6  # padding divided by padding is nobody's business
    assert "division by zero" in checkify.checkify(ragged, errors=checkify.float_checks)(jnp.ones(6), jnp.zeros(6))[0].get()
    error, _ = jax.vmap(look, (0, None))(jnp.array([[1., 1.], [1., -1.]]), jnp.array([0]))
    assert "mapped index 1" in error.get() and "mapped index 0" not in error.get()
