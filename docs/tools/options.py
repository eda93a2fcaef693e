"""The table of configuration options, made from their declarations."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

from docs.tools.docstrings import escaped

TRANSLATIONS = Path(__file__).resolve().parents[1] / "options.zh.toml"
_HEADINGS = {
    "numerics": ("Numbers", "数值"),
    "tracing": ("Tracing and transformations", "追踪与变换"),
    "diagnostics": ("Diagnostics", "诊断"),
    "compiler": ("Compilation", "编译"),
    "devices": ("Devices, memory, processes", "设备、内存与进程"),
}
_COLUMNS = {"en": ("Option", "Default", "Takes", "What it does"), "zh": ("选项", "默认值", "可取值", "作用")}
_SCOPES = {
    "en": ("`with jax.{}(...):`", "process-wide"),
    "zh": ("`with jax.{}(...):`", "仅限整个进程"),
}
_KINDS = {
    "True or False": "`True` 或 `False`",
    "an integer": "整数",
    "a number": "数",
    "a string": "字符串",
    "a path": "路径",
    "a device (jax.devices()[0]), a sharding of one device or the name of a platform ('cpu', 'gpu')":
        "设备（`jax.devices()[0]`）、单设备的分片或平台名（`'cpu'`、`'gpu'`）",
    "an amount with its unit such as '512MiB', or 0": "带单位的数量，如 `'512MiB'`；或 `0`",
    "a whole number of megabytes, 0 or more": "兆字节数，非负整数",
    "a fraction of the GPU's memory, above 0 and at most 1, or an amount with its unit such as '8GiB'":
        "占 GPU 显存的比例，大于 0 且不超过 1；或带单位的数量，如 `'8GiB'`",
}


def groups() -> dict[str, list[Any]]:
    """The options by the module that declares them, in the order of their declaration."""
    from jax._base import settings
    from jax._base.option import Option
    from jax._base.settings import compiler, devices, diagnostics, numerics, tracing  # noqa: F401

    found = {}
    for name in _HEADINGS:
        module: ModuleType = getattr(settings, name)
        found[name] = [value for value in vars(module).values() if isinstance(value, Option)]
    return found


def translations() -> dict[str, dict[str, str]]:
    """``{option: {"en": the text that was translated, "zh": its translation}}``."""
    return tomllib.loads(TRANSLATIONS.read_text(encoding="utf-8")) if TRANSLATIONS.exists() else {}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"`{str(value)!r}`"
    name = getattr(value, "name", None)
    return f"`{name.lower()!r}`" if isinstance(name, str) else f"`{value!r}`"


def _accepted(kind: Any, language: str) -> str:
    text, comma, _ = kind.accepted.partition(", or None")
    if kind.choices:  # a dozen names would fill the page
        text = ", ".join(f"`{choice!r}`" for choice in kind.choices[:6]) + (" ..." if len(kind.choices) > 6 else "")
    elif language == "zh":
        text = _KINDS[text]
    return text + ({"en": ", or `None`", "zh": "，或 `None`"}[language] if comma else "")


def table(language: str) -> str:
    """Markdown: a heading and a table for each group of options."""
    import jax

    known = translations() if language == "zh" else {}
    out: list[str] = []
    for group, options in groups().items():
        heading = _HEADINGS[group][language == "zh"]
        columns = _COLUMNS[language]
        out += [f"### {heading}", "", "| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
        for option in options:
            scope = ""
            if option.process_wide:
                scope = _SCOPES[language][1]
            elif getattr(jax, option.name.removeprefix("jax_"), None) is option:
                scope = _SCOPES[language][0].format(option.name.removeprefix("jax_"))
            if option.env != (option.name.upper(),):
                scope += ("<br>" if scope else "") + "<br>".join(f"`{variable}`" for variable in option.env)
            doc = known.get(option.name, {}).get("zh", option.doc)
            name = f"`{option.name}`" + (f"<br><small>{scope}</small>" if scope else "")
            cells = (name, _shown(option.default), _accepted(option.kind, language), escaped(doc).replace("|", "\\|"))
            out.append("| " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)
