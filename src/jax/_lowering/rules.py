"""The lowering tables: how each primitive becomes StableHLO.

A rule is ``rule(ctx, *operands, **params)`` with MLIR values for operands and returns one value per result.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

# ``(ctx, *values, **params) -> values``: writes the operations of one equation.
Rule = Callable[..., Any]

# Rules for every platform, and per platform the rules that take precedence there.
lowerings: dict[Any, Rule] = {}
platform_lowerings: dict[str, dict[Any, Rule]] = {}
# Primitives that are one operation on operands of the result's shape: {primitive: operation name}. The emission loop
# writes these without calling a rule; scalar operands are spread over the shape.
elementwise_ops: dict[Any, str] = {}
# Structural primitives, which mean the same for every element type. On values of an extended dtype (PRNG keys) they are
# lowered through their batching rule: an array of keys is a batch of plain arrays.
extended_by_batching: set[Any] = set()
uncacheable: set[Any] = set()
# What passes over programs know of primitives. ``fusible``: operations that compilers compute again inside whatever reads
# them, with their weight in operations (0 where only data moves). ``reducing``: operations that what they read is fused
# into. ``call_bodies``: calls, with the parameter that holds the program. ``inner_bodies``: loops and branches, with all
# such parameters and whether they are run many times.
fusible: dict[Any, int] = {}
# The same for operations that are short in code and take many instructions to run, on arrays.
run_weights: dict[Any, int] = {}
reducing: set[Any] = set()
call_bodies: dict[Any, str] = {}
inner_bodies: dict[Any, tuple[tuple[str, ...], bool]] = {}
# ``pointwise``: operations that act element by element on operands of one shape. ``structural``: the primitives that passes
# know and write themselves, by name.
pointwise: set[Any] = set()
structural: dict[str, Any] = {}
# Programs, and others with the same results that are better for CPUs.
cpu_forms: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

_ALIASES = {"gpu": ("cuda", "rocm")}


def register_lowering(prim: Any, rule: Rule, platform: str | None = None, *, inline: bool = True,
                      cacheable: bool = True) -> Rule:
    """Says how ``prim`` is lowered, on one platform (``"cpu"``, ``"gpu"`` for cuda and rocm, ...) or, without one, all.

    ``cacheable=False`` marks rules whose result depends on more than operand types and parameters; ``inline`` is
    accepted for compatibility.
    """
    if platform is None:
        elementwise_ops.pop(prim, None)
        lowerings[prim] = rule
    else:
        for name in _ALIASES.get(platform, (platform,)):
            platform_lowerings.setdefault(name, {})[prim] = rule
    if not cacheable:
        uncacheable.add(prim)
    return rule


def register_elementwise(prim: Any, operation: str, settings_rule: Rule | None = None) -> None:
    """``prim`` is the one operation (``"stablehlo.sine"``, ``"chlo.erf"``) on operands of the result's shape.

    Rank-0 operands, as literals often are, are spread over that shape. Equations with a parameter that is not None
    (an accuracy, say) go to ``settings_rule``.
    """
    lowerings.pop(prim, None)
    elementwise_ops[prim] = operation
    fusible[prim] = 1
    pointwise.add(prim)
    if settings_rule is not None:
        lowerings[prim] = settings_rule


def platform_rules(platforms: tuple[str, ...]) -> dict[Any, Rule]:
    """The rules that take precedence on ``platforms``; for several at once, rules that refuse."""
    tables = [platform_lowerings.get(p, {}) for p in platforms]
    if len(tables) == 1:
        return tables[0]
    return {prim: _refusal(prim, platforms) for table in tables for prim in table}


def _refusal(prim: Any, platforms: tuple[str, ...]) -> Rule:
    def refuse(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(
            f"{prim} is lowered differently on some of {', '.join(platforms)}, and lowering it for several platforms "
            "at once is not supported: lower for each platform separately")
    return refuse


def find_rule(prim: Any, platforms: tuple[str, ...]) -> Rule | None:
    """The rule for ``prim``, or None."""
    return platform_rules(platforms).get(prim) or lowerings.get(prim)


def missing_rule(prim: Any, platforms: tuple[str, ...]) -> NotImplementedError:
    elsewhere = [p for p, table in platform_lowerings.items() if prim in table]
    only = f" (it has one for {', '.join(elsewhere)})" if elsewhere else ""
    return NotImplementedError(
        f"the primitive {prim.name!r} has no lowering rule for {', '.join(platforms)}{only}, so it cannot be compiled; "
        "register one with jax.interpreters.mlir.register_lowering")
