"""Nothing in the repository depends on, or talks about, the machine it was written on."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import text_files

pytestmark = pytest.mark.quick

FORBIDDEN = {
    "an absolute path of one machine": re.compile(
        r"(?<![\w.~$}/-])/(?:home|root|work|Users|mnt|srv|data|scratch)/[\w.-]+|(?<![\w.-])/tmp/[\w.-]+/(?:bin|lib)"
    ),
    "a private network address": re.compile(
        r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b(?!\.)"
    ),
    "an unfinished merge": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
    "a trailing blank": re.compile(r"[ \t]+$", re.MULTILINE),
    "a tab in Python code": re.compile(r"^\t", re.MULTILINE),
}
PYTHON_ONLY = {"a tab in Python code"}


@pytest.mark.parametrize("what", sorted(FORBIDDEN))
def test_no_file_contains(what):
    offenders = []
    for name, text in text_files():
        if what in PYTHON_ONLY and not name.endswith(".py"):
            continue
        for match in FORBIDDEN[what].finditer(text):
            offenders.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)!r}")
    assert not offenders, f"{what}:\n" + "\n".join(offenders[:40])


def test_files_end_with_one_newline():
    offenders = [
        name for name, text in text_files() if text and (not text.endswith("\n") or text.endswith("\n\n"))
    ]
    assert not offenders, "\n".join(offenders)
