"""Every public function says what it does."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import PACKAGE, Source, python_files

pytestmark = pytest.mark.quick



def _parts(source: Source) -> tuple[str, ...]:
    return source.path.relative_to(PACKAGE).with_suffix("").parts


def _is_public_module(source: Source) -> bool:
    return not any(part.startswith("_") and part != "__init__" for part in _parts(source))


def _exports() -> set[tuple[str, str]]:
    """(module, name) of everything that a public module re-exports from a private one."""
    found = set()
    for source in python_files("src"):
        if not _is_public_module(source):
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("jax."):
                found |= {(node.module, alias.name) for alias in node.names if alias.asname == alias.name}
    return found


def _undocumented(source: Source, exports: set[tuple[str, str]]):
    module = ".".join(("jax", *(p for p in _parts(source) if p != "__init__")))
    public = _is_public_module(source)
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not public and (module, node.name) not in exports:
                continue  # internal: documented where its name does not say enough
            if ast.get_docstring(node) is None and not _takes_docstring_elsewhere(node):
                yield f"{source.name}:{node.lineno} {node.name}"


def _takes_docstring_elsewhere(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """An overload declares a signature only."""
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload"})


def test_public_functions_and_classes_have_docstrings():
    exports = _exports()
    missing = [line for source in python_files("src") for line in _undocumented(source, exports)]
    assert len(exports) > 300
    assert not missing, "without a docstring:\n" + "\n".join(missing)


def test_modules_have_docstrings():
    missing = [
        source.name
        for source in python_files("src")
        if source.text.strip() and ast.get_docstring(source.tree) is None
    ]
    assert not missing, "say in one line what the module is for:\n" + "\n".join(missing)
