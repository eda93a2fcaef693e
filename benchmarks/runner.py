"""Run measurement programs under several interpreters in turn and compare."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.plan import MEANS, PEERS, SUITE, Measure, Program

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Implementation:
    """An interpreter together with the search path that decides which ``jax`` it imports."""

    label: str
    python: str
    path: tuple[str, ...]

    def run(self, arguments: list[str], timeout: float = 1800) -> str:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))
        }
        # Users' interpreters keep compiled modules; without them this one would recompile its source at every start.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"PYTHONPATH": os.pathsep.join(self.path), "JAX_PLATFORMS": "cpu"}
        done = subprocess.run(
            [self.python, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if done.returncode:
            raise RuntimeError(f"{self.label}: {' '.join(arguments)} failed\n{done.stderr[-3000:]}")
        return done.stdout

    def versions(self, packages: Sequence[str] = ("jax", "jaxlib", "numpy")) -> dict[str, str]:
        """Versions of packages, and of Python."""
        source = (
            "import json, sys; from importlib import import_module;"
            "found = {name: import_module(name).__version__ for name in sys.argv[1:]};"
            "print(json.dumps({**found, 'python': sys.version.split()[0]}))"
        )
        return json.loads(self.run(["-c", source, *packages]))


OURS = Implementation("ours", sys.executable, (str(ROOT / "src"), str(ROOT)))


def reference(python: str) -> Implementation:
    """The implementation installed in another environment; our ``src`` stays off its path."""
    return Implementation("reference", python, (str(ROOT),))


@dataclass
class Row:
    """The times of one measure, ours and those of peers, one entry for each round."""

    measure: Measure
    ours: list[float] = field(default_factory=list)
    peers: dict[str, list[float]] = field(default_factory=dict)

    def ratios(self, peer: str) -> list[float]:
        """Ours / theirs within each round."""
        return [a / b for a, b in zip(self.ours, self.peers.get(peer, ()), strict=False)]

    def ratio(self, peer: str = "reference") -> float | None:
        """The median over rounds of the ratio within a round, so that a slow minute hits both."""
        return statistics.median(found) if (found := self.ratios(peer)) else None

    def verdict(self, peer: str = "reference") -> str:
        ratio, level = self.ratio(peer), self.measure.level(peer)
        if ratio is None or level is None:
            return ""
        return "pass" if ratio <= level else "FAIL"

    @property
    def fails(self) -> bool:
        return any(self.verdict(peer) == "FAIL" for peer in PEERS)


def measure(program: Program, ours: Implementation, theirs: Implementation | None, rounds: int,
            torch: Implementation | None = None) -> list[Row]:
    """All rounds of one program: ours, theirs, PyTorch's where there is one, ours, theirs ..."""
    rows = {m.name: Row(m) for m in program.measures}
    arguments = ["-m", program.module, *program.arguments]
    if not program.reference:
        theirs = None
    if not program.heavy:
        # The first start reads files from disk and writes bytecode; neither belongs in a comparison.
        for implementation in (ours, theirs):
            if implementation is not None:
                implementation.run(["-c", "import jax, jax.numpy"])
    for _ in range(rounds):
        mine = _seconds_of(ours, arguments)
        others = {peer: mine[peer] for peer in PEERS if isinstance(mine.get(peer), dict)}
        if theirs is not None:
            others["reference"] = _seconds_of(theirs, arguments)
        if torch is not None and program.torch:
            others["torch"] = _seconds_of(torch, ["-m", *program.torch])
        for name, row in rows.items():
            row.ours.append(mine[name])
            for peer, seconds in others.items():
                if name in seconds:
                    row.peers.setdefault(peer, []).append(seconds[name])
    return list(rows.values())


def _seconds_of(implementation: Implementation, arguments: list[str]) -> dict:
    return json.loads(implementation.run(arguments).splitlines()[-1])


class Mean(NamedTuple):
    """A geometric mean of ratios."""

    mean: float
    count: int
    level: float


def suite_means(rows: Sequence[Row]) -> dict[str, Mean]:
    """Geometric means of the suite's ratios against the reference, of compiling and of running."""
    found = {}
    for kind, level in MEANS.items():
        names = {f"{kind}_{p.arguments[0]}" for p in SUITE}
        ratios = [ratio for row in rows if row.measure.name in names and (ratio := row.ratio()) is not None]
        if ratios:
            found[kind] = Mean(statistics.geometric_mean(ratios), len(ratios), level)
    return found


def means(rows: Sequence[Row]) -> list[str]:
    """The same as lines of text."""
    return [f"geometric mean of {m.count} ratios, {kind}: {m.mean:.3f} (level {m.level:g}, "
            f"{'pass' if m.mean <= m.level else 'FAIL'})" for kind, m in suite_means(rows).items()]


def duration(values: list[float]) -> str:
    """The median as text."""
    if not values:
        return "-"
    value = statistics.median(values)
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def table(rows: list[Row]) -> str:
    """The rows as aligned text: one line for each peer that was measured or has a level."""
    lines = [("measure", "ours", "peer", "theirs", "ratio", "level", "")]
    for row in rows:
        shown = [p for p in PEERS if row.peers.get(p) or row.measure.level(p) is not None] or ["reference"]
        for i, peer in enumerate(shown):
            ratio, level = row.ratio(peer), row.measure.level(peer)
            lines.append((
                row.measure.title if i == 0 else "",
                duration(row.ours) if i == 0 else "",
                peer,
                duration(row.peers.get(peer, [])),
                "-" if ratio is None else f"{ratio:.3f}",
                "-" if level is None else f"{level:g}",
                row.verdict(peer),
            ))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def text(line):
        cells = (cell.ljust(width) if i in (0, 2) else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return "\n".join([text(lines[0]), "-" * (sum(widths) + 12), *map(text, lines[1:])])
