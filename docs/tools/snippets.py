"""Runs the code of a page and compares what it prints, warns, logs or raises with what the page shows.

    python -m docs.tools.snippets              # check all pages
    python -m docs.tools.snippets --write      # write the results into them, and the code into their translations

The blocks of a page run in order in one namespace. A block of results follows its code and says in its title what it
holds; ``...`` in it stands for anything. A comment before a block, ``<!-- new process: NAME=VALUE -->``, runs it by
itself, in a fresh interpreter with those environment variables; ``<!-- not run: reason -->`` leaves it out. As the first
line of a page ``<!-- process: NAME=VALUE -->`` does that for all of its blocks together.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import linecache
import logging
import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from docs.tools.pages import RESULTS, Fence, Page, names, read

Results = dict[str, str]


class _Records(logging.Handler):
    """Keeps what is logged, one 'LEVEL: message' for each record."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname}: {record.getMessage()}")


@contextlib.contextmanager
def _logged() -> Iterator[list[str]]:
    """What the 'jax' loggers say meanwhile, kept from any other handler."""
    logger = logging.getLogger("jax")
    handler, propagate = _Records(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield handler.lines
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


def _execute(source: str, filename: str, namespace: dict[str, Any]) -> Results:
    """Run one block; what it did by kind, leaving out kinds of which there is nothing."""
    # Error messages quote the user's line, so the block has to be found as a file.
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    out = io.StringIO()
    error = ""
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught, _logged() as log:
        warnings.simplefilter("always")
        try:
            exec(compile(source, filename, "exec"), namespace)
        except Exception as raised:
            # Notes say what was left out of the traceback, which is not shown at all.
            raised.__notes__ = []
            error = "".join(traceback.format_exception_only(raised))
    warned = "\n".join(f"{w.category.__name__}: {w.message}" for w in caught)
    results = {"output": out.getvalue(), "warning": warned, "error": error, "log": "\n".join(log)}
    return {kind: text.strip("\n") for kind, text in results.items() if text.strip()}


def _execute_elsewhere(sources: list[str], filename: str, variables: str) -> list[Results]:
    """The same for several blocks, in a fresh interpreter whose environment has ``variables``, as in 'A=1 B=2'."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "JAX_PLATFORMS": "cpu",
        "JAX_SLOW_COMPILE_REPORT_SECS": "-1",
        **dict(pair.split("=", 1) for pair in variables.split()),
    }
    program = "import sys, docs.tools.snippets as s; s.serve(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, filename],
        input=json.dumps(sources),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise RuntimeError(f"{filename}: the interpreter exited with {done.returncode}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout)


def serve(filename: str) -> None:
    """What the fresh interpreter does: run the blocks on standard input, print their results."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    json.dump([_execute(source, filename, namespace) for source in json.load(sys.stdin)], sys.stdout)


@contextlib.contextmanager
def _options_restored() -> Iterator[None]:
    """Leaves the options as they were; meanwhile no report of slow compilations, which depends on the machine."""
    from jax._base.option import registry

    before = {name: option.get_global() for name, option in registry.items()}
    registry["jax_slow_compile_report_secs"].set(-1.0)
    try:
        yield
    finally:
        for name, option in registry.items():
            if option.get_global() != before[name]:
                option.set(before[name])


def run(page: Page) -> Iterator[tuple[Fence, list[Fence], Results]]:
    """Each block of code that runs, the blocks of results that follow it, and what it really did."""
    fences = page.fences
    filename = f"{page.name}.py"
    namespace: dict[str, Any] = {"__name__": "__main__"}
    # Lines are counted from each block's own first line, as a reader would.
    together: Iterator[Results] = iter(())
    if page.process is not None:
        together = iter(_execute_elsewhere([fence.body for fence in fences if fence.runs], filename, page.process))
    with _options_restored():
        for position, fence in enumerate(fences):
            if not fence.runs:
                continue
            shown = list(itertools.takewhile(lambda block: block.result(page.language), fences[position + 1 :]))
            if page.process is not None:
                results = next(together)
            elif fence.directive == "new process":
                [results] = _execute_elsewhere([fence.body], filename, fence.note)
            else:
                results = _execute(fence.body, filename, namespace)
            yield fence, shown, results


def matches(shown: str, real: str) -> bool:
    """Whether a page shows the real text, up to ``...`` and blanks at the ends of lines."""

    def lines(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))

    pattern = ".*?".join(re.escape(part) for part in lines(shown).split("..."))
    return re.fullmatch(pattern, lines(real), re.DOTALL) is not None


def problems(page: Page) -> Iterator[str]:
    """What is wrong with a page: results it does not show, and results it shows otherwise."""
    for fence, shown, results in run(page):
        where = f"{page.language}/{page.name}.md:{fence.line}"
        kinds = [block.result(page.language) for block in shown]
        for kind, text in results.items():
            if kind not in kinds:
                yield f"{where}: the page does not show this {kind}:\n{text}"
        for kind, block in zip(kinds, shown, strict=True):
            real = results.get(kind, "")
            if not matches(block.body, real):
                yield f"{where}: the page shows as {kind}:\n{block.body}\nbut it is:\n{real}"


# --- writing ------------------------------------------------------------------------------------------------


def _replaced(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _fenced(info: str, body: str) -> str:
    return f"```{info}\n{body}```"


def _with_wildcards(shown: str, real: str) -> str:
    """The real text, in the page's own words where a line of these has ``...`` and still matches."""
    kept = [line for line in shown.splitlines() if "..." in line]
    return "\n".join(next((k for k in kept if matches(k, line)), line) for line in real.splitlines())


def write_results(page: Page) -> bool:
    """Write real results where the page shows others; whether that changed it."""
    changes = []
    for _, shown, results in run(page):
        for block in shown:
            real = results.get(block.result(page.language), "")
            if not matches(block.body, real):
                changes.append((block.start, block.end, _fenced(block.info, _with_wildcards(block.body, real) + "\n")))
    if changes:
        page.path.write_text(_replaced(page.text, changes), encoding="utf-8")
    return bool(changes)


def translated_info(info: str) -> str:
    """The info string of an English block as its Chinese twin has it."""
    to_chinese = {kind: title for title, kind in RESULTS["zh"].items()}
    for title, kind in RESULTS["en"].items():
        info = info.replace(f'title="{title}"', f'title="{to_chinese[kind]}"')
    return info


def write_translation(name: str) -> None:
    """Give the Chinese page the blocks of the English one."""
    english, chinese = read("en", name), read("zh", name)
    if len(english.fences) != len(chinese.fences):
        raise SystemExit(f"{name}: {len(english.fences)} blocks in English, {len(chinese.fences)} in Chinese")
    changes = [
        (old.start, old.end, _fenced(translated_info(new.info), new.body))
        for new, old in zip(english.fences, chinese.fences, strict=True)
    ]
    chinese.path.write_text(_replaced(chinese.text, changes), encoding="utf-8")


def main() -> int:
    """Check, or write with --write; the exit status says whether something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the results, and the code into the translations")
    parser.add_argument("pages", nargs="*", help="names of pages; all by default")
    options = parser.parse_args()
    wrong = 0
    for name in options.pages or names("en"):
        if options.write:
            changed = write_results(read("en", name))
            if name in names("zh"):
                write_translation(name)
            print(name, "written" if changed else "as it was")
        for problem in problems(read("en", name)):
            wrong += 1
            print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
