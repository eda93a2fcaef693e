"""The options that ``jax`` exports as context managers: what each does, and what it says when misused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import SingleDeviceSharding

pytestmark = pytest.mark.quick

VECTOR = np.ones(3, np.float32)


@pytest.mark.parametrize("name, value, accepted", [
    ("check_tracer_leaks", "yes please", "True or False"),
    ("checking_leaks", "yes please", "True or False"),
    ("debug_nans", 3, "True or False"),
    ("debug_infs", None, "True or False"),
    ("debug_key_reuse", "x", "True or False"),
    ("default_device", 3, "a device (jax.devices()[0])"),
    ("default_matmul_precision", "best", "one of 'default', 'high', 'highest'"),
    ("default_prng_impl", "mersenne", "one of 'threefry2x32'"),
    ("disable_jit", "x", "True or False"),
    ("enable_checks", "x", "True or False"),
    ("enable_custom_prng", "x", "True or False"),
    ("enable_custom_vjp_by_custom_transpose", "x", "True or False"),
    ("enable_x64", "maybe", "True or False"),
    ("explain_cache_misses", 2, "True or False"),
    ("legacy_prng_key", "never", "one of 'allow', 'warn', 'error'"),
    ("log_compiles", 2, "True or False"),
    ("no_execution", 2, "True or False"),
    ("no_tracing", 2, "True or False"),
    ("numpy_dtype_promotion", "sloppy", "one of 'standard', 'strict'"),
    ("numpy_rank_promotion", "never", "one of 'allow', 'warn', 'raise'"),
    ("softmax_custom_jvp", 2, "True or False"),
    ("thread_guard", 2, "True or False"),
    ("threefry_partitionable", 2, "True or False"),
    ("transfer_guard_host_to_device", "never", "one of 'allow', 'log', 'disallow', 'log_explicit', 'disallow_explicit'"),
    ("transfer_guard_device_to_device", "never", "one of 'allow', 'log'"),
    ("transfer_guard_device_to_host", "never", "one of 'allow', 'log'"),
])
def test_values_that_are_refused(name, value, accepted):
    with pytest.raises(ValueError) as caught:
        getattr(jax, name)(value)
    assert accepted in str(caught.value) and repr(value) in str(caught.value)


@pytest.mark.parametrize("name", ["enable_x64", "debug_nans", "enable_checks", "no_tracing", "numpy_rank_promotion",
                                  "default_device", "transfer_guard_host_to_device", "thread_guard"])
def test_contexts_nest_and_end_and_stay_in_their_thread(name):
    option, other = getattr(jax, name), {"numpy_rank_promotion": "raise", "default_device": "cpu",
                                         "transfer_guard_host_to_device": "log"}.get(name, True)
    seen = []
    before = option.value
    with option(other):
        thread = threading.Thread(target=lambda: seen.append(option.value))
        thread.start()
        thread.join()
        assert option.value == other
        with option(before):
            assert option.value == before
        assert option.value == other
    assert option.value == before and seen == [before]


@pytest.mark.parametrize("option, value", [
    ("enable_x64", True), ("numpy_dtype_promotion", "strict"), ("default_matmul_precision", "highest"),
    ("default_prng_impl", "rbg"), ("threefry_partitionable", False), ("numpy_rank_promotion", "raise"),
    ("default_device", "cpu"),
])
def test_what_changes_programs_is_part_of_their_key(option, value):
    runs = []
    f = jax.jit(lambda x: runs.append(1) or x)
    f(VECTOR)
    with getattr(jax, option)(value):
        f(VECTOR)
        f(VECTOR)
    f(VECTOR)
    assert len(runs) == 2


def test_default_device():
    device = jax.devices()[0]
    for chosen in (device, "cpu", SingleDeviceSharding(device)):
        with jax.default_device(chosen):
            assert jnp.ones(3).devices() == {device} and not jnp.ones(3).committed
            assert jax.jit(lambda: jnp.arange(3))().devices() == {device}
    with jax.default_device("gpu"), pytest.raises(RuntimeError, match="device is 'gpu': there is no platform 'gpu'.*: cpu"):
        jnp.ones(3)


def test_enable_checks():
    with jax.enable_checks(True):
        assert jax.jit(lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x))(VECTOR)[0] == 3
    jaxpr = jax.make_jaxpr(lambda x: lax.sin(x))(VECTOR)
    jaxpr.eqns[0].outvars[0].aval = jax.typeof(np.ones(4, np.float32))  # a wrong type, as a faulty rule would give
    from jax._language.typecheck import check_jaxpr
    with pytest.raises(Exception, match=r"f32\[4\]"):
        check_jaxpr(jaxpr.jaxpr)


def test_dtype_promotion():
    ints = np.ones(3, np.int32)
    with jax.numpy_dtype_promotion("strict"):
        assert (jnp.asarray(VECTOR) + 1.0).dtype == np.float32
        with pytest.raises(jax.dtypes.TypePromotionError,
                           match=r"float32, int32: jax_numpy_dtype_promotion is 'strict'.*astype"):
            jnp.asarray(VECTOR) + ints
    with jax.numpy_dtype_promotion("standard"):
        assert (jnp.asarray(VECTOR) + ints).dtype == np.float32


def test_custom_rules_by_other_means_give_the_same():
    f = jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda _, c: (c * 3,))
    with jax.enable_custom_vjp_by_custom_transpose(True):
        assert jax.grad(f)(1.0) == 3.0
    with jax.softmax_custom_jvp(True):
        on = jax.jacfwd(jax.nn.softmax)(VECTOR)
    np.testing.assert_array_equal(on, jax.jacfwd(jax.nn.softmax)(VECTOR))
    for name in ("jax_softmax_custom_jvp", "jax_enable_custom_vjp_by_custom_transpose"):
        assert "Has no effect here" in jax.config.describe(name)


def test_thread_guard_lets_programs_of_one_process_run():
    f = jax.jit(lambda x: x + 1)
    with jax.thread_guard(True):
        assert f(1.0) == 2.0
        results = []
        thread = threading.Thread(target=lambda: results.append(float(f(2.0))))
        thread.start()
        thread.join()
    assert results == [3.0]


# --- transfer guards ------------------------------------------------------------------------------------------------

IMPLICIT = {
    "a NumPy argument": lambda f, x: f(VECTOR),
    "a Python scalar": lambda f, x: f(2.0),
    "an operator with NumPy": lambda f, x: x + VECTOR,
    "asarray": lambda f, x: jnp.asarray(VECTOR),
}
EXPLICIT = {
    "device_put": lambda f, x: jax.device_put(VECTOR),
    "device_put to a device": lambda f, x: jax.device_put(VECTOR, jax.devices()[0]),
}
NONE = {
    "an array argument": lambda f, x: f(x),
    "a copy": lambda f, x: x.copy(),
    "device_put of what is there": lambda f, x: jax.device_put(x),
    "made on the device": lambda f, x: jnp.arange(3),
}


@pytest.fixture(scope="module")
def warm():
    """A function and an array, with all programs compiled that the calls need."""
    f, x = jax.jit(lambda v: v + 1), jnp.ones(3)
    for call in (*IMPLICIT.values(), *EXPLICIT.values(), *NONE.values()):
        call(f, x)
    return f, x


@pytest.mark.parametrize("guard", ["transfer_guard", "transfer_guard_host_to_device"])
@pytest.mark.parametrize("level, implicit, explicit", [
    ("allow", True, True), ("disallow", False, True), ("disallow_explicit", False, False),
])
def test_transfers_to_the_device(warm, guard, level, implicit, explicit):
    for calls, passes in ((IMPLICIT, implicit), (EXPLICIT, explicit), (NONE, True)):
        for call in calls.values():
            with getattr(jax, guard)(level):
                if passes:
                    call(*warm)
                    continue
                with pytest.raises(jax.errors.JaxRuntimeError, match=r"Disallowed host-to-device transfer.*f.*32\[\d*\]"):
                    call(*warm)


def test_the_other_directions_do_not_mind(warm):
    with jax.transfer_guard_device_to_host("disallow"), jax.transfer_guard_device_to_device("disallow_explicit"):
        for call in (*IMPLICIT.values(), *EXPLICIT.values(), *NONE.values()):
            call(*warm)


@pytest.mark.parametrize("level, count", [("log", 1), ("log_explicit", 2)])
def test_transfers_are_logged(warm, capfd, level, count):
    with jax.transfer_guard(level):
        jax.device_put(VECTOR)
        warm[0](VECTOR)
    assert capfd.readouterr().err.count("host-to-device transfer: aval=") == count


def test_the_guard_says_what_to_do(warm):
    with jax.transfer_guard("disallow"), pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jnp.asarray(VECTOR)
    text = str(caught.value)
    assert "jax_transfer_guard_host_to_device is 'disallow'" in text
    assert "jax.device_put(x) is a transfer that was asked for" in text and "jax.transfer_guard('allow')" in text


def test_transfers_between_devices(run_python):
    source = """
import jax, numpy as np
a, b = jax.devices()
x = jax.device_put(np.ones(3, np.float32), a)
f = jax.jit(lambda v: v + 1, in_shardings=jax.sharding.SingleDeviceSharding(b))
y = jax.device_put(jax.numpy.ones(3), b)
f(y)
u = jax.numpy.ones(3)  # on the first device, but not tied to it
with jax.transfer_guard_device_to_device("disallow"):
    jax.device_put(x, b)
    try:
        f(u)
    except jax.errors.JaxRuntimeError as error:
        print("implicit:", error)
with jax.transfer_guard_device_to_device("disallow_explicit"):
    try:
        jax.device_put(x, b)
    except jax.errors.JaxRuntimeError as error:
        print("explicit:", error)
"""
    text = run_python(source, env={"JAX_NUM_CPU_DEVICES": "2"}).stdout
    assert "implicit: INVALID_ARGUMENT: Disallowed device-to-device transfer" in text
    assert "explicit: INVALID_ARGUMENT: Disallowed device-to-device transfer" in text
