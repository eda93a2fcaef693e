"""Calls from programs back into Python: values, transformations, order, exceptions, calls of JAX inside."""

from __future__ import annotations

import collections
import io
import threading

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback

F32 = jax.ShapeDtypeStruct((), np.float32)


def double(x):
    return np.asarray(x) * 2


# --- pure_callback ----------------------------------------------------------------------------------------------------

@pytest.mark.quick
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_pure_callback_gets_arrays_and_returns_them(wrap):
    kinds = []

    def f(x, *, y):
        kinds.append((type(x), x.dtype, type(y)))
        return {"sum": x + y, "both": (x, 3)}

    spec = {"sum": F32, "both": (F32, jax.ShapeDtypeStruct((), np.int32))}
    out = wrap(lambda x: jax.pure_callback(f, spec, x, y=2.0))(1.0)
    assert float(out["sum"]) == 3 and int(out["both"][1]) == 3
    assert isinstance(out["sum"], jax.Array)
    assert kinds == [(type(jnp.ones(())), np.float32, type(jnp.ones(())))]


def test_pure_callback_equation():
    eqn = jax.make_jaxpr(lambda x: jax.pure_callback(double, x, x, vmap_method="sequential"))(1.0).eqns[0]
    assert eqn.primitive.name == "pure_callback"
    assert set(eqn.params) == {"callback", "result_avals", "sharding", "vmap_method"}
    assert not eqn.effects


def test_arguments_outlive_the_call():
    kept = []
    x = jnp.arange(1000.0)
    jax.jit(lambda x: jax.pure_callback(lambda v: kept.append(v) or v, x, x))(x + 1).block_until_ready()
    for _ in range(10):
        jax.jit(lambda x: x * 2)(x).block_until_ready()
    assert np.array_equal(kept[0], np.arange(1000.0) + 1)


@pytest.mark.parametrize("method, shapes", [
    ("sequential", {((), ())}), ("sequential_unrolled", {((), ())}), ("expand_dims", {((3,), (1,))}),
    ("broadcast_all", {((3,), (3,))}), ("legacy_vectorized", {((3,), ())})])
@pytest.mark.parametrize("staged", [False, True])
def test_vmap_methods(method, shapes, staged):
    seen = set()

    def f(x, y):
        seen.add((x.shape, y.shape))
        return np.asarray(x) * np.asarray(y)

    g = jax.vmap(lambda x, y: jax.pure_callback(f, F32, x, y, vmap_method=method), in_axes=(0, None))
    out = (jax.jit(g) if staged else g)(jnp.arange(3.0), jnp.float32(2))
    assert out.tolist() == [0, 2, 4]
    assert seen == shapes


def test_vmap_moves_axes_and_nests():
    f = lambda x: jax.pure_callback(double, x, x, vmap_method="expand_dims")  # noqa: E731
    x = jnp.arange(6.0).reshape(2, 3)
    assert np.array_equal(jax.vmap(f, in_axes=1, out_axes=1)(x), 2 * x)
    assert np.array_equal(jax.vmap(jax.vmap(f))(x), 2 * x)
    seq = lambda x: jax.pure_callback(double, x, x, vmap_method="sequential")  # noqa: E731
    assert np.array_equal(jax.jit(jax.vmap(jax.vmap(seq)))(x), 2 * x)


def test_vmap_without_method_and_with_an_unknown_one():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        jax.vmap(lambda x: jax.pure_callback(double, x, x))(jnp.ones(2))
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        jax.pure_callback(double, F32, 1.0, vmap_method="fast")


def test_pure_callback_has_no_derivative_of_its_own():
    f = lambda x: jax.pure_callback(double, F32, x)  # noqa: E731
    with pytest.raises(ValueError, match="custom_jvp"):
        jax.grad(f)(1.0)
    assert float(jax.grad(lambda x: f(lax.stop_gradient(x)) * x)(3.0)) == 6.0

    @jax.custom_jvp
    def g(x):
        return f(x)
    g.defjvp(lambda p, t: (g(*p), 2 * t[0]))
    assert float(jax.grad(g)(1.0)) == 2.0
    assert float(jax.jit(jax.grad(g))(1.0)) == 2.0


def test_unneeded_pure_callbacks_are_not_called():
    calls = []
    jax.jit(lambda x: (jax.pure_callback(lambda v: calls.append(1) or v, x, x), x + 1)[1])(1.0)
    assert not calls


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize("result, message", [
    (np.zeros(4, np.float32), r"shape \(4,\)"), (np.zeros((), np.int32), "dtype int32"), ([1.0, 2.0], "2 arrays")])
