"""The documentation says what is true: its code runs and prints what it shows, and both languages say the same."""

from __future__ import annotations

import importlib
import re

import pytest

import jax
from docs.tools import pages, snippets
from jax._base.option import registry

ENGLISH = pages.names("en")


def test_there_are_pages():
    assert len(ENGLISH) >= 12


@pytest.mark.parametrize("name", ENGLISH)
def test_code_does_what_the_page_shows(name):
    problems = list(snippets.problems(pages.read("en", name)))
    assert not problems, "\n\n".join(problems)


@pytest.mark.quick
def test_each_page_is_there_in_both_languages():
    assert pages.names("zh") == ENGLISH


@pytest.mark.quick
@pytest.mark.parametrize("name", ENGLISH)
def test_translations_have_the_same_structure(name):
    english, chinese = pages.read("en", name), pages.read("zh", name)
    assert [level for level, _ in chinese.headings] == [level for level, _ in english.headings]
    assert [(snippets.translated_info(f.info), f.body) for f in english.fences] == [(f.info, f.body) for f in chinese.fences]
    assert all(re.search(r"[\u4e00-\u9fff]", text) or text.isascii() for _, text in chinese.headings)
    # A paragraph left in English: more than a dozen English words in a row outside of code.
    prose = re.sub(r"^```.*?^```$|`[^`]*`|<!--.*?-->|\]\([^)]*\)", "", chinese.text, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?:\b[A-Za-z']+\b[ ,]+){12,}", prose)


@pytest.mark.quick
@pytest.mark.parametrize("name", ENGLISH)
def test_code_is_read_as_it_stands(name):
    """Every result belongs to code that runs, and no block is left out without a reason."""
    fences = pages.read("en", name).fences
    for before, fence in zip([None, *fences], fences, strict=False):
        if fence.result("en"):
            assert before is not None and (before.runs or before.result("en")), f"line {fence.line}"
        if fence.directive == "not run":
            assert fence.note, f"line {fence.line}: say why"


@pytest.mark.quick
def test_the_comparison_sees_differences():
    page = pages.Page("en", "made-up", 'A\n\n```python\nprint(1)\n```\n\n```text title="Output"\n2\n```\n')
    assert "but it is:\n1" in "".join(snippets.problems(page))
    silent = pages.Page("en", "made-up", "```python\nprint(1)\n1/0\n```\n")
    found = "".join(snippets.problems(silent))
    assert "does not show this output" in found and "ZeroDivisionError" in found
    assert snippets._with_wildcards("took ... s\nold", "took 3 s\nnew") == "took ... s\nnew"
    assert snippets.matches("a ... c\nd", "a b\nb c  \nd\n") and not snippets.matches("a ... c", "a b")


@pytest.mark.quick
def test_line_ends_in_chinese_are_no_spaces():
    text = "中文，\n继续\n（括号）\n`代码` 和 jax\n数组。\n- 列表：\n  `x`\n\n```python\n# 注\n# 释\n```\n"
    joined = "中文，继续（括号）`代码` 和 jax\n数组。\n- 列表：`x`\n\n```python\n# 注\n# 释\n```\n"
    assert pages.lines_joined(text) == joined


# Named before they are there.
COMING = {"jax.export"}


def exists(name):
    """Whether ``jax.a.b`` can be had."""
    module, _, rest = name.partition(".")
    value = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax}[module]
    for part in rest.split("."):
        if not hasattr(value, part):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        else:
            value = getattr(value, part)
    return True


@pytest.mark.quick
@pytest.mark.parametrize("language", pages.LANGUAGES)
def test_names_in_the_text_exist(language):
    missing = []
    for name in pages.names(language):
        text = pages.read(language, name).text
        for code in re.findall(r"`((?:jax|jnp|lax)\.[A-Za-z][\w.]*)", text):
            if code.rstrip(".") not in COMING and not exists(code.rstrip(".")):
                missing.append(f"{language}/{name}.md: {code}")
        for option in re.findall(r"`((?:jax|xla)_[a-z0-9_]+)`", text):
            if option not in registry:
                missing.append(f"{language}/{name}.md: {option}")
    assert not missing, "\n".join(missing)


@pytest.mark.quick
def test_every_class_of_error_has_a_section():
    headings = " ".join(text for _, text in pages.read("en", "errors").headings)
    assert [name for name in jax.errors.__all__ if name not in headings] == []
