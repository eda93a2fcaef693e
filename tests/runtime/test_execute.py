"""Compiling modules and running executables."""

from __future__ import annotations

import numpy as np
import pytest

from jax import dtypes
from jax._base import _jaxlib, config
from jax._language.avals import ShapedArray
from jax._runtime import backend, execute
from jax._runtime import compile as compiling
from jax._runtime.execute import Executable
from jax._runtime.transfer import to_device
from tests.runtime.conftest import binary, module_text

pytestmark = pytest.mark.quick
IDENTITY = module_text("%a: tensor<f32>", "tensor<f32>", "return %a : tensor<f32>")


def put(x, **kwargs):
    return to_device(np.asarray(x, np.float32), **kwargs)


def test_arguments_of_all_kinds(make_executable):
    subtract = make_executable()
    for a, b in ((put(5), put(1)), (np.float32(5), 1.0), (5.0, np.array(1)), (True, put(-3))):
        (out,) = subtract.call([a, b])
        assert out.item() == float(a) - float(b)
        assert out.aval is ShapedArray((), np.dtype("float32")) and not out._committed
        assert out.sharding is backend.default_sharding()


def test_results_are_committed_when_an_argument_is(make_executable):
    subtract = make_executable()
    tied = put(5, placement=backend.default_device())
    assert subtract.call([tied, put(1)])[0]._committed
    assert subtract.call([put(5), put(1)], committed=True)[0]._committed
    assert not subtract.call([put(5), put(1)])[0]._committed


def test_constants_come_first_and_unused_arguments_are_dropped(make_executable):
    aval = ShapedArray((), np.dtype("float32"))
    f = make_executable(consts=[np.float32(10)], in_avals=[aval, aval, aval], kept=[1])
    assert f.call([object(), put(3), object()])[0].item() == 7


def test_moving_arguments_to_the_program(make_executable, four_devices):
    a, b = four_devices[:2]
    subtract = make_executable(device=b)
    (out,) = subtract.call([put(5, placement=a), put(1)])
    assert out.item() == 4 and out.device == b


def test_integers_that_do_not_fit_are_named(make_executable):
    add = make_executable("add", "int32", arg_names=["x", "n"])
    assert add.call([np.int64(3), 4])[0].item() == 7
    with pytest.raises(OverflowError, match="'n'"):
        add.call([1, np.int64(2**40)])


def test_donation(make_executable):
    donating = make_executable("add", shape=(4,), attrs="{tf.aliasing_output = 0 : i32}", donated=[0])
    x, y = put(np.ones(4)), put(np.ones(4))
    (out,) = donating.call([x, y])
    assert x.is_deleted() and not y.is_deleted()
    assert out.tolist() == [2, 2, 2, 2]
    for use in (lambda: donating.call([x, y]), lambda: donating.call([y, x]), lambda: repr(x)):
        with pytest.raises(RuntimeError, match=r"f32\[4\] was donated"):
            use()


def test_donation_leaves_memory_of_others_alone(make_executable):
    donating = make_executable("add", shape=(4096,), attrs="{tf.aliasing_output = 0 : i32}", donated=[0])
    source = np.ones(4096, np.float32)
    x = to_device(source, may_alias=True)
    view = np.asarray(x)
    (out,) = donating.call([x, x.copy()])
    assert out.tolist() == [2] * 4096
    assert source.max() == 1 and view.max() == 1


def test_what_compiles(make_executable):
    with _jaxlib.new_mlir_context():
        module = _jaxlib.ir.Module.parse(IDENTITY)
    for form in (IDENTITY, IDENTITY.encode(), module):
        assert compiling.compile_module(form, backend.devices()[:1]).local_devices() == backend.devices()[:1]


def test_compiler_options():
    devices = backend.devices()[:1]
    for good in ({"xla_cpu_enable_fast_math": True}, {"optimization_level": "O1"},
                 {"xla_cpu_enable_fast_math": np.bool_(True)}):
        compiling.compile_module(IDENTITY, devices, compiler_options=good)
    with pytest.raises(ValueError, match="no compiler option 'xla_cpu_enable_fast_mat'.*'xla_cpu_enable_fast_math'"):
        compiling.compile_module(IDENTITY, devices, compiler_options={"xla_cpu_enable_fast_mat": True})
    with pytest.raises(ValueError, match="cannot take.*xla_cpu_enable_fast_math"):
        compiling.compile_module(IDENTITY, devices, compiler_options={"xla_cpu_enable_fast_math": "perhaps"})
    with pytest.raises(ValueError, match="O0, O1"):
        compiling.compile_module(IDENTITY, devices, compiler_options={"optimization_level": "O7"})
    with pytest.raises(TypeError, match="strings, booleans"):
        compiling.compile_module(IDENTITY, devices, compiler_options={"xla_foo": [1]})


