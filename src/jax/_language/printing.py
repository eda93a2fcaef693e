"""Jaxprs as text.

Layout is by width: what fits on one line stays there, else parameters and equations get lines of their own.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from typing import Any

import numpy as np

from jax._base import config
from jax._base import source as source_info
from jax._language import rules
from jax._language.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, formatters

WIDTH = 80
INDENT = "  "
_HIDDEN_DEFAULTS = {"sharding": None, "out_sharding": None, "accuracy": None, "compiler_options": (), "device": None,
                    "keep_unused": False, "inline": False, "_split_transpose": False, "linear": None,
                    "preferred_element_type": None, "memory_space": None, "kind": None, "precision": None, "out_dtype": None}


class Names:
    """Letters for variables, in order of appearance; one context for a jaxpr and those inside it."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._fresh = _letters()

    def __call__(self, var: Any) -> str:
        if type(var) is Literal:
            return literal_text(var)
        if isinstance(var, DropVar):
            return "_"
        name = self._names.get(var)
        if name is None:
            name = self._names[var] = next(self._fresh)
        return name

    def typed(self, var: Any) -> str:
        return f"{self(var)}:{var.aval.str_short()}"


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)


def literal_text(lit: Literal) -> str:
    val = lit.val
    if isinstance(val, (np.ndarray, np.generic)):
        val = val.item() if getattr(val, "size", 1) == 1 and val.dtype.kind in "biufc" else val
    return f"{val}:{lit.aval.str_short()}"


class Settings:
    """What to show besides the program itself."""

    __slots__ = ("source_info", "name_stack", "custom_pp_eqn_rules", "print_shapes")

    def __init__(self, source_info: bool = False, name_stack: bool = False, custom_pp_eqn_rules: bool = True,
                 print_shapes: bool = True, use_color: bool | None = None, width: Any = None,
                 **unknown: Any) -> None:
        if unknown:
            raise TypeError(f"pretty_print got unknown settings {sorted(unknown)}")
        self.source_info = source_info
        self.name_stack = name_stack
        self.custom_pp_eqn_rules = custom_pp_eqn_rules
        self.print_shapes = print_shapes


def format_jaxpr(jaxpr: Jaxpr, **settings: Any) -> str:
    return "\n".join(jaxpr_lines(jaxpr, Names(), Settings(**settings)))


def format_eqn(eqn: JaxprEqn, **settings: Any) -> str:
    return "\n".join(eqn_lines(eqn, Names(), Settings(**settings)))


def jaxpr_lines(jaxpr: Jaxpr, names: Names, settings: Settings) -> list[str]:
    consts = " ".join(names.typed(v) for v in jaxpr.constvars)
    ins = " ".join(names.typed(v) for v in jaxpr.invars)
    head = f"{{ lambda {consts}; {ins}. let" if consts else f"{{ lambda ; {ins}. let"
    body = [line for eqn in jaxpr.eqns for line in eqn_lines(eqn, names, settings)]
    outs = ", ".join(names(v) for v in jaxpr.outvars)
    tail = f"in ({outs},) }}" if len(jaxpr.outvars) == 1 else f"in ({outs}) }}"
    comments = settings.source_info or settings.name_stack
    if len(body) <= 1 and not comments:
        line = " ".join([head, *(b.strip() for b in body), tail]) if body else f"{head}  {tail}"
        if len(line) <= WIDTH:
            return [line]
    return [head, *(INDENT * 2 + line for line in body), INDENT + tail]


def eqn_lines(eqn: JaxprEqn, names: Names, settings: Settings) -> list[str]:
    rule = rules.pp_rules.get(eqn.primitive)
    if rule is not None and settings.custom_pp_eqn_rules:
        text = rule(eqn, names, settings)
        if isinstance(text, str):
            return text.split("\n")
    ins = " ".join(names(v) for v in eqn.invars)
    outs = " ".join(names.typed(v) if not isinstance(v, DropVar) else f"_:{v.aval.str_short()}" for v in eqn.outvars)
    params = params_lines(eqn.params, names, settings)
    left = f"{outs} = {eqn.primitive.name}" if outs else eqn.primitive.name
    if not params:
        lines = [f"{left} {ins}".rstrip()]
    elif all(len(p) == 1 for p in params) and len(left) + sum(len(p[0]) + 1 for p in params) + len(ins) + 2 <= WIDTH:
        lines = [f"{left}[{' '.join(p[0] for p in params)}] {ins}".rstrip()]
    else:
        lines = [f"{left}[", *(INDENT + line for p in params for line in p), f"] {ins}".rstrip()]
    return _with_comments(lines, eqn, settings)


def _with_comments(lines: list[str], eqn: JaxprEqn, settings: Settings) -> list[str]:
    notes = []
    if settings.source_info:
        notes.append(source_info.summarize(eqn.source_info.traceback))
    if settings.name_stack:
        notes.append(f"[{source_info.render_names(eqn.source_info.name_stack)}]")
    if notes:
        lines[0] = f"{lines[0]:<{WIDTH - 8}} # {'  '.join(notes)}"
    return lines


def params_lines(params: dict[str, Any], names: Names, settings: Settings) -> list[list[str]]:
    out = []
    for key in sorted(params):
        value = params[key]
        if key in _HIDDEN_DEFAULTS and _is_default(value, _HIDDEN_DEFAULTS[key]):
            continue
        if key in ("donated_invars", "linear") and isinstance(value, tuple) and not any(value):
            continue
        lines = value_lines(value, names, settings)
        out.append([f"{key}={lines[0]}", *lines[1:]])
    return out


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def value_lines(value: Any, names: Names, settings: Settings) -> list[str]:
    if isinstance(value, ClosedJaxpr):
        return jaxpr_lines(value.jaxpr, names, settings)
    if isinstance(value, Jaxpr):
        return jaxpr_lines(value, names, settings)
    if isinstance(value, tuple) and any(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
        inner = [line for v in value for line in value_lines(v, names, settings)]
        return ["(", *(INDENT + line for line in inner), ")"]
    if isinstance(value, (type, np.dtype)):
        return [str(getattr(value, "name", None) or getattr(value, "__name__", value))]
    name = getattr(value, "__name__", None)
    if callable(value) and name is not None:
        return [name]
    text = str(value)
    return text.split("\n") if "\n" in text else [text]


formatters.update(eqn=format_eqn, jaxpr=format_jaxpr)
__all__ = ["Names", "Settings", "config", "format_eqn", "format_jaxpr"]
