"""Options that change what is compiled: the same function is compiled again when they change, and found when not."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base import config
from jax._runtime import compile as compile_room

CHANGES = [("optimization_level", "O1"), ("memory_fitting_level", "O1"), ("exec_time_optimization_effort", 0.5),
           ("compiler_enable_remat_pass", False), ("cpu_fusion_fences", False), ("cpu_group_pieces", False),
           ("cpu_fast_trigonometry", False), ("cpu_fast_convolutions", False)]


@pytest.mark.quick
@pytest.mark.parametrize("name, value", CHANGES)
def test_changed_option_compiles_again(name, value, monkeypatch):
    compiled = []
    real = compile_room.backend_compile_and_load

    def counting(*args):
        compiled.append(args)
        return real(*args)

    monkeypatch.setattr(compile_room, "backend_compile_and_load", counting)
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    x = np.ones(3, np.float32)
    f(x)
    assert len(compiled) == 1
    for _ in range(2):
        with getattr(config, name)(value):
            f(x)
        assert len(compiled) == 2
    f(x)
    assert len(compiled) == 2


def test_process_wide_option_compiles_again(monkeypatch):
    compiled = []
    real = compile_room.backend_compile_and_load
    monkeypatch.setattr(compile_room, "backend_compile_and_load", lambda *args: compiled.append(args) or real(*args))
    f = jax.jit(lambda x: jnp.sin(x) + 2)
    x = np.ones(3, np.float32)
    f(x)
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        f(x)
        assert len(compiled) == 2
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
    f(x)
    assert len(compiled) == 2
