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
# (used_outputs, eqn) -> (used_inputs, new_eqn|None)
dce_rules: dict[Any, Rule] = {}
# (primitive-specific) extra checks on an equation: (ctx_factory, *in_atoms, **params) -> (out_avals, effects)
custom_typechecks: dict[Any, Rule] = {}
# how an equation is printed: (eqn, context, settings) -> str or None
pp_rules: dict[Any, Rule] = {}
