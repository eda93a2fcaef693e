"""What MkDocs calls while it builds the site: generated pages and tables, links into the reference, two languages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from posixpath import relpath
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from mkdocs.structure.files import File, Files  # noqa: E402

from docs.tools import options, pages, reference  # noqa: E402

_OPTIONS = "<!-- table of options -->"
_NAME = re.compile(r"<code>((?:jax|jnp|lax)\.[\w.]+)((?:\([^<]*\))?)</code>")
_KEPT = re.compile(r"(<h\d.*?</h\d>|<a .*?</a>|<pre.*?</pre>)", re.DOTALL)
_SHORT = {"jnp": "jax.numpy", "lax": "jax.lax"}
_anchors: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """The reference's pages, in the navigation."""
    config.nav.append({"API reference": ["api/index.md", *_nested(reference.modules(), "jax")]})
    return config


def _nested(modules: Sequence[str], parent: str) -> list[dict[str, Any]]:
    """Navigation of modules: packages with three or more of them are sections that fold."""
    families: dict[str, list[str]] = {}
    for name in modules:
        inner = name.removeprefix(f"{parent}.").partition(".")[0]
        families.setdefault(parent if name == parent else f"{parent}.{inner}", []).append(name)
    entries: list[dict[str, Any]] = []
    for family, members in families.items():
        if len(members) > 2 and family != parent:
            entries.append({family: _nested(members, family)})
        else:
            entries += [{name: f"api/{name}.md"} for name in members]
    return entries


def on_files(files: Files, config: Any) -> Files:
    """The reference's pages themselves."""
    files.append(File.generated(config, "api/index.md", content=reference.index()))
    for name in reference.modules():
        files.append(File.generated(config, f"api/{name}.md", content=reference.page(name)))
    _anchors.update(reference.anchors())
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The table of options where the page asks for it; Chinese text without spaces at the ends of its lines."""
    if _language(page) == "zh":
        markdown = pages.lines_joined(markdown)
    return markdown.replace(_OPTIONS, options.table(_language(page)))


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Names of the library link to where they are documented."""

    def link(match: re.Match[str]) -> str:
        head, _, rest = match[1].partition(".")
        target = _anchors.get(f"{_SHORT.get(head, head)}.{rest}")
        if target is None:
            return match[0]
        path, _, anchor = target.partition("#")
        file = files.get_file_from_path(path)
        href = relpath(file.url, page.url or ".") + "/" + (f"#{anchor}" if anchor else "")
        return f'<a href="{href}">{match[0]}</a>'

    parts = _KEPT.split(html)
    parts[::2] = [_NAME.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """The theme in the page's language, and a switch to the page's twin."""
    language = _language(page)
    config.theme["language"] = language
    folder, _, name = page.file.src_uri.partition("/")
    twins = []
    for code, label in pages.LANGUAGES.items():
        other = name if folder in pages.LANGUAGES else "index.md"
        file = next((f for f in nav.pages if f.file.src_uri == f"{code}/{other}"), None)
        if file is not None:
            twins.append({"name": label, "link": file.url, "lang": code})
    config.extra["alternate"] = twins
    return context


def _language(page: Any) -> str:
    folder = page.file.src_uri.partition("/")[0]
    return folder if folder in pages.LANGUAGES else "en"
