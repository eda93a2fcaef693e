"""The benchmark runner's arithmetic, and that its programs run; their times are nobody's business here."""

from __future__ import annotations

import json

import pytest

from benchmarks import runner
from benchmarks.plan import PROGRAMS, Measure


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


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if not p.heavy], ids=lambda p: p.module.split(".")[-1]
)
def test_program_reports_its_measures(program):
    seconds = json.loads(runner.OURS.run(["-m", program.module]).splitlines()[-1])
    assert set(seconds) == {m.name for m in program.measures}
    assert all(value > 0 for value in seconds.values())
