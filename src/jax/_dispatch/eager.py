"""The bottom trace: each operation on concrete values is one compiled, cached call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._base import config
from jax._base.caching import register_cache, trace_context
from jax._dispatch import checks
from jax._dispatch.program import executable_for
from jax._language.avals import follow_wide_operands, typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer, install_bottom_trace, leaked
from jax._runtime import fastpath
from jax.tree_util import tree_structure

_compiled: dict[Any, Callable[..., Any]] = {}
_LEAF = tree_structure(0)


def process(prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Applies ``prim`` to concrete values."""
    impl = prim.impl
    if impl is not None:
        for x in args:
            if isinstance(x, Tracer):
                raise leaked(x)
        return impl(*args, **params)
    return _call_for(prim, params)(*args)


def apply_primitive(prim: Any, *args: Any, **params: Any) -> Any:
    """The compiled call of a primitive, whether or not it has an implementation in Python."""
    return _call_for(prim, params)(*args)


def _call_for(prim: Any, params: dict[str, Any]) -> Callable[..., Any]:
    key = (prim, *params.items()) if params else prim
    try:
        return _compiled[key]
    except KeyError:
        call = _compiled[key] = operation(prim, params)
    except TypeError:  # a third-party parameter that cannot be hashed
        call = operation(prim, params)
    return call


def operation(prim: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """``prim`` with these parameters as a function whose repeated calls stay in C++."""
    # Calls that C++ must not remember (NumPy integers, typed keys) and those it has forgotten find their program here.
    traced: dict[Any, ClosedJaxpr] = {}

    def bind(*args: Any) -> Any:
        out = prim.bind(*args, **params)
        return out if prim.multiple_results else [out]

    def cache_miss(*args: Any) -> Any:
        for x in args:
            if isinstance(x, Tracer):
                raise leaked(x)
        avals = tuple([typeof(x) for x in args])
        key = (avals, trace_context())
        jaxpr = traced.get(key)
        if jaxpr is None:
            if len(traced) > 256:
                traced.clear()
            info = DebugInfo(prim.name, prim.name)
            try:
                jaxpr = traced[key] = ClosedJaxpr(*trace_to_jaxpr(bind, avals, info))
            except TypeError:
                wide = follow_wide_operands(args)
                if wide is None:
                    raise
                return fastpath.answer(call(*wide), forget=True)
        executable, committed = executable_for(args, jaxpr=jaxpr, name=prim.name)
        finish = checks.follow_keys(jaxpr, args, prim.name)
        outs = executable.call(args, committed)
        if finish is not None:
            finish(outs)
        if checks.enabled():
            checks.check_operation(outs, prim, params, args)
        if prim.multiple_results:
            return fastpath.answer(outs, executable, tree_structure(list(range(len(outs)))), args, committed)
        return fastpath.answer(outs[0], executable, _LEAF, args, committed)

    def without_disable_jit(*args: Any) -> Any:
        previous = config.disable_jit.swap_local(False)
        try:
            return call(*args)
        finally:
            config.disable_jit.swap_local(previous)

    call = fastpath.make_callable(prim.name, without_disable_jit, cache_miss)
    return call


install_bottom_trace(process)
register_cache(_compiled.clear, name="jax._dispatch.eager")
