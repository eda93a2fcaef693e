"""Command line: run the paired measurements, print the table, write it as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from benchmarks import machine, runner
from benchmarks.plan import GROUPS, PROGRAMS, Program

VARIABLE = "FLEETJAX_REFERENCE_PYTHON"
TORCH_VARIABLE = "FLEETJAX_TORCH_PYTHON"


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
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="a measure, program or group; may be repeated"
    )
    parser.add_argument("--skip-heavy", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--suite", action="store_true", help="the suite of models, and nothing else")
    parser.add_argument("--rounds", type=int, help="rounds of each program, instead of its own number")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/latest.json"))
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    return parser.parse_args()


def _chosen(only: list[str] | None, skip_heavy: bool, suite: bool) -> list[Program]:
    if only is None:
        return [p for p in PROGRAMS if p.suite == suite and not (skip_heavy and p.heavy)]
    known = {name for p in PROGRAMS for name in _names(p)} | {group.name for group in GROUPS}
    unknown = set(only) - known
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    return [p for group in GROUPS for p in group.programs if ({group.name} | _names(p)) & set(only)]


def _names(program: Program) -> set[str]:
    return {program.name, *(m.name for m in program.measures)}


def main() -> int:
    arguments = _arguments()
    if arguments.list:
        for group in GROUPS:
            for program in group.programs:
                for measure in program.measures:
                    print(f"{group.name:14} {program.name:28} {measure.name:30} {measure.title}")
        return 0
    theirs = runner.reference(arguments.reference) if arguments.reference else None
    torch = runner.Implementation("torch", arguments.torch, (str(runner.ROOT),)) if arguments.torch else None
    if theirs is None:
        print(f"no reference: give --reference or ${VARIABLE} (benchmarks/README.md); measuring ours only\n")
    versions = {i.label: i.versions() for i in (runner.OURS, theirs) if i is not None}
    for label, found in versions.items():
        print(f"{label:10} jax {found['jax']}, jaxlib {found['jaxlib']}, Python {found['python']}")
    if theirs is not None and versions["ours"]["jaxlib"] != versions["reference"]["jaxlib"]:
        print("warning: different jaxlib versions; ratios of compile and run times mean little")
    rows, failures = [], []
    for program in _chosen(arguments.only, arguments.skip_heavy, arguments.suite):
        print(f"... {program.name}", file=sys.stderr, flush=True)
        try:
            rows += runner.measure(program, runner.OURS, theirs, arguments.rounds or program.rounds, torch)
        except RuntimeError as error:
            failures.append(str(error))
    print("\n" + runner.table(rows))
    for line in runner.means(rows):
        print(line)
    for failure in failures:
        print("\n" + failure, file=sys.stderr)
    record = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine.describe(),
        "versions": versions,
        "rows": [row.as_json() for row in rows],
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    print(f"\nwritten to {arguments.json}")
    return 1 if failures or any(row.fails for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
