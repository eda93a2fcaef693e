"""Modules: arguments, donation, names, passes."""

from __future__ import annotations

import numpy as np
import pytest

from jax._base.config import internal_state
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._lowering import passes
from jax._lowering.module import lower_jaxpr_to_module
from jax._lowering.passes import Pass
from jax._lowering.passes.dead_code import drop_dead_equations

from .helpers import add_p, aval, close, lower, mul_p, sin_p, text

pytestmark = pytest.mark.quick


def test_name_and_attributes():
    out = text(lambda x: x, aval(2))
    assert out.startswith("module @jit_fun attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}")
    assert "func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32>" in out


def test_unused_arguments_are_dropped():
    lowered = lower(lambda x, y, z: add_p.bind(x, z), aval(2), aval(3), aval(2))
    assert lowered.kept_var_idx == (0, 2)
    assert "tensor<3xf32>" not in lowered.as_text()
    kept = lower(lambda x, y, z: add_p.bind(x, z), aval(2), aval(3), aval(2), keep_unused=True)
    assert kept.kept_var_idx == (0, 1, 2)


def test_arguments_of_dead_code_are_dropped_too():
    def fun(x, y):
        sin_p.bind(mul_p.bind(y, y))
        return sin_p.bind(x)

    lowered = lower(fun, aval(2), aval(3))
    assert lowered.kept_var_idx == (0,)
    assert lowered.as_text().count("stablehlo") == 1


def test_results_that_are_arguments_or_literals():
    out = text(lambda x: [x, 1.0, x], aval(2))
    assert "return %arg0, %cst, %arg0 : tensor<2xf32>, tensor<f32>, tensor<2xf32>" in out


def test_donated_arguments_alias_results_of_their_type():
    lowered = lower(lambda x, y, z: [add_p.bind(x, x), mul_p.bind(y, y), sin_p.bind(z)], aval(2), aval(3), aval(2),
                    donated=[True, False, True])
    out = lowered.as_text()
    assert "%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32}" in out
    assert "%arg1: tensor<3xf32>, %arg2: tensor<2xf32> {tf.aliasing_output = 2 : i32}" in out
    assert lowered.donated == [True, False, True] and not lowered.unused_donations


def test_donations_that_fit_nothing():
    lowered = lower(lambda x, y: sin_p.bind(mul_p.bind(x, y)), aval(2), aval(2), donated=[True, True])
    out = lowered.as_text()
    assert "{tf.aliasing_output = 0 : i32}" in out and "{jax.buffer_donor = true}" in out
    assert lowered.unused_donations == [1]


def test_donation_counts_from_the_programs_arguments():
    big = np.arange(1000, dtype=np.float32)
    lowered = lower(lambda unused, x: add_p.bind(x, big), aval(2), aval(1000), donated=[False, True])
    assert "%arg1: tensor<1000xf32> {tf.aliasing_output = 0 : i32}" in lowered.as_text()
    assert lowered.donated == [False, True]


def test_names_of_arguments_and_results():
    lowered = lower(lambda x, y: [sin_p.bind(x), y], aval(2), aval(2), arg_names=["params['w']", "y"],
                    result_names=["[0]", "[1]"])
    assert "loc(\"params['w']\")" in lowered.as_text(debug_info=True)
    assert 'jax.result_info = "[1]"' in lowered.as_text()


def test_attributes_of_arguments():
    out = text(lambda x: sin_p.bind(x), aval(2), arg_attrs=[{"mhlo.sharding": '"{replicated}"'}])
    assert 'mhlo.sharding = "{replicated}"' in out


def test_bytecode_is_the_module():
    from jax._base import _jaxlib
    lowered = lower(lambda x: sin_p.bind(x), aval(2))
    with _jaxlib.new_mlir_context():
        assert "stablehlo.sine" in str(_jaxlib.ir.Module.parse(lowered.as_bytecode()))


def test_messages_know_the_arguments():
    closed = close(lambda x: sin_p.bind(x), aval(2))
    named = ClosedJaxpr(closed.jaxpr.replace(debug_info=DebugInfo("jit", "f at file.py:1", ("x",))), ())
    lowered = lower_jaxpr_to_module(named, "f", ("cpu",))
    assert lowered.arg_names == ("x",)


# --- passes --------------------------------------------------------------------------------------------------------

def test_dead_code():
    def fun(x):
        a = sin_p.bind(x)
        add_p.bind(a, np.ones(2, np.float32))
        return mul_p.bind(a, a)

    closed = close(fun, aval(2))
    smaller = drop_dead_equations(closed)
    assert [e.primitive for e in smaller.eqns] == [sin_p, mul_p]
    assert not smaller.consts
    assert drop_dead_equations(smaller) is smaller


def test_passes_run_in_order_for_their_platforms_and_options(monkeypatch):
    ran = []

    def recorder(name):
        def run(closed):
            ran.append(name)
            return closed
        return run

    option = internal_state("test_pass_option", True)
    monkeypatch.setattr(passes, "passes", [
        Pass("first", recorder("first")), Pass("cpu", recorder("cpu"), frozenset({"cpu"})),
        Pass("gpu", recorder("gpu"), frozenset({"cuda"})), Pass("optional", recorder("optional"), None, option)])
    closed = close(lambda x: x, aval(2))
    passes.run_passes(closed, ("cpu",))
    assert ran == ["first", "cpu", "optional"]
    ran.clear()
    option.set_local(False)
    passes.run_passes(closed, ("cpu", "cuda"))
    assert ran == ["first"]
