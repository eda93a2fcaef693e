"""The project's files, read once, as the architecture tests look at them."""

from __future__ import annotations

import ast
import functools
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "jax"

_SKIPPED = {"__pycache__", "results", "output", "build", "dist"}


@dataclass(frozen=True)
class Source:
    """One Python file: where it is, its text, its syntax tree."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.name)


def _walk(top: Path):
    for folder, subfolders, names in os.walk(top):
        subfolders[:] = [s for s in subfolders if s not in _SKIPPED and not s.endswith(".egg-info")]
        for name in names:
            yield Path(folder) / name


@functools.cache
def python_files(*tops: str) -> tuple[Source, ...]:
    """All Python files under the given folders of the repository, sorted by path."""
    paths = (path for top in tops for path in _walk(ROOT / top) if path.suffix == ".py")
    return tuple(Source(path, path.read_text(encoding="utf-8")) for path in sorted(paths))


@functools.cache
def text_files() -> tuple[tuple[str, str], ...]:
    """(name, text) of everything in the repository that people read, documentation and scripts included."""
    found = []
    tops = ("src", "tests", "examples", "benchmarks", "scripts", ".ci", "docs")
    paths = [path for top in tops for path in _walk(ROOT / top)]
    paths += [path for path in ROOT.iterdir() if path.is_file()]
    for path in sorted(paths):
        if path.suffix in {".pyc", ".png", ".npz", ".npy", ".so", ".json"}:
            continue
        try:
            found.append((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return tuple(found)
