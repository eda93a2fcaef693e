"""Modules that are looked for inside of modules of jax.experimental."""

from __future__ import annotations

import importlib

import pytest

from jax._base import _jaxlib
from jax.experimental import _reexports

PLACES = [("sparse.bcoo", "pe", "jax.interpreters.partial_eval"), ("sparse.transform", "lu", "jax.extend.linear_util"),
          ("sparse.linalg", "sparse", "jax.experimental.sparse"), ("multihost_utils", "xla_bridge", "jax._src.xla_bridge"),
          ("rnn", "mlir", "jax.interpreters.mlir"), ("sparse.transform", "jnp_indexing", "jax.numpy._indexing")]


@pytest.mark.quick
@pytest.mark.parametrize("place, name, home", PLACES)
def test_they_are_the_modules_themselves(place, name, home):
    module = importlib.import_module(f"jax.experimental.{place}")
    assert getattr(module, name) is importlib.import_module(home)
    with pytest.raises(AttributeError, match=f"module 'jax.experimental.{place}' has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


def test_every_home_exists():
    for home in _reexports._HOMES.values():
        importlib.import_module(home)
    for name in _reexports._BINDINGS.values():
        assert getattr(_jaxlib, name).__name__.startswith("jaxlib.")


def test_they_load_when_asked_for(run_python):
    program = ("import sys, jax; from jax.experimental import sparse, multihost_utils, rnn; before = set(sys.modules); "
               "name = 'jax.interpreters.mlir'; assert name not in before; sparse.bcoo.mlir; assert name in sys.modules")
    run_python(program)
