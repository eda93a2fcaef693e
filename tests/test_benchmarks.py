"""The benchmark runner's arithmetic, and that its programs run; their times are nobody's business here."""

from __future__ import annotations

import json
import re
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import machine, records, report, runner
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


def _group() -> records.GroupResults:
    measures = [
        Measure("slow", "a title that is so long that it does not fit into one line of a chart", 0.5, section="First"),
        Measure("fast", "y[3] * 2", 0.25, numpy=2.0, section="Second"), Measure("alone", "ours only"),
    ]
    rows = [runner.Row(measures[0], [3.0, 2.0], {"reference": [1.0, 1.0]}),
            runner.Row(measures[1], [0.001], {"reference": [1.0], "numpy": [0.0009]}), runner.Row(measures[2], [1.0])]
    return records.GroupResults("made-up", "Made up", "虚构", "A note.", "说明。", rows)


def _results() -> records.Results:
    machine = {"cpu": "A CPU", "architecture": "x86_64", "cores": 2, "memory_gib": 8, "system": "Linux"}
    return records.Results("2026-01-02T03:04:05Z", machine, {"ours": {"jax": "1"}, "reference": {"jax": "2"}}, [_group()])


@pytest.mark.quick
def test_results_files_hold_everything(tmp_path):
    records.write(_results(), tmp_path / "a" / "results.json")
    assert records.read(tmp_path / "a" / "results.json") == _results()


def test_the_overview_has_geometric_means():
    rows = {row.measure.title: row for row in records.overview(_results()).rows}
    assert list(rows) == ["Made up: first (1)", "Made up: second (1)"]  # what has no peer has no mean
    assert rows["Made up: second (1)"].ratio("numpy") == pytest.approx(10 / 9)
    group = _group()
    group.rows = [runner.Row(Measure(name, name), [1.0], {"torch": [s]}) for name, s in (("a", 2.0), ("b", 8.0))]
    results = _results()
    results.groups = [group]
    (row,) = records.overview(results).rows
    assert row.ratio("torch") == pytest.approx(0.25) and row.measure.title == "Made up (2)"


@pytest.mark.quick
def test_pages_are_made_from_results():
    english, chinese = report.page(_results(), "en"), report.page(_results(), "zh")
    assert r"| y\[3\] \* 2 | 0.001 (≤ 0.25) | 1.11 (≤ 2) |" in english and r"| y\[3\] \* 2 | 0.001（≤ 0.25） |" in chinese
    assert "| **2.5** (missed: ≤ 0.5) |  |" in english and "**2.5**（未达到：≤ 0.5）" in chinese
    assert "2 of 3 levels are reached. Missed: a title" in english and "3 项水平中达到 2 项" in chinese
    assert "A CPU, 2 cores, 8 GiB" in english and "## 虚构\n\n说明。" in chinese
    assert "{" not in english and "{" not in chinese


@pytest.mark.quick
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_published_page_is_what_the_command_makes(language):
    results = records.read(runner.ROOT / "benchmarks" / "measured.json")
    path = report.PAGES / language / "benchmarks.md"
    assert path.read_text(encoding="utf-8") == report.page(results, language), "run python -m benchmarks --report"
    shown = re.findall(r"\((\.\./images/[^)#]*)#only-(?:light|dark)\)", path.read_text(encoding="utf-8"))
    assert len(shown) == 2 + 2 * len(results.groups)
    assert all((path.parent / name).exists() for name in shown)


def test_an_update_keeps_what_was_not_measured_again(monkeypatch):
    first, second = (m for m in PROGRAMS[1].measures)
    old = records.collect([runner.Row(first, [1.0]), runner.Row(second, [2.0])], {"ours": {"jax": "1"}})
    new = records.collect([runner.Row(second, [3.0])], {"ours": {"jax": "1"}, "reference": {"jax": "1"}})
    both = records.merged(old, new)
    assert [row.ours for row in both.rows] == [[1.0], [3.0]] and set(both.versions) == {"ours", "reference"}
    with pytest.raises(ValueError, match="another ours"):
        records.merged(old, records.collect([], {"ours": {"jax": "2"}}))
    monkeypatch.setitem(old.machine, "cores", 77)
    with pytest.raises(ValueError, match="another machine"):
        records.merged(old, new)


@pytest.mark.parametrize("colours", ["LIGHT", "DARK"])
def test_nothing_in_a_chart_is_cut_off_or_covered(colours):
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    from benchmarks import charts
    figure = charts.draw(_group(), getattr(charts, colours))
    FigureCanvasAgg(figure).draw()
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts]
    assert {"Made up", "First", "2.5", "0.001", "1.11", "level to reach"} <= {text for text, _ in boxes}
    for text, box in boxes:
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1 and 0 <= box.y0 <= box.y1 <= figure.bbox.y1, text
    for i, (text, box) in enumerate(boxes):
        for other, found in boxes[:i]:
            assert not box.shrunk(0.9, 0.9).overlaps(found), (text, other)


def test_charts_are_files(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks import charts
    assert sorted(p.name for p in charts.write(_results(), tmp_path, dark=True)) == [
        "made-up-dark.png", "made-up.png", "overview-dark.png", "overview.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in tmp_path.iterdir())


def test_without_matplotlib_there_are_tables(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not command._charts(_results(), tmp_path / "charts")
    assert ".[bench]" in capsys.readouterr().out


@pytest.mark.quick
def test_the_machine_is_described():
    found = machine.describe()
    assert found["cpu"] and found["cores"] >= 1 and set(found) == {"cpu", "architecture", "cores", "memory_gib", "system"}
