"""Programs: compiled once per jaxpr and key, placed by their arguments, explained when asked."""

from __future__ import annotations

import gc
import logging
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jax
from jax._base.config import (
    captured_constants_report_frames,
    captured_constants_warn_bytes,
    compiler_enable_remat_pass,
    config,
    cpu_fusion_fences,
    cpu_group_pieces,
    dump_ir_to,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    memory_fitting_level,
    optimization_level,
)
from jax._dispatch import program
from jax._language.effects import Effect, lowerable_effects, ordered_effects
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.primitive import Primitive
from jax._lowering import hlo, rules
from jax._lowering.callback import emit_python_callback
from jax._lowering.context import TokenSet
from jax._runtime import backend, transfer
from jax._runtime.execute import effects_barrier
from tests.lowering.helpers import add_p, aval, by_rule, close, mul_p, sin_p

pytestmark = pytest.mark.quick


def array(*values, dtype=np.float32):
    return transfer.to_device(np.array(values, dtype))


def run(closed, *args, **options):
    return program.run_program(args, jaxpr=closed, name="fun", **options)


def named(closed: ClosedJaxpr, *names: str) -> ClosedJaxpr:
    return ClosedJaxpr(closed.jaxpr.replace(debug_info=DebugInfo("jit", "fun at file.py:7", names)), closed.consts)


def test_results():
    closed = close(lambda x, unused, y: [add_p.bind(x, y), 2.0, y], aval(2), aval(3), aval(2))
    a, b, c = run(closed, array(1, 2), None, np.array([3, 4], np.float32))
    assert a.tolist() == [4, 6] and b.item() == 2.0 and c.tolist() == [3, 4]


def test_large_constants_are_arguments():
    big = np.arange(2000, dtype=np.float32)
    closed = close(lambda x: add_p.bind(x, big), aval(2000))
    (out,) = run(closed, np.ones(2000, np.float32))
    np.testing.assert_array_equal(out, big + 1)


def test_compiled_once_per_key():
    closed = close(lambda x: sin_p.bind(x), aval(2))
    first, committed = program.executable_for([array(1, 2)], jaxpr=closed, name="fun")
    assert not committed
    assert program.executable_for([array(3, 4)], jaxpr=closed, name="fun")[0] is first
    assert program.executable_for([array(3, 4)], jaxpr=closed, name="fun", keep_unused=True)[0] is not first


def test_programs_die_with_their_jaxpr():
    closed = close(lambda x: sin_p.bind(x), aval(2))
    executable = weakref.ref(program.executable_for([array(1, 2)], jaxpr=closed, name="fun")[0])
    assert executable() is not None
    del closed
    gc.collect()
    assert executable() is None


def test_donated_arguments_are_gone():
    closed = close(lambda x: mul_p.bind(x, x), aval(4))
    x = array(1, 2, 3, 4)
    (out,) = run(closed, x, donated_invars=(True,))
    assert out.tolist() == [1, 4, 9, 16]
    assert x.is_deleted()


def test_useless_donation_is_reported_at_the_users_line():
    closed = close(lambda x: np.float32(1), aval(4))
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: argument 0 \(f32\[4\]\)") as caught:
        run(closed, array(1, 2, 3, 4), donated_invars=(True,), keep_unused=True)
    assert caught[0].filename == __file__


def test_devices_come_from_committed_arguments():
    device = backend.local_devices()[0]
    closed = close(lambda x: sin_p.bind(x), aval(2))
    (out,) = run(closed, transfer.to_device(np.ones(2, np.float32), placement=device))
    assert out._committed
    (out,) = run(closed, np.ones(2, np.float32))
    assert not out._committed
    (out,) = run(closed, np.ones(2, np.float32), device=device)
    assert out._committed


def test_arguments_on_different_devices(run_python):
    source = """
import jax, numpy as np
from jax._runtime import backend, transfer
a, b = backend.local_devices()
x = transfer.to_device(np.ones(2, np.float32), placement=a)
y = transfer.to_device(np.ones(2, np.float32), placement=b)
out = jax.jit(lambda x: x)(y)
assert out.devices() == {b}, out.devices()
try:
    jax.jit(lambda first, second: (first, second))(x, y)
except ValueError as error:
    print(error)
"""
    out = run_python(source, env={"JAX_NUM_CPU_DEVICES": "2"}).stdout
    assert "committed to different devices" in out
    assert "first (f32[2])" in out and "second (f32[2])" in out


