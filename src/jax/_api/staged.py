"""Functions about traced programs: ``make_jaxpr``, ``eval_shape``, evaluation at trace time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from jax import stages
from jax._api.common import FlatFun, check_callable, debug_info
from jax._api.statics import Static, StaticFun
from jax._api.traced_calls import abstract_leaf, explain_bad_argument, hoist_tracers
from jax._base.source import api_boundary, extend_names
from jax._language.axes import extend_axis_env
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import CompileTimeTrace, bottom, current_trace, entering
from jax.tree_util import tree_flatten, tree_unflatten


def make_jaxpr(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (),
               axis_env: Sequence[tuple[Any, int]] | None = None, return_shape: bool = False) -> Callable[..., Any]:
    """A function that returns the jaxpr of ``fun`` at its arguments' types.

    Args:
      fun: a function of trees of arrays.
      static_argnums: positions of arguments passed to ``fun`` as they are.
      axis_env: named axes and their sizes that collectives in ``fun`` refer to.
      return_shape: return also the output as a tree of :class:`jax.ShapeDtypeStruct`.

    >>> import jax
    >>> print(jax.make_jaxpr(lambda x: x + 1.0)(2.0))
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """
    check_callable(fun, "make_jaxpr")
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @functools.wraps(fun)
    @api_boundary
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        n = len(args)
        if any(not -n <= i < n for i in nums):
            raise ValueError(f"make_jaxpr: static_argnums={nums} names a positional argument that was not given: the call "
                             f"has {n}. Pass it by position.")
        at = {i % n for i in nums}
        static = Static(tuple((i, args[i]) for i in sorted(at)), (), (), n)
        target = StaticFun(fun, static) if static.args else fun
        leaves, tree = tree_flatten((tuple(x for i, x in enumerate(args) if i not in at), kwargs))
        avals = [abstract_leaf(x, True) for x in leaves]
        if None in avals:
            explain_bad_argument(fun, leaves, tree, True, "make_jaxpr")
        flat = FlatFun(target, tree)
        with ExitStack() as stack:
            for name, size in axis_env or ():
                stack.enter_context(extend_axis_env(name, size))
            jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info(fun, tree, "make_jaxpr"))
        closed = ClosedJaxpr(jaxpr, consts)
        if return_shape:
            return closed, tree_unflatten(flat.out_tree, _structs(closed.out_avals))
        return closed
    return jaxpr_maker


def _structs(avals: Sequence[Any]) -> list[stages.ShapeDtypeStruct]:
    return [stages.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=a.sharding) for a in avals]


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The output of ``fun`` as a tree of :class:`jax.ShapeDtypeStruct`, without computing it.

    The arguments are arrays, or anything with ``shape`` and ``dtype``.

    >>> import jax, jax.numpy as jnp
    >>> jax.eval_shape(jnp.dot, jnp.ones((2, 3)), jnp.ones((3, 4)))
    ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """
    check_callable(fun, "eval_shape")
    own = getattr(fun, "eval_shape", None)
    if own is not None and hasattr(fun, "trace"):
        return own(*args, **kwargs)
    leaves, tree = tree_flatten((args, kwargs))
    avals = [abstract_leaf(x, True) for x in leaves]
    if None in avals:
        explain_bad_argument(fun, leaves, tree, True, "eval_shape")
    flat = FlatFun(fun, tree)
    jaxpr, _ = trace_to_jaxpr(flat, avals, debug_info(fun, tree, "eval_shape"))
    return tree_unflatten(flat.out_tree, _structs(jaxpr.out_avals))


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Operations on known values inside are computed at once, also while a function is being traced.

    Their results are constants of the traced program, on which Python control flow may depend. Operations on traced
    values inside are traced as usual.

    >>> import jax, jax.numpy as jnp
    >>> @jax.jit
    ... def f(x):
    ...     with jax.ensure_compile_time_eval():
    ...         table = jnp.arange(3) * 2
    ...         size = int(table.sum())
    ...     return x + size
    >>> int(f(1))
    7
    """
    trace = current_trace.get()
    if trace is not bottom and not isinstance(trace, CompileTimeTrace):
        trace = CompileTimeTrace(trace)
    with entering(trace):
        yield


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """``fun`` with its operations grouped under a name (its own by default) in jaxprs, HLO and profiles."""
    check_callable(fun, "named_call")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"named_call: name must be a string, got {name!r} of type {type(name).__name__}")
    label = name or str(getattr(fun, "__name__", "call"))

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with extend_names(label):
            return fun(*args, **kwargs)
    return named


__all__ = ["ensure_compile_time_eval", "eval_shape", "hoist_tracers", "make_jaxpr", "named_call"]
