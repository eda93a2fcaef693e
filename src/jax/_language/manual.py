"""Programs written for one part: the mesh axes that ``shard_map`` binds, and over which of them values vary.

While the body of a ``shard_map`` is traced, the type of a value says over which mesh axes it may vary (``aval.vma``); over
the others all devices hold the same value. The types are inferred: a result varies as its operands do, and collectives say
themselves what they do. That is what makes transposition right: the cotangent of a value that is the same on all devices is
the sum of what the devices contribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from jax._base.option import internal_state
from jax._language.avals import ShapedArray
from jax._language.axes import extend_axis_env


class Manual(NamedTuple):
    """The mesh, its axes that the program handles itself, and whether types say over which of them values vary."""

    mesh: Any
    axes: frozenset[Any]
    typed: bool


# A part of the keys of all traces. Compiled calls are not made while a body is traced, and need not look.
_state = internal_state("manual_axes", None, jit_key=False)


def current() -> Manual | None:
    """The innermost ``shard_map`` whose body is being traced."""
    found: Manual | None = _state.value
    return found


def typed_axes() -> frozenset[Any]:
    """The axes over which types say whether values vary; none outside of ``shard_map``."""
    found = _state.value
    return found.axes if found is not None and found.typed else frozenset()


@contextmanager
def entered(manual: Manual) -> Iterator[None]:
    """Binds the axes while a body, or something made from one, is traced."""
    before = _state.swap_local(manual)
    try:
        with ExitStack() as stack:
            sizes = dict(manual.mesh.shape_tuple)
            for name in manual.mesh.axis_names:
                if name in manual.axes:
                    stack.enter_context(extend_axis_env(name, sizes[name]))
            yield
    finally:
        _state.swap_local(before)


def vma_of(aval: Any) -> frozenset[Any]:
    """The axes over which values of this type vary."""
    return aval.vma if isinstance(aval, ShapedArray) else frozenset()


def varying(aval: Any, axes: frozenset[Any]) -> Any:
    """``aval`` with values varying over exactly these axes."""
    if not isinstance(aval, ShapedArray) or aval.vma == axes:
        return aval
    return aval.update(vma=axes)


# primitive -> (vma of each operand, params, result types as they would be outside) -> vma of each result. Primitives
# without an entry give what varies over all that any operand varies over.
varying_rules: dict[Any, Callable[..., list[frozenset[Any]]]] = {}
# primitive -> (args, params) -> result, or None: what a primitive is instead in a typed body, for the operands at hand.
typed_forms: dict[Any, Callable[..., Any]] = {}
# "sum" and "vary": (value, axes) -> the sum over axes; the same value, said to vary. Entered by the collectives.
casts: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {}


def as_cotangent(ct: Any, have: Any, want: Any) -> Any:
    """A cotangent of type ``have`` for a value of type ``want``.

    Over an axis along which the value is the same everywhere, all devices' contributions are added up.
    """
    extra, missing = vma_of(have) - vma_of(want), vma_of(want) - vma_of(have)
    if extra:
        ct = casts["sum"](ct, tuple(sorted(extra, key=str)))
    return casts["vary"](ct, tuple(sorted(missing, key=str))) if missing else ct
