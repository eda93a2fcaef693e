"""jaxlib's compiled-call cache sees our options: which changes make it ask Python again."""

from __future__ import annotations

import numpy as np
import pytest

import jax.sharding  # noqa: F401  (gives jaxlib's sharding classes their Python half)
from jax._base import _jaxlib, config

pytestmark = pytest.mark.quick

DOUBLE = """
func.func public @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %a : tensor<f32>
  return %0 : tensor<f32>
}
"""


class Scalar:
    shape = ()
    dtype = np.dtype("float32")
    weak_type = False
    memory_space = None


class Doubled:
    """``double(x)`` through the C++ cache; ``misses`` counts how often it asked Python."""

    def __init__(self):
        xla = _jaxlib.xla
        client = _jaxlib.xla_client.make_cpu_client()
        self.device = client.devices()[0]
        devices = xla.DeviceList((self.device,))
        with _jaxlib.new_mlir_context():
            module = _jaxlib.ir.Module.parse(DOUBLE)
            self.executable = client.compile_and_load(module, devices, xla.CompileOptions())
        self.sharding = xla.SingleDeviceSharding(self.device)
        self.misses = 0
        registry = _jaxlib.pytree.default_registry()
        self.leaf = registry.flatten(1.0)[1]
        self.call = xla.pjit(
            "double",
            lambda x: ("plain", x),
            self.miss,
            [],
            [],
            object(),
            registry,
            lambda *a: a,
            xla.PjitFunctionCache(),
        )

    def array(self, x):
        return _jaxlib.xla.batched_device_put(
            Scalar(), self.sharding, [np.asarray(x, np.float32)], [self.device]
        )

    def miss(self, x):
        self.misses += 1
        if config.trace_marker.value is not None:
            return self.array(0.0), None, False
        record = _jaxlib.FastPath(
            xla_executable=self.executable,
            out_pytree_def=self.leaf,
            in_shardings=[self.sharding],
            out_shardings=[self.sharding],
            out_avals=[Scalar()],
            out_committed=[False],
            kept_var_bitvec=[True],
            in_device_local_layouts=[None],
            const_args=[],
        )
        return self.array(0.0), record, False


@pytest.fixture(scope="module")
def shared():
    return Doubled()


@pytest.fixture
def double(shared):
    shared.call(shared.array(1.0))
    shared.misses = 0
    return shared


def test_a_hit_runs_the_program(double):
    assert float(np.asarray(double.call(double.array(3.0)))) == 6.0
    assert double.misses == 0


def test_under_a_trace_python_is_asked_each_time(double):
    x = double.array(1.0)
    before = config.trace_marker.swap_local(True)
    try:
        double.call(x)
        double.call(x)
    finally:
        config.trace_marker.swap_local(before)
    assert double.misses == 2
    double.call(x)
    assert double.misses == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (config.enable_x64, True),
        (config.debug_nans, True),
        (config.default_matmul_precision, "float32"),
        (config.numpy_rank_promotion, "raise"),
        (config.threefry_partitionable, False),
    ],
)
def test_options_that_change_programs_are_in_the_key(double, option, value):
    x = double.array(1.0)
    with option(value):
        double.call(x)
    assert double.misses == 1
    double.call(x)
    assert double.misses == 1


@pytest.mark.parametrize("option", [config.log_compiles, config.enable_checks, config.scan3])
def test_other_options_are_not(double, option):
    with option(True):
        double.call(double.array(1.0))
    assert double.misses == 0


def test_disable_jit_calls_the_function_itself(double):
    x = double.array(1.0)
    with config.disable_jit(True):
        assert double.call(x) == ("plain", x)
    assert double.misses == 0


def test_user_contexts_are_in_the_key(double):
    mode = config.make_user_context()
    with mode("exact"):
        double.call(double.array(1.0))
    assert double.misses == 1


def test_the_post_hook_sees_results_of_hits(double):
    seen = []
    x = double.array(2.0)
    config.post_hook.set_local(lambda fun, args, kwargs, out: seen.append((args, out)))
    try:
        double.call(x)
    finally:
        config.post_hook.set_local(config.UNSET)
    ((args, out),) = seen
    assert args[0] is x
    assert float(np.asarray(out)) == 4.0
