"""The door to jaxlib: what loads when, MLIR contexts, and the parts of C++ that others build on."""

from __future__ import annotations

import pytest

from jax._base import _jaxlib

pytestmark = pytest.mark.quick


def test_importing_loads_no_mlir_and_no_kernels(run_python):
    source = """
import sys
from jax._base import _jaxlib
loaded = [m for m in sys.modules if m.startswith(("jaxlib.mlir", "jaxlib.gpu", "jaxlib.lapack", "scipy"))]
assert not loaded, loaded
assert "jaxlib.xla_client" not in sys.modules
_jaxlib.ir
assert "jaxlib.mlir.ir" in sys.modules
assert "ir" in vars(_jaxlib)
"""
    run_python(source)


def test_no_native_info_messages(run_python):
    done = run_python("from jax._base import _jaxlib; _jaxlib.xla_client.make_cpu_client()")
    assert "PjRt" not in done.stderr


@pytest.mark.parametrize("name", sorted(_jaxlib._LAZY_MODULES))
def test_every_lazy_module_exists(name):
    assert _jaxlib.optional_module(name) is not None


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = _jaxlib.no_such_thing
    assert "stablehlo" in dir(_jaxlib)


def test_version_numbers():
    assert _jaxlib.jaxlib_version >= _jaxlib.minimum_jaxlib_version
    assert _jaxlib._version_numbers("0.11.2.dev20260101") == (0, 11, 2)
    assert _jaxlib._version_numbers("1.2rc1") == (1, 21)  # a pre-release compares as something, never raises


MODULE = """
module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %a, %a : tensor<3xf32>
    %1 = chlo.acos %0 : tensor<3xf32> -> tensor<3xf32>
    %2 = "mhlo.copy"(%1) : (tensor<3xf32>) -> tensor<3xf32>
    %3 = math.sin %2 : tensor<3xf32>
    %4 = arith.addf %3, %3 : tensor<3xf32>
    return %4 : tensor<3xf32>
  }
}
"""


def test_a_fresh_context_reads_all_our_dialects():
    with _jaxlib.new_mlir_context():
        module = _jaxlib.ir.Module.parse(MODULE)
        assert module.operation.verify()


def test_operations_are_created_by_name():
    ir = _jaxlib.ir
    with _jaxlib.new_mlir_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            scalar = ir.RankedTensorType.get([], ir.F32Type.get())
            value = ir.DenseElementsAttr.get_splat(scalar, ir.FloatAttr.get_f32(1.0))
            one = ir.Operation.create("stablehlo.constant", results=[scalar], attributes={"value": value})
            ir.Operation.create("stablehlo.add", results=[scalar], operands=[one.result, one.result])
        assert "stablehlo.add" in str(module)


def test_contexts_are_independent():
    assert _jaxlib.new_mlir_context() is not _jaxlib.new_mlir_context()


def test_tracebacks_are_on():
    assert _jaxlib.xla.tracebacks_enabled()
    assert _jaxlib.Traceback.get_traceback() is not None
