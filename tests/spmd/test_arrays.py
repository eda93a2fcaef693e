"""Arrays over several devices: putting them there, putting them together, their pieces, operations on them."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh

P = jax.P
X = np.arange(32.0, dtype=np.float32).reshape(8, 4)


def same(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@pytest.mark.quick
def test_device_put_and_pieces(over, devices):
    x = jax.device_put(X, over("x", "y"))
    same(x, X)
    assert x.committed and x.devices() == set(devices) and not x.is_fully_replicated
    assert [s.device for s in x.addressable_shards] == devices
    for s in x.global_shards:
        same(s.data, X[s.index])
        assert s.replica_id == 0 and s.data.devices() == {s.device}
    rows = jax.device_put(X, over("x"))
    assert sorted(s.replica_id for s in rows.addressable_shards) == [0, 0, 1, 1, 2, 2, 3, 3]
    shard = jax.Shard(devices[5], rows.sharding, (8, 4))
    assert shard.index == (slice(4, 8), slice(None)) and shard.replica_id == 1 and shard.data is None
    with pytest.raises(ValueError, match="no device of"):
        jax.Shard(jax.devices()[0], rows.sharding, (8, 4)).index  # noqa: B018


def test_device_put_moves_between_layouts(over, mesh):
    x = jax.device_put(X, over("x", "y"))
    for sharding in (over("y", "x"), over(None, ("x", "y")), over(), over(("y", "x"))):
        if sharding.spec == P(None, ("x", "y")):
            with pytest.raises(ValueError, match="multiple of 8"):
                jax.device_put(x, sharding)
            continue
        moved = jax.device_put(x, sharding)
        assert moved.sharding == sharding
        same(moved, X)
    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), over("x"))
    assert keys.sharding.spec == P("x")
    tree = jax.device_put({"a": X, "b": 1.0}, {"a": over("y"), "b": None})
    assert tree["a"].sharding.spec == P("y") and not tree["b"].committed
    with jax.set_mesh(mesh):
        assert jax.device_put(X, P("y")).sharding == over("y")
    with pytest.raises(RuntimeError, match="no mesh is current"):
        jax.device_put(X, P("y"))
    with pytest.raises(ValueError, match="is none of the mesh's axes"):
        jax.NamedSharding(mesh, P("z"))


@pytest.mark.quick
def test_operations_keep_layouts(over):
    x = jax.device_put(X, over("x", "y"))
    assert (x + 1).sharding == over("x", "y")
    assert jnp.sin(x).T.sharding.spec == P("y", "x")
    assert jnp.sum(x, 0).sharding.spec == P("y")
    same(jnp.sum(x, 0), X.sum(0))
    same(x @ x.T, X @ X.T)
    same(x[3], X[3])
    same(x.at[2].set(0), np.where(np.arange(8)[:, None] == 2, 0, X))
    same(jax.grad(lambda v: jnp.sum(jnp.sin(v) ** 2))(x), np.sin(2 * X))
    same(jax.lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(4), x)[0], X.sum(0))
    same(jnp.sort(x, axis=0), X)
    normal = jax.vmap(lambda k: jax.random.normal(k, (3,)))
    keys = jax.random.split(jax.random.key(0), 8)
    np.testing.assert_array_equal(np.asarray(normal(jax.device_put(keys, over("x")))), np.asarray(normal(keys)))


def test_arrays_of_other_devices_are_refused(over):
    x = jax.device_put(X, over("x"))
    other = jax.device_put(np.float32(1), jax.devices()[0])
    with pytest.raises(ValueError, match="committed to other devices.*\n.*x \\(f32\\[8,4\\]\\)") as error:
        x + other
    assert "jax.device_put(x, sharding)" in str(error.value)


@pytest.mark.quick
def test_make_array_from_callback(over):
    calls = []

    def rows(index):
        calls.append(index)
        return X[index]

    same(jax.make_array_from_callback((8, 4), over("x"), rows), X)
    assert len(calls) == 2
    assert jax.make_array_from_callback((8, 4), over("y"), rows, dtype=jnp.bfloat16).dtype == jnp.bfloat16
    keys = jax.random.split(jax.random.key(0), 8)
    made = jax.make_array_from_callback((8,), over("x"), lambda index: keys[index])
    np.testing.assert_array_equal(jax.random.key_data(made), jax.random.key_data(keys))
    with pytest.raises(ValueError, match="shape \\(3, 4\\) for the index"):
        jax.make_array_from_callback((8, 4), over("x"), lambda index: X[:3])
    with pytest.raises(TypeError, match="Sharding"):
        jax.make_array_from_callback((8, 4), "x", rows)


@pytest.mark.quick
def test_make_array_from_single_device_arrays(over, devices):
    pieces = [jax.device_put(X[4 * (i // 4):4 * (i // 4) + 4], d) for i, d in enumerate(devices)]
    same(jax.make_array_from_single_device_arrays((8, 4), over("x"), pieces[::-1]), X)
    with pytest.raises(ValueError, match="8 devices.*got 7"):
        jax.make_array_from_single_device_arrays((8, 4), over("x"), pieces[1:])
    with pytest.raises(ValueError, match="pieces of shape"):
        jax.make_array_from_single_device_arrays((8, 4), over("y"), pieces)
    with pytest.raises(ValueError, match="dtype is int32"):
        jax.make_array_from_single_device_arrays((8, 4), over("x"), pieces, dtype=np.int32)
    with pytest.raises(TypeError, match="list or tuple"):
        jax.make_array_from_single_device_arrays((8, 4), over("x"), X)


@pytest.mark.quick
def test_make_array_from_process_local_data(over):
    same(jax.make_array_from_process_local_data(over("x"), X), X)
    tree = jax.make_array_from_process_local_data(over("x"), {"a": X, "b": X[:, 0]})
    assert tree["b"].shape == (8,)
    with pytest.raises(ValueError, match="dimension 0 of local_data has length 8; it must be 16"):
        jax.make_array_from_process_local_data(over("x"), X, (16, 4))


def test_device_put_sharded_and_replicated(devices):
    with pytest.warns(DeprecationWarning, match="device_put_sharded is deprecated"):
        x = jax.device_put_sharded([X[i] for i in range(8)], devices)
    same(x, X)
    assert [s.data.shape for s in x.addressable_shards] == [(1, 4)] * 8
    with pytest.warns(DeprecationWarning, match="device_put_replicated is deprecated"):
        y = jax.device_put_replicated({"a": X[0]}, devices)
    same(y["a"], np.tile(X[0], (8, 1)))
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="7 shards for 8 devices"):
        jax.device_put_sharded([X[0]] * 7, devices)
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="shard 1 is"):
        jax.device_put_sharded([X[0], X[0, :3]], devices[:2])
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="at least one"):
        jax.device_put_replicated(X, [])


def test_visualize(over, capsys):
    jax.debug.visualize_array_sharding(jax.device_put(X, over("x", "y")))
    text = capsys.readouterr().out
    assert all(f"CPU {i}" in text for i in range(8)) and text.count("├") == 1
    seen = []

    @jax.jit
    def f(v):
        jax.debug.inspect_array_sharding(jnp.sin(v).T, callback=seen.append)
        return v * 2

    x = jax.device_put(X, over("x", "y"))
    same(f(x), 2 * X)
    assert seen == [over("y", "x")]
    same(jax.grad(lambda v: f(v).sum())(x), np.full((8, 4), 2))
    jax.jit(lambda v: jax.debug.visualize_array_sharding(v))(x)
    assert capsys.readouterr().out == text
    with pytest.raises(TypeError, match="inspect_array_sharding takes a function"):
        jax.debug.inspect_array_sharding(x, callback=3)


@pytest.mark.quick
def test_make_mesh(devices):
    made = jax.make_mesh((2, 4), ("a", "b"), devices=devices)
    assert dict(made.shape) == {"a": 2, "b": 4} and made.axis_types == (AxisType.Explicit,) * 2
    assert jax.make_mesh((2,), ("a",), (AxisType.Auto,), devices=devices).size == 2
    with pytest.raises(ValueError, match="takes 16 devices, and there are 8"):
        jax.make_mesh((16,), ("a",), devices=devices)
    with pytest.raises(ValueError, match="jax_num_cpu_devices"):
        jax.make_mesh((1000,), ("a",))
    with pytest.raises(ValueError, match="2 axis sizes"):
        jax.make_mesh((2, 4), ("a",), devices=devices)


@pytest.mark.quick
def test_current_mesh(mesh, over):
    assert jax.sharding.get_mesh().empty
    with jax.set_mesh(mesh):
        assert jax.get_mesh() is mesh and jax.get_abstract_mesh().axis_names == ("x", "y")
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh
        with mesh:
            assert jax.sharding.get_mesh() is mesh
    assert jax.sharding.get_mesh().empty
    setting = jax.set_mesh(mesh)
    assert jax.sharding.get_mesh() is mesh and setting.prev_mesh.empty
    jax.set_mesh(None)
    assert jax.sharding.get_mesh().empty
    with pytest.raises(TypeError, match="use_abstract_mesh"):
        jax.set_mesh(mesh.abstract_mesh)
    with pytest.raises(TypeError, match="abstract_mesh"):
        jax.sharding.use_abstract_mesh(mesh)


def test_reshard_and_axes(devices):
    mesh = jax.make_mesh((2, 4), ("x", "y"), devices=devices)
    x = jax.device_put(X, jax.NamedSharding(mesh, P("x")))
    assert jax.reshard(x, jax.NamedSharding(mesh, P(None, "y"))).sharding.spec == P(None, "y")
    with jax.set_mesh(mesh):
        assert jax.jit(lambda v: jax.reshard(v * 2, P("y")))(x).sharding.spec == P("y")
        double = jax.sharding.auto_axes(lambda v: v * 2, out_sharding=P(None, "y"))
        assert jax.jit(double)(x).sharding.spec == P(None, "y")
        seen = jax.sharding.explicit_axes(lambda v: v + 1, in_sharding=P("y"))(x)
        same(seen, X + 1)
        with pytest.raises(ValueError, match="axes=.z."):
            jax.sharding.auto_axes(lambda v: v, axes="z", out_sharding=P())(x)
    with pytest.raises(TypeError, match="out_sharding"):
        jax.sharding.auto_axes(lambda v: v)(x)
    automatic = Mesh(mesh.devices, ("x", "y"))
    with pytest.raises(ValueError, match="with_sharding_constraint"):
        jax.reshard(x, jax.NamedSharding(automatic, P("x")))


def test_shardings_by_position(devices):
    with pytest.warns(DeprecationWarning, match="NamedSharding"):
        grid = jax.sharding.PositionalSharding(devices).reshape(4, 2)
    x = jax.device_put(X, grid)
    same(x, X)
    assert x.addressable_shards[0].data.shape == (2, 2)
    same(jax.device_put(x, grid.T.reshape(8, 1)), X)
    assert jax.device_put(X, grid.replicate(1)).addressable_shards[1].data.shape == (2, 4)
    same(x @ x.T, X @ X.T)
    with pytest.warns(DeprecationWarning):
        sliced = jax.sharding.PmapSharding.default((8, 4), 0, devices)
    assert [s.data.shape for s in jax.device_put(X, sliced).addressable_shards] == [(1, 4)] * 8
    with pytest.raises(ValueError, match="one slice for each"):
        jax.sharding.PmapSharding.default((7, 4), 0, devices)


@pytest.mark.quick
def test_kinds():
    kind = jax.sharding.ManualAxisType(varying={"x"}, unreduced={"y"})
    assert kind.to_ct_mat().reduced == {"y"} and kind.invarying(("x", "z")) == {"z"} and not kind.empty
    assert kind == kind.update() and hash(kind) == hash(kind.update())
    with pytest.raises(ValueError, match="several"):
        jax.sharding.ManualAxisType(varying={"x"}, reduced={"x"})
    spec = P("x", unreduced={"y"}, unreduced_kind=jax.sharding.UnreducedKind.max)
    assert spec.unreduced_kind is jax.sharding.UnreducedKind.max
    with pytest.raises(ValueError, match="no axis is unreduced"):
        P("x", unreduced_kind=jax.sharding.UnreducedKind.sum)


def test_grids_of_devices(devices):
    from jax.experimental import mesh_utils  # its own module, seldom needed

    assert mesh_utils.create_device_mesh((4, 2), devices)[3, 1] is devices[7]
    grid = mesh_utils.create_hybrid_device_mesh((2, 4), (1, 1), devices, process_is_granule=True)
    assert grid.shape == (2, 4)
    with pytest.raises(ValueError, match="takes 4 devices, and there are 8"):
        mesh_utils.create_device_mesh((2, 2), devices)
    with pytest.raises(ValueError, match="2 groups, and there are 1"):
        mesh_utils.create_hybrid_device_mesh((2, 4), (2, 1), devices, process_is_granule=True)
    with pytest.raises(ValueError, match="process_is_granule"):
        mesh_utils.create_hybrid_device_mesh((2, 4), (1, 1), devices)


def test_made_in_place(over, mesh):
    """Creation and operations that are told where results go; arrays like others go where those are."""
    x = jax.device_put(X, over("x", "y"))
    for made in (jnp.zeros_like(x), jnp.ones_like(x), jnp.full_like(x, 3), jnp.empty_like(x), jax.lax.full_like(x, 2.0)):
        assert made.sharding == over("x", "y") and made.committed
    assert jnp.zeros_like(x, shape=(3,)).sharding != over("x", "y")
    assert jnp.zeros_like(x, device=over("y")).sharding == over("y")
    for make in (lambda s: jnp.zeros((8, 4), device=s), lambda s: jnp.arange(8, device=s),
                 lambda s: jnp.full(8, 2.0, device=s), lambda s: jnp.asarray(X, device=s), lambda s: x.to_device(s)):
        assert make(over("x")).sharding == over("x")
    for f in (lambda v, s: jax.lax.dot_general(v, v, (((1,), (1,)), ((), ())), out_sharding=s),
              lambda v, s: jax.lax.reshape(v, (32,), out_sharding=s),
              lambda v, s: jax.lax.broadcast_in_dim(v, (8, 4, 2), (0, 1), out_sharding=s),
              lambda v, s: jax.lax.reduce_sum(v, (1,), out_sharding=s),
              lambda v, s: v.at[jnp.arange(4)].get(out_sharding=s),
              lambda v, s: jnp.zeros((8,), device=s)):
        assert f(x, over("y")).sharding == over("y")
        assert jax.jit(lambda v: f(v, over("y")))(x).sharding == over("y")  # noqa: B023
    with jax.set_mesh(mesh):
        assert jax.lax.reshape(x, (32,), out_sharding=P("x")).sharding == over("x")
        assert jax.jit(lambda: jnp.zeros(8, out_sharding=P("y")))().sharding == over("y")
    with pytest.raises(RuntimeError, match="reshape.*no mesh is current"):
        jax.lax.reshape(x, (32,), out_sharding=P("x"))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        jax.lax.reshape(x, (32,), out_sharding=over("x", "y"))
