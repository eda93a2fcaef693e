"""Evaluation of primitives that hold jaxprs on concrete values, as compiled calls.

A call is kept with the jaxpr it was made for and goes away with it. Functions written in place (``lambda``) are new
at every call, and so are their jaxprs; but these usually say the same, and then share the calls of the last programs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from jax._base.caching import register_cache
from jax._dispatch.eager import operation
from jax._dispatch.references import run_discharged
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, Literal
from jax._language.refs import Ref, use

Call = Callable[..., Any]

_recent: OrderedDict[Any, Call] = OrderedDict()
_MOST = 256
register_cache(_recent.clear, name="jax.lax._eager_calls")


def eager_calls(prim: Any, anchor: str) -> Call:
    """The implementation of a primitive; its calls are kept with the jaxpr in ``params[anchor]``."""
    def impl(*args: Any, **params: Any) -> Any:
        if use.begun and any([type(x) is Ref for x in args]):
            return run_discharged(prim, args, params)
        holder = params[anchor]
        if type(holder) is not ClosedJaxpr:
            holder = holder[0]
        try:
            calls = holder.memo
        except AttributeError:
            calls = holder.memo = {}
        key = (prim, *params.items())
        call = calls.get(key)
        if call is None:
            call = calls[key] = _shared(prim, params)
        return call(*args)
    return impl


def _shared(prim: Any, params: dict[str, Any]) -> Call:
    try:
        key = (prim, *((name, _form(value)) for name, value in params.items()))
        found = _recent.get(key)
    except (_NoForm, TypeError):  # also parameters that hold what cannot be hashed
        return operation(prim, params)
    if found is None:
        found = _recent[key] = operation(prim, params)
        if len(_recent) > _MOST:
            _recent.popitem(last=False)
    else:
        _recent.move_to_end(key)
    return found


class _NoForm(Exception):
    """Not comparable: the program has effects or constants."""


def _form(value: Any) -> Any:
    """A hashable value that is equal for parameters that mean the same."""
    if isinstance(value, ClosedJaxpr):
        if value.consts:
            raise _NoForm
        return _form_of_jaxpr(value.jaxpr)
    if isinstance(value, Jaxpr):
        return _form_of_jaxpr(value)
    if isinstance(value, tuple):
        return tuple([_form(v) for v in value])
    try:
        hash(value)
    except TypeError:
        raise _NoForm from None
    return type(value), value


def _form_of_jaxpr(jaxpr: Jaxpr) -> Any:
    if jaxpr.effects or jaxpr.constvars:
        raise _NoForm
    number: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}

    def atom(v: Any) -> Any:
        if type(v) is not Literal:
            return number[v]
        # Zeros of either sign are equal, and so are 1 and True; their text and types are not.
        val = v.val
        return (type(val), val.tobytes() if isinstance(val, (np.ndarray, np.generic)) else repr(val), v.aval)

    eqns = []
    for eqn in jaxpr.eqns:
        ins = tuple([atom(v) for v in eqn.invars])
        params = tuple([(name, _form(value)) for name, value in eqn.params.items()])
        for v in eqn.outvars:
            number[v] = len(number)
        eqns.append((eqn.primitive, ins, params, len(eqn.outvars), eqn.ctx))
    return (tuple(jaxpr.in_avals), tuple(eqns), tuple([atom(v) for v in jaxpr.outvars]))
