"""Arrays of processes and of all, in one process: values, types, transformations. Several: tests/spmd/test_processes.py."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils as together

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))


@pytest.mark.quick
def test_there_and_back(mesh):
    whole = together.host_local_array_to_global_array({"a": X}, mesh, jax.P("x"))["a"]
    assert whole.sharding == jax.NamedSharding(mesh, jax.P("x")) and np.array_equal(whole, X)
    part = together.global_array_to_host_local_array(whole, mesh, jax.P("x"))
    assert part.sharding == jax.NamedSharding(mesh.local_mesh, jax.P("x")) and np.array_equal(part, X)
    keys = jax.random.split(jax.random.key(0), 2)
    back = together.global_array_to_host_local_array(
        together.host_local_array_to_global_array(keys, mesh, jax.P("x")), mesh, jax.P("x"))
    assert jnp.array_equal(jax.random.key_data(back), jax.random.key_data(keys))
    params = {"global_mesh": mesh, "pspec": jax.P("x")}
    for rule in (together.ltg_abstract_eval, together.gtl_abstract_eval):
        assert rule(jax.typeof(X), **params) == jax.typeof(X)
    for impl in (together.host_local_array_to_global_array_impl, together.global_array_to_host_local_array_impl):
        assert np.array_equal(impl(X, **params), X)


@pytest.mark.parametrize("name", ["host_local_array_to_global_array", "global_array_to_host_local_array"])
def test_transformations(mesh, name):
    convert = getattr(together, name)
    f = lambda x: convert(x, mesh, jax.P("x"))  # noqa: E731
    assert np.array_equal(jax.jit(f)(X), X)
    out, tangent = jax.jvp(f, (X,), (2 * X,))
    assert np.array_equal(out, X) and np.array_equal(tangent, 2 * X)
    assert np.array_equal(jax.grad(lambda x: (f(x) * X).sum())(X), X)
    (eqn,) = jax.make_jaxpr(jax.linear_transpose(f, X))(X).eqns
    inverse = {"host_local_array_to_global_array", "global_array_to_host_local_array"} - {name}
    assert eqn.primitive.name in inverse
    for axis, spec, in_spec in ((None, jax.P("x", None), jax.P("x")), ("x", jax.P(None, "x"), jax.P(None))):
        mapped = jax.vmap(lambda x, s=in_spec: convert(x, mesh, s), in_axes=1, out_axes=1, spmd_axis_name=axis)
        (eqn,) = jax.make_jaxpr(mapped)(X).eqns
        assert eqn.params["pspec"] == spec
        assert np.array_equal(mapped(X), X)


def test_types_of_several_processes():
    class TwoProcesses:  # a mesh of which half the devices are this process's
        local_mesh = jax.sharding.AbstractMesh((2, 2), ("x", "y"))

    whole = jax.sharding.AbstractMesh((4, 2), ("x", "y"))
    mesh = TwoProcesses()
    parts = {id(mesh): whole}

    def count(m, spec, ndim):
        sizes = dict(parts.get(id(m), m).shape)
        return tuple(sizes.get(spec[d], 1) if d < len(spec) else 1 for d in range(ndim))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_parts", count)
        params = {"global_mesh": mesh, "pspec": jax.P("x", "y")}
        local = jax.ShapeDtypeStruct((2, 4), np.float32, weak_type=False)
        assert together.ltg_abstract_eval(local, **params).shape == (4, 4)
        assert together.gtl_abstract_eval(jax.ShapeDtypeStruct((4, 4), np.float32), **params).shape == (2, 4)
        with pytest.raises(ValueError, match=r"shape \(3, 4\) is not divided evenly into \(2, 2\) parts"):
            together.ltg_abstract_eval(jax.ShapeDtypeStruct((3, 4), np.float32), **params)
