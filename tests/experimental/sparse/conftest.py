"""Programs here run once, so they are compiled quickly."""

from __future__ import annotations

import pytest

import jax


@pytest.fixture(autouse=True)
def quick_compilation():
    # For each test: without __init__.py files, a fixture of a wider scope would last until all tests are done.
    before = jax.config.jax_disable_most_optimizations
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
