"""Programs of the persistent cache that are loaded while they are traced: guesses that are right, wrong, and damaged."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base import config
from jax._runtime import prefetch
from jax.experimental.compilation_cache import compilation_cache
from tests.runtime.test_cache import entries, folder, told  # noqa: F401 fixtures

X = np.arange(6, dtype=np.float32)
MET = "loaded while it was traced"


@pytest.fixture(autouse=True)
def everything_is_worth_it(monkeypatch, folder):  # noqa: F811
    monkeypatch.setattr(prefetch, "_LEAST", 0)
    jnp.sin(X)  # the clients are there


def program(scale=2.0, name="scaled"):
    def fun(x):
        return jnp.sin(x) * scale
    fun.__name__ = name
    return fun


def anew():
    """As in a new process."""
    jax.clear_caches()
    compilation_cache.reset_cache()


def test_a_program_is_loaded_while_it_is_traced(told):  # noqa: F811
    expected = np.asarray(jax.jit(program())(X))
    anew()
    told()
    begun = []

    def fun(x):
        begun.append(prefetch._loading["jit(scaled)"]._thread.name)
        return jnp.sin(x) * 2.0
    fun.__name__ = "scaled"
    np.testing.assert_array_equal(jax.jit(fun)(X), expected)
    assert begun == ["jax-prefetch"] and not prefetch._loading
    text = told()
    assert "jit(scaled) found (" in text and MET in text


def test_a_wrong_guess_is_dropped(told):  # noqa: F811
    jax.jit(program(2.0))(X)
    anew()
    told()
    np.testing.assert_allclose(jax.jit(program(3.0))(X), 3 * np.sin(X), rtol=1e-6)
    assert "jit(scaled) is not in it: program differs" in told() and not prefetch._loading
    np.testing.assert_allclose(jax.jit(program(2.0))(X), 2 * np.sin(X), rtol=1e-6)


def test_the_program_used_last_is_guessed(folder, told):  # noqa: F811
    stored = {}
    for scale in (2.0, 3.0):
        before = set(entries(folder))
        jax.jit(program(scale))(X)
        [stored[scale]] = set(entries(folder)) - before
    for scale in (2.0, 3.0, 2.0):
        for other, path in stored.items():
            os.utime(path, (1000 + (other == scale),) * 2)
        anew()
        told()
        jax.jit(program(scale))(X)
        assert MET in told()


def test_other_arguments_are_other_programs(told):  # noqa: F811
    jax.jit(program())(X)
    anew()
    told()
    jax.jit(program())(X[:3])
    assert MET not in told()
    jax.jit(program())(X)
    assert MET in told()


@pytest.mark.parametrize("damage", ["content", "header", "gone"])
def test_a_damaged_entry_is_compiled_anew(folder, damage, monkeypatch, told):  # noqa: F811
    expected = np.asarray(jax.jit(program())(X))
    [path] = [p for p in entries(folder) if "scaled" in p.name]
    anew()
    told()
    begin = prefetch.begin

    def begin_on_what_is_damaged(*args):
        if damage == "gone":
            monkeypatch.setattr(prefetch, "_last_used", lambda *_: str(path))
            path.unlink(missing_ok=True)
        elif damage == "content":
            path.write_bytes(path.read_bytes()[:-9])
        else:
            path.write_bytes(b"nothing of ours")
        begin(*args)

    monkeypatch.setattr(prefetch, "begin", begin_on_what_is_damaged)
    if damage == "gone":
        found = jax.jit(program())(X)
    else:
        with pytest.warns(UserWarning, match="could not be used and is compiled anew"):
            found = jax.jit(program())(X)
    np.testing.assert_array_equal(found, expected)
    assert [p for p in entries(folder) if "scaled" in p.name] == [path]


def test_entries_of_other_machines_are_left_alone(monkeypatch, told):  # noqa: F811
    jax.jit(program())(X)
    anew()
    told()
    here = prefetch.environment_parts
    monkeypatch.setattr(prefetch, "environment_parts", lambda devices: {**here(devices), "machine": "another"})
    jax.jit(program())(X)
    text = told()
    assert "jit(scaled) found" in text and MET not in text


def test_only_the_outermost_function_is_guessed(told):  # noqa: F811
    inner = program(name="inner")
    jax.jit(inner)(X)
    jax.jit(lambda x: jax.jit(inner)(x) + 1)(X)
    anew()

    def outer(x):
        out = jax.jit(inner)(x)
        assert "jit(inner)" not in prefetch._loading
        return out + 1
    jax.jit(outer)(X)
    anew()
    told()
    jax.jit(jax.vmap(jax.jit(inner)))(X)
    assert MET not in told()
    np.testing.assert_allclose(jax.grad(lambda x: jax.jit(inner)(x).sum())(X), 2 * np.cos(X), rtol=1e-6)


def test_what_nobody_asks_for_is_not_kept_without_end():
    names = [f"function_{i}" for i in range(prefetch._HELD + 3)]
    for name in names:
        jax.jit(program(name=name))(X)
    anew()
    for name in names:
        jax.jit(program(name=name)).trace(X)
    assert list(prefetch._loading) == [f"jit({name})" for name in names[3:]]


def test_threads(told):  # noqa: F811
    names = [f"function_{i}" for i in range(8)]
    expected = [np.asarray(jax.jit(program(i, name))(X)) for i, name in enumerate(names)]
    anew()
    told()
    found = {}

    def work(i):
        with config.log_compiles(True):
            found[i] = np.asarray(jax.jit(program(i, names[i]))(X))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, value in enumerate(expected):
        np.testing.assert_array_equal(found[i], value)


def test_threads_and_one_name():
    before = sys.getswitchinterval()
    functions = [program(float(i)) for i in range(3)]
    for fun in functions:
        jax.jit(fun)(X)
    wrong = []

    def work(seed):
        for i in np.random.default_rng(seed).integers(0, 3, 30):
            found = jax.jit(program(float(i)))(X)
            if not np.allclose(found, np.sin(X) * i, rtol=1e-6):
                wrong.append(i)

    def guarded(seed):
        try:
            work(seed)
        except Exception as error:  # noqa: BLE001 it is asserted below that there is none
            wrong.append(error)

    anew()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=guarded, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_threads_that_cannot_be_started(monkeypatch, told):  # noqa: F811
    expected = np.asarray(jax.jit(program())(X))
    anew()
    told()

    def start(self):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, "start", start)
    np.testing.assert_array_equal(jax.jit(program())(X), expected)
    text = told()
    assert "jit(scaled) found" in text and MET not in text


def test_stores_elsewhere_are_no_matter_of_tracing():
    config.config.update("jax_compilation_cache_dir", "s3://bucket/programs")
    config.config.update("jax_raise_persistent_cache_errors", True)
    assert jax.jit(program()).lower(X).as_text()


def test_without_a_cache_nothing_is_done():
    config.config.update("jax_compilation_cache_dir", None)
    before = dict(prefetch._arguments)
    jax.jit(program(name="without"))(X)
    assert prefetch._arguments == before


PROCESS = """
import atexit, os, threading, time
import numpy as np, jax, jax.numpy as jnp
from jax._runtime import backend
jax.config.update("jax_compilation_cache_dir", os.environ["FOLDER"])
jax.config.update("jax_log_compiles", True)

