"""Functions of ``jax.interpreters``, ``jax.extend`` and ``jax.lib``."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.extend import backend, source_info_util
from jax.extend import sharding as sharding_util
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir, pxla, xla
from jax.interpreters import partial_eval as pe

F32 = jax.typeof(np.float32(1))


@pytest.mark.quick
def test_partial_evaluation_of_functions():
    def f(a, b):
        return [a * 2, a * b, b]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(f, [pe.PartialVal.known(jnp.float32(3)), pe.PartialVal.unknown(F32)])
    assert [p.is_known() for p in outs] == [True, False, False]
    assert float(outs[0].get_known()) == 6 and outs[1].get_aval() == F32
    assert [float(x) for x in jax.core.eval_jaxpr(jaxpr, consts, jnp.float32(2))] == [6, 2]
    _, outs, _ = pe.trace_to_jaxpr_nounits(f, [pe.PartialVal.known(1.0), pe.PartialVal.known(2.0)], instantiate=True)
    assert not any(p.is_known() for p in outs)
    assert pe.partition_pvals(outs)[0] == [False] * 3


def test_jaxprs_as_data():
    closed = jax.make_jaxpr(lambda x, y: (x * 2, y + 1))(1.0, 2.0)
    assert [float(x) for x in jaxpr_as_fun(closed)(3.0, 4.0)] == [6, 5]
    back = pe.move_binders_to_back(closed, [True, False])
    assert [float(x) for x in jaxpr_as_fun(back)(4.0, 3.0)] == [6, 5]
    assert jaxpr_as_fun(pe.move_binders_to_front(closed, [False, True]))(4.0, 3.0)[1] == 5
    pruned = pe.prune_closed_jaxpr_outputs(closed, [False, True])
    assert len(pruned.jaxpr.eqns) == 1 and len(pruned.in_avals) == 2
    consts = pe.convert_invars_to_constvars(closed.jaxpr, 1)
    assert len(consts.constvars) == 1 and len(pe.convert_constvars_jaxpr(consts).invars) == 2
    assert pe.abstract_eval_fun(lambda x: [x * 2], F32) == [F32]
    assert pe.trace_to_jaxpr_final(lambda x: [x], [F32])[1] == [F32]


def test_forward_mode_on_leaves():
    outs, tangents = ad.jvp(lambda x, y: [jnp.sin(x), y], [1.0, 2.0], [1.0, ad.Zero(F32)])
    assert float(tangents[0]) == pytest.approx(np.cos(1.0)) and float(tangents[1]) == 0
    _, tangents, aux = ad.jvp(lambda x: ([x], "aux"), [1.0], [ad.Zero(F32)], has_aux=True, instantiate=False)
    assert aux == "aux" and type(tangents[0]) is ad.Zero
    new, dims = batching.batch_jaxpr2(jax.make_jaxpr(lambda x, y: (x, y))(1.0, 2.0), 3, [0, None])
    assert dims == (0, None) and new.out_avals[0].shape == (3,)


def test_apply_primitive_serves_as_an_implementation():
    prim = Primitive("test_two_times")
    prim.def_impl(lambda *args, **params: xla.apply_primitive(prim, *args, **params))
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: x * 2, multiple_results=False))
    assert float(prim.bind(3.0)) == 6.0


@pytest.mark.quick
def test_lowering_helpers():
    seen = {}

    def rule(ctx, x):
        seen["attributes"] = [str(mlir.ir_attribute(v)) for v in (True, 3, 2.5, "a", [1, 2], {"a": 1}, np.float32(2))]
        seen["array"] = str(mlir.ir_attribute(np.arange(3)))
        seen["bools"] = str(mlir.dense_bool_elements([True, False, True]))
        seen["shape"] = str(mlir.shape_tensor(ctx, [1, 2]).type)
        closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
        fun = mlir.lower_jaxpr_to_fun(ctx.module_context, "helper", closed, [])
        call = mlir.func_dialect.CallOp([x.type], mlir.ir.FlatSymbolRefAttr.get(fun.name.value), [x])
        return call.results
    prim = Primitive("test_with_helper")
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, rule)
    assert np.allclose(jax.jit(prim.bind)(jnp.ones(3)), 2 * np.sin(1.0))
    assert seen["attributes"] == ["true", "3 : i64", "2.500000e+00 : f64", '"a"', "[1, 2]", "{a = 1 : i64}",
                                  "2.000000e+00 : f32"]
    assert seen["array"] == "dense<[0, 1, 2]> : tensor<3xi64>"
    assert seen["bools"] == "dense<[true, false, true]> : tensor<3xi1>"
    assert seen["shape"] == "tensor<2xi32>"
    nested = mlir.unflatten_ir_values_like_types([1, 2, 3], ["a", ("b", "c")])
    assert nested == [1, (2, 3)] and mlir.flatten_ir_values(nested) == [1, 2, 3]


def test_merging_modules():
    with mlir.make_ir_context(), mlir.ir.Location.unknown():
        one = "func.func @f(%a: tensor<f32>) -> tensor<f32> {return %a: tensor<f32>}"
        main = "func.func public @main(%a: tensor<f32>) -> tensor<f32> " \
            "{%0 = call @f(%a): (tensor<f32>) -> tensor<f32> return %0: tensor<f32>}"
        into = mlir.ir.Module.parse(f"module {{ {one} {main} }}")
        assert mlir.merge_mlir_modules(into, "helper", mlir.ir.Module.parse(f"module {{ {one} {main} }}")) == "helper"
        assert into.operation.verify() and str(into).count("func.func") == 4


def test_modules_of_jaxprs():
    result = mlir.lower_jaxpr_to_module("m", jax.make_jaxpr(lambda x, y: x + 1)(1.0, 2.0), platforms=["cpu"])
    text = mlir.module_to_string(result.module)
    assert "@jit_m" in text and text.count("tensor<f32>") >= 3 and mlir.module_to_bytecode(result.module)


def test_clients_and_options():
    assert "cpu" in backend.backends() and backend.get_backend("cpu") is backend.get_backend()
    assert backend.get_default_device() == jax.devices()[0]
    assert backend.get_compile_options(1, 1).num_replicas == 1
    assert pxla.create_compile_options(None, False, (), (), None, np.array(jax.devices()[:1]), None).num_partitions == 1
    from jax.lib import xla_bridge, xla_extension
    assert xla_bridge.default_backend() == "cpu" and xla_extension.ArrayImpl is type(jnp.ones(1))
    assert xla_bridge.get_compile_options(1, 1).executable_build_options.use_spmd_partitioning


def test_shardings_in_the_compilers_terms():
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    hlo = here._to_xla_hlo_sharding(1)
    data = sharding_util.get_serialized_proto_from_hlo_sharding(hlo)
    assert sharding_util.get_hlo_sharding_from_serialized_proto(data) == hlo
    assert pxla.are_op_shardings_equal(hlo, hlo.to_proto()) and pxla.is_op_sharding_replicated(hlo)
    assert pxla.spec_to_indices((2,), here) == ((slice(None),),)
    assert pxla.shard_args([here], [np.ones(2)])[0].sharding == here
    assert pxla.array_mapping_to_axis_resources({"x": 1, "y": 1}) == jax.sharding.PartitionSpec(None, ("x", "y"))


def test_names_of_scopes():
    with source_info_util.extend_name_stack("a") as stack:
        assert str(stack) == "a" and source_info_util.current_name_stack() == stack
        with source_info_util.transform_name_stack("jvp"), source_info_util.extend_name_stack("b"):
            assert str(source_info_util.current_name_stack()) == "a/jvp(b)"
        with source_info_util.reset_name_stack():
            assert not str(source_info_util.current_name_stack())
    assert str(source_info_util.new_name_stack("x").extend("y").transform("vmap")) == "vmap(x/y)"
    assert "test_views" in source_info_util.summarize(source_info_util.current())


def test_hidden_paths(tmp_path):
    from jax._src import traceback_util
    path = str(tmp_path)
    traceback_util.register_exclusion(path)
    assert path in traceback_util._exclude_paths
    traceback_util._exclude_paths.remove(path)
    assert path not in traceback_util._exclude_paths
    import sys
    assert traceback_util.include_frame(sys._getframe())


def test_compilations_can_be_watched(monkeypatch):
    from jax._src import compiler
    seen = []
    compile_now = compiler.backend_compile_and_load
    monkeypatch.setattr(compiler, "backend_compile_and_load",
                        lambda backend, *args: seen.append(backend.platform) or compile_now(backend, *args))
    x = jnp.ones(7)
    seen.clear()
    jax.jit(lambda x: x * 3.25 + 1)(x)
    assert seen == ["cpu"]
