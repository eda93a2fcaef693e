"""How functions of arrays are called: straight to one primitive where nothing has to be converted first.

A decorated function is the general implementation: it checks, converts and broadcasts. The wrapper around it decides
between three ways, each with as little Python as possible:

- on concrete arrays, one compiled call of the general implementation, found by jaxlib's C++ cache from the types of
  the operands;
- under a transformation, with operands that the primitive takes as they are, the primitive;
- else the general implementation, inlined while staging and as one compiled call otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.jit import jit
from jax._base.config import enable_x64, numpy_rank_promotion
from jax._base.source import filter_traceback
from jax._language.avals import host_constant
from jax._language.trace import bottom, current_trace
from jax.numpy._promotion import promote_shapes

_get_trace = current_trace.get
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_I32 = np.dtype(np.int32)

_every = [np.dtype(t) for t in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128, dtypes.bfloat16)]
BOOLEAN = frozenset([np.dtype(bool)])
NUMBERS = frozenset(d for d in _every if d.kind != "b")
INEXACT = frozenset(d for d in _every if dtypes.issubdtype(d, np.inexact))
FLOATS = frozenset(d for d in _every if dtypes.issubdtype(d, np.floating))
INTEGERS = frozenset(d for d in _every if d.kind in "iu")
SIGNED_NUMBERS = frozenset(d for d in NUMBERS if d.kind != "u")
REALS = FLOATS | INTEGERS
BITWISE = BOOLEAN | INTEGERS
ANY = frozenset(_every)
ORDERED = BITWISE | FLOATS


def _keep_parameter_names(call: Any, fun: Any) -> Any:
    """Gives ``call`` the parameter names of ``fun``, so that they work as keywords at no cost per call."""
    n = call.__code__.co_argcount
    names = fun.__code__.co_varnames[:n]
    taken = call.__code__.co_varnames[n:]
    call.__code__ = call.__code__.replace(co_varnames=(*names, *[f"_{t}" if t in names else t for t in taken]))
    functools.update_wrapper(call, fun)
    call.general = fun
    call.filters_errors = True
    return call


def unary(prim: Any = None, accepted: frozenset[Any] = frozenset(), **params: Any) -> Callable[[Any], Any]:
    """Decorator of a function of one array that is ``prim`` (with ``params``) for operands of ``accepted`` dtypes.

    Without ``prim`` the function always takes several.
    """
    def decorate(fun: Any) -> Any:
        def compiled(x: Any) -> Any:
            nonlocal compiled
            compiled = jit(fun)
            return compiled(x)

        def call(x: Any) -> Any:
            try:
                trace = _get_trace()
                if trace is bottom:
                    return compiled(x)
                aval = getattr(x, "aval", None)
                if aval is not None and aval.dtype in accepted:
                    return trace.process(prim, (x,), params.copy())
                return fun(x) if trace.staged else compiled(x)
            except Exception as error:
                filter_traceback(error)
                raise

        def call_general(x: Any) -> Any:
            try:
                return fun(x) if _get_trace().staged else compiled(x)
            except Exception as error:
                filter_traceback(error)
                raise
        return _keep_parameter_names(call_general if prim is None else call, fun)
    return decorate


def binary(prim: Any = None, accepted: frozenset[Any] = frozenset(), **params: Any) -> Callable[[Any], Any]:
    """Decorator of a function of two arrays that is ``prim`` for operands of one dtype out of ``accepted``.

    Without ``prim`` the function always takes several. Python numbers that are literals of the other operand's dtype go
    to the primitive as they are.
    """
    def decorate(fun: Any) -> Any:
        def compiled(x: Any, y: Any) -> Any:
            nonlocal compiled
            compiled = jit(fun)
            return compiled(x, y)

        def call(x: Any, y: Any) -> Any:
            try:
                trace = _get_trace()
                if trace is bottom:
                    # Compiled calls are cached, and a warning is due at each call.
                    return compiled(x, y) if numpy_rank_promotion.value != "warn" else fun(x, y)
                tx, ty = type(x), type(y)
                if ty is float or ty is int:
                    a = getattr(x, "aval", None)
                    if a is not None and a.dtype in accepted:
                        z = _literal(y, a)
                        if z is not None:
                            return trace.process(prim, (x, z), params.copy())
                elif tx is float or tx is int:
                    a = getattr(y, "aval", None)
                    if a is not None and a.dtype in accepted:
                        z = _literal(x, a)
                        if z is not None:
                            return trace.process(prim, (z, y), params.copy())
                else:
                    a, b = getattr(x, "aval", None), getattr(y, "aval", None)
                    if a is b:
                        if a is not None and a.dtype in accepted:
                            return trace.process(prim, (x, y), params.copy())
                    else:
                        if b is None and (ty is np.ndarray or isinstance(y, np.generic)):
                            b = y
                        elif a is None and (tx is np.ndarray or isinstance(x, np.generic)):
                            a = x
                        if a is not None and b is not None and a.dtype is b.dtype and a.dtype in accepted:
                            s, t = a.shape, b.shape
                            if len(s) != len(t) and s and t:
                                x, y = promote_shapes(fun.__name__, x, y)
                            return trace.process(prim, (x, y), params.copy())
                return fun(x, y) if trace.staged or numpy_rank_promotion.value == "warn" else compiled(x, y)
            except Exception as error:
                filter_traceback(error)
                raise

        def call_general(x: Any, y: Any) -> Any:
            try:
                return fun(x, y) if _get_trace().staged or numpy_rank_promotion.value == "warn" else compiled(x, y)
            except Exception as error:
                filter_traceback(error)
                raise
        return _keep_parameter_names(call_general if prim is None else call, fun)
    return decorate


_constants: dict[tuple[Any, Any], Any] = {}
_BOUNDS = {d: (int(dtypes.iinfo(d).min), int(dtypes.iinfo(d).max)) for d in INTEGERS}


def _literal(value: Any, aval: Any) -> Any:
    """The Python number ``value`` as an operand beside one of type ``aval``, or None if that takes a promotion."""
    dtype = aval.dtype
    t = type(value)
    if dtype is _F32:
        if not enable_x64.value:
            return value if t is float else float(value)
    elif dtype is _I32:
        if t is int and not enable_x64.value:
            return value if -2147483648 <= value <= 2147483647 else None
    if aval.weak_type:
        return None
    if t is int and dtype in INTEGERS:
        low, high = _BOUNDS[dtype]
        return _constant(value, dtype) if low <= value <= high else None
    return _constant(value, dtype) if dtype in FLOATS else None


def _constant(value: Any, dtype: Any) -> Any:
    if not value or value != value:  # zeros have signs, and NaN is not found again
        return host_constant(value, dtype)
    found = _constants.get((dtype, value))
    if found is None:
        if len(_constants) > 4096:  # a bound, not a leak
            _constants.clear()
        found = _constants[dtype, value] = np.asarray(value, dtype)
        found.flags.writeable = False
    return host_constant(found, dtype) if dtype.itemsize >= 8 else found
