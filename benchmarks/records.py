"""Results files: what was measured, on what machine, by whom; a page and charts can be made from the file alone."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import machine
from benchmarks.plan import GROUPS, PEERS, Measure
from benchmarks.runner import Row

_DIGITS = 4  # of the times in a file


@dataclass
class GroupResults:
    """The rows of one group. Titles and notes are those of the time of measuring."""

    name: str
    title: str
    title_zh: str
    note: str = ""
    note_zh: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def sections(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.measure.section, []).append(row)
        return found

    @property
    def peers(self) -> list[str]:
        """Those with a ratio in any row."""
        return [peer for peer in PEERS if any(row.peers.get(peer) for row in self.rows)]


@dataclass
class Results:
    """The contents of a results file."""

    when: str
    machine: dict
    versions: dict[str, dict[str, str]]
    groups: list[GroupResults]

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]


def overview(results: Results) -> GroupResults:
    """Geometric means of the ratios of each group, or section of one, as rows in which we take a second."""
    found = GroupResults("overview", "Overview: geometric means", "概览：几何平均")
    for group in results.groups:
        for section, rows in group.sections.items():
            ratios = {peer: [r for row in rows if (r := row.ratio(peer)) is not None] for peer in PEERS}
            means = {peer: statistics.geometric_mean(values) for peer, values in ratios.items() if values}
            if means:
                title = f"{group.title.partition(':')[0]}{section and ': '}{section.lower()}"
                title += f" ({max(len(values) for values in ratios.values())})"
                seconds = {peer: [1 / mean] for peer, mean in means.items()}
                found.rows.append(Row(Measure(f"{group.name} {section}", title), [1.0], seconds))
    return found


def collect(rows: Sequence[Row], versions: dict[str, dict[str, str]]) -> Results:
    """The rows in the groups of the plan, with this machine and the present time."""
    groups = []
    for group in GROUPS:
        names = {m.name for program in group.programs for m in program.measures}
        found = [row for row in rows if row.measure.name in names]
        if found:
            groups.append(GroupResults(group.name, group.title, group.title_zh, group.note, group.note_zh, found))
    return Results(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), machine.describe(), versions, groups)


def merged(old: Results, new: Results) -> Results:
    """``new``, with the rows of ``old`` that were not measured again.

    Raises:
      ValueError: when they are of different machines or versions, whose ratios do not belong in one table.
    """
    if old.machine != new.machine:
        raise ValueError(f"measured on another machine ({old.machine}; this is {new.machine})")
    for label, found in old.versions.items():
        if label in new.versions and new.versions[label] != found:
            raise ValueError(f"measured with another {label} ({found}; now {new.versions[label]})")
    rows = {row.measure.name: row for row in old.rows} | {row.measure.name: row for row in new.rows}
    both = collect(list(rows.values()), old.versions | new.versions)
    order = {m.name: i for i, m in enumerate(m for g in GROUPS for p in g.programs for m in p.measures)}
    for group in both.groups:
        group.rows.sort(key=lambda row: order[row.measure.name])
    return both


def write(results: Results, path: Path) -> None:
    """Writes the file, with a line for each row, so that differences between two files can be read."""
    groups = []
    for g in results.groups:
        about = {"name": g.name, "title": g.title, "title_zh": g.title_zh, "note": g.note, "note_zh": g.note_zh}
        groups.append(_with_lines(about, "rows", [_line(_as_json(row)) for row in g.rows]))
    about = {"when": results.when, "machine": results.machine, "versions": results.versions}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_with_lines(about, "groups", groups) + "\n", encoding="utf-8")


def _with_lines(about: dict, name: str, lines: Sequence[str]) -> str:
    """``about`` with one more field, whose elements have a line each."""
    return _line(about)[:-1] + f', "{name}": [\n' + ",\n".join(lines) + "\n]}"


def _line(record: dict) -> str:
    return json.dumps(record, ensure_ascii=False)


def read(path: Path) -> Results:
    record = json.loads(path.read_text(encoding="utf-8"))
    groups = [GroupResults(**{**g, "rows": [_from_json(row) for row in g["rows"]]}) for g in record.pop("groups")]
    return Results(**record, groups=groups)


def _as_json(row: Row) -> dict:
    seconds = {"ours": row.ours, **{peer: row.peers[peer] for peer in PEERS if row.peers.get(peer)}}
    return {
        "name": row.measure.name,
        "title": row.measure.title,
        "section": row.measure.section,
        "levels": {peer: level for peer in PEERS if (level := row.measure.level(peer)) is not None},
        "seconds": {label: [float(f"{x:.{_DIGITS}g}") for x in values] for label, values in seconds.items()},
        "ratios": {peer: round(ratio, _DIGITS) for peer in PEERS if (ratio := row.ratio(peer)) is not None},
        "verdicts": {peer: verdict for peer in PEERS if (verdict := row.verdict(peer))},
    }


def _from_json(record: dict) -> Row:
    """The row; ratios and verdicts follow from times and levels."""
    seconds = dict(record["seconds"])
    measure = Measure(record["name"], record["title"], section=record["section"], **record["levels"])
    return Row(measure, seconds.pop("ours"), seconds)
