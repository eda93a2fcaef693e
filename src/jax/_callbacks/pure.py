"""``pure_callback``: a function of NumPy or Python in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._base.source import api_boundary
from jax._callbacks.function import HostFunction, as_operand, lower_call, one_by_one, result_types, run_now
from jax._ground.structural import broadcast_in_dim, broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._lowering.context import LoweringContext
from jax._lowering.rules import register_lowering
from jax._transforms.batch import AxisData
from jax.tree_util import tree_flatten, tree_unflatten

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


@api_boundary
def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """Calls a pure Python function from a compiled program.

    The compiler may call it any number of times, also not at all, where its results are not needed; see
    :func:`jax.experimental.io_callback` for functions that do something besides computing. It has no derivative:
    :func:`jax.custom_jvp` gives it one.

    Args:
      callback: called as ``callback(*args, **kwargs)`` with arrays on the CPU in place of those given. It may itself
        use JAX.
      result_shape_dtypes: what it returns, as a tree of :class:`jax.ShapeDtypeStruct` (or of arrays).
      args: trees of arrays.
      sharding: where to run when the program runs on several devices; on one it has no effect.
      vmap_method: what :func:`jax.vmap` does. ``"sequential"`` calls once per example, in a loop;
        ``"sequential_unrolled"`` in an unrolled one. The others call once for all, so that the callback must work along
        leading axes: ``"expand_dims"`` gives unbatched arguments a leading axis of size 1, ``"broadcast_all"`` of full
        size, ``"legacy_vectorized"`` none. Without one, ``vmap`` raises an error.
      kwargs: trees of arrays.

    Returns:
      Arrays as described by ``result_shape_dtypes``.

    Raises:
      Exception: whatever the callback raises, as an error that is also a ``jax.errors.JaxRuntimeError``; its
        ``__cause__`` is the original. Programs run in the background, so it may come from the function that waits for
        the results.
      ValueError: an unknown ``vmap_method``; 64-bit results while these types are off.
      RuntimeError: the callback returns something else than was promised.

    >>> import jax, jax.numpy as jnp, numpy as np
    >>> @jax.jit
    ... def f(x):
    ...     return jax.pure_callback(np.sort, x, x, vmap_method="expand_dims")
    >>> f(jnp.array([2., 1.])).tolist()
    [1.0, 2.0]
    """
    check_callable(callback, "pure_callback")
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"pure_callback: vmap_method must be one of {', '.join(map(repr, METHODS))} or None, "
                         f"got {vmap_method!r}")
    leaves, in_tree = tree_flatten((args, kwargs))
    avals, out_tree = result_types("pure_callback", result_shape_dtypes)
    outs = pure_callback_p.bind(*map(as_operand, leaves), callback=HostFunction(callback, in_tree), result_avals=avals,
                                sharding=sharding, vmap_method=vmap_method)
    return tree_unflatten(out_tree, outs)


pure_callback_p = Primitive("pure_callback", multiple_results=True)
pure_callback_p.abstract_cache = None  # its parameters hold functions, which it would keep alive


def _impl(*args: Any, callback: HostFunction, result_avals: Any, **params: Any) -> list[Any]:
    return run_now(callback, args, result_avals)


def _lower(ctx: LoweringContext, *operands: Any, callback: HostFunction, sharding: Any, **params: Any) -> Sequence[Any]:
    return lower_call(ctx, operands, callback, effect=None, sharding=sharding)


def _jvp(primals: Any, tangents: Any, *, callback: HostFunction, **params: Any) -> Any:
    raise ValueError(f"pure_callback cannot be differentiated, as nothing is known of the derivative of {callback.where}. "
                     "Wrap the function that calls it in jax.custom_jvp or jax.custom_vjp; or, if no derivative is meant "
                     "to flow through it, pass jax.lax.stop_gradient(x) to it.")


def _batch(axis: AxisData, args: Any, dims: Any, *, callback: HostFunction, **params: Any) -> Any:
    return batch_foreign_call(pure_callback_p, "pure_callback", callback.where, axis.size, args, dims,
                              dict(params, callback=callback))


def batch_foreign_call(prim: Any, api: str, called: Any, size: int, args: Any, dims: Any, params: dict[str, Any],
                       adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> Any:
    """The batching rule of calls of functions that nothing is known of, by their parameter ``vmap_method``.

    ``api`` and ``called`` are for the message; ``adapt`` changes what else of the parameters a batch changes.
    """
    method = params["vmap_method"]
    if method is None:
        raise NotImplementedError(f"vmap of {api} needs to know whether {called} takes batches; pass vmap_method, one of "
                                  f"{', '.join(map(repr, METHODS))}")
    if method.startswith("sequential"):
        return one_by_one(prim, size, args, dims, params, unroll=size if method.endswith("unrolled") else 1)
    given = [with_axis(x, d, size, method) for x, d in zip(args, dims, strict=True)]
    avals = tuple(a.update(shape=(size, *a.shape)) for a in params["result_avals"])
    params = dict(params if adapt is None else adapt(params), result_avals=avals)
    return prim.bind(*given, **params), [0] * len(avals)


def with_axis(x: Any, d: int | None, size: int, method: str) -> Any:
    """An argument with the mapped axis as ``method`` wants it."""
    if d is not None:
        return move_axis(x, d, 0)
    if method == "broadcast_all":
        return broadcast_to_axis(x, size, 0)
    if method == "expand_dims":
        shape = typeof(x).shape
        return broadcast_in_dim(x, (1, *shape), range(1, len(shape) + 1))
    return x


pure_callback_p.def_impl(_impl)
pure_callback_p.def_abstract_eval(lambda *avals, result_avals, **params: list(result_avals))
register_lowering(pure_callback_p, _lower, cacheable=False)
rules.primitive_jvps[pure_callback_p] = _jvp
rules.fancy_primitive_batchers[pure_callback_p] = _batch

__all__ = ["METHODS", "batch_foreign_call", "pure_callback", "pure_callback_p"]
