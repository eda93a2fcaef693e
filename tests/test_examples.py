"""The examples do what they promise: run as a user runs them, in a new process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


@pytest.mark.parametrize("name", ["digits_cnn", "digits_optax"])
def test_digits_are_read_with_98_percent(name):
    if name == "digits_optax":
        pytest.importorskip("optax")
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    picture = ROOT / "examples" / "output" / f"{name}.png"
    picture.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, f"examples/{name}.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = re.search(r"held-out accuracy ([\d.]+)%", done.stdout)
    assert found and float(found.group(1)) >= 98.0, done.stdout
    assert picture.stat().st_size > 10_000
