"""What all tests share: the platform they run on, hypothesis profiles, and fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# Before anything imports jax: on a GPU results round differently, and two workers would fight for its memory.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

hypothesis.settings.register_profile(
    "fleetjax",
    # Compilation makes the first example of each shape slow, so a time limit per example would only be noise;
    # derandomized, because a failure has to be reproducible from the log of another machine.
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fleetjax"))

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run_python() -> RunPython:
    """Run source text in a fresh interpreter that sees this working tree; fails the test on a non-zero exit.

    For what a process can only do once: import, choose a platform, read environment variables.
    """

    def run(source: str, *, env: dict[str, str] | None = None, check: bool = True, timeout: float = 120):
        environment = {**os.environ, "PYTHONPATH": str(SRC), "JAX_PLATFORMS": "cpu", **(env or {})}
        done = subprocess.run(
            [sys.executable, "-c", source],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode != 0:
            pytest.fail(f"the program exited with {done.returncode}:\n{done.stderr}", pytrace=False)
        return done

    return run
