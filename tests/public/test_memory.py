"""The settings of an accelerator's memory as options of ``jax.config``, and how they are refused and reported."""

from __future__ import annotations

import pytest

import jax

OPTIONS = {
    "xla_python_client_preallocate": (False, "perhaps", "True or False"),
    "xla_python_client_mem_fraction": (0.5, 75, r"0\.75 was probably meant"),
    "xla_python_client_allocator": ("platform", "malloc", "one of 'default', 'bfc', 'platform', 'cuda_async'"),
    "xla_python_client_collective_mem_size_mb": (64, -1, "whole number of megabytes"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", OPTIONS)
def test_bad_values_are_refused_at_once(name):
    _, bad, message = OPTIONS[name]
    before = jax.config.read(name)
    with pytest.raises(ValueError, match=f"{name} takes .*{message}"):
        jax.config.update(name, bad)
    assert jax.config.read(name) == before


def test_settings_before_and_after_the_first_operation(run_python):
    source = f"""
import os, warnings
import jax, jax.numpy as jnp
options = {({name: value for name, (value, _, _) in OPTIONS.items()})!r}
for name, value in options.items():
    jax.config.update(name, value)
    assert jax.config.read(name) == value
jnp.ones(2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    jax.config.update("xla_python_client_preallocate", True)
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    for _ in range(2):
        jax.devices()
print(*[str(w.message) for w in caught], sep="\\n---\\n")
"""
    text = run_python(source).stdout
    assert text.count("too late") == 1 and "It has no effect in this process" in text
    assert "the option xla_python_client_preallocate was False and is True now" in text
    assert "the environment variable XLA_FLAGS was not set and is '--xla_force" in text
