"""Run measurement programs under two interpreters in turn and compare."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.plan import MEANS, SUITE, Measure, Program

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

    def versions(self) -> dict[str, str]:
        source = (
            "import json, sys, jax, jaxlib; print(json.dumps({'jax': jax.__version__,"
            " 'jaxlib': jaxlib.__version__, 'python': sys.version.split()[0]}))"
        )
        return json.loads(self.run(["-c", source]))


OURS = Implementation("ours", sys.executable, (str(ROOT / "src"), str(ROOT)))


def reference(python: str) -> Implementation:
    """The implementation installed in another environment; our ``src`` stays off its path."""
    return Implementation("reference", python, (str(ROOT),))


@dataclass
class Row:
    """The times of one measure, one entry for each round."""

    measure: Measure
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    torch: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """Median over rounds of ours / theirs within the round, so that a slow minute hits both."""
        if not self.ours or not self.theirs:
            return None
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def torch_ratio(self) -> float | None:
        """The same against PyTorch."""
        if not self.ours or not self.torch:
            return None
        return statistics.median(a / b for a, b in zip(self.ours, self.torch, strict=True))

    @property
    def verdict(self) -> str:
        ratio, level = self.ratio, self.measure.level
        if ratio is None or level is None:
            return ""
        return "pass" if ratio <= level else "FAIL"

    def as_json(self) -> dict:
        return {
            "name": self.measure.name,
            "title": self.measure.title,
            "level": self.measure.level,
            "ratio": self.ratio,
            "verdict": self.verdict,
            "ours_seconds": self.ours,
            "reference_seconds": self.theirs,
            "torch_seconds": self.torch,
            "torch_ratio": self.torch_ratio,
        }


def measure(program: Program, ours: Implementation, theirs: Implementation | None, rounds: int,
            torch: Implementation | None = None) -> list[Row]:
    """All rounds of one program: ours, theirs, PyTorch's where there is one, ours, theirs ..."""
    rows = {m.name: Row(m) for m in program.measures}
    arguments = ["-m", program.module, *program.arguments]
    if not program.heavy:
        # The first start reads files from disk and writes bytecode; neither belongs in a comparison.
        for implementation in (ours, theirs):
            if implementation is not None:
                implementation.run(["-c", "import jax, jax.numpy"])
    for _ in range(rounds):
        mine = json.loads(ours.run(arguments).splitlines()[-1])
        other = json.loads(theirs.run(arguments).splitlines()[-1]) if theirs is not None else {}
        third = {}
        if torch is not None and program.torch:
            third = json.loads(torch.run(["-m", *program.torch]).splitlines()[-1])
        for name, row in rows.items():
            row.ours.append(mine[name])
            if theirs is not None:
                row.theirs.append(other[name])
            if name in third:
                row.torch.append(third[name])
    return list(rows.values())


def means(rows: list[Row]) -> list[str]:
    """Lines with the geometric means of the suite's ratios, compiling and running."""
    lines = []
    for kind, level in MEANS.items():
        names = {f"{kind}_{p.arguments[0]}" for p in SUITE}
        ratios = [row.ratio for row in rows if row.measure.name in names and row.ratio is not None]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            verdict = "pass" if mean <= level else "FAIL"
            lines.append(f"geometric mean of {len(ratios)} ratios, {kind}: {mean:.3f} (level {level:g}, {verdict})")
    return lines


def _seconds(values: list[float]) -> str:
    if not values:
        return "-"
    value = statistics.median(values)
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    lines = [("measure", "ours", "reference", "ratio", "level", "")]
    for row in rows:
        lines.append(
            (
                row.measure.title,
                _seconds(row.ours),
                _seconds(row.theirs),
                "-" if row.ratio is None else f"{row.ratio:.3f}",
                "-" if row.measure.level is None else f"{row.measure.level:g}",
                row.verdict,
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(6)]

    def text(line):
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join([first, *rest]).rstrip()

    against_torch = [f"{row.measure.title}: {row.torch_ratio:.3f} of PyTorch's time ({_seconds(row.torch)})"
                     for row in rows if row.torch_ratio is not None]
    return "\n".join([text(lines[0]), "-" * (sum(widths) + 10), *map(text, lines[1:]), *against_torch])
