"""Python functions on the buffers of programs."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental.buffer_callback import Buffer, ExecutionStage, buffer_callback

S = jax.ShapeDtypeStruct((3,), jnp.float32)
X = jnp.arange(3.0)


def double(context, out, x):
    assert context.stage == ExecutionStage.EXECUTE and isinstance(out, Buffer) and out.writeable and not x.writeable
    np.asarray(out)[...] = np.asarray(x) * 2


@pytest.mark.quick
def test_results_are_written_in_place():
    f = buffer_callback(double, S)
    assert f(X).tolist() == [0, 2, 4]
    assert jax.jit(lambda x: f(x + 1) + 1)(X).tolist() == [3, 5, 7]
    assert jax.lax.fori_loop(0, 3, lambda i, x: f(x), X).tolist() == [0, 8, 16]

    def trees(context, out, d, *, k):
        np.copyto(np.asarray(out["sum"]), np.asarray(d["x"]) + np.asarray(k))
    g = buffer_callback(trees, {"sum": S, "empty": jax.ShapeDtypeStruct((0, 2), jnp.int32)})
    out = g({"x": X}, k=jnp.float32(3))
    assert out["sum"].tolist() == [3, 4, 5] and out["empty"].shape == (0, 2)


def test_aliases():
    def increment(context, out, x):
        np.asarray(out)[...] += 1
    f = buffer_callback(increment, S, input_output_aliases={0: 0}, has_side_effect=True)
    assert f(X).tolist() == [1, 2, 3] and X.tolist() == [0, 1, 2]
    for aliases, text in (({1: 0}, "has 1 arguments and 1 results"), ({0: 0}, r"type f32\[4\], the memory of result 0")):
        with pytest.raises(ValueError, match=text):
            buffer_callback(increment, S, input_output_aliases=aliases)(jnp.ones(4))


def test_side_effects_stay():
    seen = []
    f = buffer_callback(lambda context, out, x: seen.append(np.asarray(x).copy()), (), has_side_effect=True)
    jax.jit(lambda x: (f(x), x)[1])(X).block_until_ready()
    jax.effects_barrier()
    assert [s.tolist() for s in seen] == [[0, 1, 2]]


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "broadcast_all", "expand_dims"])
def test_batches(method):
    f = buffer_callback(double, S, vmap_method=method)
    assert jax.jit(jax.vmap(f))(jnp.ones((2, 3))).tolist() == [[2, 2, 2]] * 2


def test_parts_over_devices(devices):
    mesh = jax.sharding.Mesh(np.array(devices[:2]), ("x",))
    x = jax.device_put(jnp.arange(6.0), jax.NamedSharding(mesh, jax.P("x")))
    f = buffer_callback(double, S)
    assert jax.jit(jax.shard_map(f, mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x")))(x).tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(NotImplementedError, match="call it in jax.shard_map"):
        jax.jit(buffer_callback(double, jax.ShapeDtypeStruct((6,), jnp.float32)))(x)


def test_misuse():
    def fails(context, out, x):
        raise LookupError("nothing there")
    with pytest.raises(LookupError, match="nothing there"):
        jax.block_until_ready(buffer_callback(fails, S)(X))
    with pytest.raises(ValueError, match="cannot be differentiated.*custom_jvp"):
        jax.grad(lambda x: buffer_callback(double, S)(x).sum())(X)
    with pytest.raises(NotImplementedError, match="pass vmap_method, one of 'sequential'"):
        jax.vmap(buffer_callback(double, S))(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        buffer_callback(double, S, vmap_method="other")
    with pytest.raises(NotImplementedError, match="key_data"):
        buffer_callback(double, S)(jax.random.key(0))
    with pytest.raises(TypeError, match="takes a function"):
        buffer_callback(3, S)
