"""The benchmark runner's arithmetic, and that its programs run; their times are nobody's business here."""

from __future__ import annotations

import json

import pytest

from benchmarks import runner
from benchmarks.models.suite import MODELS
from benchmarks.plan import PEERS, PROGRAMS, SUITE, Measure


def _row(level: float | None) -> runner.Row:
    return runner.Row(Measure("name", "a title", level), ours=[1.0, 4.0, 3.0], peers={"reference": [2.0, 4.0, 10.0]})


@pytest.mark.quick
def test_ratio_is_the_median_of_paired_ratios():
    assert _row(None).ratio() == 0.5


@pytest.mark.quick
@pytest.mark.parametrize("level, verdict", [(0.5, "pass"), (0.4, "FAIL"), (None, "")])
def test_verdict_compares_with_the_level(level, verdict):
    assert _row(level).verdict() == verdict
    assert runner.table([_row(level)]).splitlines()[-1].endswith(verdict)


@pytest.mark.quick
def test_without_a_reference_only_our_times_are_shown():
    row = runner.Row(Measure("name", "a title", 0.5), ours=[2e-5])
    assert row.ratio() is None and row.verdict() == ""
    assert "20 us" in runner.table([row])


def test_geometric_means_of_the_suite():
    name = SUITE[0].measures[0].name
    rows = [runner.Row(Measure(name, ""), [1.0], {"reference": [4.0]}),
            runner.Row(Measure("other", ""), [9.0], {"reference": [1.0]})]
    assert runner.means(rows) == ["geometric mean of 1 ratios, compile: 0.250 (level 0.5, pass)"]


@pytest.mark.quick
def test_each_peer_has_its_ratio_and_level():
    row = runner.Row(Measure("name", "a title", reference=1.0, numpy=2.0), [1.0, 2.0],
                     {"torch": [4.0, 4.0], "numpy": [0.4, 0.8]})
    assert row.ratio("torch") == 0.375 and row.ratio("numpy") == 2.5 and row.ratio("reference") is None
    assert row.fails and row.verdict("numpy") == "FAIL" and row.verdict("torch") == row.verdict("reference") == ""
    lines = runner.table([row]).splitlines()[2:]
    assert [line.split()[-2:] for line in lines] == [["-", "1"], ["2", "FAIL"], ["0.375", "-"]]
    assert runner.Row.from_json(row.measure, json.loads(json.dumps(row.as_json()))) == row


def test_every_model_is_in_the_suite():
    assert [p.arguments[0] for p in SUITE] == list(MODELS)


@pytest.mark.parametrize("name", ["leapfrog", "gaussian_process"])
def test_model_reports_compile_and_run_times(name, monkeypatch):
    monkeypatch.setenv("BENCHMARKS_BRIEF", "1")
    seconds = json.loads(runner.OURS.run(["-m", "benchmarks.measures.model", name]).splitlines()[-1])
    assert set(seconds) == {f"compile_{name}", f"run_{name}"}


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if not p.heavy and not p.suite], ids=lambda p: p.name
)
def test_program_reports_its_measures(program, monkeypatch):
    monkeypatch.setenv("BENCHMARKS_BRIEF", "1")
    seconds = json.loads(runner.OURS.run(["-m", program.module, *program.arguments]).splitlines()[-1])
    peers = {peer: seconds.pop(peer) for peer in PEERS if peer in seconds}
    names = {m.name for m in program.measures}
    assert set(seconds) == names and all(value > 0 for value in seconds.values())
    assert all(set(found) <= names and all(value > 0 for value in found.values()) for found in peers.values())


def test_second_start_with_a_cache_is_measured(monkeypatch):
    monkeypatch.setenv("BENCHMARKS_BRIEF", "1")
    seconds = json.loads(runner.OURS.run(["-m", "benchmarks.measures.cache", "1"]).splitlines()[-1])
    assert set(seconds.pop("first")) == set(seconds) == {"cache_step", "cache_small"}


@pytest.mark.quick
def test_names_in_the_plan_are_unique():
    names = [m.name for p in PROGRAMS for m in p.measures]
    assert len(names) == len(set(names)) and not set(names) & set(PEERS)