def test_wrong_results_are_refused(wrap, result, message):
    with pytest.raises(RuntimeError, match=message):
        wrap(lambda x: jax.pure_callback(lambda v: result, F32, x))(1.0)


def test_wrong_descriptions_of_results():
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        jax.pure_callback(double, 3, 1.0)
    with pytest.raises(ValueError, match="64-bit"):
        jax.pure_callback(double, jax.ShapeDtypeStruct((), np.float64), 1.0)
    with pytest.raises(TypeError, match="function"):
        jax.pure_callback(3, F32, 1.0)


def test_keys_reach_callbacks():
    key = jax.random.key(3)
    seen = []
    f = lambda k: jax.pure_callback(lambda v: seen.append(v.dtype) or np.float32(1), F32, k)  # noqa: E731
    assert float(f(key)) == float(jax.jit(f)(key)) == 1
    assert seen == [key.dtype] * 2


# --- io_callback ------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_io_callbacks_happen_once_and_in_order():
    log = []

    @jax.jit
    def f(n):
        def body(c, i):
            io_callback(lambda i: log.append(int(i)), None, i, ordered=True)
            lax.cond(i % 2 == 0, lambda: io_callback(lambda i: log.append(f"even {i}"), None, i, ordered=True),
                     lambda: None)
            return c + i, None
        total, _ = lax.scan(body, n, jnp.arange(4))

        def step(s):
            io_callback(lambda s: log.append(f"while {s}"), None, s, ordered=True)
            return s + 1
        return total + lax.while_loop(lambda s: s < 2, step, 0)

    f(0)
    jax.effects_barrier()
    assert log == [0, "even 0", 1, 2, "even 2", 3, "while 0", "while 1"]


def test_io_callback_without_results_stays():
    log = []
    jax.jit(lambda x: (io_callback(lambda v: log.append(float(v)), None, x), x)[1])(2.0)
    jax.effects_barrier()
    assert log == [2.0]
    jaxpr = jax.make_jaxpr(lambda x: io_callback(lambda v: None, None, x, ordered=True))(1.0)
    assert [str(e) for e in jaxpr.effects] == ["OrderedIO"]


@pytest.mark.parametrize("staged", [False, True])
def test_vmap_of_io_callbacks(staged):
    seen = []
    g = jax.vmap(lambda x: io_callback(lambda v: seen.append(float(v)) or v * 2, F32, x))
    out = (jax.jit(g) if staged else g)(jnp.arange(3.0))
    assert out.tolist() == [0, 2, 4] and seen == [0, 1, 2]
    with pytest.raises(ValueError, match="ordered=True"):
        jax.vmap(lambda x: io_callback(double, F32, x, ordered=True))(jnp.ones(2))


def test_io_callbacks_are_not_differentiated_nor_repeated():
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: io_callback(double, F32, x))(1.0)
    calls = []

    @jax.checkpoint
    def f(x):
        y = io_callback(lambda v: calls.append(1) or v * 0 + 3, F32, lax.stop_gradient(x))
        return jnp.sin(x) * y
    assert float(jax.jit(jax.grad(f))(0.0)) == 3.0
    assert len(calls) == 1


# --- debug ------------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_debug_callback_sees_primal_values():
    log = []

    def f(x):
        def body(c, i):
            jax.debug.callback(lambda v: log.append(round(float(v), 3)), c, ordered=True)
            return c * i, None
        return lax.scan(body, x, jnp.arange(1.0, 4.0))[0]

    expected = [1.0, 1.0, 2.0]
    for run in (lambda: f(1.0), lambda: jax.jit(f)(1.0), lambda: jax.grad(f)(1.0), lambda: jax.jit(jax.grad(f))(1.0),
                lambda: jax.jvp(f, (1.0,), (1.0,)), lambda: jax.grad(jax.checkpoint(f))(1.0),
                lambda: jax.linearize(f, 1.0), lambda: jax.hessian(f)(1.0)):
        log.clear()
        run()
        jax.effects_barrier()
        assert log == expected
    log.clear()
    jax.vmap(jax.grad(f))(jnp.array([1.0, 10.0]))
    jax.effects_barrier()
    assert log == [1.0, 10.0, 1.0, 10.0, 2.0, 20.0]


def test_debug_callback_takes_anything(capsys):
    seen = []
    look = lambda a, b, *, c: seen.append((a, float(b["x"]), c))  # noqa: E731
    jax.jit(lambda x: jax.debug.callback(look, "text", {"x": x}, c=None))(2.0)
    jax.effects_barrier()
    assert seen == [("text", 2.0, None)]


