"""The API reference: one page per module, made from the objects themselves.

The modules are imported, not parsed: much of what they hold exists only at run time (ufuncs, options that are context
managers, classes of jaxlib).
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import types
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.tools.docstrings import first_line, markdown, text_of

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "jax"
# The order of the navigation, as far as it matters; other modules follow by name.
_FIRST = (
    "jax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.random", "jax.nn",
    "jax.nn.initializers", "jax.tree", "jax.tree_util", "jax.sharding", "jax.stages", "jax.debug", "jax.errors",
    "jax.dtypes",
)  # fmt: skip
# Views on tables and classes for libraries that reach into JAX, documented where these are, and a version number.
_LEFT_OUT = (
    "jax.api_util", "jax.core", "jax.extend", "jax.interpreters.partial_eval", "jax.interpreters.pxla",
    "jax.interpreters.xla", "jax.lib", "jax.util", "jax.version",
)  # fmt: skip
_KEPT = ("jax.extend.core",)


@functools.cache
def modules() -> tuple[str, ...]:
    """Every public module that has public names of its own."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(("jax", *(part for part in parts if part != "__init__")))
        left_out = any(name == other or name.startswith(f"{other}.") for other in _LEFT_OUT)
        if not any(part.startswith("_") for part in name.split(".")) and (name in _KEPT or not left_out):
            found.append(name)
    found.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    return tuple(name for name in found if public_names(importlib.import_module(name)))


# Sections of a page, in order.
KINDS = ("Functions", "Classes", "Exceptions", "Options", "Objects")

# Classes that say nothing about their instances.
_ANONYMOUS = ("builtins", "typing", "types", "collections.abc")
# Other people's classes that we pass on.
_WITHOUT_DOCSTRING = {
    "iinfo": "The limits of an integer dtype: ``bits``, ``min``, ``max``.",
    "Buffer": "Memory of a running program: ``shape``, ``dtype``, and the array interfaces of NumPy and DLPack.",
    "ExecutionContext": "The run that calls back: its ``stage`` and, on GPUs, its ``stream``.",
    "ExecutionStage": "The stage of a program at which a function is called: ``EXECUTE`` is the run itself.",
}

# How defaults are shown whose representation is not what one would write: classes, functions made by functions,
# functions, members of enumerations, marks of "not given", other objects.
_DEFAULTS = (
    (r"<class '([\w.]+)'>", r"\1"),
    (r"<function (\w+)\.<locals>[^>]*>", r"\1()"),
    (r"<function ([\w.]+)[^>]*>", r"\1"),
    (r"<(\w+\.\w+): [^>]*>", r"\1"),
    (r"<object object at 0x[0-9a-f]+>", "..."),
    (r"<([\w.]+) object at 0x[0-9a-f]+>", r"\1(...)"),
)


@dataclass
class Entry:
    """A public name: where it is documented, what it is, its signature and docstring."""

    module: str
    name: str
    value: Any
    kind: str
    doc: str
    members: list[Entry] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def signature(self) -> str:
        return _signature(self.value)


