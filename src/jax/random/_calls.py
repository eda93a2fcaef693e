"""How samplers are called, and what they check of their arguments.

A sampler is written as a function of one typed key and arrays. Inside of programs it leaves its operations there; on
concrete values it is one compiled call on the raw words of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.jit import jit
from jax._base.caching import register_cache
from jax._base.config import debug_key_reuse, enable_x64
from jax._language.avals import typeof
from jax._language.trace import current_trace
from jax.lax._creation import as_shape
from jax.numpy._promotion import as_dtype
from jax.random._arrays import KeyArray, random_unwrap, random_wrap
from jax.random._keys import consumed, typed_key

_get_trace = current_trace.get
SAMPLER = "jax.random."  # with what names of programs begin that are samplers (``jax_debug_key_reuse``)
# Samplers whose public function has another name.
_PUBLIC = {"permuted_range": "permutation", "range_choice": "choice", "uniform_between": "uniform",
           "weighted_choice": "choice"}


def sampler(fun: Callable[..., Any]) -> Any:
    """Decorator for ``fun(key, *arrays, **settings)``; settings are hashable and given by keyword.

    The function stays as it is, for use inside of others (where most take arrays of keys as well), and gets an attribute
    ``run`` with which public functions call it: that checks the key, and compiles.
    """
    name = fun.__name__.lstrip("_")
    api = _PUBLIC.get(name, name)

    def on_words(raw: Any, *args: Any, impl: Any, settings: tuple[tuple[str, Any], ...]) -> Any:
        return fun(random_wrap(raw, impl), *args, **dict(settings))

    on_words.__name__ = on_words.__qualname__ = name
    compiled = jit(on_words, static_argnames=("impl", "settings")).in_cpp

    def run(key: Any, *args: Any, **settings: Any) -> Any:
        staged = _get_trace().staged
        if type(key) is not KeyArray or key.aval.shape or debug_key_reuse.value:
            key, _ = typed_key(key, api)
            if debug_key_reuse.value:
                return follow(key, args, settings)
            if not staged and type(key) is not KeyArray:
                return compiled(random_unwrap(key), *args, impl=key.dtype._impl, settings=(*settings.items(),))
        if staged:
            return fun(key, *args, **settings)
        for x in args:
            if type(x) is float or type(x) is int:
                args = tuple([on_device(x) if type(x) is float or type(x) is int else x for x in args])
                break
        return compiled(key._base_array, *args, impl=key._impl, settings=(*settings.items(),))

    def follow(key: Any, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """Under ``jax_debug_key_reuse``: the key is consumed once, whatever the sampler does with it inside."""
        if _get_trace().staged:
            def on_key(key: Any, *args: Any) -> Any:
                return fun(key, *args, **settings)
            on_key.__name__ = f"{SAMPLER}{api}"
            return jit(on_key)(key, *args)
        key = consumed(key, api)
        with debug_key_reuse(False):
            return compiled(random_unwrap(key), *args, impl=key.dtype._impl, settings=(*settings.items(),))

    fun.run = run  # type: ignore[attr-defined]
    return fun


_numbers: dict[Any, Any] = {}
register_cache(_numbers.clear, name="jax.random.numbers")


def on_device(x: Any) -> Any:
    """A Python number as an array, remembered: moving it to the device takes longer than many samplers run."""
    # Zeros of both signs are equal, and so are integers and floats.
    key = (x if x else str(x), type(x), enable_x64.value)
    found = _numbers.get(key)
    if found is None:
        if len(_numbers) > 256:
            _numbers.clear()
        found = _numbers[key] = jnp.asarray(x)
    return found


# --- shapes ---------------------------------------------------------------------------------------------------------

def as_sizes(shape: Any) -> tuple[Any, ...]:
    """A shape argument: a sequence of sizes, or one size."""
    if type(shape) is tuple:
        for d in shape:
            if type(d) is not int or d < 0:
                return as_shape(shape)
        return shape
    return as_shape((shape,) if hasattr(shape, "__index__") and not isinstance(shape, (list, tuple)) else shape)


def result_shape(api: str, shape: Any, **params: Any) -> tuple[Any, ...]:
    """The shape of samples: as asked for, or what the parameters broadcast to.

    Raises:
      ValueError: the parameters do not broadcast to the shape asked for.
    """
    return batch_shape(api, shape, {name: typeof(x).shape for name, x in params.items()})


def batch_shape(api: str, shape: Any, given: dict[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """:func:`result_shape` for the shapes of parameters."""
    wanted = as_sizes(shape) if shape is not None else None
    try:
        out = np.broadcast_shapes(*given.values())
        if wanted is None:
            return tuple(out)
        if not out or np.broadcast_shapes(out, wanted) == wanted:
            return wanted
    except ValueError:
        pass
    listed = ", ".join(f"{name} {s}" for name, s in given.items())
    goal = "each other" if wanted is None else f"shape={wanted}"
    raise ValueError(f"jax.random.{api}: the shapes of parameters ({listed}) do not broadcast to {goal}")


def spread(x: Any, shape: tuple[Any, ...]) -> Any:
    """``x`` broadcast to ``shape``."""
    own = typeof(x).shape
    if own == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(own), len(shape))))


def operand(x: Any, dtype: Any, shape: tuple[Any, ...]) -> Any:
    """A parameter in ``dtype``, ready for element-wise operations with samples of ``shape``: 0-d, or of its rank."""
    x = as_dtype(x, dtype, False)
    own = typeof(x).shape
    if not own or len(own) == len(shape):
        return x
    return lax.broadcast_in_dim(x, (1,) * (len(shape) - len(own)) + own, tuple(range(len(shape) - len(own), len(shape))))


def sum_last(x: Any) -> Any:
    """The sum over the last axis; narrow types are summed in float32."""
    dtype, axis = typeof(x).dtype, (typeof(x).ndim - 1,)
    if dtypes.itemsize_bits(dtype) >= 32:
        return lax.reduce_sum(x, axis)
    return lax.convert_element_type(lax.reduce_sum(lax.convert_element_type(x, np.dtype(np.float32)), axis), dtype)


# --- dtypes ---------------------------------------------------------------------------------------------------------

def float_dtype(api: str, dtype: Any) -> Any:
    """A dtype argument that must be a float's; by default the default float.

    Raises:
      ValueError: it is not.
    """
    return _dtype_of(api, dtype, float, np.floating, "a float dtype")


def inexact_dtype(api: str, dtype: Any) -> Any:
    return _dtype_of(api, dtype, float, np.inexact, "a float or complex dtype")


def integer_dtype(api: str, dtype: Any) -> Any:
    return _dtype_of(api, dtype, int, np.integer, "an integer dtype")


def _dtype_of(api: str, dtype: Any, default: type, kind: Any, accepted: str) -> Any:
    if dtype is None:
        return dtypes.scalar_dtype(default)
    found = dtypes.requested_dtype(dtype, api)
    if not dtypes.issubdtype(found, kind):
        raise ValueError(f"jax.random.{api}: dtype must be {accepted}, got {found}")
    return found
