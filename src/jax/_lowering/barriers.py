"""Values that are to be computed once and kept: fences, and optimization barriers beside them.

XLA's CPU compiler drops ``stablehlo.optimization_barrier`` before it fuses operations. Kept until then, by leaving out the
pass that drops them (:data:`BARRIER_PASS`), a barrier costs nothing and does hold. But XLA turns small loops into single
kernels, and in these it cannot emit barriers. So within loops a fence is a call that must not be inlined, and costs a few
microseconds each time; it pays for large values only. Other barriers within loops are replaced when a module has fences.
"""

from __future__ import annotations

from typing import Any

from jax._lowering.context import LoweringContext, ModuleContext
from jax._lowering.hlo.elementwise import optimization_barrier
from jax._lowering.subprograms import APART, call_shared

BARRIER_PASS = "cse_barrier_expander"


def fence(ctx: LoweringContext, x: Any) -> Any:
    """``x``, computed once however many operations read it. For CPUs."""
    module = ctx.module_context
    if not module.state.loops:
        module.fenced = True
        return optimization_barrier([x])[0]
    return _kept_by_call(module, x)


def settle(module: ModuleContext) -> None:
    """To be called when all is written: in a module with fences, barriers within loops become fences or go."""
    found = module.state.inner_barriers
    if module.fenced:
        for operation in found:
            for operand, result in zip(list(operation.operands), list(operation.results), strict=True):
                result.replace_all_uses_with(operand)
            operation.erase()
    found.clear()


def _kept_by_call(module: ModuleContext, x: Any) -> Any:
    return call_shared(module, ("kept", x.type), [x.type], [x], lambda args: args, APART)[0]
