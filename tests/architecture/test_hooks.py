"""Two places where a lower room calls what an upper one put there, and no third.

A hook hides a dependency from the layers, so each is written down here: the function that installs it, and
the one module that may call that function.
"""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import python_files

pytestmark = pytest.mark.quick

# installing function -> (where it is defined, the only module that calls it)
SANCTIONED = {
    "install_bottom_trace": ("src/jax/_language/trace.py", "src/jax/_dispatch/eager.py"),
    "install_operators": ("src/jax/_language/trace.py", "src/jax/numpy/_array_methods.py"),
}


def _installers():
    for source in python_files("src"):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("install_"):
                yield node.name, source.name


def _callers():
    for source in python_files("src"):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                if name.startswith("install_"):
                    yield name, source.name


def test_installing_functions_are_the_sanctioned_ones():
    assert sorted(_installers()) == sorted((name, where) for name, (where, _) in SANCTIONED.items())


def test_each_hook_is_installed_by_its_one_room():
    assert sorted(set(_callers())) == sorted((name, who) for name, (_, who) in SANCTIONED.items())


def test_bottom_trace_is_in_place_after_import(run_python):
    source = """
import jax
from jax._language.trace import bottom, current_trace
assert current_trace.get() is bottom
print(bottom.process.__module__)
"""
    assert run_python(source).stdout.strip() == "jax._dispatch.eager"