# --- messages ------------------------------------------------------------------------------------------------------

def messages(caplog):
    return [r.getMessage() for r in caplog.records if r.name.startswith("jax")]


def test_steps_are_logged(caplog):
    closed = close(lambda x: sin_p.bind(x), aval(3))
    with log_compiles(True), caplog.at_level(logging.WARNING):
        run(closed, array(1, 2, 3))
    text = "\n".join(messages(caplog))
    assert "lowered fun in" in text and "compiled jit(fun) for cpu in" in text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        run(close(lambda x: sin_p.bind(x), aval(3)), array(1, 2, 3))
    assert not messages(caplog)


def test_misses_are_explained(caplog):
    closed = named(close(lambda x: sin_p.bind(x), aval(5)), "x")
    with explain_cache_misses(True), caplog.at_level(logging.WARNING):
        run(closed, array(1, 2, 3, 4, 5))
        run(closed, array(1, 2, 3, 4, 5), keep_unused=True)
        with enable_x64(True):
            run(closed, array(1, 2, 3, 4, 5), keep_unused=True)
    second, third = (m for m in messages(caplog) if m.startswith("compiling"))
    assert "fun at file.py:7" in second and "keep_unused was False and is True" in second
    assert "jax_enable_x64 was False and is True" in third


@pytest.mark.parametrize("option, value", [
    (optimization_level, "O1"), (memory_fitting_level, "O1"), (compiler_enable_remat_pass, False),
    (cpu_fusion_fences, False), (cpu_group_pieces, False),
])
def test_options_of_the_compiler_are_part_of_the_key(caplog, option, value):
    closed = close(lambda x: sin_p.bind(x), aval(5))
    first, _ = program.executable_for([array(1, 2)], jaxpr=closed, name="fun")
    with option(value), explain_cache_misses(True), caplog.at_level(logging.WARNING):
        other, _ = program.executable_for([array(1, 2)], jaxpr=closed, name="fun")
        assert other is not first
        assert program.executable_for([array(1, 2)], jaxpr=closed, name="fun")[0] is other
    assert f"the option {option.name} was {option.default!r} and is {value!r}" in caplog.text
    assert program.executable_for([array(1, 2)], jaxpr=closed, name="fun")[0] is first


def test_options_of_the_compiler_reach_calls_that_stay_in_cpp(caplog):
    f = jax.jit(lambda x: x * 3)
    for _ in range(2):
        f(array(1, 2))
    with log_compiles(True), caplog.at_level(logging.WARNING):
        f(array(1, 2))
        assert "compiled" not in caplog.text
        config.update("jax_disable_most_optimizations", True)
        try:
            f(array(1, 2))
        finally:
            config.update("jax_disable_most_optimizations", False)
    assert "compiled jit(<lambda>)" in caplog.text


def test_programs_are_dumped(tmp_path):
    config.update("jax_dump_ir_modes", "stablehlo,jaxpr")
    config.update("jax_dump_ir_to", str(tmp_path))
    try:
        run(close(lambda x: sin_p.bind(x), aval(6)), np.ones(6, np.float32))
    finally:
        config.update("jax_dump_ir_to", dump_ir_to.default)
        config.update("jax_dump_ir_modes", "stablehlo")
    (module,) = tmp_path.glob("*fun.mlir")
    assert "stablehlo.sine" in module.read_text()
    (jaxpr,) = tmp_path.glob("*fun.jaxpr.txt")
    assert "test_sin" in jaxpr.read_text()


def test_compilers_errors_name_the_users_line():
    prim = by_rule("test_invalid", lambda ctx, x: [hlo.op1("stablehlo.add", x.type, [x, hlo.full(0, (3,), np.int32)])])
    closed = named(close(lambda x: prim.bind(x), aval(2)), "x")
    with pytest.raises(RuntimeError, match=r"XLA could not compile fun \(.*test_program.py:\d+, in fun at file.py:7\)"):
        run(closed, array(1, 2))