@jax.jit
def chain(x):
    for i in range(60):
        x = jnp.sin(x @ x) + jnp.sort(x, axis=0)[::-1] + i
    return x

x = np.linspace(-1, 1, 40000, dtype=np.float32).reshape(200, 200)
what = os.environ["WHAT"]
if what == "run":
    print(float(chain(x).sum()))
elif what == "trace":
    chain.trace(x)
    print(backend.backends_are_initialized())
elif what == "at exit":
    atexit.register(lambda: print(float(chain(x).sum())))
elif what == "in a thread that is left":
    jnp.zeros(3) + 1
    threading.Thread(target=lambda: (time.sleep(0.3), print(float(chain(x).sum())))).start()
elif what == "trace and end":
    jnp.zeros(3) + 1
    chain.trace(x)
    print("ended")
"""


@pytest.mark.quick
def test_processes(run_python, tmp_path):
    first, second, late, left, traced, ended = [
        run_python(PROCESS, env={"FOLDER": str(tmp_path), "WHAT": what})
        for what in ("run", "run", "at exit", "in a thread that is left", "trace", "trace and end")]
    assert first.stdout == second.stdout == late.stdout == left.stdout
    assert MET in second.stderr and MET not in first.stderr
    assert traced.stdout.strip() == "False"
    assert ended.stdout.strip() == "ended"
