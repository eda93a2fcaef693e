"""What libraries build transformations of their own from: pullbacks, batched functions, splits, lowering for devices."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import linear_util as lu
from jax.extend.core import Primitive, jaxpr_as_fun, primitives
from jax.interpreters import ad, batching, mlir, pxla
from jax.interpreters import partial_eval as pe

F32 = jax.typeof(np.float32(1))
X = np.array([0.5, 1.0, 2.0], np.float32)


# --- derivatives ----------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_pullbacks_and_derivatives_of_flat_functions():
    f = lu.wrap_init(lambda x, y: [jnp.sin(x) * y, y * 0 + 3.0, jnp.float32(1)])
    outs, pullback = ad.vjp(f, [0.5, 2.0])
    assert [float(o) for o in outs] == pytest.approx([2 * np.sin(0.5), 3, 1])
    assert [float(c) for c in pullback(1.0, ad.Zero(F32), ad.Zero(F32))] == pytest.approx([2 * np.cos(0.5), np.sin(0.5)])
    _, _, aux = ad.vjp(lambda x: ([x], "aux"), [1.0], has_aux=True)
    assert aux == "aux"
    outs, tangents, jaxpr, consts = ad.linearize(f, 0.5, 2.0)
    assert [t.is_known() for t in tangents] == [False, False, True] and type(tangents[2].get_known()) is ad.Zero
    assert float(jax.core.eval_jaxpr(jaxpr, consts, 1.0, 0.0)[0]) == pytest.approx(2 * np.cos(0.5))
    assert ad.linearize(lambda x: ([x], 7), 1.0, has_aux=True)[-1] == 7
    assert jax.jit(jax.vmap(ad.zeros_like_p.bind))(X).tolist() == [0, 0, 0]
    assert jax.grad(lambda x: (x * ad.zeros_like_p.bind(x)).sum())(X).tolist() == [0, 0, 0]


def test_arguments_in_groups():
    closed = jax.make_jaxpr(lambda a, b, c, da, dc: (a, b + c, da * 2, dc))(1.0, 2.0, 3.0, 4.0, 5.0)
    new = ad.rearrange_binders(closed, [1, 2], [1, 1], [1, 1], [1, 1])
    assert [float(x) for x in jaxpr_as_fun(new)(1.0, 4.0, 2.0, 3.0, 5.0)] == [1, 8, 5, 5]


def test_the_transpose_of_calls():
    seen = []

    def update(params, linear, nonzero):
        seen.append((linear, nonzero))
        return params
    call = jax.extend.core.primitives.closed_call_p
    closed = jax.make_jaxpr(lambda x, c: (x * c, x))(1.0, 3.0)
    linear, ct = ad.UndefinedPrimal(F32), [np.float32(2), ad.Zero(F32)]
    try:
        ad.call_transpose_param_updaters[call] = update
        for got in (ad.call_transpose(call, {}, closed, [linear, 3.0], ct, [F32, F32]),
                    partial(ad.call_transpose, call)(ct, linear, 3.0, call_jaxpr=closed)):
            assert float(got[0]) == 6 and got[1] is None
    finally:
        del ad.call_transpose_param_updaters[call]
    assert seen == [([True, False], [True, False])] * 2


# --- batches --------------------------------------------------------------------------------------------------------

def test_batched_functions_of_leaves():
    dests = []

    def f(x, y):
        dests[:] = [1, 0]
        return [x * y, y]
    run = batching.batch(lu.wrap_init(f), "i", 3, [0, None], lambda: dests)
    out, same = run.call_wrapped(np.ones((3, 2), np.float32), np.float32(2))
    assert out.shape == (2, 3) and same.shape == (3,)
    named = batching.batch(lambda x: [lax.psum(x, "i")], "i", 3, [0], [0])
    assert named.call_wrapped(X)[0].tolist() == [3.5] * 3
    with pytest.raises(NotImplementedError, match="another class of traces"):
        batching.batch(f, "i", 3, [0, None], [0, 0], main_type=object)

    def bwd(res, ct):
        return [res * ct, ct, None, ad.Zero(F32)]
    shared, own, nothing, zero = batching.batch_custom_vjp_bwd(bwd, "i", 3, [None, 0], [None, 0, 0, 0])(2.0, X)
    assert float(shared) == 7 and own.tolist() == X.tolist() and nothing is None and zero.aval.shape == (3,)


def test_outputs_without_the_axis():
    closed = jax.make_jaxpr(lambda x, y: (x, y))(1.0, 2.0)
    axis = batching.AxisData(None, 3)
    _, batched = batching.batch_jaxpr_axes(closed, axis, [0, None], [batching.zero_if_mapped] * 2)
    assert list(batched) == [True, False]
    assert list(batching.batch_jaxpr_axes(closed, axis, [0, None], [0, 0])[1]) == [True, True]


def test_functions_of_registered_types():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    class Which:
        pass

    class Two:
        pass
    batching.register_vmappable(Pair, Which, Two, lambda cont, idx, x, spec: cont(x.a, 0),
                                lambda cont, size, x, spec: Pair(cont(size, x, 0), spec), lambda size: jnp.arange(2))
    try:
        assert Which in batching.spec_types and set(batching.to_elt_handlers) >= {Pair}
        assert batching.make_iota(Two()).tolist() == [0, 1] and batching.make_iota(3).tolist() == [0, 1, 2]
        which = Which()
        assert jax.vmap(lambda p: p * 2, in_axes=which, out_axes=0, axis_size=3)(Pair(X, None)).tolist() == (2 * X).tolist()
        batching.to_elt_handlers[Pair] = lambda cont, idx, x, spec: cont(x.a + 1, 0)
        assert jax.vmap(lambda p: p, in_axes=which, out_axes=0, axis_size=3)(Pair(X, None)).tolist() == (X + 1).tolist()
    finally:
        batching.unregister_vmappable(Pair)
    assert Which not in batching.spec_types and Pair not in batching.from_elt_handlers
    with pytest.raises(KeyError, match="register_vmappable"):
        batching.to_elt_handlers[Pair] = None


# --- splits ---------------------------------------------------------------------------------------------------------

def keep_sin(prim, *_, **params):
    return prim.name == "sin"


@pytest.mark.parametrize("inst", [True, False])
@pytest.mark.parametrize("forced", [True, False])
def test_splits_of_jaxprs(inst, forced):
    def f(a, b):
        s = jnp.sin(a)
        return s, jnp.cos(s) * b, jnp.cos(a) + b, jnp.exp(a)
    jaxpr = jax.make_jaxpr(f)(1.0, 2.0).jaxpr
    known, staged, unknown, out_inst, count = pe.partial_eval_jaxpr_custom(
        jaxpr, [False, True], [inst, True], False, [forced, False, False, False], keep_sin)
    assert unknown == [False, True, True, False]
    assert out_inst == [forced, True, True, True]  # exp is computed again
    assert count == (1 if inst else 2)  # sin(a), and a itself unless the second program gets it
    s, e, *residuals = jax.core.eval_jaxpr(known, [], 0.5)
    assert (float(s), float(e)) == pytest.approx((np.sin(0.5), np.exp(0.5))) and len(residuals) == count
    outs = jax.core.eval_jaxpr(staged, [], *residuals, *([0.5] if inst else []), 3.0)
    want = [np.sin(0.5), np.cos(np.sin(0.5)) * 3, np.cos(0.5) + 3, np.exp(0.5)]
    assert [float(x) for x in outs] == pytest.approx(want if forced else want[1:])
    assert "sin" not in [q.primitive.name for q in staged.eqns]


@pytest.mark.parametrize("closed", [True, False])
def test_rules_for_calls_under_rematerialisation(closed):
    prim = Primitive(f"test_call_{closed}")
    prim.multiple_results = True

    def function(x, y):
        s = jnp.sin(x)
        return jnp.cos(s), s * y
    body = jax.make_jaxpr(function)(1.0, 2.0)
    call = jaxpr_as_fun if closed else lambda j: lambda *xs: jax.core.eval_jaxpr(j, [], *xs)
    prim.def_impl(lambda *xs, call_jaxpr: call(call_jaxpr)(*xs))
    prim.def_abstract_eval(lambda *xs, call_jaxpr: call_jaxpr.out_avals)
    mlir.register_lowering(prim, mlir.lower_fun(lambda *xs, call_jaxpr: call(call_jaxpr)(*xs), True))
    seen = []

    def update(unks_in, inst_in, known_outs, inst_outs, num_res, known, staged):
        seen.append((list(unks_in), known_outs, inst_outs, num_res))
        return known, staged
    rules = (pe.call_partial_eval_custom_rule, pe.closed_call_partial_eval_custom_rule)
    rule = partial(rules[closed], "call_jaxpr", update)
    pe.partial_eval_jaxpr_custom_rules[prim] = rule
    outer = jax.make_jaxpr(lambda x, y: prim.bind(x, y, call_jaxpr=body if closed else body.jaxpr))(1.0, 2.0).jaxpr
    (eqn,) = outer.eqns
    first, second, unknown, inst, residuals = rule(keep_sin, [False, True], [True, True], eqn)
    assert unknown == [False, True] and inst == [True, True] and seen == [([False, True], [True, False], [True, True], 1)]
    c, s = prim.bind(0.5, **first.params)
    assert (float(c), float(s)) == pytest.approx((np.cos(np.sin(0.5)), np.sin(0.5)))
    assert [v.aval for v in residuals] == [s.aval] and residuals == second.invars[:1] == first.outvars[1:]
    outs = prim.bind(s, 0.5, 3.0, **second.params)
    assert [float(x) for x in outs] == pytest.approx([np.cos(np.sin(0.5)), np.sin(0.5) * 3])
    known, staged, unknown, _, count = pe.partial_eval_jaxpr_custom(outer, [False, True], True, False, True, keep_sin)
    c, *residuals = jax.core.eval_jaxpr(known, [], 0.5)
    outs = jax.core.eval_jaxpr(staged, [], *residuals, 0.5, 3.0)
    assert unknown == [False, True] and len(residuals) == count
    assert [float(x) for x in outs] == pytest.approx([np.cos(np.sin(0.5)), np.sin(0.5) * 3])


def test_functions_with_types():
    fun = lu.annotate(lu.wrap_init(lambda x: [x * 2]), ((F32, True),))
    jaxpr, types, consts = pe.trace_to_jaxpr_dynamic2(fun)
    assert types == ((F32, True),) and float(jax.core.eval_jaxpr(jaxpr, consts, 3.0)[0]) == 6
    inner = []

    def outer(x):
        inner.append(pe.trace_to_subjaxpr_dynamic(lambda y: [x * y], jax.extend.core.find_top_trace([x]).main, [F32]))
        inner.append(pe.trace_to_subjaxpr_dynamic2(fun, jax.extend.core.find_top_trace([x]).main))
        return x
    jax.make_jaxpr(outer)(1.0)
    assert [len(consts) for _, _, consts in inner] == [1, 0] and inner[0][1] == [F32] and inner[1][1] == types
    with pytest.raises(TypeError, match="main is the trace"):
        pe.trace_to_subjaxpr_dynamic(fun, None, [F32])
    with pytest.raises(ValueError, match=r"linear_util\.annotate"):
        pe.trace_to_jaxpr_dynamic2(lu.wrap_init(abs))
    with pytest.raises(NotImplementedError, match="sizes of others"):
        pe.trace_to_jaxpr_final2(lu.annotate(fun, ((F32, False),)))
    assert pe.debug_info_final(fun, "test").func_name == fun.__name__
    assert pe.config.enable_checks.value in (True, False)


# --- devices --------------------------------------------------------------------------------------------------------

def test_contexts_of_modules():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))

    def lowered(**options):
        return mlir.module_to_string(mlir.lower_jaxpr_to_module("f", closed, platforms=["cpu"], **options).module)
    for context, replicas, partitions in (
            (mlir.ShardingContext(4), 1, 4), (mlir.ReplicaAxisContext(SimpleNamespace(nreps=3)), 3, 1),
            (mlir.SPMDAxisContext(mesh), 1, 1), (None, 1, 1)):
        text = lowered(axis_context=context)
        assert f"mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = {replicas} : i32" in text
        assert context is None or isinstance(context, mlir.AxisContext)
    with jax.sharding.set_mesh(mesh):
        assert pxla.thread_resources.env.physical_mesh == mesh
    assert pxla.thread_resources.env.physical_mesh.empty
    rules = ((primitives.sin_p, mlir.lower_fun(lax.cos, multiple_results=False)),)
    assert "stablehlo.cosine" in lowered(lowering_parameters=mlir.LoweringParameters(rules))
    assert "stablehlo.sine" in lowered(lowering_parameters=mlir.LoweringParameters())
    with pytest.raises(NotImplementedError, match="jax.export lowers for export"):
        lowered(lowering_parameters=mlir.LoweringParameters(for_export=True))
    grid = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    with pytest.raises(NotImplementedError, match="are manual; all or none"):
        lowered(axis_context=mlir.SPMDAxisContext(grid, frozenset({"x"})))
    leaves, tree = mlir.ir_tree_registry.flatten([1, (2, [3])])
    assert leaves == [1, 2, 3] and tree.unflatten(leaves) == [1, (2, [3])]


def test_sharding_specs():
    spec = pxla.ShardingSpec((pxla.Chunked([2, 3]), pxla.NoSharding(), pxla.Unstacked(4)),
                             (pxla.ShardedAxis(2), pxla.Replicated(2), pxla.ShardedAxis(1), pxla.ShardedAxis(0)))
    x = np.arange(12 * 5 * 4).reshape(12, 5, 4)
    grid = spec.indices(x.shape)
    assert grid.shape == spec.mesh_shape == (4, 2, 3, 2)
    for place in np.ndindex(*grid.shape):
        u, _, b, a = place
        np.testing.assert_array_equal(x[grid[place]], x.reshape(2, 3, 2, 5, 4)[a, b, :, :, u])
    assert pxla.spec_to_indices(x.shape, spec) == tuple(grid.flat) and hash(spec) == hash(pxla.ShardingSpec(
        spec.sharding, spec.mesh_mapping))
    for bad in (lambda: pxla.ShardingSpec((pxla.Chunked([2]),), ()), lambda: spec.indices((12, 5)),
                lambda: spec.indices((10, 5, 4)), lambda: spec.indices((12, 5, 3))):
        with pytest.raises(ValueError):
            bad()