def test_results_keep_their_names_in_the_text():
    closed = named(close(lambda x: sin_p.bind(x), aval(2)), "params['w']")
    lowered = program.lower_program(closed, "fun", platforms=("cpu",), result_names=["out"])
    assert "params['w']" in lowered.as_text(debug_info=True) and "out" in lowered.as_text()


# --- callbacks and effects -----------------------------------------------------------------------------------------

def calling_back(name, has_side_effect=False):
    def rule(ctx, x, *, callback):
        outs, token, _ = emit_python_callback(ctx, callback, None, [x], ctx.avals_in, ctx.avals_out,
                                              has_side_effect=has_side_effect)
        assert token is None
        return outs

    return by_rule(name, rule)


callback_p = calling_back("test_callback")


def test_callbacks():
    def host(x):
        assert isinstance(x, np.ndarray) and x.shape == (2, 3)
        return [np.sin(x, dtype=np.float64)]  # converted to what the program expects

    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    closed = close(lambda x: callback_p.bind(x, callback=host), aval(2, 3))
    np.testing.assert_allclose(run(closed, value)[0], np.sin(value), rtol=1e-6)


@pytest.mark.parametrize("host, message", [
    (lambda x: [x, x], "returned 2 arrays where the program expects 1"),
    (lambda x: [x[0]], r"shape \(3,\).*f32\[2,3\]"),
    (lambda x: [np.zeros((2, 3), int)], r"dtype int64.*f32\[2,3\]"),
    (lambda x: 1 / 0, "division by zero"),
])
def test_wrong_callbacks(host, message):
    closed = close(lambda x: callback_p.bind(x, callback=host), aval(2, 3))
    with pytest.raises(RuntimeError, match=message):
        run(closed, np.zeros((2, 3), np.float32))[0].block_until_ready()


class Told(Effect):
    """An ordered effect."""


TOLD = Told()
ordered_effects.add_type(Told)
lowerable_effects.add_type(Told)
tell_p = Primitive("test_tell", multiple_results=True)
tell_p.def_effectful_abstract_eval(lambda x, callback: ([], {TOLD}))


def _tell(ctx, x, *, callback):
    _, token, keep = emit_python_callback(ctx, callback, ctx.tokens_in.get(TOLD), [x], ctx.avals_in, [],
                                          has_side_effect=True)
    ctx.set_tokens_out(TokenSet({TOLD: token}))
    ctx.module_context.add_keepalive(keep)
    return []


rules.register_lowering(tell_p, _tell)


def test_ordered_effects_within_and_between_runs():
    told = []

    def tell(x):
        told.append(int(x))
        return ()

    def fun(x):
        tell_p.bind(x, callback=tell)
        tell_p.bind(add_p.bind(x, 1.0), callback=tell)
        return x

    closed = close(fun, aval())
    for i in range(10):
        run(closed, np.float32(10 * i))
    effects_barrier()
    assert told == [10 * i + j for i in range(10) for j in range(2)]


def test_large_captured_arrays_are_reported():
    big = np.ones(1000, np.float32)
    closed = close(lambda x: add_p.bind(x, big), aval(1000))
    with captured_constants_warn_bytes(100), captured_constants_report_frames(1):
        with pytest.warns(UserWarning, match=r"closes over 1 arrays of 4,000 bytes.*(.|\n)*f32\[1000\].*(.|\n)*lambda"):
            run(closed, np.ones(1000, np.float32))


def test_threads_lower_and_compile_at_the_same_time():
    def work(n):
        def fun(x):
            for _ in range(n):
                x = add_p.bind(mul_p.bind(x, 2.0), x)
            return x

        lowered = program.lower_program(close(fun, aval(n)), "fun", platforms=("cpu",))
        (out,) = program.compile_lowered(lowered).call([np.ones(n, np.float32)])
        lowered.release()
        return out.tolist()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(1, 13))) == [[3.0**n] * n for n in range(1, 13)]
