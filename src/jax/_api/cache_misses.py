"""Why a function under ``jit`` is traced again: what differs from the most similar earlier call.

Read under ``jax_explain_cache_misses``, ``jax_log_compiles`` and ``jax_no_tracing``; nothing here runs otherwise.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import Any

from jax import _tree_compare
from jax._api.common import Described
from jax._api.statics import Placed, Static, brief
from jax._base import source
from jax._base.caching import trace_context
from jax._dispatch.program import option_differences
from jax.tree_util import keystr, tree_unflatten

logger = logging.getLogger("jax.trace")
_SHOWN = 5


class CallText:
    """A call of a jitted function as text, made when a log message needs it: ``f(x: f32[3])``."""

    __slots__ = ("fun", "in_tree", "avals", "static")

    def __init__(self, fun: Any, in_tree: Any, avals: Sequence[Any], static: Static) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.avals = avals
        self.static = static

    def __str__(self) -> str:
        types = [f"{n}: {_type_text(a)}" for n, a in zip(
            _leaf_names(self.fun, self.in_tree, self.static), self.avals, strict=True)]
        values = [f"{_position_name(self.fun, i)}={brief(v)}" for i, v in self.static.args]
        values += [f"{k}={brief(v)}" for k, v in self.static.kwargs]
        listed = [*types, *values]
        if len(listed) > 2 * _SHOWN:
            listed = [*listed[:2 * _SHOWN], f"and {len(listed) - 2 * _SHOWN} more"]
        name, at, place = source.describe_function(self.fun).partition(" at ")
        return f"{name}({', '.join(listed)}){at}{place}"


def explain(entries: Sequence[Any], fun: Any, *key: Any) -> None:
    """Logs why this call was not found among ``entries``, those of earlier calls (of other functions too)."""
    reasons = _reasons(entries, fun, key)
    if reasons is None:
        return
    logger.warning("jit traces %s, called at %s:\n%s", source.describe_function(fun), source.summarize(source.current()),
                   "\n".join(f"  {r}" for r in reasons))


def refuse(cache: Any, fun: Any, *key: Any) -> None:
    """Raises for a call that would have to be traced although ``jax_no_tracing`` forbids it."""
    reasons = _reasons(cache.cache_keys(), fun, key) or ["it has not been traced before"]
    raise RuntimeError(f"jax_no_tracing forbids to trace {source.describe_function(fun)} here, and this call needs it:\n"
                       + "\n".join(f"  {r}" for r in reasons)
                       + "\nCall it once with arguments of these kinds before, outside jax.no_tracing().")


def _reasons(entries: Sequence[Any], fun: Any, key: Any) -> list[str] | None:
    best: list[str] | None = None
    least = 0
    failed = False
    for function, options, (in_tree, avals, static, env, inline), _ in entries:
        if function() is not fun and function() != fun:
            continue
        changed = _differences(fun, (in_tree, avals, static), key[:3])
        changed += option_differences(options, trace_context())
        if env != key[3]:
            changed.append(f"the named axes were {env!r} and are {key[3]!r}")
        if inline != key[4]:
            changed.append("in_shardings or out_shardings are others" if isinstance(inline, Placed) else
                           f"inline was {inline} and is {key[4]}")
        if not changed:  # this very call, when tracing it did not succeed
            failed = True
            continue
        distance = len(changed) + 2 * (in_tree != key[0])  # another structure is seldom the nearest
        if best is None or distance < least:
            best, least = changed, distance
    if best is None:
        return ["earlier attempts to trace it for these arguments did not succeed"] if failed else _first_time(entries, fun)
    if len(best) > _SHOWN:
        best = [*best[:_SHOWN], f"and {len(best) - _SHOWN} more differences"]
    return best


def _first_time(entries: Sequence[Any], fun: Any) -> list[str] | None:
    code = _code(fun)
    if code is not None and source.is_internal_file(code.co_filename):
        return None  # functions of the library: users did not write them, and cannot avoid their first trace
    for function, *_ in entries:
        other = function()
        if other is not None and other is not fun and code is not None and _code(other) is code:
            return ["this function object has not been traced before, but another one of the same source has: a function "
                    "or lambda that is defined anew for each call is traced for each. Define it once, outside"]
    return ["it has not been traced before"]


def _code(fun: Any) -> Any:
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(getattr(fun, "__func__", fun), "__code__", None)


def _differences(fun: Any, old: tuple[Any, Any, Static], new: tuple[Any, Any, Static]) -> list[str]:
    (old_tree, old_avals, old_static), (new_tree, new_avals, new_static) = old, new
    changed = _static_differences(fun, old_static, new_static)
    if old_tree != new_tree:
        return changed + _tree_differences(fun, old_tree, new_tree, new_static)
    names = _leaf_names(fun, new_tree, new_static)
    for name, a, b in zip(names, old_avals, new_avals, strict=True):
        if a is not b and a != b:
            changed.append(f"the argument {name} was {_type_text(a)} and is {_type_text(b)} ({_aspects(a, b)})")
    return changed


def _leaf_names(fun: Any, in_tree: Any, static: Static) -> tuple[str, ...]:
    return Described(fun).arg_names(in_tree, {i for i, _ in static.args})


def _position_name(fun: Any, position: int) -> str:
    names = Described(fun).parameters()
    return names[position] if position < len(names) else f"args[{position}]"


def _dynamic_names(fun: Any, static: Static) -> list[str]:
    taken = {i for i, _ in static.args}
    return [_position_name(fun, i) for i in range(static.num_args) if i not in taken]


def _type_text(aval: Any) -> str:
    return f"{aval.str_short()}{', weakly typed' if getattr(aval, 'weak_type', False) else ''}"


def _aspects(a: Any, b: Any) -> str:
    """Which properties of two types differ."""
    found = []
    for field, text in (("shape", "shape"), ("dtype", "dtype"), ("weak_type", "weak type"), ("sharding", "sharding"),
                        ("memory_space", "memory space"), ("vma", "mesh axes")):
        if getattr(a, field, None) != getattr(b, field, None):
            found.append(text)
    return ", ".join(found) or "kind of type"


def _static_differences(fun: Any, old: Static, new: Static) -> list[str]:
    def named(static: Static) -> dict[str, Any]:
        return {**{_position_name(fun, i): v for i, v in static.args}, **dict(static.kwargs)}

    before, now = named(old), named(new)
    changed = []
    for name in {**before, **now}:
        if name not in before:
            changed.append(f"the static argument {name} was not given and is {brief(now[name])}")
        elif name not in now:
            changed.append(f"the static argument {name} was {brief(before[name])} and is not given")
        elif type(before[name]) is not type(now[name]):
            changed.append(f"the static argument {name} was {brief(before[name])} of type {type(before[name]).__name__} and "
                           f"is {brief(now[name])} of type {type(now[name]).__name__}")
        elif before[name] != now[name]:
            same = brief(before[name]) == brief(now[name])
            hint = "; they look alike but are not equal: give the type __eq__ and __hash__" if same else ""
            changed.append(f"the static argument {name} was {brief(before[name])} and is {brief(now[name])}{hint}")
    if not changed and old != new:
        changed.append("static arguments were passed in another way, by position or by name")
    return changed


def _tree_differences(fun: Any, old: Any, new: Any, static: Static) -> list[str]:
    """Where the structures of the arguments differ."""
    before, now = (tree_unflatten(t, [0] * t.num_leaves) for t in (old, new))
    heads = _dynamic_names(fun, static)
    if len(before[0]) != len(now[0]):
        return [f"{len(before[0])} arguments were given by position, and {len(now[0])} are"]
    if set(before[1]) != set(now[1]):
        return [f"the arguments given by name were {sorted(before[1])} and are {sorted(now[1])}"]
    found = []
    for d in _tree_compare.differences(before, now):
        first, second, *rest = (*d.path, None, None)[:max(len(d.path), 2)]
        by_position = getattr(first, "idx", 0) == 0
        index = getattr(second, "idx", None)
        head = heads[index] if by_position and index is not None and index < len(heads) else str(
            getattr(second, "key", second))
        detail = f" ({d.detail})" if d.detail else ""
        found.append(f"the structure of the argument {head}{keystr(tuple(rest))} was {d.left} and is {d.right}{detail}")
    return found or ["the structure of the arguments differs in data that its nodes carry"]
