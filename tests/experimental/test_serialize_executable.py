"""Compiled functions as bytes and back."""

import pickle

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental.serialize_executable import deserialize_and_load, serialize


@pytest.fixture(scope="module")
def compiled():
    table = jnp.arange(5000.0)  # large enough to be no part of the program's text
    return jax.jit(lambda d, n, unused: {"y": jnp.sin(d["x"]) + table[1] * n}).lower({"x": jnp.ones(3)}, 2, 1.0).compile()


@pytest.mark.quick
def test_round_trip(compiled):
    data, in_tree, out_tree = serialize(compiled)
    loaded = deserialize_and_load(data, pickle.loads(pickle.dumps(in_tree)), out_tree)
    np.testing.assert_array_equal(loaded({"x": jnp.ones(3)}, 3, 0.0)["y"], np.sin(np.ones(3, np.float32)) + 3)
    assert loaded.in_avals == compiled.in_avals and loaded.out_info == compiled.out_info
    assert serialize(loaded)[0] is not None
    with pytest.raises(TypeError, match=r"compiled for f32\[3\], called with f32\[4\]"):
        loaded({"x": jnp.ones(4)}, 3, 0.0)
    with pytest.raises(TypeError, match="transformations cannot look into it"):
        jax.grad(lambda x: loaded({"x": x}, 3, 0.0)["y"].sum())(jnp.ones(3))


def test_over_a_mesh_and_on_other_devices(devices):
    mesh = jax.sharding.Mesh(np.array(devices[:4]), ("x",))
    x = jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, jax.P("x")))
    data, *trees = serialize(jax.jit(lambda x: x * 2).lower(x).compile())
    with pytest.raises(ValueError, match="runs on 4 devices, and execution_devices names 2"):
        deserialize_and_load(data, *trees, execution_devices=devices[:2])
    out = deserialize_and_load(data, *trees, execution_devices=devices[4:])(
        jax.device_put(x, jax.NamedSharding(jax.sharding.Mesh(np.array(devices[4:]), ("x",)), jax.P("x"))))
    assert out.tolist() == list(range(0, 16, 2)) and out.sharding.spec == jax.P("x")
    assert {d.id for d in out.devices()} == {d.id for d in devices[4:]}


def test_misuse(compiled):
    with pytest.raises(TypeError, match=r"takes a compiled function, jax.jit\(f\).lower\(...\).compile\(\)"):
        serialize(jnp.sin)
    with pytest.raises(NotImplementedError, match="has effects.*leave callbacks"):
        serialize(jax.jit(lambda x: jax.pure_callback(np.sin, x, x)).lower(1.0).compile())
    with pytest.raises(NotImplementedError, match=r"type key<fry>\[\].*key_data"):
        serialize(jax.jit(jax.random.bits).lower(jax.random.key(0)).compile())
    data, *trees = serialize(compiled)
    with pytest.raises(ValueError, match="these are no bytes of"):
        deserialize_and_load(b"other", *trees)
    with pytest.raises(ValueError, match="the bytes are damaged"):
        deserialize_and_load(data[:-500], *trees)
