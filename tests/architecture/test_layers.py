"""Imports only point downwards, and one module alone knows jaxlib."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, python_files

pytestmark = pytest.mark.quick

ONLY_DOOR = "src/jax/_base/_jaxlib.py"


def test_layer_contracts_hold():
    """The contracts in pyproject.toml: exhaustive layers, no cycles among siblings."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _imported_modules(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, node.lineno


def test_only_one_module_imports_jaxlib():
    offenders = [
        f"{source.name}:{line} imports {module}"
        for source in python_files("src")
        if source.name != ONLY_DOOR
        for module, line in _imported_modules(source.tree)
        if module.split(".")[0] == "jaxlib"
    ]
    assert not offenders, f"go through {ONLY_DOOR} instead:\n" + "\n".join(offenders)


# A module imported inside a function costs a reader the overview that the top of the file gives. Heavy
# optional dependencies may be imported so; any other import there needs a comment on its line that says why.
HEAVY = {"scipy", "opt_einsum", "absl", "cloudpickle", "etils"}


def _function_level_imports(tree: ast.Module):
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from ((alias.name, node.lineno) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield "." * node.level + (node.module or ""), node.lineno


def test_function_level_imports_give_their_reason():
    offenders = set()
    for source in python_files("src"):
        lines = source.text.splitlines()
        for module, line in _function_level_imports(source.tree):
            comment = lines[line - 1].partition("#")[2].strip()
            explained = comment and not comment.startswith("noqa")
            if module.split(".")[0] not in HEAVY and source.name != ONLY_DOOR and not explained:
                offenders.add(f"{source.name}:{line} imports {module}")
    assert not offenders, "move to the top, or say why not on the line:\n" + "\n".join(sorted(offenders))
