"""Command line: run the paired measurements, print the table, write results, charts and the documentation's page."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks import machine, records, report, runner
from benchmarks.plan import GROUPS, PROGRAMS, Program

VARIABLE = "FLEETJAX_REFERENCE_PYTHON"
TORCH_VARIABLE = "FLEETJAX_TORCH_PYTHON"
LATEST = Path("benchmarks/results/latest.json")
CHARTS = LATEST.parent / "charts"
PUBLISHED = Path("benchmarks/measured.json")  # what the documentation shows
NO_CHARTS = "no charts: they need matplotlib (python -m pip install -e '.[bench]')"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--reference",
        metavar="PYTHON",
        default=os.environ.get(VARIABLE),
        help=f"interpreter whose environment holds the reference (default: ${VARIABLE})",
    )
    parser.add_argument(
        "--torch",
        metavar="PYTHON",
        default=os.environ.get(TORCH_VARIABLE),
        help=f"interpreter whose environment holds PyTorch (default: ${TORCH_VARIABLE})",
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="a measure, program or group; may be repeated")
    parser.add_argument("--skip-heavy", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--suite", action="store_true", help="the suite of models, and nothing else")
    parser.add_argument("--all", action="store_true", help="the suite of models, and everything else")
    parser.add_argument("--rounds", type=int, help="rounds of each program, instead of its own number")
    parser.add_argument("--json", metavar="FILE", type=Path,
                        help=f"the results file; {LATEST} by default, with --report {PUBLISHED}")
    parser.add_argument("--update", action="store_true", help="keep what the results file has and is not measured now")
    parser.add_argument("--report", action="store_true",
                        help="measure nothing; make the documentation's page and charts from the results file")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    return parser.parse_args()


def _chosen(arguments: argparse.Namespace) -> list[Program]:
    if arguments.only is None:
        return [p for p in PROGRAMS if (arguments.all or p.suite == arguments.suite)
                and not (arguments.skip_heavy and p.heavy)]
    only = set(arguments.only)
    known = {name for p in PROGRAMS for name in _names(p)} | {group.name for group in GROUPS}
    if unknown := only - known:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    return [p for group in GROUPS for p in group.programs if ({group.name} | _names(p)) & only
            and not (arguments.skip_heavy and p.heavy)]


def _names(program: Program) -> set[str]:
    return {program.name, *(m.name for m in program.measures)}


def _list() -> None:
    for group in GROUPS:
        for program in group.programs:
            for measure in program.measures:
                print(f"{group.name:14} {program.name:28} {measure.name:30} {measure.title}")


def _report(path: Path) -> int:
    results = records.read(path)
    for written in report.write(results):
        print(f"written: {written.relative_to(runner.ROOT)}")
    before = set(report.CHARTS.glob("*.png"))
    if not (charts := _charts(results, report.CHARTS, dark=True)):
        return 1
    for stale in before - set(charts):
        stale.unlink()  # of groups that are no longer measured
    return 0


def _charts(results: records.Results, folder: Path, dark: bool = False) -> list[Path]:
    """Writes charts where that is possible, and says so."""
    from benchmarks import charts
    try:
        written = charts.write(results, folder, dark)
    except ImportError:
        print(NO_CHARTS)
        return []
    if written:
        print(f"charts in {folder}: {', '.join(path.stem for path in written)}")
    return written


def _measure(arguments: argparse.Namespace) -> tuple[records.Results, list[str]]:
    """Runs the chosen programs; results and the texts of failures."""
    theirs = runner.reference(arguments.reference) if arguments.reference else None
    torch = runner.Implementation("torch", arguments.torch, (str(runner.ROOT),)) if arguments.torch else None
    if theirs is None:
        print(f"no reference: give --reference or ${VARIABLE} (benchmarks/README.md); measuring ours only\n")
    versions = {i.label: i.versions() for i in (runner.OURS, theirs) if i is not None}
    if torch is not None:
        versions["torch"] = torch.versions(("torch", "numpy"))
    print(f"{'machine':10} {', '.join(f'{name} {value}' for name, value in machine.describe().items())}")
    for label, found in versions.items():
        print(f"{label:10} {', '.join(' '.join(pair) for pair in found.items())}")
    if theirs is not None and versions["ours"]["jaxlib"] != versions["reference"]["jaxlib"]:
        print("warning: different jaxlib versions; ratios of compile and run times mean little")
    rows, failures = [], []
    for program in _chosen(arguments):
        print(f"... {program.name}", file=sys.stderr, flush=True)
        try:
            rows += runner.measure(program, runner.OURS, theirs, arguments.rounds or program.rounds, torch)
        except RuntimeError as error:
            failures.append(str(error))
    print("\n" + runner.table(rows))
    for line in runner.means(rows):
        print(line)
    return records.collect(rows, versions), failures


def main() -> int:
    arguments = _arguments()
    if arguments.list:
        _list()
        return 0
    if arguments.report:
        return _report(arguments.json or PUBLISHED)
    path = arguments.json or LATEST
    old = records.read(path) if arguments.update and path.exists() else None
    results, failures = _measure(arguments)
    failing = bool(failures) or any(row.fails for row in results.rows)
    for failure in failures:
        print("\n" + failure, file=sys.stderr)
    if old is not None:
        results = records.merged(old, results)
    records.write(results, path)
    print(f"\nwritten to {path}")
    _charts(results, CHARTS)
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
