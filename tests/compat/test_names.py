"""The names that libraries use are there, by every path, and are the library's own objects."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import jax

DATA = Path(__file__).resolve().parent.parent / "data" / "library_names.txt"
ROWS = [line.split("\t") for line in DATA.read_text().splitlines() if not line.startswith("#")]
PRESENT = [row[0] for row in ROWS if len(row) == 1]
ABSENT = [row[0] for row in ROWS if len(row) == 2]


def fetch(path: str) -> Any:
    parts = path.split(".")
    for i in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(path)


@pytest.mark.quick
@pytest.mark.parametrize("name", PRESENT)
def test_name_exists(name):
    fetch(name)


@pytest.mark.parametrize("name", ABSENT)
def test_name_said_to_be_absent_is(name):
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        fetch(name)


SAME = [
    ("jax.core.Tracer", "jax._src.core.Tracer", "jax._language.trace.Tracer"),
    ("jax.core.ShapedArray", "jax._src.core.ShapedArray", "jax.extend.core.ShapedArray"),
    ("jax.extend.core.primitives.jit_p", "jax._src.pjit.jit_p", "jax._api.jit_primitive.jit_p"),
    ("jax.extend.core.primitives.custom_jvp_call_p", "jax.custom_derivatives.custom_jvp_call_p"),
    ("jax.interpreters.ad.primitive_jvps", "jax._language.rules.primitive_jvps"),
    ("jax.interpreters.ad.primitive_transposes", "jax._language.rules.primitive_transposes"),
    ("jax.interpreters.batching.primitive_batchers", "jax._language.rules.primitive_batchers"),
    ("jax.interpreters.ad.Zero", "jax._src.ad_util.Zero", "jax._language.zeros.Zero"),
    ("jax._src.ad_util.stop_gradient_p", "jax.extend.core.primitives.stop_gradient_p"),
    ("jax._src.dtypes.TypePromotionError", "jax.dtypes.TypePromotionError"),
    ("jax._src.tree_util._registry", "jax.tree_util._registry"),
    ("jax._src.dispatch.wait_for_tokens", "jax.effects_barrier"),
    ("jax.lib.xla_bridge.get_backend", "jax.extend.backend.get_backend", "jax._src.xla_bridge.get_backend"),
    ("jax.experimental.x64_context.config", "jax.config"),
    ("jax.extend.backend.ifrt_proxy", "jax._base._jaxlib.ifrt_proxy"),
    ("jax.interpreters.xla.Backend", "jax._base._jaxlib.Client"),
    ("jax.experimental.io_callback", "jax._callbacks.io.io_callback"),
    ("jax._src.compiler.compile_module", "jax._runtime.compile.compile_module"),
]


@pytest.mark.quick
@pytest.mark.parametrize("paths", SAME, ids=lambda p: p[0])
def test_views_show_the_real_objects(paths):
    assert len({id(fetch(p)) for p in paths}) == 1


@pytest.mark.quick
def test_primitives_by_name():
    from jax.extend.core import Primitive, primitives
    names = [n for n in dir(primitives) if n.endswith("_p")]
    assert len(names) > 150
    assert all(isinstance(getattr(primitives, n), Primitive) for n in names)
    with pytest.raises(AttributeError, match="nonsense_p"):
        primitives.nonsense_p  # noqa: B018


def test_the_package_of_private_views_defines_nothing():
    """Its modules import and rename; whatever computes lives elsewhere."""
    import ast
    folder = Path(jax.__file__).parent / "_src"
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        size = sum(len(ast.unparse(n).splitlines()) for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef))
        assert size < 40, f"{path.name} holds {size} lines of code"
