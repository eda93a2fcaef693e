"""Every public function says what it does."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import PACKAGE, Source, python_files

pytestmark = pytest.mark.quick

# Rooms that are not public: their functions are documented where a name does not say enough.
PRIVATE = ("_",)


def _is_public_module(source: Source) -> bool:
    parts = source.path.relative_to(PACKAGE).with_suffix("").parts
    return not parts or not parts[0].startswith(PRIVATE)


def _undocumented(source: Source):
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if ast.get_docstring(node) is None and not _takes_docstring_elsewhere(node):
                yield f"{source.name}:{node.lineno} {node.name}"


def _takes_docstring_elsewhere(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """An overload declares a signature only."""
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload"})


def test_public_functions_and_classes_have_docstrings():
    missing = [
        line for source in python_files("src") if _is_public_module(source) for line in _undocumented(source)
    ]
    assert not missing, "without a docstring:\n" + "\n".join(missing)


def test_modules_have_docstrings():
    missing = [
        source.name
        for source in python_files("src")
        if source.text.strip() and ast.get_docstring(source.tree) is None
    ]
    assert not missing, "say in one line what the module is for:\n" + "\n".join(missing)
