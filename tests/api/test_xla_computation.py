"""``xla_computation`` and ``make_jaxpr``: programs as objects, with named axes, partitions, donation."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

pytestmark = pytest.mark.quick


def text_of(f, *args, **options):
    with pytest.warns(DeprecationWarning, match=r"jax.jit\(fun\).lower\(\*args\).compiler_ir\('hlo'\)"):
        made = jax.xla_computation(f, **options)
    return made(*args).as_hlo_text()


def test_what_the_result_offers():
    def f(x):
        return jnp.sin(jnp.cos(x))

    with pytest.warns(DeprecationWarning) as caught:
        made = jax.xla_computation(f)
    assert caught[0].filename == __file__
    computation = made(3.0)
    text = computation.as_hlo_text()
    assert re.search(r"ROOT \S+ = \(f32\[\]\) tuple\(\S*sin", text) and "cosine" in text
    assert computation.name() == "xla_computation_f"
    assert str(computation.program_shape()) == "(p0: f32[]) -> (f32[])"
    assert computation.as_hlo_dot_graph().startswith("digraph")
    again = type(computation)(computation.as_serialized_hlo_module_proto())
    assert again.as_hlo_text() == text
    assert made.__name__ == "f"


def test_trees_static_arguments_and_shapes():
    def f(params, n, *, scale):
        return {"out": params["w"] * n * scale}

    with pytest.warns(DeprecationWarning):
        made = jax.xla_computation(f, static_argnums=1, return_shape=True)
    computation, shape = made({"w": np.ones((2, 3), np.float32)}, 5.0, scale=np.float32(2))
    assert str(computation.program_shape()) == "(p0: f32[2,3], p1: f32[]) -> (f32[2,3])"
    assert shape == {"out": jax.ShapeDtypeStruct((2, 3), np.float32)}
    assert "constant(5)" in computation.as_hlo_text()
    struct = jax.ShapeDtypeStruct((4,), np.float32)
    assert "f32[4]" in text_of(lambda x: x + 1, struct)


def test_unused_arguments_and_captured_arrays_belong_to_it():
    big = np.arange(500, dtype=np.float32)
    text = text_of(lambda x, unused: x + big, np.float32(1), np.int32(2))
    assert "(f32[], s32[])->(f32[500]{0})" in text and "constant({" in text


def test_one_tuple_of_arguments():
    assert "((f32[], f32[]))->" in text_of(lambda x, y: x + y, 1.0, 2.0, tuple_args=True)
    assert "(f32[], f32[])->" in text_of(lambda x, y: x + y, 1.0, 2.0, tuple_args=None)
    many = [1.0] * 101
    assert "ROOT" in text_of(lambda xs: sum(xs), many, tuple_args=None)
    assert "arg_tuple" in text_of(lambda xs: sum(xs), many, tuple_args=None)


def test_donation():
    x = np.ones(3, np.float32)
    text = text_of(lambda a, b: (a + 1, b.sum()), x, x, donate_argnums=0)
    assert "input_output_alias={ {0}: (0, {}, may-alias) }" in text
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="static arguments cannot be donated"):
        jax.xla_computation(lambda a: a, static_argnums=0, donate_argnums=0)


@pytest.mark.parametrize("f, expected", [
    (lambda x: lax.psum(x, "i"), "all-reduce.*replica_groups={{0,2,4,6},{1,3,5,7}}"),
    (lambda x: lax.psum(x, "j"), "all-reduce.*replica_groups={{0,1},{2,3},{4,5},{6,7}}"),
    (lambda x: lax.pmax(x, ("i", "j")), "all-reduce.*replica_groups={{0,1,2,3,4,5,6,7}}"),
    (lambda x: lax.pmean(x, "i"), "all-reduce.*replica_groups={{0,2,4,6},{1,3,5,7}}"),
    (lambda x: lax.all_gather(x, "j"), "all-gather.*replica_groups={{0,1},"),
    (lambda x: lax.ppermute(x, "i", [(0, 1)]), "collective-permute.*{{0,2},{1,3}}"),
    (lambda x: lax.axis_index("i"), "replica-id"),
    (lambda x: jax.grad(lambda y: lax.psum(y * y, "i"))(x), "all-reduce"),
    (lambda x: jax.jit(lambda y: lax.psum(y, "i"))(x), "all-reduce"),
    (lambda x: lax.scan(lambda c, _: (lax.psum(c, "i"), None), x, length=3)[0], "all-reduce"),
])
def test_named_axes(f, expected):
    text = text_of(f, np.float32(2), axis_env=[("i", 4), ("j", 2)])
    assert re.search(".*".join(map(re.escape, expected.split(".*"))), text)
    assert "use_global_device_ids" not in text and "partition-id" not in text and "channel_id" not in text


def test_a_name_that_is_not_bound():
    with pytest.warns(DeprecationWarning), pytest.raises(NameError, match="'k' is not bound here"):
        jax.xla_computation(lambda x: lax.psum(x, "k"), axis_env=[("i", 4)])(1.0)


def test_partitions():
    a, b = np.ones((4, 6), np.float32), np.ones((6, 2), np.float32)
    text = text_of(lambda x, y: x @ y, a, b, in_parts=((2, 1), None), out_parts=(2, 1))
    assert "parameter(0), sharding={devices=[2,1]<=[2]}" in text
    assert "parameter(1), sharding={replicated}" in text
    assert "sharding={{devices=[2,1]<=[2]}}" in text
    text = text_of(lambda p: (p["x"], p["y"]), {"x": a, "y": b}, in_parts=({"x": (2, 3), "y": (6, 1)},), out_parts=None)
    assert "devices=[2,3]<=[6]" in text and "devices=[6,1]<=[6]" in text


@pytest.mark.parametrize("options, message", [
    ({"in_parts": ((3, 1), None)}, r"in_parts has \(3, 1\) for an array of shape \(4, 6\)"),
    ({"in_parts": ((2,), None)}, "one number of parts for each dimension"),
    ({"in_parts": ((2, 1), (3, 1))}, r"different numbers of devices: \[2, 3\]"),
    ({"in_parts": (None, None, None)}, "in_parts must be a prefix of the tree"),
    ({"out_parts": (None, None)}, "out_parts must be a prefix of the tree"),
])
def test_partitions_that_do_not_fit(options, message):
    a, b = np.ones((4, 6), np.float32), np.ones((6, 2), np.float32)
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match=message):
        jax.xla_computation(lambda x, y: x @ y, **options)(a, b)


def test_platforms():
    assert "add" in text_of(lambda x: x + 1, 1.0, backend="cpu", instantiate_const_outputs=True)
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match="takes a function"):
        jax.xla_computation(3)


# --- make_jaxpr -----------------------------------------------------------------------------------------------------

def test_make_jaxpr_in_full():
    closed, shape = jax.make_jaxpr(lambda n, x: {"y": lax.psum(x * n, "i")}, static_argnums=(0,), axis_env=[("i", 4)],
                                   return_shape=True)(3, np.ones(2, np.float32))
    assert [e.primitive.name for e in closed.eqns] == ["mul", "psum"]
    assert shape == {"y": jax.ShapeDtypeStruct((2,), np.float32)}
    assert len(jax.make_jaxpr(lambda x, n: x * n, static_argnums=-1)(2.0, 3).in_avals) == 1
    with pytest.raises(ValueError, match=r"static_argnums=\(2,\) names a positional argument that was not given"):
        jax.make_jaxpr(lambda x: x, static_argnums=2)(1.0)
    with pytest.raises(TypeError, match="takes a function"):
        jax.make_jaxpr(1)
