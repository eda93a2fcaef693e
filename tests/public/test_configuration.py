"""Every option that ``jax`` exports: as a context manager, for the process, from the environment, and malformed."""

from __future__ import annotations

import threading

import pytest

import jax
from jax._base.option import _from_environment, registry

pytestmark = pytest.mark.quick

# A value that is not the default, how the environment spells it, and a text that no setting means.
OPTIONS = {
    "check_tracer_leaks": (True, "1", "perhaps"),
    "debug_infs": (True, "true", "2"),
    "debug_key_reuse": (True, "on", "x"),
    "debug_nans": (True, "yes", "maybe"),
    "default_device": ("cpu", "cpu", None),  # which platforms there are is known once they start
    "default_matmul_precision": ("highest", "highest", "best"),
    "default_prng_impl": ("rbg", "rbg", "mersenne"),
    "disable_jit": (True, "1", "never"),
    "enable_checks": (True, "1", "all"),
    "enable_custom_prng": (True, "1", "x"),
    "enable_custom_vjp_by_custom_transpose": (True, "1", "x"),
    "enable_x64": (True, "True", "64"),
    "explain_cache_misses": (True, "1", "please"),
    "legacy_prng_key": (jax.config.jax_legacy_prng_key.__class__.ERROR, "error", "never"),
    "log_compiles": (True, "1", "x"),
    "no_execution": (True, "1", "x"),
    "no_tracing": (True, "1", "x"),
    "numpy_dtype_promotion": (jax.config.jax_numpy_dtype_promotion.__class__.STRICT, "strict", "loose"),
    "numpy_rank_promotion": ("raise", "raise", "never"),
    "softmax_custom_jvp": (True, "1", "x"),
    "thread_guard": (True, "1", "x"),
    "threefry_partitionable": (False, "0", "x"),
    "transfer_guard": ("log", "log", "never"),
    "transfer_guard_device_to_device": ("log", "log", "never"),
    "transfer_guard_device_to_host": ("log_explicit", "log_explicit", "never"),
    "transfer_guard_host_to_device": ("disallow", "disallow", "deny"),
}
CASES = [(name, *how) for name, how in OPTIONS.items()]


def in_another_thread(call):
    result = []
    thread = threading.Thread(target=lambda: result.append(call()))
    thread.start()
    thread.join()
    return result[0]


@pytest.mark.parametrize("name, value, text, bad", CASES)
def test_a_block_has_the_value_and_other_threads_have_not(name, value, text, bad):
    read = lambda: jax.config.read(f"jax_{name}")  # noqa: E731
    if name == "transfer_guard":
        read = lambda: jax.config.jax_transfer_guard_device_to_host  # noqa: E731 - it sets the three directions
    before = read()
    assert before != value
    with pytest.raises(KeyError), getattr(jax, name)(value):
        assert read() == value
        assert in_another_thread(read) == before
        raise KeyError
    assert read() == before


@pytest.mark.parametrize("name, value, text, bad", CASES)
def test_an_update_reaches_all_threads(name, value, text, bad):
    read = lambda: getattr(jax.config, f"jax_{name}")  # noqa: E731
    before = read()
    jax.config.update(f"jax_{name}", value)
    try:
        assert read() == in_another_thread(read) == value
    finally:
        jax.config.update(f"jax_{name}", before)
    assert read() == before


@pytest.mark.parametrize("name, value, text, bad", CASES)
def test_the_environment(monkeypatch, name, value, text, bad):
    option, variable = registry[f"jax_{name}"], f"JAX_{name.upper()}"
    assert option.env == (variable,)
    monkeypatch.setenv(variable, text)
    assert _from_environment(option.env, option.kind, option.default) == value
    if bad is not None:
        monkeypatch.setenv(variable, bad)
        with pytest.raises(ValueError, match=f"The environment variable {variable} takes .*; it is '{bad}'"):
            _from_environment(option.env, option.kind, option.default)


def test_wide_types_of_the_environment_and_of_a_block(run_python):
    source = """
import jax, jax.numpy as jnp
print(jnp.ones(1).dtype, jax.config.jax_debug_nans)
with jax.enable_x64(False):
    print(jnp.ones(1).dtype)
try:
    jnp.log(-jnp.ones(1))
except FloatingPointError as error:
    print(str(error).split(",")[0])
"""
    done = run_python(source, env={"JAX_ENABLE_X64": "true", "JAX_DEBUG_NANS": "1"})
    assert done.stdout.splitlines() == ["float64 True", "float32", "NaN in the result of log"]
