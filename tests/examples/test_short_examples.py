"""The short examples show what they claim to show."""

from __future__ import annotations

import importlib.util
import io

import pytest

from tests.architecture.sources import ROOT


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.quick
def test_implicit_derivatives_agree_with_finite_differences(capsys):
    assert load("implicit_fixed_point").main() < 1e-6
    # Two matrices, an input and the solution of size 6: nothing that grows with the number of iterations.
    assert "numbers kept for the backward pass: 75" in capsys.readouterr().out


def test_debug_nans_finds_the_square_root(capsys):
    message, losses = load("debug_nans_training").main()
    assert "debug_nans_training.py" in message and "jnp.sqrt(square), 0.0" in message and "inf at [0, 0]" in message
    assert losses[-1] < 1e-3 * losses[0]
    assert "[nan nan]" in capsys.readouterr().out


def test_costs_are_known_before_running(capsys):
    rows = load("ahead_of_time").main()
    plain, donated, recomputed = rows["as it is"], rows["donated"], rows["recomputed"]
    state = 8 * 2 * 128 * 512 * 4
    assert plain.arguments == state + 2 * 512 * 128 * 4
    assert plain.shared == 0 and donated.shared >= state
    assert recomputed.temporaries < plain.temporaries / 2 and recomputed.flops > plain.flops
    losses = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert len(losses) == 3 and losses == sorted(losses, reverse=True)


def test_progress_is_reported_in_order_from_the_compiled_loop():
    stream = io.StringIO()
    seen, loss = load("callbacks_progress").main(steps=250, every=100, stream=stream)
    assert seen == [100, 200, 250]
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3 and lines[-1].startswith("[" + "#" * 30 + "] 250/250")
    assert loss < 0.2