@pytest.mark.quick
def test_debug_print(capsys):
    @jax.jit
    def f(x):
        jax.debug.print("x = {:.2f}, {name!r} {tree}", x[0], name="q", tree=[x, None])
        return x
    f(jnp.arange(2.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "x = 0.00, 'q' [Array([0., 1.], dtype=float32), None]\n"
    jax.vmap(lambda x: jax.debug.print("{}", x))(jnp.arange(2.0))
    jax.jit(jax.vmap(lambda x: jax.debug.print("{}", x)))(jnp.arange(2.0))
    jax.vmap(lambda x: jax.debug.print("once {}", 1))(jnp.arange(2.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "0.0\n1.0\n0.0\n1.0\nonce 1\n"


def test_debug_print_follows_print_options(capsys):
    with np.printoptions(precision=2):
        jax.jit(lambda x: jax.debug.print("{}", x))(jnp.array([1 / 3]))
    jax.effects_barrier()
    assert capsys.readouterr().out == "[0.33]\n"


def test_debug_print_checks_its_format():
    with pytest.raises(ValueError, match="number 0"):
        jax.debug.print("nothing", 3)
    with pytest.raises(KeyError, match="'a'"):
        jax.debug.print("{a}")
    with pytest.raises(IndexError, match="more than the 1"):
        jax.debug.print("{} {}", 1)
    with pytest.raises(TypeError, match="format string"):
        jax.debug.print(jnp.ones(3))
    jax.debug.print("{0.shape} {x[0]}", jnp.ones(3), x=[1])
    jax.debug.print("nothing", 3, skip_format_check=True)


def test_debug_output_of_a_script_is_not_lost_at_exit(run_python):
    source = """
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    for _ in range(3):
        x = x @ x * 0 + 1
    jax.debug.print("sum {}", x.sum())
f(jnp.ones((300, 300)))
"""
    assert run_python(source).stdout.strip() == "sum 90000.0"


def test_breakpoint():
    stdin, stdout = io.StringIO("p x + 1\nbt\nu\nd\nl\nfactor\nnonsense\nc\n"), io.StringIO()

    @jax.jit
    def f(x):
        factor = 3
        jax.debug.breakpoint(stdin=stdin, stdout=stdout, num_frames=2)
        return x * factor
    assert float(f(2.0)) == 6.0
    jax.effects_barrier()
    text = stdout.getvalue()
    assert "3.0" in text and "jax.debug.breakpoint(stdin" in text and "NameError" in text and "-> " in text


def test_breakpoint_hands_its_token_on_and_quits():
    stdin, stdout = io.StringIO("c\n"), io.StringIO()
    f = jax.jit(lambda x: jax.debug.breakpoint(token=x, stdin=stdin, stdout=stdout) + 1)
    assert float(f(1.0)) == 2.0 and "(jdb)" in stdout.getvalue()
    g = jax.jit(lambda x: jax.debug.breakpoint(token=x, stdin=io.StringIO("q\n"), stdout=io.StringIO()))
    with pytest.raises(RuntimeError, match="stopped in jax.debug.breakpoint"):
        g(1.0).block_until_ready()


Pair = collections.namedtuple("Pair", "left right")


def test_breakpoint_among_variables_that_contain_themselves():
    stdout = io.StringIO()

    def fun(x):
        cycle = [x]
        cycle.append({"again": cycle})
        nested = shared = {"x": x}
        for _ in range(2000):
            nested = (nested,)
        twice, mixed, pair = [shared, shared], {1: x, "a": x}, Pair(x, [x])
        commands = "".join(f"p {what}\n" for what in ("twice", "len(cycle)", "len(mixed)", "pair")) + "c\n"
        jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=stdout, num_frames=1)
        return len(twice) + len(mixed) + len(nested) + len(pair) + x

    assert float(jax.jit(fun)(1.0)) == 8.0
    jax.effects_barrier()
    text = stdout.getvalue()
    assert text.count("1.") >= 4 and "2" in text and "Error" not in text and "Traced" not in text


def test_where_arrays_are(capsys):
    seen = []
    x = jnp.ones((2, 2))
    jax.debug.inspect_array_sharding(x, callback=seen.append)
    jax.jit(lambda x: jax.debug.inspect_array_sharding(x, callback=seen.append))(x)
    jax.effects_barrier()
    assert seen == [x.sharding, x.sharding]
    jax.debug.visualize_array_sharding(x)
    assert "CPU 0" in capsys.readouterr().out
    with pytest.raises(ValueError, match="one or two dimensions"):
        jax.debug.visualize_array_sharding(jnp.ones((2, 2, 2)))


# --- exceptions -------------------------------------------------------------------------------------------------------

class MyError(ValueError):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def fail(x):
    raise MyError("boom", 7)


CALLS = {
    "pure": lambda x: jax.pure_callback(fail, F32, x),
    "io": lambda x: io_callback(fail, F32, x),
    "ordered": lambda x: io_callback(fail, None, x, ordered=True),
    "debug": lambda x: jax.debug.callback(fail, x),
    "ordered debug": lambda x: jax.debug.callback(fail, x, ordered=True),
}


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.quick
def test_exceptions_reach_the_caller_as_themselves(kind, staged):
    f = jax.jit(CALLS[kind]) if staged else CALLS[kind]
    for _ in range(2):  # on repeated calls too
        with pytest.raises(MyError, match="boom") as info:
            jax.block_until_ready(f(1.0))
            jax.effects_barrier()
        error = info.value
        assert isinstance(error, jax.errors.JaxRuntimeError)
        assert error.code == 7 and error.args == ("boom",)
        cause = error.__cause__
        assert type(cause) is MyError and cause.code == 7
        frames = []
        tb = cause.__traceback__
        while tb is not None:
            frames.append(tb.tb_frame.f_code.co_name)
            tb = tb.tb_next
        assert frames[-1] == "fail" and len(frames) < 12
    jax.effects_barrier()  # told already


def test_exceptions_surface_where_results_are_read():
    def slow(x):
        for _ in range(4):
            x = x @ x * 0 + 1
        return x[0, 0]
    y = jax.jit(lambda x: x + 1)(jax.jit(slow)(jnp.ones((400, 400))))
    for read in (lambda v: v.block_until_ready(), float, np.asarray, jax.block_until_ready, jax.device_get):
        with pytest.raises(MyError):
            read(jax.jit(CALLS["pure"])(y))


def test_keyboard_interrupt_is_not_caught_as_an_error():
    def stop(x):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        jax.jit(lambda x: jax.pure_callback(stop, F32, x))(1.0).block_until_ready()


def test_ordered_effects_go_on_after_an_exception():
    log = []
    with pytest.raises(MyError):
        jax.jit(CALLS["ordered"])(1.0)
        jax.effects_barrier()
    jax.jit(lambda x: io_callback(lambda v: log.append(float(v)), None, x, ordered=True))(2.0)
    jax.effects_barrier()
    assert log == [2.0]


# --- callbacks that call JAX ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [
    lambda: (jnp.ones((200, 200), jnp.int32), lambda a: (a @ a).sum()),
    lambda: (jnp.ones((2, 32, 32, 8)), lambda a: lax.conv_general_dilated(
        a, jnp.ones((3, 3, 8, 8)), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).sum()),
])
def test_callbacks_that_call_jax_do_not_deadlock(make):
    a, work = make()
    inner = jax.jit(work)

    def nested(x):
        return np.asarray(x) + np.asarray(inner(a)) * 0

    # Independent calls could take all of the threads that the inner programs need.
    f = jax.jit(lambda x: sum(jax.pure_callback(nested, F32, x * i) for i in range(12)))
    slow = jax.jit(lambda b: (b @ b @ b)[0, 0] * 0 + 1)
    b = jnp.ones((300, 300))
    for _ in range(3):
        y = f(slow(b))
    assert float(y) == 66.0
    for _ in range(40):  # more programs than may be under way at once
        y = f(slow(b)) * 1.0
    assert float(y) == 66.0


def test_callbacks_in_callbacks_and_threads():
    log = []
    inner = jax.jit(lambda x: io_callback(lambda v: log.append(("in", float(v))), None, x, ordered=True))

    def outer(v):
        log.append(("out", float(v)))
        inner(v)
        jax.effects_barrier()

    f = jax.jit(lambda x: io_callback(outer, None, x, ordered=True))
    for k in range(3):
        f(float(k))
    jax.effects_barrier()
    assert log == [(where, float(k)) for k in range(3) for where in ("out", "in")]
    log.clear()
    threads = [threading.Thread(target=lambda: [f(float(k)) for k in range(3)]) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads) and len(log) == 18


def test_callbacks_may_trace_and_differentiate():
    f = lambda x: jax.pure_callback(lambda v: jax.grad(jnp.sin)(v), F32, x)  # noqa: E731
    assert float(jax.jit(f)(0.0)) == 1.0
    assert float(jax.jit(lambda x: jax.pure_callback(jax.jit(jnp.cos), F32, x))(0.0)) == 1.0
