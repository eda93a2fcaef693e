"""Programs here run once, so they are compiled quickly."""

from __future__ import annotations

import pytest

import jax


@pytest.fixture(autouse=True, scope="package")
def quick_compilation():
    before = jax.config.jax_disable_most_optimizations
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
