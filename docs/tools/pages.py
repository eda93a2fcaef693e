"""Pages as data: headings, fenced blocks, and which page is whose translation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "pages"
LANGUAGES = {"en": "English", "zh": "中文"}

# What stands in the title of a block of results, by language: what the program printed, and so on.
RESULTS = {
    "en": {"Output": "output", "Warning": "warning", "Error": "error", "Log": "log"},
    "zh": {"输出": "output", "警告": "warning", "错误": "error", "日志": "log"},
}
_FENCE = re.compile(
    r"^(?P<ticks>`{3,}) *(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=ticks) *$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r'title="([^"]*)"')
_HEADING = re.compile(r"^(#{1,6}) +(.*?)\s*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"<!-- *(not run|new process)(?:: *(.*?))? *-->\s*$")
# Between Chinese characters, or after Chinese punctuation, the end of a line is not a space.
_WIDE, _MARKS = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef", "\u3001\u3002\uff01-\uff1f"
_BROKEN = re.compile(rf"(?<=[{_WIDE}])\n {{0,4}}(?=[{_WIDE}])|(?<=[{_MARKS}])\n {{0,4}}(?=[`A-Za-z])")
_PROCESS = re.compile(r"<!-- *process: *(.*?) *-->")


@dataclass(frozen=True)
class Fence:
    """One fenced block: where it is in the page's text, its info string and body, and a comment that stands before it."""

    start: int
    end: int
    line: int
    info: str
    body: str
    directive: str = ""
    note: str = ""

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info.split() else ""

    @property
    def title(self) -> str:
        found = _TITLE.search(self.info)
        return found.group(1) if found else ""

    def result(self, language: str) -> str:
        """'output', 'warning', 'error' or 'log' for a block of results; '' for any other."""
        return RESULTS[language].get(self.title, "")

    @property
    def runs(self) -> bool:
        return self.language == "python" and self.directive != "not run"


@dataclass(frozen=True)
class Page:
    """One page of the guide in one language."""

    language: str
    name: str
    text: str

    @property
    def fences(self) -> list[Fence]:
        found = []
        for match in _FENCE.finditer(self.text):
            before = _DIRECTIVE.search(self.text, 0, match.start()) if match.start() else None
            directive, note = before.groups("") if before and before.end() == match.start() else ("", "")
            line = self.text.count("\n", 0, match.start()) + 1
            found.append(Fence(match.start(), match.end(), line, match["info"].strip(), match["body"], directive, note))
        return found

    @property
    def process(self) -> str | None:
        """Environment variables of a process that runs this page alone, None for pages that need none."""
        found = _PROCESS.match(self.text)
        return found.group(1) if found else None

    @property
    def headings(self) -> list[tuple[int, str]]:
        """(level, text) of each heading outside of fenced blocks."""
        bare = _FENCE.sub("", self.text)
        return [(len(marks), text) for marks, text in _HEADING.findall(bare)]

    @property
    def path(self) -> Path:
        return PAGES / self.language / f"{self.name}.md"


def read(language: str, name: str) -> Page:
    """The page ``name`` in ``language``."""
    return Page(language, name, (PAGES / language / f"{name}.md").read_text(encoding="utf-8"))


def names(language: str) -> list[str]:
    """Names of all pages in a language."""
    return sorted(path.stem for path in (PAGES / language).glob("*.md"))


def lines_joined(text: str) -> str:
    """Markdown in Chinese without the spaces that its line ends would become; fenced blocks stay as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [_BROKEN.sub("", part) for part in parts[::2]]
    return "".join(parts)
