"""``jax.config`` and the options: reading, setting, overriding in a thread, refusing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from jax._base import config as options
from jax._base import option as machinery
from jax._base.config import config

pytestmark = pytest.mark.quick


@pytest.fixture
def keep():
    """Options restored after a test that sets them for the process."""
    saved = {}

    def update(name, value):
        saved.setdefault(name, config.read(name))
        config.update(name, value)

    yield update
    for name, value in saved.items():
        config.update(name, value)


def test_update_read_and_attribute_agree(keep):
    keep("jax_log_compiles", True)
    assert config.jax_log_compiles is True
    assert config.read("jax_log_compiles") is True
    assert config.values["jax_log_compiles"] is True
    assert options.log_compiles.value is True


def test_override_is_of_this_thread_and_ends():
    seen = []
    with options.enable_x64(True):
        assert config.jax_enable_x64 and config.x64_enabled
        thread = threading.Thread(target=lambda: seen.append(config.jax_enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]
    assert config.jax_enable_x64 is False


def test_override_ends_with_an_error():
    with pytest.raises(RuntimeError, match="boom"), options.enable_x64(True):
        raise RuntimeError("boom")
    assert config.jax_enable_x64 is False


def test_overrides_nest_and_an_object_can_be_used_again():
    override = options.numpy_rank_promotion("raise")
    with override:
        with options.numpy_rank_promotion("warn"), override:
            assert options.numpy_rank_promotion.value == "raise"
        assert options.numpy_rank_promotion.value == "raise"
    assert options.numpy_rank_promotion.value == "allow"


def test_override_none_is_a_value():
    with options.default_matmul_precision("float32"), options.default_matmul_precision(None):
        assert options.default_matmul_precision.value is None


def test_override_as_decorator():
    @options.enable_x64(True)
    def read(depth):
        """Doc."""
        return [config.jax_enable_x64] + (read(depth - 1) if depth else [])

    assert read(2) == [True] * 3
    assert read.__name__ == "read" and read.__doc__ == "Doc."
    assert config.jax_enable_x64 is False


def test_boolean_without_a_value_means_true():
    with options.debug_nans():
        assert config.jax_debug_nans
    with options.debug_nans(new_val=False):
        assert not config.jax_debug_nans


def test_process_value_under_an_override(keep):
    with options.log_compiles(False):
        keep("jax_log_compiles", True)
        assert config.jax_log_compiles is False
    assert config.jax_log_compiles is True


@pytest.mark.parametrize("value", [True, 1, "1", "true", "True", "yes", "on"])
def test_words_for_true(keep, value):
    keep("jax_log_compiles", value)
    assert config.jax_log_compiles is True


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("jax_enable_x64", "maybe", "True or False"),
        ("jax_enable_x64", 2, "True or False"),
        ("jax_enable_x64", None, "True or False"),
        ("jax_numpy_rank_promotion", "explode", "'allow', 'warn', 'raise'"),
        ("jax_numpy_dtype_promotion", "loose", "'standard', 'strict'"),
        ("jax_default_matmul_precision", "lots", "'default', 'high', 'highest'"),
        ("jax_random_seed_offset", "many", "an integer"),
        ("jax_random_seed_offset", 1.5, "an integer"),
        ("jax_persistent_cache_min_compile_time_secs", "long", "a number"),
        ("jax_platforms", 3, "a string, or None"),
        ("jax_default_device", 3, "a device"),
        ("jax_transfer_guard", "never", "'disallow_explicit', or None"),
        ("jax_logging_level", "LOUD", "'WARNING'"),
    ],
)
def test_refused_values_name_the_option_and_what_it_takes(name, value, accepted):
    before = config.read(name)
    with pytest.raises(ValueError, match=name) as info:
        config.update(name, value)
    assert accepted in str(info.value)
    assert repr(value) in str(info.value)
    assert config.read(name) == before


def test_overrides_check_their_value_when_called():
    with pytest.raises(ValueError, match="jax_numpy_rank_promotion takes one of 'allow', 'warn', 'raise'"):
        options.numpy_rank_promotion("explode")
    with pytest.raises(TypeError, match="needs a value"):
        options.numpy_rank_promotion()


def test_process_wide_options_have_no_override():
    with pytest.raises(TypeError, match=r"jax.config.update\('jax_platforms', value\)"):
        options.platforms("cpu")


def test_assignment_is_refused():
    with pytest.raises(AttributeError, match=r"jax.config.update\('jax_enable_x64', True\)"):
        config.jax_enable_x64 = True
    with pytest.raises(AttributeError, match="no option named 'jax_nonsense'"):
        config.jax_nonsense = 1


@pytest.mark.parametrize("access", [config.read, lambda n: getattr(config, n), lambda n: config.update(n, 1)])
def test_unknown_names_suggest_near_ones(access):
    with pytest.raises(AttributeError, match="Did you mean jax_enable_x64"):
        access("jax_enable_x46")
    with pytest.raises(AttributeError, match="Did you mean jax_debug_nans"):
        access("debug_nans")
    with pytest.raises(AttributeError, match="There is no option named 'zzz'"):
        access("zzz")


def test_an_option_is_not_a_truth_value():
    with pytest.raises(TypeError, match="enable_x64.value"):
        bool(options.enable_x64)


def test_enums_are_strings_too():
    assert config.jax_numpy_dtype_promotion == "standard"
    with options.numpy_dtype_promotion("strict"):
        assert options.numpy_dtype_promotion.value is options.NumpyDtypePromotion.STRICT
    with options.numpy_dtype_promotion(options.NumpyDtypePromotion.STRICT):
        assert config.jax_numpy_dtype_promotion == "strict"
    with options.explicit_x64_dtypes("error"):
        assert options.explicit_x64_dtypes.value is options.ExplicitX64Mode.ERROR


def test_every_option_says_what_it_is_for():
    for name, option in machinery.registry.items():
        assert option.doc.endswith("."), name
        assert len(option.doc) > 10, name
        text = config.describe(name)
        assert option.kind.accepted in text
        assert option.env[0] in text


def test_every_default_is_acceptable():
    for option in machinery.registry.values():
        assert option.check(option.default) == option.default


def test_every_option_is_importable_by_its_short_name():
    for name, option in machinery.registry.items():
        short = "transfer_guard_all" if name == "jax_transfer_guard" else name.removeprefix("jax_")
        assert getattr(options, short) is option


def test_options_without_effect_say_so():
    assert "no effect here" in config.describe("jax_scan3")
    assert "jax_scan3" not in options.trace_context_names()


def test_the_documented_options_all_exist():
    names = Path(__file__).parent.joinpath("option_defaults.txt").read_text().splitlines()
    for line in names:
        name, default = line.split(None, 1)
        assert repr(machinery.registry[name].default) == default, name


def test_trace_context_follows_overrides():
    plain = options.trace_context()
    with options.enable_x64(True):
        assert options.trace_context() != plain
        hash(options.trace_context())
    assert options.trace_context() == plain


def test_dir_and_repr():
    assert {"jax_enable_x64", "update", "read"} <= set(dir(config))
    with options.debug_infs(True):
        assert "jax_debug_infs=True" in repr(config)


def test_checking_leaks():
    with options.checking_leaks():
        assert config.jax_check_tracer_leaks
        with options.checking_leaks(False):
            assert not config.jax_check_tracer_leaks


def test_user_context():
    mode = options.make_user_context("fast")
    other = options.make_user_context()
    assert mode.value == "fast" and other.value is None
    plain = options.trace_context()
    with mode("exact"), other(3):
        assert (mode.value, other.value) == ("exact", 3)
        assert options.trace_context() != plain
        with mode("sloppy"):
            assert mode.value == "sloppy"
        assert mode.value == "exact"
    assert mode.value == "fast"
    assert options.trace_context() == plain
    with pytest.raises(TypeError, match="unhashable"), mode([]):
        pass
