"""The API reference has no holes, and the table of options none either."""

from __future__ import annotations

import re

import pytest

from docs.tools import docstrings, options, reference
from jax._base.option import registry

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("module", reference.modules())
def test_every_public_name_is_documented(module):
    entries = reference.entries(module)
    assert entries
    missing = [e.anchor for e in entries if e.kind != "Primitives" and len(e.doc) < 3]
    assert not missing


# Traces, contexts and types as libraries see them: their methods are called by the machinery, not by users.
INNER = ("jax.interpreters.", "jax.ref.AbstractRef", "jax.extend.core.ShapedArray", "jax.extend.core.Abstract")


@pytest.mark.parametrize("module", reference.modules())
def test_members_of_classes_are_documented(module):
    missing = []
    for entry in reference.entries(module):
        ours = str(getattr(entry.value, "__module__", "")).startswith("jax")
        if entry.kind not in ("Classes", "Exceptions") or not ours or entry.anchor.startswith(INNER):
            continue
        for name, value in vars(entry.value).items():
            plain = getattr(value, "__func__", value)
            public = not name.startswith("_") and not isinstance(value, type)
            if public and (callable(plain) or isinstance(value, property)) and not docstrings.text_of(plain):
                missing.append(f"{entry.anchor}.{name}")
    assert not missing


def test_the_reference_covers_what_users_import():
    anchors = reference.anchors()
    for name in ("jax.jit", "jax.grad", "jax.vmap", "jax.hessian", "jax.Array", "jax.enable_x64", "jax.numpy.add",
                 "jax.numpy.where", "jax.lax.scan", "jax.lax.add", "jax.random.normal", "jax.nn.relu",
                 "jax.tree_util.tree_map", "jax.tree.map", "jax.scipy.special.erf", "jax.scipy.linalg.cholesky",
                 "jax.errors.TracerBoolConversionError", "jax.stages.Lowered", "jax.sharding.Mesh"):
        assert name in anchors, name
    assert not any(name.rpartition(".")[2].startswith("_") for name in anchors)
    assert "jax.stages.api_boundary" not in anchors


def test_pages_show_signatures_and_sections():
    page = reference.page("jax")
    assert re.search(r"^jax\.grad\(.*argnums=0", page, re.MULTILINE | re.DOTALL)
    assert "jax.numpy.add(x, y, /, out=None, where=None)" in reference.page("jax.numpy")
    assert "**Raises**" in page and "- `argnums`:" in page
    for module in ("jax.lax", "jax.tree", "jax.numpy"):
        shown = "".join(re.findall(r"```python.*?```", reference.page(module), re.DOTALL))
        assert " at 0x" not in shown and "<" not in shown


def test_docstrings_become_markdown():
    text = "Sum *of* a_b.\n\nArgs:\n  x: an array,\n    or two.\n  *args: more.\n\nAs in::\n\n    a < b\n\n>>> 1 + 1\n2"
    got = docstrings.markdown(text)
    assert "Sum \\*of\\* a\\_b." in got
    assert "- `x`: an array,\n  or two.\n- `*args`: more." in got
    assert "As in:" in got and "```text\na < b\n```" in got and "```pycon\n>>> 1 + 1\n2\n```" in got


def test_tables_in_docstrings():
    got = docstrings.markdown("Names:\n\n=====  ===\n``a``  one\n``b``  two|2\n=====  ===\n\nend")
    assert "|  |  |\n| --- | --- |\n| ``a`` | one |\n| ``b`` | two\\|2 |\n\nend" in got


def test_every_option_is_in_the_table_and_translated():
    listed = [option.name for group in options.groups().values() for option in group]
    assert sorted(listed) == sorted(registry)
    english = options.table("en")
    assert all(f"`{name}`" in english for name in registry)
    known = options.translations()
    stale = [n for n, option in registry.items() if known.get(n, {}).get("en") != option.doc]
    assert not stale, f"translate in {options.TRANSLATIONS.name} (and copy the English text there): {stale}"
    assert set(known) <= set(registry)
    # Kinds of values too; names of choices stand for themselves.
    unknown = {kind.accepted.partition(", or None")[0] for kind in {o.kind for o in registry.values()} if not kind.choices}
    assert unknown <= set(options._KINDS), "translate in docs/tools/options.py"
    assert "`True` 或 `False`" in options.table("zh")
