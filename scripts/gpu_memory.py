"""Measures what the memory settings do on a GPU: by ``memory_stats()`` and by the driver's own accounting.

    python scripts/gpu_memory.py          every case, each in a process of its own
    python scripts/gpu_memory.py CASE     one case, in this process

Prints a line per case; the exit status is 1 if one is not as it should be. No other program may use the GPU meanwhile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

GIB = 1 << 30
CONTEXT = 2 * GIB  # what CUDA itself and loaded programs may take


def used() -> int:
    from jax._runtime import nvml
    return nvml.gpus()[0].used


def start(**options):
    """Makes the client. Returns how much the driver says has been taken since, the total, and the device."""
    import jax
    from jax._runtime import nvml
    for name, value in options.items():
        jax.config.update(name, value)
    before = used()
    device = jax.devices()[0]
    assert device.platform == "gpu", device
    jax.block_until_ready(jax.numpy.ones(8) + 1)
    return used() - before, nvml.gpus()[0].total, device


def near(taken: int, wanted: float) -> None:
    assert wanted - GIB <= taken <= wanted + CONTEXT, f"{taken / GIB:.2f} GiB taken, {wanted / GIB:.2f} GiB expected"


def default():
    taken, total, device = start()
    near(taken, 0.75 * total)
    assert abs(device.memory_stats()["bytes_limit"] - 0.75 * total) < GIB
    return taken


def fraction():
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.3"
    taken, total, device = start()
    near(taken, 0.3 * total)
    assert abs(device.memory_stats()["bytes_limit"] - 0.3 * total) < GIB
    return taken


def fraction_by_option():
    taken, total, _ = start(xla_python_client_mem_fraction=0.2)
    near(taken, 0.2 * total)
    return taken


def amount():
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "6GiB"
    taken, _, device = start()
    near(taken, 6 * GIB)
    assert abs(device.memory_stats()["bytes_limit"] - 6 * GIB) < GIB / 4
    return taken


def grow_and_shrink():
    """How much more is taken by an array of 4 GiB, and how much of that stays when it is gone."""
    import jax.numpy as jnp
    before = used()
    x = jnp.zeros((GIB,), jnp.float32)
    x.block_until_ready()
    grown = used() - before
    x.delete()
    time.sleep(0.5)
    return grown, used() - before


def no_preallocation():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    taken, _, device = start()
    assert taken < CONTEXT, taken
    grown, left = grow_and_shrink()
    assert grown >= 3.9 * GIB and left >= 3.9 * GIB, (grown, left)  # kept for later arrays
    assert device.memory_stats()["peak_bytes_in_use"] >= 4 * GIB
    return taken + grown


def platform():
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
    taken, _, _ = start()
    assert taken < CONTEXT, taken
    grown, left = grow_and_shrink()
    assert grown >= 3.9 * GIB and left < GIB, (grown, left)  # given back
    return taken + left


def cuda_async():
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "cuda_async"
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    taken, _, _ = start()
    grown, _ = grow_and_shrink()
    assert grown >= 3.9 * GIB
    return taken + grown


def exhausted():
    import jax
    import jax.numpy as jnp
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "4GiB"
    taken, _, _ = start()
    kept = [jnp.ones((GIB // 8,), jnp.float32)]
    double = jax.jit(lambda x: x * 2)
    try:
        for _ in range(20):  # repeated calls stay in C++ until one fails
            kept.append(double(kept[-1]))
        jax.block_until_ready(kept)
    except jax.errors.JaxRuntimeError as error:
        text = str(error)
        print(text)
        for part in ("RESOURCE_EXHAUSTED", "Live arrays hold", "made at", "The GPU (",
                     "Settings in force"):
            assert part in text, part
        return taken
    raise AssertionError("memory did not run out")


def too_late():
    import warnings
    taken, _, _ = start(xla_python_client_preallocate=False)
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.5"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import jax
        jax.devices()
    assert any("too late" in str(w.message) for w in caught), caught
    return taken


def persistent_cache():
    import logging

    import jax
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        for _ in range(2):
            def fun(x):
                return jax.numpy.sin(x) @ x
            assert jax.jit(fun)(jax.numpy.ones((64, 64))).shape == (64, 64)
        entries = [n for n in os.listdir(folder) if n.startswith("jit_fun-")]
        assert len(entries) == 1, entries
    return 0


CASES = [default, fraction, fraction_by_option, amount, no_preallocation, platform, cuda_async, exhausted, too_late,
         persistent_cache]


def main() -> int:
    if len(sys.argv) == 2:
        case = {c.__name__: c for c in CASES}[sys.argv[1]]
        taken = case()
        print(f"{case.__name__:<20} ok, {taken / GIB:8.2f} GiB taken")
        return 0
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_PYTHON_CLIENT", "XLA_CLIENT"))}
    failed = 0
    for case in CASES:
        try:
            status = subprocess.run([sys.executable, __file__, case.__name__], env=environment, timeout=240).returncode
        except subprocess.TimeoutExpired:
            status = "no end after 240 s"
        if status:
            failed += 1
            print(f"{case.__name__:<20} FAILED ({status})")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
