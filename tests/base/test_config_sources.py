"""Options from the environment and from the command line, each in a fresh process; what setting one does."""

from __future__ import annotations

import logging
import sys

import pytest

from jax._base import _jaxlib
from jax._base import config as options
from jax._base.config import config

PRINT = "from jax._base.config import config; print(repr(config.{}))"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("JAX_ENABLE_X64", "1", "jax_enable_x64", "True"),
        ("JAX_ENABLE_X64", "", "jax_enable_x64", "False"),
        ("JAX_NUMPY_RANK_PROMOTION", "raise", "jax_numpy_rank_promotion", "'raise'"),
        ("JAX_NUMPY_DTYPE_PROMOTION", "strict", "jax_numpy_dtype_promotion", "<NumpyDtypePromotion.STRICT: 'strict'>"),
        ("JAX_RANDOM_SEED_OFFSET", "7", "jax_random_seed_offset", "7"),
        ("JAX_DEFAULT_DEVICE", "cpu", "jax_default_device", "'cpu'"),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "false", "xla_python_client_preallocate", "False"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5", "xla_python_client_mem_fraction", "0.5"),
        ("XLA_CLIENT_MEM_FRACTION", ".25", "xla_python_client_mem_fraction", "0.25"),
        ("EAGER_CONSTANT_FOLDING", "true", "eager_constant_folding", "True"),
    ],
)
def test_environment(run_python, variable, text, name, value):
    done = run_python(PRINT.format(name), env={variable: text})
    assert done.stdout.strip() == value


def test_a_bad_environment_variable_is_named(run_python):
    done = run_python(PRINT.format("jax_platforms"), env={"JAX_NUMPY_RANK_PROMOTION": "explode"}, check=False)
    assert done.returncode != 0
    assert "JAX_NUMPY_RANK_PROMOTION takes one of 'allow', 'warn', 'raise'; it is 'explode'" in done.stderr


def test_transfer_guard_from_the_environment_reaches_the_runtime(run_python):
    source = (
        "from jax._base import _jaxlib, config; "
        "print(_jaxlib.guard_lib.global_state().host_to_device, config.config.jax_transfer_guard_device_to_host)"
    )
    done = run_python(source, env={"JAX_TRANSFER_GUARD": "disallow"})
    assert done.stdout.split() == ["TransferGuardLevel.DISALLOW", "disallow"]


ABSL = """
import sys
sys.argv = {argv!r}
from jax._base.config import config
{body}
"""


def test_parse_flags_with_absl(run_python):
    body = """
config.update("jax_random_seed_offset", 3)
config.parse_flags_with_absl()
config.parse_flags_with_absl()
print(config.jax_enable_x64, config.jax_numpy_rank_promotion, config.jax_random_seed_offset)
print(config.jax_default_matmul_precision, config.jax_numpy_dtype_promotion)
"""
    argv = ["prog", "--jax_enable_x64", "--theirs=1", "--jax_numpy_rank_promotion=warn", "--nojax_log_compiles"]
    done = run_python(ABSL.format(argv=argv, body=body))
    assert done.stdout.split() == ["True", "warn", "3", "None", "standard"]


def test_config_with_absl_waits_for_the_program(run_python):
    body = """
from absl import app, flags
config.config_with_absl()
assert not config.jax_enable_x64
flags.DEFINE_integer("mine", 0, "Mine.")
def main(argv):
    config.update("jax_random_seed_offset", 9)
    config.update("jax_numpy_dtype_promotion", "strict")
    print(config.jax_enable_x64, flags.FLAGS.mine, flags.FLAGS.jax_random_seed_offset)
app.run(main)
"""
    done = run_python(ABSL.format(argv=["prog", "--mine=2", "--jax_enable_x64=true"], body=body))
    assert done.stdout.split() == ["True", "2", "9"]


def test_absl_refuses_bad_values(run_python):
    argv = ["prog", "--jax_numpy_rank_promotion=explode"]
    done = run_python(ABSL.format(argv=argv, body="config.parse_flags_with_absl()"), check=False)
    assert done.returncode != 0
    assert "jax_numpy_rank_promotion" in done.stderr


def test_without_absl_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "absl", None)
    with pytest.raises(ImportError, match="pip install absl-py"):
        options.JaxConfig().config_with_absl()


# --- what setting an option does ----------------------------------------------------------------------------

LEVEL = _jaxlib.guard_lib.TransferGuardLevel


def test_transfer_guard_sets_all_directions_in_this_thread():
    state = _jaxlib.guard_lib.thread_local_state()
    with options.transfer_guard("disallow"):
        assert config.jax_transfer_guard_host_to_device == "disallow"
        assert state.host_to_device == state.device_to_host == state.device_to_device == LEVEL.DISALLOW
        with options.transfer_guard_host_to_device("allow"):
            assert state.host_to_device == LEVEL.ALLOW
        assert state.host_to_device == LEVEL.DISALLOW
    assert state.host_to_device is None
    with pytest.raises(ValueError, match="log_explicit"), options.transfer_guard("never"):
        pass


def test_transfer_guard_for_the_process():
    state = _jaxlib.guard_lib.global_state()
    try:
        config.update("jax_transfer_guard", "log")
        assert state.device_to_device == LEVEL.LOG
        assert config.jax_transfer_guard_device_to_device == "log"
    finally:
        config.update("jax_transfer_guard", None)
    assert config.jax_transfer_guard_device_to_device is None


def test_array_garbage_collection_guard():
    state = _jaxlib.guard_lib.thread_local_state()
    with options.array_garbage_collection_guard("log"):
        assert state.garbage_collect_array == _jaxlib.guard_lib.GarbageCollectionGuardLevel.LOG
    assert state.garbage_collect_array is None


def test_logging_level_shows_messages_where_logging_is_not_set_up(run_python):
    source = (
        "import logging; from jax._base import config; log = logging.getLogger('jax.x'); log.info('one'); "
        "config.config.update('jax_logging_level', 'INFO'); log.info('two'); "
        "config.config.update('jax_logging_level', 'NOTSET'); log.info('three')"
    )
    written = run_python(source).stderr
    assert "two" in written and "one" not in written and "three" not in written


def test_logging_level():
    logger = logging.getLogger("jax")
    before = logger.level
    try:
        config.update("jax_logging_level", "ERROR")
        assert logger.level == logging.ERROR
    finally:
        config.update("jax_logging_level", "NOTSET")
        logger.setLevel(before)


def test_debug_log_modules(capfd):
    config.update("jax_debug_log_modules", "jax.thing,jax.other")
    try:
        logging.getLogger("jax.thing").debug("hello")
    finally:
        config.update("jax_debug_log_modules", "")
    logging.getLogger("jax.thing").debug("silence")
    written = capfd.readouterr().err
    assert "hello" in written and "silence" not in written


def test_send_traceback_to_runtime_accepts_names():
    with options.send_traceback_to_runtime("on"):
        assert options.send_traceback_to_runtime.value is _jaxlib.RuntimeTracebackMode.ON
