"""Operators and methods of arrays, installed on the one class that tracers and concrete arrays share.

Operators defer to types that they do not know, so that these can implement the reflected operation; a list gets an
error with the remedy at once, for it never can.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.placement import device_put
from jax._base._jaxlib import xla
from jax._base.source import filter_traceback
from jax._language.avals import not_an_array_message, typeof
from jax._language.refs import AbstractRef, operations
from jax._language.trace import Tracer, install_operators
from jax.numpy import _cumulative as cumulative
from jax.numpy import _positions as positions
from jax.numpy import _products as products
from jax.numpy import _promotion as promotion
from jax.numpy import _reductions as red
from jax.numpy import _statistics as stats
from jax.numpy import _ufuncs_arithmetic as arith
from jax.numpy import _ufuncs_floating as floating
from jax.numpy import _ufuncs_logical as logic
from jax.numpy._at import IndexUpdater, getitem
from jax.numpy._view import view

Array = xla.Array
_known = promotion._known_types
_is_operand = promotion.is_arraylike


# --- operators ------------------------------------------------------------------------------------------------------

def _not_an_operand(symbol: str, other: Any, soft: bool) -> Any:
    if not soft and type(other) in (list, tuple):
        raise TypeError(f"array {symbol} {type(other).__name__}: {not_an_array_message(other)}")
    return NotImplemented


def _operator(function: Callable[..., Any], symbol: str, soft: bool = False) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) in _known or _is_operand(other):
            try:  # costs nothing unless it fails
                return function(self, other)
            except Exception as error:
                filter_traceback(error)
                raise
        return _not_an_operand(symbol, other, soft)
    method.__doc__ = f"``self {symbol} other``, element by element."
    return method


def _reflected(function: Callable[..., Any], symbol: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) in _known or _is_operand(other):
            try:
                return function(other, self)
            except Exception as error:
                filter_traceback(error)
                raise
        return _not_an_operand(symbol, other, False)
    method.__doc__ = f"``other {symbol} self``, element by element."
    return method


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of this package that is imported when it is first called."""
    found: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(importlib.import_module(f"jax.numpy{module}"), name)
        try:
            return found(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise
    return call


def _function(ufunc: Any) -> Any:
    return getattr(ufunc, "_call", ufunc)


_binary: dict[str, tuple[Any, str]] = {
    "add": (arith.add, "+"), "sub": (arith.subtract, "-"), "mul": (arith.multiply, "*"),
    "truediv": (arith.true_divide, "/"), "floordiv": (arith.floor_divide, "//"), "mod": (arith.remainder, "%"),
    "divmod": (arith.divmod, "divmod"), "pow": (arith.power, "**"), "matmul": (products.matmul_of_two, "@"),
    "and": (logic.bitwise_and, "&"), "or": (logic.bitwise_or, "|"), "xor": (logic.bitwise_xor, "^"),
    "lshift": (logic.left_shift, "<<"), "rshift": (logic.right_shift, ">>"),
}
_comparisons: dict[str, tuple[Any, str]] = {
    "lt": (logic.less, "<"), "le": (logic.less_equal, "<="), "gt": (logic.greater, ">"),
    "ge": (logic.greater_equal, ">="), "eq": (logic.equal, "=="), "ne": (logic.not_equal, "!="),
}


def _operators() -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, (function, symbol) in _binary.items():
        members[f"__{name}__"] = _operator(_function(function), symbol)
        members[f"__r{name}__"] = _reflected(_function(function), symbol)
    for name, (function, symbol) in _comparisons.items():
        members[f"__{name}__"] = _operator(function, symbol, soft=name in ("eq", "ne"))
    for name, member in members.items():
        member.__name__ = name
        member.__qualname__ = f"Array.{name}"
    members.update({"__neg__": _function(arith.negative), "__pos__": arith.positive, "__abs__": arith.absolute,
                    "__invert__": logic.invert})
    return members


def _round(self: Any, ndigits: int | None = None) -> Any:
    return floating.round(self, ndigits or 0)


def _contains(self: Any, item: Any) -> bool:
    return bool(red.any(logic.equal(self, item)))


def _iter(self: Any) -> Any:
    """The slices along the first axis."""
    if not self.shape:
        raise TypeError("iteration over an array without dimensions (shape ())")
    return iter(lax.unstack(self))


def _setitem(self: Any, index: Any, value: Any) -> None:
    if type(self.aval) is AbstractRef:
        operations["set"](self, index, value)
        return
    raise TypeError("JAX arrays are immutable and cannot be assigned to. Instead of x[index] = value write "
                    "x = x.at[index].set(value); also .add, .multiply, .min, .max ...")


def _at(self: Any) -> Any:
    """Indexed, the elements of which ``.set``, ``.add`` ... make an updated copy. Of a reference, a view."""
    if type(self.aval) is AbstractRef:
        return operations["at"](self)
    return IndexUpdater(self)


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """``jax.numpy``, the namespace of the array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the array API version {api_version!r} is not supported; 2024.12 is the latest")
    return importlib.import_module("jax.numpy")


# --- methods --------------------------------------------------------------------------------------------------------

def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The array with the elements converted to ``dtype``. See ``jnp.astype``."""
    return astype(self, dtype, copy=copy, device=device)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """``x`` with the elements converted to ``dtype``.

    Args:
      x: an array or scalar.
      dtype: what names a dtype; None is the default float.
      copy: return a new array also when nothing is converted.
      device: a device or sharding for the result.

    Warns:
      ComplexWarning: when complex numbers lose their imaginary part.
    """
    promotion.check_arraylike("astype", x)
    x = promotion.unwrap(x)
    wanted = dtypes.requested_dtype(float if dtype is None else dtype, "astype")
    have = typeof(x)
    if wanted == np.bool_ and have.dtype != np.bool_ and isinstance(have.dtype, np.dtype):
        out = logic.not_equal(x, 0)
    else:
        out = lax.convert_element_type(x, wanted)
    if device is not None:
        out = device_put(out, device)
    return lax.copy_p.bind(out) if copy and out is x else out


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The memory of the array read as elements of ``dtype``; the last axis is resized if the element sizes differ."""
    if type is not None:
        raise NotImplementedError("Array.view: type= is not supported, arrays have one type")
    promotion.check_arraylike("view", self)
    if dtype is None:
        return self
    return view(self, dtype)


def _transpose(self: Any, *axes: Any) -> Any:
    """The array with its axes reversed, or in the order of ``axes`` (a tuple or separate arguments)."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return _reversed_axes(self)
    order = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
    return lax.transpose(self, tuple(order))


def _reversed_axes(self: Any) -> Any:
    return lax.transpose(self, tuple(range(self.ndim - 1, -1, -1)))


def _matrix_transpose(self: Any) -> Any:
    n = self.ndim
    if n < 2:
        raise ValueError(f"Array.mT: the array has shape {self.shape}, and at least two dimensions are needed")
    return lax.transpose(self, (*range(n - 2), n - 1, n - 2))


def _reshape(self: Any, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The elements in another shape, given as a tuple or as separate sizes; one size can be -1. See ``jnp.reshape``."""
    try:
        shape = args[0] if len(args) == 1 else args
        return _reshape_function(self, shape, order, copy=copy, out_sharding=out_sharding)
    except Exception as error:
        filter_traceback(error)
        raise


_reshape_function = _later("", "reshape")


def _method(name: str, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``x.name(...)`` for the function ``jnp.name(x, ...)``."""
    target = function or _later("", name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return target(self, *args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise
    if function is not None:
        functools.update_wrapper(method, function)
    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = f"See ``jax.numpy.{name}``."
    return method


_METHODS: dict[str, Callable[..., Any] | None] = {
    "all": red.all, "any": red.any, "argmax": positions.argmax, "argmin": positions.argmin, "argpartition": None,
    "argsort": None, "choose": None, "conj": floating.conjugate, "conjugate": floating.conjugate,
    "cumprod": cumulative.cumprod, "cumsum": cumulative.cumsum, "diagonal": None, "dot": products.dot, "max": red.max,
    "mean": stats.mean, "min": red.min, "nonzero": None, "prod": red.prod, "ptp": red.ptp, "ravel": None,
    "repeat": None, "round": floating.round, "searchsorted": None, "sort": None, "squeeze": None, "std": stats.std,
    "sum": red.sum, "swapaxes": None, "take": None, "trace": None, "var": stats.var,
}


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements in one dimension. See ``jnp.ravel``."""
    return _later("", "ravel")(self, order)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """See ``jax.numpy.clip``."""
    return floating.clip(self, min, max)


def _copy(self: Any) -> Any:
    """A copy of the array."""
    return lax.copy_p.bind(self)


def _compress(self: Any, condition: Any, axis: Any = None, *, out: None = None, size: Any = None,
              fill_value: Any = 0) -> Any:
    """See ``jax.numpy.compress``."""
    return _later("", "compress")(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _to_device(self: Any, device: Any, *, stream: None = None) -> Any:
    """The array on ``device`` (a device or a sharding). ``stream`` must be None."""
    if stream is not None:
        raise NotImplementedError("Array.to_device: stream= is not supported; transfers are ordered by XLA")
    return device_put(self, device)


def _byteswap(self: Any) -> Any:
    """The elements with the order of their bytes reversed."""
    dtype = self.dtype
    if dtypes.issubdtype(dtype, np.complexfloating):
        return lax.complex(_byteswap(lax.real(self)), _byteswap(lax.imag(self)))
    if dtype.itemsize == 1:
        return self
    pieces = lax.bitcast_convert_type(self, np.uint8)
    return lax.bitcast_convert_type(lax.rev(pieces, (self.ndim,)), dtype)


def _of_concrete_arrays(name: str) -> property:
    """An attribute that concrete arrays have; of a traced one it is not known."""
    def get(self: Any) -> Any:
        if not isinstance(self, Tracer):  # other arrays without this attribute: those of keys
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AttributeError(f"the attribute {name!r} of a traced array is not known while tracing "
                             f"({type(self).__name__} of type {typeof(self).str_short()}); read it outside of the "
                             "transformed function, or see jax.typeof(x)")
    return property(get, doc="Of concrete arrays.")


_CONCRETE = ("addressable_data", "addressable_shards", "committed", "copy_to_host_async", "delete", "device", "devices",
             "dtype", "global_shards", "is_deleted", "is_fully_addressable", "is_fully_replicated", "item", "ndim",
             "on_device_size_in_bytes", "shape", "sharding", "size", "tobytes", "unsafe_buffer_pointer")


def _flat(self: Any) -> Any:
    raise NotImplementedError("Array.flat: arrays have no flat iterator; use x.ravel(), or x.ravel().at[i].set(v)")


def _members() -> dict[str, Any]:
    members = _operators()
    members.update({name: _method(name, function) for name, function in _METHODS.items()})
    members.update({name: _of_concrete_arrays(name) for name in _CONCRETE})
    members.update({
        "__getitem__": getitem, "__iter__": _iter,
        "at": property(_at),
        "__round__": _round, "__contains__": _contains, "__setitem__": _setitem, "__array_priority__": 100,
        "__array_namespace__": _array_namespace,
        "astype": _astype, "view": _view, "transpose": _transpose, "reshape": _reshape, "flatten": _flatten,
        "copy": _copy, "to_device": _to_device, "byteswap": _byteswap, "clip": _clip, "compress": _compress,
        "T": property(_reversed_axes, doc="The array with its axes reversed."),
        "mT": property(_matrix_transpose, doc="The array with its last two axes swapped."),
        "real": property(lambda self: floating.real(self), doc="The real part of each element."),
        "imag": property(lambda self: floating.imag(self), doc="The imaginary part of each element."),
        "flat": property(_flat, doc="Not supported."),
        "itemsize": property(lambda self: self.dtype.itemsize, doc="Bytes per element."),
        "nbytes": property(lambda self: self.size * self.dtype.itemsize, doc="Bytes of all elements."),
    })
    return members


Array.__doc__ = """An array on one or more devices, or, while a function is traced, what stands for one.

Arrays have a ``shape``, a ``dtype`` and a ``sharding``, and never change: ``x.at[i].set(v)`` gives a changed copy.
Operators and methods are those of NumPy's arrays, as functions of ``jax.numpy``. Do not instantiate this class; it is
there for ``isinstance`` (traced values are instances) and annotations. ``jnp.asarray``, ``jnp.zeros``,
``jax.device_put`` ... make arrays.

>>> import jax, jax.numpy as jnp
>>> isinstance(jnp.arange(3), jax.Array)
True
"""
install_operators(_members())
