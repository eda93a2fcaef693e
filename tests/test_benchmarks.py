"""The benchmark runner's arithmetic, and that its programs run; their times are nobody's business here."""

from __future__ import annotations

import json

import pytest

from benchmarks import runner
from benchmarks.models.suite import MODELS
from benchmarks.plan import PROGRAMS, SUITE, Measure


def _row(level: float | None) -> runner.Row:
    return runner.Row(Measure("name", "a title", level), ours=[1.0, 4.0, 3.0], theirs=[2.0, 4.0, 10.0])


@pytest.mark.quick
def test_ratio_is_the_median_of_paired_ratios():
    assert _row(None).ratio == 0.5


@pytest.mark.quick
@pytest.mark.parametrize("level, verdict", [(0.5, "pass"), (0.4, "FAIL"), (None, "")])
def test_verdict_compares_with_the_level(level, verdict):
    assert _row(level).verdict == verdict
    assert runner.table([_row(level)]).splitlines()[-1].endswith(verdict)


@pytest.mark.quick
def test_without_a_reference_only_our_times_are_shown():
    row = runner.Row(Measure("name", "a title", 0.5), ours=[2e-5])
    assert row.ratio is None and row.verdict == ""
    assert "20 us" in runner.table([row])


def test_geometric_means_of_the_suite():
    name = SUITE[0].measures[0].name
    rows = [runner.Row(Measure(name, "", None), [1.0], [4.0]), runner.Row(Measure("other", "", None), [9.0], [1.0])]
    assert runner.means(rows) == ["geometric mean of 1 ratios, compile: 0.250 (level 0.5, pass)"]


@pytest.mark.quick
def test_comparison_with_torch():
    row = runner.Row(Measure("name", "a title", None), ours=[1.0, 2.0], torch=[4.0, 4.0])
    assert row.torch_ratio == 0.375
    assert "a title: 0.375 of PyTorch's time (4 s)" in runner.table([row])


def test_every_model_is_in_the_suite():
    assert [p.arguments[0] for p in SUITE] == list(MODELS)


@pytest.mark.parametrize("name", ["leapfrog", "gaussian_process"])
def test_model_reports_compile_and_run_times(name):
    seconds = json.loads(runner.OURS.run(["-m", "benchmarks.measures.model", name]).splitlines()[-1])
    assert set(seconds) == {f"compile_{name}", f"run_{name}"}


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if not p.heavy and not p.suite], ids=lambda p: p.name
)
def test_program_reports_its_measures(program):
    seconds = json.loads(runner.OURS.run(["-m", program.module, *program.arguments]).splitlines()[-1])
    assert set(seconds) == {m.name for m in program.measures}
    assert all(value > 0 for value in seconds.values())
