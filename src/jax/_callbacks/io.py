"""``io_callback``: a function that reads or changes the world outside of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._base.source import api_boundary
from jax._callbacks.function import HostFunction, as_operand, lower_call, one_by_one, result_types, run_now
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
from jax._lowering.rules import register_lowering
from jax._transforms.batch import AxisData
from jax.tree_util import tree_flatten, tree_unflatten


class IOEffect(Effect):
    """Something happens outside of the program, at any time while it runs."""

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """Something happens outside of the program, in the order in which the program says so."""

    def __repr__(self) -> str:
        return "OrderedIO"


io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()
for _kind in (IOEffect, OrderedIOEffect):
    for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects,
                     custom_derivatives_allowed_effects):
        _allowed.add_type(_kind)
ordered_effects.add_type(OrderedIOEffect)


@api_boundary
def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                ordered: bool = False, **kwargs: Any) -> Any:
    """Calls a Python function with effects (reading a file, logging, a random source) from a compiled program.

    It is called exactly once each time that the program comes to it, also where its results are not needed, and not
    again where values are recomputed for derivatives. It has no derivative itself.

    Args:
      callback: called as ``callback(*args, **kwargs)`` with arrays on the CPU in place of those given.
      result_shape_dtypes: what it returns, as a tree of :class:`jax.ShapeDtypeStruct` (or of arrays); ``None`` for
        nothing.
      args: trees of arrays.
      sharding: where to run when the program runs on several devices; on one it has no effect.
      ordered: keep all ordered calls in the order of the program, also across programs. They cannot be batched by
        :func:`jax.vmap`; others are called example by example.
      kwargs: trees of arrays.

    Returns:
      Arrays as described by ``result_shape_dtypes``. ``jax.effects_barrier()`` waits for calls without results.

    Raises:
      Exception: whatever the callback raises, as :func:`jax.pure_callback` describes.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import io_callback
    >>> seen = []
    >>> _ = jax.jit(lambda x: io_callback(lambda v: seen.append(float(v)), None, x))(jnp.float32(2))
    >>> jax.effects_barrier(); seen
    [2.0]
    """
    check_callable(callback, "io_callback")
    leaves, in_tree = tree_flatten((args, kwargs))
    avals, out_tree = result_types("io_callback", result_shape_dtypes)
    outs = io_callback_p.bind(*map(as_operand, leaves), callback=HostFunction(callback, in_tree), ordered=bool(ordered),
                              result_avals=avals, sharding=sharding)
    return tree_unflatten(out_tree, outs)


io_callback_p = Primitive("io_callback", multiple_results=True)
io_callback_p.abstract_cache = None  # its parameters hold functions, which it would keep alive


def _impl(*args: Any, callback: HostFunction, result_avals: Any, **params: Any) -> list[Any]:
    return run_now(callback, args, result_avals)


def _effect(ordered: bool) -> Effect:
    return ordered_io_effect if ordered else io_effect


def _lower(ctx: LoweringContext, *operands: Any, callback: HostFunction, ordered: bool, sharding: Any,
           **params: Any) -> Sequence[Any]:
    return lower_call(ctx, operands, callback, effect=_effect(ordered), ordered=ordered, sharding=sharding)


def _jvp(primals: Any, tangents: Any, *, callback: HostFunction, **params: Any) -> Any:
    raise ValueError(f"io_callback cannot be differentiated ({callback.where}). Pass it jax.lax.stop_gradient(x), or wrap "
                     "the function that calls it in jax.custom_jvp or jax.custom_vjp.")


def _batch(axis: AxisData, args: Any, dims: Any, *, ordered: bool, callback: HostFunction, **params: Any) -> Any:
    if ordered:
        raise ValueError(f"vmap of io_callback with ordered=True is not possible ({callback.where}): there is no order "
                         "among the examples of a batch. Use ordered=False, or jax.lax.map in place of vmap.")
    return one_by_one(io_callback_p, axis.size, args, dims, dict(params, ordered=ordered, callback=callback))


io_callback_p.def_impl(_impl)
io_callback_p.def_effectful_abstract_eval(
    lambda *avals, result_avals, ordered, **params: (list(result_avals), {_effect(ordered)}))
register_lowering(io_callback_p, _lower, cacheable=False)
rules.primitive_jvps[io_callback_p] = _jvp
rules.fancy_primitive_batchers[io_callback_p] = _batch

__all__ = ["IOEffect", "OrderedIOEffect", "io_callback", "io_callback_p"]