def public_names(module: types.ModuleType) -> list[str]:
    """``__all__``, or what the module defines or passes on under its own name (``import a as a``)."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        borrowed = _borrowed(module)
        listed = [name for name in dir(module) if not name.startswith("_") and name not in borrowed]
    return sorted(n for n in listed if not n.startswith("_") and not isinstance(_get(module, n), types.ModuleType))


def _get(module: types.ModuleType, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return getattr(module, name)
        except (ModuleNotFoundError, AttributeError):  # a subpackage that is announced and not there
            if name in getattr(module, "__all__", ()):
                raise
            return types.ModuleType(name)


@functools.cache
def _syntax(module: types.ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _borrowed(module: types.ModuleType) -> set[str]:
    """Names that a module imports for its own use; what a package imports from the library is for its users."""
    found = set()
    for node in _syntax(module).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            ours = isinstance(node, ast.ImportFrom) and (node.level or str(node.module).startswith("jax"))
            if not (ours and hasattr(module, "__path__")):
                found |= {alias.asname or alias.name for alias in node.names if alias.asname != alias.name}
    return found


@functools.cache
def _attribute_docs(module: types.ModuleType) -> dict[str, str]:
    """Strings after, or comments before assignments, for values that cannot carry a docstring."""
    found = {}
    body = _syntax(module).body
    lines = inspect.getsource(module).splitlines()
    for node, following in itertools.zip_longest(body, body[1:]):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        text = _comment_above(lines, node.lineno)
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = inspect.cleandoc(str(following.value.value))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {ast.unparse(target): text for target in targets if text}
    return found


def _comment_above(lines: list[str], lineno: int) -> str:
    start = lineno - 1
    while start and lines[start - 1].startswith("# ") and not lines[start - 1].startswith("# ---"):
        start -= 1
    return " ".join(line.removeprefix("# ") for line in lines[start : lineno - 1])


def _doc(module: types.ModuleType, name: str, value: Any) -> str:
    from jax._base.option import Option

    if isinstance(value, Option):
        use = f"with jax.{name}({'True' if value.kind.type is bool else 'value'}):"
        how = f"The option ``{value.name}`` in this thread: ``{use}``, or as a decorator."
        return f"{value.doc}\n\n{how} Takes {value.kind.accepted}."
    if value is None or isinstance(value, int | float | str):
        return f"``{value!r}``."
    if _kind(value) == "Objects":
        for home, original in _homes(module, name):
            if original in _attribute_docs(home):
                return _attribute_docs(home)[original]
        if type(value).__module__ in _ANONYMOUS:
            return ""
    if str(getattr(value, "__module__", "")).partition(".")[0] == "numpy":  # in another markup, and about other arrays
        paragraphs = [p for p in text_of(value).split("\n\n") if not p.startswith(f"{name}(")]
        return f"{paragraphs[0]}\n\nThis is ``numpy.{name}`` itself."
    return text_of(value) or _WITHOUT_DOCSTRING.get(name, "")


def _homes(module: types.ModuleType, name: str) -> list[tuple[types.ModuleType, str]]:
    """The modules in which a name may be assigned, and as what: this one, and the one it is imported from."""
    found = [(module, name)]
    for node in _syntax(module).body:
        if isinstance(node, ast.ImportFrom):
            package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    home = importlib.import_module("." * node.level + (node.module or ""), package)
                    found.append((home, alias.name))
    return found


def _kind(value: Any) -> str:
    from jax._base.option import Option
    from jax.extend.core import Primitive

    if isinstance(value, Primitive):
        return "Primitives"
    if isinstance(value, Option):
        return "Options"
    if isinstance(value, type) and issubclass(value, BaseException):
        return "Exceptions"
    if isinstance(value, type):
        return "Classes"
    named_types = isinstance(value, types.GenericAlias) or type(value).__module__ == "typing"
    return "Functions" if callable(value) and not named_types else "Objects"


def entries(module_name: str) -> list[Entry]:
    """All public names of a module."""
    module = importlib.import_module(module_name)
    found = []
    for name in public_names(module):
        value = _get(module, name)
        kind = _kind(value)
        entry = Entry(module_name, name, value, kind, _doc(module, name, value))
        if kind == "Classes" and str(getattr(value, "__module__", "")).startswith("jax"):
            entry.members = _members(module_name, name, value)
        found.append(entry)
    return found


def _members(module: str, name: str, cls: type) -> list[Entry]:
    found = []
    for member, value in sorted(vars(cls).items()):
        plain = getattr(value, "__func__", value)
        if member.startswith("_") or not (callable(plain) or isinstance(value, property) or inspect.isdatadescriptor(value)):
            continue
        doc = text_of(plain)
        if doc:
            found.append(Entry(module, f"{name}.{member}", plain, "Members", doc))
    return found


def _signature(value: Any) -> str:
    operands = getattr(value, "nin", None)
    if isinstance(operands, int):  # ufuncs take any number of arguments as far as Python knows
        return f"({', '.join('xyz'[:operands])}, /, out=None, where=None)"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    # Annotations of "anything array-like" say less than the text and make signatures unreadable.
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    for pattern, shown in _DEFAULTS:
        text = re.sub(pattern, shown, text)
    return text


def _wrapped(name: str, signature: str, width: int = 92) -> str:
    """``name(a, b)`` on one line, or one parameter per line when it is too long."""
    if len(name) + len(signature) <= width or not signature.startswith("("):
        return name + signature
    parts, depth, start = [], 0, 1
    for i, c in enumerate(signature):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 1:
            parts.append(signature[start:i].strip())
            start = i + 1
    parts.append(signature[start:-1].strip())
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts if part) + ")"


def page(module_name: str) -> str:
    """The Markdown of a module's page."""
    module = importlib.import_module(module_name)
    out = [f"# {module_name}", "", markdown(text_of(module)), ""]
    listed = entries(module_name)
    for kind in KINDS:
        chosen = [entry for entry in listed if entry.kind == kind]
        if not chosen:
            continue
        out += [f"## {kind}", "", "| | |", "| --- | --- |"]
        out += [f"| [`{e.name}`](#{e.anchor}) | {_cell(first_line(e.doc))} |" for e in chosen]
        out.append("")
        for entry in chosen:
            out += _section(entry)
    primitives = [entry for entry in listed if entry.kind == "Primitives"]
    if primitives:
        out += ["## Primitives", "", "For rules of other transformations; programs call the functions.", ""]
        out += [", ".join(f"`{entry.name}`" for entry in primitives), ""]
    return "\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _section(entry: Entry) -> list[str]:
    out = [f"### {entry.name} {{ #{entry.anchor} }}", ""]
    call = entry.signature
    if call and entry.kind != "Options":
        out += ["```python", _wrapped(entry.anchor, call), "```", ""]
    out += [markdown(entry.doc), ""]
    for member in entry.members:
        signature = re.sub(r"^\(self(?:, )?(?:/, )?", "(", member.signature) if callable(member.value) else ""
        out += [f"#### {member.name.rpartition('.')[2]} {{ #{member.anchor} }}", ""]
        if signature:
            out += ["```python", _wrapped(member.name.rpartition(".")[2], signature), "```", ""]
        out += [markdown(member.doc), ""]
    return out


def index() -> str:
    """The Markdown of the reference's first page."""
    out = ["# API reference", "", "Made from the docstrings.", "", "| | |", "| --- | --- |"]
    for name in modules():
        line = first_line(text_of(importlib.import_module(name)))
        out.append(f"| [`{name}`]({name}.md) | {_cell(line)} |")
    return "\n".join(out) + "\n"


def anchors() -> dict[str, str]:
    """Where each public name is documented: ``jax.lax.scan`` -> ``api/jax.lax.md#jax.lax.scan``."""
    found: dict[str, str] = {}
    for module in modules():
        found[module] = f"api/{module}.md"
        for entry in entries(module):
            if entry.kind != "Primitives":
                found[entry.anchor] = f"api/{module}.md#{entry.anchor}"
    return found
