"""Every primitive has every rule, or a reason why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.architecture import rule_matrix
from tests.architecture.rule_blanks import BLANKS
from tests.architecture.sources import ROOT

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def matrix():
    # In an interpreter of its own: other tests make primitives too.
    done = subprocess.run(
        [sys.executable, "-c",
         "import json; from tests.architecture.rule_matrix import matrix; print(json.dumps(matrix()))"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}, capture_output=True, text=True,
        check=True)
    found = [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]
    print(rule_matrix.table(found))
    return found


def test_matrix_covers_the_package(matrix):
    assert len(matrix) > 100


def test_no_unexplained_blanks(matrix):
    blanks = [
        f"{name}: no {column} rule"
        for name, has in matrix
        for column in rule_matrix.COLUMNS
        if not has[column] and rule_matrix.reason(name, column) is None
    ]
    assert not blanks, "\n".join(blanks)


def test_explanations_are_needed(matrix):
    """An explanation of a rule that exists by now, or of a primitive that does not, misleads."""
    present = {}
    for name, has in matrix:
        for column in rule_matrix.COLUMNS:
            present[name, column] = present.get((name, column), True) and has[column]
    stale = [
        f"{name}: {column}"
        for column, reasons in BLANKS.items()
        for names in reasons.values()
        for name in names.split()
        if present.get((name, column), True)
    ]
    assert not stale, "\n".join(stale)


def test_names_are_unique(matrix):
    names = [name for name, _ in matrix]
    assert sorted(set(names)) == sorted(names)
