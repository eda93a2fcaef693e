"""Calls of jitted functions, flattened and traced."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from jax import monitoring
from jax._api import cache_misses
from jax._api.common import Described, FlatFun, arg_names
from jax._api.statics import Options, Placed, Static, StaticFun, brief, donation, split_static
from jax._base import config
from jax._base import source as source_info
from jax._base.caching import trace_context, weak_cache
from jax._dispatch import slow
from jax._dispatch.program import log_step
from jax._language.avals import ShapedArray, typeof
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.refs import Ref, check_aliasing, use
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer, is_bottom
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten


class Call(NamedTuple):
    """A call of a jitted function, traced: what runs it, and on what."""

    jaxpr: ClosedJaxpr
    operands: list[Any]
    leaves: list[Any]
    in_tree: Any
    out_tree: Any
    donated: tuple[bool, ...]
    name: str
    place: Any  # a device, or where the call is laid out over several; None: where its arguments are


def prepare(fun: Any, options: Options, args: Any, kwargs: Any, *, abstract: bool = False) -> Call:
    """Flattens a call and traces it (from the cache if its types have been seen)."""
    static, dyn_args, dyn_kwargs = split_static(options, args, kwargs, fun)
    leaves, in_tree = tree_flatten((dyn_args, dyn_kwargs))
    operands = leaves
    for x in leaves:
        if hasattr(type(x), "__jax_array__"):  # objects that stand for an array
            operands = [x.__jax_array__() if hasattr(type(x), "__jax_array__") else x for x in leaves]
            break
    try:
        avals = tuple([typeof(x) for x in operands])
    except TypeError:
        avals = tuple([abstract_leaf(x, abstract) for x in operands])
        if not abstract or None in avals:
            explain_bad_argument(fun, leaves, in_tree, abstract)
    place = options.device
    traced: Any
    if isinstance(place, Placed):
        place.admit(fun, in_tree, operands)
        jaxpr, consts, out_tree, place = place.trace(fun, in_tree, avals, static)
    else:
        traced = trace_cached(fun, in_tree, avals, static, axis_env.get(), options.inline)
        jaxpr, consts, out_tree = traced
    name = getattr(fun, "__name__", "<unnamed function>")
    donated = donation(options, in_tree, static)
    if use.begun:
        check_aliasing([*consts, *operands], len(consts), "jit", lambda: source_info.describe_function(fun),
                       lambda i: arg_names(fun, in_tree)[i])
    if consts:
        donated = (*(False,) * len(consts), *donated)
        return Call(jaxpr, [*consts, *operands], leaves, in_tree, out_tree, donated, name, place)
    return Call(jaxpr, operands, leaves, in_tree, out_tree, donated, name, place)


def abstract_leaf(x: Any, allowed: bool) -> Any:
    """The type of an argument, or ``None``; with ``allowed``, anything with a shape and a dtype has one."""
    try:
        return typeof(x)
    except TypeError:
        if allowed and hasattr(x, "shape") and hasattr(x, "dtype"):
            return ShapedArray(x.shape, x.dtype, bool(getattr(x, "weak_type", False)))
        return None


def explain_bad_argument(fun: Any, leaves: Any, in_tree: Any, abstract: bool, api: str = "jit") -> None:
    names = arg_names(fun, in_tree)
    for x, name in zip(leaves, names, strict=True):
        if abstract_leaf(x, abstract) is None:
            raise TypeError(
                f"{api} of {getattr(fun, '__name__', fun)}: the argument {name} has the value {brief(x)} of type "
                f"{type(x).__name__}, which is no array, scalar or tree of them. If it is a setting and not data, mark "
                "it with static_argnums or static_argnames; otherwise convert it to an array.")


@weak_cache(context=trace_context, explain=cache_misses.explain)
def trace_cached(fun: Any, in_tree: Any, avals: tuple[Any, ...], static: Static, env: Any, inline: bool,
                  ) -> tuple[ClosedJaxpr, list[Any], Any]:
    """The jaxpr of a call, the enclosing tracers it closes over (its leading arguments), and the output's tree."""
    if config.no_tracing.value:
        cache_misses.refuse(trace_cached, fun, in_tree, avals, static, env, inline)
    if config.compilation_cache_dir.value and is_bottom():
        from jax._runtime import prefetch  # only where programs are stored
        prefetch.begin(getattr(fun, "__name__", "<unnamed function>"), avals)
    begin = time.perf_counter()
    target = StaticFun(fun, static) if static.args or static.kwargs else fun
    flat = FlatFun(target, in_tree)
    described, taken = Described(fun), {i for i, _ in static.args}
    info = DebugInfo("jit", described.source, lambda: described.arg_names(in_tree, taken))
    try:
        jaxpr, consts = trace_to_jaxpr(flat, avals, info)
    except TypeError:
        _explain_bad_output(fun, flat)
        raise
    jaxpr, consts, tracers = hoist_tracers(jaxpr, consts)
    log_step("traced %s in %.4f s", cache_misses.CallText(fun, in_tree, avals, static), time.perf_counter() - begin)
    closed = ClosedJaxpr(jaxpr, consts)
    seconds = time.perf_counter() - begin
    monitoring.record_step("jaxpr_trace", seconds, getattr(fun, "__name__", "<unnamed function>"))
    slow.traced(closed, seconds)
    return closed, tracers, flat.out_tree


def hoist_tracers(jaxpr: Any, consts: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Makes the constants that are tracers or references leading arguments; returns jaxpr, constants left, and these."""
    if not any((type(c) is Ref or isinstance(c, Tracer)) for c in consts):
        return jaxpr, consts, []
    pairs = list(zip(jaxpr.constvars, consts, strict=True))
    moved = [(v, c) for v, c in pairs if (type(c) is Ref or isinstance(c, Tracer))]
    kept = [(v, c) for v, c in pairs if not (type(c) is Ref or isinstance(c, Tracer))]
    info = jaxpr.debug_info
    names = info.arg_names
    if names is not None:
        count = len(moved)  # the names must not keep the tracers
        info = info._replace(arg_names=lambda: (*(f"closed-over value {i}" for i in range(count)),
                                                *(names() if callable(names) else names)))
    jaxpr = jaxpr.replace(constvars=[v for v, _ in kept], invars=[*(v for v, _ in moved), *jaxpr.invars],
                          effects=jaxpr.effects, debug_info=info)
    return jaxpr, [c for _, c in kept], [c for _, c in moved]


def _explain_bad_output(fun: Any, flat: FlatFun) -> None:
    """If tracing failed because an output is no array, says which one."""
    if flat.out_tree is None or flat.last_out is None:
        return
    for (path, _), x in zip(tree_flatten_with_path(tree_unflatten(
            flat.out_tree, list(range(flat.out_tree.num_leaves))))[0], flat.last_out, strict=True):
        if abstract_leaf(x, False) is None:
            raise TypeError(
                f"jit of {getattr(fun, '__name__', fun)}: the function returned {brief(x)} of type "
                f"{type(x).__name__}{f' at {keystr(path)}' if path else ''}, which is no array, scalar or tree of them") \
                from None
