"""Where things are computed and laid out: ``compute_on``, ``shard_alike``, ``topologies``."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.experimental.compute_on import compute_on
from jax.experimental.shard_alike import shard_alike
from jax.memory import Space

# --- compute_on -----------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_a_block_on_the_host():
    def f(x):
        with compute_on("device_host"):
            y = jnp.sin(x)
        return jnp.cos(y)
    text = jax.jit(f).lower(1.0).as_text()
    assert text.count('_xla_compute_type = "host"') == 1 and "sine" in text.split("_xla_compute_type")[0].splitlines()[-1]
    np.testing.assert_allclose(jax.jit(f)(1.0), np.cos(np.sin(1)), rtol=1e-6)


def test_functions_elsewhere():
    def f(x):
        return {"s": jnp.sin(x)}
    host = compute_on(f, compute_type="device_host", out_memory_spaces={"s": Space.Device})
    stream = compute_on(compute_type="gpu_stream:1", out_memory_spaces=Space.Device, compiler_options={"a": 1})(f)
    for g in (host, jax.jit(host), stream, jax.vmap(stream)):
        np.testing.assert_allclose(g(jnp.ones(2))["s"], np.sin(np.ones(2)), rtol=1e-6)
    assert jax.grad(lambda x: host(x)["s"])(0.0) == 1.0
    text = jax.jit(stream).lower(1.0).as_text()
    assert '_xla_stream_annotation = "1"' in text and r'backend_config = "{\22a\22: 1}"' in text


@pytest.mark.parametrize("call, error, text", [
    (lambda: compute_on("moon"), ValueError, "no compute type 'moon'; there are 'device', 'device_host'"),
    (lambda: compute_on("tpu_sparsecore"), NotImplementedError, "a part of TPUs, and the platform is"),
    (lambda: compute_on(jnp.sin), TypeError, "takes a compute type"),
    (lambda: compute_on(jnp.sin, compute_type="device"), TypeError, "out_memory_spaces says where the results"),
    (lambda: compute_on("device", compiler_options={"a": 1}), TypeError, "compiler_options are for functions"),
])
def test_misuse_of_compute_on(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- shard_alike ----------------------------------------------------------------------------------------------------

def test_alike_over_devices(devices):
    mesh = jax.sharding.Mesh(np.array(devices[:4]), ("x",))
    x = jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, jax.P("x")))

    def f(x):
        return shard_alike(x, jnp.arange(8.0) * 3)[1] + 1
    assert jax.jit(f)(x).sharding.spec == jax.P("x")
    assert jax.jit(f).lower(x).as_text().count("sdy.sharding_group") == 2


@pytest.mark.quick
def test_alike_under_transformations():
    x = jnp.arange(3.0)
    assert jax.grad(lambda x: shard_alike(x, x * 2)[1].sum())(x).tolist() == [2, 2, 2]
    assert jax.jvp(lambda x: shard_alike(x, x * 2)[1], (x,), (x,))[1].tolist() == [0, 2, 4]
    a, b = jax.vmap(lambda x: shard_alike(x, jnp.float32(1)))(x)
    assert b.tolist() == [1, 1, 1] and a.tolist() == x.tolist()
    with pytest.raises(ValueError, match=r"equal shapes, got f32\[3\] and f32\[2\]"):
        shard_alike(x, jnp.ones(2))
    with pytest.raises(ValueError, match="trees of one structure"):
        shard_alike((x, x), x)


# --- topologies -----------------------------------------------------------------------------------------------------

def test_attached_devices():
    topo = topologies.get_attached_topology()
    assert topo.devices == jax.devices()
    n = len(topo.devices)
    assert topologies.make_mesh(topo, (1, n), ("a", "b")).shape == {"a": 1, "b": n}
    with pytest.raises(ValueError, match="takes 6 devices"):
        topologies.make_mesh(topologies.TopologyDescription(jax.devices()[:1]), (2, 3), ("a", "b"))
    if jax._base._jaxlib.jaxlib_version < (0, 11):
        with pytest.raises(NotImplementedError, match="it takes jaxlib 0.11"):
            topo.serialize()
    else:
        again = topologies.TopologyDescription.deserialize(topo.serialize())
        assert [d.id for d in again.devices] == [d.id for d in topo.devices]
        with pytest.raises(ValueError, match="these bytes describe no topology"):
            topologies.TopologyDescription.deserialize(b"other")


@pytest.mark.parametrize("platform, text", [("cpu", "CPUs have no topologies"), (None, "no plugin for the platform 'tpu'")])
def test_devices_that_are_not_there(platform, text):
    with pytest.raises(NotImplementedError, match=f"{text}.*get_attached_topology"):
        topologies.get_topology_desc("v5e:2x2", platform)
