"""Small primitives and ways to lower them, so that lowering is tested apart from the library's operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._language.avals import ShapedArray
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._lowering import rules
from jax._lowering.context import LoweringContext, ModuleContext, Scope, activate, no_tokens, take_state
from jax._lowering.module import LoweredModule, lower_jaxpr_to_module
from jax._lowering.subprograms import build_function
from jax._lowering.types import ir_type

F32 = np.dtype(np.float32)


def aval(*shape: int, dtype: Any = F32) -> ShapedArray:
    return ShapedArray(shape, np.dtype(dtype))


def _widest(*avals: Any) -> Any:
    shape = np.broadcast_shapes(*(a.shape for a in avals))
    return max(avals, key=lambda a: a.ndim).update(shape=shape)


def elementwise(name: str, operation: str) -> Primitive:
    prim = Primitive(name)
    prim.def_abstract_eval(_widest)
    rules.register_elementwise(prim, operation)
    return prim


def by_rule(name: str, rule: Callable[..., Any], platform: str | None = None) -> Primitive:
    """A primitive with the first operand's type for result."""
    prim = Primitive(name)
    prim.def_abstract_eval(lambda *avals, **params: avals[0])
    rules.register_lowering(prim, rule, platform)
    return prim


add_p = elementwise("test_add", "stablehlo.add")
mul_p = elementwise("test_mul", "stablehlo.multiply")
sin_p = elementwise("test_sin", "stablehlo.sine")


def close(fun: Callable[..., Any], *avals: Any) -> ClosedJaxpr:
    def flat(*args: Any) -> Sequence[Any]:
        out = fun(*args)
        return out if isinstance(out, (list, tuple)) else [out]

    return ClosedJaxpr(*trace_to_jaxpr(flat, avals))


def lower(fun: Callable[..., Any], *avals: Any, **options: Any) -> LoweredModule:
    """Lowers ``fun`` for CPUs and checks the module with MLIR's verifier."""
    lowered = lower_jaxpr_to_module(close(fun, *avals), "fun", ("cpu",), **options)
    lowered.module.operation.verify()
    return lowered


def text(fun: Callable[..., Any], *avals: Any, **options: Any) -> str:
    return lower(fun, *avals, **options).as_text()


def build(fill: Callable[..., Any], *avals: Any) -> str:
    """The text of a module whose function holds what the builders called by ``fill(*values)`` write."""
    state = take_state()
    with activate(state):
        module = ModuleContext(state, ("cpu",), "built")
        results: list[Any] = []

        def body(args: Sequence[Any]) -> Sequence[Any]:
            out = fill(*args)
            results.extend(out if isinstance(out, list) else [out])
            return []

        build_function(module, "main", [ir_type(a) for a in avals], [], body, public=True)
        module.module.operation.verify()
        # Versions of jaxlib differ in blanks.
        return re.sub(" +", " ", str(module.module))


def context(module: ModuleContext, avals_in: Any = (), avals_out: Any = ()) -> LoweringContext:
    return LoweringContext(module, None, avals_in, avals_out, no_tokens, (), None, Scope())
