"""Functions that say how they are split: rules, and what XLA's partitioner makes of them."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)


@pytest.fixture(scope="module")
def line(devices):
    return jax.sharding.Mesh(np.array(devices[:4]), ("x",))


def over(mesh, *entries):
    return jax.NamedSharding(mesh, jax.P(*entries))


# --- programs -------------------------------------------------------------------------------------------------------

def test_an_elementwise_function_stays_split(line):
    seen = []

    @custom_partitioning
    def twice(x):
        return 2 * x

    def partition(mesh, args, result):
        def part(x):
            seen.append((x.shape, args[0].sharding.spec, result.shape))
            return 2 * x
        return mesh, part, result.sharding, (args[0].sharding,)
    twice.def_partition(partition, sharding_rule="... i -> ... i")
    x = jnp.arange(32.0).reshape(8, 4)
    out = jax.jit(twice)(jax.device_put(x, over(line, "x")))
    assert out.sharding.spec == jax.P("x") and jnp.array_equal(np.asarray(out), 2 * x)
    assert seen == [((2, 4), jax.P("x"), (8, 4))]
    assert twice(jax.device_put(x, over(line, None, "x"))).sharding.spec == jax.P(None, "x")
    assert twice(x).tolist() == (2 * x).tolist() and len(seen) == 2  # one device: as it is


def test_collectives_static_arguments_and_several_results(line):
    def scaled(n, d):
        return {"y": n * d["x"], "sum": d["x"].sum(0)}
    f = custom_partitioning(scaled, static_argnums=0)

    def partition(n, mesh, args, result):
        spec = args[0]["x"].sharding.spec
        rows = spec[0] if len(spec) else None

        def part(d):
            total = d["x"].sum(0)
            return {"y": n * d["x"], "sum": lax.psum(total, rows) if rows else total}
        return mesh, part, {"y": result["y"].sharding, "sum": over(mesh)}, ({"x": args[0]["x"].sharding},)
    f.def_partition(partition, sharding_rule="i j -> j, i j", reduction_factors=())
    for entries in (("x",), ()):
        x = jax.device_put(jnp.arange(32.0).reshape(8, 4), over(line, *entries))
        out = jax.jit(lambda x: f(3, {"x": x}))(x)
        np.testing.assert_array_equal(out["y"], 3 * np.asarray(x))
        np.testing.assert_array_equal(out["sum"], np.asarray(x).sum(0))
    np.testing.assert_array_equal(jax.shard_map(lambda x: f(2, {"x": x})["y"], mesh=line, in_specs=jax.P("x"),
                                                out_specs=jax.P("x"))(x), 2 * np.asarray(x))


def test_misuse_of_functions(line):
    f = custom_partitioning(lambda x: x + 1)
    x = jax.device_put(jnp.arange(4.0), over(line, "x"))
    with pytest.raises(TypeError, match="does not say how it is split; call <lambda>.def_partition"):
        f(x)

    def partition(mesh, args, result):
        return mesh, lambda x: x[:1] if x.shape[0] > 1 else jnp.stack([x, x]), result.sharding, (args[0].sharding,)
    f.def_partition(partition)
    with pytest.raises(NotImplementedError, match="<lambda> has no sharding_rule"):
        jax.jit(lambda x: f(x))(x)
    f.def_partition(partition, sharding_rule="i -> i")
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"returned parts of types float32\[2, 1\], and .* float32\[1\]"):
        jax.jit(lambda x: f(x))(x)
    with pytest.raises(NotImplementedError, match="the derivative of <lambda> is not defined.*custom_jvp"):
        jax.grad(lambda x: f(x).sum())(x)
    with pytest.raises(NotImplementedError, match="vmap of <lambda> is not defined.*custom_vmap"):
        jax.vmap(f)(x)
    f.def_partition(partition, sharding_rule=lambda mesh, ins, outs: 3)
    with pytest.raises(ValueError, match="returned 3; it must return text"):
        jax.jit(lambda x: f(x))(x)
    with pytest.raises(ValueError, match="sharding_rule is text"):
        f.def_partition(partition, sharding_rule=3)
    with pytest.raises(TypeError, match="takes a function"):
        f.def_partition(None, sharding_rule="i -> i")


# --- rules ----------------------------------------------------------------------------------------------------------

@pytest.mark.quick
@pytest.mark.parametrize("rule, ins, outs, text", [
    (SdyShardingRule((("i", "k"), ("k", "j")), (("i", "j"),), reduction_factors=("k",)), [(4, 8), (8, 2)], [(4, 2)],
     "<([i, j], [j, k])->([i, k]) {i=4, j=8, k=2} reduction={j}, custom>"),
    (SdyShardingRule(((BATCHING, CompoundFactor("h", "d")),), ((BATCHING, "h", "d"),), need_replication_factors=("d",)),
     [(5, 6)], [(5, 2, 3)], "<([i, jk])->([i, j, k]) {i=5, j=2, k=3} need_replication={k}, custom>"),
    (SdyShardingRule((("n", CompoundFactor("a", "b")), ()), (("n",),), a=2, b=3), [(7, 6), ()], [(7,)],
     "<([i, jk], [])->([i]) {i=7, j=2, k=3}, custom>"),
])
def test_rules_for_shapes(rule, ins, outs, text):
    assert rule.attribute(ins, outs) == "#sdy.op_sharding_rule" + text


def test_rules_in_text():
    f = custom_partitioning(lambda x: x)
    f.def_partition(print, sharding_rule="... (h d) k, k -> ... h d", reduction_factors=("k",))
    assert f.sharding_rule == SdyShardingRule(((BATCHING, CompoundFactor("h", "d"), "k"), ("k",)), ((BATCHING, "h", "d"),),
                                              reduction_factors=("k",))
    assert str(f.sharding_rule) == "SdyShardingRule('... (h d) k, k -> ... h d')"
    f.def_partition(print, sharding_rule=" rows_1(a b),->rows_1 (c) ", a=2, b=3)
    assert str(f.sharding_rule) == "SdyShardingRule('rows_1 (a b),  -> rows_1 c')"


def test_roles_of_many_factors_are_in_order():
    names = [f"f{i}" for i in range(30)]
    text = SdyShardingRule((names,), (names[:18],), reduction_factors=names[:17:-1]).attribute([(2,) * 30], [(2,) * 18])
    assert f"reduction={{{', '.join(f'z_{i}' for i in range(1, 13))}}}" in text


@pytest.mark.parametrize("make, text", [
    (lambda: ArrayMapping(3), "a factor is a name"),
    (lambda: ArrayMapping("i", "..."), "comes first"),
    (lambda: CompoundFactor("i"), "two or more"),
    (lambda: SdyShardingRule((("i",),), (("i",),), reduction_factors=("k",)), "'k' is in none of the mappings"),
    (lambda: SdyShardingRule((("i",),), (), reduction_factors=("i",), permutation_factors=("i",)), "reduction factor and"),
    (lambda: SdyShardingRule(((CompoundFactor("i", "j"),),), (("i",),)), "size of 'j'.*is not given: j=..."),
    (lambda: SdyShardingRule(((CompoundFactor("i", "j"),),), (("i", "j"),), j=2), "whole dimension and has its size"),
    (lambda: SdyShardingRule((("i",),), (), i=2), "in no compound factor"),
    (lambda: SdyShardingRule((("i",),), (("i",),)).attribute([(2, 3)], [(2,)]), r"1 factors for an array of shape \(2, 3\)"),
    (lambda: SdyShardingRule((("i",),), (("i",),)).attribute([(2,)], [(3,)]), "'i' has the sizes 2 and 3"),
    (lambda: SdyShardingRule((("i",),), (("i",),)).attribute([], [(3,)]), "for 1 operands, and there are 0"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="i j"), "not of the form 'operands -> results'"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="i+ -> i"), r"has '\+' where"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="(i j -> i"), r"has '\(' where"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="i j) -> i"), r"has '\)' where"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="i -> ()"), r"has '\(\)' where"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="(...) -> i"), r"has '...' where"),
    (lambda: custom_partitioning(print).def_partition(print, sharding_rule="1i -> i"), r"has '1i' where"),
])
def test_misuse_of_rules(make, text):
    with pytest.raises(ValueError, match=text):
        make()