def test_options_from_the_configuration():
    devices = backend.devices()[:1]
    with config.optimization_level("O1"), config.memory_fitting_level("O3"):
        build = compiling.compile_options(devices).executable_build_options
    assert (build.optimization_level, build.memory_fitting_level) == (19, 39)


def test_what_executables_tell(make_executable):
    loaded = make_executable().loaded
    assert "subtract" in compiling.compiled_text(loaded)
    assert compiling.cost_analysis(loaded)["flops"] == 1
    assert compiling.memory_analysis(loaded).argument_size_in_bytes >= 8


def test_serialising(make_executable):
    subtract = make_executable()
    devices = backend.devices()[:1]
    data = compiling.serialize(subtract.loaded)
    again = compiling.deserialize(data, devices, compiling.compile_options(devices))
    copy = Executable(again, in_avals=subtract.in_avals, out_avals=subtract.out_avals)
    assert copy.call([5.0, 3.0])[0].item() == 2


def test_arguments_are_checked_against_the_types_compiled_for(make_executable):
    subtract = make_executable(name="subtract", arg_names=["a", "b"])
    aval = ShapedArray((), np.dtype("float32"))
    subtract.check_avals([aval, aval])
    with pytest.raises(TypeError, match="takes 2 arrays, and 1"):
        subtract.check_avals([aval])
    with pytest.raises(TypeError, match=r"argument b of type f32\[\], and f32\[3\]"):
        subtract.check_avals([aval, ShapedArray((3,), np.dtype("float32"))])


def test_ordered_effects_hand_a_token_on():
    flag, number = "tensor<0xi1>", "tensor<f32>"
    text = module_text(f"%t: {flag}, %a: {number}", f"{flag}, {number}", f"return %t, %a : {flag}, {number}")
    aval = ShapedArray((), np.dtype("float32"))
    loaded = compiling.compile_module(text, backend.devices()[:1])
    f = Executable(loaded, in_avals=[aval], out_avals=[aval], ordered_effects=["print"])
    assert f.call([1.0])[0].item() == 1
    first = execute.tokens.current["print"]
    assert f.call([2.0])[0].item() == 2
    assert execute.tokens.current["print"] is not first
    execute.effects_barrier()
    assert "print" not in execute.tokens.current


def test_float0_is_carried_by_flags():
    flag, number = "tensor<2xi1>", "tensor<f32>"
    text = module_text(f"%t: {flag}, %a: {number}", f"{flag}, {number}", f"return %t, %a : {flag}, {number}")
    nothing = ShapedArray((2,), dtypes.float0)
    aval = ShapedArray((), np.dtype("float32"))
    loaded = compiling.compile_module(text, backend.devices()[:1])
    f = Executable(loaded, in_avals=[nothing, aval], out_avals=[nothing, aval])
    value = np.zeros(2, dtypes.float0)
    assert to_device(value) is value
    out, one = f.call([value, 1.0])
    assert isinstance(out, np.ndarray) and out.dtype == dtypes.float0 and out.shape == (2,)
    assert one.item() == 1


def test_unordered_effects_are_waited_for():
    aval = ShapedArray((), np.dtype("float32"))
    loaded = compiling.compile_module(IDENTITY, backend.devices()[:1])
    f = Executable(loaded, in_avals=[aval], out_avals=[aval], has_unordered_effects=True)
    assert f.call([1.0])[0].item() == 1
    assert execute.tokens.pending
    execute.effects_barrier()
    assert not execute.tokens.pending


def test_waiting_for_many():
    class Slow:
        waited = False

        def block_until_ready(self):
            self.waited = True

    slow = Slow()
    execute.block_until_ready([put(1), 3, None, slow])
    assert slow.waited
    gone = put(1)
    gone.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        execute.block_until_ready([gone])


def test_xla_errors_keep_their_class():
    with pytest.raises(_jaxlib.JaxRuntimeError, match="undeclared"):
        compiling.compile_module(binary("add").replace("return %0", "return %nothing"), backend.devices()[:1])


def test_many_programs_over_several_devices_do_not_lock_up(run_python):
    """All devices have to meet in each collective, and threads are few: not many such programs may be under way."""
    done = run_python("""
import jax, jax.numpy as jnp, numpy as np
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
rows, everywhere = jax.NamedSharding(mesh, jax.P("x")), jax.NamedSharding(mesh, jax.P())
data, w = jax.device_put(np.ones((16, 3), np.float32), rows), jax.device_put(np.zeros(3, np.float32), everywhere)
step = jax.jit(jax.grad(lambda w, x: jnp.mean((x @ w - 3.0) ** 2)))
for _ in range(200):
    w = w - 0.1 * step(w, data)
print(f"{float(jnp.sum(w)):.3f}")
""", env={"JAX_NUM_CPU_DEVICES": "8"})
    assert done.stdout.strip() == "3.000"
