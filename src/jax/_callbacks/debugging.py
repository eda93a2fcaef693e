"""``jax.debug.callback``: calls with values of a running program that leave its results alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._base._jaxlib import xla
from jax._base.source import api_boundary
from jax._callbacks.function import HostFunction, lower_call, one_by_one, run_now, split_arguments
from jax._language import rules
from jax._language.effects import (
    Effect,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    ordered_effects,
    remat_allowed_effects,
)
from jax._language.primitive import Primitive
from jax._lowering.context import LoweringContext
from jax._lowering.hlo import op as ir_op
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread
from jax._lowering.types import bool_attr, string_attr
from jax._runtime import backend
from jax._transforms.batch import AxisData
from jax.sharding import sharding_from_hlo


class DebugEffect(Effect):
    """Somebody looks, at any time while the program runs."""

    def __repr__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """Somebody looks, in the order in which the program says so."""

    def __repr__(self) -> str:
        return "OrderedDebug"


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
for _kind in (DebugEffect, OrderedDebugEffect):
    for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects,
                     custom_derivatives_allowed_effects):
        _allowed.add_type(_kind)
ordered_effects.add_type(OrderedDebugEffect)


@api_boundary
def debug_callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, partitioned: bool = False,
                   **kwargs: Any) -> None:
    """Calls a Python function with values of a running program, to look at them.

    Under transformations it sees the values of the original function: under ``grad`` the primal values, once; under
    ``vmap`` one example at a time.

    Args:
      callback: called as ``callback(*args, **kwargs)`` with arrays on the CPU in place of those given. What it returns
        is ignored.
      args: trees of arrays and of anything else, which is passed as it is.
      ordered: keep the order of the program among all ordered calls, also across programs.
      partitioned: on several devices, call once for each with its own part, instead of once with all.
      kwargs: like ``args``.

    Raises:
      Exception: whatever the callback raises, as :func:`jax.pure_callback` describes.

    ``jax.effects_barrier()`` waits until all calls have been made.

    >>> import jax
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.callback(lambda v: print("x is", v), x)
    ...     return x + 1
    >>> y = f(2); jax.effects_barrier()
    x is 2
    """
    check_callable(callback, "debug.callback")
    watch(_Ignoring(callback), args, kwargs, ordered, partitioned)


def watch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ordered: bool,
          partitioned: bool = False) -> None:
    """Calls ``function``, a callable that returns None, when the program runs."""
    arrays, tree, fixed = split_arguments(args, kwargs)
    debug_callback_p.bind(*arrays, callback=HostFunction(function, tree, fixed),
                          effect=ordered_debug_effect if ordered else debug_effect, partitioned=bool(partitioned))


class _Ignoring:
    """A function without its result."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.__wrapped__(*args, **kwargs)

    @property
    def __name__(self) -> str:
        return getattr(self.__wrapped__, "__name__", None) or type(self.__wrapped__).__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ignoring) and self.__wrapped__ == other.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)


# --- the primitive --------------------------------------------------------------------------------------------------

debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_callback_p.abstract_cache = None  # its parameters hold functions, which it would keep alive


def _impl(*args: Any, callback: HostFunction, **params: Any) -> list[Any]:
    return run_now(callback, args, ())


def _lower(ctx: LoweringContext, *operands: Any, callback: HostFunction, effect: Effect, partitioned: bool,
           ) -> Sequence[Any]:
    return lower_call(ctx, operands, callback, effect=effect, ordered=isinstance(effect, OrderedDebugEffect),
                      partitioned=partitioned)


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    debug_callback_p.bind(*primals, **params)
    return [], []


def _batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    return one_by_one(debug_callback_p, axis.size, args, dims, params)


debug_callback_p.def_impl(_impl)
debug_callback_p.def_effectful_abstract_eval(lambda *avals, effect, **params: ([], {effect}))
register_lowering(debug_callback_p, _lower, cacheable=False)
rules.primitive_jvps[debug_callback_p] = _jvp
rules.fancy_primitive_batchers[debug_callback_p] = _batch


# --- where arrays are -----------------------------------------------------------------------------------------------

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True)
inspect_sharding_p.abstract_cache = None


class _Reports:
    """What the compiler tells of a value's layout, as a sharding over the program's devices."""

    __slots__ = ("callback", "spread")

    def __init__(self, callback: Callable[[Any], None], spread: Any) -> None:
        self.callback = callback
        self.spread = spread

    def __call__(self, op: Any) -> None:
        self.callback(sharding_from_hlo(op, self.spread.mesh, xla.DeviceList(tuple(self.spread.devices))))


def _lower_inspection(ctx: LoweringContext, x: Any, *, callback: Callable[[Any], None]) -> Sequence[Any]:
    mod = ctx.module_context
    if not is_spread(mod):
        callback(backend.default_sharding() if mod.spread is None else mod.spread.everywhere())
        return []
    report = _Reports(callback, mod.spread)
    mod.add_keepalive(report)
    # XLA calls back when it has settled how to split the operand.
    target = {"call_target_name": string_attr("InspectSharding"), "has_side_effect": bool_attr(True),
              "backend_config": string_attr(xla.encode_inspect_sharding_callback(report))}
    ir_op("stablehlo.custom_call", (x.type,), (x,), target)
    return []


inspect_sharding_p.def_impl(lambda x, *, callback: callback(x.sharding) or [])
inspect_sharding_p.def_effectful_abstract_eval(lambda x, *, callback: ([], {debug_effect}))
register_lowering(inspect_sharding_p, _lower_inspection, cacheable=False)
rules.primitive_jvps[inspect_sharding_p] = lambda primals, tangents, **params: (
    inspect_sharding_p.bind(*primals, **params), [])
rules.primitive_batchers[inspect_sharding_p] = lambda args, dims, **params: (inspect_sharding_p.bind(*args, **params), [])


@api_boundary
def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Calls ``callback(sharding)`` with how an array is laid out: at once for a concrete one.

    For a traced value that happens when the program is compiled: the compiler tells how it has split the value. In a
    program for one device it is the default device.

    >>> import jax
    >>> jax.debug.inspect_array_sharding(jax.numpy.ones(2), callback=lambda s: print(s.num_devices))
    1
    """
    check_callable(callback, "debug.inspect_array_sharding")
    inspect_sharding_p.bind(value, callback=callback)


__all__ = ["DebugEffect", "OrderedDebugEffect", "debug_callback", "debug_callback_p", "inspect_array_sharding", "watch"]
