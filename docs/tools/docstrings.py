"""Docstrings as Markdown: sections in Google's style, examples at the prompt, code in double backquotes."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

_LISTS = ("Args", "Attributes", "Raises", "Keyword Args")
_SECTION = re.compile(
    r"^(Args|Attributes|Keyword Args|Returns|Yields|Raises|Note|Notes|Warning|Example|Examples|References|See also"
    r"|See Also|Deviations|Remedy|Remedies|Source|Source of the method):[ ]*$"
)
_ITEM = re.compile(r"^(\*{0,2}[\w.,/ *`|()\[\]-]+?):(?:\s+(.*))?$")
_RULE = re.compile(r"^=+(?: +=+)+ *$")
_CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)
_ROLE = re.compile(r":(?:func|class|meth|mod|attr|obj|math|ref|data):`~?([^`]*)`")


def text_of(obj: Any) -> str:
    """The docstring of an object, without its indentation; empty when it has none of its own."""
    doc = obj.__doc__ if isinstance(obj, type) else inspect.getdoc(obj)
    return inspect.cleandoc(doc).strip() if isinstance(doc, str) else ""


def first_line(doc: str) -> str:
    """The first paragraph, on one line."""
    return escaped(" ".join(doc.split("\n\n", 1)[0].split()))


def escaped(text: str) -> str:
    """Text whose ``<``, ``*`` and ``_`` stand for themselves, outside of code."""
    text = _ROLE.sub(r"`\1`", text)
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<!\\)([<*_])", r"\\\1", parts[i])
    return "".join(parts)


def markdown(doc: str) -> str:
    """A whole docstring as Markdown."""
    lines = doc.split("\n")
    out: list[str] = []
    i = 0
    while i < len(lines):
        section = _SECTION.match(lines[i])
        if section:
            body = _indented(lines, i + 1)
            out += ["", f"**{section.group(1)}**", ""]
            text = textwrap.dedent("\n".join(lines[i + 1 : i + 1 + body]))
            out += [_items(text) if section.group(1) in _LISTS else markdown(text), ""]
            i += 1 + body
        elif lines[i].lstrip().startswith(">>>"):
            length = _example(lines, i)
            out += ["", "```pycon", textwrap.dedent("\n".join(lines[i : i + length])), "```", ""]
            i += length
        elif _RULE.match(lines[i]):
            length = _table_length(lines, i)
            out += ["", *_table(lines[i : i + length]), ""]
            i += length
        elif lines[i].startswith("    "):
            length = _indented(lines, i)
            out += ["", "```text", textwrap.dedent("\n".join(lines[i : i + length])).strip("\n"), "```", ""]
            i += length
        else:
            out.append(escaped(lines[i].removesuffix("::") + (":" if lines[i].endswith("::") else "")))
            i += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")


def _indented(lines: list[str], start: int) -> int:
    """How many lines from ``start`` on are indented or blank, trailing blanks left out."""
    length = last = 0
    for line in lines[start:]:
        if line.strip() and not line.startswith(" "):
            break
        length += 1
        if line.strip():
            last = length
    return last


def _example(lines: list[str], start: int) -> int:
    """How many lines an example takes: to the next blank line that no other prompt follows."""
    end = start
    while end < len(lines):
        if not lines[end].strip() and not (end + 1 < len(lines) and lines[end + 1].lstrip().startswith(">>>")):
            break
        end += 1
    return end - start


def _table_length(lines: list[str], start: int) -> int:
    """How many lines a table takes: to its second rule, or its third where it has a head."""
    rules = [i for i in range(start, len(lines)) if _RULE.match(lines[i])]
    blank = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
    return max((i for i in rules if i < blank), default=start) - start + 1


def _table(lines: list[str]) -> list[str]:
    """A table whose columns lie under rules of ``=``, in Markdown."""
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    rows = [[line[a:b].strip().replace("|", "\\|") for a, b in zip(starts, [*starts[1:], None], strict=True)]
            for line in lines if not _RULE.match(line)]
    headed = sum(bool(_RULE.match(line)) for line in lines) > 2
    head = rows.pop(0) if headed else [""] * len(starts)
    return ["| " + " | ".join(map(escaped, row)) + " |" for row in (head, ["---"] * len(starts), *rows)]


def _items(text: str) -> str:
    """``name: description`` with indented continuations, as a list."""
    out: list[str] = []
    for line in text.split("\n"):
        item = _ITEM.match(line) if not line.startswith(" ") else None
        if item:
            name = item.group(1).replace("`", "")
            out.append(f"- `{name}`: {escaped(item.group(2) or '')}".rstrip())
        elif line.strip():
            out.append(("  " if out else "") + escaped(line.strip()))
    return "\n".join(out)
