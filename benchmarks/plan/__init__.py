"""What is measured, and the level each ratio (our time / a peer's) has to reach.

Each module beside this one, ``entries`` aside, describes one group and calls it ``GROUP``.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.plan.entries import PEER_TITLES, PEERS, Group, Measure, Program
from benchmarks.plan.models import MEANS, SUITE

__all__ = ["GROUPS", "MEANS", "PEERS", "PEER_TITLES", "PROGRAMS", "SUITE", "Group", "Measure", "Program"]

# The order of tables and charts; groups that are not named here come last.
_ORDER = ("startup", "dispatch", "indexing", "models", "sorting", "elementwise", "convolutions", "pieces", "loops", "cache")


def _groups() -> tuple[Group, ...]:
    names = {path.stem for path in Path(__file__).parent.glob("*.py")} - {"__init__", "entries"}
    ordered = [name for name in _ORDER if name in names] + sorted(names - set(_ORDER))
    return tuple(import_module(f"{__name__}.{name}").GROUP for name in ordered)


GROUPS = _groups()
PROGRAMS = tuple(program for group in GROUPS for program in group.programs)
