"""The primitive that calls an exported program, which becomes part of the calling program."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._language import rules
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import call_function
from jax._lowering.types import ir_type
from jax._transforms.batch import AxisData
from jax.dtypes import float0
from jax.export._modules import move_functions

call_exported_p = Primitive("call_exported", multiple_results=True)


def _abstract(*avals: Any, exported: Any) -> list[Any]:
    return [a for a in exported.out_avals if a.dtype != float0]


def _lower(ctx: Any, *operands: Any, exported: Any) -> list[Any]:
    module = ctx.module_context
    check_platforms(exported, ctx.platforms)
    key = ("exported", id(exported))
    found = module.functions.get(key)
    if found is None:  # the entry keeps the program alive, and with it its number
        main = move_functions(exported.mlir_module_serialized, module.module, module.context,
                              lambda name: module.fresh_symbol(f"{exported.fun_name}_{name}"))
        found = module.functions[key] = (main, exported)
    if exported.uses_global_constants:
        known = ctx.platform in exported.platforms
        operands = (hlo.ir_constant(np.int32(exported.platforms.index(ctx.platform) if known else 0)), *operands)
    return call_function(found[0], [ir_type(a) for a in ctx.avals_out], operands)


def check_platforms(exported: Any, platforms: tuple[str, ...]) -> None:
    """Refuses to call a program on other platforms than it was exported for.

    Raises:
      ValueError: naming both.
    """
    missing = [p for p in platforms if p not in exported.platforms]
    if missing and not any(str(c) == "platform" for c in exported.disabled_safety_checks):
        raise ValueError(f"the function {exported.fun_name} was exported for {', '.join(exported.platforms)} and is called "
                         f"on {', '.join(missing)}. Export it for that platform as well: export(f, platforms=[...])(...). "
                         "Or, if the program means the same there, export it with "
                         "disabled_checks=[DisabledSafetyCheck.platform()].")


def _jvp(primals: Any, tangents: Any, *, exported: Any) -> Any:
    raise TypeError(f"forward-mode differentiation (jvp, jacfwd, hessian) cannot go through the exported function "
                    f"{exported.fun_name}, whose derivative is a program for reverse mode. Use grad, vjp or jacrev.")


def _batch(axis: AxisData, args: Any, dims: Any, *, exported: Any) -> Any:
    raise NotImplementedError(f"vmap of the exported function {exported.fun_name}: its program is for arguments of fixed "
                              "shapes. Export the mapped function, jax.jit(jax.vmap(f)), or call it in a loop: jax.lax.map.")


call_exported_p.def_abstract_eval(_abstract)
register_lowering(call_exported_p, _lower, cacheable=False)
rules.primitive_jvps[call_exported_p] = _jvp
rules.fancy_primitive_batchers[call_exported_p] = _batch
