"""The persistent cache: what is found again, what is not and why, damage, limits, several processes."""

from __future__ import annotations

import logging
import os
import threading

import numpy as np
import pytest

import jax
from jax import lax
from jax._base import config
from jax._runtime import backend, cache, cache_key
from jax._runtime import compile as compiling
from jax.experimental.compilation_cache import compilation_cache
from tests.runtime.conftest import binary

OPTIONS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs",
           "jax_persistent_cache_min_entry_size_bytes", "jax_compilation_cache_max_size",
           "jax_raise_persistent_cache_errors", "jax_compilation_cache_check_contents",
           "jax_persistent_cache_enable_xla_caches", "jax_enable_compilation_cache",
           "jax_compilation_cache_include_metadata_in_key", "jax_compilation_cache_expect_pgle")


@pytest.fixture
def folder(tmp_path):
    """A cache in a directory of its own; the options are as before afterwards."""
    before = {name: config.config.read(name) for name in OPTIONS}
    config.config.update("jax_compilation_cache_dir", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for name, value in before.items():
        config.config.update(name, value)
    compilation_cache.reset_cache()


def entries(folder):
    return sorted(p for p in folder.glob("*.executable")) if folder.exists() else []


def run(scale=2.0, name="scaled", **options):
    """Compiles and runs a program anew: in memory nothing is known of it."""
    def fun(x):
        return x * scale + 1.0
    fun.__name__ = name
    return np.asarray(jax.jit(fun, **options)(np.arange(3, dtype=np.float32))).tolist()


@pytest.fixture
def told(caplog):
    """What the cache has logged, as one text."""
    caplog.set_level(logging.WARNING)

    def text():
        found = "\n".join(r.getMessage() for r in caplog.records if r.name == "jax.cache" or "cache" in r.getMessage())
        caplog.clear()
        return found

    with config.log_compiles(True):
        yield text


@pytest.mark.quick
def test_a_program_is_stored_and_found_again(folder, told):
    assert run() == [1, 3, 5]
    assert len(entries(folder)) == 1
    text = told()
    assert "jit(scaled) is not in it: no program of this name has been stored" in text
    assert "jit(scaled) is stored" in text
    assert run() == [1, 3, 5]
    assert "jit(scaled) found" in told()
    assert len(entries(folder)) == 1


@pytest.mark.quick
def test_what_differs_is_another_entry_and_is_named(folder, told):
    run()
    told()
    assert run(3.0) == [1, 4, 7]
    assert "program differs" in told()
    run(compiler_options={"xla_embed_ir_in_executable": True})
    assert "compile options and XLA flags differs" in told()
    assert len(entries(folder)) == 3


def test_the_key(monkeypatch):
    devices = backend.devices()[:1]
    given = {"xla_embed_ir_in_executable": True, "xla_cpu_enable_fast_math": True}
    backwards = dict(reversed(given.items()))

    def key(text=None, **options):
        parts = cache_key.key_parts(text or binary("add"), devices, compiling.compile_options(devices, **options))
        return cache_key.key_of(parts)

    assert key() == key()
    assert key(compiler_options=given) == key(compiler_options=backwards) != key()
    assert key(binary("subtract")) != key()
    before = key()
    monkeypatch.setattr(cache_key, "jaxlib_version_string", "0.0.1")
    assert key() != before
    monkeypatch.undo()
    monkeypatch.setattr(cache_key, "_machine", lambda: "another")
    assert key() != before


def test_source_locations_count_only_if_asked(folder):
    def twice(line):
        """The same program from different lines of a file."""
        exec(compile("\n" * line + "def fun(x): return x - 7.0\n", "user_code.py", "exec"), names := {})
        jax.jit(names["fun"])(np.float32(1))

    twice(0)
    twice(10)
    assert len(entries(folder)) == 1
    config.config.update("jax_compilation_cache_include_metadata_in_key", True)
    twice(20)
    twice(30)
    assert len(entries(folder)) == 3


@pytest.mark.quick
def test_quick_compilations_are_stored_unless_told_otherwise(folder, told):
    config.config.update("jax_persistent_cache_min_compile_time_secs", 100)
    run()
    assert entries(folder) == []
    assert "is not stored: it compiled in" in told()
    config.config.update("jax_persistent_cache_min_compile_time_secs", config.persistent_cache_min_compile_time_secs.default)
    run()
    assert len(entries(folder)) == 1


def test_programs_of_single_operations_are_stored(run_python, tmp_path):
    program = """
import logging, sys
import jax, jax.numpy as jnp
logging.basicConfig(stream=sys.stdout, format="%(message)s")
jax.config.update("jax_log_compiles", True)
print(jnp.cumsum(jnp.sin(jnp.arange(3.0))) + 1)
"""
    def process():
        return run_python(program, env={"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}).stdout
    first, second = process(), process()
    assert "is stored" in first and " found (" not in first
    assert " found (" in second and "is stored" not in second and "is not in it" not in second
    assert first.splitlines()[-1] == second.splitlines()[-1]


def test_small_and_large_programs_are_not_stored_if_so_wished(folder, told):
    config.config.update("jax_persistent_cache_min_entry_size_bytes", 10**9)
    run(11.0)
    assert "fewer than jax_persistent_cache_min_entry_size_bytes=1000000000" in told()
    config.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    config.config.update("jax_compilation_cache_max_size", 10)
    run(12.0)
    assert "more than jax_compilation_cache_max_size=10" in told()
    assert entries(folder) == []


@pytest.mark.quick
def test_it_can_be_switched_off(folder):
    with config.enable_compilation_cache(False):
        run(21.0)
    assert not folder.exists()
    config.config.update("jax_compilation_cache_dir", None)
    run(22.0)
    assert not folder.exists()


@pytest.mark.parametrize("damage", [
    lambda p: p.write_bytes(b""),
    lambda p: p.write_bytes(b"something else"),
    lambda p: p.write_bytes(p.read_bytes()[:-20]),
    lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\0"),
    lambda p: p.write_bytes(cache._FORMAT + b"[1]\n"),
    lambda p: p.write_bytes(cache._FORMAT + b"no json\n"),
    lambda p: p.write_bytes(cache._pack(b"no executable", {"seconds": 1.0})),
    lambda p: p.write_bytes(cache._pack(b"no executable", {"seconds": "long"})),
    lambda p: p.write_bytes(cache._FORMAT + b"\xff\xfe{}\n"),
])
def test_a_damaged_entry_is_a_miss_with_a_warning(folder, damage):
    run()
    damage(entries(folder)[0])
    with pytest.warns(UserWarning, match=r"entry of jit\(scaled\) .*could not be used and is compiled anew"):
        assert run() == [1, 3, 5]
    assert run() == [1, 3, 5]  # written anew: no warning


def test_errors_are_raised_if_so_wished(folder):
    run()
    entries(folder)[0].write_bytes(b"something else")
    config.config.update("jax_raise_persistent_cache_errors", True)
    with pytest.raises(cache.DamagedEntry, match="not of this cache's format"):
        run()


def test_a_directory_that_cannot_be_written_is_a_warning(tmp_path, folder):
    (tmp_path / "file").write_text("")
    config.config.update("jax_compilation_cache_dir", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="the persistent cache .*file cannot be read: .*Not a directory"):
        assert run() == [1, 3, 5]
    assert run() == [1, 3, 5]  # said once


def test_what_cannot_be_stored_is_a_warning(folder, monkeypatch):
    def full(directory, path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    with pytest.warns(UserWarning, match=r"jit\(scaled\) could not be stored in the persistent cache.*No space left"):
        assert run() == [1, 3, 5]
    assert run(2.5) == [1, 3.5, 6]
    config.config.update("jax_raise_persistent_cache_errors", True)
    with pytest.raises(OSError, match="No space left"):
        run(3.5)


def test_addresses_of_stores_elsewhere_are_refused_once(folder):
    config.config.update("jax_compilation_cache_dir", "gs://bucket/cache")
    with pytest.warns(UserWarning, match="works in directories"):
        assert run() == [1, 3, 5]
    assert run() == [1, 3, 5]


def test_the_least_recently_used_go_first(folder):
    for i in range(3):
        run(float(i), name=f"program{i}")
    first, second, third = entries(folder)
    for age, path in ((30, first), (20, second), (10, third)):
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    run(0.0, name="program0")  # a hit: used just now
    config.config.update("jax_compilation_cache_max_size", 3 * first.stat().st_size + 200)
    run(5.0, name="program5")
    assert [p.name.split("-")[0] for p in entries(folder)] == ["jit_program0", "jit_program2", "jit_program5"]


def test_listing_takes_a_small_part_of_the_time(folder):
    config.config.update("jax_compilation_cache_max_size", 0)
    directory = str(folder)
    assert cache._listing_is_due(directory, 0.01)
    cache._listings[directory] = 2.0, 0.0
    assert not cache._listing_is_due(directory, 15.0)
    assert cache._listing_is_due(directory, 6.0)
    folder.mkdir()
    cache.evict(directory, 0)
    last, since = cache._listings[directory]
    assert last < 1 and since == 0


def test_eviction_takes_abandoned_files_along(tmp_path):
    old, new = tmp_path / ".unfinished-1-a", tmp_path / ".unfinished-2-b"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))
    assert cache.evict(str(tmp_path), 0) == []
    assert not old.exists() and new.exists()


@pytest.mark.quick
def test_programs_that_call_python_are_not_stored(folder, told):
    def fun(x):
        return jax.pure_callback(lambda v: np.asarray(v) + 1, jax.ShapeDtypeStruct((), np.float32), x)
    assert float(jax.jit(fun)(np.float32(1))) == 2
    assert entries(folder) == []
    assert "jit(fun) is left out: it calls functions of this process" in told()


def test_donation_and_large_constants_survive(folder):
    big = np.arange(1000, dtype=np.float32)

    def make():
        return jax.jit(lambda x: x + big, donate_argnums=0)

    for _ in range(2):
        x = jax.device_put(np.ones(1000, np.float32))
        np.testing.assert_array_equal(make()(x), big + 1)
        assert x.is_deleted()
    assert len(entries(folder)) == 1


def test_a_program_from_the_cache_can_be_analysed(folder):
    def compiled():
        return jax.jit(lambda x: lax.dot(x, x)).lower(np.ones((8, 8), np.float32)).compile()
    fresh, stored = compiled(), compiled()
    assert fresh.as_text() == stored.as_text()
    assert fresh.cost_analysis()["flops"] == stored.cost_analysis()["flops"]
    assert stored.memory_analysis().argument_size_in_bytes == 256


def test_contents_can_be_checked(folder, monkeypatch):
    run()
    config.config.update("jax_compilation_cache_check_contents", True)
    assert run() == [1, 3, 5]
    texts = iter(["HloModule a\nx", "HloModule a\ny"])
    monkeypatch.setattr(compiling, "canonical_text", lambda loaded: next(texts))
    with pytest.raises(RuntimeError, match="(?s)another program of it now.*-x\n[+]y"):
        run()


def test_profiles_can_be_expected(folder):
    run()
    config.config.update("jax_compilation_cache_expect_pgle", True)
    with pytest.warns(UserWarning, match="compiled without a profile"):
        run()


def test_threads_may_store_the_same_program(folder):
    text = binary("add", shape="7x")
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        compiling.compile_module(text, backend.devices()[:1], name="same"))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 6 and len(entries(folder)) == 1
    assert not list(folder.glob(".unfinished*"))


PROCESS = """
import jax, numpy as np, warnings
warnings.simplefilter("error")
for k in range(8):
    def fun(x):
        return x * float(k % 4) + 1.0
    assert jax.jit(fun)(np.float32(2)).item() == 2 * (k % 4) + 1
print("done")
"""


def test_processes_may_share_a_directory(run_python, tmp_path):
    env = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_COMPILATION_CACHE_MAX_SIZE": "15000"}
    done = []
    threads = [threading.Thread(target=lambda: done.append(run_python(PROCESS, env=env).stdout)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert done == ["done\n"] * 3
    assert 0 < sum(p.stat().st_size for p in tmp_path.glob("*.executable")) <= 15000


# --- jax.experimental.compilation_cache -----------------------------------------------------------------------------

def test_paths_and_what_is_none(folder):
    config.config.update("jax_compilation_cache_dir", folder)
    assert config.config.jax_compilation_cache_dir == str(folder)
    with pytest.raises(ValueError, match="jax_compilation_cache_dir takes a path, or None; got 3 of type int"):
        config.config.update("jax_compilation_cache_dir", 3)


def test_public_functions(folder, tmp_path):
    compilation_cache.set_cache_dir(tmp_path / "other")
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "other")
    run()
    assert entries(tmp_path / "other") and not folder.exists()
    with pytest.warns(DeprecationWarning, match="set_cache_dir"):
        compilation_cache.initialize_cache(folder)
    assert jax.config.jax_compilation_cache_dir == str(folder)
    with pytest.raises(TypeError):
        compilation_cache.set_cache_dir(3)
    compilation_cache.reset_cache()
    assert jax.experimental.compilation_cache.compilation_cache is compilation_cache


def test_the_compilers_caches_for_gpus(folder):
    class Debug:
        pass

    debug = Debug()
    cache.apply_xla_caches(debug)
    assert vars(debug) == {"xla_gpu_per_fusion_autotune_cache_dir": str(folder / "xla_gpu_per_fusion_autotune_cache_dir")}
    config.config.update("jax_persistent_cache_enable_xla_caches", "all")
    cache.apply_xla_caches(debug := Debug())
    assert debug.xla_gpu_kernel_cache_file == str(folder / "xla_gpu_kernel_cache_file")
    config.config.update("jax_persistent_cache_enable_xla_caches", "none")
    cache.apply_xla_caches(debug := Debug())
    assert not vars(debug)
    config.config.update("jax_persistent_cache_enable_xla_caches", "xla_gpu_cash")
    with pytest.raises(ValueError, match="no 'xla_gpu_cash'.*xla_gpu_kernel_cache_file"):
        cache.apply_xla_caches(debug)


def test_the_compilers_caches_are_no_part_of_the_key(folder):
    class Gpu:
        id = 0
        platform = "gpu"

    options = compiling.compile_options([Gpu()])
    debug = options.executable_build_options.debug_options
    assert debug.xla_gpu_per_fusion_autotune_cache_dir == str(folder / "xla_gpu_per_fusion_autotune_cache_dir")
    config.config.update("jax_compilation_cache_dir", None)
    plain = compiling.compile_options([Gpu()])
    assert plain.SerializeAsString() != options.SerializeAsString()
    assert cache_key._option_bytes(plain) == cache_key._option_bytes(options)
