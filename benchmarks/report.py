"""The documentation's page about benchmarks, in each language, made from a results file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import runner
from benchmarks.records import GroupResults, Results
from benchmarks.runner import Row

_HERE = Path(__file__).resolve().parent
PAGES = _HERE.parent / "docs" / "pages"
CHARTS = PAGES / "images" / "benchmarks"


class Words(NamedTuple):
    """What the generated parts of a page say."""

    generated: str
    measure: str
    peers: dict[str, str]
    versions: str
    machine: str
    level: str
    missed: str
    alt: str
    all_reached: str
    some_missed: str
    mean: str
    kinds: dict[str, str]
    when: str
    separator: str


WORDS = {
    "en": Words(
        generated="Made by `python -m benchmarks --report` from benchmarks/measured.json and benchmarks/page.en.md",
        measure="measure",
        peers={"reference": "/ reference", "numpy": "/ NumPy", "torch": "/ PyTorch", "first": "/ first start"},
        versions="{label}: {what}",
        machine="{cpu}, {cores} cores, {memory_gib} GiB of memory, {system} ({architecture})",
        level="{ratio} (≤ {level})",
        missed="**{ratio}** (missed: ≤ {level})",
        alt="Chart of the ratios",
        all_reached="All {total} levels are reached.",
        some_missed="{reached} of {total} levels are reached. Missed: {names}.",
        mean="Geometric mean over the suite of {count} models, {kind}: {mean}.",
        kinds={"compile": "compiling", "run": "running"},
        when="Measured on {date} (UTC).",
        separator="; ",
    ),
    "zh": Words(
        generated="由 `python -m benchmarks --report` 根据 benchmarks/measured.json 和 benchmarks/page.zh.md 生成",
        measure="条目",
        peers={"reference": "/ 参考实现", "numpy": "/ NumPy", "torch": "/ PyTorch", "first": "/ 首次启动"},
        versions="{label}：{what}",
        machine="{cpu}，{cores} 核，内存 {memory_gib} GiB，{system}（{architecture}）",
        level="{ratio}（≤ {level}）",
        missed="**{ratio}**（未达到：≤ {level}）",
        alt="比值图",
        all_reached="全部 {total} 项水平均已达到。",
        some_missed="{total} 项水平中达到 {reached} 项。未达到：{names}。",
        mean="{count} 个模型的几何平均，{kind}：{mean}。",
        kinds={"compile": "编译", "run": "运行"},
        when="测量日期：{date}（UTC）。",
        separator="；",
    ),
}
_LABELS = {"en": {"ours": "fleetjax", "reference": "reference", "torch": "PyTorch"},
           "zh": {"ours": "fleetjax", "reference": "参考实现", "torch": "PyTorch"}}
_PACKAGES = {"jax": "jax", "jaxlib": "jaxlib", "numpy": "NumPy", "torch": "PyTorch", "python": "Python"}


def write(results: Results) -> list[Path]:
    """Writes the pages; the charts are :func:`benchmarks.charts.write`'s."""
    written = []
    for language in WORDS:
        path = PAGES / language / "benchmarks.md"
        path.write_text(page(results, language), encoding="utf-8")
        written.append(path)
    return written


def page(results: Results, language: str) -> str:
    """The page in one language: the template with what is in the file."""
    words = WORDS[language]
    summary = "\n".join(f"- {line}" for line in _summary(results.rows, words))
    text = (_HERE / f"page.{language}.md").read_text(encoding="utf-8")
    parts = {
        "machine": _machine(results, language),
        "overview": f"{_pictures('overview', words)}\n\n{summary}",
        "groups": "\n\n".join(_group(group, language) for group in results.groups if group.peers),
    }
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part)
    return f"<!-- {words.generated} -->\n\n{text}"


def _machine(results: Results, language: str) -> str:
    words = WORDS[language]
    lines = [words.machine.format(**results.machine)]
    for label, found in results.versions.items():
        what = ", ".join(f"{_PACKAGES[name]} {version}" for name, version in found.items())
        lines.append(words.versions.format(label=_LABELS[language][label], what=what))
    lines.append(words.when.format(date=results.when[:10]))
    return "\n".join(f"- {line}" for line in lines)


def _summary(rows: Sequence[Row], words: Words) -> list[str]:
    judged = [(row, peer) for row in rows for peer in row.peers if row.verdict(peer)]
    missed = [f"{_escaped(row.measure.title)} ({words.peers[peer].removeprefix('/ ')})" for row, peer in judged
              if row.verdict(peer) == "FAIL"]
    reached, total = len(judged) - len(missed), len(judged)
    lines = [words.some_missed.format(reached=reached, total=total, names=words.separator.join(missed)) if missed
             else words.all_reached.format(total=total)]
    for kind, found in runner.suite_means(rows).items():
        shown = _cell(found.mean, found.level, words)
        lines.append(words.mean.format(count=found.count, kind=words.kinds[kind], mean=shown))
    return lines


def _pictures(name: str, words: Words) -> str:
    """The theme shows one of the two, by the colours that the reader has chosen."""
    return "\n".join(f"![{words.alt}](../images/benchmarks/{name}{suffix}.png#only-{kind})"
                     for suffix, kind in (("", "light"), ("-dark", "dark")))


def _group(group: GroupResults, language: str) -> str:
    words = WORDS[language]
    title, note = (group.title_zh, group.note_zh) if language == "zh" else (group.title, group.note)
    lines = [f"| {words.measure} | {' | '.join(words.peers[peer] for peer in group.peers)} |",
             f"| --- |{' ---: |' * len(group.peers)}"]
    for row in (row for rows in group.sections.values() for row in rows):
        cells = [_cell(row.ratio(peer), row.measure.level(peer), words) for peer in group.peers]
        lines.append(f"| {_escaped(row.measure.title)} | {' | '.join(cells)} |")
    return "\n\n".join(filter(None, (f"## {title}", note, _pictures(group.name, words), "\n".join(lines))))


def _cell(ratio: float | None, level: float | None, words: Words) -> str:
    if ratio is None:
        return ""
    shown = f"{ratio:.3g}"
    if level is None:
        return shown
    return (words.level if ratio <= level else words.missed).format(ratio=shown, level=f"{level:g}")


def _escaped(title: str) -> str:
    """A title in which Markdown finds nothing to do."""
    return "".join("\\" + c if c in "*_[]|<>`" else c for c in title)
