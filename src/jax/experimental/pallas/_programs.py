"""Traced kernels, kept for as long as they may be called again.

Users write ``pallas_call(...)(x)`` in functions, so that every call has a kernel and specs of its own. When it turns out to
be the same program as an earlier one, that one is used, and with it what has been compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.jit import jit
from jax._base.caching import register_cache, trace_context
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._language.trace import bottom, current_trace
from jax.experimental.pallas._primitive import pallas_call_p

_MOST_PROGRAMS = 512


class Program:
    """The parameters of a kernel call; called with operands, it binds the primitive."""

    __slots__ = ("params", "compiled", "__weakref__")

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

        def run(*operands: Any) -> list[Any]:
            return pallas_call_p.bind(*operands, **params)

        run.__name__ = run.__qualname__ = params["name"]
        self.compiled = jit(run, inline=True)

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        if current_trace.get() is bottom:
            return self.compiled(*operands)
        return pallas_call_p.bind(*operands, **self.params)


_programs: dict[Any, list[Program]] = {}
register_cache(_programs.clear, name="jax.experimental.pallas.programs")


def program_like(kernel: Callable[..., None], params: dict[str, Any]) -> Program:
    """The program with these parameters; an earlier one of the same function if there is one that does the same."""
    function: Any = kernel
    while hasattr(function, "func"):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        return Program(params)
    mapping = params["grid_mapping"]
    rest = tuple([(k, v) for k, v in params.items() if k not in ("jaxpr", "grid_mapping")])
    blocks = tuple([(m.block_shape, m.array_aval, m.memory_space, m.pipeline_mode) for m in mapping.block_mappings])
    key = (code, mapping.grid, mapping.num_inputs, mapping.scratch_avals, blocks, rest, trace_context(), axis_env.get())
    for program in _programs.get(key, ()):
        if _same_call(program.params, params):
            return program
    if sum(map(len, _programs.values())) >= _MOST_PROGRAMS:
        _programs.clear()
    new = Program(params)
    _programs.setdefault(key, []).append(new)
    return new


def _same_call(a: dict[str, Any], b: dict[str, Any]) -> bool:
    maps = [[m.index_map_jaxpr for m in p["grid_mapping"].block_mappings] for p in (a, b)]
    return _same(a["jaxpr"], b["jaxpr"]) and all([_same(x, y) for x, y in zip(*maps, strict=True)])


# --- comparing programs -----------------------------------------------------------------------------------------------

def _same(a: Any, b: Any) -> bool:
    """Whether two programs, or parameters, are the same but for names of variables and places in the source."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, ClosedJaxpr):
        return _same_jaxpr(a.jaxpr, b.jaxpr) and _same(tuple(a.consts), tuple(b.consts))
    if isinstance(a, Jaxpr):
        return _same_jaxpr(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all([_same(x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return a.hex() == b.hex()
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # of arrays, say
        return False


def _same_jaxpr(a: Jaxpr, b: Jaxpr) -> bool:
    if len(a.eqns) != len(b.eqns) or len(a.constvars) != len(b.constvars):
        return False
    names: dict[Any, Any] = {}
    if not _same_binders([*a.constvars, *a.invars], [*b.constvars, *b.invars], names):
        return False
    return all([_same_equation(x, y, names) for x, y in zip(a.eqns, b.eqns, strict=True)]) \
        and _same_atoms(a.outvars, b.outvars, names)


def _same_equation(a: JaxprEqn, b: JaxprEqn, names: dict[Any, Any]) -> bool:
    return (a.primitive is b.primitive and a.effects == b.effects and a.ctx == b.ctx and a.params.keys() == b.params.keys()
            and _same_atoms(a.invars, b.invars, names) and all([_same(v, b.params[k]) for k, v in a.params.items()])
            and _same_binders(a.outvars, b.outvars, names))


def _same_binders(a: Sequence[Any], b: Sequence[Any], names: dict[Any, Any]) -> bool:
    names.update(zip(a, b, strict=False))
    return len(a) == len(b) and all([x.aval == y.aval for x, y in zip(a, b, strict=True)])


def _same_atoms(a: Sequence[Any], b: Sequence[Any], names: dict[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if type(x) is Literal:
            if type(y) is not Literal or x.aval != y.aval or not _same(x.val, y.val):
                return False
        elif names.get(x) is not y:
            return False
    return True


__all__ = ["Program", "program_like"]
