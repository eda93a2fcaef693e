"""The open rule tables: one dictionary per transformation, keyed by primitive.

Our own primitives and third-party ones are entered in the same way. ``jax.interpreters`` re-exports these objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]

# (primals, tangents, **params) -> (out, out_tangent); tangents may be Zero.
primitive_jvps: dict[Any, Rule] = {}
# (cotangents, *args, **params) -> a list with one cotangent (or None / Zero) per argument. Arguments with respect to
# which the primitive is linear here arrive as UndefinedPrimal.
primitive_transposes: dict[Any, Rule] = {}
# (trace, primals, tangents, **params) -> (out, out_tangent): for primitives that hold jaxprs and want to split them into
# a primal and a linear part instead of having their jvp rule run under the linearizing trace.
primitive_linearizations: dict[Any, Rule] = {}
# (unknown_ins, eqn, saveable) -> (known_eqn|None, unknown_eqn|None, unknown_outs, residual vars): how an equation that
# holds a jaxpr is split in two by partial evaluation.
partial_eval_rules: dict[Any, Rule] = {}
# (args, dims, **params) -> (out, out_dim) with None for "not mapped".
primitive_batchers: dict[Any, Rule] = {}
# (axis_data, args, dims, **params) -> (out, out_dim): rules that need the size or the name of the mapped axis.
fancy_primitive_batchers: dict[Any, Rule] = {}
# {"move": (variable, variable, kind of memory) -> an equation that moves the value of the first into the second}
memory_moves: dict[str, Rule] = {}
# (used_outputs, eqn) -> (used_inputs, new_eqn|None)
dce_rules: dict[Any, Rule] = {}
# (primitive-specific) extra checks on an equation: (ctx_factory, *in_atoms, **params) -> (out_avals, effects)
custom_typechecks: dict[Any, Rule] = {}
# (params) -> a context in which the jaxprs of an equation mean something: one that binds the axes they name
body_contexts: dict[Any, Rule] = {}
# how an equation is printed: (eqn, context, settings) -> str or None
pp_rules: dict[Any, Rule] = {}
# (args, params) -> outs: the equation with cells (jax._language.discharge) in place of references. What has no entry here
# takes no references.
discharge_rules: dict[Any, Rule] = {}
# effect class -> (closed jaxpr) -> None, or (the program without the effect, with n more results in front, n, a function
# of a mask and these results): for effects that may not happen for examples that take no part, in a branch that is not
# theirs or a loop that has ended for them. The function makes the effect happen for the examples of the mask.
maskable_effects: dict[Any, Rule] = {}


def hold_back(closed: Any) -> tuple[Any, int, Any]:
    """``closed`` with maskable effects turned into results: the program, how many there are, and what replays them."""
    for kind, split in maskable_effects.items():
        if any(isinstance(e, kind) for e in closed.effects):
            held = split(closed)
            if held is not None:
                return held
    return closed, 0, None
